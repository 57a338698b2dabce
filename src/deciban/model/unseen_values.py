"""Values that a model has not learned: levels never seen, numbers outside the learned range, texts of unknown words.

They are counted while rows are predicted, with examples of each column, and listed row by row in explanations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError, warn_caller
from deciban.formatting import clip_text, format_count, format_range, to_printable
from deciban.model.cell_values import format_cell
from deciban.model.columns import JOIN_SEPARATOR, Feature, Layout
from deciban.model.learned_ranges import Range
from deciban.model.matrices import read_documents
from deciban.scores.explanation import MAX_VALUE_WIDTH, UnseenValue
from deciban.text import Documents, count_known_words

MIN_UNSEEN_VALUES = 5
"""Smallest number of unseen values in a column, without a single known one, that are taken for another spelling."""

MAX_EXAMPLES = 3
"""Number of different values of a column that a warning shows, each with its first row."""

MAX_COMPARED_CELLS = 100
"""Number of unseen cells of a column, in each block of rows, among which different values are sought as examples."""

MAX_WARNED_COLUMNS = 5
"""Number of columns that have a warning of their own; the others are counted."""

NEVER_SEEN, NO_KNOWN_WORD = "never seen", "no known word"
"""The reasons why a level and a text are unseen; that of a number names its range."""

WARNING_REASONS = {NEVER_SEEN: "never seen in training", NO_KNOWN_WORD: "without a known word"}
"""The reasons in the sentence of a warning."""


class UnseenCells(NamedTuple):
    """Cells of one feature, in a block of rows, that were not learned: their rows in the block, and the reason."""

    feature: Feature
    rows: NDArray[np.intp]
    reason: str
    range: Range | None = None

    def describe(self, value: str | None) -> UnseenValue:
        """Return one of the cells, by its value as text."""
        return UnseenValue(self.feature.name, value or "", self.reason, *(self.range or ()))


@dataclass
class UnseenColumn:
    """The values of a column that were not learned: their number, the reason, and examples.

    `examples` are the first different values with their first rows, (row, value), rows counted from 1; `range` is the
    learned range of a number.
    """

    column: str
    reason: str
    range: Range | None = None
    count: int = 0
    examples: list[tuple[int, str]] = field(default_factory=list)

    def __str__(self) -> str:
        is_text = self.reason == NO_KNOWN_WORD
        if is_text:
            cells = format_count(self.count, "text")
        else:  # cells are counted, and different values shown
            cells = "1 value" if self.count == 1 else f"{format_count(self.count)} cells with values"
        shown = ", ".join(f"row {row}" if is_text else f"{value} (row {row})" for row, value in self.examples)
        more = ", …" if self.count > len(self.examples) == MAX_EXAMPLES else ""
        reason = WARNING_REASONS.get(self.reason, self.reason)
        return f"{self.column!r} has {cells} {reason}: {shown}{more}"

    def add(self, cells: UnseenCells, batches: Sequence[Any], index: NDArray[np.intp], first: int) -> None:
        """Count cells, and keep examples; `index` has the place of each row in batches that follow `first` rows."""
        self.count += len(cells.rows)
        known = {value for _, value in self.examples}
        for row in index[cells.rows[:MAX_COMPARED_CELLS]].tolist():
            if len(self.examples) == MAX_EXAMPLES:
                return
            value = clip_text(to_printable(format_cell(batches, cells.feature, row) or ""), MAX_VALUE_WIDTH)
            if value not in known:
                known.add(value)
                self.examples.append((first + row + 1, value))


class UnseenValueMonitor:
    """Finds and counts the values of rows that were not learned, block by block.

    Numbers are compared with their `ranges`, where these are given. Texts without a known word are counted by column,
    and the rows in which no text has one.
    """

    def __init__(
        self,
        layout: Layout,
        names: Sequence[Sized],
        forms: Sequence[Any] = (),
        ranges: Mapping[str, Range] | None = None,
    ) -> None:
        self.layout, self.forms = layout, forms
        self.sizes = np.array([len(name) for name in names], dtype=np.int64)
        self.block = layout.block_index("levels")
        self.bounds = _align_ranges(layout, ranges or {})
        self.has_only_texts = len(layout.texts) == len(layout.blocks)
        self.n_known = np.zeros(len(layout.levels), dtype=np.int64)
        self.n_texts, self.n_known_words = np.zeros((2, len(layout.texts)), dtype=np.int64)
        self.n_rows = self.n_rows_without_words = 0
        self.columns: dict[str, UnseenColumn] = {}

    def count(self, batches: Sequence[Any], parts: Sequence[Any], index: NDArray[np.intp] | None = None) -> None:
        """Count the values and the known words of one block of rows; `index` has their rows in the batches."""
        index = np.arange(parts[0].shape[0]) if index is None else index
        for cells in self.find(batches, parts, index):
            feature = cells.feature
            column = self.columns.setdefault(feature.name, UnseenColumn(feature.name, cells.reason, cells.range))
            column.add(cells, batches, index, self.n_rows)
        self.n_rows += sum(batch.num_rows for batch in batches)
        if self.block is not None:
            X = parts[self.block]
            self.n_known += ((X >= 0) & (self.sizes > X)).sum(axis=0)
        if not self.layout.texts:
            return
        words = np.array([count_known_words(X, form.mute) for X, form in self._select_word_matrices(parts)])
        self.n_known_words += words.sum(axis=1)
        self.n_rows_without_words += int((words.sum(axis=0) == 0).sum())
        for i, name in enumerate(feature.column for feature in self.layout.texts):
            arrays = [batch.column(name) for batch in batches if batch.schema.get_field_index(name) >= 0]
            self.n_texts[i] += sum(len(array) - array.null_count for array in arrays)

    def find(
        self, batches: Sequence[Any], parts: Sequence[Any], index: NDArray[np.intp] | None = None
    ) -> Iterator[UnseenCells]:
        """Yield the cells of these rows that were not learned, feature by feature."""
        for i, (features, low, high) in self.bounds.items():
            is_outside = (parts[i] < low) | (parts[i] > high)
            for j in np.flatnonzero(is_outside.any(axis=0)).tolist():
                ends, rows = (float(low[j]), float(high[j])), np.flatnonzero(is_outside[:, j])
                yield UnseenCells(features[j], rows, f"outside {format_range(*ends)}", ends)
        if self.block is not None:
            is_unseen = parts[self.block] >= self.sizes
            for j in np.flatnonzero(is_unseen.any(axis=0)).tolist():
                yield UnseenCells(self.layout.levels[j], np.flatnonzero(is_unseen[:, j]), NEVER_SEEN)
        for feature, (X, form) in zip(self.layout.texts, self._select_word_matrices(parts)):
            rows = np.flatnonzero(count_known_words(X, form.mute) == 0)
            rows = rows[_has_text(batches, feature, rows if index is None else index[rows])]
            if len(rows):
                yield UnseenCells(feature, rows, NO_KNOWN_WORD)

    def _select_word_matrices(self, parts: Sequence[Any]) -> list[tuple[Any, Any]]:
        """Return the matrix of each text, and its score form."""
        first = len(self.layout.blocks) - len(self.layout.texts)
        return list(zip(parts[first:], self.forms[first:]))

    def refuse_unseen(self, batches: Sequence[Any], parts: Sequence[Any]) -> None:
        """Refuse a level that was never learned, naming the cell of the table."""
        if self.block is None:
            return
        for feature, size, codes in zip(self.layout.levels, self.sizes, parts[self.block].T):
            unseen = np.flatnonzero(codes >= size)
            if unseen.size:
                columns = [[x for b in batches for x in b.column(name).to_pylist()] for name in feature.columns]
                cell = JOIN_SEPARATOR.join(repr(cells[unseen[0]]) for cells in columns)
                raise InputError(
                    f"column {feature.column!r} holds {cell}, which was never learned. "
                    f"Hint: train with --unseen ignore (unseen='ignore') or smooth"
                )

    def describe(self) -> list[str]:
        """Return a sentence on each of the first columns with unseen values, the others, and rows without words.

        Columns without a single known value or word come first.
        """
        n_unseen = [self.columns[f.name].count if f.name in self.columns else 0 for f in self.layout.levels]
        by_level = self.layout.levels, n_unseen, self.n_known
        by_text = self.layout.texts, self.n_texts, self.n_known_words
        foreign = {
            **_describe_foreign(*by_level, "of the {} values", "is it written in another way here?"),
            **_describe_foreign(*by_text, "word of the {} texts", "are they in another language, or another column?"),
        }
        texts = {feature.name for feature in self.layout.texts} if self.has_only_texts else set()
        others = [str(column) for name, column in self.columns.items() if name not in {*foreign, *texts}]
        lines = [*foreign.values(), *others]
        shown, n_hidden = lines[:MAX_WARNED_COLUMNS], len(lines) - MAX_WARNED_COLUMNS
        if n_hidden == 1:
            shown = lines
        elif n_hidden > 1:
            shown.append(f"{n_hidden} other columns with values that were not learned")
        if self.has_only_texts and self.n_rows_without_words and len(foreign) < len(texts):
            rows = "1 row has" if self.n_rows_without_words == 1 else f"{self.n_rows_without_words} rows have"
            shown.append(f"{rows} no known word; there the class prior decides")
        return shown

    def warn(self) -> None:
        """Warn of the columns with unseen values."""
        for line in self.describe():
            warn_caller(line)


def _align_ranges(layout: Layout, ranges: Mapping[str, Range]) -> dict[int, tuple[Sequence[Feature], Array, Array]]:
    """Return the features of each block of numbers that have a range, and their lowest and highest values."""
    bounds = {}
    for i, (kind, features) in enumerate(layout.blocks):
        if kind not in ("levels", "pairs", "bags") and any(feature.name in ranges for feature in features):
            ends = [ranges.get(feature.name, (-np.inf, np.inf)) for feature in features]
            bounds[i] = (features, *np.array(ends).T)
    return bounds


def _describe_foreign(
    features: Sequence[Feature], counts: Sequence[int] | NDArray[Any], n_known: NDArray[Any], what: str, hint: str
) -> dict[str, str]:
    """Return by name a sentence on each feature of which not one of the counted values, or no word, was known."""
    return {
        feature.name: f"not one {what.format(n)} in column {feature.column!r} was seen in training, so it "
        f"contributes nothing. Hint: {hint}"
        for feature, n, known in zip(features, counts, n_known)
        if not known and n >= MIN_UNSEEN_VALUES
    }


def _has_text(batches: Sequence[Any], feature: Feature, rows: NDArray[np.intp]) -> list[bool]:
    """Return of these rows of the batches which have a text that is not blank."""
    if not len(rows):
        return []
    documents = Documents.concatenate([read_documents(feature.column, batch) for batch in batches])
    return [bool((documents.text(row) or "").strip()) for row in rows.tolist()]
