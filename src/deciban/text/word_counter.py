"""WordCounter: counts of words by class, over batches of documents."""

from __future__ import annotations

from collections.abc import Hashable
from functools import reduce
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.kernels.execution import load_kernels
from deciban.ledger import Bags, Tallies, Vocabulary
from deciban.text.documents import Documents
from deciban.text.words import Words, count_hashed_words, count_words

if TYPE_CHECKING:
    from deciban.text.shard import Shard

Counted = tuple[Vocabulary | None, Bags]


class WordCounter:
    """The counts of each word by class, and the number of documents with it; the vocabulary grows.

    Whole numbers are counted by several threads, as their sums do not depend on the order; fractions by one.

    >>> counter = WordCounter(Words())
    >>> counter.count(Documents(["the cat", "the hat"]), np.array([0, 1], np.int32))
    >>> words, bags = counter.bags(2)
    >>> sorted(words), bags.documents.to_dense().total[:, words.places(["the", "cat"])].tolist()
    (['cat', 'hat', 'the'], [[1.0, 1.0], [1.0, 0.0]])
    """

    def __init__(self, words: Words) -> None:
        self.words = words
        self._plain = PlainCounter(words)
        self._shards: list[Shard] = []
        self._lock = Lock()

    def count(self, documents: Documents, codes: Codes, weight: Array | None = None, threads: int = 1) -> None:
        """Count documents with the codes of their classes; those missing or without weight are skipped."""
        present = _find_counted(documents, weight)
        if present is not None:
            documents, codes = documents[present], codes[present]
            weight = None if weight is None else weight[present]
        if not len(documents):
            return
        if load_kernels("tokenizer", documents.nbytes) is None:
            self._plain.count(documents, codes, weight)
            return
        from deciban.text.shard import Shard, count_in_shards

        alone = weight is not None or not self.words.whole
        while len(self._shards) < (1 if alone else threads):
            self._shards.append(Shard(self.words, self._lock))
        count_in_shards(self._shards[: 1 if alone else threads], documents, codes, weight)

    @property
    def size(self) -> int:
        """The approximate number of numbers kept."""
        return 2 * (len(self._plain.cells) + sum(shard.n_entries for shard in self._shards))

    def merge_classes(self, place: NDArray[np.int32]) -> None:
        """Replace class k by class place[k]."""
        self._plain.merge_classes(place)
        for shard in self._shards:
            shard.merge_classes(place)

    def bags(self, n_classes: int) -> Counted:
        """Return all counts, and the words (None where hashes stand for them), and empty the counter."""
        plain, self._plain = self._plain, PlainCounter(self.words)
        shards, self._shards = self._shards, []
        counted = [plain.bags(n_classes)] if plain.weight or not shards else []
        if shards:
            from deciban.text.shard import merge_shards

            counted.append(merge_shards(shards, self.words, n_classes))
        return reduce(_merge_counts, counted)


def _find_counted(documents: Documents, weight: Array | None) -> NDArray[np.intp] | None:
    """Return the indices of the documents that count; None: all do."""
    missing = documents.missing
    if missing is None and (weight is None or weight.all()):
        return None
    present = np.ones(len(documents), dtype=np.bool_) if missing is None else ~missing
    return np.flatnonzero(present if weight is None else present & (weight > 0))


def _merge_counts(a: Counted, b: Counted) -> Counted:
    if a[0] is None or b[0] is None:
        return None, a[1] + b[1]
    words, mine, theirs = a[0].unite(b[0])
    return words, a[1].map_features(mine, len(words)) + b[1].map_features(theirs, len(words))


class PlainCounter:
    """The definition of counting: cells of word and class, filled one by one."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self.cells: dict[tuple[Hashable, int], list[float]] = {}
        self.weight: dict[int, float] = {}

    def count(self, documents: Documents, codes: Codes, weight: Array | None) -> None:
        """See `WordCounter.count`."""
        read = count_words if self.words.hashed is None else count_hashed_words
        for i, k in enumerate(codes.tolist()):
            w = 1.0 if weight is None else float(weight[i])
            self.weight[k] = self.weight.get(k, 0.0) + w
            for word, value in read(self.words, documents.text(i) or "").items():
                cell = self.cells.setdefault((word, k), [0.0, 0.0])
                cell[0] += w * value
                cell[1] += w

    def merge_classes(self, place: NDArray[np.int32]) -> None:
        """See `WordCounter.merge_classes`."""
        old, self.cells = self.cells, {}
        for (word, k), (total, documents) in old.items():
            cell = self.cells.setdefault((word, int(place[k])), [0.0, 0.0])
            cell[0] += total
            cell[1] += documents
        weight, self.weight = self.weight, {}
        for k, w in weight.items():
            self.weight[int(place[k])] = self.weight.get(int(place[k]), 0.0) + w

    def bags(self, n_classes: int) -> Counted:
        """See `WordCounter.bags`."""
        if self.words.hashed is not None:
            columns = np.array([word for word, _ in self.cells], dtype=np.int64)
            return None, self._bags(columns, self.words.n_columns, n_classes)
        tokens = [str(word) for word, _ in self.cells]
        vocabulary = Vocabulary.of(tokens)
        return vocabulary, self._bags(vocabulary.places(tokens), len(vocabulary), n_classes)

    def _bags(self, place: NDArray[np.int64] | NDArray[np.intp], width: int, n_classes: int) -> Bags:
        klass = np.array([k for _, k in self.cells], dtype=np.int32)
        sums = np.array(list(self.cells.values()), dtype=np.float64).reshape(-1, 2)
        weight = np.zeros((n_classes, 1))
        for k, w in self.weight.items():
            weight[k] = w
        order = np.lexsort((klass, place))
        start = np.concatenate([[0], np.cumsum(np.bincount(place, minlength=width))]).astype(np.int64)
        return build_bags(start, klass[order], sums[order, 0], sums[order, 1], weight, self.words)


def build_bags(
    start: NDArray[np.int64], klass: NDArray[np.int32], total: Array, documents: Array, weight: Array, words: Words
) -> Bags:
    """Build bags of entries by word and class; where words count once per document, one tally serves for both."""
    if words.values == "presence" and words.length is None:
        tally = Tallies(start, klass, np.ascontiguousarray(documents), weight)
        return Bags(tally, tally)
    return Bags(
        Tallies(start, klass, np.ascontiguousarray(total), weight),
        Tallies(start, klass, np.ascontiguousarray(documents), weight),
    )
