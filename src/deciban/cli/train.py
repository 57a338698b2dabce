"""`deciban train`: a table into a model file, and a report on it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli import arguments as a
from deciban.cli.manners import manners, status

if TYPE_CHECKING:
    from deciban.cli.given import Given

EXAMPLE = a.example(
    "deciban train patients.csv --target diagnosis",
    "deciban train 'day-*.parquet' --target spam --as sender=category -o spam.deciban",
)
Out = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="MODEL",
        help="The file to write, - for stdout; else DATA's name with .deciban, in the current folder.",
    ),
]
Judge = Annotated[bool, typer.Option("--judge/--no-judge", help="Whether to measure held-out quality.")]


def command(
    data: a.Tables = None,
    target: a.Target = None,
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
    sql: a.Sql = None,
    format: a.Format = None,
    encoding: a.Encoding = "utf-8",
    missing: a.Missing = None,
    output: Out = None,
    judge: Judge = True,
    json: a.AsJson = False,
    debug: a.Debug = False,
) -> None:
    """Learn to predict a column of a table from its other columns, and write a model file."""
    from deciban.cli.given import given

    wished = {
        "roles": roles, "numbers": numbers, "like": like, "weights": weights, "classes": classes, "prior": prior,
        "alpha": alpha, "parameter_prior": parameter_prior, "unseen": unseen, "most_levels": most_levels,
    }  # fmt: skip
    with manners(debug), given(data, sql, format, encoding, missing) as table:
        run(table, wanted_target(table, target), wished, output, judge, json, data or [])


def wanted_target(table: Given, target: str | None) -> str:
    """The target, or the columns among which there is one."""
    if target is None:
        columns = table.open().columns
        shown = ", ".join(columns[:20]) + (" …" if len(columns) > 20 else "")
        raise typer.BadParameter(f"--target COL is missing: which column is to be predicted? There are: {shown}")
    return target


def run(
    table: Given, target: str, wished: dict[str, Any], output: str | None, judge: bool, as_json: bool, data: list[str]
) -> None:
    """Read, learn, write, tell; nothing is written unless all went well."""
    from deciban.cli.models import default_file, settings
    from deciban.cli.output import check_output, print_json, save
    from deciban.cli.progress import progress

    out = output or default_file(data)
    check_output(out, table.paths)
    made = settings(wished)
    with progress(table, "learning") as rows:
        import deciban

        model = deciban.train(table.source, target=target, judge=judge, progress=rows, **table.reading, **made)
    with status("looking at what was learned …"):
        model.origin = replace(model.origin, source=table.name)
        from deciban.cli.trained import figures, report

        description = model.describe()
    save(model, out)
    if as_json and out != "-":
        print_json(figures(model, description, out))
    report(model, description, out, named=output is not None, aside=as_json or out == "-", wished=judge)
