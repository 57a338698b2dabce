"""The loop that counts numbers into the cells of a grid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.kernels.compile import kernel
from deciban.ledger.grid import BIAS, FIRST_CELL, IGNORED_BITS, MAGNITUDE, MANTISSA

Bits = NDArray[np.int64]
Places = NDArray[np.uint32]

ROWS = 1024
"""So many rows are looked up before they are counted."""

REST = (1 << MANTISSA) - 1
"""All bits of the mantissa."""

INFINITY = 0x7FF << MANTISSA
"""The bits of +∞; those of NaN are above."""

ODD = 2 * BIAS - 1
"""The slot of −0.0, +∞ and NaN, which are told apart when they are met: none is ever at home there."""

LOWEST = ODD - 1
"""The slot that −∞ shares with the numbers next to it."""

SLOTS = 2 * BIAS
"""Each cell has a slot: from 0 on those of the numbers upwards, from BIAS on those below zero downwards."""

POWERS = 1 << 12
"""Signs and exponents."""


def _by_power(above: Bits, below: Bits, odd: int) -> Bits:
    """A table by sign and exponent; `odd` where no number is."""
    return np.concatenate([above[:-1], [odd], below[:-1], [odd]])


START, SHIFT = _by_power(FIRST_CELL, BIAS + FIRST_CELL, ODD), _by_power(IGNORED_BITS, IGNORED_BITS, MANTISSA)


@kernel
def count_column(
    bits: Bits, codes: Codes, w: Array, skips: bool, row: int, place: Places, slots: Codes, used: int, count: Array
) -> tuple[int, int]:
    """Add the weights of one column's numbers, given as bits, from `row` on to their rows of `count` (m×K).

    Row p belongs to the cell of `slots[p]`, in order of appearance, and `place` finds p: what it holds is believed
    only where `slots` says so too, thus it needs no clearing (Briggs & Torczon 1993). Returns the row that found no
    room, or the number of rows, or −1 at ±∞, or at NaN unless it `skips` that; then how many places are `used`.
    """
    wanted = np.empty(ROWS, dtype=np.int32)
    for start in range(row, len(bits), ROWS):
        _find_slots(bits[start : start + ROWS], wanted)
        for i in range(start, min(len(bits), start + ROWS)):
            slot = wanted[i - start]
            p = place[np.uint32(slot)]  # an unsigned index is not asked whether it is negative
            if p >= used or slots[p] != slot:
                if slot == ODD:
                    size = bits[i] & MAGNITUDE
                    if size > INFINITY and skips:
                        continue
                    if size > 0:
                        return -1, used
                    slot = np.int32(0)
                    p = place[0]
                if p >= used or slots[p] != slot:
                    if slot == LOWEST:
                        return -1, used
                    if used == len(slots):
                        return i, used
                    p = np.uint32(used)
                    place[slot], slots[p], count[p] = p, slot, 0.0
                    used += 1
            count[p, np.uint32(codes[i])] += w[i] if len(w) else 1.0
    return len(bits), used


@kernel
def _find_slots(bits: Bits, out: Codes) -> None:
    """The slot of each number; apart from what is done with it, so that several are found at once."""
    for i in range(len(bits)):
        size = bits[i] + (bits[i] >> 63)  # one less below zero, for towards zero is up; −0.0 becomes a NaN
        power = (size >> MANTISSA) & (POWERS - 1)
        out[i] = START[power] + ((size & REST) >> SHIFT[power])


def cells_at(slots: Codes) -> Bits:
    """The cells, counted from −BIAS, that have these slots."""
    return np.where(slots < BIAS, slots, BIAS - 1 - slots).astype(np.int64) + BIAS
