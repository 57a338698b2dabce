"""What is shown after training: rows and classes, roles with reasons, quality, the strongest columns, what next."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from deciban.cli.output import format_file_size
from deciban.cli.render import (
    command,
    console,
    count,
    format_row_count,
    heading,
    line,
    one_line,
    pairs,
    quoted,
    short,
    table,
)
from deciban.cli.report_screen import quality
from deciban.formatting import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from deciban.metrics.report import Report
    from deciban.model.description import ColumnNote, Description
    from deciban.model.model import Model

MOST_CLASSES, MOST_COLUMNS, STRONGEST, BAR = 10, 30, 5, 16
"""Beyond so many columns they are listed by role."""

TELLTALES = 6
"""Words of each class in a report."""


def figures(model: Model, description: Description, path: str) -> dict[str, Any]:
    """Everything for a program."""
    held_out = None if model.held_out is None else model.held_out.to_dict()
    calibration = None if model.calibration is None else str(model.calibration)
    return {"model": path, **description.to_dict(), "held_out": held_out, "calibration": calibration}


def report(
    model: Model,
    description: Description,
    path: str,
    named: bool,
    aside: bool,
    wished: bool,
    documents: bool,
    calibrated: bool = False,
) -> None:
    """Everything for a person; `aside` where standard output belongs to a program.

    `wished` says whether held-out quality was asked for, `documents` whether the rows were files or lines,
    `calibrated` whether calibration was asked for.
    """
    out = console(stderr=aside)
    _rows(out, model, description)
    heading(out, "Classes", f"of {one_line(model.target)}")
    classes(out, description)
    heading(out, "Columns", "and what each is taken for (--as COLUMN=ROLE changes it)")
    columns(out, description.columns)
    heading(out, "Held out", "how well rows are predicted that were not learned from")
    if model.held_out is not None:
        quality(out, model.held_out)
        _calibration(out, model, model.held_out, calibrated)
    elif wished:
        _too_large(out, path)
    else:
        line(out, "not measured, as you said. deciban evaluate measures it")
    heading(out, "Strongest columns", "average evidence for the true class, with a 90 % interval")
    strongest(out, description, STRONGEST)
    telltales(out, model)
    _written(out, path, named, model, documents)


def _calibration(out: Console, model: Model, held_out: Report, wished: bool) -> None:
    """What mends the probabilities, or that something should."""
    from deciban.metrics.calibration_fit import is_clearly_miscalibrated

    if model.calibration is not None:
        pairs(out, [("calibration", str(model.calibration))])
    elif wished:
        pairs(out, [("calibration", "none: no map would lower the log-loss by more than its standard error")])
    elif is_clearly_miscalibrated(held_out):
        line(out, "(the probabilities are off by more than chance explains; --calibrate auto mends them)")


def _too_large(out: Console, path: str) -> None:
    """Why nothing was measured, and how it can be; `evaluate` in folds would meet the same wall."""
    line(
        out,
        "not measured: so many classes and levels are too much for ten ledgers at once, one for each tenth of the "
        "rows. Keep some rows out of the training, and judge the model by them:",
    )
    command(out, f"deciban evaluate HELD_OUT.csv --model {'MODEL' if path == '-' else quoted(path)}")


def _rows(out: Console, model: Model, description: Description) -> None:
    without = model.origin.rows_without_class
    left_out = f"; {format_row_count(without)} without {one_line(model.target)} left out" if without else ""
    weight = "" if model.weights is None else f", of weight {count(model.ledger.n_rows)}"
    learned = model.origin.rows_read - without
    words = f"{model.origin.source}: learned from {format_row_count(learned)}{weight}{left_out}"
    out.print(one_line(words), style="bold", soft_wrap=True)
    if model.account is not None:
        out.print(one_line(f"by {model.account}"), soft_wrap=True)


def classes(out: Console, description: Description) -> None:
    """Each class with its rows and its share."""
    shown = sorted(description.classes, key=lambda share: -share.weight)[:MOST_CLASSES]
    body = [[share.label, count(share.weight), f"{100 * share.prior:.1f} %"] for share in shown]
    table(out, ["class", "rows", "prior"], body, right=[1, 2])
    if len(description.classes) > len(shown):
        line(out, f"… and {len(description.classes) - len(shown)} classes more")


def columns(out: Console, notes: Sequence[ColumnNote]) -> None:
    """Each column with its role and the reason; a wide table by role."""
    if len(notes) > MOST_COLUMNS:
        by_role(out, notes)
        return
    body = [[note.name, note.role, note.reason + missing(note)] for note in notes]
    table(out, ["column", "role", "why"], body, wide=2)


def by_role(out: Console, notes: Sequence[ColumnNote]) -> None:
    """How many columns have each role, and the first of them."""
    roles: dict[str, list[str]] = {}
    for note in notes:
        roles.setdefault(note.role, []).append(note.name)
    found = sorted(roles.items(), key=lambda item: -len(item[1]))
    shown = {
        role: ", ".join(short(name, 20) for name in names[:8]) + (" …" if len(names) > 8 else "")
        for role, names in found
    }
    pairs(out, [(f"{len(roles[role])} {role}", words) for role, words in shown.items()])
    line(out, "deciban inspect shows them all, with reasons")


def missing(note: ColumnNote) -> str:
    """How much of a column is missing."""
    if not note.missing:
        return ""
    return f"; {100 * note.missing:.0f}% missing" if note.missing >= 0.1 else f"; {100 * note.missing:.2g}% missing"


def strongest(out: Console, description: Description, most: int) -> None:
    """The columns that tell the classes apart best."""
    shown = description.strongest[:most]
    largest = max([s.evidence for s in shown if math.isfinite(s.evidence)] + [1e-9])
    trusted = any(s.trust is not None for s in shown)
    body = [
        [
            s.feature,
            *([number(s.trust or 0.0, 2)] if trusted else []),
            f"{number(s.evidence, 2)} dB",
            f"({number(s.low, 2)} … {number(s.high, 2)})",
            bar(s.evidence, largest),
        ]
        for s in shown
    ]
    names = ["column", *(["trust"] if trusted else []), "evidence", "90 % sure", ""]
    table(out, names, body, right=[1, 2] if trusted else [1])
    line(out, "dB is decibans: 10 is ten to one, 3 about two to one.")


def bar(evidence: float, largest: float) -> str:
    """Evidence as a length; without end, as where something is called impossible, it is the longest there is."""
    return "" if math.isnan(evidence) else "█" * round(BAR * min(1.0, max(0.0, evidence / largest)))


def telltales(out: Console, model: Model) -> None:
    """The most telling words of each class, in a line; where there are many classes, of the first."""
    if model.options.words.hashed is not None:
        return
    for text in model.layout.texts:
        where = f", in {one_line(text.column)}" if len(model.layout.texts) > 1 else ""
        heading(out, "Telltales", f"of each class, the most telling first{where}")
        shown = model.classes[:MOST_CLASSES]
        body = [[label, ", ".join(_words(model, label, text.column))] for label in shown]
        table(out, ["class", "words"], body, wide=1)
        if len(model.classes) > len(shown):
            line(out, f"… and {len(model.classes) - len(shown)} classes more")


def _words(model: Model, label: Any, column: str) -> list[str]:
    from deciban.scores.passages import word_shown

    found = [word_shown(word.word) for word in model.telltales(label, TELLTALES, column) if word.decibans > 0]
    return [short(word, 20) for word in found] or ["–"]


def _written(out: Console, path: str, named: bool, model: Model, documents: bool) -> None:
    if path == "-":
        return
    heading(out, "Written")
    note = "" if named else "; -o names another file"
    line(out, f"{path} ({format_file_size(path)}{note})")
    heading(out, "Next")
    new = "NEW.txt --format text" if documents else "NEW.csv"
    for words in ("predict", "explain"):
        command(out, f"deciban {words} {quoted(path)} {new}")
    for words in ("telltales", "inspect") if model.layout.texts else ("inspect",):
        command(out, f"deciban {words} {quoted(path)}")
