"""Counts, Σ w·x per class and feature: the statistic of Bernoulli, multinomial, Poisson, and of texts.

`Counts` are dense. A thousand classes by a hundred thousand words is a hundred million numbers, nearly all of them
zero: in `Tallies` each feature lists the classes in which it occurs. `Bags`, the statistic of texts, are two of them:
the total of each word, and the number of documents that contain it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.errors import SchemaError
from deciban.ledger.statistic import (
    ROUNDING_FRACTION,
    NotLearnedError,
    Statistic,
    align_by_key,
    compute_offsets,
    place_classes,
    rows_by_class,
    scale_classes,
    subtract_checked,
)


def apply_threshold(X: NDArray[Any], threshold: float | None) -> Array:
    """Return the values to count: x itself, or the indicator [x > threshold]; NaN stays NaN."""
    if threshold is None:
        return X.astype(np.float64, copy=False)
    seen = (threshold < X).astype(np.float64)
    if X.dtype.kind == "f":
        seen[np.isnan(X)] = np.nan
    return seen


@dataclass(frozen=True, eq=False, slots=True)
class Counts(Statistic):
    """Weighted sums of values, by class and feature.

    `total` is Σ w·x (K×d); `weight` is Σ w over the rows that have the value, K×d, or K×1 where none was missing.

    >>> Counts.of(np.array([[1.0, 0.0], [1.0, 2.0]]), np.array([0, 1], np.int32), None, 2).total.tolist()
    [[1.0, 0.0], [1.0, 2.0]]
    """

    total: Array
    weight: Array

    @classmethod
    def of(
        cls, X: NDArray[Any], codes: Codes, weight: Array | None, n_classes: int, threshold: float | None = None
    ) -> Self:
        """Count the rows of X, read by `threshold`, into their classes; NaN is left out."""
        has_missing = X.dtype.kind == "f" and bool(np.isnan(X).any())
        total = np.zeros((n_classes, X.shape[1]))
        n = np.zeros((n_classes, X.shape[1] if has_missing else 1))
        for k, rows in rows_by_class(codes):
            x = apply_threshold(X[rows], threshold)
            w = np.ones((len(rows), 1)) if weight is None else weight[rows, None]
            if has_missing:
                w = w * ~np.isnan(x)
                x = np.nan_to_num(x)
            total[k], n[k] = (w * x).sum(axis=0), w.sum(axis=0)
        return cls(total, n)

    @property
    def shape(self) -> tuple[int, int]:
        """See `Statistic.shape`."""
        return self.total.shape[0], self.total.shape[1]

    def __add__(self, other: Self) -> Self:
        return type(self)(self.total + other.total, self.weight + other.weight)

    def __sub__(self, other: Self) -> Self:
        before, removed = np.broadcast_arrays(self.weight, other.weight)
        weight = subtract_checked(before, removed, "weight")
        return type(self)(subtract_checked(self.total, other.total, "count"), weight)


@dataclass(frozen=True, eq=False, slots=True)
class Tallies(Statistic):
    """Sparse counts: feature v has total[i] in class class_code[i] for i in start[v]:start[v+1], classes ascending.

    `weight` (K×1) is the weight of each class's rows.

    >>> t = Tallies.from_counts(Counts(np.array([[0.0, 2.0], [3.0, 0.0]]), np.array([[1.0], [1.0]])))
    >>> t.start.tolist(), t.class_code.tolist(), t.total.tolist()
    ([0, 1, 2], [1, 0], [3.0, 2.0])
    """

    start: NDArray[np.int64]
    class_code: NDArray[np.int32]
    total: Array
    weight: Array

    @classmethod
    def empty(cls, n_classes: int, n_features: int) -> Self:
        """Return tallies of no rows."""
        return cls.from_counts(Counts.empty(n_classes, n_features))

    @classmethod
    def from_counts(cls, counts: Counts) -> Self:
        """Convert counts, leaving out zeros; refuse counts with a weight for each feature."""
        feature, class_code = np.nonzero(counts.total.T)
        if counts.weight.shape[1] > 1:
            raise SchemaError("tallies keep one weight per class, and these counts have one per feature")
        start, total = _starts(feature, counts.n_features), counts.total.T[feature, class_code]
        return cls(start, class_code.astype(np.int32), total, counts.weight)

    def to_dense(self) -> Counts:
        """Convert to dense counts, K×V numbers."""
        total = np.zeros((self.n_classes, self.n_features))
        total[self.class_code, self.feature] = self.total
        return Counts(total, self.weight)

    @property
    def shape(self) -> tuple[int, int]:
        """See `Statistic.shape`."""
        return self.weight.shape[0], len(self.start) - 1

    @property
    def feature(self) -> NDArray[np.intp]:
        """The feature that each entry belongs to."""
        return np.repeat(np.arange(self.n_features), np.diff(self.start))

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """See `Statistic.arrays`; as in model files, the class codes are named `klass`."""
        return {"start": self.start, "klass": self.class_code, "total": self.total, "weight": self.weight}

    def per_class(self, values: Array) -> Array:
        """Return the sum of the entries' values in each class."""
        return np.bincount(self.class_code, weights=values, minlength=self.n_classes).astype(np.float64, copy=False)

    def per_feature(self, values: Array) -> Array:
        """Return the sum of the entries' values in each feature."""
        return np.bincount(self.feature, weights=values, minlength=self.n_features).astype(np.float64, copy=False)

    def fill_empty_classes(self) -> Self:
        """Return the tallies with the totals of all classes together for each class without entries."""
        empty = np.flatnonzero(self.per_class(np.ones(len(self.total))) == 0)
        if not empty.size:
            return self
        everywhere = self.per_feature(self.total)
        seen = np.flatnonzero(everywhere)
        keys = (seen[:, None] * self.n_classes + empty).ravel()
        total = np.repeat(everywhere[seen], len(empty))
        all_keys = np.concatenate([self.keys(), keys])
        order = np.argsort(all_keys, kind="stable")
        return self._from_keys(all_keys[order], np.concatenate([self.total, total])[order], self.weight)

    def sum_consecutive_classes(self, n: int) -> Self:
        """Return the sums in which every n consecutive classes are one; K is a multiple of n."""
        class_code, feature = self.class_code // n, self.feature
        new = np.ones(len(class_code), dtype=np.bool_)
        new[1:] = (class_code[1:] != class_code[:-1]) | (feature[1:] != feature[:-1])
        first = np.flatnonzero(new)
        total = np.add.reduceat(self.total, first) if len(first) else self.total
        weight = self.weight.reshape(-1, n).sum(axis=1, keepdims=True)
        return type(self)(_starts(feature[first], self.n_features), class_code[first].astype(np.int32), total, weight)

    def keys(self) -> NDArray[np.int64]:
        """Return an ascending key of each entry: by feature, then class."""
        return self.feature.astype(np.int64) * self.n_classes + self.class_code

    def _from_keys(self, keys: NDArray[np.int64], total: Array, weight: Array) -> Self:
        """Build tallies from ascending keys, without zero totals."""
        kept = total != 0
        feature, class_code = np.divmod(keys[kept], self.n_classes)
        return type(self)(_starts(feature, self.n_features), class_code.astype(np.int32), total[kept], weight)

    def __add__(self, other: Self) -> Self:
        keys, a, b = align_by_key(self.keys(), self.total, other.keys(), other.total)
        return self._from_keys(keys, a + b, self.weight + other.weight)

    def __sub__(self, other: Self) -> Self:
        keys, a, b = align_by_key(self.keys(), self.total, other.keys(), other.total)
        weight = subtract_checked(self.weight, other.weight, "weight")

        def locate(entry: int, _: int | None) -> tuple[int, int]:
            feature, k = divmod(int(keys[entry]), self.n_classes)
            return k, feature

        return self._from_keys(keys, subtract_checked(a, b, "count", locate), weight)

    def __mul__(self, factor: float | Array) -> Self:
        of_entry = factor[self.class_code] if isinstance(factor, np.ndarray) else factor
        return self._from_keys(self.keys(), scale_classes(self.total, of_entry), scale_classes(self.weight, factor))

    def keep_entries_of(self, other: "Tallies") -> Self:
        """Return the tallies without entries that `other` lacks: they are the rounding of sums that cancelled."""
        if np.array_equal(self.start, other.start) and np.array_equal(self.class_code, other.class_code):
            return self
        keys = self.keys()
        seen = np.isin(keys, other.keys(), assume_unique=True)
        return self._from_keys(keys, np.where(seen, self.total, 0.0), self.weight)

    def map_classes(self, index: NDArray[np.intp], n_classes: int) -> Self:
        """See `Statistic.map_classes`."""
        class_code, weight = index[self.class_code].astype(np.int32), place_classes(self.weight, index, n_classes)
        moved = type(self)(self.start, class_code, self.total, weight)
        return moved if _is_ascending(index) else moved._sort_entries(moved.feature)

    def take_classes(self, index: NDArray[np.intp]) -> Self:
        """See `Statistic.take_classes`."""
        place_of = np.full(self.n_classes, -1, dtype=np.int32)
        place_of[index] = np.arange(len(index))
        kept = place_of[self.class_code] >= 0
        class_code, feature = place_of[self.class_code[kept]], self.feature[kept]
        start = _starts(feature, self.n_features)
        chosen = type(self)(start, class_code, self.total[kept], self.weight[index])
        return chosen if _is_ascending(index) else chosen._sort_entries(feature)

    def take_features(self, order: NDArray[np.intp]) -> Self:
        """See `Statistic.take_features`; features that are not in `order` are left out."""
        places = np.full(self.n_features, -1, dtype=np.intp)
        places[order] = np.arange(len(order))
        return self.map_features(places, len(order))

    def map_features(self, places: NDArray[np.intp], n_features: int) -> Self:
        """Return the tallies with feature v at places[v] among n_features; features with place −1 are dropped."""
        kept = places >= 0
        here, count = places[kept], np.diff(self.start)
        start = np.zeros(n_features + 1, dtype=np.int64)
        start[here + 1] = count[kept]
        np.cumsum(start, out=start)
        known = slice(None) if kept.all() or not count[~kept].any() else np.repeat(kept, count)
        class_code, total = self.class_code[known], self.total[known]
        if not _is_ascending(here):
            order = np.argsort(np.repeat(here, count[kept]), kind="stable")
            class_code, total = class_code[order], total[order]
        return type(self)(start, class_code, total, self.weight)

    def _sort_entries(self, feature: NDArray[np.intp]) -> Self:
        """Return the tallies with the classes of each feature ascending; `feature` is that of each entry."""
        order = np.argsort(feature.astype(np.int64) * self.n_classes + self.class_code, kind="stable")
        return type(self)(self.start, self.class_code[order], self.total[order], self.weight)


def _starts(feature: NDArray[Any], n_features: int) -> NDArray[np.int64]:
    """Return where the entries of each feature begin and the last end; `feature` is that of each entry, ascending."""
    return compute_offsets(np.bincount(feature, minlength=n_features))


def _is_ascending(index: NDArray[np.intp]) -> bool:
    """Return whether the index is strictly ascending."""
    return bool((index[1:] > index[:-1]).all())


@dataclass(frozen=True, eq=False, slots=True)
class Bags(Statistic):
    """Totals of the words' values, and the weight of the documents that contain each word: two tallies of shape K×V.

    Both have the same weight, that of each class's documents. Where only presence is counted both are one object
    (`documents is occurrences`), and every operation keeps it so.

    >>> once = Tallies(np.array([0, 1, 3]), np.array([1, 0, 1], np.int32), np.array([1.0, 1, 2]), np.ones((2, 1)))
    >>> twice = Bags(once, once) + Bags(once, once)
    >>> twice.presence, twice.occurrences.total.tolist()
    (True, [2.0, 2.0, 4.0])
    """

    occurrences: Tallies
    documents: Tallies

    @classmethod
    def empty(cls, n_classes: int, n_features: int, presence: bool = False) -> Self:
        """Return the bags of no documents."""
        nothing = Tallies.empty(n_classes, n_features)
        return cls(nothing, nothing if presence else replace(nothing))

    @property
    def presence(self) -> bool:
        """Whether a word counts once for each document that contains it."""
        return self.documents is self.occurrences

    @property
    def weight(self) -> Array:
        """The weight of each class's documents, K×1."""
        return self.occurrences.weight

    @property
    def shape(self) -> tuple[int, int]:
        """See `Statistic.shape`."""
        return self.occurrences.shape

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Whether any class has the word, V."""
        return (np.diff(self.occurrences.start) > 0) | (np.diff(self.documents.start) > 0)

    def __add__(self, other: Self) -> Self:
        occurrences = self.occurrences + other.occurrences
        if self.presence and other.presence:
            return type(self)(occurrences, occurrences)
        return type(self)(occurrences, _share_arrays(self.documents + other.documents, occurrences))

    def __sub__(self, other: Self) -> Self:
        occurrences = self.occurrences - other.occurrences
        if self.presence and other.presence:
            _refuse_excess_documents(self.documents, occurrences)
            return type(self)(occurrences, occurrences)
        try:
            documents = self.documents - other.documents
        except NotLearnedError as lack:
            raise NotLearnedError("number of documents", lack.k, lack.j, lack.present, lack.removed) from None
        _refuse_excess_documents(self.documents, documents)
        occurrences = occurrences.keep_entries_of(documents)
        return type(self)(occurrences, _share_arrays(documents, occurrences))

    def __mul__(self, factor: float | Array) -> Self:
        return self._map_tallies(lambda tallies: tallies * factor)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bags) and self.occurrences == other.occurrences and self.documents == other.documents

    def map_classes(self, index: NDArray[np.intp], n_classes: int) -> Self:
        """See `Statistic.map_classes`."""
        return self._map_tallies(lambda tallies: tallies.map_classes(index, n_classes))

    def take_classes(self, index: NDArray[np.intp]) -> Self:
        """See `Statistic.take_classes`."""
        return self._map_tallies(lambda tallies: tallies.take_classes(index))

    def sum_consecutive_classes(self, n: int) -> Self:
        """Return the sums in which every n consecutive classes are one; K is a multiple of n."""
        return self._map_tallies(lambda tallies: tallies.sum_consecutive_classes(n))

    def take_features(self, order: NDArray[np.intp]) -> Self:
        """See `Statistic.take_features`; words that are not in `order` are left out."""
        return self._map_tallies(lambda tallies: tallies.take_features(order))

    def map_features(self, places: NDArray[np.intp], n_features: int) -> Self:
        """Return the sums with word v at places[v] among n_features; words with place −1 are dropped."""
        return self._map_tallies(lambda tallies: tallies.map_features(places, n_features))

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """See `Statistic.arrays`; where only presence is counted, each array is listed once."""
        own = dict(self.occurrences.arrays())
        if not self.presence:
            theirs = self.documents.arrays()
            own |= {f"documents/{name}": theirs[name] for name in ("start", "klass", "total")}
        return own

    def _map_tallies(self, change: Callable[[Tallies], Tallies]) -> Self:
        """Return the bags with both tallies changed; they stay one object where only presence is counted."""
        occurrences = change(self.occurrences)
        if self.presence:
            return type(self)(occurrences, occurrences)
        return type(self)(occurrences, _share_arrays(change(self.documents), occurrences))


def _share_arrays(documents: Tallies, occurrences: Tallies) -> Tallies:
    """Return the documents with those arrays shared that equal the occurrences': nearly always all but the totals."""
    start, class_code = documents.start, documents.class_code
    if np.array_equal(class_code, occurrences.class_code) and np.array_equal(start, occurrences.start):
        start, class_code = occurrences.start, occurrences.class_code
    return Tallies(start, class_code, documents.total, occurrences.weight)


def _refuse_excess_documents(before: Tallies, left: Tallies) -> None:
    """Refuse where more documents would contain a word than there are: some that lacked it were never learned."""
    capacity = left.weight[left.class_code, 0]
    excess = np.flatnonzero(left.total > capacity + ROUNDING_FRACTION * before.weight[left.class_code, 0])
    if excess.size:
        i = int(excess[0])
        k, v = int(left.class_code[i]), int(left.feature[i])
        without = float(before.weight[k, 0] - before.total[(before.class_code == k) & (before.feature == v)].sum())
        removed = without + float(left.total[i] - capacity[i])
        raise NotLearnedError("number of documents that lack it", k, v, without, removed)
