"""Counts of the cells of each feature, and of each pair of features, in each class."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.ledger.statistic import Statistic, subtract_checked, sum_by_class


@dataclass(frozen=True, eq=False, slots=True)
class Pairs(Statistic):
    """Counts n_kja of rows whose feature j is in cell a, and n_kijab of those whose features i < j are in a and b.

    Cells are numbered 0, 1, … V−1 in every feature; a negative number is a missing value, and a row counts for a pair
    where neither is missing. `single` is K×d×V, `pair` K×m×V×V with the pairs in the order of `list_pairs`.

    >>> part = Pairs.of(np.array([[0, 1], [1, 1]]), np.array([0, 0], np.int32), None, 1, 2)
    >>> part.single.tolist(), part.pair.tolist()
    ([[[1.0, 1.0], [0.0, 2.0]]], [[[[0.0, 1.0], [0.0, 1.0]]]])
    """

    single: Array
    pair: Array

    @classmethod
    def of(cls, X: NDArray[Any], codes: Codes, weight: Array | None, n_classes: int, n_cells: int = 1) -> Self:
        """Count the cells of rows, n×d, into their classes."""
        d, V = X.shape[1], n_cells

        def count(cell: NDArray[Any], present: NDArray[np.bool_], size: int) -> Array:
            w = None if weight is None else weight[present]
            return sum_by_class(codes[present], cell[present], w, n_classes, size)

        single = [count(x, x >= 0, V) for x in X.T]
        pair = [
            count(X[:, i].astype(np.int64) * V + X[:, j], (X[:, i] >= 0) & (X[:, j] >= 0), V * V)
            for i, j in combinations(range(d), 2)
        ]
        return cls(
            np.stack(single, axis=1) if d else np.zeros((n_classes, 0, V)),
            np.stack([p.reshape(n_classes, V, V) for p in pair], axis=1) if pair else np.zeros((n_classes, 0, V, V)),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """See `Statistic.shape`."""
        return self.single.shape[0], self.single.shape[1]

    @property
    def n_cells(self) -> int:
        """V, the number of cells of every feature."""
        return self.single.shape[2]

    @property
    def weight(self) -> Array:
        """n_kj, the weight of the rows that have feature j."""
        return self.single.sum(axis=2)

    def pair_table(self, i: int, j: int) -> Array:
        """Return the counts of the pair of two features, K×V×V, the cells of i first."""
        if i > j:
            return self.pair_table(j, i).transpose(0, 2, 1)
        return self.pair[:, i * self.n_features - i * (i + 1) // 2 + j - i - 1]  # the place in `list_pairs`

    def take_features(self, order: NDArray[np.intp]) -> Self:
        """See `Statistic.take_features`."""
        order = np.asarray(order, dtype=np.intp)
        tables = [self.pair_table(int(i), int(j)) for i, j in combinations(order, 2)]
        K, V = self.n_classes, self.n_cells
        pair = np.stack(tables, axis=1) if tables else np.zeros((K, 0, V, V))
        return type(self)(self.single[:, order], pair)

    def __add__(self, other: Self) -> Self:
        return type(self)(self.single + other.single, self.pair + other.pair)

    def __sub__(self, other: Self) -> Self:
        def subtract(a: Array, b: Array, what: str) -> Array:
            K = len(a)
            return subtract_checked(a.reshape(K, -1), b.reshape(K, -1), what, lambda k, _: (k, None)).reshape(a.shape)

        single = subtract(self.single, other.single, "count of a cell")
        return type(self)(single, subtract(self.pair, other.pair, "count of a pair of cells"))


def list_pairs(d: int) -> NDArray[np.intp]:
    """Return the pairs i < j of d features, in the order in which they are counted; m×2."""
    return np.array(list(combinations(range(d), 2)), dtype=np.intp).reshape(-1, 2)
