"""A model as one SELECT: class scores, posterior, prediction, and on request the evidence of each column.

The query is a chain of steps (WITH): the score of each class, the calibration, the exponentials, the results. Each
step refers to the columns of the step before, so that no expression is computed twice; where a database would merge
steps again, and repeat their expressions, it is kept from doing so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deciban.errors import InputError, did_you_mean, unknown_class_error
from deciban.export import sql_expressions as e
from deciban.export.portable import Document
from deciban.export.sql_expressions import CASE_SENSITIVE_DIALECTS, DIALECTS, Dialect, Speller, Terms, exp
from deciban.export.sql_terms import TermWriter, contrast_scores, iterate_terms
from deciban.model.output_frames import to_labels
from deciban.scores.explanation import DECIBAN

Expression = exp.Expression

IMPOSSIBLE_SCORE = -1e300
"""The score of an impossible class: its probability is 0 beside any other."""

MAX_NAME_BYTES = 63
"""Bytes of the name of a result; PostgreSQL cuts off longer names."""

TOKEN_COLUMNS = ("row", "token", "count")
"""The columns of a table of tokens."""


@dataclass(frozen=True)
class SqlOptions:
    """The table that a query reads, what it keeps of it, and what it returns.

    `keys` are columns that the result keeps. `tokens` names the table of tokens of each text, whose column `row`
    refers to the first key. `pair` are two classes, for and against which the evidence is; without it these are the
    prediction and the next probable class.
    """

    dialect: Dialect = "duckdb"
    table: str = "data"
    schema: str | None = None
    keys: Sequence[str] = ()
    evidence: bool = False
    pair: tuple[str, str] | None = None
    tokens: Mapping[str, str] = field(default_factory=dict)


def write_sql(document: Document, options: SqlOptions, pretty: bool = True) -> str:
    """Return the SELECT of a model in a dialect.

    Raises InputError for what SQL cannot express: names that differ in case alone, zero bytes, hashed words.
    """
    if options.dialect not in DIALECTS:
        near = did_you_mean(str(options.dialect), DIALECTS)
        raise InputError(f"dialect must be one of {', '.join(DIALECTS)}, not {options.dialect!r}{near}")
    query = Query(document, options)
    return str(query.build().sql(dialect=options.dialect, pretty=pretty, identify=False)) + "\n"


class Query:
    """The steps of a query under construction."""

    def __init__(self, document: Document, options: SqlOptions) -> None:
        self.document, self.options, self.speller = document, options, Speller(options.dialect)
        self.K = len(document["classes"])
        self.labels = to_labels(document["classes"], document["target_type"]).tolist()
        self._check_names()
        self.steps: list[tuple[str, exp.Select]] = []
        self.calibration = document["calibration"]
        prior = document["log_prior"] if self.calibration is None else self.calibration["log_prior"]
        self.intercept = [None if p is None else p + b for p, b in zip(prior, document["bias"])]
        self.reference = next(k for k in range(self.K) if self.intercept[k] is not None)

    # Names

    def _check_names(self) -> None:
        """Refuse names of columns that the database takes for one, and results with the name of a key."""
        used = [name for feature in self.document["features"] for name in feature["columns"]]
        seen: dict[str, str] = {}
        for name in dict.fromkeys([*used, *self.options.keys]):
            e.name_to_identifier(name)
            folded = name if self.options.dialect in CASE_SENSITIVE_DIALECTS else name.lower()
            if folded in seen:
                raise InputError(
                    f"the columns {seen[folded]!r} and {name!r} differ in upper and lower case alone, and "
                    f"{self.options.dialect} takes them for one. Hint: rename one before training"
                )
            seen[folded] = name
        self.names = make_unique_names(self.document, self.options.keys, self.options.evidence)

    # Steps

    @property
    def _source(self) -> Expression:
        """The last step, or the table."""
        if self.steps:
            return exp.to_table(self.steps[-1][0])
        schema = None if self.options.schema is None else e.name_to_identifier(self.options.schema)
        return exp.Table(this=e.name_to_identifier(self.options.table), db=schema)

    def _add_step(self, expressions: Sequence[Expression], source: Expression | None = None) -> None:
        select = exp.Select(expressions=list(expressions)).from_(self._source if source is None else source)
        if self.options.dialect == "postgres":
            select = select.offset(0)  # PostgreSQL would merge the steps, and compute expressions many times
        self.steps.append((f"deciban_{len(self.steps) + 1}", select))

    def let(self, named: dict[str, Expression]) -> list[Expression]:
        """Compute named expressions in a step of their own, beside all columns of the step before."""
        if named:
            self._add_step([exp.Star(), *(exp.alias_(value, name, quoted=True) for name, value in named.items())])
        return [e.column(name) for name in named]

    def build(self) -> exp.Select:
        """Return the whole query."""
        self._join_tokens()
        scores = self._calibrate(self._rule_out(*self._add_scores()))
        top = self.let({"deciban_top": self.speller.greatest([s.copy() for s in scores])})[0]
        below = self.let({f"deciban_d{k}": _minus(s, top) for k, s in enumerate(scores)})
        odds = self.let({f"deciban_o{k}": self.speller.exp(d) for k, d in enumerate(below)})
        total = self.let({"deciban_total": _sum(odds)})[0]
        results = self._results(below, odds, total)
        if self.options.evidence:
            results += self._evidence(below)
        keys = [e.column(name) for name in self.options.keys]
        final = exp.Select(expressions=[*keys, *results]).from_(exp.to_table(self.steps[-1][0]))
        for name, step in self.steps:
            final = final.with_(name, as_=step, materialized=True if self.options.dialect == "sqlite" else None)
        return final

    # Scores

    def _add_scores(self) -> tuple[Terms, dict[int, Expression]]:
        """Add the step of the score of each class, and of the conditions under which it is impossible."""
        writer = TermWriter(self.document, self.speller, self.reference, self.let, self.text_sums)
        terms = {name: self._sum_terms(writer, name, listed) for name, listed in iterate_terms(self.document)}
        self.features = [name for name in terms if name]
        base = self.intercept[self.reference]
        assert base is not None
        intercept: Terms = [None if i is None else e.constant(i - base) for i in self.intercept]
        keys: list[Expression] = [e.column(name) for name in self.options.keys]
        conditions = {
            k: e.join_conditions(found, exp.Or) for k, found in sorted(writer.impossible.items())
        }
        dead = {k: exp.alias_(e.when((c, e.number(1.0)), otherwise=e.number(0.0)), f"deciban_i{k}", quoted=True) for k, c in conditions.items()}
        flags = list(dead.values())
        self.flags = [e.column(f"deciban_i{k}") for k in dead]
        if self.options.evidence:
            parts = {f"deciban_e{j}_{k}": term for j, name in enumerate(self.features) for k, term in enumerate(terms[name])}
            written = {name: term for name, term in parts.items() if term is not None}
            self._add_step([*keys, *(exp.alias_(term, name, quoted=True) for name, term in written.items()), *dead.values()])
            self.evidence = {name: e.column(name) for name in written}
            terms = {
                name: [self.evidence.get(f"deciban_e{j}_{k}") for k in range(self.K)] if name else terms[name]
                for j, name in enumerate([*self.features, ""])
                if name in terms
            }
            keys, flags = [exp.Star()], []
        sums = [_sum([*(t[k] for t in terms.values()), intercept[k]]) for k in range(self.K)]
        named = [exp.alias_(total, f"deciban_s{k}", quoted=True) for k, total in enumerate(sums)]
        self._add_step([*keys, *named, *flags])
        return [e.column(f"deciban_s{k}") for k in range(self.K)], {k: e.column(f"deciban_i{k}") for k in dead}

    def _sum_terms(self, writer: TermWriter, name: str, listed: Sequence[Any]) -> Terms:
        """Return the sum of the terms of a feature; a number without evidence is still refused where it is infinite."""
        written = [writer.write(term) for term in listed]
        sums: Terms = [e.add(*each) for each in zip(*written)]
        if all(term is None for term in sums) and writer.features.get(name, {}).get("kind") == "number":
            sums[-1] = writer.guard_only(name)
        return sums

    def _rule_out(self, scores: Terms, dead: Mapping[int, Expression]) -> list[Expression]:
        """Return scores in which impossible classes have a very low one; all intercepts where every class has."""
        never = {k for k in range(self.K) if self.intercept[k] is None}
        if not dead and not never:
            return [e.or_zero(score) for score in scores]
        is_dead = [
            exp.true() if k in never else exp.EQ(this=dead[k].copy(), expression=e.number(1.0)) if k in dead else exp.false()
            for k in range(self.K)
        ]
        base = self.intercept[self.reference]
        assert base is not None
        start = [IMPOSSIBLE_SCORE if i is None else i - base for i in self.intercept]
        out = {}
        for k, score in enumerate(scores):
            branches = []
            if set(dead) | never == set(range(self.K)):
                nothing = e.join_conditions([c.copy() for c in is_dead], exp.And)
                is_refused = exp.Is(this=e.or_zero(_sum([s.copy() for s in scores if s is not None])), expression=exp.Null())
                branches.append((exp.And(this=exp.Not(this=exp.Paren(this=is_refused)), expression=nothing), e.number(start[k])))
            if k in dead or k in never:
                branches.append((is_dead[k].copy(), e.number(IMPOSSIBLE_SCORE)))
            kept = e.or_zero(score)
            out[f"deciban_r{k}"] = e.when(*branches, otherwise=kept) if branches else kept
        return self.let(out)

    # Calibration

    def _calibrate(self, scores: list[Expression]) -> list[Expression]:
        """Return calibrated scores under the present prior."""
        if self.calibration is None:
            return scores
        shift = _prior_shift(self.document)
        match self.calibration["method"]:
            case "temperature":
                mapped = [e.scale(self.calibration["t"], score) for score in scores]
            case "platt":
                slope, bias = self.calibration["slope"], self.calibration["bias"]
                mapped = [e.add(e.scale(slope, score), e.constant(b)) for score, b in zip(scores, bias)]
            case _:
                mapped = self._bend(scores)
        moved = {
            f"deciban_c{k}": e.number(IMPOSSIBLE_SCORE) if s is None else e.or_zero(e.add(score, e.constant(s)))
            for k, (score, s) in enumerate(zip(mapped, shift))
        }
        return self.let(moved)

    def _bend(self, scores: list[Expression]) -> Terms:
        """Return the scores of an isotonic map: the log-odds of each class against the others, along its curve."""
        curves = self.calibration["curves"]
        if self.K == 2:
            x = self.let({"deciban_x": _minus(scores[1], scores[0])})[0]
            return [None, _interpolate(x, curves[0])]
        others = [[s for l, s in enumerate(scores) if l != k] for k in range(self.K)]
        tops = self.let({f"deciban_t{k}": self.speller.greatest([s.copy() for s in o]) for k, o in enumerate(others)})
        rests = {
            f"deciban_x{k}": _minus(_minus(scores[k], tops[k]), exp.Ln(this=_sum([self.speller.exp(_minus(s, tops[k])) for s in others[k]])))
            for k in range(self.K)
        }
        bent = self.let({f"deciban_y{k}": _interpolate(x, curve) for k, (x, curve) in enumerate(zip(self.let(rests), curves))})
        return [self._log_sigmoid(y) for y in bent]

    def _log_sigmoid(self, y: Expression) -> Expression:
        """Return −ln(1 + e^−y), without overflow."""
        size = exp.Abs(this=y.copy())
        rest = exp.Ln(this=_sum([e.number(1.0), self.speller.exp(exp.Neg(this=size))]))
        negative = e.when((exp.LT(this=y.copy(), expression=e.number(0.0)), y.copy()), otherwise=e.number(0.0))
        return _minus(negative, rest)

    # Results

    def _results(self, below: Sequence[Expression], odds: Sequence[Expression], total: Expression) -> list[Expression]:
        """Return prediction, its probability, and probabilities and scores of all classes; NULL for refused rows."""
        refused = exp.Is(this=total.copy(), expression=exp.Null())
        wins = [exp.GTE(this=d.copy(), expression=e.number(0.0)) for d in below]
        prediction = e.when((refused, exp.Null()), *((win, e.label(k)) for win, k in zip(wins[:-1], self.labels)), otherwise=e.label(self.labels[-1]))
        if len(below) == 1:
            prediction = e.when((exp.Not(this=refused), e.label(self.labels[0])))
        shares = [e.divide(o.copy(), total.copy()) for o in odds]
        scores = [_minus(d, e.when((refused.copy(), exp.Null()), otherwise=e.number(0.0))) for d in below]
        values = [prediction, e.divide(e.number(1.0), total.copy()), *shares, *scores]
        return [exp.alias_(value, name, quoted=True) for value, name in zip(values, self.names.results)]

    def _evidence(self, below: Sequence[Expression]) -> list[Expression]:
        """Return the evidence of each feature in decibans, for one class against another, and their log-odds."""
        if self.K < 2:
            raise InputError("evidence compares two classes, and this model has one")
        picks = self._pick_classes(below)
        t = self.calibration["t"] if self.calibration and self.calibration["method"] == "temperature" else 1.0
        values = []
        for j in range(len(self.features)):
            own = [self.evidence.get(f"deciban_e{j}_{k}") for k in range(self.K)]
            value = e.multiply(e.number(DECIBAN * t), _minus(picks[0](own), picks[1](own)))
            if self.flags:  # evidence is infinite, or has no value
                none = [exp.EQ(this=flag.copy(), expression=e.number(0.0)) for flag in self.flags]
                value = e.when((e.join_conditions(none, exp.And), value))
            values.append(value)
        values.append(e.multiply(e.number(DECIBAN), _minus(picks[0](below), picks[1](below))))
        return [exp.alias_(value, name, quoted=True) for value, name in zip(values, self.names.evidence)]

    def _pick_classes(self, below: Sequence[Expression]) -> tuple[Any, Any]:
        """Return two functions that pick, of one expression for each class, those of the two compared classes."""
        if self.options.pair is not None:
            k, l = (self._find_class(name) for name in self.options.pair)
            return (lambda each: e.or_zero(each[k])), (lambda each: e.or_zero(each[l]))
        zero = e.number(0.0)
        first = self.let({"deciban_w": e.when(*((exp.GTE(this=d.copy(), expression=zero.copy()), exp.Literal.number(k)) for k, d in enumerate(below)))})[0]
        left = self.let({
            f"deciban_q{k}": e.when((exp.EQ(this=first.copy(), expression=exp.Literal.number(k)), e.number(-1e306)), otherwise=d.copy())
            for k, d in enumerate(below)
        })  # fmt: skip
        best = self.let({"deciban_b": self.speller.greatest([q.copy() for q in left])})[0]
        second = self.let({"deciban_v": e.when(*((exp.GTE(this=q.copy(), expression=best.copy()), exp.Literal.number(k)) for k, q in enumerate(left)))})[0]

        def pick(which: Expression) -> Any:
            return lambda each: e.when(
                *((exp.EQ(this=which.copy(), expression=exp.Literal.number(k)), e.or_zero(None if item is None else item.copy())) for k, item in enumerate(each))
            )

        return pick(first), pick(second)

    def _find_class(self, name: str) -> int:
        if name not in self.document["classes"]:
            raise unknown_class_error(name, self.document["classes"])
        return int(self.document["classes"].index(name))

    # Texts

    def _join_tokens(self) -> None:
        """Join the sums of the weights of tokens, one row for each row of the table, for each text."""
        self.text_sums: dict[str, list[Expression | None]] = {}
        texts = [term for term in self.document["terms"] if term["kind"] == "text"]
        if not texts:
            return
        if not self.options.keys:
            raise InputError("a model of texts needs a key, which the rows of the table of tokens name. Hint: --key COLUMN")
        source = exp.Select(expressions=[exp.Column(this=exp.Star(), table=exp.to_identifier("deciban_t"))])
        table = self._source
        source = source.from_(exp.alias_(table, "deciban_t", table=True))
        for i, term in enumerate(texts):
            sums = self._sum_tokens(term, i)
            alias = f"deciban_n{i}"
            for k in range(self.K):
                source = source.select(exp.alias_(exp.Column(this=exp.to_identifier(f"s{k}"), table=exp.to_identifier(alias)), f"{alias}_{k}", quoted=True))
            match = exp.EQ(this=e.column(self.options.keys[0], "deciban_t"), expression=exp.Column(this=exp.to_identifier("r"), table=exp.to_identifier(alias)))
            source = source.join(sums.subquery(alias), on=match, join_type="left")
            zero = e.number(0.0)
            self.text_sums[term["feature"]] = [
                exp.Coalesce(this=e.column(f"{alias}_{k}"), expressions=[zero.copy()]) for k in range(self.K)
            ]
        self.steps.append(("deciban_texts", source))

    def _sum_tokens(self, term: Mapping[str, Any], i: int) -> exp.Select:
        """Return the sums over the tokens of each row: Σ value · weight of each class."""
        if term["words"] is None:
            raise InputError(
                f"column {term['feature']!r} is counted by hashes of its words, which SQL cannot compute. "
                f"Hint: train without hashed words"
            )
        weights, dead = contrast_scores(term["weights"], self.reference)
        if any(map(any, dead)):
            raise InputError("words that are impossible in a class cannot be exported to SQL. Hint: train with alpha > 0")
        rows = [exp.Tuple(expressions=[e.text(word), *(e.number(w[v]) for w in weights)]) for v, word in enumerate(term["words"])]
        names = ["token", *(f"w{k}" for k in range(self.K))]
        self.steps.append((f"deciban_words_{i}", _values(rows, names, self.options.dialect)))
        tokens, words = exp.to_identifier("t"), exp.to_identifier("w")
        row, token, count = (exp.Column(this=e.name_to_identifier(name), table=tokens.copy()) for name in TOKEN_COLUMNS)
        value = _word_value(exp.cast(count, "double"), self.document["words"]["values"])
        norm = {"l1": exp.Sum(this=value.copy()), "l2": exp.Sqrt(this=exp.Sum(this=e.multiply(value.copy(), value.copy())))}.get(self.document["words"]["length"])
        sums = []
        for k in range(self.K):
            total: Expression = exp.Sum(this=e.multiply(value.copy(), exp.Column(this=exp.to_identifier(f"w{k}"), table=words.copy())))
            sums.append(exp.alias_(total if norm is None else e.divide(total, norm.copy()), f"s{k}"))
        table = exp.Table(this=e.name_to_identifier(self._token_table(term["feature"])))
        select = exp.Select(expressions=[exp.alias_(row, "r"), *sums]).from_(exp.alias_(table, "t", table=True))
        same = exp.EQ(this=token, expression=exp.Column(this=exp.to_identifier("token"), table=words.copy()))
        return select.join(exp.alias_(exp.to_table(f"deciban_words_{i}"), "w", table=True), on=same).group_by(row.copy())

    def _token_table(self, feature: str) -> str:
        """Return the name of the table of the tokens of a text: that given, or COLUMN_tokens."""
        return self.options.tokens.get(feature, f"{feature}_tokens")


def _values(rows: Sequence[Expression], names: Sequence[str], dialect: str) -> exp.Select:
    """Return a SELECT of literal rows, whose columns have these names."""
    columns = [exp.to_identifier(name) for name in names]
    if dialect == "sqlite":  # which names them column1, column2, …
        source: Expression = exp.Subquery(this=exp.Values(expressions=list(rows)))
        return exp.Select(expressions=[exp.alias_(exp.column(f"column{i + 1}"), name) for i, name in enumerate(names)]).from_(source)
    alias = exp.TableAlias(this=exp.to_identifier("deciban_v"), columns=columns)
    return exp.Select(expressions=[exp.Star()]).from_(exp.Values(expressions=list(rows), alias=alias))


def _word_value(count: Expression, values: str) -> Expression:
    """Return the value with which a word counts that occurs so often in a text."""
    if values == "presence":
        return e.number(1.0)
    return exp.Ln(this=_sum([e.number(1.0), count])) if values == "log" else count


def _sum(items: Sequence[Expression | None]) -> Expression:
    return e.or_zero(e.add(*items))


def _minus(a: Expression, b: Expression) -> Expression:
    difference = e.subtract(a.copy(), b.copy())
    assert difference is not None
    return difference


def _interpolate(x: Expression, curve: Mapping[str, Sequence[float]]) -> Expression:
    """Return a piecewise linear function of x, constant beyond its first and last point."""
    claimed, true = curve["claimed"], curve["true"]
    pieces: list[Expression] = [e.number(true[0])]
    for a, b, y, z in zip(claimed, claimed[1:], true, true[1:]):
        slope = (z - y) / (b - a)
        rise = e.scale(slope, e.subtract(x.copy(), e.constant(a)))
        pieces.append(_sum([rise, e.constant(y)]))
    return e.choose_bin(x, claimed, [*pieces, e.number(true[-1])])


def _prior_shift(document: Document) -> list[float | None]:
    """Return ln π'/π of each class, from the prior of the calibration to the present one; None for −∞."""
    calibration = document["calibration"]
    pairs = zip(document["log_prior"], calibration["log_prior"])
    return [0.0 if old is None else None if new is None else new - old for new, old in pairs]


@dataclass(frozen=True)
class ResultNames:
    """The names of the columns of a result."""

    results: list[str]
    evidence: list[str]


def make_unique_names(document: Document, keys: Sequence[str], evidence: bool) -> ResultNames:
    """Return names of results: short enough for every database, and each once whatever the case of its letters."""
    wanted = ["prediction", "probability"]
    wanted += [f"p_{name}" for name in document["classes"]] + [f"score_{name}" for name in document["classes"]]
    n_results = len(wanted)
    if evidence:
        names = [name for name, _ in iterate_terms(document) if name]
        wanted += [*(f"evidence_{name}" for name in names), "decibans"]
    taken = {name.lower() for name in keys}
    for name in ("prediction", "probability"):
        if name in taken:
            raise InputError(f"the result has a column {name!r} of its own, which no key can have. Hint: rename the key")
    unique = [_take_name(name, taken) for name in wanted]
    return ResultNames(unique[:n_results], unique[n_results:])


def _take_name(wanted: str, taken: set[str]) -> str:
    """Return the name, cut off and numbered where it is taken; add it to those that are."""
    wanted = wanted.replace("\0", "")
    name, number = _cut(wanted, MAX_NAME_BYTES), 1
    while name.lower() in taken:
        number += 1
        name = _cut(wanted, MAX_NAME_BYTES - 1 - len(str(number))) + f"_{number}"
    taken.add(name.lower())
    return name


def _cut(name: str, n_bytes: int) -> str:
    """Return as much of a name as takes this many bytes."""
    return name.encode("utf-8", "replace")[:n_bytes].decode("utf-8", "ignore")
