"""`deciban learning`: how good a model is by how many rows it has learned, and by how many labels are wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import handle_errors

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput
    from deciban.metrics.learning_curves import LearningCurve

EXAMPLE = a.example(
    "deciban learning patients.csv --target diagnosis",
    "deciban learning patients.csv --target diagnosis --sizes 20,50,100 --flipped 0,0.1,0.2",
)
Sizes = Annotated[
    str | None,
    typer.Option(
        "--sizes",
        metavar="N,N,…",
        help="How many rows to learn, or shares of those that are not held out: 0.5 (all, half, a quarter … unless "
        "given).",
    ),
]
Flipped = Annotated[
    str | None,
    typer.Option(
        "--flipped",
        metavar="SHARE,…",
        help="Replace a share of the labels that are learned from by another class, to see how much noise is borne.",
    ),
]


def command(
    data: a.Tables = None,
    target: a.Target = None,
    sizes: Sizes = None,
    flipped: Flipped = None,
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
    json: a.AsJson = False,
    debug: a.Debug = False,
) -> None:
    """Judge models of more and more rows by the same rows held out: would more help, and how much noise is borne?"""
    from deciban.cli.inputs import given
    from deciban.cli.train import find_target

    wished = {
        "roles": roles, "join": join, "numbers": numbers, "like": like, "weights": weights,
        "classes": classes, "prior": prior, "alpha": alpha, "parameter_prior": parameter_prior, "unseen": unseen,
        "most_levels": most_levels, "ngrams": ngrams, "tokens": tokens, "stop_words": stop_words,
        "presence": presence or None, "learner": learner, "C": C, "covariance": covariance,
        "sizes": numbers_in(sizes, "--sizes"),
        "flipped": numbers_in(flipped, "--flipped"),
    }  # fmt: skip
    with handle_errors(debug), given(data, sql, folders, format, encoding, errors, missing, hive) as table:
        target = find_target(table, target, classes)
        show(curve(table, target, wished), f"{target} of {table.name}, by how many rows are learned", json)


def numbers_in(text: str | None, option: str) -> list[float] | None:
    """Numbers between commas: whole ones stay whole."""
    if text is None:
        return None
    try:
        return [float(part) if "." in part or "e" in part.lower() else int(part) for part in a.listed(text)]
    except ValueError:
        raise typer.BadParameter(f"{option} takes numbers between commas, not {text!r}") from None


def curve(table: TableInput, target: str, wished: dict[str, Any]) -> LearningCurve:
    """The learning curve of a table."""
    import deciban
    from deciban.cli.model_files import settings
    from deciban.cli.progress import progress

    made = settings(wished)
    with progress(table, "learning", again="learning") as rows:
        return deciban.learning_curve(table.source, target=target, progress=rows, **table.reading, **made)


def show(found: LearningCurve, title: str, as_json: bool) -> None:
    """The figures, for a program or for a person."""
    from deciban.cli.output import print_json

    if as_json:
        print_json(found.to_dict())
        return
    from deciban.cli.render import console, line, one_line
    from deciban.cli.render import table as sheet

    out = console()
    out.print(one_line(title), style="bold", soft_wrap=True)
    head, *body = found.table()
    sheet(out, head, body, right=range(len(head)))
    for note in found.notes():
        line(out, f"({note})")
