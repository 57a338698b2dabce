"""Tables written as they are made: CSV, TSV, JSON lines, Parquet or Arrow, to a file or to standard output."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from deciban.cli.output import whole_file
from deciban.errors import InputError
from deciban.files.plain import json_text

Write = Callable[[Any], None]

ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}


def output_format(out: str | None, as_json: bool) -> str:
    """The format that the file's ending names; CSV on standard output, or JSON lines if asked for."""
    if out is None or out == "-":
        return "jsonl" if as_json else "csv"
    form = ENDINGS.get(Path(out).suffix.lower())
    if form is None:
        raise typer.BadParameter(f"-o {out}: the ending names no format; one of {', '.join(ENDINGS)}")
    return form


@contextmanager
def table_out(out: str | None, as_json: bool, schema: Any) -> Iterator[Write]:
    """Something that takes batches of this schema; a file has its name only when all are written."""
    form = output_format(out, as_json)
    if out is None or out == "-":
        with _sink(form, sys.stdout.buffer, schema) as write:
            yield write
        return
    with whole_file(out) as unfinished, unfinished.open("wb") as file, _sink(form, file, schema) as write:
        yield write


@contextmanager
def _sink(form: str, file: Any, schema: Any) -> Iterator[Write]:
    if form in ("csv", "tsv"):
        yield _delimited(file, schema, "\t" if form == "tsv" else ",")
    elif form == "jsonl":
        yield _refusing(lambda batch: _json_lines(file, batch))
    elif form == "parquet":
        import pyarrow.parquet as pq

        with _refusing(pq.ParquetWriter)(file, schema) as writer:
            yield _refusing(writer.write_batch)
    else:
        import pyarrow as pa

        with pa.ipc.new_file(file, schema) as writer:
            yield writer.write_batch


def _delimited(file: Any, schema: Any, delimiter: str) -> Write:
    """Something that writes lines; quotes only where they are needed, which pyarrow's own header never sees so."""
    from pyarrow.csv import WriteOptions, write_csv

    header = io.StringIO()
    csv.writer(header, delimiter=delimiter, lineterminator="\n").writerow(schema.names)
    file.write(header.getvalue().encode())

    def write(batch: Any) -> None:
        quotes = "needed" if _needs_quotes(batch, delimiter) else "none"
        write_csv(batch, file, WriteOptions(include_header=False, delimiter=delimiter, quoting_style=quotes))

    return _refusing(write)


def _refusing(write: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, with an error in words where a value or a type has no place in the format."""
    import pyarrow as pa

    def attempt(*arguments: Any) -> Any:
        try:
            return write(*arguments)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OverflowError) as error:
            raise InputError(
                f"a column cannot be written in this format: {str(error).splitlines()[0]}. Hint: -o OUT.arrow"
            ) from None

    return attempt


def _needs_quotes(batch: Any, delimiter: str) -> bool:
    """Whether a text holds what would be taken for the end of a cell; pyarrow quotes all texts or none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    special = f'["\r\n{delimiter}]'
    texts = [c for c in batch.columns if pa.types.is_string(c.type) or pa.types.is_large_string(c.type)]
    return any(pc.any(pc.match_substring_regex(column, special)).as_py() for column in texts)


def _json_lines(file: Any, batch: Any) -> None:
    file.write("".join(f"{json_text(row)}\n" for row in batch.to_pylist()).encode())
