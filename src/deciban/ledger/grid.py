"""Histogram on nested grids: how often numbers fell into each cell in each class, the statistic of binned numbers.

The grids are those of floating-point numbers, so they depend on no data: a cell is the sign, the exponent and the b
leading bits of the mantissa. A column is counted with the most bits, 7 to 52, with which at most 1 024 of its cells
are filled. Rows added to others never fill fewer cells, so the bits of all rows follow from those of any parts, in
any order. A column of few values has 52 bits: each value has its own cell, wherever the numbers lie.
Cells keep the order of the numbers, so any bins whose edges are edges of cells can be counted from them later.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.ledger.levels import ColumnCounts, feature_runs
from deciban.ledger.statistic import compute_offsets, subtract_checked, sum_by_class

CellNumbers = NDArray[np.int64]

MANTISSA_BITS = 52
"""Bits of a double's mantissa, with which each number is a cell."""

MIN_CELL_BITS = 7
"""The fewest leading bits of the mantissa that distinguish cells: 2⁷ cells from each power of two to the next."""

MAX_FILLED_CELLS = 1024
"""The number of filled cells of a column, in all classes, from which fewer bits distinguish them. 4 096 in steps of
five bits merged as exactly; bits chosen by the spread of a part failed in 32 of 300 pairs of parts."""

RUN_CELLS = 1 << 16
"""Number of counts that are processed at a time over many features, so that temporary arrays fit the cache."""

MAGNITUDE_MASK = (1 << 63) - 1
"""All bits of a double but its sign."""

INFINITY_BITS = 0x7FF << MANTISSA_BITS
"""The bits of +∞; those of NaN are above."""


def cell_numbers(x: NDArray[Any], bits: NDArray[np.int64] | int = MANTISSA_BITS) -> CellNumbers:
    """Return the cell of each number: ascending, and equal for all numbers that agree in their leading `bits`.

    It is the number of doubles between 0 and the smallest number of the cell, negative below 0. −0.0 is 0.0; NaN has
    no cell and must not occur.

    >>> np.diff(cell_numbers(np.array([1.0, 1.007, 1.008]), 7)).tolist() == [0, 1 << 45]
    True
    """
    code = np.ascontiguousarray(x, dtype=np.float64).view(np.int64)
    order = np.where(code < 0, -(code & MAGNITUDE_MASK), code)
    return order & -cell_widths(bits)


def cell_widths(bits: NDArray[np.int64] | int) -> CellNumbers:
    """Return the number of doubles in a cell of so many bits."""
    return np.left_shift(np.int64(1), MANTISSA_BITS - np.asarray(bits, dtype=np.int64))


def edges(cells: NDArray[Any]) -> Array:
    """Return the smallest number of each cell: x ≥ edge if and only if the cell of x is this one or a later one.

    >>> edges(cell_numbers(np.array([-4.0, -3.99, 2.4499]), 7))
    array([-4.    , -4.    ,  2.4375])
    """
    wanted = np.asarray(cells, dtype=np.int64)
    size = np.minimum(np.abs(wanted), INFINITY_BITS - 1).view(np.float64)
    return np.where(wanted < 0, -size, size)


def limit_bits(owner: NDArray[Any], cell: CellNumbers, bits: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the most bits of each feature, at most the given ones, with which its cells are few enough.

    The cells are those of feature `owner`, in the order of feature and cell, and may repeat.
    """
    within = owner[1:] == owner[:-1]
    differing = (cell[1:] ^ cell[:-1])[within].view(np.uint64)
    # the place of the highest bit in which neighbours differ, 0 for none; the bit below it is cleared for rounding
    height = np.frexp((differing & ~(differing >> np.uint64(1))).astype(np.float64))[1]
    n_heights = 65
    found = np.bincount(owner[1:][within] * n_heights + height, minlength=len(bits) * n_heights)
    more = found.reshape(len(bits), n_heights)[:, ::-1].cumsum(axis=1)[:, ::-1]
    fits = more[:, 1 : MANTISSA_BITS - MIN_CELL_BITS + 2] < MAX_FILLED_CELLS  # one cell, and one for each difference
    fits[:, -1] = True
    return np.minimum(bits, MANTISSA_BITS - fits.argmax(axis=1))


def find_bits(x: NDArray[Any], bits: int = MANTISSA_BITS) -> int:
    """Return the most bits, at most the given ones, with which the cells of these numbers are few enough; no NaN.

    More numbers in the same column have no more bits.
    """
    cells = np.sort(cell_numbers(x))
    return int(limit_bits(np.zeros(len(cells), dtype=np.int64), cells, np.array([bits]))[0])


@dataclass(frozen=True, eq=False, slots=True)
class Grid(ColumnCounts):
    """A histogram of each feature on the grid of its bits, by class.

    The non-empty cells of feature j are `cell[offset[j]:offset[j+1]]`, ascending; `table` (K×m) has their counts, and
    `bits[j]` leading bits of the mantissa distinguish them, 52 where there are none.

    Only cells with weight are kept, so that forgotten rows leave no trace; a missing value is in no cell. The
    weight of class k and feature j is the sum over its cells. Adding may take fewer bits, subtracting keeps them.

    >>> g = Grid.of(np.array([[1.0], [1.001], [2.0]]), np.array([0, 1, 1], np.int32), None, 2)
    >>> g.bounds[0].tolist(), g.table.tolist(), g.bits.tolist()
    ([1.0, 1.001, 2.0], [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]], [52])
    """

    cell: CellNumbers
    offset: NDArray[np.int64]
    table: Array
    bits: NDArray[np.int64]

    @classmethod
    def of(cls, X: NDArray[Any], codes: Codes, weight: Array | None, n_classes: int) -> Self:
        """Count numbers into their cells; NaN is left out."""
        present = ~np.isnan(X) if X.dtype.kind == "f" else np.ones(X.shape, dtype=np.bool_)
        feature, row = np.nonzero(present.T)
        values, inverse = np.unique(cell_numbers(X.T[present.T]), return_inverse=True)
        keys, inverse = np.unique(feature * len(values) + inverse.reshape(-1), return_inverse=True)
        w = None if weight is None else weight[row]
        table = sum_by_class(codes[row], inverse.reshape(-1), w, n_classes, len(keys))
        full = np.full(X.shape[1], MANTISSA_BITS)
        return cls.from_counts(keys // max(1, len(values)), values[keys % max(1, len(values))], table, full)

    @classmethod
    def from_counts(cls, owner: NDArray[Any], cell: CellNumbers, table: Array, bits: NDArray[np.int64]) -> Self:
        """Build the grid from counts (K×m) of cells of feature `owner`, in any order, with at most these bits."""
        seen = table.any(axis=0)
        if not seen.all():
            owner, cell, table = owner[seen], cell[seen], table[:, seen]
        order = np.lexsort((cell, owner))
        by_feature, cells = owner[order], cell[order]
        bits = limit_bits(by_feature, cells, bits)
        cells &= -cell_widths(bits)[by_feature]
        is_first = np.ones(len(cells), dtype=np.bool_)
        is_first[1:] = (by_feature[1:] != by_feature[:-1]) | (cells[1:] != cells[:-1])
        offset = compute_offsets(np.bincount(by_feature[is_first], minlength=len(bits)))
        place = np.empty(len(order), dtype=np.intp)
        place[order] = np.cumsum(is_first) - 1
        # row by row takes a quarter of the time of `np.add.reduceat`, and adds in the order of the counts
        rows = [np.bincount(place, weights=row, minlength=offset[-1]) for row in table]
        sums = np.array(rows, dtype=np.float64).reshape(len(table), offset[-1])
        return cls(cells[is_first], offset, sums, np.where(np.diff(offset) > 0, bits, MANTISSA_BITS))

    @property
    def bounds(self) -> tuple[Array, Array]:
        """The smallest number of each cell, and that of the next one."""
        return edges(self.cell), edges(self.cell + cell_widths(self.bits)[self.owner])

    def runs(self) -> Iterator[Self]:
        """Yield the features in order as grids of at most `RUN_CELLS` counts, or of a single feature."""
        for a, b in feature_runs(self.offset, RUN_CELLS // max(1, self.n_classes)):
            mine, offset = slice(self.offset[a], self.offset[b]), self.offset[a : b + 1] - self.offset[a]
            yield type(self)(self.cell[mine], offset, self.table[:, mine], self.bits[a:b])

    def _join(self, other: Self, mine: Array, theirs: Array) -> Self:
        """Return the grid of the cells of both with these counts."""
        owner = np.concatenate([self.owner, other.owner])
        cell, table = np.concatenate([self.cell, other.cell]), np.concatenate([mine, theirs], axis=1)
        return self.from_counts(owner, cell, table, np.minimum(self.bits, other.bits))

    def __add__(self, other: Self) -> Self:
        return self._join(other, self.table, other.table)

    def __sub__(self, other: Self) -> Self:
        none = np.zeros_like
        both = [np.concatenate([a, b]) for a, b in ((self.table, none(self.table)), (none(other.table), other.table))]
        joined = self._join(other, *both)
        before, removed = np.split(joined.table, 2)
        left = subtract_checked(before, removed, "count of a cell", lambda k, cell: (k, int(joined.owner[cell or 0])))
        return type(self)(joined.cell, joined.offset, left, joined.bits).trim()

    def trim(self) -> Self:
        """See `Statistic.trim`."""
        seen = self.table.any(axis=0)
        return self if seen.all() else self.from_counts(self.owner, self.cell, self.table, self.bits)
