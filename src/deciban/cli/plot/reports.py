"""`deciban plot confusion`, `reliability` and `roc`: pictures of reports as `deciban evaluate` computes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli import evaluate
from deciban.cli import options as a
from deciban.cli.error_handling import status
from deciban.cli.plot.picture_options import To, draws_picture
from deciban.cli.train import Calibrate

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput
    from deciban.metrics.report import Report

CONFUSION = a.example(
    "deciban plot confusion patients.csv --target diagnosis -o confusion.png",
    "deciban plot confusion next-year.csv --model patients.deciban -o confusion.svg",
)
ROC = a.example("deciban plot roc patients.csv --target diagnosis --folds 10 -o roc.png")
RELIABILITY = a.example(
    "deciban plot reliability patients.csv --target diagnosis -o reliability.png",
    "deciban plot reliability patients.csv --target diagnosis --calibrate auto -o before-and-after.png",
    "deciban plot reliability next-year.csv --model plain.deciban --beside calibrated.deciban -o two.svg",
)
OtherModel = Annotated[
    Path | None,
    typer.Option("--beside", metavar="MODEL", help="Draw this model on the same rows too, next to that of --model."),
]
DECISION_OPTIONS = ("cost", "reject", "threshold", "want", "choose")
"""The options of `evaluate` that do not change the report."""

draws_report = a.with_options_of(evaluate.command, without=DECISION_OPTIONS)
"""A decorator that gives a picture the options of `evaluate`."""


@draws_report
@draws_picture
def confusion(to: To, **options: Any) -> None:
    """Draw which classes are confused: rows by true and by predicted class, with their shares."""

    def draw(report: Report) -> Any:
        from deciban.plots import confusion

        return confusion(report)

    _draw_report(options, to, draw, "the confusion")


@draws_report
@draws_picture
def roc(to: To, **options: Any) -> None:
    """Draw hits against false alarms for every threshold, with the area under the curve; of more than two classes, of
    each against all others.
    """

    def draw(report: Report) -> Any:
        from deciban.plots import roc

        return roc(report)

    _draw_report(options, to, draw, "the ROC")


def _draw_report(options: Mapping[str, Any], to: To, draw: Callable[[Report], Any], content: str) -> None:
    """Evaluate, draw and write; a file that cannot be written is refused first."""
    from deciban.cli.inputs import open_table

    with open_table(options) as table:
        picture = to([*table.paths, *([options["model"]] if options["model"] else [])])
        report = evaluate.evaluate(table, options)
        with status("drawing …"):
            ax = draw(report)
        picture.save(ax, f"{content} of {len(report.classes)} classes, by {report.rows} rows")


@draws_report
@draws_picture
def reliability(to: To, other: OtherModel = None, calibrate: Calibrate = None, **options: Any) -> None:
    """Draw how often predictions are right against their predicted probability, and how frequent each probability is;
    with --calibrate before and after calibration.
    """
    from deciban.cli.inputs import open_table
    from deciban.plots import reliability

    with open_table(options) as table:
        if other is not None and options["model"] is None:
            raise typer.BadParameter("--beside is for --model: it names another model to evaluate on the same rows")
        models = [path for path in (options["model"], other) if path is not None]
        picture = to([*table.paths, *models])
        reports = (
            _reports_of_calibration(table, options, calibrate)
            if calibrate
            else _reports_of_models(table, {**options, "calibrate": None}, models)
        )
        with status("drawing …"):
            ax = reliability(*reports.values(), names=list(reports) if len(reports) > 1 else None)
        rows = next(iter(reports.values())).rows
        picture.save(ax, f"the reliability of {' and '.join(filter(None, reports)) or 'a model'}, by {rows} rows")


def _reports_of_models(table: TableInput, options: Mapping[str, Any], models: list[Path]) -> dict[str, Report]:
    """Evaluate each of two models; or evaluate the one model, or cross-validate, under an empty name."""
    if len(models) < 2:
        return {"": evaluate.evaluate(table, options)}
    return {str(path): evaluate.evaluate(table, {**options, "model": path}) for path in models}


def _reports_of_calibration(table: TableInput, options: Mapping[str, Any], method: str) -> dict[str, Report]:
    """Evaluate training before and after calibration: each row by a model and a map fitted without its fold."""
    for name in ("model", "folds", "groups", "order"):
        if options[name] is not None:
            raise typer.BadParameter(
                f"--calibrate evaluates in the ten folds of training, so --{name} cannot be given"
            )
    methods = {"uncalibrated": None, f"calibrated ({method})": method}
    return {name: _train(table, {**options, "calibrate": which}) for name, which in methods.items()}


def _train(table: TableInput, options: Mapping[str, Any]) -> Report:
    import deciban
    from deciban.cli.progress import progress
    from deciban.cli.training_options import find_target, training_arguments
    from deciban.errors import InputError

    target, arguments = find_target(table, options), training_arguments(a.select_options(options, "calibrate"))
    with progress(table, "learning") as rows:
        model = deciban.train(table.source, target=target, progress=rows, **table.reading, **arguments)
    if model.held_out is None:
        raise InputError(
            f"{table.name} cannot be evaluated in training, so there is nothing to draw before and after"
        )
    return model.held_out
