"""`deciban plot comparison`: learners side by side, and how much each makes of few rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deciban.cli import compare
from deciban.cli import options as a
from deciban.cli.error_handling import status
from deciban.cli.plot.learning import Figure
from deciban.cli.plot.picture_options import Picture, To, pictured
from deciban.cli.plot.shared_options import borrowing, table_of, wishes

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput

EXAMPLE = a.example(
    "deciban plot comparison patients.csv --target diagnosis -o learners.png",
    "deciban plot comparison patients.csv --target diagnosis --learners bayes,logistic --figure log-loss -o two.svg",
)


@borrowing(compare.command, "times")
@pictured
def command(
    to: To,
    figure: Figure = "accuracy",
    **options: Any,
) -> None:
    """Draw how much worse each learner is than the best, and how good each is by how many rows it has learned."""
    with table_of(options) as table:
        run(table, to(table.paths), options, figure)


def run(table: TableInput, picture: Picture, options: Mapping[str, Any], figure: str) -> None:
    """Learn and judge, draw, write."""
    from deciban import plots
    from deciban.cli.train import find_target

    wished = wishes(options, "target", "curve") | {"curve": options["curve"]}
    found = compare.comparison(table, find_target(table, options["target"], options["classes"]), wished)
    with status("drawing …"):
        drawn = plots.comparison(found, figure="accuracy" if figure == "accuracy" else "log_loss")
    picture.save(drawn, f"the {figure} of {len(found)} learners, by {len(found.weight)} rows")
