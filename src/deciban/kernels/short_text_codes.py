"""Kernels that find the codes of short texts: up to 15 bytes are two machine words, compared in two steps."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.kernels.execution import kernel
from deciban.kernels.tokenizer import Ints, load_word
from deciban.ledger.hashing import BYTE_MASKS

Packed = NDArray[np.uint64]

MAX_PACKED_BYTES = 15
"""Bytes that two words hold in addition to the length."""

UNKNOWN = -2
"""The code of a text that is not in the table."""


@kernel
def find_slot(low: np.uint64, high: np.uint64, lows: Packed, highs: Packed, codes: Ints) -> np.uint64:
    """Return the slot of a text in the table, or the empty slot where it belongs; the size is a power of two."""
    mixed = (low * np.uint64(0x9E3779B97F4A7C15)) ^ (high * np.uint64(0xC2B2AE3D27D4EB4F))
    mask = np.uint64(len(codes) - 1)
    slot = (mixed >> np.uint64(40)) & mask  # the upper bits: texts of a column often have equal lower ones
    while codes[slot] >= 0 and (lows[slot] != low or highs[slot] != high):
        slot = (slot + np.uint64(1)) & mask
    return slot


@kernel
def find_codes(
    utf8: NDArray[np.uint8], offsets: NDArray[np.int32], missing: NDArray[np.bool_], lows: Packed, highs: Packed,
    codes: Ints, out: Ints,
) -> int:  # fmt: skip
    """Write the code of each text to `out`, −1 if missing, UNKNOWN if new; return how many are new; −1 at a long one.

    The length is in the highest byte of the second word: "a" and "a" followed by NUL differ. `missing` may be empty.
    """
    new, last_start = 0, len(utf8) - 16  # from which sixteen bytes can be loaded
    for i in range(len(out)):
        out[i] = -1
        if len(missing) and missing[i]:
            continue
        start, size = offsets[i], offsets[i + 1] - offsets[i]
        if size > MAX_PACKED_BYTES:
            return -1
        low, high = np.uint64(0), np.uint64(0)
        if start <= last_start:
            low = load_word(utf8, np.uint64(start)) & BYTE_MASKS[min(size, 8)]
            if size > 8:
                high = load_word(utf8, np.uint64(start + 8)) & BYTE_MASKS[size - 8]
        else:
            for j in range(min(size, 8)):
                low |= np.uint64(utf8[start + j]) << np.uint64(8 * j)
            for j in range(8, size):
                high |= np.uint64(utf8[start + j]) << np.uint64(8 * (j - 8))
        high |= np.uint64(size) << np.uint64(56)
        code = codes[find_slot(low, high, lows, highs, codes)]
        out[i] = code if code >= 0 else UNKNOWN
        new += code < 0
    return new


@kernel
def insert_texts(low: Packed, high: Packed, code: Ints, lows: Packed, highs: Packed, codes: Ints) -> None:
    """Insert texts with their codes into the table (`lows`, `highs`, `codes`), which is large enough."""
    for i in range(len(code)):
        slot = find_slot(low[i], high[i], lows, highs, codes)
        lows[slot], highs[slot], codes[slot] = low[i], high[i], code[i]


def pack_text(text: bytes) -> tuple[Any, Any]:
    """Pack a text of at most `MAX_PACKED_BYTES` into two words, low and high, as `find_codes` does."""
    padded = text.ljust(MAX_PACKED_BYTES, b"\0")
    return int.from_bytes(padded[:8], "little"), int.from_bytes(padded[8:], "little") | len(text) << 56
