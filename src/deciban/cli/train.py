"""`deciban train`: train a model on a table, write its file, and report on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import handle_errors, print_stderr, status

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput

EXAMPLE = a.example(
    "deciban train patients.csv --target diagnosis",
    "deciban train 'day-*.parquet' --target spam --as sender=category -o spam.deciban",
    "deciban train messages.csv --target topic --ngrams 2",
    "deciban train --folders newsgroups --encoding latin-1",
)
Out = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="MODEL",
        help="The file to write, - for stdout; by default DATA's name with .deciban, in the current folder.",
    ),
]
Judge = Annotated[bool, typer.Option("--judge/--no-judge", help="Whether to measure held-out quality.")]
Calibrate = Annotated[
    Literal["auto", "temperature", "platt", "isotonic"] | None,
    typer.Option(
        "--calibrate",
        metavar="auto|temperature|platt|isotonic",
        help="Calibrate the probabilities on held-out rows; auto: by the simplest map that is as good as any.",
    ),
]


@a.with_options_of(a.model_options, a.table_options)
def command(
    output: Out = None,
    calibrate: Calibrate = None,
    judge: Judge = True,
    json: a.AsJson = False,
    debug: a.Debug = False,
    **options: Any,
) -> None:
    """Learn to predict a column of a table from its other columns, and write a model file."""
    from deciban.cli.inputs import open_table

    with handle_errors(debug), open_table(options) as table:
        run(table, {**options, "calibrate": calibrate}, output, judge, json)


def run(table: TableInput, options: Mapping[str, Any], output: str | None, judge: bool, as_json: bool) -> None:
    """Read, train, write and report; nothing is written unless all of it succeeds."""
    from deciban.cli.model_files import default_file
    from deciban.cli.output import check_output, print_json, save
    from deciban.cli.progress import progress
    from deciban.cli.training_options import find_target, training_arguments

    target = find_target(table, options)
    out = output or default_file(options["data"] or [options["folders"] or ""])
    check_output(out, table.paths)
    arguments = training_arguments(a.select_options(options, "calibrate"))
    with progress(table, "learning") as rows:
        import deciban

        model = deciban.train(table.source, target=target, judge=judge, progress=rows, **table.reading, **arguments)
    with status("describing the model …"):
        model.origin = replace(model.origin, source=table.name)
        from deciban.cli.report_screen import show_training, training_figures

        description = model.describe()
    save(model, out)
    if as_json and out != "-":
        print_json(training_figures(model, description, out))
    show_training(
        model,
        description,
        out,
        is_named=output is not None,
        to_stderr=as_json or out == "-",
        measured=judge,
        of_documents=table.format in ("folders", "text", "lines"),
        calibrated="calibrate" in arguments,
    )
    if arguments["words"] is not None and not model.layout.texts:
        print_stderr(
            "warning: no column was read as text, so --ngrams, --tokens, --stop-words and --presence had no effect. "
            "Hint: --as COLUMN=text"
        )
