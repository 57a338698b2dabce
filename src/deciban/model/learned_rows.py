"""A sketch of the rows that a model has learned, by which an evaluation on the very same rows is noticed.

Each row has a hash of what the model reads of it and of its class, the same in every file format. The sketch adds
+1 or −1 for each row, by one bit of its hash, to one of `N_BUCKETS` sums, by other bits (Charikar, Chen and
Farach-Colton 2002): the inner product of the sums of two sets of rows estimates how many rows they have in common.
Sketches add and subtract as ledgers do, do not depend on the order of rows, and have a fixed size. They contain no
row: each sum is that of many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Self
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from deciban.ledger.hashing import SURROGATES, hash_row_numbers, hash_word
from deciban.model.columns import Layout
from deciban.text import Documents

N_BUCKETS = 256
"""Number of sums; the standard error of the share of common rows: √(learned / (evaluated · `N_BUCKETS`))."""

MAX_HASHED_ROWS = 1 << 18
"""The first rows of each source that are hashed: beyond a million rows the hashes would slow the reading down."""

MAX_SOURCES = 64
"""Number of sources, the last ones, whose sums of hashes are kept."""

MIN_SOURCE_ROWS = 10
"""Fewer rows than this are not recognised as a source: the sum of their hashes would be as good as the rows."""

MAX_HASHED_BYTES = 1 << 12
"""The first bytes of a text that are hashed, with its length."""

MIN_SHARE, MIN_STANDARD_ERRORS = 0.1, 4.0
"""The share of common rows that is reported is at least this large, and at least so many standard errors."""

MAX_CHANCE_SHARE = 0.05
"""Rows are not compared where more than this share of them would be among the learned rows by chance."""

MISSING_HASH, UNKNOWN_HASH = 0, 1
"""The hashes of a missing cell, and of a level that was never learned."""

Hashes = NDArray[np.uint64]
SourceSum = tuple[int, int]
"""The number of hashed rows of a source, and the sum of their hashes modulo 2⁶⁴."""


@dataclass(frozen=True)
class LearnedRows:
    """The sketch of rows: the number of hashed rows, the sum of their hashes, the sums of ±1, and their sources."""

    n_rows: int = 0
    total: int = 0
    buckets: tuple[int, ...] = (0,) * N_BUCKETS
    sources: tuple[SourceSum, ...] = ()

    @classmethod
    def of(cls, hashes: Hashes) -> Self:
        """Sketch rows, all from one source."""
        which = (hashes >> np.uint64(32)).astype(np.int64) % N_BUCKETS
        sign = 1.0 - 2.0 * (hashes >> np.uint64(63)).astype(np.float64)
        buckets = np.bincount(which, weights=sign, minlength=N_BUCKETS).astype(np.int64)
        n, total = len(hashes), int(hashes.sum(dtype=np.uint64))
        return cls(n, total, tuple(buckets.tolist()), ((n, total),) if n >= MIN_SOURCE_ROWS else ())

    def combine(self, operation: Callable[[int, int], int], other: LearnedRows) -> LearnedRows:
        """Return the sketch after adding or subtracting the rows of another.

        A source is forgotten as it was learned; where other rows are subtracted, none is known to be complete.
        """
        n, total = max(0, operation(self.n_rows, other.n_rows)), operation(self.total, other.total) % (1 << 64)
        buckets = tuple(map(operation, self.buckets, other.buckets))
        if operation(0, 1) > 0:
            sources = (*self.sources, *other.sources)[-MAX_SOURCES:]
        else:
            is_known = set(other.sources) <= set(self.sources) and sum(n for n, _ in other.sources) == other.n_rows
            sources = tuple(source for source in self.sources if is_known and source not in other.sources)
        return LearnedRows(n, total, buckets, sources)

    def estimate_share(self, rows: LearnedRows, chance: float) -> float | None:
        """Return the share of other rows that were learned: 1 if they are all rows, or those of one source.

        Otherwise it is an estimate below 1. None if there are no other rows, if too many of them would be equal to
        learned ones by `chance`, the probability that two rows are, or if the share is not significant.
        """
        if not rows.n_rows:
            return None
        if (rows.n_rows, rows.total) in {*self.sources, (self.n_rows, self.total)}:
            return 1.0
        if chance * self.n_rows > MAX_CHANCE_SHARE:
            return None
        share = sum(a * b for a, b in zip(self.buckets, rows.buckets)) / rows.n_rows - chance * self.n_rows
        error = (self.n_rows / rows.n_rows / N_BUCKETS) ** 0.5
        return min(share, 0.99) if share > max(MIN_SHARE, MIN_STANDARD_ERRORS * error) else None


@dataclass
class RowHasher:
    """Hashes the rows of a source as they are read: the first `max_rows` of them."""

    layout: Layout
    levels: Sequence[Any]
    """The encoders of the features that have levels; their `list` has the names."""
    parts: list[Hashes] = field(default_factory=list)
    n_rows: int = 0
    max_rows: int = field(default_factory=lambda: MAX_HASHED_ROWS)

    def add(self, columns: Sequence[Sequence[Any]], codes: NDArray[Any], classes: Sequence[str]) -> None:
        """Hash rows: the columns of each block, texts as documents, and the codes of their classes by name."""
        n = min(len(codes), self.max_rows - self.n_rows)
        if n <= 0:
            return
        hashes = hash_levels(codes[:n], classes) * _hash_feature_name("\0class")
        done: set[str] = set()
        for (kind, features), block in zip(self.layout.blocks, columns, strict=True):
            for j, (feature, column) in enumerate(zip(features, block)):
                if feature.name in done or feature.part is not None:
                    continue  # a number whose role is open is in several blocks; all rows decide on parts of dates
                done.add(feature.name)
                if kind == "levels":
                    cells = hash_levels(column[:n], self.levels[j].list)
                else:
                    cells = hash_texts(column[:n]) if kind == "bags" else hash_numbers(column[:n])
                hashes += cells * _hash_feature_name(feature.name)
        self.parts.append(hash_row_numbers(hashes.view(np.int64)))
        self.n_rows += n

    @property
    def hashes(self) -> Hashes:
        """The hashes of the rows so far."""
        return np.concatenate([np.zeros(0, dtype=np.uint64), *self.parts])

    @property
    def chance(self) -> float:
        """The probability that two of the rows are equal, from the number of equal pairs among them."""
        _, counts = np.unique(self.hashes, return_counts=True)
        n = self.n_rows
        return float((counts * (counts - 1.0)).sum() / (n * (n - 1.0))) if n > 1 else 0.0


def _hash_feature_name(name: str) -> np.uint64:
    """Return the factor of a feature's hashes, an odd number."""
    return np.uint64(hash_word(name.encode("utf-8", SURROGATES)) | 1)


def hash_numbers(x: NDArray[np.float64]) -> Hashes:
    """Return a hash of each number; −0.0 is 0.0, and NaN is missing."""
    bits = (x + 0.0).view(np.uint64)
    return np.where(np.isnan(x), np.uint64(MISSING_HASH), bits ^ (bits >> np.uint64(32)))


def hash_levels(codes: NDArray[Any], names: Sequence[str]) -> Hashes:
    """Return the hash of the name of each code; −1 is missing, a code without a name was never learned."""
    used, inverse = np.unique(codes, return_inverse=True)
    known = [
        hash_word(names[v].encode("utf-8", SURROGATES)) if v < len(names) else UNKNOWN_HASH
        for v in used.tolist()
        if v >= 0
    ]
    table = [MISSING_HASH] * (len(used) - len(known)) + known
    return np.array(table, dtype=np.uint64)[inverse.reshape(-1)]


def hash_texts(documents: Documents) -> Hashes:
    """Return a hash of each document: the checksum of its first bytes, and its length."""
    blob, offsets = documents.utf8
    content, ends = blob.data, offsets.tolist()
    checksums = [crc32(content[a : min(a + MAX_HASHED_BYTES, b)]) for a, b in pairwise(ends)]
    hashes = np.array(checksums, dtype=np.uint64) ^ (
        np.diff(offsets).astype(np.uint64) + np.uint64(1) << np.uint64(32)
    )
    if documents.missing is not None:
        hashes[documents.missing] = MISSING_HASH
    return hashes
