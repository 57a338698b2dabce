"""Shards: each thread counts its documents in tables of its own, and in the end all are put together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.kernels import word_counts as kernel
from deciban.kernels.execution import map_in_threads
from deciban.ledger import Bags, Vocabulary
from deciban.text.documents import Documents, Offsets
from deciban.text.lexicon import Desk, Lexicon, Numbers, Stream
from deciban.text.word_counter import bags_of
from deciban.text.words import Words

CHUNK = 1 << 18
"""Bytes that are read before they are counted: their numbers are still in the cache."""

SHARE = 1 << 19
"""Bytes below which another thread does not pay."""

MANY_ENTRIES = 1 << 20
"""From so many entries on those of the same class and word are added up now and then."""

LINE = 4
"""Numbers that are kept for each word, one of them unused: so a word's lie in one line of the cache.

(`kernels.bags` names the three.)"""

UNIT_WEIGHT = np.empty(0)
NOBODY = -1
VALUES = {"counts": kernel.COUNTS, "presence": kernel.PRESENCE, "log": kernel.LOG}
LENGTHS = {None: kernel.PLAIN, "l1": kernel.SUM, "l2": kernel.EUCLID}


class Shard:
    """A lexicon that grows, and what was counted of its words: entries of word, class, sum and documents.

    Shards of one counter take their turn in making room, which takes some: it is free again before the next needs it.
    """

    def __init__(self, words: Words, turn: Lock) -> None:
        self.turn = turn
        self.words, self.lexicon, self.desk = words, Lexicon(words), Desk()
        self.state = np.array([NOBODY, 0, 0, 0])
        self.word, self.klass = np.empty(CHUNK, np.int32), np.empty(CHUNK, np.int32)
        self.entries = np.empty((CHUNK, 2))
        self.weight = np.zeros(0)
        self.compacted = 0
        self.sums, self.touched = np.zeros((0, LINE)), np.empty(0, np.int32)
        self._make_room()

    @property
    def room(self) -> int:
        """How many words there must be room for."""
        return self.words.n_columns or self.lexicon.room

    def _make_room(self) -> None:
        """Sums for as many words as there must be room for."""
        sums, touched = self.sums, self.touched
        self.sums, self.touched = np.zeros((self.room, LINE)), np.empty(self.room, np.int32)
        self.sums[: len(sums)], self.touched[: len(touched)] = sums, touched
        self.times, self.distinct = np.zeros(self.room, np.int32), np.empty(self.room, np.int32)

    @property
    def n_entries(self) -> int:
        """How many entries there are, those of the class that is being summed too."""
        return int(self.state[kernel.ENTRIES] + self.state[kernel.TOUCHED])

    @property
    def told(self) -> tuple[Codes, Codes, Array]:
        """Word, class and sums of each entry."""
        n = int(self.state[kernel.ENTRIES])
        return self.word[:n], self.klass[:n], self.entries[:n]

    def forget(self) -> None:
        """Give up all entries."""
        self.word, self.klass, self.entries = np.empty(0, np.int32), np.empty(0, np.int32), np.empty((0, 2))
        self.state[kernel.ENTRIES] = 0

    def count(self, documents: Documents, order: Numbers, codes: Codes, weight: Array | None) -> None:
        """Take in the documents of `order`, whose classes follow each other."""
        n = int(codes[order].max(initial=-1)) + 1
        self.weight = np.concatenate([self.weight, np.zeros(max(0, n - len(self.weight)))])
        told = np.bincount(codes[order], None if weight is None else weight[order], len(self.weight))
        self.weight += told
        for chunk in _chunks(documents.utf8[1], order):
            w = UNIT_WEIGHT if weight is None else weight[chunk]
            self._add(self.lexicon.read(documents, chunk, self.desk), codes[chunk], w)

    def _add(self, stream: Stream, codes: Codes, weight: Array) -> None:
        if len(self.sums) < self.room:
            self._make_room()
        done = 0
        while done < len(codes):
            done = kernel.count_documents(
                done, *stream, codes, weight, VALUES[self.words.values], LENGTHS[self.words.length], self.times,
                self.distinct, self.sums, self.touched, self.state, self.word, self.klass, self.entries,
            )  # fmt: skip
            if done < len(codes):
                with self.turn:
                    self._more_entries()

    def _more_entries(self) -> None:
        if self.state[kernel.ENTRIES] > max(MANY_ENTRIES, 1.5 * self.compacted):
            self._compact()
        room = max(len(self.word), self.n_entries * 3 // 2)
        for name in ("word", "klass", "entries"):
            old = getattr(self, name)
            new = np.empty((room, *old.shape[1:]), old.dtype)
            new[: self.state[kernel.ENTRIES]] = old[: self.state[kernel.ENTRIES]]
            setattr(self, name, new)

    def _compact(self) -> None:
        width = len(self.sums)
        start, klass, sums = _sorted_entries([self], [np.arange(width)], width)
        self.compacted = m = len(klass)
        self.word[:m], self.klass[:m] = np.repeat(np.arange(width, dtype=np.int32), np.diff(start)), klass
        self.entries[:m] = sums
        self.state[kernel.ENTRIES] = m

    def settle(self) -> None:
        """Have everything among the entries."""
        if self.n_entries > len(self.word):
            self._more_entries()
        kernel.flush(self.state, self.sums, self.touched, self.word, self.klass, self.entries)
        self.state[kernel.CLASS] = NOBODY

    def merge_classes(self, place: NDArray[np.int32]) -> None:
        """See `WordCounter.merge_classes`."""
        self.settle()
        n = int(self.state[kernel.ENTRIES])
        self.klass[:n] = place[self.klass[:n]]
        self.weight = np.bincount(place[: len(self.weight)], self.weight).astype(np.float64)


def count_together(shards: Sequence[Shard], documents: Documents, codes: Codes, weight: Array | None) -> None:
    """Documents, by class, shared out among the shards by their bytes."""
    order = np.argsort(codes.astype(np.int16) if codes.max() < 1 << 15 else codes, kind="stable")
    offsets = documents.utf8[1]
    so_far = np.cumsum(offsets[order + 1] - offsets[order])
    n = min(len(shards), max(1, int(so_far[-1]) // SHARE))
    cuts = np.searchsorted(so_far, np.arange(1, n) * (so_far[-1] / n))
    shares = np.split(order, cuts)

    def one(job: tuple[Shard, Numbers]) -> None:
        job[0].count(documents, job[1], codes, weight)

    list(map_in_threads(one, list(zip(shards, shares)), n))


def _chunks(offsets: Offsets, order: Numbers) -> Iterator[Numbers]:
    """Documents in their order, about CHUNK bytes at a time."""
    so_far = np.cumsum(offsets[order + 1] - offsets[order] + 1)
    if len(order):
        cuts = np.searchsorted(so_far, np.arange(CHUNK, int(so_far[-1]), CHUNK))
        yield from (part for part in np.split(order, np.unique(cuts)) if len(part))


def finished(shards: Sequence[Shard], words: Words, n_classes: int) -> tuple[Vocabulary | None, Bags]:
    """What all shards have counted: the words in their order, and their sums."""
    for shard in shards:
        shard.settle()
    weight = np.zeros((n_classes, 1))
    for shard in shards:
        weight[: len(shard.weight), 0] += shard.weight
    if words.hashed is None:
        vocabulary, places = _vocabulary(shards)
        width = len(vocabulary)
    else:
        vocabulary, width = None, words.n_columns
        places = [np.arange(width)] * len(shards)
    start, klass, sums = _sorted_entries(shards, places, width, spend=True)
    return vocabulary, bags_of(start, klass, sums[:, 0], sums[:, 1], weight, words)


def _vocabulary(shards: Sequence[Shard]) -> tuple[Vocabulary, list[Numbers]]:
    """The words that were counted, and where those of each shard are among them."""
    used, ends = [_used(shard) for shard in shards], np.cumsum([0] + [s.lexicon.end for s in shards])
    lexicons = [shard.lexicon for shard in shards]
    hashes = np.concatenate([x.hashes[u] for x, u in zip(lexicons, used)])
    begin = np.concatenate([x.begin[u] + end for x, u, end in zip(lexicons, used, ends)])
    size = np.concatenate([x.size[u] for x, u in zip(lexicons, used)])
    text = np.concatenate([x.text[: x.end] for x in lexicons])
    place, first = np.empty(len(hashes), np.int64), np.empty(len(hashes), np.int64)
    n = kernel.place_words(np.argsort(hashes), hashes, begin, size, text, place, first)
    first = first[:n]
    offsets = np.concatenate([[0], np.cumsum(size[first])])
    blob = np.empty(int(offsets[-1]), np.uint8)
    kernel.copy_words(first, begin, text, offsets, blob)
    places, at = [], 0
    for lexicon, mine in zip(lexicons, used):
        where = np.full(lexicon.room, -1, np.int64)
        where[mine] = place[at : at + len(mine)]
        places.append(where)
        at += len(mine)
    return Vocabulary(blob, offsets, hashes[first]), places


def _used(shard: Shard) -> Numbers:
    """The words of a shard that have entries, their texts written out."""
    shard.lexicon.spelled()
    seen = np.zeros(shard.lexicon.room, np.bool_)
    seen[shard.told[0]] = True
    return np.flatnonzero(seen)


def _sorted_entries(
    shards: Sequence[Shard], places: Sequence[Numbers], width: int, spend: bool = False
) -> tuple[Numbers, Codes, Array]:
    """Entries by word and class, equal ones added up: where each word begins, classes, and sums beside documents.

    `spend`: a shard's own are given up as soon as they have been taken in, for all of them twice is a lot.
    """
    counts = np.zeros(width, np.int64)
    for shard, place in zip(shards, places):
        counts += np.bincount(place[shard.told[0]], minlength=width)
    begins, n = np.cumsum(counts) - counts, int(counts.sum())
    cursor = np.stack([begins, begins], axis=1)
    klass, sums = np.empty(n, np.int32), np.empty((n, 2))
    for shard, place in zip(shards, places):
        kernel.sort_entries(place, *shard.told, cursor, klass, sums)
        if spend:
            shard.forget()
    start = np.zeros(width + 1, np.int64)
    m = kernel.close_gaps(cursor, klass, sums, start)
    return start, klass[:m], sums[:m]


Rows = tuple[Array, Codes, Numbers]
"""Values, columns, and where each row begins: the arrays of a CSR matrix."""


def rows_of(lexicon: Lexicon, words: Words, documents: Documents, threads: int) -> Rows:
    """Documents as the arrays of a CSR matrix, whose columns are the lexicon's words."""
    chunks = list(_chunks(documents.utf8[1], np.arange(len(documents))))
    width = len(lexicon.place) or words.n_columns or lexicon.n_words

    def some(share: Sequence[Numbers]) -> list[Rows]:
        times, desk = np.zeros(width, np.int32), Desk()
        return [_rows(lexicon, words, times, lexicon.read(documents, chunk, desk)) for chunk in share]

    n = max(1, min(threads, documents.nbytes // SHARE))
    shares = [chunks[len(chunks) * t // n : len(chunks) * (t + 1) // n] for t in range(n)]
    return _stacked([rows for share in map_in_threads(some, shares, n) for rows in share])


def _rows(lexicon: Lexicon, words: Words, times: Codes, stream: Stream) -> Rows:
    n = len(stream.numbers)
    indptr, indices, data = np.zeros(len(stream.bounds), np.int64), np.empty(n, np.int32), np.empty(n)
    distinct, kind = np.empty(min(len(times), n) + 1, np.int32), (VALUES[words.values], LENGTHS[words.length])
    kernel.fill_rows(*stream, lexicon.place, *kind, times, distinct, indptr, indices, data)
    return data[: indptr[-1]], indices[: indptr[-1]], indptr


def _stacked(rows: Sequence[Rows]) -> Rows:
    """Rows below rows."""
    starts = np.cumsum([0, *(int(indptr[-1]) for _, _, indptr in rows)])
    indptr = np.concatenate([[0], *(part[2][1:] + at for part, at in zip(rows, starts))]).astype(np.int64)
    data = np.concatenate([np.zeros(0), *(part[0] for part in rows)])
    return data, np.concatenate([np.zeros(0, np.int32), *(part[1] for part in rows)]), indptr
