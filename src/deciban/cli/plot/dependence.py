"""`deciban plot dependence`: how strongly columns depend on each other, given the class and without it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from deciban.cli import dependence
from deciban.cli import options as a
from deciban.cli.error_handling import status
from deciban.cli.plot.picture_options import To, draws_picture

EXAMPLE = a.example(
    "deciban plot dependence patients.csv --target diagnosis -o dependence.png",
    "deciban plot dependence wide.parquet --target y --order alike -o dependence.svg",
)
Order = Annotated[
    Literal["table", "alike"],
    typer.Option(
        "--order",
        metavar="table|alike",
        help="The order of columns: as in the table, or with dependent columns next to each other.",
    ),
]


@a.with_options_of(dependence.command, without=("most",))
@draws_picture
def command(to: To, order: Order = "table", **options: Any) -> None:
    """Draw the mutual information of every two columns: below the diagonal given the class, which naive Bayes assumes
    to be zero, above it without the class.
    """
    from deciban import plots
    from deciban.cli.inputs import open_table

    with open_table(options) as table:
        picture = to(table.paths)
        found = dependence.measure_dependence(table, options)
        with status("drawing …"):
            ax = plots.dependence(found, order=order)
        picture.save(ax, f"the dependence of {len(found.features)} features, by {found.rows} rows")
