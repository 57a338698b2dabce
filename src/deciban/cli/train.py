"""`deciban train`, `deciban add`, `deciban forget` and `deciban merge`: models that are written.

`train` trains a model on a table and reports on it; `add` learns more rows, `forget` unlearns rows, and `merge` adds
models up.
"""

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

from deciban.cli import options as a
from deciban.cli.error_handling import print_stderr, progress, show_spinner
from deciban.cli.files import ENDING, check_output, default_file, lock_for_change, print_json, save
from deciban.cli.inputs import TableInput, open_table
from deciban.cli.parser import DEBUG, JSON, argument, command, flag, option, switch
from deciban.cli.training_options import WORD_OPTIONS, call_on_table, find_target
from deciban.command_hints import direct_role_hints_to_training
from deciban.errors import UsageError
from deciban.formatting import format_count
from deciban.load_model import open_model


@command(
    option("-o --output", "MODEL",
           "The file to write, - for stdout; by default DATA's name with .deciban, in the current folder."),
    a.CALIBRATE, a.STRUCTURE, a.SECONDS, switch("--judge", "Whether to measure held-out quality."), a.TARGET,
    *a.MODEL_OPTIONS, *a.TABLE_OPTIONS, a.SPARK, JSON, DEBUG,
    examples=[
        "deciban train patients.csv --target diagnosis",
        "deciban train 'day-*.parquet' --target spam --as sender=category -o spam.deciban",
        "deciban train messages.csv --target topic --ngrams 2",
        "deciban train --folders newsgroups --encoding latin-1",
        "deciban train postgresql://me@host/clinic --table patients --target diagnosis --where 'age > 30'",
    ],
)  # fmt: skip
def train(output: str | None, judge: bool, json: bool, **options: Any) -> None:
    """Learn to predict a column of a table from its other columns, and write a model file."""
    with open_table(options) as table:
        find_target(table, options)  # reports a missing --target before all else
        out = output or default_file(_name_data(table, options))
        if any(path.endswith(ENDING) for path in table.paths):
            table.open()  # a model file in place of a table is refused as what it is
        check_output(out, table.paths)
        model = call_on_table("train", table, options, ["calibrate", "structure", "seconds"], judge=judge)
        with show_spinner("describing the model …"):
            model.origin = replace(model.origin, source=table.name)
            from deciban.cli.report_screen import show_training

            description = model.describe()
        save(model, out)
        if json and out != "-":
            held_out = None if model.held_out is None else model.held_out.to_dict()
            calibration = None if model.calibration is None else str(model.calibration)
            facts = description.to_dict()
            print_json({"model": out, **facts, "held_out": held_out, "calibration": calibration})
        of_documents = table.reading.format in ("folders", "text", "lines")
        show_training(
            model, description, out, is_named=output is not None, to_stderr=json or out == "-", measured=judge,
            of_documents=of_documents, calibrate=options["calibrate"],
        )  # fmt: skip
    if any(options[name] for name in WORD_OPTIONS) and not model._layout.texts:
        print_stderr(
            "warning: no column was read as text, so --tokenizer, --ngrams, --tokens, --stop-words and --presence "
            "had no effect. Hint: --as COLUMN=text"
        )


def _name_data(table: TableInput, options: Mapping[str, Any]) -> Sequence[str]:
    """Return the names of the data, by which a model file is named: of a database that of its table."""
    if table.is_database:
        return [re.sub(r"[^\w.-]+", "-", options["table"] or "") + ".table"]
    return options["data"] or [options["folders"] or ""]


UPDATE_ARGUMENTS = (
    a.MODEL_FILE,
    option("-o --output", "MODEL", "The file to write; by default MODEL itself."),
    *a.TABLE_OPTIONS,
)
"""The arguments of a command that changes a model, but for the last."""


@command(*UPDATE_ARGUMENTS, DEBUG, examples=["deciban add patients.deciban new-cases.csv"])
def add(model: Path, output: str | None, **options: Any) -> None:
    """Learn more rows: the model becomes the one that training on all rows, with its schema, would have given."""
    _update("add", model, output, options)


@command(
    *UPDATE_ARGUMENTS,
    flag("--exact", "Drop the calibration too, in which the rows had a part."),
    DEBUG,
    examples=["deciban forget patients.deciban withdrawn.csv -o without.deciban"],
)
def forget(model: Path, output: str | None, exact: bool, **options: Any) -> None:
    """Unlearn rows: the model becomes the one that training without them, with its schema, would have given."""
    _update("forget", model, output, options, exact=exact)


@command(
    *UPDATE_ARGUMENTS,
    flag("--learned", "The model has learned all of these rows: each is scored by the model without it."),
    DEBUG,
    examples=["deciban calibrate patients.deciban next-year.csv"],
)
def calibrate(model: Path, output: str | None, learned: bool, **options: Any) -> None:
    """Fit the calibration of a model again, to rows that it has not learned, or to those it has."""
    _update("calibrate", model, output, options, learned=learned)


def _update(what: str, path: Path, output: str | None, options: Mapping[str, Any], **more: Any) -> None:
    """Have a model learn, forget or be calibrated by the rows of a table, save it, and print what was done."""
    out = output or str(path)
    is_changed = out != "-" and os.path.realpath(out) == os.path.realpath(path)
    lock = lock_for_change(path) if is_changed else nullcontext()
    with direct_role_hints_to_training(), open_table(options) as table, lock:
        check_output(out, table.paths)
        model = open_model(path)
        before = model.ledger.n_effective
        with progress(table, {"add": "learning", "forget": "forgetting", "calibrate": "calibrating"}[what]) as rows:
            getattr(model, what)(table.source, progress=rows, **table.source_options, **more)
        save(model, out)
        after = model.ledger.n_effective
    if out != "-" and what == "calibrate":
        print_stderr(f"{out}: calibrated: {model.calibration}")
    elif out != "-":
        done = "learned" if what == "add" else "forgot"
        changed = format_count(abs(after - before), "row")
        print_stderr(f"{out}: {done} {changed}, {format_count(before)} before and {format_count(after)} now")
        _show_kept_calibration(model)


@command(
    argument("models", nargs="+", metavar="MODEL", type=Path, help="Two models or more."),
    option("-o --output", "MODEL", "The file to write.", required=True),
    DEBUG,
    examples=[
        "deciban train south.csv --target diagnosis --like north.deciban -o south.deciban",
        "deciban merge north.deciban south.deciban -o both.deciban",
    ],
)
def merge(models: Sequence[Path], output: str) -> None:
    """Add models of one schema (`train --like`) up: the result is the model of all their rows."""
    if len(models) < 2:
        raise UsageError("two models or more are needed")
    check_output(output)
    merged = reduce(lambda x, y: x + y, (open_model(path) for path in models))
    save(merged, output)
    if output != "-":
        print_stderr(f"{output}: {len(models)} models, {format_count(merged.ledger.n_effective, 'row')} together")
        _show_kept_calibration(merged)


def _show_kept_calibration(model: Any) -> None:
    """Print the calibration that a changed model has kept, if any."""
    if model.calibration is not None:
        print_stderr(f"calibration kept: {model.calibration}")
