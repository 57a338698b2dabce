"""The fields of a form for one row: a slider for each number, a list for each level, an area for each text."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, time
from typing import Any, Literal

from deciban.model.columns import Column, split_levels
from deciban.model.model import Model
from deciban.server.problems import Problem
from deciban.sources.cell_rows import CellRows

MAX_LISTED_LEVELS = 200
"""Levels that a list offers; of a column with more, any can be typed."""

SLIDER_STEPS = 200
"""About so many steps has the slider of a number that is not whole."""

MAX_CELL_CHARACTERS = 100_000
"""Characters of the longest cell that a form may send."""

Kind = Literal["number", "level", "plain", "text"]


@dataclass(frozen=True)
class RowField:
    """A column in a form, and its value in the row as text; an empty text is a missing value."""

    name: str
    kind: Kind
    role: str
    value: str = ""
    low: float = 0.0
    high: float = 0.0
    step: float = 1.0
    levels: tuple[str, ...] = field(default=())
    is_complete: bool = True
    """Whether all learned levels are listed."""


def make_fields(model: Model, row: Mapping[str, Any]) -> list[RowField]:
    """Return a field for each column that the model reads, with the value of the row."""
    levels, ranges = list_levels(model), model.ranges
    return [
        _make_field(column, levels, ranges.get(column.name, (0.0, 1.0)), row.get(column.name))
        for column in list_read_columns(model)
    ]


def list_read_columns(model: Model) -> list[Column]:
    """Return the columns that a model reads."""
    return [column for column in model.columns if column.modelled_features]


def _make_field(
    column: Column, levels: Mapping[str, tuple[str, ...]], ends: tuple[float, float], cell: Any
) -> RowField:
    """Return the field of a column; `ends` are those of its learned range, if it is a number."""
    name, value = column.name, format_cell(cell)
    if name in levels:
        known = levels[name][:MAX_LISTED_LEVELS]
        extra = (value,) if value and value not in known else ()
        return RowField(name, "level", column.role, value, levels=(*known, *extra), is_complete=known == levels[name])
    if column.role in ("date", "text"):
        return RowField(name, "plain" if column.role == "date" else "text", column.role, value)
    low, high = ends
    if not (math.isfinite(low) and math.isfinite(high)):
        return RowField(name, "plain", column.role, value)  # a slider has no such ends
    step = choose_step(low, high, cell)
    if isinstance(cell, (int, float)):
        low, high = min(low, float(cell)), max(high, float(cell))
    return RowField(
        name, "number", column.role, value, math.floor(low / step) * step, math.ceil(high / step) * step, step
    )


def list_levels(model: Model) -> dict[str, tuple[str, ...]]:
    """Return the learned levels of each column of flags or categories, as text."""
    found: dict[str, tuple[str, ...]] = {}
    for feature, names in zip(model._layout.levels, model._scorer.level_names):
        if feature.part is None:
            split = list(zip(*map(split_levels, names))) if feature.joined else [tuple(names)]
            found |= {column: tuple(dict.fromkeys(each)) for column, each in zip(feature.columns, split)}
    return found


def choose_step(low: float, high: float, cell: Any = None) -> float:
    """Return the step of a slider: 1 for whole numbers, else a power of ten that gives some two hundred steps.

    >>> choose_step(0, 80, 41.0), choose_step(35.9, 40.6), choose_step(0.0, 3.0e6, 1.5)
    (1.0, 0.01, 10000.0)
    """
    ends = [low, high, *([cell] if isinstance(cell, (int, float)) else [])]
    if all(math.isfinite(end) and float(end).is_integer() for end in ends) and high - low <= 1e6:
        return 1.0
    width = high - low
    return 10.0 ** math.floor(math.log10(width / SLIDER_STEPS)) if 0 < width / SLIDER_STEPS < math.inf else 1.0


def format_cell(cell: Any) -> str:
    """Return a cell as the text of a form; of a missing value none.

    >>> format_cell(37.5), format_cell(41.0), format_cell(True), format_cell(None)
    ('37.5', '41', 'true', '')
    """
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, datetime):
        return str(cell.date() if cell.time() == time() else cell)
    return f"{cell:.12g}" if isinstance(cell, float) else str(cell)


def choose_typical_row(model: Model) -> dict[str, Any]:
    """Return a row to begin with where no table is open: middles of ranges, first levels; None for any other cell."""
    row: dict[str, Any] = {column.name: None for column in list_read_columns(model)}
    levels, ranges = list_levels(model), model.ranges
    for name in row:
        if name in levels:
            row[name] = next(iter(levels[name]), None)
        elif name in ranges:
            low, high = ranges[name]
            step, middle = choose_step(low, high), low / 2 + high / 2
            row[name] = round(middle / step) * step if math.isfinite(middle) else None
    return row


def read_row(model: Model, values: Any) -> CellRows:
    """Return the row of a form as a table of one row, of the columns that the model reads; refuse what is no row."""
    if not isinstance(values, dict):
        raise Problem(400, "the request has no row")
    row = {}
    for column in list_read_columns(model):
        cell = values.get(column.name)
        if not isinstance(cell, (str, int, float, type(None))) or len(str(cell)) > MAX_CELL_CHARACTERS:
            raise Problem(400, f"the value of {column.name!r} is no text and no number, or too long")
        row[column.name] = parse_cell(column, cell) if isinstance(cell, str) else cell
    return CellRows.of([row], "the row")


def parse_cell(column: Column, text: str) -> Any:
    """Return the value of a field as the form has written it: a plain number, an ISO date, or a text; None if empty.

    What is written otherwise stays a text, which is read in the format of the table's column.
    """
    convert: Callable[[str], Any] | None = None
    if column.role == "date":
        convert = datetime.fromisoformat
    elif column.numeric or column.role in ("number", "binned", "count"):
        convert = float
    try:
        return (convert(text.strip()) if convert else text) if text.strip() else None
    except ValueError:
        return text
