"""SQL expressions as sqlglot trees: literals, sums, cases, and what dialects spell differently.

Nothing is put together as text: names are quoted identifiers, values are literals that sqlglot writes. An expression
may stand in several places of a query: it is copied once, when the SQL is written.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from deciban.errors import InputError, MissingExtraError

try:
    from sqlglot import exp as exp
    from sqlglot.expressions import Expression as Expression
except ImportError:
    raise MissingExtraError(
        "SQL is written by sqlglot, which is not installed. Hint: pip install 'deciban[sql]'"
    ) from None

Dialect = Literal["duckdb", "postgres", "sqlite", "spark", "bigquery", "snowflake"]

DIALECTS: tuple[Dialect, ...] = get_args(Dialect)

CASE_SENSITIVE_DIALECTS = ("postgres", "snowflake")
"""Dialects in which quoted names that differ in case alone are two names."""

MAX_DOUBLE = 1.7976931348623157e308
"""The largest finite double: ±∞ and, where it has an order, NaN lie beyond it."""

MIN_EXPONENT = -700.0
"""Exponents below this give 0: PostgreSQL reports an underflow instead of rounding to 0."""

MAX_ARGUMENTS = 50
"""Arguments of one call of GREATEST; SQLite takes 127."""

MAX_CASE_BRANCHES = 12
"""Levels or bins × written classes up to which a CASE is used, else a join.

DuckDB, 10⁶ rows, 5 classes, 6 columns with up to 200 levels: 13 s by CASE, 0.2 s by joins;
5 classes, 3 of 12 columns with 90 bins, the whole query: 3.4 s of CPU by CASE, 0.6 s by joins.
"""

MIN_GRID_CUTS = 4
"""Cuts from which on a list of intervals takes DuckDB less time than a CASE."""

MAX_GRID_INTERVALS = 1024
"""Intervals of a list up to which it takes DuckDB less time than a CASE: it copies the list for every 2048 rows."""

MIN_GRID_WIDTH = 1e-100
"""Narrowest intervals of a list: the inverse of the width is finite."""

MAX_WHOLE_DOUBLE = 2.0**52
"""Whole doubles below this have neighbours that are doubles."""

Branch = tuple[Expression, Expression]
"""A condition and the result where it holds."""

Terms = list[Expression | None]
"""A summand of the score of each class; None is 0."""


def name_to_identifier(name: str) -> exp.Identifier:
    """Return a quoted identifier; refuse a name that no database can have."""
    if not name or "\0" in name:
        raise InputError(f"{name!r} cannot be the name of a column or table in SQL: it is empty or has a zero byte")
    return exp.to_identifier(name, quoted=True)


def column(name: str, table: str | None = None) -> exp.Column:
    """Return a reference to a column."""
    return exp.Column(this=name_to_identifier(name), table=None if table is None else name_to_identifier(table))


def alias(value: Expression, name: str) -> Expression:
    """Return an expression with a name."""
    return exp.Alias(this=value, alias=name_to_identifier(name))


def number(value: float) -> Expression:
    """Return a literal of a double: with an exponent, since databases read 0.1 as a decimal number."""
    text = repr(abs(float(value)))
    literal = exp.Literal.number(text if "e" in text else f"{text}e0")
    return exp.Neg(this=literal) if value < 0 else literal


def integer(value: int) -> Expression:
    """Return a literal of a whole number."""
    literal = exp.Literal.number(str(abs(value)))
    return exp.Neg(this=literal) if value < 0 else literal


def text(value: str) -> Expression:
    """Return a literal of a text; refuse a zero byte, which databases cannot have."""
    if "\0" in value:
        raise InputError(f"the text {value[:40]!r} has a zero byte, which SQL cannot express")
    return exp.Literal.string(value)


def label(value: Any) -> Expression:
    """Return a literal of a class."""
    if isinstance(value, bool):
        return exp.true() if value else exp.false()
    if isinstance(value, int):
        return integer(value)
    return number(value) if isinstance(value, float) else text(str(value))


def _balance(items: Sequence[Expression], operator: type[exp.Binary]) -> Expression:
    """Return a balanced tree of a binary operator: databases bound the depth of an expression."""
    if len(items) == 1:
        return items[0]
    half = len(items) // 2
    left, right = _balance(items[:half], operator), _balance(items[half:], operator)
    return exp.Paren(this=operator(this=left, expression=right))


def add(*items: Expression | None) -> Expression | None:
    """Return a sum; None is 0."""
    present = [item for item in items if item is not None]
    return _balance(present, exp.Add) if present else None


def sum_of(items: Sequence[Expression | None]) -> Expression:
    """Return a sum, the literal 0 of nothing."""
    return or_zero(add(*items))


def subtract(a: Expression | None, b: Expression | None) -> Expression | None:
    """Return a − b; None is 0."""
    if b is None:
        return a
    return exp.Neg(this=exp.Paren(this=b)) if a is None else minus(a, b)


def minus(a: Expression, b: Expression) -> Expression:
    """Return a − b."""
    return exp.Paren(this=exp.Sub(this=a, expression=b))


def multiply(*items: Expression) -> Expression:
    """Return a product."""
    return _balance(items, exp.Mul)


def divide(a: Expression, b: Expression) -> Expression:
    """Return a quotient of doubles."""
    return exp.Paren(this=exp.Div(this=a, expression=b, typed=True, safe=False))


def scale(factor: float, item: Expression | None) -> Expression | None:
    """Return a factor times an expression; None is 0."""
    if item is None or factor == 0:
        return None
    return item if factor == 1 else multiply(number(factor), item)


def or_zero(item: Expression | None) -> Expression:
    """Return the expression, or the literal 0."""
    return number(0.0) if item is None else item


def constant(value: float) -> Expression | None:
    """Return a literal, None for 0."""
    return None if value == 0 else number(value)


def compare(a: Expression, operator: type[exp.Binary], b: Expression) -> Expression:
    """Return a comparison."""
    comparison: Any = operator(this=a, expression=b)
    found: Expression = comparison
    return found


def is_null(x: Expression) -> Expression:
    """Return whether x is NULL."""
    return exp.Is(this=x, expression=exp.Null())


def between(x: Expression, low: float, high: float) -> Expression:
    """Return low ≤ x ≤ high, which neither NULL nor NaN fulfils."""
    return exp.Between(this=x, low=number(low), high=number(high))


def negate(condition: Expression) -> Expression:
    """Return whether a condition does not hold."""
    return exp.Not(this=exp.Paren(this=condition))


def join_conditions(conditions: Sequence[Expression], operator: type[exp.Binary]) -> Expression:
    """Return conditions joined by AND or OR."""
    return _balance(conditions, operator)


def when(*branches: Branch, otherwise: Expression | None = None) -> Expression:
    """Return a CASE of conditions; without `otherwise` it is NULL."""
    case = exp.Case(ifs=[exp.If(this=condition, true=result) for condition, result in branches])
    if otherwise is not None:
        case.set("default", otherwise)
    return case


def indicator(condition: Expression) -> Expression:
    """Return 1 where a condition holds, else 0."""
    return when((condition, number(1.0)), otherwise=number(0.0))


def is_one(x: Expression) -> Expression:
    """Return whether an indicator is 1."""
    return exp.Paren(this=compare(exp.Paren(this=x), exp.EQ, number(1.0)))


def is_in(x: Expression, values: Sequence[Expression]) -> Expression:
    """Return whether x is one of some literals."""
    return compare(x, exp.EQ, values[0]) if len(values) == 1 else exp.In(this=x, expressions=list(values))


def choose_bin(x: Expression, cuts: Sequence[float], results: Sequence[Expression]) -> Expression:
    """Return the result of the bin of x, one more than cuts, by comparisons in the order of a binary search."""
    if not cuts:
        return results[0]
    middle = len(cuts) // 2
    below = choose_bin(x, cuts[:middle], results[: middle + 1])
    above = choose_bin(x, cuts[middle + 1 :], results[middle + 1 :])
    return when((compare(x, exp.LT, number(cuts[middle])), below), otherwise=above)


def find_grid(cuts: Sequence[float]) -> tuple[float, int, list[int]] | None:
    """Return intervals of equal width that all cuts are bounds of: width, number of the first, and the bin of each.

    The width is a power of two, so that x / width is exact; None where there are few cuts or many intervals, or where
    x / width of a number next to the cut 0 would be 0.

    >>> find_grid([0.5, 0.75, 1.75, 2.0])
    (0.25, 1, [0, 1, 2, 2, 2, 2, 3, 4])
    """
    if len(cuts) < MIN_GRID_CUTS:
        return None
    ratios = [cut.as_integer_ratio() for cut in cuts if cut]
    width = min((p & -p) / q for p, q in ratios)
    first, last = cuts[0] / width - 1, cuts[-1] / width
    if width > 1 and 0.0 in cuts:
        return None
    if not (width >= MIN_GRID_WIDTH and max(-first, last) < MAX_WHOLE_DOUBLE and last - first < MAX_GRID_INTERVALS):
        return None
    return width, int(first), [bisect_right(cuts, i * width) for i in range(int(first), int(last) + 1)]


@dataclass(frozen=True)
class Speller:
    """The spelling of functions and casts that differ between dialects."""

    dialect: Dialect

    def call(self, name: str, *arguments: Expression) -> Expression:
        """Return a call of a function by its name."""
        return exp.Anonymous(this=name, expressions=list(arguments))

    def greatest(self, items: Sequence[Expression]) -> Expression:
        """Return the greatest of some expressions."""
        if len(items) == 1:
            return items[0]
        if len(items) > MAX_ARGUMENTS:
            groups = [items[i : i + MAX_ARGUMENTS] for i in range(0, len(items), MAX_ARGUMENTS)]
            return self.greatest([self.greatest(group) for group in groups])
        return self.call("MAX" if self.dialect == "sqlite" else "GREATEST", *items)

    def least(self, a: Expression, b: Expression) -> Expression:
        """Return the lesser of two expressions."""
        return self.call("MIN" if self.dialect == "sqlite" else "LEAST", a, b)

    def log(self, x: Expression) -> Expression:
        """Return the natural logarithm."""
        return exp.Ln(this=x)

    def positive_part(self, x: Expression) -> Expression:
        """Return max(x, 0), where x is finite; in DuckDB, which finds repeated expressions, twice max(x, 0)."""
        if self.doubles_positive_part:
            return sum_of([x, exp.Abs(this=x)])
        return self.greatest([x, number(0.0)])

    @property
    def doubles_positive_part(self) -> bool:
        """Whether `positive_part` returns twice the value: x + |x| takes DuckDB half the time of GREATEST(x, 0)."""
        return self.dialect == "duckdb"

    def exp(self, x: Expression) -> Expression:
        """Return e to the power of an expression; 0 far below 0."""
        if self.dialect in ("duckdb", "sqlite", "spark"):
            return exp.Exp(this=x)
        below = compare(x, exp.LT, number(MIN_EXPONENT))
        return when((below, number(0.0)), otherwise=exp.Exp(this=x))

    def find_bin_number(self, x: Expression, cuts: Sequence[float]) -> Expression:
        """Return the number of the bin of a finite x, the number of cuts that are at most x.

        DuckDB takes it from a list of the bins of intervals of equal width, where these are few: a CASE of 80 bins
        takes three times as long.
        """
        grid = find_grid(cuts) if self.dialect == "duckdb" else None
        if grid is None:
            return choose_bin(x, cuts, [integer(v) for v in range(len(cuts) + 1)])
        width, first, bins = grid
        inside = self.least(self.greatest([x, number(first * width)]), number(cuts[-1]))
        interval = exp.Floor(this=multiply(inside, number(1.0 / width)))
        place = minus(exp.cast(interval, "bigint"), integer(first - 1))
        values = exp.Array(expressions=[integer(v) for v in bins])
        return exp.Bracket(this=values, expressions=[place], offset=1)

    def is_missing(self, x: Expression) -> Expression:
        """Return whether x is NULL or NaN."""
        if self.dialect == "sqlite":  # a NaN is stored as NULL
            return is_null(x)
        if self.dialect in ("postgres", "snowflake"):
            nan = compare(x, exp.EQ, exp.cast(exp.Literal.string("NaN"), "double"))
        else:
            nan = self.call("IS_NAN" if self.dialect == "bigquery" else "ISNAN", x)
        return exp.Or(this=is_null(x), expression=nan)

    def to_double(self, x: Expression) -> Expression:
        """Return a column as double; SQLite, which reads the text 'abc' as 0, gets +∞, which is refused later."""
        if self.dialect != "sqlite":
            return exp.cast(x, "double")
        is_number = is_in(self.call("TYPEOF", x), [text("real"), text("integer"), text("null")])
        return when((is_number, x), otherwise=exp.Literal.number("9e999"))

    def date_part(self, x: Expression, part: str) -> Expression:
        """Return the month (1 to 12), weekday (0 Monday to 6) or hour of a date or time."""
        if self.dialect == "sqlite":
            code = {"month": "%m", "weekday": "%w", "hour": "%H"}[part]
            value: Expression = exp.cast(self.call("STRFTIME", text(code), x), "int")
            return self._from_sunday(value, 0) if part == "weekday" else value
        if part != "weekday":
            return exp.Extract(this=exp.var(part.upper()), expression=x)
        match self.dialect:
            case "spark":
                return self.call("WEEKDAY", x)
            case "bigquery":
                return self._from_sunday(exp.Extract(this=exp.var("DAYOFWEEK"), expression=x), 1)
            case "snowflake":
                return minus(self.call("DAYOFWEEKISO", x), integer(1))
        return minus(exp.Extract(this=exp.var("ISODOW"), expression=x), integer(1))

    def _from_sunday(self, day: Expression, sunday: int) -> Expression:
        """Return the weekday from Monday, 0, where Sunday is the first day and has this number."""
        shifted = exp.Paren(this=exp.Add(this=day, expression=integer(6 - sunday)))
        if self.dialect == "bigquery":
            return self.call("MOD", shifted, integer(7))
        return exp.Paren(this=exp.Mod(this=shifted, expression=integer(7)))
