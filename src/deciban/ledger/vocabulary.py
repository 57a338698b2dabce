"""The words that a block of text features counts, sorted by hash so that two vocabularies merge in linear time."""

from __future__ import annotations

import hashlib
import operator
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from deciban.ledger.hashing import SURROGATES, Bytes, Hashes, Offsets, hash_words
from deciban.ledger.statistic import compute_offsets

Places = NDArray[np.intp]

MAX_VECTORISED_BYTES = 4096
"""Byte ranges longer than this are copied or compared one by one."""

SCAN_BYTES = 1 << 20
"""Number of bytes whose positions are enumerated in one array."""


class Vocabulary(Sequence[str]):
    """Distinct words in the order of their hashes (where these are equal: of their bytes).

    Word i is the UTF-8 blob[offsets[i]:offsets[i+1]] and has the hash hashes[i].

    >>> v = Vocabulary.of(["spam", "ham", "eggs", "ham"])
    >>> len(v), sorted(v), "ham" in v, v.places(["ham", "tea"]).tolist() == [v.index("ham"), -1]
    (3, ['eggs', 'ham', 'spam'], True, True)
    """

    def __init__(self, blob: Bytes, offsets: Offsets, hashes: Hashes) -> None:
        self.blob, self.offsets, self.hashes = blob, offsets, hashes

    @classmethod
    def of(cls, words: Iterable[str]) -> Self:
        """Build the vocabulary of these words."""
        return cls.arrange(*pack_words(dict.fromkeys(words)))[0]

    @classmethod
    def arrange(cls, blob: Bytes, offsets: Offsets, hashes: Hashes | None = None) -> tuple[Self, Places]:
        """Sort distinct words; return the vocabulary and the given number of the word at each of its places."""
        hashes = hash_words(blob, offsets) if hashes is None else hashes
        order = np.argsort(hashes, kind="stable")
        in_order = hashes[order]
        for a, b in _find_equal_runs(in_order):
            order[a:b] = sorted(order[a:b].tolist(), key=lambda i: blob[offsets[i] : offsets[i + 1]].tobytes())
        return cls._gather(blob, offsets, in_order, order), order

    @classmethod
    def _gather(cls, blob: Bytes, offsets: Offsets, hashes: Hashes, index: Places) -> Self:
        """Return the vocabulary of the words at these places; `hashes` are already in the order of `index`."""
        start, length = offsets[index], offsets[index + 1] - offsets[index]
        ends = compute_offsets(length)
        out = np.empty(int(ends[-1]), dtype=np.uint8)
        copy_ranges(out, ends[:-1], blob, start, length)
        return cls(out, ends, hashes)

    def __len__(self) -> int:
        return len(self.hashes)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        i = operator.index(index)
        if not -len(self) <= i < len(self):
            raise IndexError(f"there are {len(self)} words, and {i} is not the index of one")
        return self.word(i % len(self)).decode("utf-8", SURROGATES)

    def word(self, i: int) -> bytes:
        """Return the UTF-8 of word i."""
        return self.blob[self.offsets[i] : self.offsets[i + 1]].tobytes()

    def __iter__(self) -> Iterator[str]:
        content, ends = self.blob.tobytes(), self.offsets.tolist()
        return (content[a:b].decode("utf-8", SURROGATES) for a, b in pairwise(ends))

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and bool(self.places([word])[0] >= 0)

    def index(self, word: Any, start: int = 0, stop: int | None = None) -> int:
        """Return the place of a word; raise ValueError if it is not in the vocabulary."""
        i = int(self.places([word])[0]) if isinstance(word, str) else -1
        if i < 0 or i not in range(*slice(start, stop).indices(len(self))):
            raise ValueError(f"{word!r} is not in the vocabulary")
        return i

    def count(self, word: Any) -> int:
        """Return 1 if the word is in the vocabulary, else 0."""
        return int(word in self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self is other or (
            np.array_equal(self.hashes, other.hashes)
            and np.array_equal(self.offsets, other.offsets)
            and np.array_equal(self.blob, other.blob)
        )

    def __hash__(self) -> int:
        return hash((len(self), int(self.offsets[-1]), int(self.hashes.sum())))

    def __repr__(self) -> str:
        return f"<Vocabulary of {len(self)}: {', '.join(map(repr, self[:3]))}{', …' if len(self) > 3 else ''}>"

    @property
    def nbytes(self) -> int:
        """Memory of the words in bytes."""
        return self.blob.nbytes + self.offsets.nbytes + self.hashes.nbytes

    @cached_property
    def digest(self) -> str:
        """A hexadecimal digest that identifies exactly these words."""
        digest = hashlib.sha256(np.ascontiguousarray(self.blob).data)
        digest.update(np.ascontiguousarray(self.offsets, dtype="<i8").data)
        return digest.hexdigest()[:16]

    def places(self, words: Sequence[str]) -> Places:
        """Return the place of each word; −1 where the vocabulary lacks it."""
        blob, offsets = pack_words(words)
        return self._find(blob, offsets, hash_words(blob, offsets))

    def find(self, other: Vocabulary) -> Places:
        """Return the place of each word of another vocabulary; −1 where this one lacks it."""
        if self is other:
            return np.arange(len(self))
        return self._find(other.blob, other.offsets, other.hashes)

    def _find(self, blob: Bytes, offsets: Offsets, hashes: Hashes) -> Places:
        """Return the place of each of these words, stored as in a vocabulary; −1 where this one lacks it."""
        found = np.full(len(hashes), -1, dtype=np.intp)
        if not len(self):
            return found
        place = np.searchsorted(self.hashes, hashes)
        near = np.minimum(place, len(self) - 1)
        alike = np.flatnonzero(self.hashes[near] == hashes)
        at, start = near[alike], offsets[alike]
        length = self.offsets[at + 1] - self.offsets[at]
        fits = length == offsets[alike + 1] - start
        same = ranges_are_equal(self.blob, self.offsets[at], blob, start, np.where(fits, length, 0)) & fits
        found[alike[same]] = at[same]
        for i in alike[~same].tolist():  # another word of the same hash comes first: very rare
            word = blob[offsets[i] : offsets[i + 1]].tobytes()
            j = self._count_before(word, hashes[i])
            if j < len(self) and self.hashes[j] == hashes[i] and self.word(j) == word:
                found[i] = j
        return found

    def _count_before(self, word: bytes, hash_: np.uint64) -> int:
        """Return how many words of the vocabulary sort before this one."""
        low, high = np.searchsorted(self.hashes, hash_), np.searchsorted(self.hashes, hash_, side="right")
        return int(low) + bisect_left(range(int(low), int(high)), word, key=self.word)

    def unite(self, other: Vocabulary) -> tuple[Vocabulary, Places, Places]:
        """Return the union, the places of this vocabulary's words in it, and those of the other's words."""
        theirs = self.find(other)
        new = np.flatnonzero(theirs < 0)
        if not new.size:
            return self, np.arange(len(self)), theirs
        before = np.searchsorted(self.hashes, other.hashes[new])
        for i in np.flatnonzero(before != np.searchsorted(self.hashes, other.hashes[new], side="right")).tolist():
            before[i] = self._count_before(other.word(int(new[i])), other.hashes[new[i]])
        mine = np.arange(len(self)) + np.cumsum(np.bincount(before, minlength=len(self) + 1))[: len(self)]
        theirs[theirs >= 0] = mine[theirs[theirs >= 0]]
        theirs[new] = before + np.arange(len(new))
        return self._merge(other, mine, theirs, new), mine, theirs

    def _merge(self, other: Vocabulary, mine: Places, theirs: Places, new: Places) -> Vocabulary:
        """Return the union; `mine` and `theirs` are the places of the words in it, `new` other's own words."""
        n = len(self) + len(new)
        hashes, length = np.empty(n, dtype=np.uint64), np.empty(n, dtype=np.int64)
        hashes[mine], hashes[theirs[new]] = self.hashes, other.hashes[new]
        own, added = np.diff(self.offsets), other.offsets[new + 1] - other.offsets[new]
        length[mine], length[theirs[new]] = own, added
        ends = compute_offsets(length)
        blob = np.empty(int(ends[-1]), dtype=np.uint8)
        run = np.flatnonzero(np.diff(mine, prepend=-2) > 1)  # words with no new one between them are copied together
        start = self.offsets[run]
        copy_ranges(blob, ends[mine[run]], self.blob, start, np.diff(start, append=self.offsets[-1]))
        copy_ranges(blob, ends[theirs[new]], other.blob, other.offsets[new], added)
        return Vocabulary(blob, ends, hashes)

    def take(self, kept: NDArray[Any]) -> Vocabulary:
        """Return the words at these ascending places."""
        index = np.asarray(kept, dtype=np.intp)
        return self._gather(self.blob, self.offsets, self.hashes[index], index)


def pack_words(words: Iterable[str]) -> tuple[Bytes, Offsets]:
    """Return the UTF-8 of all words, one after another, and the byte at which each begins, and the last ends."""
    encoded = [word.encode("utf-8", SURROGATES) for word in words]
    length = np.fromiter(map(len, encoded), np.int64, len(encoded))
    return np.frombuffer(bytearray().join(encoded), dtype=np.uint8), compute_offsets(length)


def _find_equal_runs(hashes: Hashes) -> list[tuple[int, int]]:
    """Return the ranges of equal hashes among ascending ones; nearly always there are none."""
    equal = np.flatnonzero(hashes[1:] == hashes[:-1])
    if not equal.size:
        return []
    first = np.unique(np.searchsorted(hashes, hashes[equal]))
    return list(zip(first.tolist(), np.searchsorted(hashes, hashes[first], side="right").tolist()))


def copy_ranges(out: Bytes, to: Offsets, source: Bytes, start: Offsets, length: Offsets) -> None:
    """Copy byte ranges: out[to[i] : to[i] + length[i]] = source[start[i] : start[i] + length[i]] for every i."""
    for i in np.flatnonzero(length > MAX_VECTORISED_BYTES).tolist():
        out[to[i] : to[i] + length[i]] = source[start[i] : start[i] + length[i]]
    for some, first, within in _split_short_ranges(length):
        n = length[some]
        out[np.repeat(to[some] - first, n) + within] = source[np.repeat(start[some] - first, n) + within]


def ranges_are_equal(a: Bytes, start_a: Offsets, b: Bytes, start_b: Offsets, length: Offsets) -> NDArray[np.bool_]:
    """Return whether a[start_a[i] : start_a[i] + length[i]] are the bytes at start_b[i] of b, for every i."""
    same = np.ones(len(length), dtype=np.bool_)
    for i in np.flatnonzero(length > MAX_VECTORISED_BYTES).tolist():
        x, y, n = start_a[i], start_b[i], length[i]
        same[i] = np.array_equal(a[x : x + n], b[y : y + n])
    for some, first, within in _split_short_ranges(length):
        n = length[some]
        differ = a[np.repeat(start_a[some] - first, n) + within] != b[np.repeat(start_b[some] - first, n) + within]
        if differ.any():
            same[np.repeat(some, n)[differ]] = False
    return same


def _split_short_ranges(length: Offsets) -> Iterator[tuple[Places, Offsets, Offsets]]:
    """Yield the short ranges in chunks: their numbers, where each begins within the chunk, and all positions."""
    short = np.flatnonzero((length > 0) & (length <= MAX_VECTORISED_BYTES))
    end = np.cumsum(length[short])
    total = int(end[-1]) if len(end) else 0
    cuts = [0, *np.searchsorted(end, np.arange(SCAN_BYTES, total, SCAN_BYTES)).tolist(), len(short)]
    for a, b in pairwise(cuts):
        if a < b:
            first = end[a:b] - length[short[a:b]]
            first -= first[0].copy()
            yield short[a:b], first, np.arange(length[short[a:b]].sum())
