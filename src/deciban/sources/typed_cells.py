"""Cells that have a type each, as those of workbooks and SQLite have, as Arrow columns of one type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

from deciban._lazy import pa, pc
from deciban.errors import InputError
from deciban.sources.arrow_types import is_text
from deciban.sources.markers import MISSING_NUMBERS, MarkerCounts, remove_markers
from deciban.sources.source import ColumnReading, role_hint


def to_column(values: Sequence[Any]) -> Any:
    """Return Python values as an Arrow array: of the type that they have in common, or of texts.

    Spaces around texts are removed, and an empty text is missing, as in CSV files.

    >>> to_column([1, 2.5, None]).type, to_column([True, None]).type, to_column([1, "n/a"]).to_pylist()
    (DataType(double), DataType(bool), ['1', 'n/a'])
    """
    kinds = set(map(type, values)) - {type(None)}
    for allowed, kind in (
        ({int}, pa.int64()),
        ({int, float}, pa.float64()),
        ({bool}, pa.bool_()),
        ({date, datetime}, pa.timestamp("us")),
        ({time}, pa.time64("us")),
        ({timedelta}, pa.duration("us")),
        ({bytes}, pa.large_binary()),
    ):
        if kinds <= allowed:
            return pa.array(values, kind if kinds else pa.null())
    return pa.array([_format_cell(value) for value in values], pa.string())


def _format_cell(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return (value or "").strip() or None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return None if value != value else repr(value).removesuffix(".0")
    if isinstance(value, datetime):
        return value.isoformat(" ").removesuffix(" 00:00:00")
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def to_text_column(column: Any) -> Any:
    """Return the values of a column as texts, as `to_column` formats those of a mixed one."""
    if is_text(column.type):
        return column
    if pa.types.is_temporal(column.type) or pa.types.is_large_binary(column.type):
        return pa.array([_format_cell(value) for value in column.to_pylist()], pa.string())
    return column.cast(pa.string())


def join_parts(parts: Sequence[Any]) -> Any:
    """Return the parts of a column as one, of the type that they have in common, or of texts."""
    kinds = {part.type for part in parts} - {pa.null()}
    if kinds == {pa.int64(), pa.float64()}:
        return pa.chunked_array([part.cast(pa.float64()) for part in parts])
    if len(kinds) > 1:
        return pa.chunked_array([to_text_column(part) for part in parts])
    kind = kinds.pop() if kinds else pa.null()
    return pa.chunked_array([part.cast(kind) for part in parts], kind)


def convert_column(
    column: Any, reading: ColumnReading, name: str, source: str, first_row: int, counts: MarkerCounts
) -> Any:
    """Return a column as it is to be read, numbers as doubles; markers of missing numbers are counted.

    `first_row` is the number of its first row, by which an error names a row.
    """
    if reading == "as it is":
        return column
    if reading != "number":
        return to_text_column(column)
    if not is_text(column.type):
        return column.cast(pa.float64(), safe=False) if _is_number(column.type) else column
    texts, found = remove_markers(pc.utf8_trim_whitespace(column), MISSING_NUMBERS)
    if found:
        counts.setdefault(name, Counter()).update(found)
    try:
        return texts.cast(pa.float64())
    except pa.ArrowInvalid:
        raise _non_number_error(texts.to_pylist(), name, source, first_row) from None


def _is_number(kind: Any) -> bool:
    return (
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind)
    )


def _non_number_error(texts: Sequence[str | None], name: str, source: str, first_row: int) -> InputError:
    row, text = next((i, text) for i, text in enumerate(texts) if text is not None and not _parses(text))
    return InputError(
        f"column {name!r} of {source} holds {text!r} in row {first_row + row}, which is not a number. "
        f"Hint: {role_hint(name, 'category')} reads it as text"
    )


def _parses(text: str) -> bool:
    try:
        pa.array([text]).cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True
