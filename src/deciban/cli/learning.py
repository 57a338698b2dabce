"""`deciban learning`: quality of models by the number of rows learned, and by the share of wrong labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import handle_errors

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput
    from deciban.metrics.learning_curves import LearningCurve

EXAMPLE = a.example(
    "deciban learning patients.csv --target diagnosis",
    "deciban learning patients.csv --target diagnosis --sizes 20,50,100 --flipped 0,0.1,0.2",
)
Sizes = Annotated[
    str | None,
    typer.Option(
        "--sizes",
        metavar="N,N,…",
        help="How many rows to learn, or shares of those that are not held out: 0.5 (default: all, half, a quarter "
        "…).",
    ),
]
Flipped = Annotated[
    str | None,
    typer.Option(
        "--flipped",
        metavar="SHARE,…",
        help="Replace a share of the training labels by another class, to measure the effect of label noise.",
    ),
]


@a.with_options_of(a.model_options, a.table_options)
def command(
    sizes: Sizes = None,
    flipped: Flipped = None,
    json: a.AsJson = False,
    debug: a.Debug = False,
    **options: Any,
) -> None:
    """Measure models of more and more rows on the same held-out rows: would more rows help, and does noise hurt?"""
    from deciban.cli.inputs import open_table
    from deciban.cli.training_options import find_target

    options |= {"sizes": sizes, "flipped": flipped}
    with handle_errors(debug), open_table(options) as table:
        title = f"{find_target(table, options)} of {table.name}, by how many rows are learned"
        show(measure_curve(table, options), title, json)


def measure_curve(table: TableInput, options: Mapping[str, Any]) -> LearningCurve:
    """Compute the learning curve of a table."""
    import deciban
    from deciban.cli.progress import progress
    from deciban.cli.training_options import find_target, training_arguments

    target = find_target(table, options)
    lists = {name: a.parse_numbers(options[name], f"--{name}") for name in ("sizes", "flipped")}
    arguments = training_arguments({**a.select_options(options), **lists})
    with progress(table, "learning", again="learning") as rows:
        return deciban.learning_curve(table.source, target=target, progress=rows, **table.reading, **arguments)


def show(curve: LearningCurve, title: str, as_json: bool) -> None:
    """Print the figures as JSON or as a table."""
    from deciban.cli.output import print_json

    if as_json:
        print_json(curve.to_dict())
        return
    from deciban.cli.render import console, line, print_title, table

    out = console()
    print_title(out, title)
    head, *body = curve.table()
    table(out, head, body, right=range(len(head)))
    for note in curve.notes():
        line(out, f"({note})")
