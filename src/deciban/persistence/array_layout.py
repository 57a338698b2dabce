"""Where each array lies in the file: the table of a safetensors header, checked before anything is made of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban.errors import ModelFileError

DTYPES = {
    "BOOL": np.dtype("?"),
    "U8": np.dtype("u1"),
    "I32": np.dtype("<i4"),
    "I64": np.dtype("<i8"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
}
"""The kinds of number that model files may hold, by their names in safetensors."""

NAMES = {dtype: name for name, dtype in DTYPES.items()}

MOST_AXES = 8
MOST_EMPTY = 1 << 24
"""Longest axis of an array without elements: it takes no room in the file, and must not ask for any later."""


class Place(NamedTuple):
    """An array's kind of number, shape, and bytes from `start` to `end` of the data."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int

    def of(self, data: NDArray[np.uint8]) -> NDArray[Any]:
        """The array itself, as a view."""
        return data[self.start : self.end].view(DTYPES[self.dtype]).reshape(self.shape)


def described(dtype: str, shape: tuple[int, ...], checksum: str) -> str:
    """An array's kind, shape and sum in one line, as the header has it."""
    return f"{dtype} {'x'.join(map(str, shape)) or 'scalar'} {checksum}"


def places(table: Mapping[str, Any], n_bytes: int) -> dict[str, Place]:
    """The table of arrays, which must lie side by side and fill the data exactly."""
    found = {name: _place(name, entry) for name, entry in table.items()}
    end = 0
    for name, place in sorted(found.items(), key=lambda item: (item[1].start, item[1].end)):
        if place.start != end:
            raise ModelFileError(f"the array {name!r} begins at byte {place.start} of the data, and should at {end}")
        end = place.end
    if end != n_bytes:
        raise ModelFileError(f"its arrays take {end} bytes and it has {n_bytes}: it was cut off, or added to")
    return found


def _place(name: str, entry: Any) -> Place:
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise ModelFileError(f"the array {name!r} is not described by dtype, shape and data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ModelFileError(f"the array {name!r} is of kind {str(dtype)[:40]!r}, and should be one of {[*DTYPES]}")
    if not _wholes(shape) or len(shape) > MOST_AXES or not _wholes(offsets) or len(offsets) != 2:
        raise ModelFileError(f"the array {name!r} has a shape or place that are no whole numbers ≥ 0")
    size, (start, end) = math.prod(shape), offsets
    if size * DTYPES[dtype].itemsize != end - start or start % DTYPES[dtype].itemsize:
        raise ModelFileError(f"the array {name!r} of shape {shape} does not fit bytes {start} to {end}")
    if size == 0 and max(shape) > MOST_EMPTY:
        raise ModelFileError(f"the array {name!r} has no elements and an axis of {max(shape)}")
    return Place(dtype, tuple(shape), start, end)


def _wholes(values: Any) -> bool:
    """Whether this is a list of whole numbers ≥ 0."""
    return isinstance(values, list) and all(type(v) is int and 0 <= v < 1 << 62 for v in values)
