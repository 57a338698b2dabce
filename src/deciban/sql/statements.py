"""Statements whose few rows are the statistics of a table, as trees of sqlglot: nothing is pasted into text.

The columns of the table are renamed in an inner SELECT, the class to `k`, the weight to `w`, values to `v0`, `v1` …;
all that is built on it knows only these names. So a hostile name stands in one place, quoted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from deciban.ledger.grid import MANTISSA_BITS
from deciban.sources.databases.tables import DatabaseTable

MAX_SELECTED = 400
"""The number of expressions that are selected by one statement; PostgreSQL allows 1664, SQLite 2000."""

MAX_SPLIT_BITS = 50
"""The bits of cells up to which Veltkamp's splitting finds their edges; with more, numbers are counted one by one."""

MAX_SPLIT = 1e290
"""The magnitude up to which Veltkamp's splitting does not overflow."""

MAX_FINITE_WEIGHT = 1.797e308
"""The greatest weight of a row; a larger one is infinite."""

GRID_ROWS = 3072
"""The rows that the cells of a number's histogram are estimated from; few, since their values are read."""

CENTRE_ROWS, BOUND_ROWS, MAX_BOUND_FACTOR = 20_480, 4096, 4096
"""The rows that centres and bounds of extremes are estimated from, and the most rows that one of the latter stands
for."""

WEEKDAY_PARTS = {"postgres": "ISODOW", "duckdb": "ISODOW", "spark": "DAYOFWEEK_ISO", "snowflake": "DAYOFWEEKISO"}
"""The name of the weekday from 1, Monday, to 7 within EXTRACT; other dialects have a function."""

CLASS, WEIGHT = "k", "w"


def _column(text: str, table: str | None = None) -> exp.Column:
    """Return a column by the new name that an inner SELECT gives it; `table` is the name of that SELECT."""
    return exp.Column(this=_quote(text), table=None if table is None else _quote(table))


def _quote(text: str) -> exp.Identifier:
    """Return a name in quotes."""
    return exp.to_identifier(text, quoted=True)


def double(number: float) -> exp.Expression:
    """Return a constant of type double."""
    return exp.cast(exp.convert(float(number)), "double")


def count_where(condition: Any) -> exp.Expression:
    """Return the number of rows of a group that meet a condition."""
    return exp.Count(this=exp.case().when(condition, exp.Literal.number(1)))


def is_known(value: exp.Expression) -> exp.Expression:
    """Return the condition that a value is not NULL."""
    return exp.Not(this=exp.Is(this=value, expression=exp.null()))


@dataclass(frozen=True)
class LabelledTable:
    """A table of a database with the columns of the class and of the weights."""

    table: DatabaseTable
    target: str
    weights: str | None = None
    nan_columns: frozenset[str] = frozenset()
    """The columns of numbers that contain NaN, which is missing."""

    @property
    def dialect(self) -> str:
        """The dialect of SQL that the database reads."""
        return self.table.driver.dialect

    def sample(self, share: float) -> LabelledTable:
        """Return about this share of the rows, drawn at random: whole pages where the database can do that."""
        if share >= 1:
            return self
        return replace(self, table=self.table.sample(share, random_share(self.dialect, share)))

    def number(self, column: str) -> exp.Expression:
        """Return a column as a double: NULL for NaN, 1 and 0 for true and false."""
        value = self.table.column(column)
        if str(self.table.schema.field(column).type) == "bool":
            return exp.case().when(value, double(1)).when(exp.Not(this=value.copy()), double(0))
        value = exp.cast(value, "double")
        if column not in self.nan_columns:
            return value
        return exp.Nullif(this=value, expression=exp.cast(exp.Literal.string("NaN"), "double"))

    def select_rows(self, values: Mapping[str, exp.Expression], *, learned: bool) -> exp.Select:
        """Return the SELECT of class, weight and values by their new names.

        `learned`: of rows that have a class, and a weight above 0 where there are weights; else of all rows.
        """
        named: dict[str, exp.Expression] = {CLASS: self.level(self.target), **values}
        if self.weights is not None:
            named[WEIGHT] = self.number(self.weights)
        conditions = [is_known(self.table.column(self.target))] if learned else []
        if learned and self.weights is not None:
            conditions.append(self.has_weight(self.number(self.weights)))
        return self.table.select(named, *conditions)

    def level(self, column: str) -> exp.Expression:
        """Return a column as it is grouped: in SQLite by bytes, whatever the column's own order takes for equal."""
        value = self.table.column(column)
        return exp.Collate(this=value, expression=exp.to_identifier("BINARY")) if self.dialect == "sqlite" else value

    @staticmethod
    def has_weight(weight: exp.Expression) -> Any:
        """Return the condition that a weight is above 0 and finite; NaN, which some databases sort last, is not."""
        finite = exp.LTE(this=weight.copy(), expression=double(MAX_FINITE_WEIGHT))
        return exp.and_(exp.GT(this=weight.copy(), expression=double(0)), finite)

    def total_weight(self) -> exp.Expression:
        """Return the sum of the weights above 0 of a group of rows; their number where there are none."""
        if self.weights is None:
            return exp.Count(this=exp.Star())
        return exp.Sum(this=exp.case().when(self.has_weight(_column(WEIGHT)), _column(WEIGHT)).else_(double(0)))


def select_from(rows: exp.Select, expressions: Mapping[str, exp.Expression]) -> exp.Select:
    """Return the SELECT of expressions by name from an inner one, which is not copied, and is named `r`."""
    return _select(expressions).from_(rows.subquery(_quote("r"), copy=False), copy=False)


def _select(expressions: Mapping[str, exp.Expression]) -> exp.Select:
    """Return the SELECT of expressions by name, which are not copied, from nothing yet."""
    named = [exp.alias_(expression, alias, quoted=True, copy=False) for alias, expression in expressions.items()]
    return exp.select(*named, copy=False)


def group_by(rows: exp.Select, keys: Sequence[str], sums: Mapping[str, exp.Expression]) -> exp.Select:
    """Return the SELECT of keys and sums, a row for each group of the rows of an inner SELECT."""
    statement = select_from(rows, {**{key: _column(key) for key in keys}, **sums})
    return statement.group_by(*(_column(key) for key in keys), copy=False)


def count_classes(rows: LabelledTable) -> exp.Select:
    """Return the statement of the rows n and their weight, a row for each class; NULL is one of them.

    With weights also of the rows whose weight is `invalid`, negative or infinite, and of those `learned`, above 0.
    """
    sums = {"n": exp.Count(this=exp.Star()), "weight": rows.total_weight()}
    if rows.weights is not None:
        negative = exp.LT(this=_column(WEIGHT), expression=double(0))
        is_infinite: Any = exp.EQ(this=_column(WEIGHT), expression=exp.cast(exp.Literal.string("Infinity"), "double"))
        if rows.dialect == "sqlite":  # has no text of it, and reads 9e999 so
            is_infinite = exp.GT(this=_column(WEIGHT), expression=double(MAX_FINITE_WEIGHT))
        invalid = exp.or_(negative, is_infinite)
        sums["invalid"] = count_where(invalid)
        sums["learned"] = count_where(rows.has_weight(_column(WEIGHT)))
    return group_by(rows.select_rows({}, learned=False), [CLASS], sums)


def count_levels(rows: LabelledTable, columns: Sequence[str]) -> exp.Select:
    """Return the statement of the rows and weight of each class and level, or combination of levels."""
    values = {f"v{i}": rows.level(column) for i, column in enumerate(columns)}
    sums = {"n": exp.Count(this=exp.Star()), "weight": rows.total_weight()}
    return group_by(rows.select_rows(values, learned=False), [CLASS, *values], sums)


def count_date_parts(rows: LabelledTable, column: str, parts: Sequence[str]) -> exp.Select:
    """Return the statement of the weight of each class and combination of parts (month, weekday, hour) of a date.

    It also gives the first and the last date of each.
    """
    values = {f"v{i}": date_part(rows.table.column(column), part, rows.dialect) for i, part in enumerate(parts)}
    sums = {"weight": rows.total_weight(), "first": exp.Min(this=_column("d")), "last": exp.Max(this=_column("d"))}
    inner = rows.select_rows({**values, "d": rows.table.column(column)}, learned=True)
    return group_by(inner, [CLASS, *values], sums)


def date_part(value: exp.Expression, part: str, dialect: str) -> exp.Expression:
    """Return the number of a month from 1, of a weekday from 1 (Monday), or of an hour from 0."""
    unit = part.upper()
    if part == "weekday":
        if dialect not in WEEKDAY_PARTS:
            return exp.DayOfWeekIso(this=value)
        unit = WEEKDAY_PARTS[dialect]
    return exp.cast(exp.Extract(this=exp.var(unit), expression=value), "int")


def nearest_edge(value: exp.Expression, low: float, high: float, bits: int) -> exp.Expression:
    """Return the edge of a cell, of so many bits, of `ledger.grid` that is nearest to a value from `low` to `high`.

    All numbers from halfway below the edge to halfway above it have that edge: those below it lie in the cell before.
    """
    if bits > MAX_SPLIT_BITS:
        return value
    factor = double(2.0 ** (MANTISSA_BITS - bits) + 1.0)  # rounds a double to its leading bits + 1 bits
    scaled = exp.Mul(this=value.copy(), expression=factor)
    split = exp.Sub(this=scaled, expression=exp.paren(exp.Sub(this=scaled.copy(), expression=value.copy())))
    if max(abs(low), abs(high)) <= MAX_SPLIT:
        return exp.paren(split)
    is_large = exp.GT(this=exp.Abs(this=value.copy()), expression=double(MAX_SPLIT))
    return exp.case().when(is_large, value.copy()).else_(split)


def sample_numbers(rows: LabelledTable, column: str) -> exp.Select:
    """Return the statement of the different values v of the first rows."""
    inner = rows.select_rows({"v": rows.number(column)}, learned=True).limit(GRID_ROWS)
    return group_by(inner, ["v"], {})


def count_grid(rows: LabelledTable, column: str, low: float, high: float, bits: int) -> exp.Select:
    """Return the statement of the weight of each class and edge of the grid e, and the weight of values below it.

    The column's values lie between `low` and `high`, and the cells have so many `bits`.
    """
    value = rows.number(column)
    inner = rows.select_rows({"v": value}, learned=True).where(is_known(value.copy()))
    named = {CLASS: _column(CLASS), "v": _column("v"), "e": nearest_edge(_column("v"), low, high, bits)}
    if rows.weights is not None:
        named[WEIGHT] = _column(WEIGHT)
    is_below = exp.LT(this=_column("v"), expression=_column("e"))
    counted = exp.Literal.number(1) if rows.weights is None else _column(WEIGHT)
    below = exp.Sum(this=exp.case().when(is_below, counted).else_(exp.Literal.number(0)))
    sums = {"weight": rows.total_weight(), "below": exp.cast(below, "double")}
    return group_by(select_from(inner, named), [CLASS, "e"], sums)


def estimate_centres(rows: LabelledTable, columns: Sequence[str]) -> exp.Select:
    """Return the statement of the mean v_i of the first rows of column i, about which all rows are summed."""
    values = {f"v{i}": rows.number(column) for i, column in enumerate(columns)}
    inner = rows.select_rows(values, learned=True).limit(CENTRE_ROWS)
    return select_from(inner, {key: exp.Avg(this=_column(key)) for key in values})


def sum_numbers(
    rows: LabelledTable, columns: Sequence[str], centres: Mapping[str, float], counts: Collection[str]
) -> exp.Select:
    """Return the statement of weight n_i, least and greatest value l_i and h_i of each column, a row for each class.

    Columns of `centres` have also their moments, those of `counts` t_i, the total of their values above 0.

    The moments are d_i and s_i: the mean about the centre c_i, and the mean squared deviation from d_i where the
    database's own variance is centred and no row has a weight. Otherwise, by two passes, d_i and s_i are the sums of
    deviations and of their squares from a mean m_i about the centre, which the first pass finds.
    """
    values = {f"v{i}": rows.number(column) for i, column in enumerate(columns)}
    inner = rows.select_rows(values, learned=True)
    centred = {i: centres[column] for i, column in enumerate(columns) if column in centres}
    if rows.weights is not None or not rows.table.driver.has_centred_variance:
        sums, first = _make_two_pass_moments(rows, inner, centred)
    else:
        sums, first = _make_one_pass_moments(centred), None
    weight = None if rows.weights is None else _column(WEIGHT, "r")
    for i, column in enumerate(columns):
        value = _column(f"v{i}", "r")
        sums |= {
            f"n{i}": _sum_weight(value, weight),
            f"l{i}": exp.Min(this=value),
            f"h{i}": exp.Max(this=value.copy()),
        }
        if column in counts:
            is_positive = exp.GT(this=value.copy(), expression=double(0))
            sums[f"t{i}"] = _sum_weighted(exp.case().when(is_positive, value.copy()).else_(double(0)), weight)
    statement = select_from(inner, {CLASS: _column(CLASS, "r"), **sums})
    if first is not None:
        same_class = exp.EQ(this=_column(CLASS, "r"), expression=_column(CLASS, "m"))
        statement = statement.join(first.subquery(_quote("m")), on=same_class)
    return statement.group_by(_column(CLASS, "r"))


def _sum_weight(value: exp.Expression, weight: exp.Expression | None) -> exp.Expression:
    """Return the weight of the rows that have a value; their number without weights."""
    if weight is None:
        return exp.Count(this=value.copy())
    return exp.Sum(this=exp.case().when(is_known(value.copy()), weight.copy()))


def _make_one_pass_moments(centres: Mapping[int, float]) -> dict[str, exp.Expression]:
    """Return the expressions d_i and s_i of each value: its mean about the centre, and its variance."""
    sums: dict[str, exp.Expression] = {}
    for i, centre in centres.items():
        gap = exp.Sub(this=_column(f"v{i}", "r"), expression=double(centre))
        sums |= {f"d{i}": exp.Avg(this=gap), f"s{i}": exp.VariancePop(this=gap.copy())}
    return sums


def _make_two_pass_moments(
    rows: LabelledTable, inner: exp.Select, centres: Mapping[int, float]
) -> tuple[dict[str, exp.Expression], exp.Select]:
    """Return the expressions m_i, d_i and s_i (`sum_numbers`), and the statement of the first pass, for the m_i."""
    weight = None if rows.weights is None else _column(WEIGHT, "r")
    means: dict[str, exp.Expression] = {CLASS: _column(CLASS, "r")}
    sums: dict[str, exp.Expression] = {}
    for i, centre in centres.items():
        value, mean = _column(f"v{i}", "r"), _column(f"m{i}", "m")
        gap = exp.paren(exp.Sub(this=value, expression=double(centre)))
        n = exp.Nullif(this=exp.cast(_sum_weight(value, weight), "double"), expression=double(0))
        means[f"m{i}"] = exp.Div(this=_sum_weighted(gap, weight), expression=n)
        rest = exp.paren(exp.Sub(this=gap.copy(), expression=mean.copy()))
        squares = exp.Mul(this=rest.copy(), expression=rest.copy())
        sums |= {f"m{i}": exp.Max(this=mean), f"d{i}": _sum_weighted(rest, weight)}
        sums[f"s{i}"] = _sum_weighted(squares, weight)
    return sums, select_from(inner, means).group_by(_column(CLASS, "r"))


def _sum_weighted(value: exp.Expression, weight: exp.Expression | None) -> exp.Expression:
    """Return the sum of weight times value; of the value without weights."""
    return exp.Sum(this=value.copy() if weight is None else exp.Mul(this=weight.copy(), expression=value.copy()))


def find_magnitude(rows: LabelledTable, column: str) -> exp.Select:
    """Return the statement of the greatest magnitude h of a column."""
    inner = rows.select_rows({"v": rows.number(column)}, learned=True)
    return select_from(inner, {"h": exp.Max(this=exp.Abs(this=_column("v")))})


def random_share(dialect: str, share: float) -> exp.Expression:
    """Return a condition that each row meets with this probability."""
    drawn: exp.Expression = exp.Rand()
    if dialect == "sqlite":  # a whole number of 64 bits
        scaled = exp.Div(this=exp.cast(drawn, "double"), expression=double(2.0**64))
        drawn = exp.paren(exp.Add(this=scaled, expression=double(0.5)))
    return exp.LT(this=drawn, expression=double(share))


def bound_extremes(rows: LabelledTable, columns: Sequence[str], n_rows: int, n_values: int) -> exp.Select:
    """Return the statement of a value l_i not below the least `n_values` distinct values of column i, h_i likewise.

    They are those of a random sample of the rows, of which n_i lie beyond them, of n: any sample gives valid bounds.
    """
    values = {f"v{i}": rows.number(column) for i, column in enumerate(columns)}
    share = max(BOUND_ROWS / max(1, n_rows), 1 / MAX_BOUND_FACTOR)
    inner = rows.sample(share).select_rows(values, learned=True)
    bounds: dict[str, exp.Expression] = {}
    for i, key in enumerate(values):
        for bound, farthest, descending in ((f"l{i}", exp.Max, False), (f"h{i}", exp.Min, True)):
            order = exp.Ordered(this=_column(key), desc=descending)
            some = exp.select(_column(key)).distinct().from_(_quote("s"))
            some = (
                some.where(is_known(_column(key)), copy=False).order_by(order, copy=False).limit(n_values, copy=False)
            )
            found = exp.select(farthest(this=_column(key))).from_(some.subquery(_quote("e"), copy=False), copy=False)
            bounds[bound] = found.subquery(copy=False)
    shares: dict[str, exp.Expression] = {"n": exp.Count(this=exp.Star())}
    for i, key in enumerate(values):
        shares[f"n{i}"] = count_where(_is_beyond(_column(key, "s"), _column(f"l{i}", "b"), _column(f"h{i}", "b")))
        shares |= {alias: exp.Max(this=_column(alias, "b")) for alias in (f"l{i}", f"h{i}")}
    statement = _select(shares).from_(_quote("b")).join(_quote("s"), join_type="left", on=exp.true())
    statement = statement.with_(_quote("s"), as_=inner, copy=False)
    return statement.with_(_quote("b"), as_=_select(bounds), copy=False)


def _is_beyond(value: exp.Expression, low: exp.Expression, high: exp.Expression) -> Any:
    """Return the condition that a value is ≤ low or ≥ high."""
    return exp.or_(exp.LTE(this=value.copy(), expression=low), exp.GTE(this=value.copy(), expression=high))


def count_extremes(
    rows: LabelledTable, columns: Sequence[str], bounds: Sequence[tuple[float, float]], n_groups: int
) -> exp.Expression:
    """Return the statement of the rows n of each class k and value v of column j up to its lower bound (side 0), and
    from its upper bound on (side 1): of each side, the `n_groups` outermost pairs of class and value.

    The rows that are beyond the bounds of any of several columns are few, and found by one pass.
    """
    values = {f"v{i}": rows.number(column) for i, column in enumerate(columns)}
    beyond = [_is_beyond(value, double(low), double(high)) for value, (low, high) in zip(values.values(), bounds)]
    inner = rows.select_rows(values, learned=True).where(exp.or_(*beyond))
    ends: list[exp.Select] = []
    for i, (low, high) in enumerate(bounds):
        for is_end, descending in ((exp.LTE, False), (exp.GTE, True)):
            bound = double(high if descending else low)
            found = _quote("s") if len(columns) > 1 else inner.subquery(_quote("s"), copy=False)
            mine = _select({CLASS: _column(CLASS), "v": _column(f"v{i}")}).from_(found, copy=False)
            mine = mine.where(is_end(this=_column(f"v{i}"), expression=bound), copy=False)
            counted = {"j": exp.Literal.number(i), "side": exp.Literal.number(int(descending))}
            grouped = group_by(mine, [CLASS, "v"], {**counted, "n": exp.Count(this=exp.Star())})
            order = exp.Ordered(this=_column("v"), desc=descending)
            least = grouped.order_by(order, copy=False).limit(n_groups, copy=False)
            ends.append(exp.select("*").from_(least.subquery(_quote("e"), copy=False), copy=False))
    statement: Any = exp.union(*ends, distinct=False, copy=False)
    return statement.with_(_quote("s"), as_=inner, copy=False) if len(columns) > 1 else statement


def count_types(rows: LabelledTable, columns: Sequence[str]) -> exp.Select:
    """Return the statement, for SQLite, of the cells of each column that are texts (t_i) or bytes (b_i)."""
    values = {f"v{i}": rows.table.column(column) for i, column in enumerate(columns)}
    sums: dict[str, Any] = {}
    for i, key in enumerate(values):
        for prefix, kind in (("t", "text"), ("b", "blob")):
            found = exp.EQ(this=exp.func("typeof", _column(key)), expression=exp.Literal.string(kind))
            sums[f"{prefix}{i}"] = count_where(found)
    return select_from(rows.select_rows(values, learned=False), sums)
