"""A uniform sample of the rows that pass by: those whose numbers, shuffled by a fixed hash, come first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.ledger.hashing import hash_row_numbers
from deciban.model.summarise_table import Rows
from deciban.text import Documents

MOST_ROWS = 100_000
"""Rows that are judged: their accuracy is known to a sixth of a percent, at worst."""

MOST_CELLS = 1 << 24

MOST_BYTES = 1 << 24
"""Bytes of text that are kept for judging, about; of long texts these are fewer rows."""


LEARNED = 4
"""Rows that are learned from in memory may be so many times as many, and are judged too."""


class Reservoir:
    """At most `room` of the rows offered, each with the same chance; which ones depends on their numbers alone.

    Where their texts come to more than `MOST_BYTES`, fewer. Where it is known about how many rows will come, most of
    them need never be kept. `times` as much of everything may be kept.
    """

    def __init__(self, n_features: int, expected: int | None = None, times: int = 1) -> None:
        self.times, self.room = times, times * min(MOST_ROWS, MOST_CELLS // max(1, n_features))
        self.kept: list[Rows] = []
        self.n_kept = self.n_bytes = 0
        self.bar = np.uint64(2**64 - 1)
        if expected is not None and expected > 2 * self.room:
            self.bar = np.uint64(int(1.5 * self.room / expected * 2**64))

    def offer(self, rows: Rows) -> None:
        """Keep those of these rows that have a place."""
        chosen = np.flatnonzero(hash_row_numbers(rows.number) <= self.bar)
        if len(chosen):
            taken = rows if len(chosen) == len(rows.codes) else rows[chosen]
            self.kept.append(taken)
            self.n_kept += len(chosen)
            self.n_bytes += sum(int(sizes.sum()) for sizes in _text_sizes(taken))
        if self.n_kept > 2 * self.room or self.n_bytes > 2 * self.times * MOST_BYTES:
            self._trim()

    def _trim(self) -> None:
        together = concatenate_rows(self.kept)
        order, texts = hash_row_numbers(together.number), _text_sizes(together)
        room = min(self.room, len(order))
        if texts and room:
            sizes = np.cumsum(np.sum(texts, axis=0)[np.argsort(order)])
            room = min(room, max(1, int(np.searchsorted(sizes, self.times * MOST_BYTES, side="right"))))
        if len(order) > room:
            self.bar = np.partition(order, room - 1)[room - 1]
            together = together[order <= self.bar]
        self.kept, self.n_kept = [together], len(together.codes)
        self.n_bytes = sum(int(sizes.sum()) for sizes in _text_sizes(together))

    def rows(self, n_classes: int = 1) -> Rows | None:
        """The sample, in the order of the table; of very many classes fewer rows, since their scores are kept."""
        if not self.kept:
            return None
        self.room = min(self.room, max(1, self.times * MOST_CELLS // n_classes))
        self._trim()
        return self.kept[0]


def _text_sizes(rows: Rows) -> list[NDArray[np.int64]]:
    """How many bytes each row has of each text."""
    texts = [column for block in rows.columns for column in block if isinstance(column, Documents)]
    return [np.diff(text.utf8[1]) for text in texts]


def concatenate_rows(kept: Sequence[Rows]) -> Rows:
    """The rows of all of these, in their order."""
    if len(kept) == 1:
        return kept[0]
    weight = (
        None if kept[0].weight is None else np.concatenate([rows.weight for rows in kept if rows.weight is not None])
    )
    columns = [[_one(c) for c in zip(*blocks)] for blocks in zip(*(rows.columns for rows in kept))]
    codes, number = (np.concatenate([getattr(rows, name) for rows in kept]) for name in ("codes", "number"))
    fold = None if kept[0].fold is None else np.concatenate([rows.fold for rows in kept if rows.fold is not None])
    return Rows(columns, codes, weight, number, fold)


def _one(columns: Sequence[Any]) -> Any:
    """A column of all rows."""
    return Documents.joined(columns) if isinstance(columns[0], Documents) else np.concatenate(columns)
