"""The cells of a table as text, feature by feature: what an explanation or a warning shows of a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deciban.model.columns import JOIN_SEPARATOR, Feature
from deciban.scores.explanation import clip_text, to_printable
from deciban.sources.arrow_cells import DATE_PARTS, extract_date_part

MAX_TEXT_CHARACTERS = 40
"""Largest number of characters of a text that are shown as its value."""


def format_cells(batches: Sequence[Any], feature: Feature, n: int) -> list[str | None]:
    """Return the first n cells that a feature is read from, as text; None where one is missing."""
    columns = [_format_column(batches, name, feature, n) for name in feature.columns]
    return [None if None in cells else JOIN_SEPARATOR.join(map(str, cells)) for cells in zip(*columns)]


def format_cell(batches: Sequence[Any], feature: Feature, row: int) -> str | None:
    """Return one cell as text, by the number of its row in these batches."""
    for batch in batches:
        if row < batch.num_rows:
            return format_cells([batch.slice(row, 1)], feature, 1)[0]
        row -= batch.num_rows
    return None


def _format_column(batches: Sequence[Any], name: str, feature: Feature, n: int) -> list[str | None]:
    """Return n cells of a column as text, of a date the part that is the feature; None where one is missing."""
    arrays = [batch.column(name) for batch in batches if batch.schema.get_field_index(name) >= 0]
    cells: list[Any] = []
    for array in arrays:
        if feature.part is None:
            cells += array.to_pylist()
        else:  # the code −1 stands for a missing date
            names = (*DATE_PARTS[feature.part], None)
            cells += [names[i] for i in extract_date_part(array, feature.part, feature.column)]
    return [_format_cell(cell, feature.role == "text") for cell in cells[:n]] if cells else [None] * n


def _format_cell(cell: Any, is_text: bool) -> str | None:
    """Return a cell as text, and as much of a text as fits on a line; None where the cell is missing."""
    if cell is None or cell != cell:
        return None
    if is_text:
        return clip_text(to_printable(str(cell)[: 4 * MAX_TEXT_CHARACTERS]).strip(), MAX_TEXT_CHARACTERS)
    return f"{cell:g}" if isinstance(cell, float) else str(cell)
