"""Histogram on a fixed grid: how often numbers fell into each cell in each class, the statistic of binned numbers.

The grid is that of floating-point numbers, so it depends on no data: a cell is the sign, the exponent and
the leading bits of the mantissa. Its relative width is about the same everywhere: 128 cells from 1 to 2, as many from
10⁶ to 2·10⁶; finer from 256 to 4096, where every whole number has its own cell, since years lie there.
Cells keep the order of the numbers, so any bins whose edges are edges of cells can be counted from them later.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.ledger.levels import ColumnCounts, feature_runs
from deciban.ledger.statistic import align_by_key, compute_offsets, subtract_checked, sum_by_class

CELL_BITS = 7
"""Leading bits of the mantissa that distinguish cells: 2⁷ cells from each power of two to the next."""

WHOLE_NUMBER_BITS = 12
"""Whole numbers of this many bits have a cell each."""

RUN_CELLS = 1 << 16
"""Number of counts that are processed at a time over many features, so that temporary arrays fit the cache."""

MANTISSA_BITS = 52
"""Bits of a double's mantissa."""

MAGNITUDE_MASK = (1 << 63) - 1
"""All bits of a double but its sign."""

POWERS = np.arange(2048) - 1023
"""The power of two of each biased exponent of a double."""

IGNORED_BITS = MANTISSA_BITS - np.where((POWERS > CELL_BITS) & (POWERS < WHOLE_NUMBER_BITS), POWERS, CELL_BITS)
"""Mantissa bits that cells ignore, for each biased exponent."""

FIRST_CELL = compute_offsets(np.left_shift(1, MANTISSA_BITS - IGNORED_BITS))[:-1]
"""The first cell of each exponent, counted from zero upwards; cells of negative numbers mirror those above zero."""

BIAS = int(FIRST_CELL[-1]) + 1
"""Cells lie strictly between −BIAS and BIAS."""

KEY_BITS = (2 * BIAS).bit_length()
"""A key is the number of a feature, then its cell plus BIAS in this many bits: sorted by feature, then cell."""


def cell_numbers(x: NDArray[Any]) -> NDArray[np.int32]:
    """Return the cell of each number: ascending, and equal for all numbers that agree in their leading bits.

    −0.0 is 0.0; NaN has no cell and must not occur.

    >>> cell_numbers(np.array([-1.0, 0.0, 1.0, 1.007, 1.008])).tolist()
    [-130944, 0, 130944, 130944, 130945]
    >>> np.diff(cell_numbers(np.array([1999.0, 2000.0, 2000.5, 2001.0]))).tolist()
    [1, 0, 1]
    """
    bits = np.ascontiguousarray(x, dtype=np.float64).view(np.int64)
    size = bits & MAGNITUDE_MASK
    exponent = size >> MANTISSA_BITS
    drop = IGNORED_BITS[exponent]
    mantissa = size & ((1 << MANTISSA_BITS) - 1)
    below = (bits < 0) & ((mantissa & ((np.int64(1) << drop) - 1)) > 0)  # truncation moves negative numbers up
    cell = FIRST_CELL[exponent] + (mantissa >> drop) + below
    return np.where(bits < 0, -cell, cell).astype(np.int32)


def edges(cells: NDArray[Any]) -> Array:
    """Return the smallest number of each cell: x ≥ edge if and only if the cell of x is this one or a later one.

    >>> edges(cell_numbers(np.array([-4.0, -3.99, 2.4499])))
    array([-4.    , -4.    ,  2.4375])
    """
    wanted = np.asarray(cells, dtype=np.int64)
    count = np.abs(wanted)
    exponent = np.searchsorted(FIRST_CELL, count, side="right") - 1
    size = ((exponent << MANTISSA_BITS) + ((count - FIRST_CELL[exponent]) << IGNORED_BITS[exponent])).view(np.float64)
    largest = np.finfo(np.float64).max
    return np.clip(np.where(wanted < 0, -size, size), -largest, largest)


def middles(cells: NDArray[Any]) -> Array:
    """Return the midpoint of each cell."""
    wanted = np.asarray(cells, dtype=np.int64)
    return edges(wanted) / 2 + edges(wanted + 1) / 2


@dataclass(frozen=True, eq=False, slots=True)
class Grid(ColumnCounts):
    """A histogram of each feature on the fixed grid, by class.

    The non-empty cells of feature j are `cell[offset[j]:offset[j+1]]`, ascending; `table` (K×m) has their counts.

    Only cells with weight are kept, so that forgotten rows leave no trace; a missing value is in no cell. The
    weight of class k and feature j is the sum over its cells.

    >>> g = Grid.of(np.array([[1.0], [1.001], [2.0]]), np.array([0, 1, 1], np.int32), None, 2)
    >>> edges(g.cell).tolist(), g.table.tolist()
    ([1.0, 2.0], [[1.0, 0.0], [1.0, 1.0]])
    """

    cell: NDArray[np.int32]
    offset: NDArray[np.int64]
    table: Array

    @classmethod
    def of(cls, X: NDArray[Any], codes: Codes, weight: Array | None, n_classes: int) -> Self:
        """Count numbers into their cells; NaN is left out."""
        present = ~np.isnan(X) if X.dtype.kind == "f" else np.ones(X.shape, dtype=np.bool_)
        row, feature = np.nonzero(present)
        seen = (feature << KEY_BITS) + BIAS + cell_numbers(X[present])
        keys, inverse = np.unique(seen, return_inverse=True)
        w = None if weight is None else weight[row]
        table = sum_by_class(codes[row], inverse.reshape(-1), w, n_classes, len(keys))
        return cls.from_keys(keys, table, X.shape[1])

    @classmethod
    def from_keys(cls, keys: NDArray[np.int64], table: Array, n_features: int) -> Self:
        """Build the grid from ascending keys of feature and cell and their counts (K×m); empty cells are dropped."""
        seen = table.any(axis=0)
        if not seen.all():
            keys, table = keys[seen], table[:, seen]
        starts = np.arange(n_features + 1, dtype=np.int64) << KEY_BITS
        cell = (keys & ((1 << KEY_BITS) - 1)) - BIAS
        return cls(cell.astype(np.int32), np.searchsorted(keys, starts).astype(np.int64), table)

    def runs(self) -> Iterator[Self]:
        """Yield the features in order as grids of at most `RUN_CELLS` counts, or of a single feature."""
        for a, b in feature_runs(self.offset, RUN_CELLS // max(1, self.n_classes)):
            mine = slice(self.offset[a], self.offset[b])
            yield type(self)(self.cell[mine], self.offset[a : b + 1] - self.offset[a], self.table[:, mine])

    def _keys(self) -> NDArray[np.int64]:
        """Return the key of each cell of the table, ascending; see `KEY_BITS`."""
        return (self.owner.astype(np.int64) << KEY_BITS) + BIAS + self.cell

    def __add__(self, other: Self) -> Self:
        keys, a, b = align_by_key(self._keys(), self.table, other._keys(), other.table)
        return type(self).from_keys(keys, a + b, self.n_features)

    def __sub__(self, other: Self) -> Self:
        keys, a, b = align_by_key(self._keys(), self.table, other._keys(), other.table)
        left = subtract_checked(a, b, "count of a cell", lambda k, cell: (k, int(keys[cell or 0]) >> KEY_BITS))
        return type(self).from_keys(keys, left, self.n_features)

    def trim(self) -> Self:
        """See `Statistic.trim`."""
        return self.from_keys(self._keys(), self.table, self.n_features)
