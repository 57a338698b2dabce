"""The commands of `deciban`; the module of each is imported when it is called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deciban import __version__
from deciban.cli.error_handling import handle_errors
from deciban.cli.lazy_commands import LazyCommand, make_group
from deciban.cli.mail.commands import GROUP as MAIL
from deciban.cli.mail.commands import run as run_mail
from deciban.cli.options import AsJson, Debug
from deciban.cli.options import example as format_example

COMMANDS = {
    "train": LazyCommand("Learn from a table, write a model file, report on it.", "deciban.cli.train"),
    "predict": LazyCommand("Predict every row of a table.", "deciban.cli.predict"),
    "explain": LazyCommand("Explain predictions of rows.", "deciban.cli.explain"),
    "evaluate": LazyCommand("Measure the quality of a model, in folds or on other rows.", "deciban.cli.evaluate"),
    "compare": LazyCommand("Compare learners, and recommend one.", "deciban.cli.compare"),
    "learning": LazyCommand("Measure how much more rows would help.", "deciban.cli.learning"),
    "dependence": LazyCommand("Measure how strongly columns depend on each other.", "deciban.cli.dependence"),
    "inspect": LazyCommand("Show the contents of a model file.", "deciban.cli.inspect"),
    "telltales": LazyCommand("Show the words that distinguish classes.", "deciban.cli.telltales"),
    "plot": LazyCommand("Draw data, models, and their quality.", "deciban.cli.plot", "app"),
    "diff": LazyCommand("Show the differences between two models.", "deciban.cli.diff"),
    "merge": LazyCommand("Add models up.", "deciban.cli.model_changes", "merge", "MERGE"),
    "add": LazyCommand("Learn more rows.", "deciban.cli.model_changes", "add", "ADD"),
    "forget": LazyCommand("Unlearn rows.", "deciban.cli.model_changes", "forget", "FORGET"),
    "sample": LazyCommand("Draw rows from a model.", "deciban.cli.sample"),
    "bayes": LazyCommand("Explain a test result by Bayes' theorem.", "deciban.cli.bayes"),
    "example": LazyCommand("Write a small table or mailbox to try things on.", "deciban.cli.example"),
}
"""The commands, in the order of `deciban --help`."""

app = typer.Typer(
    name="deciban",
    cls=make_group(COMMANDS),
    help="Classify by weighing evidence: naive Bayes, Gaussian Bayes and related models.",
    epilog="\b\nExit codes: 0 success, 1 error, 2 wrong usage, 130 interrupted, 141 unread.\n"
    "Begin with: deciban example patients > patients.csv",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"deciban {__version__}")
        raise typer.Exit


@app.callback()
def deciban(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Classify by weighing evidence: naive Bayes, Gaussian Bayes and related models."""


@app.command(
    "mail",
    short_help="Classify mail as spam or ham, as you label it.",
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
def mail(
    arguments: Annotated[list[str] | None, typer.Argument(autocompletion=lambda: list(MAIL.commands))] = None,
) -> None:
    """Run a command for mail, which has a parser of its own."""
    raise typer.Exit(run_mail(arguments or []))


@app.command(
    "demo",
    short_help="See deciban at work on data that needs no download.",
    epilog=format_example("deciban demo --folder demo"),
)
def demo(
    folder: Annotated[
        Path, typer.Option("--folder", metavar="FOLDER", help="Where to write the picture and the report.")
    ] = Path("demo"),
    json: AsJson = False,
    debug: Debug = False,
) -> None:
    """See deciban at work on data that needs no download: train, evaluate, explain, forget, draw."""
    with handle_errors(debug):
        from deciban.cli.demo import run

        run(folder, json)
