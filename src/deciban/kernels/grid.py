"""The loops that count numbers into the cells of a grid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deciban.kernels.compile import kernel
from deciban.ledger.grid import BIAS, DROP, FIRST, MAGNITUDE, MANTISSA

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Bits = NDArray[np.int64]

ROWS = 4096
"""So many rows are gone through column by column: they stay in the cache."""

REST = (1 << MANTISSA) - 1
"""All bits of the mantissa."""

INFINITY = 0x7FF << 52
"""The bits of +∞; those of NaN are above."""


@kernel
def find_cells(bits: Bits, first: int, skips: bool, cells: Codes, seen: NDArray[np.bool_]) -> bool:
    """The cell, counted from −BIAS, of each number in columns `first` and on, given as bits; column by column.

    Marks the cells that are `seen`: there are few enough (half a million) to have a place each. NaN is in place 0,
    which no number has. False at ±∞, or at NaN unless it `skips` that.
    """
    rows = bits.shape[0]
    odd = False
    for start in range(0, rows, ROWS):
        for j in range(cells.shape[0]):
            for i in range(start, min(rows, start + ROWS)):
                b = bits[i, first + j]
                size = b & MAGNITUDE
                drop = DROP[size >> MANTISSA]
                cell = FIRST[size >> MANTISSA] + ((size & REST) >> drop)
                if b < 0:
                    cell = -cell - ((size & ((1 << drop) - 1)) > 0)  # towards zero is up
                cell += BIAS
                if size >= INFINITY:
                    odd = odd or size == INFINITY or not skips
                    cell = 0
                cells[j, i] = cell
                seen[j, cell] = True
        if odd:
            return False
    return True


@kernel
def count_cells(cells: Codes, codes: Codes, w: Array, place: Codes, count: Array) -> None:
    """Add one column's weights to the row of `count` (m×K) that each cell has its place in."""
    for i in range(len(cells)):
        count[place[cells[i]], codes[i]] += w[i] if len(w) else 1.0
