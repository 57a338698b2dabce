"""The terms of a score as SQL expressions, one for each class, up to a term that all classes share.

Of levels, bins and weights the score of a reference class is subtracted, whose own term is then 0 and is not written;
with two classes also of Gaussian and Poisson terms. A missing value adds 0, a value that Python refuses makes the
term NULL, and with it all results of the row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp
from sqlglot.expressions import Expression

from deciban.export import sql_expressions as e
from deciban.export.portable import Document, Term
from deciban.export.sql_expressions import MAX_DOUBLE, Let, Speller, Terms
from deciban.model.columns import split_levels
from deciban.sources.arrow_cells import DATE_PARTS

MAX_MIXED_EXPONENT = 600.0
"""Largest exponent of a density relative to the shift of a mixture, so that no exponential overflows."""

BISECTIONS = 200
"""Steps in the search for the count beyond which a Poisson term is constant."""


@dataclass
class TermWriter:
    """Writes the terms of a document in one dialect; `reference` is the class whose levels and weights are subtracted.

    `impossible` collects conditions under which a class is impossible, by class.
    """

    document: Document
    speller: Speller
    reference: int
    let: Let
    text_sums: Mapping[str, Sequence[Expression | None]] = field(default_factory=dict)
    impossible: dict[int, list[Expression]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.K = len(self.document["classes"])
        self.features = {feature["name"]: feature for feature in self.document["features"]}
        self._n_lets = 0

    def write(self, term: Term) -> Terms:
        """Return the expression of each class for a term."""
        return getattr(self, f"_write_{term['kind']}")(term)  # type: ignore[no-any-return]

    # Numbers

    def _number(self, name: str) -> Expression:
        """Return a feature as a double."""
        return self.speller.to_double(e.column(self.features[name]["columns"][0]))

    def _guard(self, name: str, inside: tuple[Expression, Expression], *branches: tuple[Expression, Expression]) -> Expression:
        """Return a term of a number: 0 where it is missing, and NULL where it is refused."""
        missing = self.speller.is_missing(self._number(name)), e.number(0.0)
        return e.when(inside, *branches, missing)

    def _bounds(self, name: str) -> tuple[float, float]:
        """Return the least and the greatest value of a number that is not refused."""
        return float(self.features[name].get("minimum", -MAX_DOUBLE)), MAX_DOUBLE

    def guard_only(self, name: str) -> Expression:
        """Return a term of 0 that is NULL where a number is refused."""
        x = self._number(name)
        return self._guard(name, (e.between(x, *self._bounds(name)), e.number(0.0)))

    def _within(self, name: str, x: Expression, low: float, high: float, inside: Expression, outside: Expression | None) -> Expression:
        """Return a term that is constant outside of a range."""
        least, most = self._bounds(name)
        first = e.between(x, max(low, least), min(high, most)), inside
        return self._guard(name, first, (e.between(x, least, most), e.or_zero(outside)))

    def _contrast_all(self, terms: Sequence[Expression | None], constants: Sequence[float]) -> list[tuple[Expression | None, float]]:
        """Return terms and constants of each class; with two classes the second less the first, whose own are 0."""
        if self.K != 2:
            return list(zip(terms, constants))
        other, r = 1 - self.reference, self.reference
        pairs: list[tuple[Expression | None, float]] = [(None, 0.0), (None, 0.0)]
        pairs[other] = e.subtract(terms[other], terms[r]), constants[other] - constants[r]
        return pairs

    def _write_gaussian(self, term: Term) -> Terms:
        """Write t · (peak_k − min(½(x − μ_k)²/σ²_k, peak_k − floor)) + offset_k."""
        name, weight = term["feature"], term["weight"]
        x = self._number(name)
        floor = -math.inf if term["floor"] is None else term["floor"]
        peaks = [max(-0.5 * math.log(2 * math.pi * v), floor) for v in term["variance"]]
        drops = [self._drop(x, m, v, peak - floor) for m, v, peak in zip(term["mean"], term["variance"], peaks)]
        densities: Terms = [e.subtract(None, drop) for drop in drops]
        offsets = term["offset"] or [0.0] * self.K
        low, high = _gaussian_range(term, peaks, floor)
        if math.isinf(floor) and weight > 0:
            self._rule_out_far(name, x, term)
        if term["shares"] is not None:
            densities, peaks = self._mix(term["shares"], densities, peaks, floor)
        constants = [weight * peak + offset for peak, offset in zip(peaks, offsets)]
        outside = [weight * floor + offset for offset in offsets] if math.isfinite(floor) else [0.0] * self.K
        out: Terms = []
        ends = self._contrast_all([None] * self.K, outside)
        for (density, inner), (_, outer) in zip(self._contrast_all(densities, constants), ends):
            inside = e.add(e.scale(weight, density), e.constant(inner))
            is_zero = inside is None and outer == 0
            out.append(None if is_zero else self._within(name, x, low, high, e.or_zero(inside), e.constant(outer)))
        return out

    def _rule_out_far(self, name: str, x: Expression, term: Term) -> None:
        """Add the condition under which an unbounded density is 0: the square of its deviation overflows."""
        least, most = self._bounds(name)
        for k in range(self.K):
            near = e.between(x, *_finite_range(term["mean"][k], term["variance"][k]))
            far = exp.And(this=e.between(x, least, most), expression=exp.Not(this=exp.Paren(this=near)))
            self.impossible.setdefault(k, []).append(exp.Paren(this=far))

    def _drop(self, x: Expression, mean: float, variance: float, most: float) -> Expression | None:
        """Return min(½(x − μ)²/σ², most); None for 0."""
        if most <= 0:
            return None
        gap = e.subtract(x.copy(), e.constant(mean))
        assert gap is not None
        square = e.multiply(e.multiply(gap, gap.copy()), e.number(0.5 / variance))
        return square if math.isinf(most) else self.speller.least(square, e.number(most))

    def _mix(self, shares: Sequence[float], densities: Terms, peaks: list[float], floor: float) -> tuple[Terms, list[float]]:
        """Give classes of share 0 the mean density of the others by their shares: ln Σ share_l p(x|l)."""
        present = [l for l in range(self.K) if shares[l] > 0]
        shift = max(floor, max(peaks[l] for l in present) - MAX_MIXED_EXPONENT)
        parts = [
            e.multiply(e.number(shares[l]), self.speller.exp(e.or_zero(e.add(_copy(densities[l]), e.constant(peaks[l] - shift)))))
            for l in present
        ]
        total = e.add(*parts)
        assert total is not None
        mixed = [exp.Ln(this=total.copy()) if k not in present else densities[k] for k in range(self.K)]
        return mixed, [peaks[k] if k in present else shift for k in range(self.K)]

    def _write_poisson(self, term: Term) -> Terms:
        """Write −t · min(x ln(x/λ_k) − x + λ_k, bound)."""
        name, rates, bound, weight = term["feature"], term["rate"], term["bound"], term["weight"]
        x = self._number(name)
        positive = e.when((exp.GT(this=x.copy(), expression=e.number(0.0)), x.copy()), otherwise=e.number(1.0))
        deviances: Terms = []
        for rate in rates:
            log_rate = math.log(rate) if rate > 0 else 0.0
            slope = e.subtract(exp.Ln(this=positive.copy()), e.number(1.0 + log_rate))
            assert slope is not None
            deviance = e.add(e.multiply(x.copy(), slope), e.constant(rate))
            assert deviance is not None
            deviances.append(self.speller.least(deviance, e.number(bound)))
        if weight == 0 or len(set(rates)) == 1:
            return [None] * self.K
        high = _poisson_limit(rates, bound)
        at_bound = [-weight * bound] * self.K
        pairs = self._contrast_all(deviances, [0.0] * self.K)
        ends = self._contrast_all([None] * self.K, at_bound)
        return [
            None if deviance is None else
            self._within(name, x, 0.0, high, e.or_zero(e.scale(-weight, deviance)), e.constant(outer))
            for (deviance, _), (_, outer) in zip(pairs, ends)
        ]  # fmt: skip

    def _write_linear(self, term: Term) -> Terms:
        """Write weight_k · x + offset_k; x is limited first."""
        name = term["feature"]
        x = self._number(name)
        least, most = self._bounds(name)
        low, high = term["limits"] or (least, most)
        r, offsets = self.reference, term["offset"] or [0.0] * self.K
        for k, flag in enumerate(term["impossible"] or ()):
            if flag:
                nonzero = exp.NEQ(this=x.copy(), expression=e.number(0.0))
                both = exp.And(this=e.between(x, least, most), expression=nonzero)
                self.impossible.setdefault(k, []).append(exp.Paren(this=both))
        out: Terms = []
        for k in range(self.K):
            weight, offset = term["weights"][k] - term["weights"][r], offsets[k] - offsets[r]
            if weight == 0 and offset == 0:
                out.append(None)
                continue
            inside = e.or_zero(e.add(e.scale(weight, x.copy()), e.constant(offset)))
            branches = [] if term["limits"] is None else [
                (e.between(x, least, low), e.number(weight * low + offset)),
                (e.between(x, high, most), e.number(weight * high + offset)),
            ]  # fmt: skip
            out.append(self._guard(name, (e.between(x, low, high), inside), *branches))
        return out

    def _write_bins(self, term: Term) -> Terms:
        """Write the score of the bin."""
        name = term["feature"]
        x = self._number(name)
        scores, dead = contrast_scores(term["scores"], self.reference)
        self._rule_out(dead, lambda wanted: self._bin_condition(name, term["cuts"], wanted))
        out: Terms = []
        for row in scores:
            cuts, values = _merge_bins(term["cuts"], row)
            if not cuts and values == [0.0]:
                out.append(None)
                continue
            tree = e.choose_bin(x, cuts, [e.number(value) for value in values])
            out.append(self._guard(name, (e.between(x, *self._bounds(name)), tree)))
        return out

    def _bin_condition(self, name: str, cuts: Sequence[float], wanted: Sequence[bool]) -> Expression:
        """Return whether a number is in one of the wanted bins."""
        x = self._number(name)
        merged, flags = _merge_bins(cuts, [float(flag) for flag in wanted])
        tree = e.choose_bin(x, merged, [e.number(flag) for flag in flags])
        is_wanted = exp.EQ(this=exp.Paren(this=tree), expression=e.number(1.0))
        return exp.Paren(this=exp.And(this=e.between(x, *self._bounds(name)), expression=is_wanted))

    # Levels

    def _write_levels(self, term: Term) -> Terms:
        """Write the score of the level."""
        feature = self.features[term["feature"]]
        columns = [[*scores, unseen] for scores, unseen in zip(term["scores"], term["unseen"])]
        scores, dead = contrast_scores(columns, self.reference)
        refuses = self.document["unseen"] == "error"
        matcher = LevelMatcher(self.speller, feature, term["levels"], self.document["markers"])
        self._rule_out(dead, matcher.find_any)
        if refuses:
            return [matcher.choose(row[:-1], None) for row in scores]
        return [matcher.choose(row[:-1], row[-1]) if any(row) else None for row in scores]

    def _rule_out(self, dead: Sequence[Sequence[bool]], condition: Any) -> None:
        """Collect the conditions under which a class is impossible."""
        for k, flags in enumerate(dead):
            if any(flags):
                self.impossible.setdefault(k, []).append(condition(flags))

    # Joined numbers, texts and constants

    def _write_constant(self, term: Term) -> Terms:
        """Write the same number for every row."""
        return [e.constant(score - term["scores"][self.reference]) for score in term["scores"]]

    def _write_text(self, term: Term) -> Terms:
        """Write the sums over the words of a text, which the query computes before."""
        return list(self.text_sums[term["feature"]])

    def _write_joint_gaussian(self, term: Term) -> Terms:
        """Write t · (−½ zᵀz − ln|L|) of the features that are present, Σ = LLᵀ, z = L⁻¹(x − μ).

        A missing feature has the row and column of the unit matrix in Σ, and 0 in x − μ: it adds nothing to zᵀz and
        to ln|L|, and the others have their marginal distribution. ln 2π for each present feature is common to all.
        """
        names, K = term["features"], self.K
        xs = [self._number(name) for name in names]
        limits = term["limits"] or _find_finite_limits(term)
        if term["limits"] is None and term["weight"] > 0:
            for x, low, high in zip(xs, *limits):
                far = exp.And(this=e.between(x, -MAX_DOUBLE, MAX_DOUBLE), expression=exp.Not(this=exp.Paren(this=e.between(x, low, high))))
                for k in range(K):
                    self.impossible.setdefault(k, []).append(exp.Paren(this=far.copy()))
        self._n_lets += 1
        prefix = f"deciban_g{self._n_lets}"
        inside = [e.between(x, low, high) for x, low, high in zip(xs, *limits)]
        have = self.let({f"{prefix}_h{i}": e.when((c, e.number(1.0)), otherwise=e.number(0.0)) for i, c in enumerate(inside)})
        one = len(term["covariance"]) == 1
        gaps = self.let({
            f"{prefix}_x{i}_{k}": e.when(
                (e.between(x, low, high), e.or_zero(e.subtract(x.copy(), e.constant(term["mean"][k][i])))),
                otherwise=e.number(0.0),
            )
            for k in range(K)
            for i, (x, low, high) in enumerate(zip(xs, *limits))
        })  # fmt: skip
        d = len(names)
        by_class = [gaps[k * d : (k + 1) * d] for k in range(K)]
        scores = self._whiten(prefix, term["covariance"], have, by_class, one)
        guards = add_guards([self.guard_only(name) for name in names])
        return [e.add(e.scale(term["weight"], score), guards.copy() if k == 0 else None) for k, score in enumerate(scores)]

    def _whiten(self, prefix: str, covariance: Any, have: Sequence[Expression], gaps: Sequence[Sequence[Expression]], one: bool) -> list[Expression]:
        """Return −½ zᵀz − ln|L| of each class, by Cholesky's algorithm, column by column in steps of the query."""
        K, d = len(gaps), len(have)
        matrices = range(len(covariance))
        lower: list[dict[tuple[int, int], Expression]] = [{} for _ in matrices]
        z: list[list[Expression]] = [[] for _ in range(K)]
        for j in range(d):
            diagonal = self.let({f"{prefix}_l{j}_{m}": _pivot(self.speller, covariance[m], have, lower[m], j) for m in matrices})
            for m in matrices:
                lower[m][j, j] = diagonal[m]
            below = {(m, i): _entry(covariance[m], have, lower[m], i, j) for m in matrices for i in range(j + 1, d)}
            solved = [_solve(gaps[k][j], lower[0 if one else k], z[k], j) for k in range(K)]
            named = {f"{prefix}_l{i}_{j}_{m}": entry for (m, i), entry in below.items()}
            found = self.let({**named, **{f"{prefix}_z{j}_{k}": value for k, value in enumerate(solved)}})
            for (m, i), reference in zip(below, found):
                lower[m][i, j] = reference
            for k in range(K):
                z[k].append(found[len(below) + k])
        out = []
        for k in range(K):
            squares = e.add(*(e.multiply(value.copy(), value.copy()) for value in z[k]))
            own = lower[0 if one else k]
            logs = None if one else e.add(*(exp.Ln(this=own[j, j].copy()) for j in range(d)))
            score = e.subtract(e.scale(-0.5, squares), logs)
            assert score is not None
            out.append(score)
        return out


def add_guards(guards: Sequence[Expression]) -> Expression:
    """Return the sum of guards, 0 or NULL."""
    total = e.add(*guards)
    assert total is not None
    return total


def _pivot(speller: Speller, covariance: Any, have: Sequence[Expression], lower: Mapping[tuple[int, int], Expression], j: int) -> Expression:
    """Return L_jj = √(Σ_jj − Σ_m L_jm²), 1 for a missing feature."""
    own = e.add(
        e.scale(covariance[j][j], have[j].copy()),
        e.subtract(e.number(1.0), have[j].copy()),
    )
    squares = e.add(*(e.multiply(lower[j, m].copy(), lower[j, m].copy()) for m in range(j)))
    under = e.subtract(own, squares)
    assert under is not None
    return exp.Sqrt(this=under)


def _entry(covariance: Any, have: Sequence[Expression], lower: Mapping[tuple[int, int], Expression], i: int, j: int) -> Expression:
    """Return L_ij = (Σ_ij − Σ_m L_im L_jm) / L_jj, where Σ_ij is 0 if one of the features is missing."""
    own = e.multiply(e.number(covariance[i][j]), e.multiply(have[i].copy(), have[j].copy()))
    products = e.add(*(e.multiply(lower[i, m].copy(), lower[j, m].copy()) for m in range(j)))
    above = e.subtract(own, products)
    assert above is not None
    return e.divide(above, lower[j, j].copy())


def _solve(gap: Expression, lower: Mapping[tuple[int, int], Expression], z: Sequence[Expression], j: int) -> Expression:
    """Return z_j = (x_j − μ_j − Σ_m L_jm z_m) / L_jj."""
    products = e.add(*(e.multiply(lower[j, m].copy(), z[m].copy()) for m in range(j)))
    above = e.subtract(gap.copy(), products)
    assert above is not None
    return e.divide(above, lower[j, j].copy())


@dataclass(frozen=True)
class LevelMatcher:
    """Conditions on the level of a feature: a text, a number, a part of a date, or a combination of several."""

    speller: Speller
    feature: Mapping[str, Any]
    levels: Sequence[str]
    markers: Sequence[str]

    def _values(self) -> list[Expression]:
        """Return the columns as they are compared."""
        columns = [e.column(name) for name in self.feature["columns"]]
        if "part" in self.feature:
            return [self.speller.date_part(columns[0], self.feature["part"])]
        return [
            self.speller.to_double(column) if numeric else self.speller.to_text(column)
            for column, numeric in zip(columns, self.feature["numeric"])
        ]

    def _literals(self, level: str) -> list[list[Expression]]:
        """Return the literals that stand for a level, for each column."""
        if "part" in self.feature:
            part = self.feature["part"]
            return [[exp.Literal.number(DATE_PARTS[part].index(level) + (part == "month"))]]
        if len(self.feature["columns"]) > 1:
            parts = split_levels(level)
            return [
                [e.number(float(part))] if numeric else [e.text(part)]
                for part, numeric in zip(parts, self.feature["numeric"])
            ]
        if self.feature["numeric"][0]:
            return [[e.number(float(level))]]
        return [[e.text(spelling) for spelling in _spellings(level, self.levels)]]

    def _match(self, wanted: Sequence[str]) -> Expression:
        """Return whether the level is one of some."""
        values = self._values()
        if len(values) == 1:
            return e.is_in(values[0], [literal for level in wanted for literal in self._literals(level)[0]])
        each = [
            e.join_conditions([e.is_in(v, literals) for v, literals in zip(values, self._literals(level))], exp.And)
            for level in wanted
        ]
        return e.join_conditions(each, exp.Or)

    def is_missing(self) -> Expression:
        """Return whether a column is NULL, NaN or a marker of missing values."""
        conditions: list[Expression] = []
        for value, numeric in zip(self._values(), self.feature.get("numeric", [False])):
            if numeric:
                conditions.append(self.speller.is_missing(value))
                continue
            conditions.append(exp.Is(this=value.copy(), expression=exp.Null()))
            if self.markers and "part" not in self.feature:
                conditions.append(e.is_in(value, [e.text(marker) for marker in self.markers]))
        return e.join_conditions(conditions, exp.Or)

    def choose(self, scores: Sequence[float], unseen: float | None) -> Expression:
        """Return the score of the level; 0 where it is missing, `unseen` where it is not known, NULL for None."""
        groups: dict[float, list[str]] = {}
        for level, score in zip(self.levels, scores):
            if unseen is None or score != unseen:
                groups.setdefault(score, []).append(level)
        branches = [(self._match(levels), e.number(score)) for score, levels in groups.items()]
        if unseen != 0 or (self.markers and any(marker in self.levels for marker in self.markers)):
            branches.insert(0, (self.is_missing(), e.number(0.0)))
        return e.when(*branches, otherwise=None if unseen is None else e.number(unseen))

    def find_any(self, flags: Sequence[bool]) -> Expression:
        """Return whether the level is one of those that are flagged; the last flag is for unseen levels."""
        *known, unseen = flags
        wanted = [level for level, flag in zip(self.levels, known) if flag]
        if not unseen:
            return exp.Paren(this=self._match(wanted))
        others = [level for level, flag in zip(self.levels, known) if not flag]
        branches = [(self.is_missing(), e.number(0.0))]
        if others:
            branches.append((self._match(others), e.number(0.0)))
        chosen = e.when(*branches, otherwise=e.number(1.0))
        return exp.Paren(this=exp.EQ(this=exp.Paren(this=chosen), expression=e.number(1.0)))


def _spellings(level: str, levels: Sequence[str]) -> list[str]:
    """Return the texts that a database may have for a level: also 1.0 for 1, 1 for 1.0 and true for True.

    >>> _spellings("1", ["1", "2"]), _spellings("True", ["True", "False"]), _spellings("a", ["a"])
    (['1', '1.0'], ['True', 'true'], ['a'])
    """
    stem = level.removesuffix(".0")
    other = level
    if stem.removeprefix("-").isdecimal() and stem.isascii():
        other = f"{level}.0" if stem == level else stem
    elif level in ("True", "False"):
        other = level.lower()
    return [level] if other == level or other in levels else [level, other]


def contrast_scores(scores: Sequence[Sequence[float | None]], reference: int) -> tuple[list[list[float]], list[list[bool]]]:
    """Return scores less those of the reference class, and which of them are impossible (null), both K×V.

    Where the reference class is impossible, the largest of the others is subtracted, and its own score is 0.
    """
    columns = [
        [column[reference] if column[reference] is not None else max((s for s in column if s is not None), default=0.0)]
        for column in zip(*scores)
    ]
    base = [column[0] for column in columns]
    dead = [[score is None for score in row] for row in scores]
    gaps = [[0.0 if score is None else score - b for score, b in zip(row, base)] for row in scores]
    return gaps, dead


def _merge_bins(cuts: Sequence[float], values: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return bins in which neighbours of equal value are one."""
    kept = [i for i in range(len(cuts)) if values[i] != values[i + 1]]
    return [cuts[i] for i in kept], [values[0], *(values[i + 1] for i in kept)]


def _gaussian_range(term: Term, peaks: Sequence[float], floor: float) -> tuple[float, float]:
    """Return the range outside of which the density of every class is at its bound."""
    if math.isinf(floor):
        ranges = [_finite_range(m, v) for m, v in zip(term["mean"], term["variance"])]
        return max(low for low, _ in ranges), min(high for _, high in ranges)
    radii = [math.sqrt(2 * v * max(peak - floor, 0.0)) for v, peak in zip(term["variance"], peaks)]
    lows, highs = zip(*((m - radius, m + radius) for m, radius in zip(term["mean"], radii)))
    return max(min(lows), -MAX_DOUBLE), min(max(highs), MAX_DOUBLE)


def _find_finite_limits(term: Term) -> list[list[float]]:
    """Return the range of each joined feature in which the squares of all classes are finite."""
    variances = [min(c[i][i] for c in term["covariance"]) for i in range(len(term["features"]))]
    means = zip(*term["mean"])
    ranges = [[_finite_range(m, v * 1e-8) for m in column] for column, v in zip(means, variances)]
    return [[max(low for low, _ in each) for each in ranges], [min(high for _, high in each) for each in ranges]]


def _finite_range(mean: float, variance: float) -> tuple[float, float]:
    """Return the range in which (x − μ)²/σ² is finite."""
    radius = math.sqrt(MAX_DOUBLE) * min(1.0, math.sqrt(variance))
    return mean - radius, mean + radius


def _poisson_limit(rates: Sequence[float], bound: float) -> float:
    """Return a count beyond which the term of every class is at its bound."""
    top = max(rates)

    def is_constant(x: float) -> bool:
        return all(x * (math.log(x) - math.log(rate or 1.0)) - x + rate >= bound for rate in rates)

    high = max(top, 1.0)
    while not is_constant(high) and high < 1e290:
        high *= 2
    return high


def _copy(item: Expression | None) -> Expression | None:
    return None if item is None else item.copy()


def iterate_terms(document: Document) -> Iterator[tuple[str, list[Term]]]:
    """Yield each feature, or features that are joined, with its terms; constants under the empty name."""
    found: dict[str, list[Term]] = {}
    for term in document["terms"]:
        name = " & ".join(term["features"]) if "features" in term else term.get("feature", "")
        found.setdefault(name, []).append(term)
    yield from found.items()
