"""Columns as the page Open shows them: roles with reasons, missing values, examples, and small histograms."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from deciban.errors import DecibanError
from deciban.model.columns import OPEN_ROLES, ROLES
from deciban.sources.markers import MISSING_MARKERS
from deciban.studio.data_set import DataSet
from deciban.studio.messages import adapt_message
from deciban.studio.workspace import Workspace
from deciban.training.task import plan

EXAMPLE_VALUES = 3
HISTOGRAM_BARS = 12
"""The bars of the small histogram of a column."""

ROLE_CHOICES = {"": "automatic", **{role: role for role in ROLES}}


@dataclass(frozen=True)
class ColumnView:
    """A column as the page shows it; shares and heights are of the first rows."""

    name: str
    role: str
    reason: str
    is_target: bool
    chosen: bool
    """Whether the user has chosen the role."""
    missing: float
    distinct: int
    examples: tuple[str, ...]
    bars: tuple[float, ...]
    """The heights of the bars of its histogram, from 0 to 1; none for texts and identifiers."""


def describe_columns(workspace: Workspace, data: DataSet) -> tuple[list[ColumnView], str]:
    """Return the columns of the open table, and why they cannot be learned from; empty if they can."""
    roles, problem = _infer_roles(workspace, data)
    return [_describe_column(name, workspace, data, *roles.get(name, ("", ""))) for name in data.columns], problem


def _infer_roles(workspace: Workspace, data: DataSet) -> tuple[dict[str, tuple[str, str]], str]:
    """Return role and reason of each column but the target; none, and why, where the table cannot be learned from."""
    if workspace.target is None:
        return {}, "no column to predict is chosen. Hint: choose one in the list"
    try:
        task = plan(data.table, target=workspace.target, roles=workspace.roles)
    except DecibanError as error:
        return {}, adapt_message(str(error))
    open_role = "number", "numbers; training finds out how they are distributed"
    return {
        column.name: open_role if column.role in OPEN_ROLES else (column.role, column.reason)
        for column in task.columns
    }, ""


def _describe_column(name: str, workspace: Workspace, data: DataSet, role: str, reason: str) -> ColumnView:
    values = data.head.column(name)
    known = _list_known_texts(values)
    counts = Counter(known).most_common()
    is_target = name == workspace.target
    return ColumnView(
        name, "target" if is_target else role, reason, is_target, name in workspace.roles,
        1 - len(known) / max(1, len(values)), len(counts),
        tuple(text for text, _ in counts[:EXAMPLE_VALUES]), _measure_bars(known, counts, role, is_target),
    )  # fmt: skip


def _list_known_texts(values: Any) -> list[str]:
    """Return the values that are not missing, as texts without spaces around them."""
    return [
        text
        for value in values.to_pylist()
        if value is not None and value == value and (text := str(value).strip()) not in MISSING_MARKERS and text
    ]


def _measure_bars(texts: list[str], counts: list[tuple[str, int]], role: str, is_target: bool) -> tuple[float, ...]:
    """Return the heights of a histogram, from 0 to 1: of numbers in equal bins, of common levels; else none."""
    heights: Any = []
    if role in ("number", "binned", "count"):
        with suppress(ValueError):  # of numbers that are not written as programs write them
            numbers = np.array([float(text) for text in texts])
            heights = np.histogram(numbers[np.isfinite(numbers)], HISTOGRAM_BARS)[0]
    elif is_target or role in ("flag", "category"):
        heights = [n for _, n in counts[:HISTOGRAM_BARS]]
    largest = max(heights, default=0)
    return tuple(float(n) / largest for n in heights) if largest else ()
