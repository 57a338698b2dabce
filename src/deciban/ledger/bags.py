"""The statistic of texts: total of each word per class, and the number of documents that contain it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.ledger.statistic import ROUNDING, NotLearnedError, Statistic
from deciban.ledger.tallies import Tallies


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
    def n_classes(self) -> int:
        """K."""
        return self.occurrences.n_classes

    @property
    def n_features(self) -> int:
        """V."""
        return self.occurrences.n_features

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

    def __mul__(self, factor: float) -> Self:
        return self._each(lambda tallies: tallies * factor)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bags) and self.occurrences == other.occurrences and self.documents == other.documents

    def map_classes(self, index: NDArray[np.intp], n_classes: int) -> Self:
        """See `Statistic.map_classes`."""
        return self._each(lambda tallies: tallies.map_classes(index, n_classes))

    def take_classes(self, index: NDArray[np.intp]) -> Self:
        """See `Statistic.take_classes`."""
        return self._each(lambda tallies: tallies.take_classes(index))

    def sum_consecutive_classes(self, n: int) -> Self:
        """Add up every n consecutive classes to one."""
        return self._each(lambda tallies: tallies.sum_consecutive_classes(n))

    def take_features(self, order: NDArray[np.intp]) -> Self:
        """See `Statistic.take_features`; words that are not in `order` are left out."""
        return self._each(lambda tallies: tallies.take_features(order))

    def map_features(self, places: NDArray[np.intp], n_features: int) -> Self:
        """Return the sums with word v at places[v] among n_features; words with place −1 are dropped."""
        return self._each(lambda tallies: tallies.map_features(places, n_features))

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """See `Statistic.arrays`; where only presence is counted, each array is listed once."""
        own = dict(self.occurrences.arrays())
        if not self.presence:
            theirs = self.documents.arrays()
            own |= {f"documents/{name}": theirs[name] for name in ("start", "klass", "total")}
        return own

    def _each(self, change: Callable[[Tallies], Tallies]) -> Self:
        occurrences = change(self.occurrences)
        if self.presence:
            return type(self)(occurrences, occurrences)
        return type(self)(occurrences, _share_arrays(change(self.documents), occurrences))


def _share_arrays(documents: Tallies, occurrences: Tallies) -> Tallies:
    """Return the documents with those arrays shared that equal the occurrences': nearly always all but the totals."""
    start, klass = documents.start, documents.klass
    if np.array_equal(klass, occurrences.klass) and np.array_equal(start, occurrences.start):
        start, klass = occurrences.start, occurrences.klass
    return Tallies(start, klass, documents.total, occurrences.weight)


def _refuse_excess_documents(before: Tallies, left: Tallies) -> None:
    """Refuse where more documents would contain a word than there are: some that lacked it were never learned."""
    capacity = left.weight[left.klass, 0]
    excess = np.flatnonzero(left.total > capacity + ROUNDING * before.weight[left.klass, 0])
    if excess.size:
        i = int(excess[0])
        k, v = int(left.klass[i]), int(left.feature[i])
        without = float(before.weight[k, 0] - before.total[(before.klass == k) & (before.feature == v)].sum())
        removed = without + float(left.total[i] - capacity[i])
        raise NotLearnedError("number of documents that lack it", k, v, without, removed)
