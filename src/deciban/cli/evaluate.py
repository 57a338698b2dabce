"""`deciban evaluate`: the quality of a model on rows that it has not learned, and the choice among settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli import decision_options as d
from deciban.cli import options as a
from deciban.cli.error_handling import handle_errors
from deciban.cli.train import Calibrate

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput
    from deciban.metrics.choice import Choice
    from deciban.metrics.report import Report

EXAMPLE = a.example(
    "deciban evaluate patients.csv --target diagnosis --folds 10",
    "deciban evaluate next-year.csv --model patients.deciban",
    "deciban evaluate patients.csv --target diagnosis --want flu:precision=0.9",
)
ModelOption = Annotated[
    Path | None,
    typer.Option("--model", metavar="MODEL", help="Evaluate this model on DATA instead."),
]


def parse_folds(text: str) -> int | str:
    """Parse a number of folds, or the word loo."""
    if text == "loo":
        return text
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither a whole number nor loo (leave-one-out)") from None


Folds = Annotated[
    Any,
    typer.Option(
        "--folds",
        metavar="NUMBER|loo",
        parser=parse_folds,
        help="How many folds the rows are split into (default 10), or loo: leave-one-out.",
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(
        "--groups",
        metavar="COL",
        help="Keep rows with the same value in this column in one fold; it is not learned from.",
    ),
]
Order = Annotated[
    str | None,
    typer.Option(
        "--order",
        metavar="COL",
        help="Order the folds by this column (numbers, dates, texts): each fold is predicted from the rows before "
        "it. It is not learned from, unless --as gives it a role.",
    ),
]
Choose = Annotated[
    bool,
    typer.Option(
        "--choose",
        help="Try many settings on the same folds (pseudo-counts, Gaussians or bins, priors, shapes of covariance …) "
        "and recommend the best.",
    ),
]
FOLD_OPTIONS = ("folds", "groups", "order", "calibrate")
"""The options of cross-validation."""


@a.with_options_of(a.model_options, a.table_options)
def command(
    model: ModelOption = None,
    folds: Folds = None,
    groups: Groups = None,
    order: Order = None,
    calibrate: Calibrate = None,
    cost: d.Cost = None,
    reject: d.Reject = None,
    threshold: d.Threshold = None,
    want: d.Want = None,
    choose: Choose = False,
    allow_missing_columns: a.AllowMissing = False,
    json: a.AsJson = False,
    debug: a.Debug = False,
    **options: Any,
) -> None:
    """Measure quality on all rows: by cross-validation, or of a trained model on other rows."""
    from deciban.cli.inputs import open_table
    from deciban.cli.training_options import find_target

    options |= {
        "model": model, "folds": folds, "groups": groups, "order": order, "calibrate": calibrate,
        "allow_missing_columns": allow_missing_columns,
    }  # fmt: skip
    requests = d.DecisionRequests(cost, reject, threshold, want)
    with handle_errors(debug), open_table(options) as table:
        if choose:
            _check_choose(options, requests)
            _show_choice(choose_settings(table, options), table, options, json)
            return
        report = evaluate(table, options)
        title = (
            f"{model}, evaluated on rows that it may not have learned from"
            if model is not None
            else f"{find_target(table, options)} of {table.name}, predicted for rows not learned from"
        )
        show(report, title, json, requests)


def evaluate(table: TableInput, options: Mapping[str, Any]) -> Report:
    """Evaluate the model of --model on a table, or cross-validate training on it."""
    import deciban
    from deciban.cli.progress import progress
    from deciban.cli.training_options import find_target, training_arguments

    training = a.select_options(options, *FOLD_OPTIONS)
    if options["model"] is not None:
        _refuse_training_options({"target": options["target"], **training})
        return _evaluate_model(table, options)
    if options["allow_missing_columns"]:
        raise typer.BadParameter("--allow-missing-columns is for --model: training uses the columns there are")
    target, arguments = find_target(table, options), training_arguments(training)
    with progress(table, "learning") as rows:
        return deciban.evaluate(table.source, target=target, progress=rows, **table.reading, **arguments)


def _refuse_training_options(options: Mapping[str, Any]) -> None:
    from deciban.cli.training_options import option_name

    for name, value in options.items():
        if value is not None and name != "weights":
            raise typer.BadParameter(f"{option_name(name)} is for training; --model evaluates a trained model")


def _evaluate_model(table: TableInput, options: Mapping[str, Any]) -> Report:
    import deciban
    from deciban.cli.inputs import direct_role_hints_to_training
    from deciban.cli.model_files import open_model
    from deciban.cli.progress import progress

    model = open_model(options["model"])
    with direct_role_hints_to_training(), progress(table, "evaluating") as rows:
        return deciban.evaluate(
            table.source,
            model=model,
            weights=options["weights"],
            allow_missing_columns=options["allow_missing_columns"],
            progress=rows,
            **table.reading,
        )


def show(report: Report, title: str, as_json: bool, requests: d.DecisionRequests) -> None:
    """Print the figures as JSON or as tables."""
    from deciban.cli.output import print_json

    if as_json:
        print_json(report.to_dict() | requests.to_dict(report))
        return
    from deciban.cli.render import console, print_title
    from deciban.cli.report_screen import decisions, quality

    costs, thresholds = requests.costs_of(report), requests.thresholds_of(report)  # errors precede all output
    out = console()
    print_title(out, title)
    quality(out, report, confusion=True)
    decisions(out, costs, thresholds)


def choose_settings(table: TableInput, options: Mapping[str, Any]) -> Choice:
    """Evaluate many settings of training on the same folds of a table."""
    import deciban
    from deciban.cli.progress import progress
    from deciban.cli.training_options import find_target, training_arguments

    target, arguments = find_target(table, options), training_arguments(a.select_options(options, *FOLD_OPTIONS))
    with progress(table, "learning", again="learning pairs") as rows:
        return deciban.choose(table.source, target=target, progress=rows, **table.reading, **arguments)


def _check_choose(options: Mapping[str, Any], requests: d.DecisionRequests) -> None:
    """Refuse the options that have no meaning where settings are compared."""
    if options["model"] is not None:
        raise typer.BadParameter("--choose compares settings of training; --model evaluates a trained model")
    if any(value is not None for value in vars(requests).values()):
        raise typer.BadParameter(
            "--choose compares settings by log-loss; --cost, --reject, --threshold and --want evaluate one model"
        )
    if options["calibrate"] is not None:
        raise typer.BadParameter("--choose compares uncalibrated settings; use --calibrate with the best of them")
    if options["order"] is not None:
        raise typer.BadParameter("--choose compares settings in folds that are alike, so --order cannot be given")
    if options["folds"] == "loo":
        raise typer.BadParameter("--choose compares settings in folds, so --folds is a number")


def _show_choice(choice: Choice, data: TableInput, options: Mapping[str, Any], as_json: bool) -> None:
    from deciban.cli.output import print_json

    if as_json:
        print_json(choice.to_dict())
        return
    from deciban.cli.render import command as print_command
    from deciban.cli.render import console, heading, line, print_title, table
    from deciban.cli.training_options import find_target, format_training_command
    from deciban.metrics.choice import HEADINGS

    target = find_target(data, options)
    out = console()
    print_title(out, f"{target} of {data.name}, under {len(choice.results)} settings")
    body = [[*row[:3], row[3].partition(" ")[0], *row[4:]] for row in choice.table()]  # to fit 80 columns
    table(out, HEADINGS, body, right=[2, 3, 4, 5], wide=1)
    left = len(choice.results) - len(choice.table())
    if left:
        line(out, f"… and {left} more settings: --json has them all")
    for note in (choice.measured, *choice.notes):
        line(out, f"({note})")
    heading(out, "Best")
    if choice.estimator != "train":
        arguments = ", ".join(f"{name}={value!r}" for name, value in choice.best.items())
        line(out, f"In Python: deciban.{choice.estimator}({arguments})")
        return
    line(
        out,
        str(choice.recommendation.setting)
        if choice.best
        else "the defaults: no other setting is better by more than one standard error",
    )
    presence = {"presence": True} if "words" in choice.best else {}
    print_command(out, format_training_command(data, target, options, {**choice.best, **presence}))
