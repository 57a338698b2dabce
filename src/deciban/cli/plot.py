"""`deciban plot`: pictures of what a model has learned."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from deciban.cli import arguments as a
from deciban.cli.manners import manners, status
from deciban.cli.telltales import Column, Labels

EXAMPLE = a.example(
    "deciban plot telltales messages.deciban -o words.png",
    "deciban plot telltales newsgroups.deciban --class sci.space --class sci.med -o two.svg",
)
What = Annotated[
    Literal["telltales"],
    typer.Argument(help="telltales: the words that tell each class from the others.", show_default=False),
]
Out = Annotated[
    str,
    typer.Option("-o", "--output", metavar="FILE", help="The .png, .svg or .pdf file to write.", show_default=False),
]
Number = Annotated[
    int, typer.Option("-n", "--number", metavar="NUMBER", min=1, max=60, help="How many words of each class.")
]
ENDINGS = (".png", ".svg", ".pdf")
DOTS = 110
"""Dots to an inch of a PNG."""


def command(
    what: What,
    model: a.ModelFile,
    output: Out,
    labels: Labels = None,
    number: Number = 12,
    column: Column = None,
    debug: a.Debug = False,
) -> None:
    """Draw the telltales of each class, the most telling first: evidence as bars, with 90 % intervals."""
    with manners(debug):
        run(model, output, labels, number, column)


def run(path: Path, out: str, labels: list[str] | None, n: int, column: str | None) -> None:
    """Open the file, draw, write."""
    from deciban.cli.output import check_output
    from deciban.cli.telling import open_teller

    ending = Path(out).suffix.lower()
    if ending not in ENDINGS:
        raise typer.BadParameter(f"-o {out}: the ending names no kind of picture; one of {', '.join(ENDINGS)}")
    check_output(out, [path])
    from deciban.plots import telltales
    from deciban.plots.style import need_matplotlib

    need_matplotlib()
    teller = open_teller(path, column)
    with status("drawing …"):
        chosen = teller.chosen(labels)
        _save(telltales(teller.model, chosen, n=n, column=column), out, ending.removeprefix("."))
    typer.echo(f"{out}: the telltales of {len(chosen)} classes", err=True)


def _save(figure: object, out: str, form: str) -> None:
    """Write the picture, the same bytes for the same model: no date, and names that are no random numbers."""
    from matplotlib import rc_context

    from deciban.cli.output import whole_file

    undated = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with whole_file(out) as unfinished, rc_context({"svg.hashsalt": "deciban"}):
        figure.savefig(unfinished, format=form, dpi=DOTS, metadata=undated[form])  # type: ignore[attr-defined]
