"""Shards: each thread counts its documents in tables of its own, which are merged at the end."""

from collections.abc import Iterator, Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.kernels import word_counts as kernel
from deciban.kernels.execution import map_in_threads
from deciban.ledger import Bags, Vocabulary
from deciban.text.counting import Rows, build_bags
from deciban.text.documents import Documents, Offsets
from deciban.text.lexicon import Lexicon, Numbers, TokenBuffers, WordNumbers
from deciban.text.words import Words

TEXT_CHUNK_BYTES = 1 << 18
"""Bytes of text that are tokenised before they are counted: their numbers are still in the cache."""

MIN_THREAD_BYTES = 1 << 19
"""Bytes of text below which another thread does not pay."""

MIN_COMPACTED_ENTRIES = 1 << 20
"""The number of entries from which on those of one class and word are summed now and then."""

NUMBERS_PER_WORD = 4
"""Numbers kept for each word, one of them unused: so those of a word lie in one cache line.

(`kernels.word_counts` names the three.)"""

UNIT_WEIGHT = np.empty(0)
NO_CLASS = -1
VALUES = {"counts": kernel.COUNTS, "presence": kernel.PRESENCE, "log": kernel.LOG}
LENGTHS = {None: kernel.PLAIN, "l1": kernel.SUM, "l2": kernel.EUCLID}


class Shard:
    """A lexicon that grows, and the counts of its words: entries of word, class, sum and documents.

    Shards of one counter allocate memory one at a time (`lock`): the old arrays of one are freed before the next
    allocates.
    """

    def __init__(self, words: Words, lock: Lock) -> None:
        self.lock = lock
        self.words, self.lexicon, self.buffers = words, Lexicon(words), TokenBuffers()
        self.state = np.array([NO_CLASS, 0, 0, 0])
        self.word, self.class_code = np.empty(TEXT_CHUNK_BYTES, np.int32), np.empty(TEXT_CHUNK_BYTES, np.int32)
        self.entries = np.empty((TEXT_CHUNK_BYTES, 2))
        self.weight = np.zeros(0)
        self.compacted = 0
        self.sums, self.touched = np.zeros((0, NUMBERS_PER_WORD)), np.empty(0, np.int32)
        self._allocate()

    @property
    def capacity(self) -> int:
        """The number of words for which the tables need space."""
        return self.words.n_columns or self.lexicon.capacity

    def _allocate(self) -> None:
        """Allocate sums for `capacity` words."""
        sums, touched = self.sums, self.touched
        self.sums, self.touched = np.zeros((self.capacity, NUMBERS_PER_WORD)), np.empty(self.capacity, np.int32)
        self.sums[: len(sums)], self.touched[: len(touched)] = sums, touched
        self.times, self.distinct = np.zeros(self.capacity, np.int32), np.empty(self.capacity, np.int32)

    @property
    def n_entries(self) -> int:
        """The number of entries, including those of the class that is being summed."""
        return int(self.state[kernel.ENTRIES] + self.state[kernel.TOUCHED])

    @property
    def complete_entries(self) -> tuple[Codes, Codes, Array]:
        """Word, class and sums of each entry, without those of the class that is being summed."""
        n = int(self.state[kernel.ENTRIES])
        return self.word[:n], self.class_code[:n], self.entries[:n]

    def clear(self) -> None:
        """Delete all entries."""
        self.word, self.class_code, self.entries = np.empty(0, np.int32), np.empty(0, np.int32), np.empty((0, 2))
        self.state[kernel.ENTRIES] = 0

    def count(self, documents: Documents, order: Numbers, codes: Codes, weight: Array | None) -> None:
        """Count the documents of `order`, which are sorted by class."""
        n = int(codes[order].max(initial=-1)) + 1
        self.weight = np.concatenate([self.weight, np.zeros(max(0, n - len(self.weight)))])
        class_weight = np.bincount(codes[order], None if weight is None else weight[order], len(self.weight))
        self.weight += class_weight
        for chunk in _split_chunks(documents.utf8[1], order):
            w = UNIT_WEIGHT if weight is None else weight[chunk]
            self._add(self.lexicon.read(documents, chunk, self.buffers), codes[chunk], w)

    def _add(self, word_numbers: WordNumbers, codes: Codes, weight: Array) -> None:
        if len(self.sums) < self.capacity:
            self._allocate()
        done = 0
        while done < len(codes):
            done = kernel.count_documents(
                done, *word_numbers, codes, weight, VALUES[self.words.values], LENGTHS[self.words.length], self.times,
                self.distinct, self.sums, self.touched, self.state, self.word, self.class_code, self.entries,
            )  # fmt: skip
            if done < len(codes):
                with self.lock:
                    self._grow_entries()

    def _grow_entries(self) -> None:
        if self.state[kernel.ENTRIES] > max(MIN_COMPACTED_ENTRIES, 1.5 * self.compacted):
            self._compact()
        size = max(len(self.word), self.n_entries * 3 // 2)
        for name in ("word", "class_code", "entries"):
            old = getattr(self, name)
            new = np.empty((size, *old.shape[1:]), old.dtype)
            new[: self.state[kernel.ENTRIES]] = old[: self.state[kernel.ENTRIES]]
            setattr(self, name, new)

    def _compact(self) -> None:
        """Sum the entries of equal word and class, in place."""
        width = len(self.sums)
        start, class_code, sums = _sort_entries([self], [np.arange(width)], width)
        self.compacted = m = len(class_code)
        self.word[:m], self.class_code[:m] = np.repeat(np.arange(width, dtype=np.int32), np.diff(start)), class_code
        self.entries[:m] = sums
        self.state[kernel.ENTRIES] = m

    def flush(self) -> None:
        """Write the sums of the present class to the entries."""
        if self.n_entries > len(self.word):
            self._grow_entries()
        kernel.flush(self.state, self.sums, self.touched, self.word, self.class_code, self.entries)
        self.state[kernel.CLASS] = NO_CLASS

    def merge_classes(self, place: NDArray[np.int32]) -> None:
        """See `WordCounter.merge_classes`."""
        self.flush()
        n = int(self.state[kernel.ENTRIES])
        self.class_code[:n] = place[self.class_code[:n]]
        self.weight = np.bincount(place[: len(self.weight)], self.weight).astype(np.float64)


def count_in_shards(shards: Sequence[Shard], documents: Documents, codes: Codes, weight: Array | None) -> None:
    """Count documents, sorted by class, in shards of about equally many bytes."""
    order = np.argsort(codes.astype(np.int16) if codes.max() < 1 << 15 else codes, kind="stable")
    offsets = documents.utf8[1]
    so_far = np.cumsum(offsets[order + 1] - offsets[order])
    n = min(len(shards), max(1, int(so_far[-1]) // MIN_THREAD_BYTES))
    shares = np.split(order, np.searchsorted(so_far, np.arange(1, n) * (so_far[-1] / n)))
    list(map_in_threads(lambda job: job[0].count(documents, job[1], codes, weight), zip(shards, shares), n))


def _split_chunks(offsets: Offsets, order: Numbers) -> Iterator[Numbers]:
    """Yield documents in their order, about `TEXT_CHUNK_BYTES` bytes at a time."""
    so_far = np.cumsum(offsets[order + 1] - offsets[order] + 1)
    if len(order):
        cuts = np.searchsorted(so_far, np.arange(TEXT_CHUNK_BYTES, int(so_far[-1]), TEXT_CHUNK_BYTES))
        yield from (part for part in np.split(order, np.unique(cuts)) if len(part))


def merge_shards(shards: Sequence[Shard], words: Words, n_classes: int) -> tuple[Vocabulary | None, Bags]:
    """Return the words of all shards in order (None if hashed), and their counts; the shards are emptied."""
    for shard in shards:
        shard.flush()
    weight = np.zeros((n_classes, 1))
    for shard in shards:
        weight[: len(shard.weight), 0] += shard.weight
    if words.hashed is None:
        vocabulary, places = _merge_vocabularies(shards)
        width = len(vocabulary)
    else:
        vocabulary, width = None, words.n_columns
        places = [np.arange(width)] * len(shards)
    start, class_code, sums = _sort_entries(shards, places, width, clear=True)
    return vocabulary, build_bags(start, class_code, sums[:, 0], sums[:, 1], weight, words)


def _merge_vocabularies(shards: Sequence[Shard]) -> tuple[Vocabulary, list[Numbers]]:
    """Return the counted words, and the index of each shard's words among them."""
    used, lexicons = [_find_used_words(shard) for shard in shards], [shard.lexicon for shard in shards]
    ends = np.cumsum([0] + [x.n_text_bytes for x in lexicons])
    hashes = np.concatenate([x.hashes[u] for x, u in zip(lexicons, used)])
    begin = np.concatenate([x.begin[u] + end for x, u, end in zip(lexicons, used, ends)])
    size = np.concatenate([x.size[u] for x, u in zip(lexicons, used)])
    text = np.concatenate([x.text[: x.n_text_bytes] for x in lexicons])
    place, first = np.empty(len(hashes), np.int64), np.empty(len(hashes), np.int64)
    n = kernel.number_words(np.argsort(hashes), hashes, begin, size, text, place, first)
    first = first[:n]
    offsets = np.concatenate([[0], np.cumsum(size[first])])
    blob = np.empty(int(offsets[-1]), np.uint8)
    kernel.copy_words(first, begin, text, offsets, blob)
    places, at = [], 0
    for lexicon, mine in zip(lexicons, used):
        where = np.full(lexicon.capacity, -1, np.int64)
        where[mine] = place[at : at + len(mine)]
        places.append(where)
        at += len(mine)
    return Vocabulary(blob, offsets, hashes[first]), places


def _find_used_words(shard: Shard) -> Numbers:
    """Write the texts of a shard's n-grams; return the numbers of its words that have entries."""
    shard.lexicon.write_ngram_texts()
    seen = np.zeros(shard.lexicon.capacity, np.bool_)
    seen[shard.complete_entries[0]] = True
    return np.flatnonzero(seen)


def _sort_entries(
    shards: Sequence[Shard], places: Sequence[Numbers], width: int, clear: bool = False
) -> tuple[Numbers, Codes, Array]:
    """Sort entries by word and class, and sum equal ones: where each word begins, classes, sums and documents.

    `clear`: the entries of a shard are deleted as soon as they have been added, since all of them twice take much
    memory.
    """
    counts = np.zeros(width, np.int64)
    for shard, place in zip(shards, places):
        counts += np.bincount(place[shard.complete_entries[0]], minlength=width)
    begins, n = np.cumsum(counts) - counts, int(counts.sum())
    cursor = np.stack([begins, begins], axis=1)
    class_code, sums = np.empty(n, np.int32), np.empty((n, 2))
    for shard, place in zip(shards, places):
        kernel.sort_entries(place, *shard.complete_entries, cursor, class_code, sums)
        if clear:
            shard.clear()
    start = np.zeros(width + 1, np.int64)
    m = kernel.close_gaps(cursor, class_code, sums, start)
    return start, class_code[:m], sums[:m]


def build_rows(lexicon: Lexicon, words: Words, documents: Documents, threads: int) -> Rows:
    """Return documents as the arrays of a CSR matrix, whose columns are the lexicon's words."""
    chunks = list(_split_chunks(documents.utf8[1], np.arange(len(documents))))
    width = len(lexicon.column_of) or words.n_columns or lexicon.n_words

    def process(share: Sequence[Numbers]) -> list[Rows]:
        times, buffers = np.zeros(width, np.int32), TokenBuffers()
        return [_build_chunk(lexicon, words, times, lexicon.read(documents, chunk, buffers)) for chunk in share]

    n = max(1, min(threads, documents.nbytes // MIN_THREAD_BYTES))
    shares = [chunks[len(chunks) * t // n : len(chunks) * (t + 1) // n] for t in range(n)]
    return _stack_rows([rows for share in map_in_threads(process, shares, n) for rows in share])


def _build_chunk(lexicon: Lexicon, words: Words, times: Codes, word_numbers: WordNumbers) -> Rows:
    """Return the rows of a chunk of documents; `times` is a buffer of zeros, and is left so."""
    n = len(word_numbers.numbers)
    indptr, indices, data = np.zeros(len(word_numbers.bounds), np.int64), np.empty(n, np.int32), np.empty(n)
    distinct, kind = np.empty(min(len(times), n) + 1, np.int32), (VALUES[words.values], LENGTHS[words.length])
    kernel.fill_rows(*word_numbers, lexicon.column_of, *kind, times, distinct, indptr, indices, data)
    return data[: indptr[-1]], indices[: indptr[-1]], indptr


def _stack_rows(rows: Sequence[Rows]) -> Rows:
    """Concatenate the rows."""
    starts = np.cumsum([0, *(int(indptr[-1]) for _, _, indptr in rows)])
    indptr = np.concatenate([[0], *(part[2][1:] + at for part, at in zip(rows, starts))]).astype(np.int64)
    data = np.concatenate([np.zeros(0), *(part[0] for part in rows)])
    return data, np.concatenate([np.zeros(0, np.int32), *(part[1] for part in rows)]), indptr
