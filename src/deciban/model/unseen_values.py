"""Watching for columns in which nothing is known: a sign that they mean something else than in training."""

from __future__ import annotations

import warnings
from collections.abc import Sequence, Sized
from typing import Any, Self

import numpy as np

from deciban.errors import DecibanWarning, InputError
from deciban.model.columns import JOIN_SEPARATOR, Layout
from deciban.text import known_words

FEWEST = 5
"""So many values must be strange, and not one familiar, before a word is said."""


class Watch:
    """Counts known and unknown levels of each column, and known words, while rows pass by; warns at the end."""

    def __init__(self, layout: Layout, names: Sequence[Sized], forms: Sequence[Any] = ()) -> None:
        self.features = layout.levels
        self.sizes = np.array([len(name) for name in names], dtype=np.int64)
        self.place = layout.block_index("levels")
        self.known = np.zeros(len(self.features), dtype=np.int64)
        self.unknown = np.zeros(len(self.features), dtype=np.int64)
        self.texts = WordWatch(layout, forms)

    def look(self, batches: Sequence[Any], parts: Sequence[Any]) -> None:
        """Count one block of rows."""
        if self.place is not None:
            X = parts[self.place]
            self.unknown += (self.sizes <= X).sum(axis=0)
            self.known += ((X >= 0) & (self.sizes > X)).sum(axis=0)
        self.texts.look(batches, parts)

    def refuse(self, batches: Sequence[Any], parts: Sequence[Any]) -> None:
        """Refuse a level that was never learned, by what the table has there; all parts of a date are known."""
        if self.place is None:
            return
        for feature, size, codes in zip(self.features, self.sizes, parts[self.place].T):
            strange = np.flatnonzero(codes >= size)
            if strange.size and feature.part is None:
                columns = [[x for b in batches for x in b.column(name).to_pylist()] for name in feature.columns]
                cell = JOIN_SEPARATOR.join(repr(cells[strange[0]]) for cells in columns)
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
            if not known and unknown >= FEWEST:
                _warn(
                    f"not one of the {unknown} values in column {feature.column!r} was seen in training, so it says "
                    f"nothing. "
                    f"Hint: is it written in another way here?"
                )
        self.texts.tell()


class WordWatch:
    """Counts texts without a known word: of each column, and rows where no column has one."""

    def __init__(self, layout: Layout, forms: Sequence[Any]) -> None:
        self.columns, self.forms = [feature.column for feature in layout.texts], forms
        self.alone = len(self.columns) == len(layout.blocks)
        self.written = np.zeros(len(self.columns), dtype=np.int64)
        self.known = np.zeros(len(self.columns), dtype=np.int64)
        self.silent = 0

    def look(self, batches: Sequence[Any], parts: Sequence[Any]) -> None:
        """Count one block of rows."""
        if not self.columns:
            return
        first = len(parts) - len(self.columns)
        words = np.array([known_words(X, form.mute) for X, form in zip(parts[first:], self.forms[first:])])
        self.known += words.sum(axis=1)
        self.silent += int((words.sum(axis=0) == 0).sum())
        for i, name in enumerate(self.columns):
            here = [batch.column(name) for batch in batches if batch.schema.get_field_index(name) >= 0]
            self.written[i] += sum(len(column) - column.null_count for column in here)

    def tell(self) -> None:
        """Warn where a column has no known word at all, or rows have none and nothing else either."""
        strange = [i for i in range(len(self.columns)) if not self.known[i] and self.written[i] >= FEWEST]
        for i in strange:
            _warn(
                f"not one word of the {self.written[i]} texts in column {self.columns[i]!r} was seen in training, so "
                f"it says nothing. Hint: are they in another language, or another column?"
            )
        if self.alone and self.silent and len(strange) < len(self.columns):
            rows = "1 row has" if self.silent == 1 else f"{self.silent} rows have"
            _warn(f"{rows} no known word; there the class prior speaks")


def _warn(message: str) -> None:
    warnings.warn(message, DecibanWarning, stacklevel=4)
