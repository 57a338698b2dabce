"""A report in words: lines for a terminal, and the text of `print(report)`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from deciban.formatting import aligned, give_or_take, number, percent, percents, spaced

if TYPE_CHECKING:
    from deciban.metrics.report import Report

ROUNDING = 1e-9
"""A share of the rows that makes no difference."""

MOST_SHOWN = 8
"""Up to so many classes the confusion is printed."""

MOST_LISTED = 12
"""Up to so many classes precision and recall are printed of each."""


def entries(report: Report) -> list[tuple[str, str]]:
    """(name, value) of every figure."""
    weight = "" if report.weight == report.rows else f" of weight {report.weight:g} together"
    told = [
        ("rows", f"{spaced(report.rows)}{weight}"),
        ("accuracy", f"{percent(report.accuracy, 2)} (95 % sure: {percents(report.accuracy_interval)})"),
        (f"always {report.commonest}", percent(report.majority, 2)),
        ("balanced accuracy", percent(report.balanced_accuracy, 2)),
        ("log-loss", _log_loss(report)),
        ("Brier score", number(report.brier)),
        ("calibration error", number(report.calibration_error)),
    ]
    if len(report.classes) == 2 and not math.isnan(report.roc_auc):
        low, high = report.intervals["roc_auc"]
        told.append(("area under ROC", f"{report.roc_auc:.4f} (95 % sure: {low:.4f} to {high:.4f})"))
    return told


def _log_loss(report: Report) -> str:
    if report.impossible:
        return f"∞ (the truth was called impossible in {_rows(report.impossible)}; alpha > 0 prevents it)"
    return give_or_take(report.log_loss, report.log_loss_error)


def notes(report: Report) -> list[str]:
    """What must be known to read the figures."""
    lines = [report.measured] if report.measured else []
    if report.effective_rows < report.rows * (1 - ROUNDING):
        lines.append(
            f"the weights differ: the intervals are those of {report.effective_rows:.4g} rows of equal weight"
        )
    if report.unknown:
        lines.append(
            f"{_rows(report.unknown)} of a class without training rows: counted as errors, left out of log-loss"
        )
    if report.ranks is not None and not report.ranks.whole:
        lines.append(f"ranking and thresholds are those of 1 row in {2**report.ranks.thinned}, drawn at random")
    return lines


def text(report: Report) -> str:
    """All of it."""
    told = entries(report)
    width = max(len(name) for name, _ in told)
    lines = [f"{name:<{width}}  {value}" for name, value in told]
    if 1 < len(report.classes) <= MOST_LISTED:
        lines += ["", *aligned([["class", "precision", "recall", "F1", "rows"], *by_class(report)])]
    if 1 < len(report.classes) <= MOST_SHOWN:
        lines += ["", *aligned(_confusion(report))]
    more = notes(report)
    return "\n".join([*lines, "", *more] if more else lines)


def by_class(report: Report) -> list[list[str]]:
    """Name, precision, recall, F1 and rows of each class."""
    rows = report.rows_by_class
    return [
        [str(label), percent(p), percent(r), percent(f), f"{n:g}"]
        for label, p, r, f, n in zip(report.classes, report.precision, report.recall, report.f1, rows.round(3))
    ]


def _confusion(report: Report) -> list[list[str]]:
    table = [["truth \\ called", *(str(label) for label in report.classes), "right"]]
    for k, (label, line) in enumerate(zip(report.classes, report.confusion)):
        right = percent(line[k] / line.sum() if line.sum() else math.nan)
        table.append([str(label), *(f"{cell:g}" for cell in line.round(3)), right])
    return table


def _rows(count: int) -> str:
    return f"{spaced(count)} row{'' if count == 1 else 's'}"
