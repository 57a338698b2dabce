"""`deciban add`, `deciban forget` and `deciban merge`: models that learn more rows, unlearn rows, or are added up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, Literal

from deciban.cli import options as a
from deciban.cli.command_groups import UsageError
from deciban.cli.error_handling import print_stderr
from deciban.cli.files import check_output, open_model, save
from deciban.cli.inputs import direct_role_hints_to_training, open_table
from deciban.cli.parser import DEBUG, argument, command, option
from deciban.cli.progress import progress

CHANGES = (
    a.MODEL_FILE,
    option("-o --output", "MODEL", "The file to write; by default MODEL itself."),
    *a.TABLE_OPTIONS,
    DEBUG,
)
"""The arguments of a command that changes a model."""


@command(*CHANGES, examples=["deciban add patients.deciban new-cases.csv"])
def add(model: Path, output: str | None, **options: Any) -> None:
    """Learn more rows: the model becomes the one that training on all rows, with its roles, would have given."""
    _change("add", model, output, options)


@command(*CHANGES, examples=["deciban forget patients.deciban withdrawn.csv -o without.deciban"])
def forget(model: Path, output: str | None, **options: Any) -> None:
    """Unlearn rows: the model becomes the one that training without them would have given."""
    _change("forget", model, output, options)


def _change(what: Literal["add", "forget"], path: Path, output: str | None, options: Mapping[str, Any]) -> None:
    from deciban.cli.render import format_count, format_row_count

    with direct_role_hints_to_training(), open_table(options) as table:
        out = output or str(path)
        check_output(out, table.paths)
        model = open_model(path)
        before = model.ledger.n_rows
        with progress(table, "learning" if what == "add" else "forgetting") as rows:
            change = model.add if what == "add" else model.forget
            change(table.source, progress=rows, **table.source_options)
        save(model, out)
        after = model.ledger.n_rows
    if out != "-":
        done = "learned" if what == "add" else "forgot"
        changed = format_row_count(abs(after - before))
        print_stderr(f"{out}: {done} {changed}, {format_count(before)} before and {format_count(after)} now")


@command(
    argument("models", nargs="+", metavar="MODEL", type=Path, help="Two models or more."),
    option("-o --output", "MODEL", "The file to write.", required=True),
    DEBUG,
    examples=["deciban merge north.deciban south.deciban -o both.deciban"],
)
def merge(models: Sequence[Path], output: str) -> None:
    """Add models up: the result is the model that one training on all their rows would have given."""
    if len(models) < 2:
        raise UsageError("two models or more are needed")
    from deciban.cli.render import format_row_count

    check_output(output)
    merged = reduce(lambda x, y: x + y, (open_model(path) for path in models))
    save(merged, output)
    if output != "-":
        print_stderr(f"{output}: {len(models)} models, {format_row_count(merged.ledger.n_rows)} together")
