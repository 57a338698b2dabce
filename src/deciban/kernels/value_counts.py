"""Kernels that count values: of each class and feature, of the levels of a feature, and of the cells of a `Grid`.

A kernel returns False (`fill_levels` 1 or −1, `count_column` a row of −1) when it meets a value that it cannot count:
NaN, ±∞, or negative where that has no meaning. Then the caller uses the definition in NumPy.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.kernels.execution import kernel
from deciban.ledger.grid import INFINITY_BITS, MAGNITUDE_MASK

Bits = NDArray[np.int64]
Places = NDArray[np.uint32]

NO_PLACE = np.uint32(0xFFFFFFFF)
"""The mark of a slot of a hash table that no cell has taken."""

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""2⁶⁴ divided by the golden ratio: the high bits of its multiples spread consecutive cells evenly (Knuth 1973)."""


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
    bits: Bits,
    codes: Codes,
    w: Array,
    skips: bool,
    row: int,
    shift: int,
    place: Places,
    cells: Bits,
    used: int,
    count: Array,
) -> tuple[int, int]:
    """Add the weights of one column's numbers, given as bits, from `row` on to their rows of `count` (m×K).

    Row p belongs to the cell of `cells[p]`, without its last `shift` bits, in order of appearance; `place` is a hash
    table of p, of a power of two of slots. Returns the row at which `cells` was full, or the number of rows, or −1 at
    ±∞ or at NaN (unless it `skips` NaN); then the number of `used` cells. Rows of weight 0 are left out.
    """
    last, hash_shift = np.uint64(len(place) - 1), np.uint64(64 - int(np.log2(len(place))))
    for known in range(used):
        at = (np.uint64(cells[known]) * MULTIPLIER) >> hash_shift
        while place[at] != NO_PLACE:
            at = (at + np.uint64(1)) & last
        place[at] = known
    for i in range(row, len(bits)):
        size = bits[i] & MAGNITUDE_MASK
        if size >= INFINITY_BITS:
            if size > INFINITY_BITS and skips:
                continue
            return -1, used
        cell = (-size if bits[i] < 0 else size) >> shift
        at = (np.uint64(cell) * MULTIPLIER) >> hash_shift
        p = place[at]
        while p != NO_PLACE and cells[p] != cell:
            at = (at + np.uint64(1)) & last
            p = place[at]
        wi = w[i] if len(w) else 1.0
        if p == NO_PLACE:
            if wi == 0.0:
                continue
            if used == len(cells):
                return i, used
            p = np.uint32(used)
            place[at], cells[p], count[p] = p, cell, 0.0
            used += 1
        count[p, np.uint32(codes[i])] += wi
    return len(bits), used
