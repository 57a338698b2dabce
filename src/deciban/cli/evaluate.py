"""`deciban evaluate`: the quality of a model on rows that it has not learned, and the choice among settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import deciban
from deciban.cli import decision_options as d
from deciban.cli import options as a
from deciban.cli.error_handling import progress
from deciban.cli.files import print_json
from deciban.cli.inputs import TableInput, open_table
from deciban.cli.parser import DEBUG, JSON, command, flag, number, option
from deciban.cli.render import Screen
from deciban.cli.training_options import call_on_table, find_target, format_training_command, option_name
from deciban.command_hints import direct_role_hints_to_training
from deciban.errors import UsageError
from deciban.formatting import format_count
from deciban.load_model import open_model

if TYPE_CHECKING:
    from deciban.metrics.choice import Choice
    from deciban.metrics.report import Report

FOLD_OPTIONS = ("folds", "groups", "order", "calibrate", "structure", "seconds")
"""The options of cross-validation."""


@command(
    option("--model", "MODEL", "Evaluate this model on DATA instead.", type=Path),
    number("--folds", "NUMBER|loo", "How many folds the rows are split into (default 10), or loo: leave-one-out.",
           minimum=2, word="loo"),
    option("--groups", "COL", "Keep rows with the same value in this column in one fold; it is not learned from."),
    option(
        "--order", "COL",
        "Order the folds by this column (numbers, dates, texts): each fold is predicted from the rows before it. It "
        "is learned from as train does.",
    ),
    a.CALIBRATE, a.STRUCTURE, a.SECONDS, d.COST, d.REJECT, d.THRESHOLD, d.WANT,
    flag("--choose",
         "Try many settings on the same folds (pseudo-counts, Gaussians or bins, priors, shapes of covariance …) and "
         "recommend the best."),
    a.ALLOW_MISSING, a.TARGET, *a.MODEL_OPTIONS, *a.TABLE_OPTIONS, a.SPARK, JSON, DEBUG,
    examples=[
        "deciban evaluate patients.csv --target diagnosis --folds 10",
        "deciban evaluate next-year.csv --model patients.deciban",
        "deciban evaluate patients.csv --target diagnosis --want flu:precision=0.9",
    ],
)  # fmt: skip
def evaluate(
    cost: list[str] | None, reject: float | None, threshold: list[str] | None, want: list[str] | None, choose: bool,
    json: bool, **options: Any,
) -> None:  # fmt: skip
    """Measure quality on all rows: by cross-validation, or of a trained model on other rows."""
    requests = d.DecisionRequests(cost, reject, threshold, want)
    with open_table(options) as table:
        if choose:
            _check_choose(options, requests)
            choice = call_on_table("choose", table, options, FOLD_OPTIONS, again="learning pairs")
            _show_choice(choice, table, options, json)
            return
        report = evaluate_table(table, options)
        _show_report(report, _make_title(report, table, options), json, requests)


def _make_title(report: Report, table: TableInput, options: Mapping[str, Any]) -> str:
    """Return the title of a report, which says whether the model learned the rows that it is evaluated on."""
    if options["model"] is None:
        return f"{find_target(table, options)} of {table.name}, predicted for rows not learned from"
    rows = "rows that it did not learn, as far as is known"
    if report.learned_share is not None:
        rows = "the rows that it learned" if report.learned_share == 1 else "rows of which it learned some"
    return f"{options['model']}, evaluated on {rows}"


def evaluate_table(table: TableInput, options: Mapping[str, Any]) -> Report:
    """Evaluate the model of --model on a table, or cross-validate training on it."""
    if options["model"] is not None:
        return _evaluate_model(table, options)
    if options["allow_missing_columns"]:
        raise UsageError("--allow-missing-columns is for --model: training uses the columns there are")
    report: Report = call_on_table("evaluate", table, options, FOLD_OPTIONS)
    return report


def _evaluate_model(table: TableInput, options: Mapping[str, Any]) -> Report:
    """Evaluate the model of --model on a table; refuse the options of training."""
    training = {"target": options["target"], **a.select_options(options, *FOLD_OPTIONS)}
    for name, value in training.items():
        if value is not None and name not in ("weights", "survey_weights"):
            raise UsageError(f"{option_name(name)} is for training; --model evaluates a trained model")
    model = open_model(options["model"])
    given = {name: options[name] for name in ("weights", "survey_weights", "allow_missing_columns")}
    with direct_role_hints_to_training(), progress(table, "evaluating") as rows:
        return deciban.evaluate(table.source, model=model, progress=rows, **given, **table.source_options)


def _show_report(report: Report, title: str, as_json: bool, requests: d.DecisionRequests) -> None:
    """Print the figures of a report, and the answers to the requests, as JSON or as tables."""
    if as_json:
        print_json(report.to_dict() | requests.to_dict(report))
        return
    from deciban.cli.report_screen import show_decisions, show_quality

    costs, thresholds = requests.costs_of(report), requests.thresholds_of(report)  # errors precede all output
    out = Screen()
    out.print_title(title)
    show_quality(out, report, confusion=True)
    show_decisions(out, costs, thresholds)


def _check_choose(options: Mapping[str, Any], requests: d.DecisionRequests) -> None:
    """Refuse the options that have no meaning where settings are compared."""
    asks_for_decisions = any(value is not None for value in vars(requests).values())
    for is_given, why in (
        (options["model"] is not None, "settings of training; --model evaluates a trained model"),
        (asks_for_decisions, "settings by log-loss; --cost, --reject, --threshold and --want evaluate one model"),
        (options["calibrate"] not in (None, "none"), "uncalibrated settings; use --calibrate with the best of them"),
        (options["structure"] not in (None, "naive"), "settings of independent columns; leave --structure out"),
        (options["order"] is not None, "settings in folds that are alike, so --order cannot be given"),
        (options["folds"] == "loo", "settings in folds, so --folds is a number"),
    ):
        if is_given:
            raise UsageError(f"--choose compares {why}")


def _show_choice(choice: Choice, data: TableInput, options: Mapping[str, Any], as_json: bool) -> None:
    """Print the settings with their figures, as JSON or as a table, and then the command or call of the best."""
    if as_json:
        print_json(choice.to_dict())
        return
    from deciban.metrics.choice import HEADINGS

    target = find_target(data, options)
    out = Screen()
    out.print_title(f"{target} of {data.name}, under {len(choice.results)} settings")
    body = [[*row[:3], row[3].partition(" ")[0], *row[4:]] for row in choice.table()]  # to fit 80 columns
    out.print_table(HEADINGS, body, right=[2, 3, 4, 5], wide=1)
    if left := len(choice.results) - len(body):
        out.print_line(f"… and {format_count(left, 'more setting')}: --json has them all")
    for note in (choice.measured, *choice.notes):
        out.print_line(f"({note})")
    out.print_heading("Best")
    if choice.estimator != "train":
        arguments = ", ".join(f"{name}={value!r}" for name, value in choice.best.items())
        out.print_line(f"In Python: deciban.{choice.estimator}({arguments})")
        return
    defaults = "the defaults: no other setting is better by more than one standard error"
    out.print_line(str(choice.recommendation.setting) if choice.best else defaults)
    presence = {"presence": True} if "words" in choice.best else {}
    out.print_command(format_training_command(data, target, options, {**choice.best, **presence}))
