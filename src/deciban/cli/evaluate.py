"""`deciban evaluate`: how good a model is on rows it had not learned."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli import decision_options as d
from deciban.cli import evaluate_choose as c
from deciban.cli import options as a
from deciban.cli.error_handling import handle_errors
from deciban.cli.train import Calibrate

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput
    from deciban.metrics.report import Report

EXAMPLE = a.example(
    "deciban evaluate patients.csv --target diagnosis --folds 10",
    "deciban evaluate next-year.csv --model patients.deciban",
    "deciban evaluate patients.csv --target diagnosis --want flu:precision=0.9",
)
Judged = Annotated[
    Path | None,
    typer.Option("--model", metavar="MODEL", help="Judge this model on DATA instead."),
]


def number_or_loo(text: str) -> int | str:
    """A number of folds, or that each row is one."""
    if text == "loo":
        return text
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither a whole number nor loo (each row left out alone)") from None


Folds = Annotated[
    Any,
    typer.Option(
        "--folds",
        metavar="NUMBER|loo",
        parser=number_or_loo,
        help="Into how many folds the rows go (10 unless given), or loo: each row is left out alone.",
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
        help="Fold by this column (numbers, dates, texts): each fold is judged by what came before it. It is not "
        "learned from, unless --as gives it a role.",
    ),
]


def command(
    data: a.Tables = None,
    target: a.Target = None,
    model: Judged = None,
    folds: Folds = None,
    groups: Groups = None,
    order: Order = None,
    allow_missing_columns: a.AllowMissing = False,
    learner: a.Learner = None,
    C: a.Penalty = None,
    roles: a.Roles = None,
    join: a.Join = None,
    numbers: a.Numbers = None,
    like: a.Like = None,
    weights: a.Weights = None,
    classes: a.Classes = None,
    prior: a.Prior = None,
    alpha: a.Alpha = None,
    parameter_prior: a.ParameterPrior = None,
    covariance: a.Shape = None,
    unseen: a.Unseen = None,
    most_levels: a.MostLevels = None,
    ngrams: a.Ngrams = None,
    tokens: a.Tokens = None,
    stop_words: a.StopWords = None,
    presence: a.Presence = False,
    sql: a.Sql = None,
    folders: a.Folders = None,
    format: a.Format = None,
    encoding: a.Encoding = "utf-8",
    errors: a.Errors = "strict",
    missing: a.Missing = None,
    hive: a.Hive = False,
    calibrate: Calibrate = None,
    cost: d.Cost = None,
    reject: d.Reject = None,
    threshold: d.Threshold = None,
    want: d.Want = None,
    choose: c.Choose = False,
    json: a.AsJson = False,
    debug: a.Debug = False,
) -> None:
    """Judge by all rows: of k models that each learned all folds but one, or of a model on other rows."""
    from deciban.cli.inputs import given
    from deciban.cli.train import find_target

    wished = {
        "roles": roles, "join": join, "numbers": numbers, "like": like, "classes": classes, "prior": prior,
        "alpha": alpha, "parameter_prior": parameter_prior, "unseen": unseen, "most_levels": most_levels,
        "folds": folds, "groups": groups, "order": order, "ngrams": ngrams, "tokens": tokens,
        "stop_words": stop_words, "presence": presence or None, "learner": learner, "C": C,
        "covariance": covariance, "calibrate": calibrate,
    }  # fmt: skip
    wishes = d.Wishes(cost, reject, threshold, want)
    with handle_errors(debug), given(data, sql, folders, format, encoding, errors, missing, hive) as table:
        if choose:
            c.check(model, wishes)
            check_plain(calibrate)
            c.chosen(table, find_target(table, target, classes), weights, wished, json)
        elif model is not None:
            check_alone(target, wished)
            report = judged(table, model, weights, allow_missing_columns)
            show(report, f"{model}, judged by rows that it may not have learned from", json, wishes)
        elif allow_missing_columns:
            raise typer.BadParameter("--allow-missing-columns is for --model: training takes the columns there are")
        else:
            target = find_target(table, target, classes)
            report = in_folds(table, target, weights, wished)
            show(report, f"{target} of {table.name}, predicted for rows not learned from", json, wishes)


def check_plain(calibrate: str | None) -> None:
    """Refuse a calibration where settings are compared."""
    if calibrate is not None:
        raise typer.BadParameter("--choose compares settings as they learned; --calibrate is for the best of them")


def check_alone(target: str | None, wished: dict[str, Any]) -> None:
    """Refuse options of training beside a model that is trained."""
    for name, value in {"target": target, **wished}.items():
        if value is not None:
            option = {"roles": "as"}.get(name, name.replace("_", "-"))
            raise typer.BadParameter(f"--{option} is for training; --model judges a model that is trained already")


def judged(table: TableInput, path: Path, weights: str | None, allow: bool) -> Report:
    """A model on other rows."""
    import deciban
    from deciban.cli.inputs import direct_role_hints_to_training
    from deciban.cli.model_files import open_model
    from deciban.cli.progress import progress

    model = open_model(path)
    with direct_role_hints_to_training(), progress(table, "judging") as rows:
        return deciban.evaluate(
            table.source,
            model=model,
            weights=weights,
            allow_missing_columns=allow,
            progress=rows,
            **table.reading,
        )


def in_folds(table: TableInput, target: str, weights: str | None, wished: dict[str, Any]) -> Report:
    """k models, each on its own fold."""
    import deciban
    from deciban.cli.model_files import settings
    from deciban.cli.progress import progress

    made = settings(wished)
    with progress(table, "learning", again="judging") as rows:
        return deciban.evaluate(table.source, target=target, weights=weights, progress=rows, **table.reading, **made)


def show(report: Report, title: str, as_json: bool, wishes: d.Wishes) -> None:
    """The figures, for a program or for a person."""
    from deciban.cli.output import print_json

    if as_json:
        print_json(report.to_dict() | wishes.to_dict(report))
        return
    from deciban.cli.render import console, one_line
    from deciban.cli.report_screen import decisions, quality

    decided, wanted = wishes.decided(report), wishes.wanted(report)  # refused, if at all, before anything is printed
    out = console()
    out.print(one_line(title), style="bold", soft_wrap=True)
    quality(out, report, confusion=True)
    decisions(out, decided, wanted)
