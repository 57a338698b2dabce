"""A model as one SELECT: class scores, posterior, prediction, and on request the evidence of each column.

Scores are up to a term that all classes share: of levels, bins and weights the score of a reference class is
subtracted, whose own term is then 0 and is not written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from deciban.errors import InputError, did_you_mean
from deciban.export import sql_expressions as e
from deciban.export.portable import Document, Term
from deciban.export.sql_calibration import IMPOSSIBLE_SCORE, calibrate, find_evidence_factor
from deciban.export.sql_expressions import CASE_SENSITIVE_DIALECTS, DIALECTS, Dialect, Expression, Speller, Terms, exp
from deciban.export.sql_joint import JointTerm
from deciban.export.sql_levels import LevelTerm
from deciban.export.sql_numbers import NumberTerms, has_many_bins
from deciban.export.sql_pairs import join_pair, list_cells
from deciban.export.sql_steps import QuerySteps
from deciban.export.sql_tokens import join_tokens
from deciban.model.output_frames import to_labels
from deciban.scores.explanation import DECIBAN

MAX_NAME_BYTES = 63
"""Bytes of the name of a result; PostgreSQL cuts off longer names."""

MAX_NEW_COLUMNS = 500
"""Largest number of columns that a step adds to those of the table; PostgreSQL has 1664 columns, SQLite 2000."""

MAX_CASE_CELLS = 3
"""Largest number of cells of levels that are found by a CASE in each pair that they are in; more are joined."""

BELOW_ALL_SCORES = -1e306
"""A score below those of all classes, impossible ones too."""


@dataclass(frozen=True)
class SqlOptions:
    """The table that a query reads, what it keeps of it, and what it returns.

    `keys` are columns that the result keeps. `tokens` names the table of tokens of each text, whose column `row`
    refers to the first key. `pair` are the indices of two classes, for and against which the evidence is; without it
    these are the prediction and the next probable class.
    """

    dialect: Dialect = "duckdb"
    table: str = "data"
    schema: str | None = None
    keys: Sequence[str] = ()
    evidence: bool = False
    pair: tuple[int, int] | None = None
    tokens: Mapping[str, str] = field(default_factory=dict)


def write_sql(document: Document, options: SqlOptions) -> str:
    """Return the SELECT of a model in a dialect.

    Raises InputError for what SQL cannot express: names that differ in case alone, zero bytes, hashed words.
    """
    if options.dialect not in DIALECTS:
        near = did_you_mean(str(options.dialect), DIALECTS)
        raise InputError(f"dialect must be one of {', '.join(DIALECTS)}, not {options.dialect!r}{near}")
    _check_names(document, options)
    return str(Query(document, options).build().sql(dialect=options.dialect, pretty=True, copy=False)) + "\n"


def group_terms(document: Document) -> dict[str, list[Term]]:
    """Return the terms of each feature, or of features that are joined; constants under the empty name."""
    found: dict[str, list[Term]] = {}
    for term in document["terms"]:
        name = " & ".join(term["features"]) if "features" in term else term.get("feature", "")
        found.setdefault(name, []).append(term)
    return found


class Query:
    """The query of a document under construction."""

    def __init__(self, document: Document, options: SqlOptions) -> None:
        self.document, self.options, self.speller = document, options, Speller(options.dialect)
        self.K, self.calibration = len(document["classes"]), document["calibration"]
        self.features = {feature["name"]: feature for feature in document["features"]}
        prior = (self.calibration or document)["log_prior"]
        self.intercept = [None if p is None else p + b for p, b in zip(prior, document["bias"])]
        self.reference = next(k for k in range(self.K) if self.intercept[k] is not None)
        schema = None if options.schema is None else e.name_to_identifier(options.schema)
        self.steps = QuerySteps(options.dialect, exp.Table(this=e.name_to_identifier(options.table), db=schema))
        self.impossible: dict[int, list[Expression]] = {}
        self.cells, self.level_cells = list_cells(document), dict[str, Expression]()
        self.numbers = NumberTerms(self.speller, self.steps, self.K, self.reference, self.impossible)

    def build(self) -> exp.Select:
        """Return the whole query."""
        claimed = self._rule_out(self._add_scores())
        scores = calibrate(self.document, self.steps, self.speller, claimed)
        top = self.steps.let({"deciban_top": self.speller.greatest(scores)})[0]
        below = self.steps.let({f"deciban_d{k}": e.minus(score, top) for k, score in enumerate(scores)})
        odds = self.steps.let({f"deciban_o{k}": self.speller.exp(d) for k, d in enumerate(below)})
        total = self.steps.let({"deciban_total": e.sum_of(odds)})[0]
        values = self._list_results(below, odds, total)
        if self.options.evidence:
            values += self._list_evidence(below, claimed)
        names = name_results(self.document, self.options)
        keys = [e.column(name) for name in self.options.keys]
        return self.steps.finish([*keys, *(e.alias(value, name) for value, name in zip(values, names))])

    # Scores

    def _add_scores(self) -> list[Expression]:
        """Add the step of the score of each class; with evidence, after one of the term of each feature and class."""
        grouped = group_terms(self.document)
        self._prepare_numbers(grouped)
        in_order = sorted(enumerate(self.document["terms"]), key=lambda each: each[1]["kind"] == "pair")
        joined = {id(term): self._join(term, i) for i, term in in_order}
        terms = {name: self._sum_terms(name, listed, joined) for name, listed in grouped.items()}
        self.written = [name for name in terms if name]
        flags = {f"deciban_i{k}": e.join_conditions(c, exp.Or) for k, c in sorted(self.impossible.items())}
        columns: list[Expression] = [e.column(name) for name in self.options.keys]
        columns += [e.alias(e.indicator(condition), name) for name, condition in flags.items()]
        self.evidence: dict[tuple[int, int], Expression] = {}
        guard = self._guard_limited()
        if self.options.evidence:
            for j, name in enumerate(self.written):
                for k, term in enumerate(terms[name]):
                    if term is not None:
                        self.evidence[j, k] = e.column(f"deciban_e{j}_{k}")
                        columns.append(e.alias(term, f"deciban_e{j}_{k}"))
                terms[name] = [self.evidence.get((j, k)) for k in range(self.K)]
            if guard is not None:
                columns.append(e.alias(guard, "deciban_guard"))
                guard = e.column("deciban_guard")
            self.steps.add(columns)
            columns = [exp.Star()]
        base = self.intercept[self.reference] or 0.0
        for k, intercept in enumerate(self.intercept):
            start = None if intercept is None else e.constant(intercept - base)
            total = e.sum_of([*(each[k] for each in terms.values()), start, guard if k == 0 else None])
            columns.append(e.alias(total, f"deciban_s{k}"))
        self.steps.add(columns)
        return [e.column(f"deciban_s{k}") for k in range(self.K)]

    def _prepare_numbers(self, grouped: Mapping[str, Sequence[Term]]) -> None:
        """Add a step with numbers within limits, whose terms need no CASE, and with the bins of numbers; not of very
        many, for which few databases have columns."""
        found = {name: self.numbers.limit(grouped[name], f) for name, f in self.features.items() if name in grouped}
        limited = {name: value for name, value in found.items() if value is not None}
        wanted = [(name, tuple(cells)) for name, cells in self.cells.items()]
        bins = [term for term in self.document["terms"] if term["kind"] == "bins"]
        wanted += [(term["feature"], tuple(term["cuts"])) for term in bins if has_many_bins(term, self.reference)]
        numbers = [(name, cuts) for name, cuts in dict.fromkeys(wanted) if self.features[name]["kind"] == "number"]
        if len(limited) + len(numbers) <= MAX_NEW_COLUMNS:
            named = {f"deciban_n{j}": value for j, value in enumerate(limited.values())}
            named |= {
                f"deciban_v{j}": self.numbers.find_bin(self.features[name], cuts)
                for j, (name, cuts) in enumerate(numbers)
            }
            columns = self.steps.let(named)
            self.numbers.limited.update(zip(limited, columns))
            self.numbers.bins.update(zip(numbers, columns[len(limited) :]))

    def _guard_limited(self) -> Expression | None:
        """Return 0, NULL where a limited number is refused; None where there are none."""
        total = e.add(*self.numbers.limited.values())
        return None if total is None else e.multiply(e.number(0.0), total)

    def _join(self, term: Term, number: int) -> Any:
        """Join what a term needs in the next step: the sums of a text, or a table of many levels or pairs.

        Return the expression of each class for a text or pair, the function that writes levels, None for other terms.
        """
        if term["kind"] == "levels":
            levels = LevelTerm.of(term, self.document, self.speller, self.reference)
            return partial(levels.write, self._join_levels(levels, number))
        if term["kind"] == "pair":
            found = {name: self._find_cell(name) for name in (term["feature"], term["parent"])}
            return join_pair(self.steps, term, self.reference, found, number)
        if term["kind"] != "text":
            return None
        if not self.options.keys:
            raise InputError(
                "a model of texts needs a key, to which the table of tokens refers. Hint: --key COLUMN (keys=[…])"
            )
        table = self.options.tokens.get(term["feature"], f"{term['feature']}_tokens")
        words, key = self.document["words"], self.options.keys[0]
        return join_tokens(self.steps, self.speller, term, words, self.reference, key, table, number)

    def _join_levels(self, levels: LevelTerm, number: int) -> Callable[[str, int], Expression | None] | None:
        """Join the table of many levels, with their cells if they have any; None where there are few.

        The expression of the cell of the feature, where it is in a pair, is added to `level_cells`.
        """
        name = levels.feature["name"]
        cells = self.cells.get(name)
        has_many_cells = cells is not None and len(cells) > MAX_CASE_CELLS
        look_up = levels.join(self.steps, number, cells) if levels.is_large or has_many_cells else None
        if cells is not None:
            self.level_cells[name] = levels.find_cell(cells, None if look_up is None else look_up("c", 0))
        return look_up

    def _find_cell(self, name: str) -> Expression:
        """Return the number of the cell of a feature."""
        if name in self.level_cells:
            return self.level_cells[name]
        return self.numbers.find_bin(self.features[name], self.cells[name])

    def _sum_terms(self, name: str, listed: Sequence[Term], joined: Mapping[int, Any]) -> Terms:
        """Return the sum of the terms of a feature; a number without evidence is refused where it is infinite."""
        sums: Terms = [e.add(*each) for each in zip(*(self._write(term, joined[id(term)]) for term in listed))]
        feature = self.features.get(name)
        if all(term is None for term in sums) and feature is not None and feature["kind"] == "number":
            sums[-1] = self.numbers.guard_only(feature)
        return sums

    def _write(self, term: Term, joined: Any) -> Terms:
        """Return the expression of each class for a term, given what `_join` returned for it."""
        match term["kind"]:
            case "constant":
                return [e.constant(score - term["scores"][self.reference]) for score in term["scores"]]
            case "text" | "pair":
                found: Terms = joined
                return found
            case "joint_gaussian":
                features = [self.features[name] for name in term["features"]]
                prefix = f"deciban_g{len(self.steps.steps)}"
                return JointTerm(self.numbers, self.steps, term, features, prefix).write()
            case "levels":
                terms, conditions = joined()
                for k, condition in conditions.items():
                    self.numbers.rule_out(k, condition)
                return terms
            case kind:
                write: Callable[..., Terms] = getattr(self.numbers, f"write_{kind}")
                return write(term, self.features[term["feature"]])

    def _rule_out(self, scores: Sequence[Expression]) -> list[Expression]:
        """Return scores in which impossible classes have a very low one; all intercepts where every class has."""
        never = {k for k, intercept in enumerate(self.intercept) if intercept is None}
        if not self.impossible and not never:
            return list(scores)
        dead = {k: e.is_one(e.column(f"deciban_i{k}")) for k in self.impossible if k not in never}
        everything = None
        if len(dead) + len(never) == self.K:
            is_refused = e.is_null(e.sum_of(scores))
            everything = e.join_conditions([e.negate(is_refused), *dead.values()], exp.And)
        base, kept = self.intercept[self.reference] or 0.0, {}
        impossible = exp.cast(e.number(IMPOSSIBLE_SCORE), "double")  # else PostgreSQL makes all scores decimals
        for k, (score, intercept) in enumerate(zip(scores, self.intercept)):
            branches = []
            if everything is not None:
                start = impossible if intercept is None else e.number(intercept - base)
                branches.append((everything, start))
            if k in dead:
                branches.append((dead[k], impossible))
            other = impossible if intercept is None else score
            kept[f"deciban_r{k}"] = e.when(*branches, otherwise=other) if branches else other
        return self.steps.let(kept)

    # Results

    def _list_results(
        self, below: Sequence[Expression], odds: Sequence[Expression], total: Expression
    ) -> list[Expression]:
        """Return prediction, its probability, and probabilities and scores of all classes; NULL for refused rows."""
        names = to_labels(self.document["classes"], self.document["target_type"]).tolist()
        labels = [e.label(name) for name in names]
        wins = [e.compare(d, exp.GTE, e.number(0.0)) for d in below[:-1]]
        # Not whether the total is NULL: a prediction alone needs no exponentials.
        refused = e.join_conditions([e.is_null(d) for d in below], exp.Or)
        prediction = e.when((refused, exp.Null()), *zip(wins, labels), otherwise=labels[-1])
        shares = [e.divide(each, total) for each in odds]
        scores = [e.when((e.negate(refused), d)) for d in below]
        return [prediction, e.divide(e.number(1.0), total), *shares, *scores]

    def _list_evidence(self, below: Sequence[Expression], claimed: Sequence[Expression]) -> list[Expression]:
        """Return the evidence of each feature in decibans, for one class against another, and their log-odds.

        It is NULL in rows with a value that is impossible in one of these two.
        """
        if self.K < 2:
            raise InputError("evidence compares two classes, and this model has one")
        pair = self.options.pair
        pick = self._pick_best(below) if pair is None else lambda each: [each[k] for k in pair]
        both = self.document, self.calibration or self.document
        priors = [[e.number(IMPOSSIBLE_SCORE if p is None else p) for p in each["log_prior"]] for each in both]
        gains = [e.minus(*(e.minus(*pick(each)) for each in own)) for own in zip((below, claimed), priors)]
        factor = e.multiply(e.number(DECIBAN), find_evidence_factor(self.document, gains, self.speller))
        factor = self.steps.let({"deciban_f": factor})[0]
        flags = [e.column(f"deciban_i{k}") if k in self.impossible else e.number(0.0) for k in range(self.K)]
        possible = [e.compare(flag, exp.EQ, e.number(0.0)) for flag in pick(flags)] if self.impossible else []
        values = []
        for j in range(len(self.written)):
            terms = [e.or_zero(self.evidence.get((j, k))) for k in range(self.K)]
            value = e.multiply(factor, e.minus(*pick(terms)))
            values.append(e.when((e.join_conditions(possible, exp.And), value)) if possible else value)
        return [*values, e.multiply(e.number(DECIBAN), e.minus(*pick(below)))]

    def _pick_best(self, below: Sequence[Expression]) -> Callable[[Sequence[Expression]], list[Expression]]:
        """Return the function that picks the items of the two most probable classes of each row."""
        first = self.steps.let({"deciban_w": _find_first(below, e.number(0.0))})[0]
        rest = {
            f"deciban_q{k}": e.when((e.compare(first, exp.EQ, e.integer(k)), e.number(BELOW_ALL_SCORES)), otherwise=d)
            for k, d in enumerate(below)
        }
        others = self.steps.let(rest)
        best = self.steps.let({"deciban_b": self.speller.greatest(others)})[0]
        second = self.steps.let({"deciban_v": _find_first(others, best)})[0]

        def pick(each: Sequence[Expression]) -> list[Expression]:
            return [
                e.when(*((e.compare(which, exp.EQ, e.integer(k)), item) for k, item in enumerate(each)))
                for which in (first, second)
            ]

        return pick


def _find_first(items: Sequence[Expression], least: Expression) -> Expression:
    """Return the number of the first item that is not below the least."""
    return e.when(*((e.compare(item, exp.GTE, least), e.integer(k)) for k, item in enumerate(items)))


def _check_names(document: Document, options: SqlOptions) -> None:
    """Refuse names of columns that the database takes for one."""
    used = [name for feature in document["features"] for name in feature["columns"] if feature["kind"] != "text"]
    seen: dict[str, str] = {}
    for name in dict.fromkeys([*used, *options.keys]):
        e.name_to_identifier(name)
        folded = name if options.dialect in CASE_SENSITIVE_DIALECTS else name.lower()
        if folded in seen:
            raise InputError(
                f"the columns {seen[folded]!r} and {name!r} differ in upper and lower case alone, and "
                f"{options.dialect} takes them for one. Hint: rename one before training"
            )
        seen[folded] = name


def name_results(document: Document, options: SqlOptions) -> list[str]:
    """Return the names of results: short enough for every database, each once whatever the case of its letters."""
    wanted = ["prediction", "probability"]
    wanted += [f"{kind}_{name}" for kind in ("p", "score") for name in document["classes"]]
    if options.evidence:
        wanted += [*(f"evidence_{name}" for name in group_terms(document) if name), "decibans"]
    taken = {name.lower() for name in options.keys}
    for name in ("prediction", "probability"):
        if name in taken:
            raise InputError(f"the result has a column {name!r} itself, which no key can be. Hint: rename the key")
    return [_take_name(name.replace("\0", ""), taken) for name in wanted]


def _take_name(wanted: str, taken: set[str]) -> str:
    """Return the name, cut off and numbered where it is taken; add it to those that are."""
    name, number = _cut(wanted, MAX_NAME_BYTES), 1
    while name.lower() in taken:
        number += 1
        name = f"{_cut(wanted, MAX_NAME_BYTES - 1 - len(str(number)))}_{number}"
    taken.add(name.lower())
    return name


def _cut(name: str, n_bytes: int) -> str:
    """Return as much of a name as takes this many bytes."""
    return name.encode("utf-8", "replace")[:n_bytes].decode("utf-8", "ignore")
