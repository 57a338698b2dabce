"""Reports as HTML: the figures, the accuracy with its interval, the classes and the confusion matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deciban.html_fragments import (
    Markup,
    draw_interval,
    join,
    make_confusion_table,
    make_notes,
    make_pairs,
    make_table,
    wrap_for_notebook,
)

if TYPE_CHECKING:
    from deciban.metrics.report import Report

CLASS_HEADINGS = ("class", "precision", "recall", "F1", "rows")

MAX_TABLE_CLASSES = 30
"""The number of classes up to which classes and confusion are shown as tables."""


def show_report(report: Report) -> Markup:
    """Return the whole report."""
    figures = [entry for entry in report.entries() if entry[0] != "accuracy"]
    accuracy = ("accuracy", draw_interval(report.accuracy, report.accuracy_interval))
    parts = [make_pairs([figures[0], accuracy, *figures[1:]])]
    if 1 < len(report.classes) <= MAX_TABLE_CLASSES:
        parts.append(make_confusion_table(report.classes, report.confusion))
        parts.append(make_table(CLASS_HEADINGS, report.by_class(), "each class"))
    return join(*parts, make_notes(report.notes()))


def show_in_notebook(report: Report) -> str:
    """Return the report with its style."""
    return wrap_for_notebook(show_report(report))
