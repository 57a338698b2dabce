"""The full joint table: how often each combination of levels occurred in each class.

Only combinations that occurred are kept: 30 Boolean features have 2³⁰ cells, but n rows fill at most n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.ledger.levels import level_counts
from deciban.ledger.statistic import NotLearnedError, Statistic, place, subtract_checked


@dataclass(frozen=True, eq=False, slots=True)
class Cells(Statistic):
    """The combinations seen (m×d level codes, sorted) and their count per class (K×m).

    A row with a missing value belongs to no single cell and is left out of the table.

    >>> c = Cells.of(np.array([[0, 1], [0, 1], [1, 1]]), np.array([0, 0, 1], np.int32), None, 2)
    >>> c.cell.tolist(), c.count.tolist()
    ([[0, 1], [1, 1]], [[2.0, 0.0], [0.0, 1.0]])
    """

    cell: NDArray[np.int64]
    count: Array

    @classmethod
    def of(cls, X: NDArray[Any], codes: Codes, weight: Array | None, n_classes: int) -> Self:
        """Count complete rows of level codes; a row with a negative (missing) code is left out."""
        whole = (X >= 0).all(axis=1)
        w = np.ones(len(X)) if weight is None else weight
        cell, inverse = np.unique(X[whole].astype(np.int64), axis=0, return_inverse=True)
        key = codes[whole].astype(np.int64) * len(cell) + inverse.reshape(-1)
        count = np.bincount(key, weights=w[whole], minlength=n_classes * len(cell)).astype(np.float64)
        return cls(cell, count.reshape(n_classes, len(cell)))._without_empty()

    @classmethod
    def empty(cls, n_classes: int, n_features: int) -> Self:
        """Return the table of no rows."""
        return cls(np.zeros((0, n_features), dtype=np.int64), np.zeros((n_classes, 0)))

    @property
    def n_classes(self) -> int:
        """K."""
        return self.count.shape[0]

    @property
    def n_features(self) -> int:
        """d."""
        return self.cell.shape[1]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """V_j, one more than the highest level of each feature in any combination."""
        return level_counts(self.cell)

    def _without_empty(self) -> Self:
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
        try:
            left = subtract_checked(a, b, "count of a combination")
        except NotLearnedError as lack:
            raise NotLearnedError(lack.what, lack.k, None, lack.present, lack.removed) from None
        return type(self)(cell, left)._without_empty()

    def __mul__(self, factor: float) -> Self:
        return type(self)(self.cell, self.count * factor)._without_empty()

    def map_classes(self, index: NDArray[np.intp], n_classes: int) -> Self:
        """See `Statistic.map_classes`."""
        return type(self)(self.cell, place(self.count, index, n_classes))

    def take_classes(self, index: NDArray[np.intp]) -> Self:
        """See `Statistic.take_classes`."""
        return type(self)(self.cell, self.count[index])._without_empty()

    def take_features(self, order: NDArray[np.intp]) -> Self:
        """See `Statistic.take_features`."""
        return self._sorted(self.cell[:, order])

    def map_levels(self, places: Sequence[NDArray[np.intp] | None], sizes: Sequence[int]) -> Self:
        """See `Statistic.map_levels`."""
        cell = self.cell.copy()
        for j, where in enumerate(places):
            if where is not None:
                cell[:, j] = where[self.cell[:, j]]
        return self._sorted(cell)

    def _sorted(self, cell: NDArray[np.int64]) -> Self:
        order = np.lexsort(cell.T[::-1]) if cell.shape[1] else np.arange(len(cell))
        return type(self)(cell[order], self.count[:, order])
