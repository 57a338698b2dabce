"""The header of a model file: JSON that is not trusted, and the layout of the arrays, both checked before use.

JSON is bounded in size, depth and number of lists and objects, and has every key once. The layout is the table of a
safetensors header. A checksum tells whether bytes are those that were written. It guards against accidents, not
against forgers.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from deciban.errors import ModelFileError

MAX_FILE_HEADER_BYTES = 16 << 20
"""Largest number of bytes of JSON that are read: long lists are arrays; 10⁵ columns with their reasons take 10 MB."""

MAX_CONTAINERS = 1 << 18
"""Largest number of lists and objects in one JSON text."""

MAX_DIGITS = 300
"""Digits of a whole number, with its sign: a double holds numbers of 308 digits."""

MAX_JSON_DEPTH = 32
"""Largest number of lists and objects nested within one another."""

DTYPES = {
    name: np.dtype(code)
    for name, code in {"BOOL": "?", "U8": "u1", "I32": "<i4", "I64": "<i8", "F32": "<f4", "F64": "<f8"}.items()
}
"""The dtypes that model files may hold, by their names in safetensors."""

DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}
"""The safetensors name of each dtype that model files may hold."""

MAX_AXES = 8
"""Largest number of axes of an array."""

MAX_EMPTY_AXIS = 1 << 24
"""Longest axis of an array without elements: it takes no bytes in the file, and must not allocate any later."""

CHECKSUM_ROW_WORDS = 1024
"""Words of eight bytes in a row of the checksum."""

CHECKSUM_BATCH_ROWS = 32
"""Rows summed at a time: 256 KiB, which stay in the cache for the second sum.

120 to 200 MB in memory, one core of a busy machine: 5.0 GB/s, against 2.3 to 4.0 for the CRC-32 of zlib 1.2.13, 1.4
for SHA-256 and 0.6 for BLAKE2b.
"""


def parse_json(text: bytes | str, what: str) -> dict[str, Any]:
    """Return a JSON object; for any other text raise a ModelFileError, in which `what` names it."""
    try:
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
        if decoded.count("[") + decoded.count("{") > MAX_CONTAINERS:
            raise ValueError(f"more than {MAX_CONTAINERS} lists and objects")
        value = json.loads(
            decoded,
            object_pairs_hook=_refuse_repeated_keys,
            parse_constant=_refuse_constant,
            parse_int=_parse_bounded_int,
        )
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]
        raise ModelFileError(f"{what} cannot be read as JSON: {reason}") from None
    if not isinstance(value, dict):
        raise ModelFileError(f"{what} should be a JSON object, and is a {type(value).__name__}")
    layer: list[Any] = [value]
    for _ in range(MAX_JSON_DEPTH):  # layer by layer, so that depth costs no stack
        layer = [v for outer in layer for v in (outer.values() if isinstance(outer, dict) else outer)]
        layer = [inner for inner in layer if isinstance(inner, (dict, list))]
    if layer:
        raise ModelFileError(f"{what} is nested more than {MAX_JSON_DEPTH} deep")
    return value


def format_json(value: Any) -> str:
    """Return JSON in ASCII, which `parse_json` accepts."""
    try:
        text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"the header of a model file cannot be written as JSON: {error}") from None
    parse_json(text, "the header of a model file")
    return text


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _parse_bounded_int(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a whole number of {len(digits)} digits, and at most {MAX_DIGITS} are read")
    return int(digits)


class ArraySpan(NamedTuple):
    """An array's dtype, its shape, and its bytes from `start` to `end` of the data."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int

    def view(self, data: NDArray[np.uint8]) -> NDArray[Any]:
        """Return the array as a view of the data."""
        return data[self.start : self.end].view(DTYPES[self.dtype]).reshape(self.shape)


def format_array_entry(dtype: str, shape: tuple[int, ...], checksum: str) -> str:
    """Return an array's dtype, shape and checksum in one line, as the header has it."""
    return f"{dtype} {'x'.join(map(str, shape)) or 'scalar'} {checksum}"


def parse_layout(table: Mapping[str, Any], n_bytes: int) -> dict[str, ArraySpan]:
    """Return the span of each array; the spans must be adjacent and fill the data exactly."""
    spans = {name: _parse_span(name, entry) for name, entry in table.items()}
    end = 0
    for name, span in sorted(spans.items(), key=lambda item: (item[1].start, item[1].end)):
        if span.start != end:
            raise ModelFileError(f"the array {name!r} begins at byte {span.start} of the data, and should at {end}")
        end = span.end
    if end != n_bytes:
        raise ModelFileError(f"its arrays take {end} bytes and it has {n_bytes}: it was cut off, or added to")
    return spans


def _parse_span(name: str, entry: Any) -> ArraySpan:
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise ModelFileError(f"the array {name!r} is not described by dtype, shape and data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ModelFileError(f"the array {name!r} is of dtype {str(dtype)[:40]!r}, and should be one of {[*DTYPES]}")
    if not _is_list_of_counts(shape) or len(shape) > MAX_AXES or not _is_list_of_counts(offsets) or len(offsets) != 2:
        raise ModelFileError(f"the array {name!r} has a shape or data_offsets that are not whole numbers ≥ 0")
    size, (start, end) = math.prod(shape), offsets
    if size * DTYPES[dtype].itemsize != end - start or start % DTYPES[dtype].itemsize:
        raise ModelFileError(f"the array {name!r} of shape {shape} does not fit bytes {start} to {end}")
    if size == 0 and max(shape) > MAX_EMPTY_AXIS:
        raise ModelFileError(f"the array {name!r} has no elements and an axis of {max(shape)}")
    return ArraySpan(dtype, tuple(shape), start, end)


def _is_list_of_counts(values: Any) -> bool:
    """Return whether this is a list of whole numbers ≥ 0."""
    return isinstance(values, list) and all(type(v) is int and 0 <= v < 1 << 62 for v in values)


def checksum(content: bytes | NDArray[Any]) -> str:
    """Return BLAKE2b of the column and row sums of the bytes, as rows of 1024 little-endian words, padded with zeros.

    Any change within one row changes a column sum, any change within one column a row sum: so every flipped bit
    changes a sum. Swapped rows change the order of the row sums.

    >>> checksum(b"weight of evidence")
    'b78ff66d3c830efe'
    """
    data = np.frombuffer(content, dtype=np.uint8)
    row_bytes = 8 * CHECKSUM_ROW_WORDS
    end = len(data) // row_bytes * row_bytes
    words = data[:end].view("<u8").reshape(-1, CHECKSUM_ROW_WORDS)
    columns, rows = np.zeros(CHECKSUM_ROW_WORDS, dtype="<u8"), np.empty(len(words) + 1, dtype="<u8")
    for start in range(0, len(words), CHECKSUM_BATCH_ROWS):
        batch = words[start : start + CHECKSUM_BATCH_ROWS]
        np.add.reduce(batch, axis=1, out=rows[start : start + len(batch)])
        columns += np.add.reduce(batch, axis=0)
    last = np.zeros(row_bytes, dtype=np.uint8)
    last[: len(data) - end] = data[end:]
    columns += last.view("<u8")
    rows[-1] = np.add.reduce(last.view("<u8"))
    return hashlib.blake2b(columns.tobytes() + rows.tobytes(), digest_size=8).hexdigest()
