"""Single changes of a row that flip its prediction: another number, another level, or a text without one word."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from deciban._lazy import pa
from deciban._typing import Array
from deciban.errors import InputError
from deciban.model.columns import BLOCKS, split_levels
from deciban.model.table_explanations import TableExplanation, explain_rows
from deciban.sources.arrow_cells import format_label
from deciban.sources.row_views import RowRange
from deciban.sources.source import Source, open_source

if TYPE_CHECKING:
    from deciban.model.model import Model

N_COARSE_VALUES = 65
"""Values of a number that are tried across its learned range."""

N_FINE_VALUES = 33
"""Values that are tried between the last value of the grid that keeps the prediction and the first that flips it."""

MAX_TRIED_LEVELS = 200
"""Levels of a column that are tried."""

MAX_TRIED_CELLS = 1 << 20
"""Cells of the rows that are scored at a time."""

MAX_TRIED_WORDS = 30
"""Words of a text, the strongest for the prediction, whose removal is tried."""


@dataclass(frozen=True)
class SingleChange:
    """A change of one cell that flips a prediction, and the prediction after it.

    `size` is the change of a number as a fraction of its learned range; it is 1 for another level, a removed word, or
    a cell that was missing. `word` is the word that was removed from a text.
    """

    column: str
    before: Any
    after: Any
    prediction: Any
    probability: float
    size: float
    word: str | None = None


def find_single_changes(model: Model, source: Any, row: int = 0) -> list[SingleChange]:
    """Return for each column the smallest change of a row's cell that flips its prediction, the smallest first.

    Numbers stay within their learned range, levels are those learned; dates are not changed. Of several levels, or
    words, that flip it, the one after which the other class is the most probable is returned.

    >>> import deciban
    >>> fruit = {"taste": ["sour", "sweet"] * 6, "weight": [90, 40] * 6, "kind": ["lemon", "plum"] * 6}
    >>> model = deciban.train(fruit, target="kind", roles={"weight": "skip"}, judge=False)
    >>> [(c.column, c.before, c.after, c.prediction) for c in find_single_changes(model, {"taste": ["sour"]})]
    [('taste', 'sour', 'sweet', 'plum')]
    """
    search = ChangeSearch(model, read_typed_row(model, source, row))
    found = [*search.change_numbers(), *search.change_levels(), *search.remove_words()]
    return sorted(found, key=lambda change: (change.size, -change.probability))


def read_typed_row(model: Model, source: Any, row: int = 0) -> dict[str, Any]:
    """Return the cells of one row that the model reads, numbers and dates converted; None where one is missing.

    A row beyond the last is an InputError.
    """
    opened: Source = source if hasattr(source, "batches") else open_source(source)
    view = RowRange(opened, row, 1)
    for batches, _ in model._read_blocks(view, True, model._make_unseen_monitor()):
        for batch in batches:
            cells: dict[str, Any] = batch.slice(0, 1).to_pylist()[0]
            known = {name: None if cell != cell else cell for name, cell in cells.items()}
            return {name: known.get(name) for name in model._layout.readings()}
    raise InputError(f"{opened.name} has no row {row + 1}")


def score_rows(model: Model, table: Any) -> Array:
    """Return the posterior of the rows of an Arrow table, n×K, without warnings of values that were not learned."""
    source = open_source(table)
    blocks = model._read_blocks(source, True, model._make_unseen_monitor())
    return np.concatenate([model._score(parts, "posterior") for _, parts in blocks])


class ChangeSearch:
    """The search for changes of one row."""

    def __init__(self, model: Model, row: Mapping[str, Any]) -> None:
        self._model, self._row, self._ranges = model, row, model.ranges
        self.posterior = self._score([])[0]
        self.winner = int(self.posterior.argmax())

    def _score(self, changes: Sequence[tuple[str, Any]]) -> Array:
        """Return the posterior of the row itself and then of the row after each change of one cell."""
        changed: dict[str, dict[int, Any]] = {}
        for i, (name, value) in enumerate(changes, start=1):
            changed.setdefault(name, {})[i] = value
        n = len(changes) + 1
        columns = {name: _repeat_cell(cell, n, changed.get(name, {})) for name, cell in self._row.items()}
        return score_rows(self._model, pa.table(columns))

    def _try(self, changes: Sequence[tuple[str, Any]]) -> Array:
        """Return the posterior after each change; NaN in all classes where the prediction stays as it is."""
        if not changes:
            return np.empty((0, len(self.posterior)))
        size = max(MAX_TRIED_CELLS // max(len(self._row), 1), 1)
        parts = [self._score(changes[i : i + size])[1:] for i in range(0, len(changes), size)]
        posterior = np.concatenate(parts)
        posterior[posterior.argmax(axis=1) == self.winner] = np.nan
        return posterior

    def _make_change(
        self, column: str, after: Any, posterior: Array, size: float, word: str | None = None
    ) -> SingleChange:
        k = int(posterior.argmax())
        label = self._model.classes[k]
        return SingleChange(column, self._row[column], after, label, float(posterior[k]), size, word)

    def change_numbers(self) -> list[SingleChange]:
        """Return the nearest value of each number that flips the prediction: from a grid, refined, and rounded."""
        numbers = [name for name in self._list_number_columns() if self._row[name] is not None]
        grids = {name: self._make_grid(name) for name in numbers}
        spans = self._find_nearest(grids)
        fine = {name: _refine(self._row[name], span, self._is_whole(name)) for name, span in spans.items()}
        nearest = self._find_nearest(fine)
        found = {
            name: (self._round_away(name, *nearest[name]) if name in nearest else [spans[name][1]]) for name in spans
        }
        tried = [(name, value) for name, values in found.items() for value in values]
        changes: dict[str, SingleChange] = {}
        for (name, value), posterior in zip(tried, self._try(tried)):
            if name not in changes and not np.isnan(posterior[0]):
                changes[name] = self._make_change(
                    name, value, posterior, abs(value - self._row[name]) / self._measure_range(name)
                )
        return [*changes.values(), *self._fill_missing()]

    def _fill_missing(self) -> list[SingleChange]:
        """Return the most decisive value for each number that is missing, where one flips the prediction."""
        missing = {name: self._make_grid(name) for name in self._list_number_columns() if self._row[name] is None}
        tried = [(name, value) for name, grid in missing.items() for value in grid]
        return self._choose_most_probable(tried)

    def change_levels(self) -> list[SingleChange]:
        """Return the level of each flag or category that flips the prediction most clearly."""
        tried = [
            (name, level)
            for name, levels in self._list_levels().items()
            for level in levels
            if level != self._row[name]
        ]
        return self._choose_most_probable(tried)

    def remove_words(self) -> list[SingleChange]:
        """Return the word of each text without which the prediction flips most clearly."""
        texts = [text.column for text in self._model._layout.texts if self._row.get(text.column)]
        if not texts:
            return []
        source = open_source(pa.table({name: _repeat_cell(cell, 1, {}) for name, cell in self._row.items()}))
        explanation = explain_rows(self._model, source, None, 1, True)
        assert isinstance(explanation, TableExplanation)
        tried, words = [], []
        for word in [word for word in explanation.words(0) if word.decibans > 0][:MAX_TRIED_WORDS]:
            pattern = re.compile(rf"\b{re.escape(word.word)}\b", re.IGNORECASE)
            tried.append((word.column, pattern.sub(" ", self._row[word.column])))
            words.append(word.word)
        return self._choose_most_probable(tried, words)

    def _choose_most_probable(
        self, tried: Sequence[tuple[str, Any]], words: Sequence[str] | None = None
    ) -> list[SingleChange]:
        """Return for each column the change after which another class is the most probable."""
        best: dict[str, SingleChange] = {}
        for i, ((name, value), posterior) in enumerate(zip(tried, self._try(tried))):
            if np.isnan(posterior[0]):
                continue
            change = self._make_change(name, value, posterior, 1.0, words[i] if words else None)
            if name not in best or change.probability > best[name].probability:
                best[name] = change
        return list(best.values())

    def _find_nearest(self, grids: Mapping[str, Sequence[float]]) -> dict[str, tuple[float, float]]:
        """Return for each number the nearest value that flips, after the last value before it that does not."""
        tried = [(name, value) for name, grid in grids.items() for value in grid]
        flips = {change: not np.isnan(p[0]) for change, p in zip(tried, self._try(tried))}
        found: dict[str, tuple[float, float]] = {}
        for name, grid in grids.items():
            before = self._row[name]
            sides = [v for v in grid if v > before], [v for v in reversed(grid) if v < before]
            spans = [_find_first_flip(before, side, [flips[name, v] for v in side]) for side in sides]
            near = [span for span in spans if span is not None]
            if near:
                found[name] = min(near, key=lambda span: abs(span[1] - before))
        return found

    def _round_away(self, name: str, kept: float, flipping: float) -> list[float]:
        """Return a value with few digits just beyond the one that flips, and that one itself."""
        step = abs(flipping - kept)
        if self._is_whole(name) or not step > 0:
            return [flipping]
        power = 10.0 ** max(math.ceil(-math.log10(step)), 0)
        towards = math.ceil if flipping > self._row[name] else math.floor
        return [towards(flipping * power) / power, flipping]

    def _make_grid(self, name: str) -> list[float]:
        """Return values across the learned range of a number, whole ones where it has whole values."""
        values = np.linspace(*self._ranges[name], N_COARSE_VALUES)
        decimals = (
            0 if self._is_whole(name) else math.ceil(-math.log10(self._measure_range(name) / N_COARSE_VALUES)) + 1
        )
        values = np.unique(values.round(decimals))
        return [float(value) for value in values if np.isfinite(value) and value != self._row[name]]

    def _measure_range(self, name: str) -> float:
        """Return the width of the learned range of a number; 1 where it has one value."""
        low, high = self._ranges[name]
        return (high - low) or 1.0

    def _is_whole(self, name: str) -> bool:
        """Return whether a number seems to be a whole one: its value and both ends of its range are."""
        known = [*self._ranges[name], *([] if self._row[name] is None else [self._row[name]])]
        return all(math.isfinite(value) and float(value).is_integer() for value in known)

    def _list_number_columns(self) -> list[str]:
        """Return the columns of numbers whose range is known and has a finite width."""
        levels = BLOCKS["levels"]
        names = [c.name for c in self._model.columns if c.modelled_features and c.role not in (*levels, "text")]
        return [name for name in names if name in self._ranges and math.isfinite(self._measure_range(name))]

    def _list_levels(self) -> dict[str, list[Any]]:
        """Return the learned levels of each flag and category, as its cells have them."""
        numeric = {column.name for column in self._model.columns if column.numeric}
        found: dict[str, list[Any]] = {}
        for feature, names in zip(self._model._layout.levels, self._model._scorer.level_names):
            if feature.part is not None:
                continue
            split = zip(*map(split_levels, names)) if feature.joined else [tuple(names)]
            for column, levels in zip(feature.columns, split):
                known = list(dict.fromkeys(levels))[:MAX_TRIED_LEVELS]
                found[column] = [_to_cell(level, self._row[column], column in numeric) for level in known]
        return found


def _find_first_flip(before: float, values: Sequence[float], flips: Iterable[bool]) -> tuple[float, float] | None:
    """Return the first value that flips and the one before it; None where none does."""
    last = before
    for value, is_flipped in zip(values, flips):
        if is_flipped:
            return last, value
        last = value
    return None


def _refine(before: float, span: tuple[float, float], is_whole: bool) -> list[float]:
    """Return values from the last that keeps a prediction to the first that flips it, in ascending order."""
    values = np.linspace(*span, N_FINE_VALUES)
    if is_whole:
        values = values.round()
    return [float(value) for value in np.unique(values) if value != before]


def _to_cell(level: str, before: Any, is_numeric: bool) -> Any:
    """Return a level as the cells of its column have it."""
    if isinstance(before, bool):
        return level.lower() == "true"
    if is_numeric or (isinstance(before, (int, float)) and re.fullmatch(r"-?[0-9]+(?:\.[0-9]+)?", level)):
        number = float(level)
        return int(number) if isinstance(before, int) and number.is_integer() else number
    return level


def _repeat_cell(cell: Any, n: int, changed: Mapping[int, Any]) -> Any:
    """Return a column of n cells, all alike but for the changed ones; of texts, or doubles, where any is one."""
    given = [cell, *changed.values()]
    if any(isinstance(value, str) for value in given):
        given = [value if value is None or isinstance(value, str) else format_label(value) for value in given]
    elif any(isinstance(value, float) for value in given):
        given = [None if value is None else float(value) for value in given]
    if not changed:
        return pa.repeat(given[0], n) if given[0] is not None else pa.nulls(n)
    cells = given[:1] * n
    for i, value in zip(changed, given[1:]):
        cells[i] = value
    return pa.array(cells)
