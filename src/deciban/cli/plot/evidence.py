"""`deciban plot evidence`: why a row is predicted as it is, as a waterfall."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deciban.cli import options as a
from deciban.cli.explain import Pair, parse_pair
from deciban.cli.plot.picture_options import Picture, To, pictured
from deciban.errors import InputError

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput

EXAMPLE = a.example(
    "deciban plot evidence patients.deciban new-patients.csv --row 4 -o why.png",
    "deciban plot evidence patients.deciban new-patients.csv --classes flu,cold -o why.svg",
)
Row = Annotated[
    int, typer.Option("--row", metavar="NUMBER", min=1, help="The row to explain; the first after the header is 1.")
]
Most = Annotated[
    int,
    typer.Option(
        "--most", metavar="NUMBER", min=1, max=100, help="How many reasons have a bar, the strongest first."
    ),
]


@pictured
def command(
    model: a.ModelFile,
    to: To,
    data: a.Tables = None,
    row: Row = 1,
    classes: Pair = None,
    most: Most = 12,
    allow_missing_columns: a.AllowMissing = False,
    sql: a.Sql = None,
    folders: a.Folders = None,
    format: a.Format = None,
    encoding: a.Encoding = "utf-8",
    errors: a.Errors = "strict",
    missing: a.Missing = None,
    hive: a.Hive = False,
) -> None:
    """Draw what each column, or word, adds to the odds of a row's two most probable classes, in decibans."""
    from deciban.cli.inputs import direct_role_hints_to_training, given

    with direct_role_hints_to_training(), given(data, sql, folders, format, encoding, errors, missing, hive) as table:
        picture = to([model, *table.paths])
        run(model, table, picture, row, parse_pair(classes), most, allow_missing_columns)


def run(
    path: Path, table: TableInput, picture: Picture, row: int, pair: tuple[str, str] | None, most: int, allow: bool
) -> None:
    """Read the row, weigh, draw."""
    from deciban.cli.model_files import open_model
    from deciban.cli.row_views import Part
    from deciban.model.table_explanations import explain_rows
    from deciban.plots import evidence

    part = Part(table.open(), row - 1, 1)
    if not sum(batch.num_rows for batch in part.batches({part.columns[0]: "text"})):
        raise InputError(f"{table.name} has no row {row}. Hint: --row counts from 1, the header left out")
    told = explain_rows(open_model(path), part, pair, 1, allow)
    picture.save(evidence(told, most=most), f"why row {row} is rather {told.winner[0]} than {told.runner_up[0]}")
