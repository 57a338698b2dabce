"""Counts of words: by class, over batches of documents; and of each document, as a row of a sparse matrix."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain, pairwise
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.kernels.execution import load_kernels
from deciban.ledger import Bags, Tallies, Vocabulary
from deciban.ledger.hashing import hash_words
from deciban.ledger.vocabulary import pack_words
from deciban.scores.explanation import FoundWord
from deciban.text.documents import Documents
from deciban.text.words import Words, weigh_counts

if TYPE_CHECKING:
    from deciban.text.shard import Shard

Counted = tuple[Vocabulary | None, Bags]
"""Words (None where hashes stand for them), and their counts by class."""

Rows = tuple[Array, NDArray[Any], NDArray[np.int64]]
"""The arrays of a CSR matrix: values, columns, and where each row begins."""

MIN_SUMMED_ENTRIES = 1 << 16
"""The number of entries up to which those of the same word and class are not summed while documents are counted."""


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
        missing = documents.missing
        if missing is not None or (weight is not None and not weight.all()):
            present = np.ones(len(documents), dtype=np.bool_) if missing is None else ~missing
            index = np.flatnonzero(present if weight is None else present & (weight > 0))
            documents, codes = documents[index], codes[index]
            weight = None if weight is None else weight[index]
        if not len(documents):
            return
        if load_kernels("tokenizer", documents.nbytes) is None:
            self._plain.count(documents, codes, weight)
            return
        from deciban.text.shard import Shard, count_in_shards

        n_shards = threads if weight is None and self.words.has_integer_values else 1
        while len(self._shards) < n_shards:
            self._shards.append(Shard(self.words, self._lock))
        count_in_shards(self._shards[:n_shards], documents, codes, weight)

    @property
    def size(self) -> int:
        """The approximate number of numbers in memory."""
        return 2 * (self._plain.n_entries + sum(shard.n_entries for shard in self._shards))

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


def _merge_counts(a: Counted, b: Counted) -> Counted:
    """Add two counts; the words are the union of both."""
    if a[0] is None or b[0] is None:
        return None, a[1] + b[1]
    words, mine, theirs = a[0].unite(b[0])
    return words, a[1].map_features(mine, len(words)) + b[1].map_features(theirs, len(words))


class PlainCounter:
    """Counting of few documents by Python and NumPy: an entry for each word and class.

    `entries` are arrays of word numbers, classes, sums of the word's values and weights of the documents with it;
    `weight` is that of each class. Words are numbered in the order in which they are first seen.
    """

    def __init__(self, words: Words) -> None:
        self.words = words
        self.numbers = _make_word_numbers()
        self.entries: list[tuple[NDArray[np.int64], NDArray[np.int64], Array, Array]] = []
        self.weight: dict[int, float] = defaultdict(float)
        self._compacted = 0

    @property
    def n_entries(self) -> int:
        """The number of entries."""
        return sum(len(number) for number, _, _, _ in self.entries)

    def count(self, documents: Documents, codes: Codes, weight: Array | None) -> None:
        """Count documents with the codes of their classes; none is missing or has the weight 0."""
        value, column, start = _count_rows(self.words, documents, self.numbers, self._columns)
        w = np.ones(len(codes)) if weight is None else np.asarray(weight, dtype=np.float64)
        for k, total in enumerate(np.bincount(codes, weights=w).tolist()):
            if total:
                self.weight[k] += total
        row = np.repeat(np.arange(len(codes)), np.diff(start))
        self.entries.append((column, codes[row].astype(np.int64), w[row] * value, w[row]))
        if self.n_entries > 2 * self._compacted + MIN_SUMMED_ENTRIES:
            self._sum_equal_entries()

    def _columns(self) -> NDArray[np.int64]:
        """Return the column of each word by its number: the number itself, or that of its hash."""
        if self.words.hashed is None:
            return np.arange(len(self.numbers))
        return _find_columns(self.words, None, list(self.numbers))

    def _sum_equal_entries(self) -> None:
        """Replace entries of the same word and class by their sum, added in the order of documents."""
        number, class_code, total, documents = (np.concatenate(each) for each in zip(*self.entries))
        keys, place = np.unique(number * (int(class_code.max(initial=0)) + 1) + class_code, return_inverse=True)
        number, class_code = np.divmod(keys, int(class_code.max(initial=0)) + 1)
        sums = [np.bincount(place, weights=each).astype(np.float64) for each in (total, documents)]
        self.entries, self._compacted = [(number, class_code, sums[0], sums[1])], len(keys)

    def merge_classes(self, place: NDArray[np.int32]) -> None:
        """See `WordCounter.merge_classes`."""
        self.entries = [(number, place[k].astype(np.int64), *sums) for number, k, *sums in self.entries]  # type: ignore[misc]
        weight, self.weight = self.weight, defaultdict(float)
        for k, w in weight.items():
            self.weight[int(place[k])] += w

    def bags(self, n_classes: int) -> Counted:
        """Return all counts and the words, see `WordCounter.bags`; to be called once, as the last method."""
        weight = np.zeros((n_classes, 1))
        for k, w in self.weight.items():
            weight[k] = w
        self.entries.append((np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0)))
        vocabulary = None
        if self.words.hashed is None:
            vocabulary, order = Vocabulary.arrange(*pack_words(self.numbers))
            place = np.empty(len(order), dtype=np.int64)
            place[order] = np.arange(len(order))
            self.entries = [(place[number], *rest) for number, *rest in self.entries]  # type: ignore[misc]
        self._sum_equal_entries()
        number, class_code, total, documents = self.entries[0]
        counts = np.bincount(number, minlength=count_columns(self.words, vocabulary))
        start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return vocabulary, build_bags(start, class_code.astype(np.int32), total, documents, weight, self.words)


def _make_word_numbers() -> dict[str, int]:
    """Return an empty dictionary that numbers words when they are first looked up."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    return numbers


def _find_columns(words: Words, vocabulary: Vocabulary | None, tokens: Sequence[str]) -> NDArray[np.int64]:
    """Return the column of each token, −1 for an unknown one; without a vocabulary the lowest bits of its hash."""
    if vocabulary is not None:
        return vocabulary.places(tokens)
    return (hash_words(*pack_words(tokens)) & np.uint64(words.n_columns - 1)).astype(np.int64)


TOKENIZER_BATCH_TEXTS = 256
"""The number of texts that are tokenized at a time: more would trigger Python's cyclic garbage collector."""


def _tokenize_all(words: Words, texts: Iterable[str]) -> list[list[str]]:
    """Return `tokens_of` of each text; without n-grams and stop words no Python function is called for each text."""
    if words.by_character or words.stop or words.span != (1, 1):
        return [words.tokens_of(text) for text in texts]
    return list(map(words._pattern.findall, map(str.lower, texts) if words.lower else texts))


def _count_rows(
    words: Words, documents: Documents, numbers: dict[str, int], columns: Callable[[], NDArray[np.int64]]
) -> Rows:
    """Return values, columns and starts of rows of words, as `count_words` does for each document.

    `numbers` numbers the tokens, `columns()` is the column of each number; −1: the token is left out.
    """
    texts, parts = documents.strings(), [np.empty(0, np.int64)]
    lengths: list[int] = []
    for first in range(0, len(texts), TOKENIZER_BATCH_TEXTS):
        tokens = _tokenize_all(words, texts[first : first + TOKENIZER_BATCH_TEXTS])
        lengths += map(len, tokens)
        parts.append(np.fromiter(map(numbers.__getitem__, chain.from_iterable(tokens)), np.int64))
    number, row = np.concatenate(parts), np.repeat(np.arange(len(texts)), np.array(lengths, dtype=np.int64))
    column = columns()[number]
    if (column < 0).any():
        row, column = row[column >= 0], column[column >= 0]
    width = int(column.max(initial=0)) + 1
    keys, times = np.unique(row * width + column, return_counts=True)
    row, column = np.divmod(keys, width)
    start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(texts)))]).astype(np.int64)
    return weigh_counts(words, times, row), column, start


def build_bags(
    start: NDArray[np.int64], codes: Codes, total: Array, documents: Array, weight: Array, words: Words
) -> Bags:
    """Build bags of entries by word and class; where words count once per document, one tally serves for both.

    The entries of word v, from start[v] to start[v + 1], have a class, the sum of values and the weight of documents.
    """
    by_document = Tallies(start, codes, np.ascontiguousarray(documents), weight)
    if words.values == "presence" and words.length is None:
        return Bags(by_document, by_document)
    return Bags(Tallies(start, codes, np.ascontiguousarray(total), weight), by_document)


def count_columns(words: Words, vocabulary: Vocabulary | None) -> int:
    """Return the number of columns: one for each word, or, without a vocabulary, one for each value of the hash."""
    return words.n_columns if vocabulary is None else len(vocabulary)


def build_word_matrix(words: Words, vocabulary: Vocabulary | None, documents: Documents, threads: int = 1) -> Any:
    """Return the values of the known words of each document, as CSR; other words are left out.

    >>> known = Vocabulary.of(["cat", "the"])
    >>> X = build_word_matrix(Words(), known, Documents(["the cat and the hat"]))
    >>> X.toarray()[:, known.places(["cat", "the"])].tolist()
    [[1.0, 2.0]]
    """
    from scipy.sparse import csr_array

    if load_kernels("tokenizer", documents.nbytes) is not None:
        from deciban.text.lexicon import get_fixed_lexicon
        from deciban.text.shard import build_rows

        rows = build_rows(get_fixed_lexicon(words, vocabulary), words, documents, threads)
    else:
        numbers = _make_word_numbers()
        rows = _count_rows(words, documents, numbers, lambda: _find_columns(words, vocabulary, list(numbers)))
    X = csr_array(rows, shape=(len(documents), count_columns(words, vocabulary)))
    X.has_canonical_format = True
    return X


def keep_known_words(words: Words, X: Any, known: NDArray[np.bool_]) -> Any:
    """Return rows of words without those that are not known, divided again by the length of what is left.

    >>> X = build_word_matrix(Words(length="l1"), Vocabulary.of(["cat", "hat"]), Documents(["cat cat hat"]))
    >>> keep_known_words(Words(length="l1"), X, X.toarray()[0] > 0.5).toarray().max().item()
    1.0
    """
    from scipy.sparse import csr_array

    kept = known[X.indices]
    if kept.all():
        return X
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[kept]
    data, indptr = X.data[kept], np.concatenate([[0], np.cumsum(kept)])[X.indptr]
    if words.length is not None:
        power = 1 if words.length == "l1" else 2
        data = data / (np.bincount(row, weights=data**power, minlength=X.shape[0]) ** (1 / power))[row]
    return csr_array((data, X.indices[kept], indptr), shape=X.shape)


def count_known_words(X: Any, ignored: NDArray[np.bool_] | None) -> NDArray[np.int64]:
    """Count the distinct words of each row that carry evidence: all but the ignored ones."""
    if ignored is None:
        return np.diff(X.indptr).astype(np.int64)
    ends = np.concatenate([[0], np.cumsum(~ignored[X.indices])])
    return np.diff(ends[X.indptr])


def sample_texts(X: Any, vocabulary: Vocabulary, once: bool, rng: np.random.Generator) -> list[str]:
    """Return a text of the words of each row, in random order, separated by spaces; with `once` each word once."""
    texts = []
    for a, b in pairwise(X.indptr.tolist()):
        times = np.ones(b - a, dtype=np.intp) if once else X.data[a:b].astype(np.intp)
        indices = rng.permutation(np.repeat(X.indices[a:b], times))
        texts.append(" ".join(vocabulary[v] for v in indices.tolist()))
    return texts


@dataclass(frozen=True)
class Finder:
    """A function that finds the known words of a text, with their places and columns.

    >>> known = Vocabulary.of(["cat", "hat"])
    >>> [(one.word, one.start, one.end) for one in Finder(Words(), known)("The cat: a HAT.")]
    [('cat', 4, 7), ('hat', 11, 14)]
    """

    words: Words
    vocabulary: Vocabulary | None

    def __call__(self, text: str) -> list[FoundWord]:
        """Return every occurrence of a known word."""
        spans = self.words.spans_of(text)
        tokens = list({token for token, _, _ in spans})
        place = dict(zip(tokens, _find_columns(self.words, self.vocabulary, tokens).tolist()))
        return [FoundWord(token, a, b, place[token]) for token, a, b in spans if place[token] >= 0]
