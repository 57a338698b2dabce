"""Reports as `deciban evaluate` makes them, for pictures of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import typer

from deciban.cli import evaluate
from deciban.cli.plot.picture_options import To
from deciban.cli.plot.shared_options import borrowing, table_of, wishes

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput
    from deciban.metrics.report import Report

DECIDING = ("cost", "reject", "threshold", "want", "choose")
"""Options of `evaluate` that change what is told, and not the report."""

judging = borrowing(evaluate.command, *DECIDING)
"""Gives a picture the options of `evaluate`."""

APART = ("target", "model", "weights", "allow_missing_columns")


def draw(options: Mapping[str, Any], to: To, drawn: Callable[[Report], Any], what: str) -> None:
    """Judge, draw and write; whatever cannot be written is refused before."""
    from deciban.cli.error_handling import status

    with table_of(options) as table:
        model = options["model"]
        picture = to([*table.paths, *([model] if model else [])])
        report = report_on(table, options)
        with status("drawing …"):
            ax = drawn(report)
        picture.save(ax, f"{what} of {len(report.classes)} classes, by {report.rows} rows")


def report_on(table: TableInput, options: Mapping[str, Any], **more: Any) -> Report:
    """The report that `deciban evaluate` gives with these options."""
    from deciban.cli.train import find_target

    wished = {**wishes(options, *APART), **more}
    target, model, weights, allow = (options[name] for name in APART)
    if model is not None:
        evaluate.check_alone(target, wished)
        return evaluate.judged(table, model, weights, allow)
    if allow:
        raise typer.BadParameter("--allow-missing-columns is for --model: training takes the columns there are")
    return evaluate.in_folds(table, find_target(table, target, options["classes"]), weights, wished)
