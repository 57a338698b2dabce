"""The `deciban` command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from deciban import __version__
from deciban.cli.manners import manners

app = typer.Typer(
    name="deciban",
    help="Classify by weighing evidence: naive Bayes, Gaussian Bayes and their kin.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Debug = Annotated[bool, typer.Option("--debug", help="Show where an error happened.")]
AsJson = Annotated[bool, typer.Option("--json", help="Give the figures as JSON.")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"deciban {__version__}")
        raise typer.Exit


@app.callback()
def deciban(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Classify by weighing evidence: naive Bayes, Gaussian Bayes and their kin."""


@app.command()
def demo(
    folder: Annotated[Path, typer.Option("--folder", help="Where to write the picture and the report.")] = Path(
        "demo"
    ),
    json: AsJson = False,
    debug: Debug = False,
) -> None:
    """See deciban at work on data that needs no download: train, judge, explain, forget, draw."""
    with manners(debug):
        from deciban.cli.demo import run

        run(folder, json)


def main() -> None:
    """The console entry point; a terminal that lacks a character gets '?' and no error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    app()


if __name__ == "__main__":
    main()
