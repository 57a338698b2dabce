"""Many texts as two arrays: their UTF-8 one after the other, and where each ends; a million need no JSON."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban.errors import ModelFileError
from deciban.ledger.hashing import SURROGATES


class Packed(NamedTuple):
    """The UTF-8 of all texts, and the byte each begins at: as Arrow has it, with the end of the last."""

    utf8: NDArray[np.uint8]
    offsets: NDArray[Any]


def pack(texts: Sequence[str]) -> Packed:
    """Texts as arrays.

    >>> packed = pack(["ab", "", "ß"])
    >>> packed.utf8.tolist(), packed.offsets.tolist()
    ([97, 98, 195, 159], [0, 2, 2, 4])
    """
    encoded = [text.encode("utf-8", SURROGATES) for text in texts]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=offsets[1:])
    short = offsets[-1] < 1 << 31
    utf8 = np.frombuffer(bytearray().join(encoded), dtype=np.uint8)
    return Packed(utf8, offsets.astype(np.int32) if short else offsets)


def unpack(packed: Packed) -> list[str]:
    """The texts again; refused where the arrays cannot have come from `pack`.

    >>> unpack(pack(["ab", "", "ß"]))
    ['ab', '', 'ß']
    """
    starts = _sound(packed)
    utf8 = packed.utf8
    try:
        text = utf8.tobytes().decode("utf-8", SURROGATES)
    except UnicodeDecodeError as error:
        raise ModelFileError(f"a list of texts is no UTF-8: {error.reason} at byte {error.start}") from None
    if len(text) < len(utf8):
        starts = _in_characters(utf8, starts)
    ends = starts.tolist()
    return [text[a:b] for a, b in pairwise(ends)]


def arrow(packed: Packed) -> Any:
    """The texts as a pyarrow array over the same bytes: nothing is copied."""
    import pyarrow as pa

    _sound(packed)
    make = pa.StringArray if packed.offsets.dtype == np.int32 else pa.LargeStringArray
    texts = make.from_buffers(len(packed.offsets) - 1, pa.py_buffer(packed.offsets), pa.py_buffer(packed.utf8))
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid as error:
        raise ModelFileError(f"a list of texts is no UTF-8: {error}") from None
    return texts


def _sound(packed: Packed) -> NDArray[Any]:
    """Where the texts begin, which must be in order and within the bytes."""
    utf8, offsets = packed
    if utf8.ndim != 1 or offsets.ndim != 1 or not len(offsets) or offsets[0] != 0 or offsets[-1] != len(utf8):
        raise ModelFileError("a list of texts does not fit its bytes")
    if (offsets[1:] < offsets[:-1]).any():
        raise ModelFileError("a list of texts has one that ends before it begins")
    return offsets


def _in_characters(utf8: NDArray[np.uint8], starts: NDArray[Any]) -> NDArray[np.int64]:
    """The same places counted in characters."""
    begins = (utf8 & 0xC0) != 0x80
    if not begins[starts[:-1][starts[:-1] < len(utf8)]].all():
        raise ModelFileError("a list of texts has one that begins within a character")
    before = np.zeros(len(utf8) + 1, dtype=np.int64)
    np.cumsum(begins, out=before[1:])
    return before[starts]
