"""Tallies: Σ w·x per class and feature where most of them are zero; words, a thousand classes.

A thousand classes by a hundred thousand words is a hundred million numbers, nearly all of them zero. Here
each feature lists the classes that have it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deciban.errors import SchemaError
from deciban.ledger.counts import Counts, place
from deciban.ledger.statistic import Array, Lacking, same, take_away


@dataclass(frozen=True, eq=False, slots=True)
class Tallies:
    """Feature v has total[i] in class klass[i] for i in start[v]:start[v+1], classes ascending.

    >>> t = Tallies.from_counts(Counts(np.array([[0.0, 2.0], [3.0, 0.0]]), np.array([[1.0], [1.0]])))
    >>> t.start.tolist(), t.klass.tolist(), t.total.tolist()
    ([0, 1, 2], [1, 0], [3.0, 2.0])
    """

    start: NDArray[np.int64]
    klass: NDArray[np.int32]
    total: Array
    weight: Array

    @classmethod
    def empty(cls, n_classes: int, n_features: int) -> Self:
        """Nothing counted yet."""
        nothing = np.zeros(0, dtype=np.int32)
        return cls(np.zeros(n_features + 1, dtype=np.int64), nothing, np.zeros(0), np.zeros((n_classes, 1)))

    @classmethod
    def from_counts(cls, counts: Counts) -> Self:
        """The same counts, zeros left out."""
        feature, klass = np.nonzero(counts.total.T)
        if counts.weight.shape[1] > 1:
            raise SchemaError("tallies keep one weight per class, and these counts have one per feature")
        return cls(
            _starts(feature, counts.n_features),
            klass.astype(np.int32),
            counts.total.T[feature, klass],
            counts.weight,
        )

    def dense(self) -> Counts:
        """The same counts, zeros written out: K×V numbers."""
        total = np.zeros((self.n_classes, self.n_features))
        total[self.klass, self.feature] = self.total
        return Counts(total, self.weight)

    @property
    def n_classes(self) -> int:
        """K."""
        return self.weight.shape[0]

    @property
    def n_features(self) -> int:
        """V."""
        return len(self.start) - 1

    @property
    def feature(self) -> NDArray[np.intp]:
        """The feature that each entry belongs to."""
        return np.repeat(np.arange(self.n_features), np.diff(self.start))

    def per_class(self, values: Array) -> Array:
        """The sum of the entries' values in each class."""
        return np.bincount(self.klass, weights=values, minlength=self.n_classes).astype(np.float64, copy=False)

    def per_feature(self, values: Array) -> Array:
        """The sum of the entries' values in each feature."""
        return np.bincount(self.feature, weights=values, minlength=self.n_features).astype(np.float64, copy=False)

    def pooled_where_empty(self) -> Self:
        """The same tallies, with every class that has none given those of all classes together."""
        empty = np.flatnonzero(self.per_class(np.ones(len(self.total))) == 0)
        if not empty.size:
            return self
        everywhere = self.per_feature(self.total)
        seen = np.flatnonzero(everywhere)
        keys = (seen[:, None] * self.n_classes + empty).ravel()
        total = np.repeat(everywhere[seen], len(empty))
        order = np.argsort(np.concatenate([self._keys(), keys]), kind="stable")
        all_keys = np.concatenate([self._keys(), keys])[order]
        return self._from_keys(all_keys, np.concatenate([self.total, total])[order], self.weight)

    def _keys(self) -> NDArray[np.int64]:
        """Entries numbered by feature, then class: ascending."""
        return self.feature.astype(np.int64) * self.n_classes + self.klass

    def _from_keys(self, keys: NDArray[np.int64], total: Array, weight: Array) -> Self:
        kept = total != 0
        feature, klass = np.divmod(keys[kept], self.n_classes)
        return type(self)(_starts(feature, self.n_features), klass.astype(np.int32), total[kept], weight)

    def _together(self, other: Self) -> tuple[NDArray[np.int64], Array, Array]:
        mine, theirs = self._keys(), other._keys()
        keys = np.union1d(mine, theirs)
        a, b = np.zeros(len(keys)), np.zeros(len(keys))
        a[np.searchsorted(keys, mine)] = self.total
        b[np.searchsorted(keys, theirs)] = other.total
        return keys, a, b

    def __add__(self, other: Self) -> Self:
        keys, a, b = self._together(other)
        return self._from_keys(keys, a + b, self.weight + other.weight)

    def __sub__(self, other: Self) -> Self:
        keys, a, b = self._together(other)
        weight = take_away(self.weight, other.weight, "weight")
        try:
            left = take_away(a, b, "count")
        except Lacking as lack:
            j, k = divmod(int(keys[lack.k]), self.n_classes)
            raise Lacking("count", k, j, lack.had, lack.asked) from None
        return self._from_keys(keys, left, weight)

    def __mul__(self, factor: float) -> Self:
        return self._from_keys(self._keys(), self.total * factor, self.weight * factor)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tallies) and same(self, other)

    def spread(self, index: NDArray[np.intp], n_classes: int) -> Self:
        """See `Statistic.spread`."""
        moved = type(self)(
            self.start, index[self.klass].astype(np.int32), self.total, place(self.weight, index, n_classes)
        )
        return moved._sorted(moved.feature)

    def take(self, index: NDArray[np.intp]) -> Self:
        """See `Statistic.take`."""
        place_of = np.full(self.n_classes, -1, dtype=np.int32)
        place_of[index] = np.arange(len(index))
        kept = place_of[self.klass] >= 0
        klass, feature = place_of[self.klass[kept]], self.feature[kept]
        start = _starts(feature, self.n_features)
        return type(self)(start, klass, self.total[kept], self.weight[index])._sorted(feature)

    def reorder(self, order: NDArray[np.intp]) -> Self:
        """See `Statistic.reorder`."""
        new_place = np.argsort(order)
        return self._sorted(new_place[self.feature])

    def _sorted(self, feature: NDArray[np.intp]) -> Self:
        order = np.lexsort((self.klass, feature))
        start = _starts(feature[order], self.n_features)
        return type(self)(start, self.klass[order], self.total[order], self.weight)

    def relevel(self, places: Sequence[NDArray[np.intp] | None], sizes: Sequence[int]) -> Self:
        """Tallies have no levels."""
        return self

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """See `Statistic.arrays`."""
        return {"start": self.start, "klass": self.klass, "total": self.total, "weight": self.weight}


def _starts(feature: NDArray[Any], n_features: int) -> NDArray[np.int64]:
    counts = np.bincount(feature, minlength=n_features)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
