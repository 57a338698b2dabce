"""The `deciban` command: what there is; each command has a file of its own."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from deciban import __version__
from deciban.cli import (
    bayes,
    change,
    compare,
    dependence,
    diff,
    evaluate,
    example,
    explain,
    inspect,
    learning,
    merge,
    plot,
    predict,
    sample,
    telltales,
    train,
)
from deciban.cli.arguments import AsJson, Debug
from deciban.cli.arguments import example as in_help
from deciban.cli.manners import INTERRUPTED, UNREAD, manners

app = typer.Typer(
    name="deciban",
    help="Classify by weighing evidence: naive Bayes, Gaussian Bayes and their kin.",
    epilog="\b\nExit codes: 0 done, 1 refused, 2 wrong usage, 130 interrupted, 141 unread.\n"
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
    ("compare", "Compare learners, and say which to take.", compare.command, compare.EXAMPLE),
    ("learning", "Measure how much more rows would help.", learning.command, learning.EXAMPLE),
    ("dependence", "Measure how far columns depend on each other.", dependence.command, dependence.EXAMPLE),
    ("inspect", "Show what is in a model file.", inspect.command, inspect.EXAMPLE),
    ("telltales", "Show the words that tell classes apart.", telltales.command, telltales.EXAMPLE),
    ("diff", "Show what changed from one model to another.", diff.command, diff.EXAMPLE),
    ("merge", "Add models up.", merge.command, merge.EXAMPLE),
    ("add", "Learn more rows.", change.add, change.ADD),
    ("forget", "Unlearn rows.", change.forget, change.FORGET),
    ("sample", "Draw rows from a model.", sample.command, sample.EXAMPLE),
    ("bayes", "Say what a test result means: Bayes' theorem.", bayes.command, bayes.EXAMPLE),
    ("example", "Write a small table to try things on.", example.command, example.EXAMPLE),
):
    app.command(_name, short_help=_what, epilog=_example)(_command)
app.add_typer(plot.app)


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
    """The console entry point; a terminal that lacks a character gets '?' and no error, nor does a closed stream."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  as long as the process
        if hasattr(getattr(sys, name), "reconfigure"):
            getattr(sys, name).reconfigure(errors="replace")
    try:
        app()
    except KeyboardInterrupt:
        _leave(INTERRUPTED)
    except SystemExit as leaving:
        if leaving.code == INTERRUPTED:
            _leave(INTERRUPTED)
        if _unread(leaving):
            _leave(UNREAD)
        raise


def _unread(leaving: SystemExit) -> bool:
    """Whether the reader of a pipe has left: typer and rich make an exit of their own of it, or it shows now."""
    try:
        sys.stdout.flush()
    except OSError as error:
        return isinstance(error, BrokenPipeError)
    return isinstance(leaving.__context__, BrokenPipeError)


def _leave(code: int) -> NoReturn:
    """End at once: an orderly end writes what a closed pipe still waits for, and crashes where, after Ctrl-C, a
    library's threads are at work still.
    """
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
