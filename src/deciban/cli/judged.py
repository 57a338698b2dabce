"""Held-out quality on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deciban.cli.sheet import count, heading, line, pairs, short, table

if TYPE_CHECKING:
    from rich.console import Console

    from deciban.judge.report import Report

MOST_SHOWN = 8
"""Up to so many classes the confusion is shown."""

WORST_SHOWN = 5


def quality(out: Console, report: Report, confusion: bool = False) -> None:
    """Accuracy, log-loss and calibration with what they rest on; and which classes are taken for which."""
    entries = [entry for entry in report.entries() if entry[0] not in ("rows", "Brier score") or confusion]
    pairs(out, entries)
    for note in report.notes():
        line(out, f"({note})")
    if confusion and len(report.classes) > 1:
        _confusion(out, report)


def _confusion(out: Console, report: Report) -> None:
    if len(report.classes) > MOST_SHOWN:
        heading(out, "Most often confused")
        body = [[truth, short(called, 30), rows] for truth, called, rows in worst(report)]
        table(out, ["truth", "called", "rows"], body, right=[2])
        return
    heading(out, "Confusion", "truth by line, what was called by column")
    body = []
    for k, (label, counts) in enumerate(zip(report.classes, report.confusion)):
        share = f"{100 * counts[k] / counts.sum():.1f} %" if counts.sum() else "–"
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
