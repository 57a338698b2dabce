"""A uniform sample of rows that are read in batches: the rows whose hashed numbers are the least."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.ledger.hashing import hash_row_numbers
from deciban.model.summarise_table import Rows
from deciban.text import Documents

MAX_SAMPLE_ROWS = 100_000
"""The number of rows of a sample: the standard error of their accuracy is at most a sixth of a percent."""

MAX_SAMPLE_CELLS = 1 << 24
"""The number of cells of a sample, and of the scores of its rows."""

MAX_SAMPLE_BYTES = 1 << 24
"""The bytes of text of a sample, about; of long texts these are fewer rows."""

LEARNED_ROWS_FACTOR = 4
"""The factor by which a sample is larger if the rows are learned in memory, and not only scored."""


class Reservoir:
    """A sample of at most `capacity` rows, each with the same probability, which depends on their numbers alone.

    It has fewer rows if their texts are longer than `MAX_SAMPLE_BYTES`. If the expected number of rows is known, most
    of them need never be kept. All limits are multiplied by `factor`.
    """

    def __init__(self, n_features: int, expected: int | None = None, factor: int = 1) -> None:
        self.factor, self.capacity = factor, factor * min(MAX_SAMPLE_ROWS, MAX_SAMPLE_CELLS // max(1, n_features))
        self.kept: list[Rows] = []
        self.n_kept = self.n_bytes = 0
        self.hash_limit = np.uint64(2**64 - 1)
        if expected is not None and expected > 2 * self.capacity:
            self.hash_limit = np.uint64(int(1.5 * self.capacity / expected * 2**64))

    def add(self, rows: Rows) -> None:
        """Add those of these rows that belong to the sample so far."""
        index = np.flatnonzero(hash_row_numbers(rows.number) <= self.hash_limit)
        if len(index):
            selected = rows if len(index) == len(rows.codes) else rows[index]
            self.kept.append(selected)
            self.n_kept += len(index)
            self.n_bytes += sum(int(sizes.sum()) for sizes in _text_sizes(selected))
        if self.n_kept > 2 * self.capacity or self.n_bytes > 2 * self.factor * MAX_SAMPLE_BYTES:
            self._trim()

    def _trim(self) -> None:
        together = concatenate_rows(self.kept)
        order, texts = hash_row_numbers(together.number), _text_sizes(together)
        capacity = min(self.capacity, len(order))
        if texts and capacity:
            sizes = np.cumsum(np.sum(texts, axis=0)[np.argsort(order)])
            capacity = min(
                capacity, max(1, int(np.searchsorted(sizes, self.factor * MAX_SAMPLE_BYTES, side="right")))
            )
        if len(order) > capacity:
            self.hash_limit = np.partition(order, capacity - 1)[capacity - 1]
            together = together[order <= self.hash_limit]
        self.kept, self.n_kept = [together], len(together.codes)
        self.n_bytes = sum(int(sizes.sum()) for sizes in _text_sizes(together))

    def rows(self, n_classes: int = 1) -> Rows | None:
        """Return the sample, in the order of the table; fewer rows for very many classes, since scores are kept."""
        if not self.kept:
            return None
        self.capacity = min(self.capacity, max(1, self.factor * MAX_SAMPLE_CELLS // n_classes))
        self._trim()
        return self.kept[0]


def _text_sizes(rows: Rows) -> list[NDArray[np.int64]]:
    """Return the number of bytes of each text of each row."""
    texts = [column for block in rows.columns for column in block if isinstance(column, Documents)]
    return [np.diff(text.utf8[1]) for text in texts]


def concatenate_rows(kept: Sequence[Rows]) -> Rows:
    """Concatenate batches of rows."""
    if len(kept) == 1:
        return kept[0]
    weight = (
        None if kept[0].weight is None else np.concatenate([rows.weight for rows in kept if rows.weight is not None])
    )
    columns = [[_concatenate_columns(c) for c in zip(*blocks)] for blocks in zip(*(rows.columns for rows in kept))]
    codes, number = (np.concatenate([getattr(rows, name) for rows in kept]) for name in ("codes", "number"))
    fold = None if kept[0].fold is None else np.concatenate([rows.fold for rows in kept if rows.fold is not None])
    return Rows(columns, codes, weight, number, fold)


def _concatenate_columns(columns: Sequence[Any]) -> Any:
    """Concatenate a column of all batches."""
    return Documents.concatenate(columns) if isinstance(columns[0], Documents) else np.concatenate(columns)
