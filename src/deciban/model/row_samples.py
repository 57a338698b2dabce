"""Uniform samples of rows in Arrow form: drawn from the parts of a table wherever these lie, and added up.

A row is drawn by a hash of its part and its number there, so that a part that is read again gives the same sample.
The rows with the lowest hashes are a uniform sample of all rows, of all parts together too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deciban._lazy import pa
from deciban.ledger.hashing import hash_row_numbers, hash_rows_of_part
from deciban.sources.arrow_types import from_numpy

NO_LIMIT = (1 << 64) - 1
"""The limit of a sample that has all rows."""

Keys = NDArray[np.uint64]


@dataclass(frozen=True)
class SampleSize:
    """The greatest number of rows of a sample, and of bytes of its columns; of one part of a table, too."""

    rows: int
    bytes: int
    part_rows: int

    def of_part(self) -> SampleSize:
        """Return the size of the sample of one part."""
        return SampleSize(min(self.rows, self.part_rows), self.bytes, self.part_rows)


@dataclass(frozen=True)
class RowSample:
    """Rows with their keys; all rows with a key up to `limit` are there, of those that the sample is drawn from."""

    keys: Keys
    table: pa.Table | None = None
    limit: int = NO_LIMIT

    @classmethod
    def empty(cls) -> Self:
        """Return the sample of no rows."""
        return cls(np.zeros(0, dtype=np.uint64))

    @property
    def n_bytes(self) -> int:
        """The memory of the columns."""
        return 0 if self.table is None else int(self.table.nbytes)

    @property
    def is_complete(self) -> bool:
        """Whether all rows are in the sample."""
        return self.limit == NO_LIMIT

    def add(self, other: RowSample, size: SampleSize) -> RowSample:
        """Return the sample of the rows that both are drawn from, cut to `size`."""
        return concatenate_samples([self, other], min(self.limit, other.limit)).cut(size)

    def cut(self, size: SampleSize) -> RowSample:
        """Return the rows with the lowest keys, as many as `size` allows; the limit is lowered accordingly."""
        n, n_bytes = len(self.keys), self.n_bytes
        n_kept = min(n, size.rows, n if n_bytes <= size.bytes else n * size.bytes // n_bytes)
        limit = self.limit if n_kept == n else max(0, int(np.partition(self.keys, n_kept)[n_kept]) - 1)
        limit = min(self.limit, limit)
        kept = np.flatnonzero(self.keys <= np.uint64(limit))
        if len(kept) == n or self.table is None:
            return RowSample(self.keys, self.table, limit)
        return RowSample(self.keys[kept], self.table.take(from_numpy(kept)).combine_chunks(), limit)


def concatenate_samples(samples: Sequence[RowSample], limit: int) -> RowSample:
    """Return the rows of all samples as one sample with this limit."""
    keys = np.concatenate([np.zeros(0, dtype=np.uint64), *(sample.keys for sample in samples)])
    tables = [sample.table for sample in samples if sample.table is not None]
    return RowSample(keys, pa.concat_tables(tables, promote_options="permissive") if tables else None, limit)


def assign_folds_by_key(keys: Keys, n_folds: int) -> NDArray[np.int32]:
    """Return the fold of rows by another hash of their keys, since a sample has the lowest keys only."""
    return (hash_row_numbers(keys.view(np.int64)) % np.uint64(n_folds)).astype(np.int32)


@dataclass
class RowSampler:
    """Draws the sample of one part of a table while its rows are read in batches."""

    part: int
    size: SampleSize
    kept: list[RowSample] = field(default_factory=list)
    n_rows: int = 0
    limit: int = NO_LIMIT

    def add(self, batches: Sequence[Any], number: NDArray[np.int64], is_used: NDArray[np.bool_]) -> None:
        """Add those of the used rows of these batches that belong to the sample so far."""
        keys = hash_rows_of_part(self.part, number)
        index = np.flatnonzero(is_used & (keys <= np.uint64(self.limit)))
        if not len(index):
            return
        ends = np.cumsum([batch.num_rows for batch in batches])
        starts = np.searchsorted(index, ends - [batch.num_rows for batch in batches])
        taken = [
            _decode(batch.take(from_numpy(rows)))
            for batch, a, b, end in zip(batches, starts, [*starts[1:], len(index)], ends)
            if len(rows := index[a:b] - (end - batch.num_rows))
        ]
        table = pa.concat_tables([pa.Table.from_batches([batch]) for batch in taken], promote_options="permissive")
        self.kept.append(RowSample(keys[index], table))
        self.n_rows += len(index)
        if self.n_rows > 2 * self.size.rows or sum(s.n_bytes for s in self.kept) > 2 * self.size.bytes:
            self._trim()

    def _trim(self) -> None:
        """Replace the kept samples by one, cut to `size`; lower the limit to its highest key."""
        joined = concatenate_samples(self.kept, self.limit).cut(self.size)
        self.kept, self.n_rows, self.limit = [joined], len(joined.keys), joined.limit

    def sample(self) -> RowSample:
        """Return the sample of the rows so far."""
        self._trim()
        return self.kept[0]


def _decode(batch: Any) -> Any:
    """Return a batch with values in place of dictionaries: the parts of a table have different ones."""
    columns = [c.dictionary_decode() if pa.types.is_dictionary(c.type) else c for c in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
