"""`deciban plot confusion`, `reliability`, `roc`, `learning`, `comparison` and `dependence`: drawn measurements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from deciban.cli import compare, evaluate
from deciban.cli import dependence as dependence_command
from deciban.cli import learning as learning_command
from deciban.cli import options as a
from deciban.cli.error_handling import status
from deciban.cli.plot.picture_options import To, draws_picture
from deciban.cli.train import Calibrate

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput
    from deciban.metrics.report import Report

OtherModel = Annotated[
    Path | None,
    typer.Option(
        "--other-model", metavar="MODEL", help="Draw this model on the same rows too, next to that of --model."
    ),
]
OtherModelAlias = Annotated[Path | None, typer.Option("--beside", hidden=True)]
Figure = Annotated[
    Literal["accuracy", "log-loss"],
    typer.Option("--figure", metavar="accuracy|log-loss", help="Which figure is drawn."),
]
Order = Annotated[
    Literal["table", "alike"],
    typer.Option(
        "--order",
        metavar="table|alike",
        help="The order of columns: as in the table, or with dependent columns next to each other.",
    ),
]
DECISION_OPTIONS = ("cost", "reject", "threshold", "want", "choose")
"""The options of `evaluate` that do not change the report."""

draws_report = partial(draws_picture, options_of=evaluate.command, without=DECISION_OPTIONS)
"""A decorator that gives a picture the options of `evaluate`."""


@draws_report(
    "Which classes are confused.",
    "deciban plot confusion patients.csv --target diagnosis -o confusion.png",
    "deciban plot confusion next-year.csv --model patients.deciban -o confusion.svg",
)
def confusion(to: To, **options: Any) -> None:
    """Draw which classes are confused: rows by true and by predicted class, with their shares."""
    _draw_measured("confusion", to, options, evaluate.evaluate, partial(_describe_report, "the confusion"))


@draws_report(
    "Hits against false alarms, for every threshold.",
    "deciban plot roc patients.csv --target diagnosis --folds 10 -o roc.png",
)
def roc(to: To, **options: Any) -> None:
    """Draw hits against false alarms for every threshold, with the area under the curve; of more than two classes, of
    each against all others.
    """
    _draw_measured("roc", to, options, evaluate.evaluate, partial(_describe_report, "the ROC"))


def _describe_report(measure: str, report: Report) -> str:
    return f"{measure} of {len(report.classes)} classes, by {report.rows} rows"


def _draw_measured(
    name: str,
    to: To,
    options: Mapping[str, Any],
    measure: Callable[..., Any],
    describe: Callable[[Any], str],
    **arguments: Any,
) -> None:
    """Measure as another command does, draw by the function `name` of `deciban.plots`, and write; a file that cannot
    be written is refused first.
    """
    from deciban import plots
    from deciban.cli.inputs import open_table

    with open_table(options) as table:
        picture = to([*table.paths, *([options["model"]] if options.get("model") else [])])
        measured = measure(table, options)
        with status("drawing …"):
            drawn = getattr(plots, name)(measured, **arguments)
        picture.save(drawn, describe(measured))


@draws_report(
    "Predicted probabilities against observed frequencies.",
    "deciban plot reliability patients.csv --target diagnosis -o reliability.png",
    "deciban plot reliability patients.csv --target diagnosis --calibrate auto -o before-and-after.png",
    "deciban plot reliability next-year.csv --model plain.deciban --other-model calibrated.deciban -o two.svg",
)
def reliability(
    to: To,
    other_model: OtherModel = None,
    calibrate: Calibrate = None,
    beside: OtherModelAlias = None,
    **options: Any,
) -> None:
    """Draw how often predictions are right against their predicted probability, and how frequent each probability is;
    with --calibrate before and after calibration.
    """
    from deciban import plots
    from deciban.cli.inputs import open_table

    with open_table(options) as table:
        models = [path for path in (options["model"], other_model or beside) if path is not None]
        if models and options["model"] is None:
            raise typer.BadParameter(
                "--other-model is for --model: it names another model to evaluate on the same rows"
            )
        picture = to([*table.paths, *models])
        if calibrate:
            reports = _reports_of_calibration(table, options, calibrate)
        else:  # of one model or cross-validation under an empty name, of two models under their names
            each = {str(path): {"model": path} for path in models} if len(models) == 2 else {"": {}}
            unset = {**options, "calibrate": None}
            reports = {name: evaluate.evaluate(table, {**unset, **model}) for name, model in each.items()}
        with status("drawing …"):
            ax = plots.reliability(*reports.values(), names=list(reports) if len(reports) > 1 else None)
        rows = next(iter(reports.values())).rows
        picture.save(ax, f"the reliability of {' and '.join(filter(None, reports)) or 'a model'}, by {rows} rows")


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
    """Train a model and return the report of its evaluation on held-out rows."""
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


@draws_picture(
    "The quality of a model by how many rows it has learned.",
    "deciban plot learning patients.csv --target diagnosis -o learning.png",
    "deciban plot learning patients.csv --target diagnosis --flipped 0,0.1,0.2 --figure log-loss -o noise.svg",
    options_of=learning_command.command,
)
def learning(to: To, figure: Figure = "accuracy", **options: Any) -> None:
    """Draw the quality of models of more and more rows on the same held-out rows; with --flipped a curve for each
    share of wrong labels.
    """

    def describe(curve: Any) -> str:
        return f"the {figure} of {len(curve.points)} models by {curve.held_out} rows held out"

    metric = figure.replace("-", "_")
    _draw_measured("learning", to, options, learning_command.measure_curve, describe, figure=metric)


@draws_picture(
    "Learners side by side, by how many rows they learn.",
    "deciban plot comparison patients.csv --target diagnosis -o learners.png",
    "deciban plot comparison patients.csv --target diagnosis --learners bayes,logistic --figure log-loss -o two.svg",
    options_of=compare.command,
    without=("times",),
)
def comparison(to: To, figure: Figure = "accuracy", **options: Any) -> None:
    """Draw how much worse each learner is than the best, and the quality of each by how many rows it has learned."""

    def describe(found: Any) -> str:
        return f"the {figure} of {len(found)} learners, by {len(found.weight)} rows"

    metric = figure.replace("-", "_")
    _draw_measured("comparison", to, options, compare.compare_learners, describe, figure=metric)


@draws_picture(
    "How strongly columns depend on each other, given the class.",
    "deciban plot dependence patients.csv --target diagnosis -o dependence.png",
    "deciban plot dependence wide.parquet --target y --order alike -o dependence.svg",
    options_of=dependence_command.command,
    without=("most",),
)
def dependence(to: To, order: Order = "table", **options: Any) -> None:
    """Draw the mutual information of every two columns: below the diagonal given the class, which naive Bayes assumes
    to be zero, above it without the class.
    """

    def describe(found: Any) -> str:
        return f"the dependence of {len(found.features)} features, by {found.rows} rows"

    _draw_measured("dependence", to, options, dependence_command.measure_dependence, describe, order=order)
