"""`deciban plot learning` and `comparison`: learning curves of one learner, and learners side by side."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from deciban.cli import compare
from deciban.cli import learning as learning_command
from deciban.cli import options as a
from deciban.cli.error_handling import status
from deciban.cli.plot.picture_options import To, draws_picture

LEARNING = a.example(
    "deciban plot learning patients.csv --target diagnosis -o learning.png",
    "deciban plot learning patients.csv --target diagnosis --flipped 0,0.1,0.2 --figure log-loss -o noise.svg",
)
COMPARISON = a.example(
    "deciban plot comparison patients.csv --target diagnosis -o learners.png",
    "deciban plot comparison patients.csv --target diagnosis --learners bayes,logistic --figure log-loss -o two.svg",
)
Figure = Annotated[
    Literal["accuracy", "log-loss"],
    typer.Option("--figure", metavar="accuracy|log-loss", help="Which figure is drawn."),
]


@a.with_options_of(learning_command.command)
@draws_picture
def learning(to: To, figure: Figure = "accuracy", **options: Any) -> None:
    """Draw the quality of models of more and more rows on the same held-out rows; with --flipped a curve for each
    share of wrong labels.
    """
    from deciban import plots
    from deciban.cli.inputs import open_table

    with open_table(options) as table:
        picture = to(table.paths)
        curve = learning_command.measure_curve(table, options)
        with status("drawing …"):
            ax = plots.learning(curve, figure="accuracy" if figure == "accuracy" else "log_loss")
        picture.save(ax, f"the {figure} of {len(curve.points)} models by {curve.held_out} rows held out")


@a.with_options_of(compare.command, without=("times",))
@draws_picture
def comparison(to: To, figure: Figure = "accuracy", **options: Any) -> None:
    """Draw how much worse each learner is than the best, and the quality of each by how many rows it has learned."""
    from deciban import plots
    from deciban.cli.inputs import open_table

    with open_table(options) as table:
        picture = to(table.paths)
        found = compare.compare_learners(table, options)
        with status("drawing …"):
            drawn = plots.comparison(found, figure="accuracy" if figure == "accuracy" else "log_loss")
        picture.save(drawn, f"the {figure} of {len(found)} learners, by {len(found.weight)} rows")
