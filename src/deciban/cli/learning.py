"""`deciban learning`: quality of models by the number of rows learned, and by the share of wrong labels."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from deciban.cli import options as a
from deciban.cli.files import print_json
from deciban.cli.inputs import open_table
from deciban.cli.parser import DEBUG, JSON, command, option
from deciban.cli.render import Screen
from deciban.cli.training_options import call_on_table, find_target

if TYPE_CHECKING:
    from deciban.metrics.learning_curves import LearningCurve


@command(
    option("--sizes", "N,N,…",
           "How many rows to learn, or shares of those that are not held out: 0.5 (default: all, half, a quarter …).",
           type=a.parse_numbers),
    option("--flipped", "SHARE,…",
           "Replace a share of the training labels by another class, to measure the effect of label noise.",
           type=a.parse_numbers),
    a.TARGET, *a.MODEL_OPTIONS, *a.TABLE_OPTIONS, JSON, DEBUG,
    examples=[
        "deciban learning patients.csv --target diagnosis",
        "deciban learning patients.csv --target diagnosis --sizes 20,50,100 --flipped 0,0.1,0.2",
    ],
)  # fmt: skip
def learning(json: bool, **options: Any) -> None:
    """Measure models of more and more rows on the same held-out rows: would more rows help, and does noise hurt?"""
    with open_table(options) as table:
        title = f"{find_target(table, options)} of {table.name}, by how many rows are learned"
        show(measure_curve(table, options), title, json)


measure_curve = partial(call_on_table, "learning_curve", names=("sizes", "flipped"), again="learning")
"""Compute the learning curve of a table."""


def show(curve: LearningCurve, title: str, as_json: bool) -> None:
    """Print the figures as JSON or as a table."""
    if as_json:
        print_json(curve.to_dict())
        return

    out = Screen()
    out.print_title(title)
    head, *body = curve.table()
    out.print_table(head, body, right=range(len(head)))
    for note in curve.notes():
        out.print_line(f"({note})")
