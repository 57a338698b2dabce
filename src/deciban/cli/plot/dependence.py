"""`deciban plot dependence`: how far columns depend on each other, given the class and without it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from deciban.cli import dependence
from deciban.cli import options as a
from deciban.cli.error_handling import status
from deciban.cli.plot.picture_options import Picture, To, pictured
from deciban.cli.plot.shared_options import borrowing, table_of

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput

EXAMPLE = a.example(
    "deciban plot dependence patients.csv --target diagnosis -o dependence.png",
    "deciban plot dependence wide.parquet --target y --order alike -o dependence.svg",
)
Order = Annotated[
    Literal["table", "alike"],
    typer.Option(
        "--order",
        metavar="table|alike",
        help="Columns as in the table, or those next to each other that depend on each other.",
    ),
]


@borrowing(dependence.command, "most")
@pictured
def command(
    to: To,
    order: Order = "table",
    **options: Any,
) -> None:
    """Draw what every two columns tell about each other: beneath the diagonal given the class, which naive Bayes
    takes for nothing, above it whatever the class.
    """
    with table_of(options) as table:
        run(table, to(table.paths), options, order)


def run(table: TableInput, picture: Picture, options: Mapping[str, Any], order: Literal["table", "alike"]) -> None:
    """Measure, draw, write."""
    from deciban import plots
    from deciban.cli.train import find_target

    found = dependence.measured(
        table, find_target(table, options["target"], None), options["roles"], options["weights"]
    )
    with status("drawing …"):
        ax = plots.dependence(found, order=order)
    picture.save(ax, f"the dependence of {len(found.features)} features, by {found.rows} rows")
