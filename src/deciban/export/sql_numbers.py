"""Terms of numbers in SQL: Gaussian, Poisson, linear, and bins.

A missing number adds 0. A number that Python refuses, infinite or negative where it must not be, makes the term NULL,
and with it all results of the row. Beyond the range in which a term varies it is a constant, so that no square
overflows, which PostgreSQL reports as an error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from deciban.export import sql_expressions as e
from deciban.export.portable import Term
from deciban.export.sql_expressions import MAX_CASE_BRANCHES, MAX_DOUBLE, Branch, Expression, Speller, Terms, exp
from deciban.export.sql_steps import QuerySteps

MAX_COUNT_LIMIT = 1e290
"""Where the search for the count beyond which a Poisson term is constant ends."""

MAX_LIMITED_NUMBER = 1e100
"""Largest limited number: its squares are finite."""

ZERO_SHARE = 1e-20
"""The share of a standard deviation below which a number counts as 0."""

Parts = list[tuple[Expression | None, float]]
"""An expression, None for 0, and a constant, of each class."""


@dataclass(frozen=True)
class NumberTerms:
    """Writes the terms of numbers for K classes; with two classes, the other one less the reference class."""

    speller: Speller
    steps: QuerySteps
    K: int
    reference: int
    impossible: dict[int, list[Expression]]
    """Conditions under which a class is impossible, by class; writers add to them."""
    limited: dict[str, Expression] = field(default_factory=dict)
    """Columns of an earlier step that have the numbers of bounded Gaussian terms; see `limit`."""
    bins: dict[tuple[str, tuple[float, ...]], Expression] = field(default_factory=dict)
    """Columns of an earlier step that have the bin of a feature among some cuts; see `find_bin`."""

    def column(self, feature: dict[str, Any]) -> Expression:
        """Return a number as a double."""
        return self.speller.to_double(e.column(feature["columns"][0]))

    def is_valid(self, feature: dict[str, Any]) -> Expression:
        """Return whether a number is present, and not refused."""
        return e.between(self.column(feature), *find_bounds(feature))

    def guard(self, feature: dict[str, Any], *branches: Branch) -> Expression:
        """Return a term by branches; 0 where the number is missing, and NULL where no branch applies."""
        return e.when(*branches, (self.speller.is_missing(self.column(feature)), e.number(0.0)))

    def guard_only(self, feature: dict[str, Any]) -> Expression:
        """Return a term of 0 that is NULL where a number is refused."""
        return self.guard(feature, (self.is_valid(feature), e.number(0.0)))

    def write_within(
        self, feature: dict[str, Any], limits: tuple[float, float], inside: Parts, outside: Sequence[float]
    ) -> Terms:
        """Return terms that vary within limits, and are constants outside of them."""
        x, (least, most) = self.column(feature), find_bounds(feature)
        is_near = e.between(x, max(limits[0], least), min(limits[1], most))
        ends = self.contrast([None] * self.K, outside)
        out: Terms = []
        for (expression, constant), (_, end) in zip(inside, ends):
            near = e.add(expression, e.constant(constant))
            if near is None and end == 0:
                out.append(None)
                continue
            far = self.is_valid(feature), e.number(end)
            out.append(self.guard(feature, (is_near, e.or_zero(near)), far))
        return out

    def limit(self, terms: Sequence[Term], feature: dict[str, Any]) -> Expression | None:
        """Return a number whose squares are finite; None where its terms are not bounded.

        Far from all classes these have the same density: a value further out can stand there, and a missing one too.
        In PostgreSQL, which reports a square that underflows as an error, a number next to zero is 0.
        """
        terms = [term for term in terms if term["kind"] != "pair"]
        if not all(term["kind"] == "gaussian" and term["floor"] is not None and not term["offset"] for term in terms):
            return None
        limits = [find_gaussian_limits(term, find_peaks(term), term["floor"]) for term in terms]
        x, far = self.column(feature), 10 * max(max(-low, high) for low, high in limits)
        if far > MAX_LIMITED_NUMBER:
            return None
        other = e.join_conditions([self.is_valid(feature), self.speller.is_missing(x)], exp.Or)
        branches: list[Branch] = [(e.between(x, -MAX_LIMITED_NUMBER, MAX_LIMITED_NUMBER), x), (other, e.number(far))]
        if self.speller.dialect == "postgres":
            tiny = ZERO_SHARE * min(math.sqrt(variance) for term in terms for variance in term["variance"])
            branches.insert(0, (e.between(x, -tiny, tiny), e.number(0.0)))
        return e.when(*branches)

    def contrast(self, terms: Sequence[Expression | None], constants: Sequence[float]) -> Parts:
        """Return terms and constants; of two classes the other less the reference class, whose own are 0."""
        if self.K != 2:
            return list(zip(terms, constants))
        other, r = 1 - self.reference, self.reference
        parts: Parts = [(None, 0.0), (None, 0.0)]
        parts[other] = e.subtract(terms[other], terms[r]), constants[other] - constants[r]
        return parts

    def write_gaussian(self, term: Term, feature: dict[str, Any]) -> Terms:
        """Write t · max(excess_k − ½(x − μ_k)²/σ²_k, 0) + offset_k, the excess of the density over its bound.

        Without a bound it is t · (peak_k − ½(x − μ_k)²/σ²_k) + offset_k.
        """
        weight, offsets = term["weight"], term["offset"] or [0.0] * self.K
        floor, peaks = term["floor"], find_peaks(term)
        x = self.limited.get(term["feature"], self.column(feature))
        each = zip(term["mean"], term["variance"], peaks)
        densities: Terms = [
            self._write_excess(x, m, v, peak - floor) if floor is not None else self._write_density(x, m, v, peak)
            for m, v, peak in each
        ]
        if term["shares"] is not None:
            densities = self._mix(term["shares"], densities)
        inside = self.contrast([e.scale(weight, density) for density in densities], offsets)
        if term["feature"] in self.limited:
            return [density for density, _ in inside]
        if floor is None and weight > 0:
            self._rule_out_far(term, feature)
        limits = find_gaussian_limits(term, peaks, -math.inf if floor is None else floor)
        return self.write_within(feature, limits, inside, offsets)

    def _write_density(self, x: Expression, mean: float, variance: float, peak: float) -> Expression:
        """Return peak − ½(x − μ)²/σ²."""
        gap = e.minus(x, e.number(mean if abs(mean) > ZERO_SHARE * math.sqrt(variance) else 0.0))
        return e.minus(e.number(peak), e.multiply(e.multiply(gap, gap), e.number(0.5 / variance)))

    def _write_excess(self, x: Expression, mean: float, variance: float, excess: float) -> Expression | None:
        """Return max(excess − ½(x − μ)²/σ², 0); None for 0."""
        if excess <= 0:
            return None
        scale = 0.5 if self.speller.doubles_positive_part else 1.0
        return self.speller.positive_part(self._write_density(x, mean, variance / scale, excess * scale))

    def _rule_out_far(self, term: Term, feature: dict[str, Any]) -> None:
        """Add the condition under which an unbounded density is 0: the square of its deviation overflows."""
        for k, (mean, variance) in enumerate(zip(term["mean"], term["variance"])):
            near = e.between(self.column(feature), *find_finite_range(mean, variance))
            self.rule_out(k, e.join_conditions([self.is_valid(feature), e.negate(near)], exp.And))

    def rule_out(self, k: int, condition: Expression) -> None:
        """Add a condition under which a class is impossible."""
        self.impossible.setdefault(k, []).append(condition)

    def _mix(self, shares: Sequence[float], densities: Terms) -> Terms:
        """Give classes of share 0 the mean density of the others by their shares: ln Σ share_l p(x|l)."""
        present = [l for l in range(self.K) if shares[l] > 0]
        exponents = [e.or_zero(densities[l]) for l in present]
        top = self.speller.greatest(exponents)
        parts = [
            e.multiply(e.number(shares[l]), self.speller.exp(e.minus(exponent, top)))
            for l, exponent in zip(present, exponents)
        ]
        mixed = e.sum_of([top, self.speller.log(e.sum_of(parts))])
        return [densities[k] if k in present else mixed for k in range(self.K)]

    def write_poisson(self, term: Term, feature: dict[str, Any]) -> Terms:
        """Write −t · min(x ln(x/λ_k) − x + λ_k, bound)."""
        rates, bound, weight = term["rate"], term["bound"], term["weight"]
        if weight == 0 or len(set(rates)) == 1:
            return [None] * self.K
        x = self.column(feature)
        positive = e.when((e.compare(x, exp.GT, e.number(0.0)), x), otherwise=e.number(1.0))
        deviances: Terms = []
        for rate in rates:
            slope = e.minus(self.speller.log(positive), e.number(1.0 + math.log(rate or 1.0)))
            deviance = e.sum_of([e.multiply(x, slope), e.constant(rate)])
            deviances.append(e.scale(-weight, self.speller.least(deviance, e.number(bound))))
        inside = self.contrast(deviances, [0.0] * self.K)
        return self.write_within(feature, (0.0, find_poisson_limit(rates, bound)), inside, [-weight * bound] * self.K)

    def write_linear(self, term: Term, feature: dict[str, Any]) -> Terms:
        """Write weight_k · x + offset_k; x is limited first."""
        x, (least, most), r = self.column(feature), find_bounds(feature), self.reference
        low, high = term["limits"] or (least, most)
        offsets = term["offset"] or [0.0] * self.K
        for k, flag in enumerate(term["impossible"] or ()):
            if flag:
                nonzero = e.compare(x, exp.NEQ, e.number(0.0))
                self.rule_out(k, e.join_conditions([self.is_valid(feature), nonzero], exp.And))
        weights = [weight - term["weights"][r] for weight in term["weights"]]
        out: Terms = []
        inside = self._drop_tiny(x, ZERO_SHARE / max(map(abs, weights))) if any(weights) else x
        for k in range(self.K):
            weight, offset = weights[k], offsets[k] - offsets[r]
            if weight == 0 and offset == 0:
                out.append(None)
                continue
            branches = [(e.between(x, low, high), e.sum_of([e.scale(weight, inside), e.constant(offset)]))]
            if term["limits"] is not None:
                branches.append((e.between(x, least, low), e.number(weight * low + offset)))
                branches.append((e.between(x, high, most), e.number(weight * high + offset)))
            out.append(self.guard(feature, *branches))
        return out

    def _drop_tiny(self, x: Expression, tiny: float) -> Expression:
        """Return a number, 0 where it is next to zero in PostgreSQL, which reports a product that underflows."""
        if self.speller.dialect != "postgres":
            return x
        return e.when((e.between(x, -tiny, tiny), e.number(0.0)), otherwise=x)

    def find_bin(self, feature: dict[str, Any], cuts: Sequence[float]) -> Expression:
        """Return the number of the bin that a number is in, one more than the last where it is missing; NULL where it
        is refused."""
        known = self.bins.get((feature["name"], tuple(cuts)))
        if known is not None:
            return known
        x = self.column(feature)
        missing = self.speller.is_missing(x), e.integer(len(cuts) + 1)
        return e.when((self.is_valid(feature), self.speller.find_bin_number(x, cuts)), missing)

    def write_bins(self, term: Term, feature: dict[str, Any]) -> Terms:
        """Write the score of the bin."""
        scores, dead = contrast_scores(term["scores"], self.reference)
        if has_many_bins(term, self.reference):
            return self._join_bins(term, feature, scores, dead)
        x, valid, cuts = self.column(feature), self.is_valid(feature), term["cuts"]
        for k, flags in enumerate(dead):
            if any(flags):
                merged, values = merge_bins(cuts, [float(flag) for flag in flags])
                chosen = e.choose_bin(x, merged, [e.number(value) for value in values])
                self.rule_out(k, e.join_conditions([valid, e.is_one(chosen)], exp.And))
        out: Terms = []
        for row in scores:
            merged, values = merge_bins(cuts, row)
            tree = e.choose_bin(x, merged, [e.number(value) for value in values])
            out.append(self.guard(feature, (valid, tree)) if any(values) else None)
        return out

    def _join_bins(
        self, term: Term, feature: dict[str, Any], scores: Sequence[Sequence[float]], dead: Sequence[Sequence[bool]]
    ) -> Terms:
        """Join a table with the scores of all bins."""
        columns: dict[str, Sequence[float]] = {f"s{k}": [*row, 0.0] for k, row in enumerate(scores) if any(row)}
        columns |= {f"i{k}": [*map(float, row), 0.0] for k, row in enumerate(dead) if any(row)}
        name = f"deciban_bins_{len(self.steps.tables)}"
        found = self.steps.join_rows(name, self.find_bin(feature, term["cuts"]), columns)
        for k in range(self.K):
            if f"i{k}" in found:
                self.rule_out(k, e.is_one(found[f"i{k}"]))
        return [found.get(f"s{k}") for k in range(self.K)]


def find_bounds(feature: dict[str, Any]) -> tuple[float, float]:
    """Return the least and the greatest value of a number that is not refused."""
    return float(feature.get("minimum", -MAX_DOUBLE)), MAX_DOUBLE


def contrast_scores(
    scores: Sequence[Sequence[float | None]], reference: int
) -> tuple[list[list[float]], list[list[bool]]]:
    """Return scores less those of the reference class, and which of them are impossible (null), both K×V.

    Where the reference class is impossible, the largest of the others is subtracted, and its own score is 0.

    >>> contrast_scores([[1.0, None], [3.0, 2.0]], 0)
    ([[0.0, 0.0], [2.0, 0.0]], [[False, True], [False, False]])
    """
    base = [
        max((score for score in column if score is not None), default=0.0)
        if column[reference] is None
        else column[reference]
        for column in zip(*scores)
    ]
    gaps = [[0.0 if score is None else score - b for score, b in zip(row, base)] for row in scores]
    return gaps, [[score is None for score in row] for row in scores]


def has_many_bins(term: Term, reference: int) -> bool:
    """Return whether a join is faster than one CASE for each class."""
    scores, dead = contrast_scores(term["scores"], reference)
    rows: list[list[float]] = [*scores, *([float(flag) for flag in flags] for flags in dead)]
    return sum(len(merge_bins(term["cuts"], row)[1]) for row in rows if any(row)) > MAX_CASE_BRANCHES


def merge_bins(cuts: Sequence[float], values: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return bins in which neighbours of equal value are one.

    >>> merge_bins([1.0, 2.0], [5.0, 5.0, 6.0])
    ([2.0], [5.0, 6.0])
    """
    kept = [i for i in range(len(cuts)) if values[i] != values[i + 1]]
    return [cuts[i] for i in kept], [values[0], *(values[i + 1] for i in kept)]


def find_peaks(term: Term) -> list[float]:
    """Return the log-density of each class at its mean, at least the bound."""
    floor = -math.inf if term["floor"] is None else term["floor"]
    return [max(-0.5 * math.log(2 * math.pi * variance), floor) for variance in term["variance"]]


def find_gaussian_limits(term: Term, peaks: Sequence[float], floor: float) -> tuple[float, float]:
    """Return the range outside of which the density of every class is at its bound, or of one class is 0."""
    if math.isinf(floor):
        ranges = [find_finite_range(m, v) for m, v in zip(term["mean"], term["variance"])]
        return max(low for low, _ in ranges), min(high for _, high in ranges)
    radii = [math.sqrt(2 * v * max(peak - floor, 0.0)) for v, peak in zip(term["variance"], peaks)]
    lows, highs = zip(*((m - radius, m + radius) for m, radius in zip(term["mean"], radii)))
    return max(min(lows), -MAX_DOUBLE), min(max(highs), MAX_DOUBLE)


def find_finite_range(mean: float, variance: float) -> tuple[float, float]:
    """Return the range in which (x − μ)²/σ² is finite."""
    radius = math.sqrt(MAX_DOUBLE) * min(1.0, math.sqrt(variance))
    return mean - radius, mean + radius


def find_poisson_limit(rates: Sequence[float], bound: float) -> float:
    """Return a count beyond which the term of every class is at its bound.

    >>> find_poisson_limit([1.0, 2.0], 9.2)
    16.0
    """
    high = max(1.0, *rates)
    while high < MAX_COUNT_LIMIT and any(high * math.log(high / (r or 1.0)) - high + r < bound for r in rates):
        high *= 2
    return high
