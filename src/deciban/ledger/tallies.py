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
from deciban.ledger.statistic import Array, NotLearnedError, same, subtract_checked


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

    def fill_empty_classes(self) -> Self:
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

    def pooled(self, n: int) -> Self:
        """Every n classes that follow each other as one."""
        klass, feature = self.klass // n, self.feature
        new = np.ones(len(klass), dtype=np.bool_)
        new[1:] = (klass[1:] != klass[:-1]) | (feature[1:] != feature[:-1])
        first = np.flatnonzero(new)
        total = np.add.reduceat(self.total, first) if len(first) else self.total
        weight = self.weight.reshape(-1, n).sum(axis=1, keepdims=True)
        return type(self)(_starts(feature[first], self.n_features), klass[first].astype(np.int32), total, weight)

    def _keys(self) -> NDArray[np.int64]:
        """Entries numbered by feature, then class: ascending."""
        return self.feature.astype(np.int64) * self.n_classes + self.klass

    def _from_keys(self, keys: NDArray[np.int64], total: Array, weight: Array) -> Self:
        kept = total != 0
        feature, klass = np.divmod(keys[kept], self.n_classes)
        return type(self)(_starts(feature, self.n_features), klass.astype(np.int32), total[kept], weight)

    def _together(self, other: Self) -> tuple[NDArray[np.int64], Array, Array]:
        mine, theirs = self._keys(), other._keys()
        keys = _union(mine, theirs)
        a, b = np.zeros(len(keys)), np.zeros(len(keys))
        a[np.searchsorted(keys, mine)] = self.total
        b[np.searchsorted(keys, theirs)] = other.total
        return keys, a, b

    def __add__(self, other: Self) -> Self:
        keys, a, b = self._together(other)
        return self._from_keys(keys, a + b, self.weight + other.weight)

    def __sub__(self, other: Self) -> Self:
        keys, a, b = self._together(other)
        weight = subtract_checked(self.weight, other.weight, "weight")
        try:
            left = subtract_checked(a, b, "count")
        except NotLearnedError as lack:
            j, k = divmod(int(keys[lack.k]), self.n_classes)
            raise NotLearnedError("count", k, j, lack.had, lack.asked) from None
        return self._from_keys(keys, left, weight)

    def totals_at(self, other: Self) -> Array:
        """The total here of each entry of the other, all of which are here, too."""
        return self.total[np.searchsorted(self._keys(), other._keys())]

    def __mul__(self, factor: float) -> Self:
        return self._from_keys(self._keys(), self.total * factor, self.weight * factor)

    def keep_entries_of(self, other: Tallies) -> Self:
        """The same tallies without the entries, rounding of sums that came to nothing, that the other has none of."""
        if np.array_equal(self.start, other.start) and np.array_equal(self.klass, other.klass):
            return self
        keys = self._keys()
        seen = np.isin(keys, other._keys(), assume_unique=True)
        return self._from_keys(keys, np.where(seen, self.total, 0.0), self.weight)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tallies) and same(self, other)

    def spread(self, index: NDArray[np.intp], n_classes: int) -> Self:
        """See `Statistic.spread`."""
        moved = type(self)(
            self.start, index[self.klass].astype(np.int32), self.total, place(self.weight, index, n_classes)
        )
        return moved if _rising(index) else moved._sorted(moved.feature)

    def take(self, index: NDArray[np.intp]) -> Self:
        """See `Statistic.take`."""
        place_of = np.full(self.n_classes, -1, dtype=np.int32)
        place_of[index] = np.arange(len(index))
        kept = place_of[self.klass] >= 0
        klass, feature = place_of[self.klass[kept]], self.feature[kept]
        start = _starts(feature, self.n_features)
        taken = type(self)(start, klass, self.total[kept], self.weight[index])
        return taken if _rising(index) else taken._sorted(feature)

    def reorder(self, order: NDArray[np.intp]) -> Self:
        """See `Statistic.reorder`; features that are not in `order` are left out."""
        places = np.full(self.n_features, -1, dtype=np.intp)
        places[order] = np.arange(len(order))
        return self.widen(places, len(order))

    def widen(self, places: NDArray[np.intp], n_features: int) -> Self:
        """The same tallies with feature v at places[v] among n_features; where that is −1, without it."""
        kept = places >= 0
        here, count = places[kept], np.diff(self.start)
        start = np.zeros(n_features + 1, dtype=np.int64)
        start[here + 1] = count[kept]
        np.cumsum(start, out=start)
        known = slice(None) if kept.all() or not count[~kept].any() else np.repeat(kept, count)
        klass, total = self.klass[known], self.total[known]
        if not _rising(here):
            order = np.argsort(np.repeat(here, count[kept]), kind="stable")
            klass, total = klass[order], total[order]
        return type(self)(start, klass, total, self.weight)

    def _sorted(self, feature: NDArray[np.intp]) -> Self:
        order = np.argsort(feature.astype(np.int64) * self.n_classes + self.klass, kind="stable")
        return type(self)(self.start, self.klass[order], self.total[order], self.weight)

    def relevel(self, places: Sequence[NDArray[np.intp] | None], sizes: Sequence[int]) -> Self:
        """Tallies have no levels."""
        return self

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """See `Statistic.arrays`."""
        return {"start": self.start, "klass": self.klass, "total": self.total, "weight": self.weight}


def _starts(feature: NDArray[Any], n_features: int) -> NDArray[np.int64]:
    start = np.zeros(n_features + 1, dtype=np.int64)
    np.cumsum(np.bincount(feature, minlength=n_features), out=start[1:])
    return start


def _union(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
    """Two ascending lists as one, each number once.

    `np.union1d` is to the same effect, and took 6.6 s of the 8.3 s that a million words needed to be merged: it
    hashes what a stable sort, given two lists in order, only merges.
    """
    both = np.concatenate([a, b])
    both.sort(kind="stable")
    new = np.ones(len(both), dtype=np.bool_)
    np.not_equal(both[1:], both[:-1], out=new[1:])
    return both[new]


def _rising(index: NDArray[np.intp]) -> bool:
    """Whether what is moved there keeps its order."""
    return bool((index[1:] > index[:-1]).all())
