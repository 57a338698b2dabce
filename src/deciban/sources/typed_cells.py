"""Cells that have a type each, as those of workbooks and SQLite have, as Arrow columns of one type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from typing import Any

from deciban._lazy import pa
from deciban.sources.arrow_texts import format_floats, trim_texts
from deciban.sources.arrow_types import is_text
from deciban.sources.date_formats import DateFormat
from deciban.sources.markers import MISSING_NUMBERS, MarkerCounts, remove_markers
from deciban.sources.number_formats import NumberFormat
from deciban.sources.source import ColumnReading


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
            if kinds == {int, float}:  # Arrow takes no whole number above 2⁵³ for a double
                values = [float(value) if type(value) is int else value for value in values]
            return pa.array(values, kind if kinds else pa.null())
    return pa.array([_format_cell(value) for value in values], pa.string())


def _format_cell(value: Any) -> str | None:
    """Return a cell of Excel or SQLite as text; None for an empty cell and for NaN."""
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
    return format_floats(column) if pa.types.is_floating(column.type) else column.cast(pa.string())


def join_parts(parts: Sequence[Any]) -> Any:
    """Return arrays of `to_column` as one chunked array, of the type that they have in common, or of texts."""
    kinds = {part.type for part in parts} - {pa.null()}
    if kinds == {pa.int64(), pa.float64()}:
        return pa.chunked_array([part.cast(pa.float64(), safe=False) for part in parts])
    if len(kinds) > 1:
        return pa.chunked_array([to_text_column(part) for part in parts])
    kind = kinds.pop() if kinds else pa.null()
    return pa.chunked_array([part.cast(kind) for part in parts], kind)


def convert_columns(columns: Iterable[Any], wanted: Mapping[str, ColumnReading], counts: MarkerCounts) -> Any:
    """Return the wanted columns, given in their order, as a batch; each is converted by `convert_column`."""
    converted = [convert_column(each, how, name, counts) for each, (name, how) in zip(columns, wanted.items())]
    return pa.RecordBatch.from_arrays(converted, names=list(wanted))


def convert_column(column: Any, reading: ColumnReading, name: str, counts: MarkerCounts) -> Any:
    """Return a column as it is to be read, numbers as doubles; add markers of missing numbers to `counts`.

    Texts among which one is not a number, or that are written in a format, are left to those who read the source.
    """
    if reading == "as it is":
        return column
    if isinstance(reading, DateFormat):
        return column if pa.types.is_temporal(column.type) else to_text_column(column)
    if reading != "number" and not isinstance(reading, NumberFormat):
        return to_text_column(column)
    if not is_text(column.type):
        return column.cast(pa.float64(), safe=False) if _is_number(column.type) else column
    texts, found = remove_markers(trim_texts(column), MISSING_NUMBERS)
    if found:
        counts.setdefault(name, Counter()).update(found)
    with suppress(pa.ArrowInvalid):
        return texts.cast(pa.float64())
    return texts


def _is_number(kind: Any) -> bool:
    return (
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind)
    )
