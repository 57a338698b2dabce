"""Conversion of an Arrow column to numbers, to texts with codes, or to parts of a date."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._lazy import pa, pc
from deciban.errors import InputError
from deciban.sources.source import role_hint

ZONE = r"(Z|[+-]\d\d:?\d\d)$"
"""The pattern of a time zone at the end of a time."""

NO_TEXT = "values of type {} have no text. Hint: leave that column out"
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def to_numbers(array: Any, name: str) -> NDArray[np.float64]:
    """Convert values to doubles, NaN where one is missing."""
    array = _decode_dictionary(array)
    try:
        if pa.types.is_temporal(array.type):
            array = array.cast(pa.int32() if pa.types.is_date32(array.type) else pa.int64(), safe=False)
        if pa.types.is_boolean(array.type):
            array = array.cast(pa.uint8())
        if pa.types.is_decimal(array.type):
            array = array.cast(
                pa.string()
            )  # Arrow's own conversion to a double is off by a unit in the last place, for instance for 44.9
        doubles = array.cast(pa.float64(), safe=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(
            f"column {name!r} holds {_first_non_number(array)}, and a number is wanted. "
            f"Hint: {role_hint(name, 'category')}"
        ) from None
    return replace_nulls(doubles, np.nan)


def _first_non_number(array: Any) -> str:
    """Return the first value that is no number, or the type of all."""
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        return f"values of type {array.type}"
    for value in array.drop_null().to_pylist():
        try:
            float(value)
        except ValueError:
            return repr(value)
    return "texts"


def to_texts(array: Any) -> pa.DictionaryArray:
    """Convert values to texts, as a dictionary of distinct ones; nulls and NaN are missing."""
    if pa.types.is_dictionary(array.type) and len(array.dictionary) > len(array):
        array = _decode_dictionary(array)  # keeps only the words of a long dictionary that rows have
    if not pa.types.is_dictionary(array.type):
        if pa.types.is_string_view(array.type) or pa.types.is_temporal(array.type) or pa.types.is_decimal(array.type):
            array = _cast_to_text(array)  # Arrow cannot encode these types directly
        try:
            array = array.dictionary_encode()
        except pa.ArrowNotImplementedError:
            raise InputError(NO_TEXT.format(array.type)) from None
    if pa.types.is_string(array.type.value_type) and pa.types.is_signed_integer(array.type.index_type):
        return array
    return pa.DictionaryArray.from_arrays(array.indices.cast(pa.int64()), _cast_to_text(array.dictionary))


def replace_nulls(array: Any, filler: float) -> NDArray[Any]:
    """Return an array of numbers with `filler` in place of nulls.

    `pa.scalar`, `pa.array`, `to_numpy` and `np.asarray` would import pandas where it is installed: 0.16 s.
    """
    if array.null_count:
        buffer = pa.py_buffer(np.array([filler], dtype=array.type.to_pandas_dtype()))
        array = array.fill_null(pa.Array.from_buffers(array.type, 1, [None, buffer])[0])
    return np.asarray(np.from_dlpack(array))


def format_label(label: Any) -> str:
    """Format a label as it is kept: True is true, 1.0 is 1."""
    encoded = to_texts(pa.array([label.item() if hasattr(label, "item") else label]))
    return str(encoded.dictionary[0].as_py()) if len(encoded.dictionary) else str(label)


def _cast_to_text(array: Any) -> Any:
    if pa.types.is_floating(array.type):
        array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
    try:
        return array.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(NO_TEXT.format(array.type)) from None


def _decode_dictionary(array: Any) -> Any:
    if not pa.types.is_dictionary(array.type):
        return array
    words = array.dictionary
    return (words.cast(pa.string()) if pa.types.is_string_view(words.type) else words).take(array.indices)


def to_timestamps(array: Any) -> Any:
    """Convert values to local dates and times without time zone; raises pyarrow's error where they are none."""
    array = _decode_dictionary(array)
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        try:
            return array.cast(pa.timestamp("us"))
        except pa.ArrowInvalid:
            return pc.replace_substring_regex(array, ZONE, "").cast(pa.timestamp("us"))
    if pa.types.is_timestamp(array.type) and array.type.tz is not None:
        array = pc.local_timestamp(array)
    return array.cast(pa.timestamp("us"), safe=False)


DATE_PARTS: dict[str, Sequence[str]] = {
    "month": tuple(f"{m:02}" for m in range(1, 13)),
    "weekday": WEEKDAYS,
    "hour": tuple(f"{h:02}" for h in range(24)),
}
"""The parts of a date, and the levels of each."""


def parse_dates(array: Any, name: str) -> Any:
    """Convert a column to dates and times as `to_timestamps` does; an error names the column."""
    try:
        return to_timestamps(array)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        other = "skip" if pa.types.is_temporal(array.type) else "category"
        raise InputError(
            f"column {name!r} holds no dates: {str(error).splitlines()[0]}. Hint: {role_hint(name, other)}"
        ) from None


def extract_date_part(array: Any, part: str, name: str) -> NDArray[np.int64]:
    """Return the month, weekday or hour of each date as an index among its levels, −1 where it is missing."""
    when = parse_dates(array, name)
    read, first = {"month": (pc.month, 1), "weekday": (pc.day_of_week, 0), "hour": (pc.hour, 0)}[part]
    return np.asarray(replace_nulls(read(when), first - 1) - first, dtype=np.int64)
