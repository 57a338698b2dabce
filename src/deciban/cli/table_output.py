"""Tables that commands write: to a file, whose ending is the format, or to standard output."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deciban.cli.files import atomic_file, check_output
from deciban.errors import UsageError
from deciban.formatting import escape_controls
from deciban.sources.table_writers import Change, Write, neutralise_formula, open_format

FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
"""The format of a table by the ending of its file."""


def output_format(out: str | None, as_json: bool) -> str:
    """Return the format of the file's ending, UsageError for another; for stdout CSV, or JSON lines with --json."""
    if out is None or out == "-":
        return "jsonl" if as_json else "csv"
    form = FORMATS.get(Path(out).suffix.lower())
    if form is None:
        raise UsageError(f"-o {out}: unknown ending; use one of {', '.join(FORMATS)}")
    return form


def check_table_output(out: str | None, as_json: bool, safe: bool, inputs: Sequence[str | Path]) -> None:
    """Refuse, before any work is done, a file that cannot be written, has an unknown ending, or is one of the inputs.

    Refuse --safe-cells for formats in which spreadsheets see no formulas.
    """
    form = output_format(out, as_json)
    if safe and form not in ("csv", "tsv"):
        raise UsageError(f"--safe-cells is for CSV and TSV; the output is {form}")
    check_output(out or "-", inputs)


@contextmanager
def open_table_writer(out: str | None, as_json: bool, schema: Any, safe: bool = False) -> Iterator[Write]:
    """Yield a function that writes batches of this schema; a file gets its name when all are written.

    Control characters are escaped on a terminal; `safe` neutralises cells that look like formulas.
    """
    form = output_format(out, as_json)
    changes: list[Change] = [neutralise_formula] if safe else []
    if out is None or out == "-":
        changes += [escape_controls] if sys.stdout.isatty() else []
        with open_format(form, sys.stdout.buffer, schema, changes) as write:
            yield write
        return
    with (
        atomic_file(out) as unfinished,
        unfinished.open("wb") as file,
        open_format(form, file, schema, changes) as write,
    ):
        yield write
