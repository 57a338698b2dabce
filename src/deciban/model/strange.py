"""Watching for columns in which nothing is known: a sign that they mean something else than in training."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from deciban.engines.arrow.cells import Names
from deciban.errors import DecibanWarning, InputError
from deciban.model.columns import Layout

FEWEST = 5
"""So many values must be strange, and not one familiar, before a word is said."""


class Watch:
    """Counts known and unknown levels of each column while rows pass by; warns at the end."""

    def __init__(self, layout: Layout, names: Sequence[Names]) -> None:
        self.features = layout.levels
        self.sizes = np.array([len(name) for name in names], dtype=np.int64)
        self.place = list(layout.blocks).index("levels") if self.features else None
        self.known = np.zeros(len(self.features), dtype=np.int64)
        self.unknown = np.zeros(len(self.features), dtype=np.int64)

    def look(self, parts: Sequence[Any]) -> None:
        """Count one block of rows."""
        if self.place is not None:
            X = parts[self.place]
            self.unknown += (self.sizes <= X).sum(axis=0)
            self.known += ((X >= 0) & (self.sizes > X)).sum(axis=0)

    def refuse(self, batches: Sequence[Any], parts: Sequence[Any]) -> None:
        """Refuse a level that was never learned, by what the table has there; all parts of a date are known."""
        if self.place is None:
            return
        for feature, size, codes in zip(self.features, self.sizes, parts[self.place].T):
            strange = np.flatnonzero(codes >= size)
            if strange.size and feature.part is None:
                cells = [cell for batch in batches for cell in batch.column(feature.column).to_pylist()]
                raise InputError(
                    f"column {feature.column!r} holds {cells[strange[0]]!r}, which was never learned. "
                    f"Hint: train with --unseen ignore (unseen='ignore') or smooth"
                )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is not None:
            return
        for feature, known, unknown in zip(self.features, self.known, self.unknown):
            if not known and unknown >= FEWEST:
                warnings.warn(
                    f"not one of the {unknown} values in column {feature.column!r} was seen in training, so it says "
                    f"nothing. "
                    f"Hint: is it written in another way here?",
                    DecibanWarning,
                    stacklevel=2,
                )
