"""Counts of categorical features in each class: of each level of each feature, and of each combination of levels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.ledger.statistic import Statistic, compute_offsets, subtract_checked, sum_by_class

MIN_REDUCEAT_FEATURES = 64
"""Fewer features than this are summed one by one, each by NumPy's pairwise sum, which is more accurate."""


class ColumnCounts(Statistic):
    """Counts of each class in one table, K×m, in which columns offset[j] to offset[j+1] belong to feature j."""

    __slots__ = ()
    class_array = "table"
    table: Array
    offset: NDArray[np.int64]

    @property
    def shape(self) -> tuple[int, int]:
        """See `Statistic.shape`."""
        return self.table.shape[0], len(self.offset) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """V_j, the number of columns of each feature."""
        return self.offset[1:] - self.offset[:-1]  # a tenth of the time of `np.diff`, and models use it often

    @property
    def owner(self) -> NDArray[np.intp]:
        """The feature that each column of the table belongs to."""
        return np.repeat(np.arange(self.n_features), self.sizes)

    @property
    def weight(self) -> Array:
        """n_kj, the weight of the rows that have feature j."""
        return sums_by_feature(self.table, self.offset)

    def take_features(self, order: NDArray[np.intp]) -> Self:
        """See `Statistic.take_features`; features that `order` leaves out are dropped."""
        order = np.asarray(order, dtype=np.intp)
        sizes = self.sizes[order]
        offset = compute_offsets(sizes)
        columns = np.arange(int(offset[-1])) + np.repeat(self.offset[:-1][order] - offset[:-1], sizes)
        taken = {name: a[..., columns if name in ("cell", "table") else order] for name, a in self.arrays().items()}
        return type(self)(**{**taken, "offset": offset})


@dataclass(frozen=True, eq=False, slots=True)
class Levels(ColumnCounts):
    """Counts n_kjv of level v of feature j in class k, in one table: feature j in columns offset[j] to offset[j+1].

    Level codes are 0, 1, 2, …; a negative code is a missing value. The weight of class k and feature j is
    the sum of its table's row, so it is not stored. A feature's table ends with the highest level
    that has any weight, so that forgotten rows leave no trace.

    >>> Levels.of(np.array([[0], [2]]), np.array([0, 1], np.int32), None, 2).table.tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """

    table: Array
    offset: NDArray[np.int64]

    @classmethod
    def of(cls, X: NDArray[Any], codes: Codes, weight: Array | None, n_classes: int) -> Self:
        """Count level codes into their classes; negative (missing) codes are left out."""
        offset = compute_offsets(level_counts(X))
        present = X >= 0
        column = (X + offset[:-1])[present]
        k = np.broadcast_to(codes[:, None], X.shape)[present]
        w = None if weight is None else np.broadcast_to(weight[:, None], X.shape)[present]
        return cls(sum_by_class(k, column, w, n_classes, int(offset[-1])), offset).trim()

    def tables(self) -> list[Array]:
        """Return the table of each feature, K×V_j."""
        return [self.table[:, a:b] for a, b in zip(self.offset[:-1], self.offset[1:])]

    def pad_levels(self, sizes: NDArray[np.int64]) -> Self:
        """Return the counts with at least this many levels of each feature."""
        sizes = np.maximum(sizes, self.sizes)
        if np.array_equal(sizes, self.sizes):
            return self
        return self._move_levels(self._level, sizes)

    def trim(self) -> Self:
        """Return the counts without the empty levels above each feature's highest non-empty one."""
        used = np.flatnonzero(self.table.any(axis=0))
        highest = np.zeros(self.n_features, dtype=np.int64)
        np.maximum.at(highest, self.owner[used], used - self.offset[self.owner[used]] + 1)
        if np.array_equal(highest, self.sizes):
            return self
        return self._move_levels(self._level, highest)

    def __add__(self, other: Self) -> Self:
        a, b = self.pad_levels(other.sizes), other.pad_levels(self.sizes)
        return type(self)(a.table + b.table, a.offset)

    def __sub__(self, other: Self) -> Self:
        a, b = self.pad_levels(other.sizes), other.pad_levels(self.sizes)

        def locate(k: int, v: int | None) -> tuple[int, int | None]:
            return k, None if v is None else int(a.owner[v])

        return type(self)(subtract_checked(a.table, b.table, "count of a level", locate), a.offset).trim()

    def map_levels(self, places: Sequence[NDArray[np.intp] | None], sizes: Sequence[int]) -> Self:
        """See `Statistic.map_levels`; a level whose place is negative is dropped."""
        level = self._level
        for (a, b), where in zip(pairwise(self.offset.tolist()), places):
            if where is not None:
                level[a:b] = where[: b - a]
        return self._move_levels(level, np.asarray(sizes, dtype=np.int64)).trim()

    @property
    def _level(self) -> NDArray[np.int64]:
        """The level that each column of the table counts."""
        return np.arange(self.table.shape[1]) - np.repeat(self.offset[:-1], self.sizes)

    def _move_levels(self, level: NDArray[np.int64], sizes: NDArray[np.int64]) -> Self:
        """Return the counts with each column at a new level of its feature; levels outside the sizes are dropped."""
        offset = compute_offsets(sizes)
        kept = (level >= 0) & (level < sizes[self.owner])
        to = (offset[self.owner] + level)[kept]
        table = np.zeros((self.n_classes, int(offset[-1])))
        for new, old in zip(table, self.table):  # class by class takes a third of the time of one assignment
            new[to] = old[kept]
        return type(self)(table, offset)


def level_counts(X: NDArray[Any]) -> NDArray[np.int64]:
    """Return one more than the highest code of each column; 0 for a column without codes."""
    if not len(X):
        return np.zeros(X.shape[1], dtype=np.int64)
    return np.maximum(X.max(axis=0).astype(np.int64) + 1, 0)


def sums_by_feature(table: Array, offset: NDArray[np.int64]) -> Array:
    """Return the sum over each feature's columns, offset[j] to offset[j+1] of the table; K×d."""
    sums = np.zeros((len(table), len(offset) - 1))
    if len(offset) - 1 < MIN_REDUCEAT_FEATURES:
        for j, (a, b) in enumerate(pairwise(offset)):
            sums[:, j] = table[:, a:b].sum(axis=1)
        return sums
    some = np.flatnonzero(np.diff(offset))  # `reduceat` would give an empty feature the next column
    if some.size:
        sums[:, some] = np.add.reduceat(table, offset[some], axis=1)
    return sums


def feature_runs(offset: NDArray[np.int64], max_columns: int) -> Iterator[tuple[int, int]]:
    """Yield ranges a to b of features that have at most `max_columns` columns together, or a single feature.

    >>> list(feature_runs(np.array([0, 2, 3, 9, 10]), 3))
    [(0, 2), (2, 3), (3, 4)]
    """
    a = 0
    while a < len(offset) - 1:
        b = max(a + 1, int(np.searchsorted(offset, offset[a] + max_columns, side="right")) - 1)
        yield a, b
        a = b


@dataclass(frozen=True, eq=False, slots=True)
class Cells(Statistic):
    """The full joint table: the combinations seen (m×d level codes, sorted) and their count per class (K×m).

    Only combinations that occurred are kept: 30 Boolean features have 2³⁰ cells, but n rows fill at most n.

    A row with a missing value belongs to no single cell and is left out of the table.

    >>> c = Cells.of(np.array([[0, 1], [0, 1], [1, 1]]), np.array([0, 0, 1], np.int32), None, 2)
    >>> c.cell.tolist(), c.count.tolist()
    ([[0, 1], [1, 1]], [[2.0, 0.0], [0.0, 1.0]])
    """

    cell: NDArray[np.int64]
    count: Array
    class_array: ClassVar[str] = "count"

    @classmethod
    def of(cls, X: NDArray[Any], codes: Codes, weight: Array | None, n_classes: int) -> Self:
        """Count complete rows of level codes; a row with a negative (missing) code is left out."""
        complete = (X >= 0).all(axis=1)
        cell, inverse = np.unique(X[complete].astype(np.int64), axis=0, return_inverse=True)
        w = None if weight is None else weight[complete]
        return cls(cell, sum_by_class(codes[complete], inverse.reshape(-1), w, n_classes, len(cell))).trim()

    @property
    def shape(self) -> tuple[int, int]:
        """See `Statistic.shape`."""
        return self.count.shape[0], self.cell.shape[1]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """V_j, one more than the highest level of each feature in any combination."""
        return level_counts(self.cell)

    def trim(self) -> Self:
        """See `Statistic.trim`."""
        seen = self.count.any(axis=0)
        return self if seen.all() else type(self)(self.cell[seen], self.count[:, seen])

    def _align(self, other: Self) -> tuple[NDArray[np.int64], Array, Array]:
        """Return the cells of both tables and the counts of each in them."""
        cell, inverse = np.unique(np.concatenate([self.cell, other.cell]), axis=0, return_inverse=True)
        a = np.zeros((self.n_classes, len(cell)))
        b = a.copy()
        split = len(self.cell)
        a[:, inverse.reshape(-1)[:split]] = self.count
        b[:, inverse.reshape(-1)[split:]] = other.count
        return cell, a, b

    def __add__(self, other: Self) -> Self:
        cell, a, b = self._align(other)
        return type(self)(cell, a + b)

    def __sub__(self, other: Self) -> Self:
        cell, a, b = self._align(other)
        left = subtract_checked(a, b, "count of a combination", lambda k, _: (k, None))
        return type(self)(cell, left).trim()

    def take_features(self, order: NDArray[np.intp]) -> Self:
        """See `Statistic.take_features`."""
        return self._with_cells(self.cell[:, order])

    def map_levels(self, places: Sequence[NDArray[np.intp] | None], sizes: Sequence[int]) -> Self:
        """See `Statistic.map_levels`."""
        cell = self.cell.copy()
        for j, where in enumerate(places):
            if where is not None:
                cell[:, j] = where[self.cell[:, j]]
        return self._with_cells(cell)

    def _with_cells(self, cell: NDArray[np.int64]) -> Self:
        """Return the table with these level codes of its combinations, sorted by them."""
        order = np.lexsort(cell.T[::-1]) if cell.shape[1] else np.arange(len(cell))
        return type(self)(cell[order], self.count[:, order])
