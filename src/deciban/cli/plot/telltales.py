"""`deciban plot telltales`: the words that distinguish classes, as bars."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import status
from deciban.cli.plot.picture_options import Picture, To, draws_picture
from deciban.cli.telltales import Column, Labels, open_telltale_model

EXAMPLE = a.example(
    "deciban plot telltales messages.deciban -o words.png",
    "deciban plot telltales newsgroups.deciban --class sci.space --class sci.med -o two.svg",
)
Number = Annotated[
    int, typer.Option("-n", "--number", metavar="NUMBER", min=1, max=60, help="How many words of each class.")
]


@draws_picture
def command(
    model: a.ModelFile,
    to: To,
    labels: Labels = None,
    number: Number = 12,
    column: Column = None,
) -> None:
    """Draw the telltales of each class, the strongest first: evidence as bars, with 90 % intervals."""
    run(model, to([model]), labels, number, column)


def run(path: Path, picture: Picture, labels: list[str] | None, n: int, column: str | None) -> None:
    """Open the file, draw and write."""
    from deciban.plots import telltales

    source = open_telltale_model(path, column)
    with status("drawing …"):
        classes = source.select_classes(labels)
        drawn = telltales(source.model, classes, n=n, column=column)
    picture.save(drawn, f"the telltales of {len(classes)} classes")
