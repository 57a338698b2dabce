"""Rows given one by one as mappings, as a service receives them, read into the matrices of a model without Arrow.

Tables are read by columns, with a thread that reads ahead: some 2 ms for one row of nine columns, most of which is
not arithmetic. `RowReader` handles rows in which nothing is unusual (plain numbers within the learned ranges, known
levels, texts with a known word) in 6 µs; for any other row it returns None, and the caller reads it as a table, which
is the definition of what a cell means, of its errors and of its warnings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from deciban.errors import DecibanError
from deciban.ledger.schema import Kind
from deciban.model.columns import Feature
from deciban.model.matrices import stack_columns
from deciban.model.model_options import hide_markers
from deciban.scorer import vocabularies
from deciban.sources.cell_conversion import read_converted
from deciban.sources.cell_rows import CellRows
from deciban.text import Documents, build_word_matrix, count_known_words

if TYPE_CHECKING:
    from deciban.model.model import Model

Row = Mapping[str, Any]

MAX_EXACT_INTEGER = 1 << 53
"""Whole numbers up to this are doubles exactly."""

MAX_KEPT_CELLS = 4096
"""The number of cells of a feature, dates and whole numbers, whose codes are kept."""

MAX_LEVEL_NUMBER = 10**6
"""Numbers up to this are written in one way as the name of a level, whatever the other cells of their column are."""


class Unusual(Exception):
    """A cell that has to be read as part of a table."""


class RowReader:
    """The conversion of rows to the matrices of a model's blocks, for rows in which nothing is unusual."""

    def __init__(self, model: Model) -> None:
        self._model, layout = model, model._layout
        self._texts = list(layout.texts)
        self._vocabularies = vocabularies(model._scorer.outline) if self._texts else []
        self._forms: Sequence[Any] = (
            model._naive.solved.forms[len(layout.blocks) - len(self._texts) :] if self._texts else ()
        )
        self._dense = [group for group in layout.blocks if group.kind not in ("pairs", "bags")]
        self._pairs = [group.features for group in layout.blocks if group.kind == "pairs"]
        self._matrices = model._make_matrices()
        self._readers = [
            (self._make_readers(kind, features), np.int64 if kind == "levels" else np.float64)
            for kind, features in self._dense
        ]

    def read(self, rows: Sequence[Row]) -> list[Any] | None:
        """Return a matrix for each block of features; None where a row is unusual."""
        try:
            parts: list[Any] = [
                np.array([[read(row) for read in readers] for row in rows], dtype=dtype)
                for readers, dtype in self._readers
            ]
            parts += [self._find_cells(features, parts) for features in self._pairs]
            return parts + [self._read_texts(i, rows) for i in range(len(self._texts))]
        except (Unusual, KeyError):  # a row without one of the columns
            return None

    def _find_cells(self, features: Sequence[Feature], parts: Sequence[Any]) -> Any:
        """Return the cells on which dependence is counted, from the matrices of the same features."""
        read = {
            (kind == "levels", feature.name): X[:, j]
            for (kind, own), X in zip(self._dense, parts)
            for j, feature in enumerate(own)
        }
        return stack_columns([self._matrices._find_cells(feature, read) for feature in features])

    def _make_readers(self, kind: Kind, features: Sequence[Feature]) -> list[Callable[[Row], Any]]:
        """Return a function for each feature that reads its cell of a row, or raises Unusual or a KeyError."""
        if kind != "levels":
            ranges = self._model.ranges
            return [_make_number_reader(f.column, *ranges.get(f.name, (-np.inf, np.inf))) for f in features]
        numeric = {column.name for column in self._model.columns if column.numeric}
        known = self._model._scorer.level_names
        return [
            self._make_level_reader(f, names, f.column in numeric) for f, names in zip(features, known, strict=True)
        ]

    def _make_level_reader(self, feature: Feature, names: Sequence[str], is_numeric: bool) -> Callable[[Row], int]:
        """Return a function that finds the code of a level: of a text in a dictionary, of others by conversion."""
        if feature.joined:
            return _refuse
        column, markers, find_code = feature.column, self._model.options.markers, self._make_code_finder(feature)
        is_text = feature.part is None and not is_numeric
        codes: dict[Any, int] = {name: v for v, name in enumerate(names) if is_text and name not in markers}
        kinds = (int, float) if is_numeric else (int, str) if feature.part is not None else (int,)

        def read(row: Row) -> int:
            cell = row[column]
            if cell is None:
                return -1
            code = codes.get(cell) if type(cell) is str and is_text else None
            if code is None and type(cell) in kinds:
                code = find_code(cell)
            if code is None:
                raise Unusual
            return code

        return read

    def _make_code_finder(self, feature: Feature) -> Callable[[Any], int | None]:
        """Return a function that reads one cell as a table is read, and keeps its code; None for an unknown level."""
        place = self._model._layout.levels.index(feature)
        size = len(self._model._scorer.level_names[place])
        matrices, wanted = self._matrices, {feature.column: self._model._layout.readings()[feature.column]}

        @lru_cache(MAX_KEPT_CELLS)
        def find_code(cell: Any) -> int | None:
            if not isinstance(cell, str) and abs(cell) > MAX_LEVEL_NUMBER:
                return None
            try:
                source = hide_markers(self._model, CellRows.of([{feature.column: cell}]))
                (batch,) = read_converted(source, wanted)
                code = int(matrices._cells("levels", place, feature, batch)[0])
            except DecibanError:
                return None
            return code if code < size else None

        return find_code

    def _read_texts(self, i: int, rows: Sequence[Row]) -> Any:
        """Return the matrix of the words of a text; each text has to have a known one."""
        texts = [row[self._texts[i].column] for row in rows]
        markers = self._model.options.markers
        if not all(type(text) is str and text.strip() not in ("", *markers) for text in texts):
            raise Unusual
        try:
            X = build_word_matrix(self._model.options.words, self._vocabularies[i], Documents(texts))
        except UnicodeError:
            raise Unusual from None
        if not count_known_words(X, self._forms[i].mute).all():
            raise Unusual
        return X


def _make_number_reader(column: str, low: float, high: float) -> Callable[[Row], float]:
    """Return a function that reads a number of a row, NaN where it is missing; Unusual outside of low to high."""

    def read(row: Row) -> float:
        cell = row[column]
        if type(cell) is float or (type(cell) is int and -MAX_EXACT_INTEGER <= cell <= MAX_EXACT_INTEGER):
            if low <= cell <= high:
                return cell
        elif cell is None:
            return np.nan
        raise Unusual

    return read


def _refuse(row: Row) -> int:
    """Leave every row to the reading of tables, where a feature is not a single level."""
    raise Unusual
