"""Statements whose few rows are the statistics of a table, as trees of sqlglot: nothing is pasted into text.

The columns of the table are renamed in an inner SELECT, the class to `k`, the weight to `w`, values to `v0`, `v1` …;
all that is built on it knows only these names. So a hostile name stands in one place, quoted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from deciban.sources.databases.tables import DatabaseTable

MAX_SELECTED = 400
"""The number of expressions that are selected by one statement; PostgreSQL allows 1664, SQLite 2000."""

SPLITTER = 2.0**45 + 1.0
"""The factor by which Veltkamp's splitting rounds a double to its leading 8 bits, the edges of the grid's cells."""

WHOLE_SHIFT = 1.5 * 2.0**52
"""A number that, added and subtracted, rounds a double below 2⁵¹ to a whole number."""

WHOLE_RANGE = (128.0, 4096.0)
"""The range in which the cells of the grid begin at whole numbers, except that 4096 belongs to the next."""

SPLIT_RANGE = (1e-290, 1e290)
"""The range in which Veltkamp's splitting neither overflows nor meets subnormal numbers."""

INTO_CELL = 2.0**-20
"""The fraction by which a number is moved below the edge of a cell, into the one before it."""

SAMPLE_ROWS, MAX_SAMPLE_FACTOR = 20_480, 512
"""The rows that centres and bounds of extremes are estimated from, and the most rows that one of them stands for."""

WEEKDAY_PARTS = {"postgres": "ISODOW", "duckdb": "ISODOW", "spark": "DAYOFWEEK_ISO", "snowflake": "DAYOFWEEKISO"}
"""The name of the weekday from 1, Monday, to 7 within EXTRACT; other dialects have a function."""

CLASS, WEIGHT = "k", "w"


def name(text: str, table: str | None = None) -> exp.Column:
    """Return the column of a name of our own, of an inner SELECT if that is named."""
    of = None if table is None else exp.to_identifier(table, quoted=True)
    return exp.Column(this=exp.to_identifier(text, quoted=True), table=of)


def double(number: float) -> exp.Expression:
    """Return a constant of type double."""
    return exp.cast(exp.convert(float(number)), "double")


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

    def number(self, column: str) -> exp.Expression:
        """Return a column as a double."""
        value = self.table.column(column)
        if str(self.table.schema.field(column).type) == "bool":
            return exp.case().when(value, double(1)).when(exp.Not(this=value.copy()), double(0))
        value = exp.cast(value, "double")
        return exp.Nullif(this=value, expression=self._nan()) if column in self.nan_columns else value

    @staticmethod
    def _nan() -> exp.Expression:
        return exp.cast(exp.Literal.string("NaN"), "double")

    def rows(self, values: Mapping[str, exp.Expression], *, learned: bool, limit: int | None = None) -> exp.Select:
        """Return the SELECT of class, weight and values by their new names; `learned`: rows with class and weight."""
        named: dict[str, exp.Expression] = {CLASS: self.level(self.target), **values}
        if self.weights is not None:
            named[WEIGHT] = self.number(self.weights)
        conditions = [is_known(self.table.column(self.target))] if learned else []
        if learned and self.weights is not None:
            conditions.append(self.has_weight(self.number(self.weights)))
        statement = self.table.select(named, *conditions)
        return statement if limit is None else statement.limit(limit)

    def level(self, column: str) -> exp.Expression:
        """Return a column as it is grouped: in SQLite by bytes, whatever the column's own order takes for equal."""
        value = self.table.column(column)
        is_plain = self.dialect != "sqlite"
        return value if is_plain else exp.Collate(this=value, expression=exp.to_identifier("BINARY"))

    @staticmethod
    def has_weight(weight: exp.Expression) -> exp.Expression:
        """Return the condition that a weight is above 0; that of NaN is not, which some databases sort last."""
        finite = exp.LTE(this=weight.copy(), expression=double(1.7e308))
        return exp.and_(exp.GT(this=weight.copy(), expression=double(0)), finite)

    def total_weight(self) -> exp.Expression:
        """Return the sum of the weights above 0 of a group of rows; their number where there are none."""
        if self.weights is None:
            return exp.Count(this=exp.Star())
        return exp.Sum(this=exp.case().when(self.has_weight(name(WEIGHT)), name(WEIGHT)).else_(double(0)))


def select_from(rows: exp.Select, expressions: Mapping[str, exp.Expression]) -> exp.Select:
    """Return the SELECT of expressions by name from an inner one."""
    named = [exp.alias_(expression, alias, quoted=True) for alias, expression in expressions.items()]
    return exp.select(*named).from_(rows.subquery(exp.to_identifier("r", quoted=True)))


def group_by(rows: exp.Select, keys: Sequence[str], sums: Mapping[str, exp.Expression]) -> exp.Select:
    """Return the SELECT of keys and sums, a row for each group of the rows of an inner SELECT."""
    statement = select_from(rows, {**{key: name(key) for key in keys}, **sums})
    return statement.group_by(*(name(key) for key in keys))


def count_classes(rows: LabelledTable) -> exp.Select:
    """Return the statement of the rows, their weight and the rows of invalid weight of each class."""
    sums = {"n": exp.Count(this=exp.Star()), "weight": rows.total_weight()}
    if rows.weights is not None:
        negative = exp.LT(this=name(WEIGHT), expression=double(0))
        is_infinite = exp.EQ(this=name(WEIGHT), expression=exp.cast(exp.Literal.string("Infinity"), "double"))
        if rows.dialect == "sqlite":  # has no text of it, and reads 9e999 so
            is_infinite = exp.GT(this=name(WEIGHT), expression=double(1.797e308))
        invalid = exp.or_(negative, is_infinite)
        sums["invalid"] = exp.Count(this=exp.case().when(invalid, exp.Literal.number(1)))
        sums["learned"] = exp.Count(this=exp.case().when(rows.has_weight(name(WEIGHT)), exp.Literal.number(1)))
    return group_by(rows.rows({}, learned=False), [CLASS], sums)


def count_levels(rows: LabelledTable, columns: Sequence[str]) -> exp.Select:
    """Return the statement of the rows and weight of each class and level, or combination of levels."""
    values = {f"v{i}": rows.level(column) for i, column in enumerate(columns)}
    sums = {"n": exp.Count(this=exp.Star()), "weight": rows.total_weight()}
    return group_by(rows.rows(values, learned=False), [CLASS, *values], sums)


def count_date_parts(rows: LabelledTable, column: str, parts: Sequence[str]) -> exp.Select:
    """Return the statement of the weight of each class and combination of parts (month, weekday, hour) of a date."""
    values = {f"v{i}": date_part(rows.table.column(column), part, rows.dialect) for i, part in enumerate(parts)}
    return group_by(rows.rows(values, learned=True), [CLASS, *values], {"weight": rows.total_weight()})


def date_part(value: exp.Expression, part: str, dialect: str) -> exp.Expression:
    """Return the number of a month from 1, of a weekday from 1 (Monday), or of an hour from 0."""
    unit = part.upper()
    if part == "weekday":
        if dialect not in WEEKDAY_PARTS:
            return exp.DayOfWeekIso(this=value)
        unit = WEEKDAY_PARTS[dialect]
    return exp.cast(exp.Extract(this=exp.var(unit), expression=value), "int")


def grid_key(value: exp.Expression) -> exp.Expression:
    """Return a number in the same cell of `ledger.grid` as a value, one for all values of the cell that occur.

    The value is rounded to the nearest edge of a cell. Where that is above the value, a number just below the edge
    lies in the cell of the value.
    """
    edge = _nearest_edge(value)
    below = exp.Sub(this=edge.copy(), expression=exp.Mul(this=exp.Abs(this=edge.copy()), expression=double(INTO_CELL)))
    return exp.case().when(exp.LT(this=value.copy(), expression=edge.copy()), below).else_(edge.copy())


def _nearest_edge(value: exp.Expression) -> exp.Expression:
    size = exp.Abs(this=value.copy())
    shifted = exp.paren(exp.Add(this=value.copy(), expression=double(WHOLE_SHIFT)))
    whole = exp.Sub(this=shifted, expression=double(WHOLE_SHIFT))
    scaled = exp.Mul(this=value.copy(), expression=double(SPLITTER))
    split = exp.Sub(this=scaled, expression=exp.paren(exp.Sub(this=scaled.copy(), expression=value.copy())))
    low, high = (double(bound) for bound in WHOLE_RANGE)
    is_whole = exp.and_(exp.GTE(this=size.copy(), expression=low), exp.LT(this=size.copy(), expression=high))
    is_split = exp.Between(this=size, low=double(SPLIT_RANGE[0]), high=double(SPLIT_RANGE[1]))
    return exp.paren(exp.case().when(is_whole, whole).when(is_split, split).else_(value.copy()))


def count_grid(rows: LabelledTable, column: str) -> exp.Select:
    """Return the statement of the weight of each class and cell of the grid that occurs."""
    inner = rows.rows({"v": rows.number(column)}, learned=True)
    keyed = {CLASS: name(CLASS), "v": grid_key(name("v"))}
    if rows.weights is not None:
        keyed[WEIGHT] = name(WEIGHT)
    keys = select_from(inner.where(is_known(rows.number(column))), keyed)
    return group_by(keys, [CLASS, "v"], {"weight": rows.total_weight()})


def estimate_centres(rows: LabelledTable, columns: Sequence[str]) -> exp.Select:
    """Return the statement of the means of the first rows, about which all rows are summed."""
    values = {f"v{i}": rows.number(column) for i, column in enumerate(columns)}
    inner = rows.rows(values, learned=True, limit=SAMPLE_ROWS)
    return select_from(inner, {key: exp.Avg(this=name(key)) for key in values})


def sum_numbers(
    rows: LabelledTable, columns: Sequence[str], centres: Sequence[float], counts: Collection[str]
) -> exp.Select:
    """Return the statement of weight, moments, least and greatest value of each class and column.

    Columns of `counts` have also t_i, the total of their values above 0.

    The moments are n_i, d_i and s_i: the weight, the mean about the centre c_i, and the mean squared deviation from
    d_i where the database's own variance is centred and no row has a weight. Otherwise, by two passes, d_i and s_i
    are the sums of deviations and of their squares from a mean m_i, which the first pass finds.
    """
    values = {f"v{i}": rows.number(column) for i, column in enumerate(columns)}
    inner = rows.rows(values, learned=True)
    if rows.weights is not None or not rows.table.driver.has_centred_variance:
        sums, first = _sum_in_two_passes(rows, inner, list(values), centres)
    else:
        sums, first = _sum_in_one_pass(list(values), centres), None
    for i, column in enumerate(columns):
        value, weight = name(f"v{i}", "r"), None if rows.weights is None else name(WEIGHT, "r")
        sums |= {f"l{i}": exp.Min(this=value), f"h{i}": exp.Max(this=value.copy())}
        if column in counts:
            is_positive = exp.GT(this=value.copy(), expression=double(0))
            sums[f"t{i}"] = _sum_weighted(exp.case().when(is_positive, value.copy()).else_(double(0)), weight)
    statement = select_from(inner, {CLASS: name(CLASS, "r"), **sums})
    if first is not None:
        same_class = exp.EQ(this=name(CLASS, "r"), expression=name(CLASS, "m"))
        statement = statement.join(first.subquery(exp.to_identifier("m", quoted=True)), on=same_class)
    return statement.group_by(name(CLASS, "r"))


def _sum_in_one_pass(keys: Sequence[str], centres: Sequence[float]) -> dict[str, exp.Expression]:
    """Return the expressions of weight, mean about the centre and variance of each value."""
    sums: dict[str, exp.Expression] = {}
    for i, (key, centre) in enumerate(zip(keys, centres)):
        gap = exp.Sub(this=name(key), expression=double(centre))
        sums[f"n{i}"] = exp.Count(this=name(key))
        sums[f"d{i}"] = exp.Avg(this=gap)
        sums[f"s{i}"] = exp.VariancePop(this=gap.copy())
    return sums


def _sum_in_two_passes(
    rows: LabelledTable, inner: exp.Select, keys: Sequence[str], centres: Sequence[float]
) -> tuple[dict[str, exp.Expression], exp.Select]:
    """Return the expressions of sums about the class means, and the statement of the first pass, which finds these."""
    weight = None if rows.weights is None else name(WEIGHT, "r")
    means: dict[str, exp.Expression] = {CLASS: name(CLASS, "r")}
    sums: dict[str, exp.Expression] = {}
    for i, (key, centre) in enumerate(zip(keys, centres)):
        value, mean = name(key, "r"), name(f"m{i}", "m")
        gap = exp.paren(exp.Sub(this=value.copy(), expression=double(centre)))
        n: exp.Expression = exp.Count(this=value.copy())
        if weight is not None:
            n = exp.Sum(this=exp.case().when(is_known(value.copy()), weight.copy()))
        means[f"m{i}"] = exp.Div(this=_sum_weighted(gap, weight), expression=exp.Nullif(
            this=exp.cast(n.copy(), "double"), expression=double(0)))  # fmt: skip
        rest = exp.paren(exp.Sub(this=gap.copy(), expression=mean.copy()))
        sums |= {f"n{i}": n, f"m{i}": exp.Max(this=mean), f"d{i}": _sum_weighted(rest, weight)}
        sums[f"s{i}"] = _sum_weighted(exp.Mul(this=rest.copy(), expression=rest.copy()), weight)
    return sums, select_from(inner, means).group_by(name(CLASS, "r"))


def _sum_weighted(value: exp.Expression, weight: exp.Expression | None) -> exp.Expression:
    return exp.Sum(this=value.copy() if weight is None else exp.Mul(this=weight.copy(), expression=value.copy()))


def random_share(dialect: str, share: float) -> exp.Expression:
    """Return a condition that each row meets with this probability."""
    drawn: exp.Expression = exp.Rand()
    if dialect == "sqlite":  # a whole number of 64 bits
        scaled = exp.Div(this=exp.cast(drawn, "double"), expression=double(2.0**64))
        drawn = exp.paren(exp.Add(this=scaled, expression=double(0.5)))
    return exp.LT(this=drawn, expression=double(share))


def bound_extremes(rows: LabelledTable, columns: Sequence[str], n_rows: int, n_values: int) -> exp.Select:
    """Return the statement of a value l_i not below the least `n_values` distinct values of column i, and h_i likewise.

    They are those of a random sample of the rows: any sample gives valid bounds, and few rows lie beyond them.
    """
    values = {f"v{i}": rows.number(column) for i, column in enumerate(columns)}
    inner = rows.rows(values, learned=True)
    share = max(SAMPLE_ROWS / max(1, n_rows), 1 / MAX_SAMPLE_FACTOR)
    if share < 1:
        inner = inner.where(random_share(rows.dialect, share))
    bounds: dict[str, exp.Expression] = {}
    for i, key in enumerate(values):
        for bound, farthest, descending in ((f"l{i}", exp.Max, False), (f"h{i}", exp.Min, True)):
            order = exp.Ordered(this=name(key), desc=descending)
            some = exp.select(name(key)).distinct().from_(exp.to_identifier("s", quoted=True))
            some = some.where(is_known(name(key))).order_by(order).limit(n_values)
            found = exp.select(farthest(this=name(key))).from_(some.subquery(exp.to_identifier("e", quoted=True)))
            bounds[bound] = found.subquery()
    named = [exp.alias_(expression, alias, quoted=True) for alias, expression in bounds.items()]
    return exp.select(*named).with_(exp.to_identifier("s", quoted=True), as_=inner)


def count_extremes(rows: LabelledTable, column: str, low: float, high: float) -> exp.Select:
    """Return the statement of the rows of each class and value up to `low` or from `high` on."""
    value = rows.number(column)
    beyond = exp.or_(
        exp.LTE(this=value.copy(), expression=double(low)), exp.GTE(this=value.copy(), expression=double(high))
    )
    inner = rows.rows({"v": value}, learned=True).where(beyond)
    return group_by(inner, [CLASS, "v"], {"n": exp.Count(this=exp.Star())})


def count_types(rows: LabelledTable, columns: Sequence[str]) -> exp.Select:
    """Return the statement, for SQLite, of the cells of each column that are texts (t_i) or bytes (b_i)."""
    values = {f"v{i}": rows.table.column(column) for i, column in enumerate(columns)}
    sums: dict[str, Any] = {}
    for i, key in enumerate(values):
        for prefix, kind in (("t", "text"), ("b", "blob")):
            found = exp.EQ(this=exp.func("typeof", name(key)), expression=exp.Literal.string(kind))
            sums[f"{prefix}{i}"] = exp.Count(this=exp.case().when(found, exp.Literal.number(1)))
    return select_from(rows.rows(values, learned=False), sums)
