"""`deciban plot learning`: how good a model is by how many rows it has learned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from deciban.cli import learning
from deciban.cli import options as a
from deciban.cli.error_handling import status
from deciban.cli.plot.picture_options import Picture, To, pictured
from deciban.cli.plot.shared_options import borrowing, table_of, wishes

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput

EXAMPLE = a.example(
    "deciban plot learning patients.csv --target diagnosis -o learning.png",
    "deciban plot learning patients.csv --target diagnosis --flipped 0,0.1,0.2 --figure log-loss -o noise.svg",
)
Figure = Annotated[
    Literal["accuracy", "log-loss"],
    typer.Option("--figure", metavar="accuracy|log-loss", help="Which figure is drawn."),
]


@borrowing(learning.command)
@pictured
def command(
    to: To,
    figure: Figure = "accuracy",
    **options: Any,
) -> None:
    """Draw how good models of more and more rows are on the same rows held out; with --flipped a curve for each share
    of wrong labels.
    """
    with table_of(options) as table:
        run(table, to(table.paths), options, figure)


def run(table: TableInput, picture: Picture, options: Mapping[str, Any], figure: str) -> None:
    """Learn and judge, draw, write."""
    from deciban import plots
    from deciban.cli.train import find_target

    wished = wishes(options, "target")
    for name in ("sizes", "flipped"):
        wished[name] = learning.numbers_in(wished[name], f"--{name}")
    curve = learning.curve(table, find_target(table, options["target"], options["classes"]), wished)
    with status("drawing …"):
        ax = plots.learning(curve, figure="accuracy" if figure == "accuracy" else "log_loss")
    picture.save(ax, f"the {figure} of {len(curve.points)} models by {curve.held_out} rows held out")
