"""`deciban train`: train a model on a table, write its file, and report on it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from deciban.cli import options as a
from deciban.cli.error_handling import print_stderr, show_spinner
from deciban.cli.files import check_output, default_file, print_json, save
from deciban.cli.inputs import open_table
from deciban.cli.parser import DEBUG, JSON, command, option, switch
from deciban.cli.training_options import WORD_OPTIONS, call_on_table, find_target


@command(
    option("-o --output", "MODEL",
           "The file to write, - for stdout; by default DATA's name with .deciban, in the current folder."),
    a.CALIBRATE, switch("--judge", "Whether to measure held-out quality."), a.TARGET, *a.MODEL_OPTIONS,
    *a.TABLE_OPTIONS, JSON, DEBUG,
    examples=[
        "deciban train patients.csv --target diagnosis",
        "deciban train 'day-*.parquet' --target spam --as sender=category -o spam.deciban",
        "deciban train messages.csv --target topic --ngrams 2",
        "deciban train --folders newsgroups --encoding latin-1",
    ],
)  # fmt: skip
def train(output: str | None, judge: bool, json: bool, **options: Any) -> None:
    """Learn to predict a column of a table from its other columns, and write a model file."""
    with open_table(options) as table:
        find_target(table, options)  # reports a missing --target before all else
        out = output or default_file(options["data"] or [options["folders"] or ""])
        check_output(out, table.paths)
        model = call_on_table("train", table, options, ["calibrate"], judge=judge)
        with show_spinner("describing the model …"):
            model.origin = replace(model.origin, source=table.name)
            from deciban.cli.report_screen import show_training, training_figures

            description = model.describe()
        save(model, out)
        if json and out != "-":
            print_json(training_figures(model, description, out))
        show_training(
            model, description, out, is_named=output is not None, to_stderr=json or out == "-", measured=judge,
            of_documents=table.format in ("folders", "text", "lines"), calibrated=options["calibrate"] is not None,
        )  # fmt: skip
    if any(options[name] for name in WORD_OPTIONS) and not model.layout.texts:
        print_stderr(
            "warning: no column was read as text, so --ngrams, --tokens, --stop-words and --presence had no effect. "
            "Hint: --as COLUMN=text"
        )
