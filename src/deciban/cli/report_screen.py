"""Reports on the screen: what training has learned, and the quality on held-out rows."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from deciban.cli.render import Screen, shorten, to_one_line
from deciban.cli.training_options import quote_word
from deciban.formatting import format_count, format_number, format_percent, format_size, format_word
from deciban.metrics.report import MAX_CONFUSION_CLASSES, MAX_LISTED_CLASSES

if TYPE_CHECKING:
    from deciban.metrics.ranking import DecisionCosts, Threshold
    from deciban.metrics.report import Report
    from deciban.model.description import ColumnNote, Description
    from deciban.model.model import Model

MAX_CONFUSED_PAIRS = 5
"""The number of pairs of classes shown for more classes: those that are confused most often."""

MAX_SCREEN_CLASSES = 10
"""The number of classes that are listed."""

MAX_SCREEN_COLUMNS = 30
"""The largest number of columns that are listed one by one; more are listed by role."""

STRONGEST_COLUMNS = 5
"""The number of strongest columns in the report of training."""

STRENGTH_BAR_WIDTH = 16
"""The characters of the longest bar of evidence."""

TELLTALES_PER_CLASS = 6
"""The number of words of each class in the report of training."""

EVALUATION_ENTRIES = ("rows", "balanced accuracy", "Brier score", "area under ROC")
"""The entries of a report that are shown by `evaluate` alone."""


def show_quality(out: Screen, report: Report, confusion: bool = False) -> None:
    """Print accuracy, log-loss and calibration with notes, and on request figures by class and the confusion."""
    entries = [entry for entry in report.entries() if entry[0] not in EVALUATION_ENTRIES or confusion]
    out.print_pairs(entries)
    for note in report.notes():
        out.print_line(f"({note})")
    if confusion and len(report.classes) > 1:
        _show_figures_by_class(out, report)
        _show_confusion(out, report)


def show_decisions(out: Screen, costs: DecisionCosts | None, thresholds: Sequence[Threshold]) -> None:
    """Print the costs of decisions, and the thresholds for a precision or recall."""
    if costs is not None:
        out.print_heading("Decisions", "of the least expected cost")
        usual = f"predicting the most probable class: {costs.cost_of_most_probable:.4f}"
        entries = [("cost per row", f"{costs.cost:.4f} ({usual})"), ("undecided", format_percent(costs.undecided, 2))]
        out.print_pairs([*entries, ("accuracy of the others", format_percent(costs.accuracy, 2))])
    if thresholds:
        out.print_heading("Thresholds", "predict --threshold CLASS=P; 95 % intervals in brackets")
        body = [
            [found.label, found.probability_text, *(
                f"{format_percent(share)} ({100 * low:.1f} to {100 * high:.1f})"
                for share, (low, high) in (
                    (found.precision, found.precision_interval), (found.recall, found.recall_interval)
                )
            )]
            for found in thresholds
        ]  # fmt: skip
        out.print_table(["class", "from p", "precision", "recall"], body, right=range(1, 4))


def _show_figures_by_class(out: Screen, report: Report) -> None:
    """Print precision, recall, F1 and rows of each class; nothing if there are many classes."""
    if len(report.classes) > MAX_LISTED_CLASSES:
        return
    out.print_heading("Classes", "precision: of the rows predicted so; recall: of the rows that are so")
    figures = zip(report.by_class(), report.rows_by_class)
    body = [[label, *cells[:-1], format_count(rows)] for (label, *cells), rows in figures]
    out.print_table(["class", "precision", "recall", "F1", "rows"], body, right=range(1, 5))


def _show_confusion(out: Screen, report: Report) -> None:
    """Print the confusion matrix; of many classes the pairs that are confused most often."""
    if len(report.classes) > MAX_CONFUSION_CLASSES:
        wrong = [
            (float(n), str(report.classes[k]), str(report.classes[l]))
            for k, counts in enumerate(report.confusion)
            for l, n in enumerate(counts)
            if k != l and n > 0
        ]
        most = sorted(wrong, reverse=True)[:MAX_CONFUSED_PAIRS]
        out.print_heading("Most often confused")
        body = [[truth, shorten(called, 30), format_count(n)] for n, truth, called in most]
        out.print_table(["true class", "predicted", "rows"], body, right=[2])
        return
    out.print_heading("Confusion", "a line for each true class, a column for each predicted class")
    body = []
    for k, (label, counts) in enumerate(zip(report.classes, report.confusion)):
        share = format_percent(counts[k] / counts.sum()) if counts.sum() else "–"
        body.append([label, *(format_count(n) for n in counts), share])
    width = max(5, 40 // len(report.classes))
    head = ["", *(shorten(str(label), width) for label in report.classes), "right"]
    out.print_table(head, body, right=range(1, len(head)))


def show_training(
    model: Model, description: Description, path: str, *, is_named: bool, to_stderr: bool, measured: bool,
    of_documents: bool, calibrate: str | None,
) -> None:  # fmt: skip
    """Print the report of training.

    `is_named` is true if the user named the file, `to_stderr` if standard output belongs to a program, `measured` if
    held-out quality was requested, and `of_documents` if the rows are files or lines; `calibrate` is the argument of
    `train`.
    """
    out = Screen(stderr=to_stderr)
    _print_training_title(out, model)
    out.print_heading("Classes", f"of {to_one_line(model.target)}")
    show_classes(out, description)
    out.print_heading("Columns", "and the role of each (--as COLUMN=ROLE changes it)")
    show_columns(out, description.columns)
    show_markers(out, description)
    out.print_heading("Held out", "quality on rows that were not learned from")
    if model.held_out is not None:
        show_quality(out, model.held_out)
        _show_calibration(out, model, model.held_out, calibrate)
    elif measured:  # `evaluate` in folds would fail for the same reason
        out.print_line(
            "not measured: with so many classes and levels, the ledgers of ten folds do not fit into memory. Keep "
            "some rows out of the training, and evaluate the model on them:",
        )
        out.print_command(f"deciban evaluate HELD_OUT.csv --model {'MODEL' if path == '-' else quote_word(path)}")
    else:
        out.print_line("not measured (--no-judge). deciban evaluate measures it")
    out.print_heading("Strongest columns", "average evidence for the true class, with a 90 % interval")
    show_strongest(out, description, STRONGEST_COLUMNS)
    show_telltales(out, model)
    _show_next_commands(out, path, is_named, model, of_documents)


def _show_calibration(out: Screen, model: Model, held_out: Report, calibrate: str | None) -> None:
    """Print the calibration of the model, or that it needs one."""
    from deciban.metrics.calibration_fit import is_clearly_miscalibrated

    if model.calibration is not None:
        out.print_pairs([("calibration", str(model.calibration))])
    elif calibrate == "none" and is_clearly_miscalibrated(held_out):  # by default it was tried
        out.print_line("(the probabilities are off by more than chance explains; --calibrate auto corrects them)")


def _print_training_title(out: Screen, model: Model) -> None:
    """Print the table and the number of its rows learned and left out; then the learner, unless it is naive Bayes."""
    without = model.origin.rows_without_class
    left_out = f"; {format_count(without, 'row')} without {to_one_line(model.target)} left out" if without else ""
    weight = "" if model.weights is None else f", of weight {format_count(model.ledger.n_effective)}"
    learned = format_count(model.origin.rows_read - without, "row")
    out.print_title(f"{model.origin.source}: learned from {learned}{weight}{left_out}")
    if model.account is not None:
        out.print(to_one_line(f"by {model.account}"), soft_wrap=True)


def show_classes(out: Screen, description: Description) -> None:
    """Print each class with its rows and its prior."""
    shown = sorted(description.classes, key=lambda share: -share.weight)[:MAX_SCREEN_CLASSES]
    body = [[share.label, format_count(share.weight), f"{100 * share.prior:.1f} %"] for share in shown]
    out.print_table(["class", "rows", "prior"], body, right=[1, 2])
    if len(description.classes) > len(shown):
        out.print_line(f"… and {format_count(len(description.classes) - len(shown), 'more class')}")


def show_columns(out: Screen, notes: Sequence[ColumnNote], most: int = MAX_SCREEN_COLUMNS) -> None:
    """Print each column with its role and the reason; of more than `most` columns how many have each role, and the
    first of them.
    """
    if len(notes) <= most:
        body = [[note.name, note.role, note.reason + _format_missing(note)] for note in notes]
        out.print_table(["column", "role", "why"], body, wide=2)
        return
    roles: dict[str, list[str]] = {}
    for note in notes:
        roles.setdefault(note.role, []).append(shorten(note.name, 20))
    entries = [
        (f"{len(names)} {role}", ", ".join(names[:8]) + (" …" if len(names) > 8 else ""))
        for role, names in sorted(roles.items(), key=lambda item: -len(item[1]))
    ]
    out.print_pairs(entries)
    out.print_line("deciban inspect shows them all, with reasons")


def show_markers(out: Screen, description: Description) -> None:
    """Print which texts were read as missing, in how many cells of which columns."""
    lines = description.format_markers()
    for line in lines:
        out.print_line(line)
    if lines:
        out.print_line("(--keep-markers takes them for values, except among numbers and dates)")


def _format_missing(note: ColumnNote) -> str:
    """Format the share of missing values of a column; empty if none is missing."""
    if not note.missing:
        return ""
    return f"; {100 * note.missing:.0f}% missing" if note.missing >= 0.1 else f"; {100 * note.missing:.2g}% missing"


def show_strongest(out: Screen, description: Description, most: int) -> None:
    """Print the `most` columns with the strongest evidence for the true class, in decibans, with intervals."""
    shown = description.strongest[:most]
    largest = max([s.evidence for s in shown if math.isfinite(s.evidence)] + [1e-9])
    is_weighted = any(s.trust is not None for s in shown)
    body = [
        [
            s.feature,
            *([format_number(s.trust or 0.0, 2)] if is_weighted else []),
            f"{format_number(s.evidence, 2)} dB",
            f"({format_number(s.low, 2)} … {format_number(s.high, 2)})",
            _draw_strength_bar(s.evidence, largest),
        ]
        for s in shown
    ]
    names = ["column", *(["weight"] if is_weighted else []), "evidence", "90 % interval", ""]
    out.print_table(names, body, right=[1, 2] if is_weighted else [1])
    out.print_line("dB is decibans: 10 is ten to one, 3 about two to one.")


def _draw_strength_bar(evidence: float, largest: float) -> str:
    """Draw average evidence as a bar; infinite evidence, of something impossible, has the longest bar."""
    return "" if math.isnan(evidence) else "█" * round(STRENGTH_BAR_WIDTH * min(1.0, max(0.0, evidence / largest)))


def show_telltales(out: Screen, model: Model) -> None:
    """Print the telltales of each class, of the first classes if there are many; nothing where words are hashed."""
    if model.options.words.hashed is not None:
        return
    for text in model._layout.texts:
        where = f", in {to_one_line(text.column)}" if len(model._layout.texts) > 1 else ""
        out.print_heading("Telltales", f"of each class, the strongest first{where}")
        shown = model.classes[:MAX_SCREEN_CLASSES]
        body = [[label, ", ".join(_list_telltales(model, label, text.column))] for label in shown]
        out.print_table(["class", "words"], body, wide=1)
        if len(model.classes) > len(shown):
            out.print_line(f"… and {format_count(len(model.classes) - len(shown), 'more class')}")


def _list_telltales(model: Model, label: Any, column: str) -> list[str]:
    """Return the words of a column that are the strongest evidence for a class; a dash if there are none."""
    words = model.telltales(label, TELLTALES_PER_CLASS, column)
    return [shorten(format_word(word.word), 20) for word in words if word.decibans > 0] or ["–"]


def _show_next_commands(out: Screen, path: str, is_named: bool, model: Model, of_documents: bool) -> None:
    """Print the file that was written, and commands that use it; nothing for standard output."""
    if path == "-":
        return
    out.print_heading("Written")
    note = "" if is_named else "; -o names another file"
    out.print_line(f"{path} ({format_size(os.path.getsize(path))}{note})")
    out.print_heading("Next")
    new = "NEW.txt" if of_documents else "NEW.csv"
    for words in ("predict", "explain"):
        out.print_command(f"deciban {words} {quote_word(path)} {new}")
    for words in ("telltales", "inspect") if model._layout.texts else ("inspect",):
        out.print_command(f"deciban {words} {quote_word(path)}")
