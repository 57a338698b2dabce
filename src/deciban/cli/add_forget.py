"""`deciban add` and `deciban forget`: a model that has learned some rows more, or never learned them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import handle_errors, print_stderr

ADD = a.example("deciban add patients.deciban new-cases.csv")
FORGET = a.example("deciban forget patients.deciban withdrawn.csv -o without.deciban")
Out = Annotated[
    str | None,
    typer.Option("-o", "--output", metavar="MODEL", help="The file to write; MODEL itself unless given."),
]


def add(
    model: a.ModelFile,
    data: a.Tables = None,
    output: Out = None,
    sql: a.Sql = None,
    folders: a.Folders = None,
    format: a.Format = None,
    encoding: a.Encoding = "utf-8",
    errors: a.Errors = "strict",
    missing: a.Missing = None,
    hive: a.Hive = False,
    debug: a.Debug = False,
) -> None:
    """Learn more rows: the model becomes what training on all rows, with its roles, would have given."""
    _change("add", model, data, output, sql, folders, format, encoding, errors, missing, hive, debug)


def forget(
    model: a.ModelFile,
    data: a.Tables = None,
    output: Out = None,
    sql: a.Sql = None,
    folders: a.Folders = None,
    format: a.Format = None,
    encoding: a.Encoding = "utf-8",
    errors: a.Errors = "strict",
    missing: a.Missing = None,
    hive: a.Hive = False,
    debug: a.Debug = False,
) -> None:
    """Unlearn rows: the model becomes what it would be had they never been learned."""
    _change("forget", model, data, output, sql, folders, format, encoding, errors, missing, hive, debug)


def _change(
    what: Literal["add", "forget"],
    path: Path,
    data: list[str] | None,
    output: str | None,
    sql: str | None,
    folders: str | None,
    format: str | None,
    encoding: str,
    errors: str,
    missing: list[str] | None,
    hive: bool,
    debug: bool,
) -> None:
    from deciban.cli.inputs import direct_role_hints_to_training, given

    with (
        handle_errors(debug),
        direct_role_hints_to_training(),
        given(data, sql, folders, format, encoding, errors, missing, hive) as table,
    ):
        from deciban.cli.model_files import open_model
        from deciban.cli.output import check_output, save
        from deciban.cli.progress import progress
        from deciban.cli.render import count, format_row_count

        out = output or str(path)
        check_output(out, table.paths)
        model = open_model(path)
        before = model.ledger.n_rows
        with progress(table, "learning" if what == "add" else "forgetting") as rows:
            change = model.add if what == "add" else model.forget
            change(table.source, progress=rows, **table.reading)
        save(model, out)
        after = model.ledger.n_rows
        if out != "-":
            done = "learned" if what == "add" else "forgot"
            changed = format_row_count(abs(after - before))
            print_stderr(f"{out}: {done} {changed}, {count(before)} before and {count(after)} now")
