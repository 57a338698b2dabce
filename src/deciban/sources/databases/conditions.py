"""Conditions on rows, `where="age > 30"`: one expression of SQL, parsed before anything is sent to a database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deciban.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from sqlglot import exp

HINT = "Hint: one condition as in SQL, where=\"age > 30 and ward = 'A'\" (--where)"


def import_sqlglot() -> Any:
    """Return sqlglot's module of expressions; a MissingExtraError names the extra where it is not installed."""
    try:
        from sqlglot import exp
    except ImportError:
        raise MissingExtraError("tables of databases need sqlglot. Hint: pip install 'deciban[sql]'") from None
    return exp


def parse_condition(text: str | None, dialect: str) -> exp.Expression | None:
    """Parse a condition in a dialect of SQL; an InputError for anything else than one expression that only reads."""
    if text is None:
        return None
    exp = import_sqlglot()
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        found = sqlglot.parse(text, dialect=dialect)
    except (SqlglotError, RecursionError) as error:
        raise InputError(f"where is no condition: {_summarise(error)}. {HINT}") from None
    if len(found) != 1:
        raise InputError(f"where is {len(found)} statements, and must be one condition. {HINT}")
    (condition,) = found
    if not isinstance(condition, exp.Condition) or isinstance(condition, exp.Subquery):
        what = "empty" if condition is None else f"a statement ({type(condition).__name__.upper()})"
        raise InputError(f"where is {what}, and must be a condition. {HINT}")
    for node in condition.walk():
        if isinstance(node, (exp.DML, exp.DDL, exp.Command)) and not isinstance(node, exp.Query):
            raise InputError(f"where contains {type(node).__name__.upper()}, and a condition only reads. {HINT}")
        if isinstance(node, (exp.Placeholder, exp.Parameter)):
            raise InputError(f"where contains a parameter ({node.sql()}), which has no value. {HINT}")
    return condition


def _summarise(error: Exception) -> str:
    """Return the first line of a parser's error, without its place; the type of one without a text."""
    lines = [line.split(" Line 1")[0] for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else type(error).__name__
