"""`deciban explain`: the reasons for predictions, in decibans."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import handle_errors
from deciban.errors import InputError

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput

EXAMPLE = a.example(
    "deciban explain patients.deciban new-patients.csv --rows 2",
    "deciban explain patients.deciban new-patients.csv --row 4 --classes flu,cold",
    "deciban explain newsgroups.deciban post.txt --format text",
)
Rows = Annotated[
    int, typer.Option("--rows", metavar="NUMBER", min=1, help="How many rows to explain, from the first.")
]
Row = Annotated[
    int | None,
    typer.Option("--row", metavar="NUMBER", min=1, help="Explain this row alone; the first after the header is 1."),
]
Pair = Annotated[
    str | None,
    typer.Option("--classes", metavar="FOR,AGAINST", help="Weigh these two; else the two most probable of each row."),
]
Most = Annotated[
    int, typer.Option("--most", metavar="NUMBER", min=1, help="How many reasons to show of each row, the strongest.")
]


def command(
    model: a.ModelFile,
    data: a.Tables = None,
    rows: Rows = 5,
    row: Row = None,
    classes: Pair = None,
    most: Most = 10,
    allow_missing_columns: a.AllowMissing = False,
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
    """Say why each row is predicted as it is: what every column adds to the odds."""
    from deciban.cli.inputs import direct_role_hints_to_training, given

    with (
        handle_errors(debug),
        direct_role_hints_to_training(),
        given(data, sql, folders, format, encoding, errors, missing, hive) as table,
    ):
        start, count = (0, rows) if row is None else (row - 1, 1)
        run(model, table, start, count, parse_pair(classes), most, allow_missing_columns, json)


def parse_pair(classes: str | None) -> tuple[str, str] | None:
    """FOR,AGAINST taken apart."""
    if classes is None:
        return None
    pair = a.listed(classes)
    if len(pair) != 2:
        raise typer.BadParameter(f"--classes wants two classes, FOR,AGAINST; not {classes!r}")
    return pair[0], pair[1]


def run(
    path: Path,
    table: TableInput,
    start: int,
    count: int,
    pair: tuple[str, str] | None,
    most: int,
    allow: bool,
    as_json: bool,
) -> None:
    """Read the rows, weigh, tell."""
    from deciban.cli.explanations_screen import reasons, show
    from deciban.cli.model_files import open_model
    from deciban.cli.output import print_json

    naming = next(iter(table.identified_by), None)
    told = reasons(open_model(path), table.open(), start, count, pair, allow, naming)
    if not told:
        raise InputError(f"{table.name} has no row {start + 1}. Hint: --row counts from 1, the header left out")
    if as_json:
        print_json([reason.to_dict() for reason in told])
        return
    show(told, most)
