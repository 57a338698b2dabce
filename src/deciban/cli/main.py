"""The `deciban` command: what there is; each command has a file of its own."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from deciban import __version__
from deciban.cli import change, diff, evaluate, example, explain, inspect, merge, predict, sample, train
from deciban.cli.arguments import AsJson, Debug
from deciban.cli.arguments import example as in_help
from deciban.cli.manners import INTERRUPTED, manners

app = typer.Typer(
    name="deciban",
    help="Classify by weighing evidence: naive Bayes, Gaussian Bayes and their kin.",
    epilog="\b\nExit codes: 0 done, 1 refused, 2 wrong usage, 130 interrupted.\n"
    "Begin with: deciban example patients > patients.csv",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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


for _name, _what, _command, _example in (
    ("train", "Learn from a table, write a model file, report on it.", train.command, train.EXAMPLE),
    ("predict", "Predict every row of a table.", predict.command, predict.EXAMPLE),
    ("explain", "Say why rows are predicted as they are.", explain.command, explain.EXAMPLE),
    ("evaluate", "Measure how good a model is, in folds or on other rows.", evaluate.command, evaluate.EXAMPLE),
    ("inspect", "Show what is in a model file.", inspect.command, inspect.EXAMPLE),
    ("diff", "Show what changed from one model to another.", diff.command, diff.EXAMPLE),
    ("merge", "Add models up.", merge.command, merge.EXAMPLE),
    ("add", "Learn more rows.", change.add, change.ADD),
    ("forget", "Unlearn rows.", change.forget, change.FORGET),
    ("sample", "Draw rows from a model.", sample.command, sample.EXAMPLE),
    ("example", "Write a small table to try things on.", example.command, example.EXAMPLE),
):
    app.command(_name, short_help=_what, epilog=_example)(_command)


@app.command(
    "demo",
    short_help="See deciban at work on data that needs no download.",
    epilog=in_help("deciban demo --folder demo"),
)
def demo(
    folder: Annotated[
        Path, typer.Option("--folder", metavar="FOLDER", help="Where to write the picture and the report.")
    ] = Path("demo"),
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
    try:
        app()
    except KeyboardInterrupt:
        _leave()
    except SystemExit as leaving:
        if leaving.code == INTERRUPTED:
            _leave()
        raise


def _leave() -> NoReturn:
    """End at once after Ctrl-C: a library's threads may be at work still, and crash an orderly end."""
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
