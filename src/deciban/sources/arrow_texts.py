"""Arrow arrays of texts: trimming, and conversion from and to Python without importing pandas."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._lazy import pa, pc

SPACES = " \t\r\n\v\f\u00a0\u2007\u2009\u202f\u3000"
"""The characters that are removed from both ends of a cell."""


def replace_nulls(array: Any, filler: float) -> NDArray[Any]:
    """Return an array of numbers with `filler` in place of nulls.

    `pa.scalar`, `pa.array`, `to_numpy` and `np.asarray` would import pandas where it is installed: 0.16 s.
    """
    if array.null_count:
        buffer = pa.py_buffer(np.array([filler], dtype=array.type.to_pandas_dtype()))
        array = array.fill_null(pa.Array.from_buffers(array.type, 1, [None, buffer])[0])
    return np.asarray(np.from_dlpack(array))


def to_mask(array: Any) -> NDArray[np.bool_]:
    """Return an Arrow array of booleans, False where one is null; `np.asarray` would import pandas (0.16 s)."""
    return replace_nulls(array.cast(pa.uint8()), 0).astype(np.bool_)


def from_mask(mask: NDArray[np.bool_]) -> Any:
    """Return an Arrow array of a mask without nulls; `pa.array` would import pandas (0.16 s)."""
    buffer = pa.py_buffer(np.ascontiguousarray(mask).view(np.uint8))
    return pa.Array.from_buffers(pa.uint8(), len(mask), [None, buffer]).cast(pa.bool_())


def make_texts(words: Sequence[str], kind: Any) -> Any:
    """Return an Arrow array of texts of this type; `pa.array` would import pandas where it is installed: 0.16 s."""
    utf8 = [word.encode() for word in words]
    ends = np.cumsum([0, *map(len, utf8)], dtype=np.int32)
    array = pa.StringArray.from_buffers(len(words), pa.py_buffer(ends), pa.py_buffer(b"".join(utf8)))
    return array if pa.types.is_string(kind) else array.cast(kind)


def format_floats(array: Any) -> Any:
    """Return floating-point numbers as texts, the shortest that are read as the same number, as in JavaScript.

    Arrow writes whole numbers from 10¹⁰ on with an exponent, and integers without one; they are one value.

    >>> import pyarrow as pa
    >>> format_floats(pa.array([1e10, 2.5, None])).to_pylist()
    ['10000000000', '2.5', None]
    """
    texts = array.cast(pa.string())
    if not pc.any(pc.match_substring(texts, "e+")).as_py() and not pc.any(pc.equal(texts, "-0")).as_py():
        return texts
    words = texts.to_pylist()
    return pa.array([word if word is None else _write_exponent(word) for word in words], pa.string())


def _write_exponent(word: str) -> str:
    """Return the text of a number below 10²¹ without an exponent, and 0 without a sign."""
    is_moved = "e+" in word and int(word.partition("e+")[2]) < 21
    return f"{Decimal(word):f}" if is_moved else word if word != "-0" else "0"


def trim_texts(texts: Any) -> Any:
    """Return texts without the spaces at their ends; an array in which no text has any is returned as it is.

    Trimming every cell of a file would cost more than encoding it; looking at the first and last bytes does not.
    """
    if not len(texts) or not _may_have_spaces(texts):
        return texts
    return pc.utf8_trim(texts, SPACES)


FIRST_BYTES, LAST_BYTES = np.zeros((2, 256), dtype=np.bool_)
FIRST_BYTES[list({space.encode()[0] for space in SPACES})] = True
LAST_BYTES[list({space.encode()[-1] for space in SPACES})] = True


def _may_have_spaces(texts: Any) -> bool:
    """Return whether a first or last byte is one that a space may have."""
    _, offsets, content = texts.buffers()
    if content is None or not content.size:
        return False
    width = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    ends: Any = np.frombuffer(offsets, dtype=width)[texts.offset : texts.offset + len(texts) + 1]
    utf8 = np.frombuffer(content, dtype=np.uint8)
    is_filled = ends[1:] > ends[:-1]
    first, last = ends[:-1][is_filled], ends[1:][is_filled] - 1
    return bool(FIRST_BYTES[utf8[first]].any() or LAST_BYTES[utf8[last]].any())
