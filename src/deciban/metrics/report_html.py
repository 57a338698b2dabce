"""Reports as HTML: the figures, the accuracy with its interval, the classes and the confusion matrix."""

from deciban.html_fragments import (
    draw_interval,
    make_confusion_table,
    make_list,
    make_pairs,
    make_table,
    wrap_for_notebook,
)
from deciban.metrics.report import CLASS_HEADINGS, Report

MAX_TABLE_CLASSES = 30
"""The number of classes up to which classes and confusion are shown as tables."""


def show_in_notebook(report: Report) -> str:
    """Return the whole report, with its style."""
    figures = [entry for entry in report.entries() if entry[0] != "accuracy"]
    accuracy = ("accuracy", draw_interval(report.accuracy, report.accuracy_interval))
    parts = [make_pairs([figures[0], accuracy, *figures[1:]])]
    if 1 < len(report.classes) <= MAX_TABLE_CLASSES:
        parts.append(make_confusion_table(report.classes, report.confusion))
        parts.append(make_table(CLASS_HEADINGS, report.by_class(), "each class"))
    return wrap_for_notebook(*parts, make_list(report.notes()))
