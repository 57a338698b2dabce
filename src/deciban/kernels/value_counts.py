"""Kernels that count values: of each class and feature, of the levels of a feature, and of the cells of a `Grid`.

A kernel returns False (`fill_levels` 1 or −1, `count_column` a row of −1) when it meets a value that it cannot count:
NaN, ±∞, or negative where that has no meaning. Then the caller uses the definition in NumPy.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.kernels.execution import kernel
from deciban.ledger.grid import BIAS, FIRST_CELL, IGNORED_BITS, MAGNITUDE_MASK, MANTISSA_BITS

Bits = NDArray[np.int64]
Places = NDArray[np.uint32]

BLOCK_ROWS = 1024
"""Rows whose slots are found before they are counted."""

MANTISSA_MASK = (1 << MANTISSA_BITS) - 1
"""All bits of the mantissa."""

INFINITY_BITS = 0x7FF << MANTISSA_BITS
"""The bits of +∞; those of NaN are above."""

SPECIAL_SLOT = 2 * BIAS - 1
"""The slot of −0.0, +∞ and NaN, which are distinguished when they occur: no number has this slot."""

LOWEST_SLOT = SPECIAL_SLOT - 1
"""The slot that −∞ shares with the numbers next to it."""

SLOT_COUNT = 2 * BIAS
"""Number of slots, one for each cell: from 0 on those of x ≥ 0 upwards, from BIAS on those of x < 0 downwards."""

POWER_COUNT = 1 << 12
"""Number of combinations of sign and exponent."""


FIRST_SLOT = np.concatenate([FIRST_CELL[:-1], [SPECIAL_SLOT], BIAS + FIRST_CELL[:-1], [SPECIAL_SLOT]])
SLOT_SHIFT_BITS = np.tile(np.append(IGNORED_BITS[:-1], MANTISSA_BITS), 2)
"""The first slot of each sign and exponent, and the bits of the mantissa that are ignored; at NaN and ±∞ all are."""


@kernel
def fill_counts(X: NDArray[Any], codes: Codes, w: Array, threshold: float, total: Array) -> bool:
    """Add Σ w [x > threshold], or Σ w x where the threshold is NaN (x ≥ 0), to `total` (K×d)."""
    rows, d = X.shape
    plain = np.isnan(threshold)
    invalid = 0.0
    for i in range(rows):
        k = codes[i]
        wi = w[i] if len(w) else 1.0
        if plain:
            low = 0.0
            for j in range(d):
                x = wi * X[i, j]
                total[k, j] += x
                low = min(low, x)
            invalid += low
        else:
            for j in range(d):
                x = np.float64(X[i, j])
                invalid += x - x
                total[k, j] += wi if x > threshold else 0.0
    return invalid == 0.0 and bool(np.isfinite(total).all())


@kernel
def fill_counts_with_missing(
    X: NDArray[Any], codes: Codes, w: Array, threshold: float, signed: bool, total: Array, weight: Array
) -> bool:
    """Add Σ w [x > threshold], or Σ w x where the threshold is NaN, to `total`, and Σ w to `weight`, without NaN."""
    plain = np.isnan(threshold)
    for i in range(X.shape[0]):
        k = codes[i]
        wi = w[i] if len(w) else 1.0
        for j in range(X.shape[1]):
            x = np.float64(X[i, j])
            if x == x:
                if not np.isfinite(x) or (x < 0.0 and not signed):
                    return False
                total[k, j] += wi * x if plain else (wi if x > threshold else 0.0)
                weight[k, j] += wi
    return True


@kernel
def count_small(X: NDArray[Any], codes: Codes, threshold: int, total: NDArray[np.int64]) -> None:
    """Add the number of x > threshold to `total` (K×d), for unsigned bytes or Booleans of unit weight.

    Intermediate counters have sixteen bits: four times as many vector lanes as with doubles (200 000×784 bytes: see
    docs/benchmarks.md); they are emptied before they can overflow.
    """
    rows, d = X.shape
    K = total.shape[0]
    small = np.zeros((K, d), dtype=np.uint16)
    for start in range(0, rows, 65535):
        for i in range(start, min(rows, start + 65535)):
            k = codes[i]
            for j in range(d):
                small[k, j] += np.uint16(X[i, j] > threshold)
        for k in range(K):
            for j in range(d):
                total[k, j] += small[k, j]
                small[k, j] = 0


@kernel
def fill_levels(
    X: NDArray[Any], codes: Codes, w: Array, offset: NDArray[np.int64], missing: bool, table: Array
) -> int:
    """Sum w per class, feature and level code into `table`, laid out as in `Levels`.

    Returns 1 at a code beyond the size that `offset` gives, −1 at a negative code unless negative codes stand
    for `missing` values, otherwise 0.
    """
    rows, d = X.shape
    for i in range(rows):
        k = codes[i]
        wi = w[i] if len(w) else 1.0
        for j in range(d):
            v = np.int64(X[i, j])
            if v < 0:
                if not missing:
                    return -1
            elif v >= offset[j + 1] - offset[j]:
                return 1
            else:
                table[k, offset[j] + v] += wi
    return 0


@kernel
def count_column(
    bits: Bits, codes: Codes, w: Array, skips: bool, row: int, place: Places, slots: Codes, used: int, count: Array
) -> tuple[int, int]:
    """Add the weights of one column's numbers, given as bits, from `row` on to their rows of `count` (m×K).

    Row p belongs to the cell of `slots[p]`, in order of appearance, and `place` maps slots to p: an entry is valid
    only where `slots` agrees, so `place` needs no clearing (Briggs & Torczon 1993). Returns the row at which `slots`
    was full, or the number of rows, or −1 at ±∞ or at NaN (unless it `skips` NaN); then the number of `used` slots.
    """
    wanted = np.empty(BLOCK_ROWS, dtype=np.int32)
    for start in range(row, len(bits), BLOCK_ROWS):
        _find_slots(bits[start : start + BLOCK_ROWS], wanted)
        for i in range(start, min(len(bits), start + BLOCK_ROWS)):
            slot = wanted[i - start]
            p = place[np.uint32(slot)]  # an unsigned index needs no test for negative values
            if p >= used or slots[p] != slot:
                if slot == SPECIAL_SLOT:
                    size = bits[i] & MAGNITUDE_MASK
                    if size > INFINITY_BITS and skips:
                        continue
                    if size > 0:
                        return -1, used
                    slot = np.int32(0)
                    p = place[0]
                if p >= used or slots[p] != slot:
                    if slot == LOWEST_SLOT:
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
    """Write the slot of each number to `out`, in a separate loop that can be vectorised."""
    for i in range(len(bits)):
        size = bits[i] + (bits[i] >> 63)  # one less below zero, to round towards zero; −0.0 becomes a NaN
        power = (size >> MANTISSA_BITS) & (POWER_COUNT - 1)
        out[i] = FIRST_SLOT[power] + ((size & MANTISSA_MASK) >> SLOT_SHIFT_BITS[power])


def slots_to_cells(slots: Codes) -> Bits:
    """Return the cells, counted from −BIAS, that have these slots."""
    return np.where(slots < BIAS, slots, BIAS - 1 - slots).astype(np.int64) + BIAS
