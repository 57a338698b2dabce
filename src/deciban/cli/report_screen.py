"""Held-out quality on the screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deciban.cli.render import count, heading, line, pairs, short, table
from deciban.formatting import percent
from deciban.metrics.report import MAX_LISTED_CLASSES

if TYPE_CHECKING:
    from rich.console import Console

    from deciban.metrics.report import Report
    from deciban.metrics.thresholds import DecisionCosts, Threshold

MOST_SHOWN = 8
"""Up to so many classes the confusion is shown."""

WORST_SHOWN = 5

LEFT_OUT = ("rows", "balanced accuracy", "Brier score", "area under ROC")
"""What is told only where judging is all that was asked for."""


def quality(out: Console, report: Report, confusion: bool = False) -> None:
    """Accuracy, log-loss and calibration with what they rest on; and which classes are taken for which."""
    entries = [entry for entry in report.entries() if entry[0] not in LEFT_OUT or confusion]
    pairs(out, entries)
    for note in report.notes():
        line(out, f"({note})")
    if confusion and len(report.classes) > 1:
        _by_class(out, report)
        _confusion(out, report)


def decisions(out: Console, decided: DecisionCosts | None, wanted: Sequence[Threshold]) -> None:
    """What deciding as asked for would have cost, and from where on to call a class."""
    if decided is not None:
        heading(out, "Decisions", "with the least expected cost")
        usual = f"calling the most probable class: {decided.cost_of_most_probable:.4f}"
        entries = [("cost a row", f"{decided.cost:.4f} ({usual})"), ("undecided", percent(decided.undecided, 2))]
        pairs(out, [*entries, ("accuracy of the others", percent(decided.accuracy, 2))])
    if wanted:
        heading(out, "Thresholds", "predict --threshold CLASS=P; 95 % sure in brackets")
        body = [
            [found.label, found.probability_text, *(
                f"{percent(share)} ({100 * low:.1f} to {100 * high:.1f})"
                for share, (low, high) in (
                    (found.precision, found.precision_interval), (found.recall, found.recall_interval)
                )
            )]
            for found in wanted
        ]  # fmt: skip
        table(out, ["class", "from p", "precision", "recall"], body, right=range(1, 4))


def _by_class(out: Console, report: Report) -> None:
    if len(report.classes) > MAX_LISTED_CLASSES:
        return
    heading(out, "Classes", "precision: of the rows called so; recall: of the rows that are so")
    told = zip(report.by_class(), report.rows_by_class)
    body = [[label, *cells[:-1], count(rows)] for (label, *cells), rows in told]
    table(out, ["class", "precision", "recall", "F1", "rows"], body, right=range(1, 5))


def _confusion(out: Console, report: Report) -> None:
    if len(report.classes) > MOST_SHOWN:
        heading(out, "Most often confused")
        body = [[truth, short(called, 30), rows] for truth, called, rows in worst(report)]
        table(out, ["truth", "called", "rows"], body, right=[2])
        return
    heading(out, "Confusion", "truth by line, what was called by column")
    body = []
    for k, (label, counts) in enumerate(zip(report.classes, report.confusion)):
        share = percent(counts[k] / counts.sum()) if counts.sum() else "–"
        body.append([label, *(count(n) for n in counts), share])
    room = max(5, 40 // len(report.classes))
    table(
        out,
        ["", *(short(str(label), room) for label in report.classes), "right"],
        body,
        right=range(1, len(report.classes) + 2),
    )


def worst(report: Report) -> list[tuple[str, str, str]]:
    """The pairs of classes that are mistaken for one another most often."""
    wrong = [
        (float(n), str(report.classes[k]), str(report.classes[l]))
        for k, counts in enumerate(report.confusion)
        for l, n in enumerate(counts)
        if k != l and n > 0
    ]
    return [(truth, called, count(n)) for n, truth, called in sorted(wrong, reverse=True)[:WORST_SHOWN]]
