"""`deciban plot nomogram`: a sheet to work out predictions on by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import status
from deciban.cli.explain import Pair, parse_pair
from deciban.cli.plot.evidence import Row
from deciban.cli.plot.picture_options import Picture, To, pictured
from deciban.errors import InputError

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput

EXAMPLE = a.example(
    "deciban plot nomogram patients.deciban --classes flu,cold -o sheet.pdf",
    "deciban plot nomogram patients.deciban new-patients.csv --row 4 -o row-4.png",
)
Most = Annotated[
    int, typer.Option("--most", metavar="NUMBER", min=1, max=60, help="How many columns, the most telling first.")
]


@pictured
def command(
    model: a.ModelFile,
    to: To,
    data: a.Tables = None,
    row: Row = 1,
    classes: Pair = None,
    most: Most = 12,
    sql: a.Sql = None,
    format: a.Format = None,
    encoding: a.Encoding = "utf-8",
    missing: a.Missing = None,
    hive: a.Hive = False,
) -> None:
    """Draw a scale of decibans for each column; their sum leads to the probability. With DATA a row is marked."""
    from deciban.cli.inputs import direct_role_hints_to_training, given

    picture = to([model, *(data or ())])
    if not data and sql is None:
        run(model, None, picture, row, parse_pair(classes), most)
        return
    with direct_role_hints_to_training(), given(data, sql, None, format, encoding, "strict", missing, hive) as table:
        run(model, table, picture, row, parse_pair(classes), most)


def run(path: Path, table: TableInput | None, picture: Picture, row: int, pair: tuple[str, str] | None, most: int) -> None:
    """Open the model, draw, write."""
    from deciban.cli.model_files import open_model
    from deciban.cli.row_views import Part
    from deciban.plots import nomogram

    model = open_model(path)
    with status("drawing …"):
        if table is None:
            drawn, what = nomogram(model, classes=pair, most=most), "a scale for each column"
        else:
            part = Part(table.open(), row - 1, 1)
            if not sum(batch.num_rows for batch in part.batches({part.columns[0]: "text"})):
                raise InputError(f"{table.name} has no row {row}. Hint: --row counts from 1, the header left out")
            drawn, what = nomogram(model, part, classes=pair, most=most), f"row {row} of {table.name}"
    picture.save(drawn, f"{drawn.get_title(loc='left')}, {what}")
