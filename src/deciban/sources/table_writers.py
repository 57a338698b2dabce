"""Writers of tables in batches: CSV, TSV, JSON lines, Parquet or Arrow, into any binary file."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any

from deciban._lazy import pa, pc
from deciban.errors import InputError
from deciban.plain_json import to_json

Write = Callable[[Any], None]
Change = Callable[[str], str]

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
"""The first characters of texts that spreadsheets treat as formulas."""

SIGNED_NUMBER = re.compile(r"[+-](\d++[.,]?\d*+|[.,]\d++)([eE][+-]?\d++)?")
"""A signed number, with a decimal point or comma, which is not a formula."""


def neutralise_formula(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would take for a formula; numbers stay as they are.

    >>> [neutralise_formula(cell) for cell in ("=1+1", "@SUM(A1)", "-3.5", "+1e5", "a-b")]
    ["'=1+1", "'@SUM(A1)", '-3.5', '+1e5', 'a-b']
    """
    return "'" + text if text.startswith(FORMULA_STARTS) and not SIGNED_NUMBER.fullmatch(text) else text


@contextmanager
def open_format(form: str, file: Any, schema: Any, changes: Sequence[Change] = ()) -> Iterator[Write]:
    """Yield a function that writes batches of this schema: csv, tsv, jsonl, parquet, arrow, or arrows (a stream).

    `changes` are applied to all names and texts of CSV and TSV, and to each line of JSON; CSV has its header at once.
    """
    if form in ("csv", "tsv"):
        yield make_csv_writer(file, schema, "\t" if form == "tsv" else ",", changes)
    elif form == "jsonl":

        @_convert_write_errors()
        def write_lines(batch: Any) -> None:
            file.write("".join(f"{_apply(changes, to_json(row))}\n" for row in batch.to_pylist()).encode())

        yield write_lines
    elif form == "parquet":
        import pyarrow.parquet as pq

        with _convert_write_errors()(pq.ParquetWriter)(file, schema) as writer:
            yield _convert_write_errors()(writer.write_batch)
    else:
        open_writer = pa.ipc.new_stream if form == "arrows" else pa.ipc.new_file
        with open_writer(file, schema) as writer:
            yield writer.write_batch


def make_csv_writer(file: Any, schema: Any, delimiter: str, changes: Sequence[Change]) -> Write:
    """Return a function that writes lines; only what needs quotes has them, which pyarrow's own header ignores."""
    from pyarrow.csv import WriteOptions, write_csv

    header = io.StringIO()
    names = [_apply(changes, name) for name in schema.names]
    csv.writer(header, delimiter=delimiter, lineterminator="\n").writerow(names)
    file.write(header.getvalue().encode())

    @_convert_write_errors()
    def write(batch: Any) -> None:
        batch = _prepare_texts(batch, changes)
        quotes = "needed" if _needs_quotes(batch, delimiter) else "none"
        write_csv(batch, file, WriteOptions(include_header=False, delimiter=delimiter, quoting_style=quotes))

    return write


@contextmanager
def _convert_write_errors() -> Iterator[None]:
    """Raise errors about values and types that a format cannot hold as InputErrors."""
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OverflowError) as error:
        raise InputError(
            f"a column cannot be written in this format: {str(error).splitlines()[0]}. Hint: -o OUT.arrow"
        ) from None


def _apply(changes: Sequence[Change], text: str) -> str:
    return reduce(lambda changed, change: change(changed), changes, text)


def _prepare_texts(batch: Any, changes: Sequence[Change]) -> Any:
    """Convert texts and bytes of any type to plain texts, and apply the changes to them, once to each different text.

    Bytes that are not UTF-8 cannot be written.
    """
    text_kinds = (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view())
    columns = list(batch.columns)
    for i, column in enumerate(columns):
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if pa.types.is_fixed_size_binary(kind):
            columns[i] = column.cast(pa.binary()).cast(pa.large_string())
        elif kind in text_kinds:
            columns[i] = column.cast(pa.large_string())
        if changes and pa.types.is_large_string(columns[i].type):
            coded = columns[i].dictionary_encode()
            words = [_apply(changes, word) for word in coded.dictionary.to_pylist()]
            columns[i] = pa.array(words, pa.large_string()).take(coded.indices)
    return pa.RecordBatch.from_arrays(columns, batch.schema.names)


def _needs_quotes(batch: Any, delimiter: str) -> bool:
    """Return whether a text contains a delimiter, quote or line end; pyarrow quotes all texts or none."""
    special = f'["\r\n{delimiter}]'
    texts = [column for column in batch.columns if pa.types.is_large_string(column.type)]
    return any(pc.any(pc.match_substring_regex(column, special)).as_py() for column in texts)
