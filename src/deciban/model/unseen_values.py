"""Monitoring of columns in which no value was seen in training: a sign that they mean something else."""

from __future__ import annotations

import warnings
from collections.abc import Sequence, Sized
from typing import Any, Self

import numpy as np

from deciban.errors import DecibanWarning, InputError
from deciban.model.columns import JOIN_SEPARATOR, Layout
from deciban.text import count_known_words

MIN_UNSEEN_VALUES = 5
"""Smallest number of unseen values in a column, without a single known one, that causes a warning."""


class UnseenValueMonitor:
    """Counts known and unknown levels of each column, and known words, block by block; warns at the end."""

    def __init__(self, layout: Layout, names: Sequence[Sized], forms: Sequence[Any] = ()) -> None:
        self.features = layout.levels
        self.sizes = np.array([len(name) for name in names], dtype=np.int64)
        self.block = layout.block_index("levels")
        self.known = np.zeros(len(self.features), dtype=np.int64)
        self.unknown = np.zeros(len(self.features), dtype=np.int64)
        self.texts = UnseenWordMonitor(layout, forms)

    def count(self, batches: Sequence[Any], parts: Sequence[Any]) -> None:
        """Count the values of one block of rows."""
        if self.block is not None:
            X = parts[self.block]
            self.unknown += (self.sizes <= X).sum(axis=0)
            self.known += ((X >= 0) & (self.sizes > X)).sum(axis=0)
        self.texts.count(batches, parts)

    def refuse_unseen(self, batches: Sequence[Any], parts: Sequence[Any]) -> None:
        """Refuse a level that was never learned, naming the cell of the table; all parts of a date are known."""
        if self.block is None:
            return
        for feature, size, codes in zip(self.features, self.sizes, parts[self.block].T):
            unseen = np.flatnonzero(codes >= size)
            if unseen.size and feature.part is None:
                columns = [[x for b in batches for x in b.column(name).to_pylist()] for name in feature.columns]
                cell = JOIN_SEPARATOR.join(repr(cells[unseen[0]]) for cells in columns)
                raise InputError(
                    f"column {feature.column!r} holds {cell}, which was never learned. "
                    f"Hint: train with --unseen ignore (unseen='ignore') or smooth"
                )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is not None:
            return
        for feature, known, unknown in zip(self.features, self.known, self.unknown):
            if not known and unknown >= MIN_UNSEEN_VALUES:
                _warn(
                    f"not one of the {unknown} values in column {feature.column!r} was seen in training, so it "
                    f"contributes nothing. Hint: is it written in another way here?"
                )
        self.texts.warn()


class UnseenWordMonitor:
    """Counts texts without a known word: of each column, and rows where no column has one."""

    def __init__(self, layout: Layout, forms: Sequence[Any]) -> None:
        self.columns, self.forms = [feature.column for feature in layout.texts], forms
        self.has_only_texts = len(self.columns) == len(layout.blocks)
        self.n_texts = np.zeros(len(self.columns), dtype=np.int64)
        self.n_known = np.zeros(len(self.columns), dtype=np.int64)
        self.rows_without_words = 0

    def count(self, batches: Sequence[Any], parts: Sequence[Any]) -> None:
        """Count the known words of one block of rows."""
        if not self.columns:
            return
        first = len(parts) - len(self.columns)
        words = np.array([count_known_words(X, form.mute) for X, form in zip(parts[first:], self.forms[first:])])
        self.n_known += words.sum(axis=1)
        self.rows_without_words += int((words.sum(axis=0) == 0).sum())
        for i, name in enumerate(self.columns):
            arrays = [batch.column(name) for batch in batches if batch.schema.get_field_index(name) >= 0]
            self.n_texts[i] += sum(len(array) - array.null_count for array in arrays)

    def warn(self) -> None:
        """Warn of a column without any known word, and of rows without known words where all columns are texts."""
        unseen = [i for i, n in enumerate(self.n_texts) if not self.n_known[i] and n >= MIN_UNSEEN_VALUES]
        for i in unseen:
            _warn(
                f"not one word of the {self.n_texts[i]} texts in column {self.columns[i]!r} was seen in training, so "
                f"it contributes nothing. Hint: are they in another language, or another column?"
            )
        if self.has_only_texts and self.rows_without_words and len(unseen) < len(self.columns):
            rows = "1 row has" if self.rows_without_words == 1 else f"{self.rows_without_words} rows have"
            _warn(f"{rows} no known word; there the class prior decides")


def _warn(message: str) -> None:
    warnings.warn(message, DecibanWarning, stacklevel=4)
