"""CSV and TSV, read by DuckDB with the types we say: what a file calls yes, 007 or 1e5 stays what it says.

The delimiter is the one that the header line has most of. DuckDB's own sniffer is not asked: it reads a yes/no
column as true and false, and a ragged file as one wide column.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any, Self

from deciban.errors import InputError
from deciban.sources.database import (
    PLAIN_FILES,
    READ_AT_ONCE,
    check_gzip,
    compression,
    connection,
    file_list,
    first_line,
    from_duckdb,
    is_conversion_error,
    literal,
)
from deciban.sources.document_files import packing, unpacked
from deciban.sources.source import BLOCK_CELLS, FileOptions, Reading, as_role, reword_errors

if TYPE_CHECKING:
    import pyarrow as pa

ENCODINGS = ("utf-8", "utf-16", "latin-1")
DELIMITERS = (",", ";", "\t", "|")
MISSING_NUMBERS = ("NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?", "-", ".")
"""What a column of numbers may hold where one is missing; in other columns these are values like any other."""

MARKS = literal(f" *({'|'.join(map(re.escape, MISSING_NUMBERS))}) *")
"""A pattern in SQL of the whole cells that stand for a missing number."""

MIN_TEXT_ROWS = 1 << 11
"""Rows in a batch of texts that are converted to numbers, however many columns there are."""

COMMA_NUMBER = r"[+-]?\d+,\d+"
RECORD = re.compile(r'(?:[^"\r\n]++|"[^"]*+(?:"|\Z))*+')
"""Everything up to the first end of a line that is outside quotes, in linear time."""

HEADER_BYTES = 1 << 20
HEADER_HINT = "Hint: the first line names the columns"

MAX_COLUMNS = 100_000
"""DuckDB took 9 s of CPU time to plan a query of 40 000 columns, and more than twice that for twice as many."""

SAMPLE_BYTES = 1 << 16

MAX_REJECTED_LINES = 1000
"""Lines that are looked at to say what is wrong with a file."""

REJECTED = {
    "UNQUOTED VALUE": "a quote is not closed, or text follows the closing quote. Hint: a quote in a cell is doubled",
    "LINE SIZE OVER MAXIMUM": "the line is longer than 2,000,000 bytes. Hint: Parquet files have no such bound",
    "INVALID STATE": "its quotes or line ends contradict each other",
}
"""Explanations of DuckDB's kinds of rejected lines."""


@dataclass(frozen=True)
class Delimited:
    """A table of one or more text files that have the same header line."""

    paths: Sequence[str]
    columns: Sequence[str]
    delimiter: str
    options: FileOptions
    n_rows: int | None
    decimal: str = "."
    typed: bool = False
    fills_cores: bool = True

    @property
    def name(self) -> str:
        """See `Source.name`."""
        return repr(self.paths[0])

    @classmethod
    def open(cls, paths: Sequence[str], delimiter: str | None, options: FileOptions) -> Self:
        """Read the header; other files must have the same."""
        start = _start(paths[0], options.encoding)
        delimiter = delimiter or max(DELIMITERS, key=lambda mark: _unquoted(_first_record(start)).count(mark))
        columns = _header(start, delimiter, paths[0])
        for path in paths[1:]:
            if _header(_start(path, options.encoding), delimiter, path) != columns:
                raise InputError(
                    f"{path!r} has other columns than {paths[0]!r}. Hint: files read together need one header"
                )
        return cls(paths, columns, delimiter, options, _guessed_rows(paths, start), _decimal_mark(start, delimiter))

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        import pyarrow as pa

        wanted: dict[str, Reading] = dict.fromkeys(self.columns, "text")
        try:
            table = self._relation(wanted, f"limit {n}").to_arrow_table()
        except Exception as error:
            if not from_duckdb(error):
                raise
            raise self._diagnose(wanted, error) from None
        columns = [_with_points(column) for column in table.columns] if self.decimal == "," else table.columns
        return pa.Table.from_arrays(columns, names=list(self.columns))

    def batches(self, wanted: Mapping[str, Reading]) -> Iterator[pa.RecordBatch]:
        """See `Source.batches`; a cell that is no number restarts the reading, now with marks for missing numbers."""
        marked = False
        done = 0
        while True:
            try:
                for batch in self._read(wanted, marked, skip=done):
                    yield batch
                    done += batch.num_rows
                return
            except Exception as error:
                if not from_duckdb(error):
                    raise
                if marked or not is_conversion_error(error):
                    raise self._diagnose(wanted, error) from None
                marked = True

    def _read(self, wanted: Mapping[str, Reading], marked: bool, skip: int) -> Iterator[pa.RecordBatch]:
        """Read all rows but the first ones; with `marked`, numbers are read as texts, which are then converted."""
        readings = dict.fromkeys(wanted, "text") if marked else wanted
        n_rows = max(MIN_TEXT_ROWS, BLOCK_CELLS // max(1, len(wanted))) if marked else READ_AT_ONCE
        numbers = [place for place, reading in enumerate(wanted.values()) if marked and reading == "number"]
        database = connection()
        for batch in self._relation(readings).to_arrow_reader(min(READ_AT_ONCE, n_rows)):
            if skip < batch.num_rows:
                rest = _convert_columns(batch.slice(skip), numbers, self.decimal, database)
                yield rest.rename_columns(list(wanted) or ["c0"])
            skip = max(0, skip - batch.num_rows)

    def _relation(self, wanted: Mapping[str, str], more: str = "") -> Any:
        """All columns have types, so that the file is parsed as it is; only the wanted ones are taken.

        The columns are taken without expressions: DuckDB's time to plan those grows with the square of their number.
        """
        for path in self.paths:
            check_gzip(path)
        numbers = {name for name, reading in wanted.items() if reading == "number"}
        return connection().sql(f"{self._select(wanted)} {self._reader(numbers, self.options.missing)} {more}")

    def _select(self, wanted: Iterable[str]) -> str:
        """Begin a query for columns, or for the first column where none is wanted, up to its source."""
        alias = self._aliases
        return f"select {', '.join(alias[name] for name in wanted) or 'c0'} from"

    @property
    def _aliases(self) -> dict[str, str]:
        return {name: f"c{i}" for i, name in enumerate(self.columns)}

    def _reader(self, numbers: Container[str], missing: Sequence[str], more: str = "") -> str:
        """DuckDB's reader with nothing left for it to guess: names and types, dialect, compression, partitions."""
        types = ", ".join(f"{c}: '{'DOUBLE' if n in numbers else 'VARCHAR'}'" for n, c in self._aliases.items())
        nothing = ", ".join(literal(text) for text in ("", *missing))
        return (
            f"read_csv([{file_list(self.paths)}], auto_detect=false, header=true, delim={literal(self.delimiter)}, "
            f"quote='\"', escape='\"', comment='', skip=0, nullstr=[{nothing}], null_padding=false, "
            f"encoding={literal(self.options.encoding)}, decimal_separator={literal(self.decimal)}, "
            f"compression={literal(compression(self.paths))}, {PLAIN_FILES}, columns={{{types}}}{more})"
        )

    def _diagnose(self, wanted: Mapping[str, Reading], error: Exception) -> InputError:
        """Find the line that cannot be read, and why.

        DuckDB's message quotes the line, and a cell may hold any words of such a message, so the message is shown at
        most and never searched. The file is read once more, and the lines that DuckDB rejects come as a table.
        """
        import duckdb

        numbers = {name for name, reading in wanted.items() if reading == "number"}
        reader = self._reader(
            numbers,
            (*self.options.missing, *MISSING_NUMBERS),
            f", store_rejects=true, rejects_limit={MAX_REJECTED_LINES}",
        )
        database = connection()
        database.execute("set threads=1")  # the first lines are rejected first
        try:
            for _ in database.sql(f"{self._select(wanted)} {reader}").to_arrow_reader(MIN_TEXT_ROWS):
                pass
            rejected = database.execute(
                "select file_id, line, column_idx, error_type::varchar, csv_line from reject_errors"
                " order by file_id, line, error_type = 'CAST', column_idx"
            ).fetchall()
        except duckdb.Error:
            rejected = []
        for file, line, column, kind, text in rejected:
            found = self._describe_rejected_line(
                repr(self.paths[file]), line, column, kind, _cells(text or "", self.delimiter)
            )
            if found is not None:
                return found
        return InputError(f"{self.name} cannot be read: {first_line(error)}")

    def _describe_rejected_line(
        self, name: str, line: int, column: int | None, kind: str, cells: list[str]
    ) -> InputError | None:
        """Make the error about a rejected line; None if its cell is a mark for a missing number between spaces."""
        at = f" in line {line}"
        if kind == "CAST":
            value = cells[column - 1] if column and column <= len(cells) else "a text"
            return (
                None
                if value.strip() in MISSING_NUMBERS
                else _no_number(self.columns[(column or 1) - 1], name, value, at)
            )
        if kind in ("MISSING COLUMNS", "TOO MANY COLUMNS"):
            return InputError(
                f"{name} is ragged: {len(cells)} cells{at} where the header has {len(self.columns)}. "
                f"Hint: mend that line; a cell that holds the delimiter needs quotes"
            )
        if kind == "INVALID ENCODING":
            return InputError(f"{name} is not in UTF-8{at}. Hint: --encoding latin-1 (or encoding='latin-1')")
        return InputError(f"{name} cannot be read{at}: {REJECTED.get(kind, kind.lower())}")


def _no_number(column: str, name: str, value: str, at: str) -> InputError:
    return InputError(
        f"column {column!r} of {name} holds {value!r}{at}, which is no number. "
        f"Hint: {as_role(column, 'category')} reads it as text; "
        f"--missing {value!r} (missing=[{value!r}]) reads it as nothing"
    )


def _cells(line: str, delimiter: str) -> list[str]:
    """The cells of a line, which may go on over several lines within quotes."""
    try:
        return next(csv.reader(StringIO(line.lstrip("\r\n"), newline=""), delimiter=delimiter), [])
    except csv.Error:
        return line.split(delimiter)


def _decimal_mark(start: str, delimiter: str) -> str:
    """A comma, where cells are parted by something else and some of them are numbers only if it is one."""
    lines = start[:SAMPLE_BYTES].splitlines()[1:]
    cells = (cell.strip() for line in lines for cell in line.split(delimiter))
    return "," if delimiter != "," and any(re.fullmatch(COMMA_NUMBER, cell) for cell in cells) else "."


def _with_points(column: Any) -> Any:
    """A column of numbers with decimal commas, with points; any other as it is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    fits = pc.match_substring_regex(column, rf"^\s*({COMMA_NUMBER}|[+-]?\d+)\s*$")
    known = pc.is_in(column, value_set=pa.array(MISSING_NUMBERS))
    return pc.replace_substring(column, ",", ".") if pc.all(pc.or_(fits, known)).as_py() else column


def _convert_columns(batch: pa.RecordBatch, places: Sequence[int], decimal: str, database: Any) -> pa.RecordBatch:
    """Convert columns of texts to numbers, all by one query; marks for missing numbers become nulls."""
    import pyarrow as pa

    if not places:
        return batch
    columns = list(batch.columns)
    texts = pa.chunked_array([columns[place] for place in places]).cast(pa.large_string()).combine_chunks()
    number = "replace(t, ',', '.')" if decimal == "," else "t"
    relation = database.from_arrow(pa.table({"t": texts})).project(
        f"case when regexp_full_match(t, {MARKS}) then null else cast({number} as double) end as x"
    )
    numbers = relation.to_arrow_table()["x"].combine_chunks()
    for i, place in enumerate(places):
        columns[place] = numbers.slice(i * batch.num_rows, batch.num_rows)
    return pa.RecordBatch.from_arrays(columns, batch.schema.names)


def _start(path: str, encoding: str) -> str:
    """The beginning of a file, unpacked."""
    if not os.path.getsize(path):
        raise InputError(f"{path!r} is empty. {HEADER_HINT}")
    with reword_errors(path), unpacked(path) as file:
        raw = file.read(HEADER_BYTES)
    try:
        text = bytes(raw).decode("utf-8-sig" if encoding == "utf-8" else encoding, errors="replace")
    except LookupError:
        raise InputError(f"encoding {encoding!r} is not known. Hint: one of {', '.join(ENCODINGS)}") from None
    if encoding.lower() not in ENCODINGS:
        raise InputError(
            f"files in {encoding} are not read. Hint: one of {', '.join(ENCODINGS)}; iconv makes UTF-8 of it"
        )
    if bytes(raw[:2]) in (b"\xff\xfe", b"\xfe\xff") and encoding == "utf-8":
        raise InputError(f"{path!r} is not in UTF-8. Hint: --encoding utf-16 (encoding='utf-16')")
    if "\0" in text[:1000]:
        raise InputError(
            f"{path!r} is no text file. Hint: --format (format=) names the format where the ending does not"
        )
    return text


def _first_record(start: str) -> str:
    """The header line, which may go on over several lines within quotes; all of `start` where quotes stay open."""
    match = RECORD.match(start)
    assert match is not None
    return match.group()


def _unquoted(line: str) -> str:
    return re.sub(r'"[^"]*"', "", line)


def _header(start: str, delimiter: str, path: str) -> list[str]:
    line = _first_record(start)
    if not line.strip():
        raise InputError(f"the first line of {path!r} is empty. {HEADER_HINT}")
    if len(line) == len(start) >= HEADER_BYTES:
        raise InputError(f"the first line of {path!r} is longer than {HEADER_BYTES:,} bytes. {HEADER_HINT}")
    if line.count('"') % 2:
        raise InputError(
            f"the header of {path!r} opens a quote that is not closed within {len(start)} characters. "
            f"Hint: close it, or write a quote within a name twice, between quotes"
        )
    try:
        names = next(csv.reader([line], delimiter=delimiter))
    except csv.Error as error:
        raise InputError(f"the first line of {path!r} cannot be read: {error}. {HEADER_HINT}") from None
    if len(names) > MAX_COLUMNS:
        raise InputError(
            f"the first line of {path!r} names {len(names):,} columns; at most {MAX_COLUMNS:,} are read. "
            f"Hint: a Parquet file, or a sparse matrix and an estimator"
        )
    return [name if name.strip() else f"column{place}" for place, name in enumerate(names, 1)]


def _guessed_rows(paths: Sequence[str], start: str) -> int | None:
    """About how many rows, from the length of the first lines; unknown for compressed files."""
    if any(packing(path) for path in paths):
        return None
    sample = start[:SAMPLE_BYTES]
    return round(sum(map(os.path.getsize, paths)) * max(1, sample.count("\n")) / max(1, len(sample.encode())))
