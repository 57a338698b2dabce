"""`deciban plot densities`: what a model believes of its columns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import status
from deciban.cli.plot.picture_options import Picture, To, pictured

if TYPE_CHECKING:
    from deciban.sources.source import Source

EXAMPLE = a.example(
    "deciban plot densities patients.deciban patients.csv -o columns.png",
    "deciban plot densities patients.deciban --columns age,temperature -o two.svg",
)
Columns = Annotated[
    str | None,
    typer.Option("--columns", metavar="A,B,…", help="The columns to draw; the most telling unless given."),
]
Most = Annotated[
    int, typer.Option("--most", metavar="NUMBER", min=1, max=40, help="How many columns, the most telling first.")
]


@pictured
def command(
    model: a.ModelFile,
    to: To,
    data: a.Tables = None,
    columns: Columns = None,
    most: Most = 9,
    sql: a.Sql = None,
    format: a.Format = None,
    encoding: a.Encoding = "utf-8",
    missing: a.Missing = None,
    hive: a.Hive = False,
) -> None:
    """Draw p(x|k), a panel for each column: curves of numbers, shares of values; with DATA its numbers beneath."""
    from deciban.cli.inputs import given

    picture = to([model, *(data or ())])
    wanted = None if columns is None else a.listed(columns)
    if not data and sql is None:
        run(model, None, picture, wanted, most)
        return
    with given(data, sql, None, format, encoding, "strict", missing, hive) as table:
        run(model, table.open(), picture, wanted, most)


def run(path: Path, rows: Source | None, picture: Picture, columns: list[str] | None, most: int) -> None:
    """Open the model, draw, write."""
    from deciban.cli.model_files import open_model
    from deciban.plots import densities

    model = open_model(path)
    with status("drawing …"):
        drawn = densities(model, rows, columns=columns, most=most)
    panels = len(drawn.axes) if hasattr(drawn, "savefig") else 1
    picture.save(drawn, f"what {len(model.classes)} classes look like in {panels} column{'' if panels == 1 else 's'}")
