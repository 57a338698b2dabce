"""`deciban evaluate`: how good a model is on rows it had not learned."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli import arguments as a
from deciban.cli.manners import manners

if TYPE_CHECKING:
    from deciban.cli.given import Given
    from deciban.judge.report import Report

EXAMPLE = a.example(
    "deciban evaluate patients.csv --target diagnosis --folds 10",
    "deciban evaluate next-year.csv --model patients.deciban",
)
Judged = Annotated[
    Path | None,
    typer.Option("--model", metavar="MODEL", help="Judge this model on DATA instead."),
]
Folds = Annotated[
    int | None, typer.Option("--folds", metavar="NUMBER", help="Into how many folds the rows go (10 unless given).")
]


def command(
    data: a.Tables = None,
    target: a.Target = None,
    model: Judged = None,
    folds: Folds = None,
    allow_missing_columns: a.AllowMissing = False,
    roles: a.Roles = None,
    numbers: a.Numbers = None,
    like: a.Like = None,
    weights: a.Weights = None,
    classes: a.Classes = None,
    prior: a.Prior = None,
    alpha: a.Alpha = None,
    parameter_prior: a.ParameterPrior = None,
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
    json: a.AsJson = False,
    debug: a.Debug = False,
) -> None:
    """Judge by all rows: of k models that each learned all folds but one, or of a model on other rows."""
    from deciban.cli.given import given
    from deciban.cli.train import wanted_target

    wished = {
        "roles": roles, "numbers": numbers, "like": like, "classes": classes, "prior": prior, "alpha": alpha,
        "parameter_prior": parameter_prior, "unseen": unseen, "most_levels": most_levels, "folds": folds,
        "ngrams": ngrams, "tokens": tokens, "stop_words": stop_words, "presence": presence or None,
    }  # fmt: skip
    with manners(debug), given(data, sql, folders, format, encoding, errors, missing) as table:
        if model is not None:
            _check_alone(target, wished)
            report = judged(table, model, weights, allow_missing_columns)
            show(report, f"{model}, judged by rows that it may not have learned from", json)
        elif allow_missing_columns:
            raise typer.BadParameter("--allow-missing-columns is for --model: training takes the columns there are")
        else:
            target = wanted_target(table, target, classes)
            report = in_folds(table, target, weights, wished)
            show(report, f"{target} of {table.name}, predicted for rows not learned from", json)


def _check_alone(target: str | None, wished: dict[str, Any]) -> None:
    for name, value in {"target": target, **wished}.items():
        if value is not None:
            option = {"roles": "as"}.get(name, name.replace("_", "-"))
            raise typer.BadParameter(f"--{option} is for training; --model judges a model that is trained already")


def judged(table: Given, path: Path, weights: str | None, allow: bool) -> Report:
    """A model on other rows."""
    import deciban
    from deciban.cli.given import roles_are_settled
    from deciban.cli.models import open_model
    from deciban.cli.progress import progress

    model = open_model(path)
    with roles_are_settled(), progress(table, "judging") as rows:
        return deciban.evaluate(
            table.source,
            model=model,
            weights=weights,
            allow_missing_columns=allow,
            progress=rows,
            **table.reading,
        )


def in_folds(table: Given, target: str, weights: str | None, wished: dict[str, Any]) -> Report:
    """k models, each on its own fold."""
    import deciban
    from deciban.cli.models import settings
    from deciban.cli.progress import progress

    made = settings(wished)
    with progress(table, "learning", again="judging") as rows:
        return deciban.evaluate(table.source, target=target, weights=weights, progress=rows, **table.reading, **made)


def show(report: Report, title: str, as_json: bool) -> None:
    """The figures, for a program or for a person."""
    from deciban.cli.output import print_json

    if as_json:
        print_json(report.to_dict())
        return
    from deciban.cli.judged import quality
    from deciban.cli.sheet import console, one_line

    out = console()
    out.print(one_line(title), style="bold", soft_wrap=True)
    quality(out, report, confusion=True)
