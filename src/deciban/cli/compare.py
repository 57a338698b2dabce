"""`deciban compare`: naive Bayes, Gaussian Bayes, logistic, evidence and boosted learners side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import handle_errors
from deciban.cli.learning import numbers_in

if TYPE_CHECKING:
    from rich.console import Console

    from deciban.cli.inputs import TableInput
    from deciban.metrics.comparison import Comparison

EXAMPLE = a.example(
    "deciban compare patients.csv --target diagnosis",
    "deciban compare patients.csv --target diagnosis --learners bayes,tied,logistic --draws 30",
)
Learners = Annotated[
    str | None,
    typer.Option(
        "--learners",
        metavar="NAME,NAME,…",
        help="Who is compared: bayes, gaussian (under each covariance, or by name full, tied, diagonal …), logistic, "
        "evidence, boosted; all unless given.",
    ),
]
Folds = Annotated[int, typer.Option("--folds", metavar="NUMBER", min=2, help="How many folds the rows are dealt to.")]
Groups = Annotated[
    str | None, typer.Option("--groups", metavar="COL", help="Rows of one value of this column stay in one fold.")
]
Draws = Annotated[
    int, typer.Option("--draws", metavar="NUMBER", min=2, help="How often rows are drawn for the learning curves.")
]
Sizes = Annotated[
    str | None,
    typer.Option(
        "--sizes", metavar="N,N,…", help="How many rows are learned for the curves (10, 20, 40 … unless given)."
    ),
]
Curve = Annotated[bool, typer.Option("--curve/--no-curve", help="Whether learning curves are measured.")]
Times = Annotated[
    bool,
    typer.Option("--times/--no-times", help="Whether it is told how long learning took, which is never the same."),
]


def command(
    data: a.Tables = None,
    target: a.Target = None,
    learners: Learners = None,
    folds: Folds = 10,
    groups: Groups = None,
    draws: Draws = 10,
    sizes: Sizes = None,
    curve: Curve = True,
    times: Times = True,
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
    """Judge learners by the same rows: accuracy, log-loss, calibration, time, parameters, and how much each makes of
    few rows; and say in a sentence which one to take.
    """
    from deciban.cli.inputs import given
    from deciban.cli.train import find_target

    wished = {
        "learners": learners, "folds": folds, "groups": groups, "draws": draws, "sizes": sizes, "curve": curve,
        "C": C, "roles": roles, "join": join, "numbers": numbers, "like": like, "weights": weights,
        "classes": classes, "prior": prior, "alpha": alpha, "parameter_prior": parameter_prior, "unseen": unseen,
        "most_levels": most_levels, "ngrams": ngrams, "tokens": tokens, "stop_words": stop_words,
        "presence": presence or None,
    }  # fmt: skip
    with handle_errors(debug), given(data, sql, folders, format, encoding, errors, missing, hive) as table:
        target = find_target(table, target, classes)
        found = comparison(table, target, wished)
        show(found, table, json, times, trained(found, table, wished))


def comparison(table: TableInput, target: str, wished: dict[str, Any]) -> Comparison:
    """The learners of a table."""
    import deciban
    from deciban.cli.model_files import settings
    from deciban.cli.progress import progress

    made = settings(wished)
    if "sizes" in made:
        made["sizes"] = numbers_in(made["sizes"], "--sizes")
    if "learners" in made:
        made["learners"] = a.listed(made["learners"])
    with progress(table, "learning", again="comparing") as rows:
        return deciban.compare(table.source, target=target, progress=rows, **table.reading, **made)


def show(found: Comparison, data: TableInput, as_json: bool, times: bool, recommended: str) -> None:
    """The figures, for a program or for a person; then the command that is recommended."""
    from deciban.cli.output import print_json

    if as_json:
        print_json(told(found, times))
        return
    from deciban.cli.render import command as to_copy
    from deciban.cli.render import console, heading, line, one_line, table
    from deciban.metrics import comparison_advice

    out = console()
    title = f"{found.target} of {data.name}, by {len(found.rows)} learners"
    out.print(one_line(title), style="bold", soft_wrap=True)
    head, *body = comparison_advice.table(found, times)
    table(out, head, body, right=range(2, len(head)), wide=1)
    for note in (comparison_advice.signs(found), found.measured, *found.notes):
        line(out, f"({note})")
    if found.growth is not None:
        _curves(out, found)
    heading(out, "Advice")
    line(out, found.advice)
    to_copy(out, recommended)


def told(found: Comparison, times: bool) -> dict[str, Any]:
    """As JSON has it; with times or without."""
    made = found.to_dict()
    if not times:
        made["learners"] = [{k: v for k, v in each.items() if k != "seconds"} for each in made["learners"]]
    return made


def _curves(out: Console, found: Comparison) -> None:
    from deciban.cli.render import heading, line, table
    from deciban.metrics import comparison_advice

    assert found.growth is not None
    held_out = f"on {found.growth.held_out} rows held out, the mean of {found.growth.draws} draws"
    heading(out, "Accuracy % by rows learned", held_out)
    head, *body = comparison_advice.curve_table(found)
    table(out, head, body, right=range(1, len(head)))
    if found.growing:
        line(out, found.growing)


def trained(found: Comparison, data: TableInput, wished: dict[str, Any]) -> str:
    """The command that trains the learner that is recommended: C is told where that learner has one."""
    from deciban.cli.recommended_command import training

    told = {"C": None, **found.best.arguments}
    joined = {"join": told.pop("blocks")} if "blocks" in told else {}
    return training(data, found.target, wished, {**told, **joined})
