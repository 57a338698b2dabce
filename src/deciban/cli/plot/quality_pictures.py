"""`deciban plot confusion`, `reliability`, `roc`, `learning`, `comparison` and `dependence`: drawn measurements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deciban.cli import compare, evaluate
from deciban.cli.error_handling import show_spinner
from deciban.cli.inputs import TableInput, open_table
from deciban.cli.parser import choice, option, without
from deciban.cli.plot.picture_options import Picture, picture_command, plots
from deciban.cli.training_options import call_on_table
from deciban.errors import InputError, UsageError
from deciban.formatting import format_count

if TYPE_CHECKING:
    from deciban.metrics.report import Report

FIGURE = choice("--figure", "accuracy|log-loss", "Which figure is drawn.", default="accuracy")
DECISION_OPTIONS = ("cost", "reject", "threshold", "want", "choose")
"""The options of `evaluate` that do not change the report."""

REPORT_OPTIONS = without(evaluate.evaluate.arguments, *DECISION_OPTIONS, "json", "debug")
"""The options of `evaluate` that a picture of its report has."""


@picture_command(
    *REPORT_OPTIONS,
    examples=[
        "deciban plot confusion patients.csv --target diagnosis -o confusion.png",
        "deciban plot confusion next-year.csv --model patients.deciban -o confusion.svg",
    ],
)
def confusion(picture: Picture, **options: Any) -> None:
    """Draw which classes are confused: rows by true and by predicted class, with their shares."""
    _draw_measured("confusion", picture, options, evaluate.evaluate_table, partial(_describe_report, "the confusion"))


@picture_command(*REPORT_OPTIONS, examples=["deciban plot roc patients.csv --target diagnosis --folds 10 -o roc.png"])
def roc(picture: Picture, **options: Any) -> None:
    """Draw hits against false alarms for every threshold, with the area under the curve; of more than two classes, of
    each against all others.
    """
    _draw_measured("roc", picture, options, evaluate.evaluate_table, partial(_describe_report, "the ROC"))


def _describe_report(measure: str, report: Report) -> str:
    return f"{measure} of {format_count(len(report.classes), 'class')}, by {format_count(report.rows, 'row')}"


def _draw_measured(
    name: str, picture: Picture, options: Mapping[str, Any], measure: Callable[..., Any],
    describe: Callable[[Any], str], **arguments: Any,
) -> None:  # fmt: skip
    """Measure as another command does, draw by the function `name` of `deciban.plots`, and write; a file that cannot
    be written is refused first.
    """
    with open_table(options) as table:
        picture.check([*table.paths, *([options["model"]] if options.get("model") else [])])
        measured = measure(table, options)
        with show_spinner("drawing …"):
            drawn = getattr(plots, name)(measured, **arguments)
        picture.save(drawn, describe(measured))


@picture_command(
    option("--other-model", "MODEL", "Draw this model on the same rows too, next to that of --model.", type=Path)
    ._replace(former_names=("--beside",)),
    *REPORT_OPTIONS,
    examples=[
        "deciban plot reliability patients.csv --target diagnosis -o reliability.png",
        "deciban plot reliability patients.csv --target diagnosis --calibrate auto -o before-and-after.png",
        "deciban plot reliability next-year.csv --model plain.deciban --other-model calibrated.deciban -o two.svg",
    ],
)  # fmt: skip
def reliability(picture: Picture, other_model: Path | None, calibrate: str | None, **options: Any) -> None:
    """Draw how often predictions are right against their predicted probability, and how frequent each probability is;
    with --calibrate before and after calibration.
    """
    with open_table(options) as table:
        models = [path for path in (options["model"], other_model) if path is not None]
        if models and options["model"] is None:
            raise UsageError("--other-model is for --model: it names another model to evaluate on the same rows")
        picture.check([*table.paths, *models])
        if calibrate not in (None, "none"):
            reports = _evaluate_calibration(table, options, calibrate)
        else:  # of one model or cross-validation under an empty name, of two models under their names
            each = {str(path): {"model": path} for path in models} if len(models) == 2 else {"": {}}
            unset = {**options, "calibrate": None}
            reports = {name: evaluate.evaluate_table(table, {**unset, **model}) for name, model in each.items()}
        with show_spinner("drawing …"):
            ax = plots.reliability(*reports.values(), names=list(reports) if len(reports) > 1 else None)
        rows = format_count(next(iter(reports.values())).rows, "row")
        picture.save(ax, f"the reliability of {' and '.join(filter(None, reports)) or 'a model'}, by {rows}")


def _evaluate_calibration(table: TableInput, options: Mapping[str, Any], method: str) -> dict[str, Report]:
    """Return reports without and with calibration by their names, each row by a model and map without its fold."""
    for name in ("model", "folds", "groups", "order"):
        if options[name] is not None:
            raise UsageError(f"--calibrate evaluates in the ten folds of training, so --{name} cannot be given")
    reports = {}
    for name, which in (("uncalibrated", "none"), (f"calibrated ({method})", method)):
        names = ["calibrate", "structure", "seconds"]
        model = call_on_table("train", table, {**options, "calibrate": which}, names)
        if model.held_out is None:
            why = "cannot be evaluated in training, so there is nothing to draw before and after"
            raise InputError(f"{table.name} {why}")
        reports[name] = model.held_out
    return reports


@picture_command(
    FIGURE, *without(compare.learning.arguments, "json", "debug"),
    examples=[
        "deciban plot learning patients.csv --target diagnosis -o learning.png",
        "deciban plot learning patients.csv --target diagnosis --flipped 0,0.1,0.2 --figure log-loss -o noise.svg",
    ],
)  # fmt: skip
def learning(picture: Picture, figure: str, **options: Any) -> None:
    """Draw the quality of models of more and more rows on the same held-out rows; with --flipped a curve for each
    share of wrong labels.
    """
    _draw_measured(
        "learning", picture, options, compare.measure_curve,
        lambda curve: f"the {figure} of {format_count(len(curve.points), 'model')} by "
        f"{format_count(curve.held_out, 'row')} held out",
        figure=figure.replace("-", "_"),
    )  # fmt: skip


@picture_command(
    FIGURE, *without(compare.compare.arguments, "times", "json", "debug"),
    examples=[
        "deciban plot comparison patients.csv --target diagnosis --full -o learners.png",
        "deciban plot comparison patients.csv --target diagnosis --learners bayes,logistic --figure log-loss "
        "-o two.svg",
    ],
)  # fmt: skip
def comparison(picture: Picture, figure: str, **options: Any) -> None:
    """Draw how much worse each learner is than the best; with --full, --draws or --sizes, the quality of each by how
    many rows it has learned too.
    """
    _draw_measured(
        "comparison", picture, options, compare.compare_learners,
        lambda found: f"the {figure} of {format_count(len(found), 'learner')}, by "
        f"{format_count(len(found.weight), 'row')}",
        figure=figure.replace("-", "_"),
    )  # fmt: skip


@picture_command(
    choice("--order", "table|alike",
           "The order of columns: as in the table, or with dependent columns next to each other.", default="table"),
    *without(compare.dependence.arguments, "most", "json", "debug"),
    examples=[
        "deciban plot dependence patients.csv --target diagnosis -o dependence.png",
        "deciban plot dependence wide.parquet --target y --order alike -o dependence.svg",
    ],
)  # fmt: skip
def dependence(picture: Picture, order: str, **options: Any) -> None:
    """Draw the mutual information of every two columns: below the diagonal given the class, which naive Bayes assumes
    to be zero, above it without the class.
    """
    _draw_measured(
        "dependence", picture, options, compare.measure_dependence,
        lambda found: f"the dependence of {len(found.features)} features, by {format_count(found.rows, 'row')}",
        order=order,
    )  # fmt: skip
