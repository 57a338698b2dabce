"""Plain Arrow types: columns as other programs hand them over, in the few types that the rest of the code reads.

Arrow has several types for one kind of value, and not all of its functions know all of them: a view of strings can be
neither filtered nor compared, a run-end encoded column not cast, a small decimal not counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._lazy import pa, pc

MAX_OFFSET = (1 << 31) - 1
"""The bytes of text that an array of strings can hold; large strings hold more."""


def from_numpy(values: NDArray[Any]) -> Any:
    """Return contiguous numbers, no Booleans, as an Arrow array of their memory; `pa.array` would import pandas."""
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])


def to_plain_types(data: Any) -> Any:
    """Return a batch or table with plain columns: the same values, in types that Arrow's functions know.

    Views of strings become strings, run-end encoded columns their values, half floats floats, small decimals
    decimals of 128 bits, and extension types what they store; a UUID becomes its text. A null that is a value of a
    dictionary becomes a missing value of the column. Nested values, intervals and bytes stay as they are.
    """
    changed: dict[int, Any] = {}
    for place, column in enumerate(data.columns):
        chunks = getattr(column, "chunks", [column])
        if not is_plain(column.type) or any(map(_has_null_in_dictionary, chunks)):
            plain = [without_null_in_dictionary(_to_plain(chunk)) for chunk in chunks]
            changed[place] = plain[0] if isinstance(data, pa.RecordBatch) else _join_chunks(plain, column.type)
    return replace_columns(data, changed)


def replace_columns(data: Any, changed: Mapping[int, Any]) -> Any:
    """Return a batch or table with other columns at some places, in time linear in their number."""
    if not changed:
        return data
    columns = [changed.get(place, column) for place, column in enumerate(data.columns)]
    return type(data).from_arrays(columns, names=data.schema.names)


def _has_null_in_dictionary(array: Any) -> bool:
    return pa.types.is_dictionary(array.type) and array.dictionary.null_count > 0


def without_null_in_dictionary(array: Any) -> Any:
    """Return an array with equal values, none of which is null in its dictionary."""
    if not _has_null_in_dictionary(array):
        return array
    known = np.asarray(array.dictionary.is_valid())
    places = pa.array(np.cumsum(known) - 1, array.indices.type, mask=~known)
    values = array.dictionary.drop_null()
    return pa.DictionaryArray.from_arrays(places.take(array.indices), values, ordered=array.type.ordered)


def is_plain(kind: Any) -> bool:
    """Return whether a type is one of those that the rest of the code reads, or refuses by its name."""
    types = pa.types
    if types.is_dictionary(kind):
        return is_plain(kind.value_type)
    return not (
        types.is_string_view(kind)
        or types.is_binary_view(kind)
        or types.is_run_end_encoded(kind)
        or types.is_float16(kind)
        or types.is_decimal32(kind)
        or types.is_decimal64(kind)
        or isinstance(kind, pa.BaseExtensionType)
    )


def is_text(kind: Any) -> bool:
    """Return whether the values of a plain type, or those of a dictionary, are texts."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def decode_dictionary(array: Any) -> Any:
    """Return the value of each row of a dictionary array; other arrays are returned unchanged."""
    return array.dictionary.take(array.indices) if pa.types.is_dictionary(array.type) else array


def join_batches(batches: list[Any], schema: Any) -> Any:
    """Return batches of plain types as one table; without any, an empty table with the columns of the schema."""
    if not batches:
        return to_plain_types(schema.empty_table())
    tables = [pa.Table.from_batches([batch]) for batch in batches]
    return pa.concat_tables(tables, promote_options="permissive")  # a batch of much text has large strings


def _join_chunks(chunks: list[Any], kind: Any) -> Any:
    """Return the converted chunks of a column, all of one type."""
    if not chunks:
        return pa.chunked_array([_to_plain(pa.nulls(0, kind))])
    types = {chunk.type for chunk in chunks}
    return pa.chunked_array(chunks if len(types) == 1 else [chunk.cast(pa.large_string()) for chunk in chunks])


def _to_plain(array: Any) -> Any:
    """Return an array in a plain type."""
    kind, types = array.type, pa.types
    if is_plain(kind):
        return array
    if types.is_dictionary(kind):
        values = _to_plain(array.dictionary)
        return pa.DictionaryArray.from_arrays(array.indices, values, ordered=kind.ordered)
    if types.is_run_end_encoded(kind):
        values = pa.RunEndEncodedArray.from_arrays(array.run_ends, _to_plain(array.values))
        return pc.run_end_decode(values.slice(array.offset, len(array)))
    if isinstance(kind, pa.BaseExtensionType):
        return _to_plain(_to_storage(array))
    if types.is_string_view(kind):
        return array.cast(pa.string() if array.nbytes <= MAX_OFFSET else pa.large_string())
    if types.is_binary_view(kind):
        return array.cast(pa.large_binary())
    if types.is_float16(kind):
        return array.cast(pa.float32())
    return array.cast(pa.decimal128(kind.precision, kind.scale))


def _to_storage(array: Any) -> Any:
    """Return what an array of an extension type stores; of truth values and UUIDs, what they mean."""
    match array.type.extension_name:
        case "arrow.bool8":
            return array.storage.cast(pa.bool_())
        case "arrow.uuid":
            return pa.array([None if value is None else str(value) for value in array.to_pylist()], pa.string())
    return array.storage
