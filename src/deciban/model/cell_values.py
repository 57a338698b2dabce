"""The cells of a table, feature by feature, as they were read and as text: what an explanation shows of a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deciban.formatting import clip_text, to_printable
from deciban.model.columns import JOIN_SEPARATOR, Feature
from deciban.sources.arrow_cells import DATE_PARTS, extract_date_part

MAX_TEXT_CHARACTERS = 40
"""Largest number of characters of a text that are shown as its value."""


def read_cells(batches: Sequence[Any], feature: Feature, n: int) -> list[Any]:
    """Return the first n cells that a feature is read from; None where one is missing.

    Of a combination they are one text, of a date the part, and of a text as much as fits on a line.
    """
    columns = [_read_column(batches, name, feature, n) for name in feature.columns]
    if len(columns) == 1:
        return columns[0]
    joined = ([format_cell_value(cell) for cell in cells] for cells in zip(*columns))
    return [None if None in cells else JOIN_SEPARATOR.join(map(str, cells)) for cells in joined]


def format_cell_value(cell: Any) -> str | None:
    """Return a cell as text, a float in full if it is whole, else in six digits; None where it is missing.

    >>> format_cell_value(1234567.0), format_cell_value(0.12345678), format_cell_value("full")
    ('1234567', '0.123457', 'full')
    """
    if isinstance(cell, float):
        return f"{cell:.15g}" if cell.is_integer() else f"{cell:g}"
    return None if cell is None else str(cell)


def format_cell(batches: Sequence[Any], feature: Feature, row: int) -> str | None:
    """Return the cell of a row of these batches as text; None where it is missing, or there is no such row."""
    for batch in batches:
        if row < batch.num_rows:
            return format_cell_value(read_cells([batch.slice(row, 1)], feature, 1)[0])
        row -= batch.num_rows
    return None


def _read_column(batches: Sequence[Any], name: str, feature: Feature, n: int) -> list[Any]:
    """Return the first n cells of a column, of a date the part that is the feature; None where one is missing."""
    columns = [batch.column(name) for batch in batches if batch.schema.get_field_index(name) >= 0]
    cells: list[Any] = []
    for column in columns:
        array = column.slice(0, n - len(cells))
        if feature.part is None:
            cells += array.to_pylist()
        else:  # the code −1 stands for a missing date
            names = (*DATE_PARTS[feature.part], None)
            cells += [names[i] for i in extract_date_part(array, feature.part, feature.column)]
    known = [None if cell is None or cell != cell else cell for cell in cells] if cells else [None] * n
    return [_clip_cell(cell) for cell in known] if feature.role == "text" else known


def _clip_cell(cell: Any) -> str | None:
    """Return as much of a text as fits on a line; None where it is missing."""
    if cell is None:
        return None
    return clip_text(to_printable(str(cell)[: 4 * MAX_TEXT_CHARACTERS]).strip(), MAX_TEXT_CHARACTERS)
