"""`deciban plot densities`: the distributions of columns that a model has learned."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import status
from deciban.cli.plot.picture_options import Picture, To, draws_picture

if TYPE_CHECKING:
    from deciban.sources.source import Source

EXAMPLE = a.example(
    "deciban plot densities patients.deciban patients.csv -o columns.png",
    "deciban plot densities patients.deciban --columns age,temperature -o two.svg",
)
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns", metavar="A,B,…", help="The columns to draw; by default those with the strongest evidence."
    ),
]
Most = Annotated[
    int,
    typer.Option("--most", metavar="NUMBER", min=1, max=40, help="How many columns to draw, the strongest first."),
]


@a.with_options_of(a.table_options, without=a.DOCUMENT_OPTIONS)
@draws_picture
def command(
    model: a.ModelFile,
    to: To,
    columns: Columns = None,
    most: Most = 9,
    **options: Any,
) -> None:
    """Draw p(x|k), a panel for each column: curves of numbers, shares of values; with DATA its numbers below."""
    from deciban.cli.inputs import open_table

    picture = to([model, *(options["data"] or ())])
    names = None if columns is None else a.split_list(columns)
    if not options["data"] and options["sql"] is None:
        run(model, None, picture, names, most)
        return
    with open_table(options) as table:
        run(model, table.open(), picture, names, most)


def run(path: Path, rows: Source | None, picture: Picture, columns: list[str] | None, most: int) -> None:
    """Open the model, draw and write."""
    from deciban.cli.model_files import open_model
    from deciban.plots import densities

    model = open_model(path)
    with status("drawing …"):
        drawn = densities(model, rows, columns=columns, most=most)
    panels = len(drawn.axes) if hasattr(drawn, "savefig") else 1
    picture.save(
        drawn, f"the distributions of {panels} column{'' if panels == 1 else 's'} in {len(model.classes)} classes"
    )
