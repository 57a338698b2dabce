"""Findings about a model in plain English: columns that give the answer away, identifiers, too few rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban.formatting import format_count, format_percent
from deciban.metrics.calibration_fit import is_clearly_miscalibrated
from deciban.studio.messages import adapt_message
from deciban.studio.workspace import Workspace

if TYPE_CHECKING:
    from deciban.metrics.report import Report
    from deciban.model.model import Model

MIN_CLASS_ROWS = 20
"""The rows of a class below which its figures are uncertain."""

MIN_ROWS = 100
"""The rows below which a report says that there are few."""

LEAK_SHARE = 0.98
"""The share of rows whose class a column must give away, alone, to be suspicious."""

LEAK_BINS = 16
"""The bins into which numbers are sorted, and the values of a category that are distinguished, to look for leaks."""

MANY_MISSING = 0.5
"""The share of missing values from which a column is mentioned."""


class Finding(NamedTuple):
    """Something to know about a model: `level` is "warning" or "note"."""

    level: str
    title: str
    text: str


def get_findings(workspace: Workspace) -> list[Finding]:
    """Return the findings about the open model, warnings first; they are computed once for each version."""
    version, found = workspace.page_state.get("findings", (None, []))
    if version != workspace.version:
        found = _find_problems(workspace)
        workspace.page_state["findings"] = (workspace.version, found)
    return list(found)


def _find_problems(workspace: Workspace) -> list[Finding]:
    """Return the findings about the open model, warnings first."""
    model, report = workspace.need_model(), workspace.report
    warnings = map(adapt_message, workspace.warnings)
    found = [
        *(_find_leaks(workspace, model) if workspace.data is not None else ()),
        *_find_few_rows(model),
        *(_find_poor_figures(report) if report is not None else ()),
        *_find_columns(model),
        *(Finding("warning", "From the training", f"{text[:1].upper()}{text[1:]}") for text in warnings),
    ]
    return sorted(found, key=lambda finding: finding.level != "warning")


def _find_leaks(workspace: Workspace, model: Model) -> Iterator[Finding]:
    """Find columns that give the class away, each alone, in the first rows of the open table."""
    data = workspace.need_data()
    labels = np.array([str(value) for value in data.head.column(model.target).to_pylist()])
    counts = np.unique(labels, return_counts=True)[1]
    common = counts.max() / len(labels)
    if len(labels) < MIN_CLASS_ROWS or len(counts) < 2:
        return
    for column in model.columns:
        if column.role not in ("number", "binned", "count", "flag", "category") or column.name not in data.columns:
            continue
        groups = _group_values(data.head.column(column.name).to_pylist(), column.role)
        share = 0.0 if groups is None else _measure_purity(groups, labels)
        if share >= LEAK_SHARE and share > 1 - (1 - common) / 10:
            yield Finding(
                "warning", f"{column.name} almost gives the answer away",
                f"By itself it gives {model.target} in {format_percent(share)} of the first rows. If it only becomes "
                f"known later than {model.target} (a result, a code), take it as skip on the page Open.",
            )  # fmt: skip


def _group_values(values: list[Any], role: str) -> NDArray[Any] | None:
    """Return the group of each value: itself as text, or the bin of a number, the last of which has missing ones.

    None where there are more than `LEAK_BINS` levels, or a value that is not a number among numbers.
    """
    if role in ("flag", "category"):
        texts = np.array([str(value) for value in values])
        return texts if len(set(values)) <= LEAK_BINS else None
    try:
        numbers = np.array([np.nan if value in (None, "") else float(value) for value in values])
    except (TypeError, ValueError):
        return None
    known = numbers[np.isfinite(numbers)]
    if not known.size:
        return None
    return np.digitize(numbers, np.unique(np.quantile(known, np.linspace(0, 1, LEAK_BINS + 1)[1:-1])))


def _measure_purity(groups: NDArray[Any], labels: NDArray[Any]) -> float:
    """Return the share of rows that have the commonest class of their group."""
    right = 0
    for group in np.unique(groups):
        right += int(np.unique(labels[groups == group], return_counts=True)[1].max())
    return right / len(labels)


def _find_few_rows(model: Model) -> Iterator[Finding]:
    rows = dict(zip(model.classes, model.ledger.rows.tolist()))
    n = sum(rows.values())
    if n < MIN_ROWS:
        yield Finding(
            "warning", f"Only {format_count(n, 'row')}",
            "With so few, the figures may be far off. The intervals show how far; more rows make them narrower.",
        )  # fmt: skip
    few = [f"{label} ({count:g})" for label, count in rows.items() if count < MIN_CLASS_ROWS]
    if few and n >= MIN_ROWS:
        more = f" and {len(few) - 5} more" if len(few) > 5 else ""
        yield Finding(
            "warning", "Few rows of some classes",
            f"{', '.join(few[:5])}{more}: what the model says of them is uncertain. More such rows would help most.",
        )  # fmt: skip


def _find_poor_figures(report: Report) -> Iterator[Finding]:
    low, high = report.accuracy_interval
    if low <= report.majority:
        yield Finding(
            "warning", "Not clearly better than guessing",
            f"Always answering {report.commonest} would be right in {format_percent(report.majority)} of the rows; "
            f"the model is right in {format_percent(low)} to {format_percent(high)}.",
        )  # fmt: skip
    if is_clearly_miscalibrated(report):
        yield Finding(
            "warning", "The probabilities are off",
            "They differ from how often the model is right by more than chance explains. See Reliability on the page "
            "Look.",
        )  # fmt: skip


def _find_columns(model: Model) -> Iterator[Finding]:
    """Find columns that were left out, and those with many missing values."""
    skipped = [column for column in model.columns if column.role == "skip" and column.reason != "as given"]
    for column in skipped[:5]:
        yield Finding("note", f"{column.name} was left out", f"{column.reason[:1].upper()}{column.reason[1:]}.")
    if len(skipped) > 5:
        yield Finding("note", f"{format_count(len(skipped) - 5, 'more column')} left out", "The page Open says why.")
    description = model.describe()
    for note in description.columns:
        if note.missing is not None and note.missing >= MANY_MISSING:
            yield Finding(
                "note", f"{note.name} is missing in {format_percent(note.missing)} of the rows",
                "A missing value is no evidence; the column only counts where it is known.",
            )  # fmt: skip
    without = description.rows_without_class
    if without:
        rows = format_count(without, "row")
        yield Finding("note", f"{rows} without {model.target}", "Rows without a class are not learned from.")
