"""CSV and TSV files, read by DuckDB with given types: yes, 007 and 1e5 stay as they are written.

The delimiter is the one that occurs most often in the header line. DuckDB's own sniffer is not used: it reads a
yes/no column as true and false, and a ragged file as one wide column.
"""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Self

import numpy as np

from deciban._lazy import duckdb, pa, pc
from deciban.errors import InputError
from deciban.sources import database
from deciban.sources.database import PLAIN_FILES, common_compression, format_paths, quote_text
from deciban.sources.document_files import estimate_lines, open_decompressed
from deciban.sources.markers import MISSING_NUMBERS, MarkerCounts, count_markers
from deciban.sources.records import DELIMITERS, find_fault, read_records, split_cells
from deciban.sources.source import ColumnReading, FileOptions, FileSource, convert_read_errors, quote_path, role_hint

ENCODINGS = ("utf-8", "utf-16", "latin-1")
MISSING_PATTERN = quote_text(f" *({'|'.join(map(re.escape, MISSING_NUMBERS))}) *")
"""A pattern in SQL of the cells that stand for a missing number."""

TEXT_BATCH_CELLS = 1 << 22
"""Cells of texts that are converted to numbers at a time."""

MIN_TEXT_ROWS = 1 << 11
"""Rows in a batch of texts that are converted to numbers, however many columns there are."""

COMMA_NUMBER = r"[+-]?\d+,\d+"
RECORD = re.compile(r'(?:[^"\r\n]++|"[^"]*+(?:"|\Z))*+')
"""Everything up to the first end of a line that is outside quotes, in linear time."""

NEW_LINE = {"\n": r"\n", "\r": r"\r", "\r\n": r"\r\n"}
"""Line ends as DuckDB's option names them. The option is set where the name of a column holds a line break: DuckDB
takes the first one of a file for the end of its lines, and finds no rows where lines end in another way."""

HEADER_BYTES = 1 << 20
HEADER_HINT = "Hint: the first line names the columns"

MAX_COLUMNS = 100_000
"""DuckDB took 9 s of CPU time to plan a query of 40 000 columns, and more than twice that for twice as many."""

SAMPLE_BYTES = 1 << 16

ERROR_LINE = re.compile(r"(?:Invalid Input|Conversion) Error: CSV Error on Line: (\d+)\n")
"""The beginning of DuckDB's message where it names a line; after that it quotes cells, which may hold any words."""


@dataclass(frozen=True)
class Delimited(FileSource):
    """A table of one or more text files that have the same header line."""

    columns: Sequence[str]
    delimiter: str
    options: FileOptions
    n_rows: int | None
    decimal: str = "."
    line_end: str | None = None
    number_markers: MarkerCounts = field(default_factory=dict)
    """The number of cells of each of `MISSING_NUMBERS` in columns that were read as numbers."""
    typed, fills_cores = False, True

    @classmethod
    def open(cls, paths: Sequence[str], options: FileOptions, form: str) -> Self:
        """Read the headers, find the delimiter and decimal mark, and estimate the number of rows.

        Raises InputError where two files have different headers.
        """
        first = _read_start(paths[0], options.encoding)
        unquoted = re.sub(r'"[^"]*"', "", _first_record(first))
        delimiter = "\t" if form == "tsv" else max(DELIMITERS, key=unquoted.count)
        columns = _parse_header(first, delimiter, paths[0])
        line_ends: set[str] = set()
        has_line_breaks = False
        for path in paths:
            start = first if path == paths[0] else _read_start(path, options.encoding)
            if _parse_header(start, delimiter, path) != columns:
                raise InputError(
                    f"{path!r} has other columns than {paths[0]!r}. Hint: files read together need one header"
                )
            header = _first_record(start)
            line_ends.update(re.findall(r"\A(\r\n|\r|\n)", start[len(header) : len(header) + 2]))
            has_line_breaks |= re.search(r"[\r\n]", header) is not None
        if has_line_breaks and len(line_ends) > 1:
            raise InputError(
                f"{paths[0]!r} and the files read with it have line breaks in the names of columns, and differ in "
                f"how lines end. Hint: rename the columns, or read the files one by one"
            )
        line_end = line_ends.pop() if has_line_breaks and line_ends else None
        sample = first[:SAMPLE_BYTES]
        cells = (cell.strip() for line in sample.splitlines()[1:] for cell in line.split(delimiter))
        has_commas = delimiter != "," and any(re.fullmatch(COMMA_NUMBER, cell) for cell in cells)
        n_rows = estimate_lines(paths, sample.encode())
        return cls(paths, columns, delimiter, options, n_rows, "," if has_commas else ".", line_end)

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        wanted: dict[str, ColumnReading] = dict.fromkeys(self.columns, "text")
        with database.convert_duckdb_errors(self._diagnose):
            table = self._relation(wanted, f"limit {n}").to_arrow_table()
        columns = [_replace_commas(column) for column in table.columns] if self.decimal == "," else table.columns
        return pa.Table.from_arrays(columns, names=list(self.columns))

    def batches(self, wanted: Mapping[str, ColumnReading]) -> Iterator[pa.RecordBatch]:
        """See `Source.batches`; a cell that is not a number restarts the reading, with marks for missing numbers."""
        done = 0
        with database.convert_duckdb_errors(self._diagnose):
            try:
                for batch in self._read(wanted, marked=False, skip=0):
                    yield batch
                    done += batch.num_rows
            except Exception as error:
                # the message about a value that does not have its column's type begins so, whatever cells it quotes
                if not database.is_duckdb_error(error) or not str(error).startswith("Conversion Error: "):
                    raise
                yield from self._read(wanted, marked=True, skip=done)

    def _read(self, wanted: Mapping[str, ColumnReading], marked: bool, skip: int) -> Iterator[pa.RecordBatch]:
        """Yield all rows but the first `skip`; with `marked`, numbers are read as texts, which are then converted."""
        readings = dict.fromkeys(wanted, "text") if marked else wanted
        n_rows = max(MIN_TEXT_ROWS, TEXT_BATCH_CELLS // max(1, len(wanted))) if marked else database.ROWS_PER_BATCH
        numbers = [place for place, reading in enumerate(wanted.values()) if marked and reading == "number"]
        connection = database.connect()
        done = 0
        for batch in self._relation(readings).to_arrow_reader(min(database.ROWS_PER_BATCH, n_rows)):
            if skip < batch.num_rows:
                unread = batch.slice(skip)
                try:
                    converted = _convert_columns(unread, numbers, self.decimal, connection)
                except duckdb.ConversionException:
                    fault = _find_non_number(unread, numbers, self.decimal, connection)
                    if fault is None:
                        raise
                    row, place, value = fault
                    raise self._locate_non_number(done + skip + row, list(wanted)[place], value) from None
                for place in numbers:
                    counts = count_markers(unread.column(place), MISSING_NUMBERS)
                    self.number_markers.setdefault(list(wanted)[place], Counter()).update(counts)
                yield converted.rename_columns(list(wanted) or ["c0"])
            skip = max(0, skip - batch.num_rows)
            done += batch.num_rows

    def _relation(self, wanted: Mapping[str, str], more: str = "") -> Any:
        """Return a query for the wanted columns, then `more`; all have types, so that the file is parsed as it is.

        The columns are selected without expressions: DuckDB's time to plan those grows with the square of the number.
        """
        for path in self.paths:
            database.check_gzip(path)
        alias = {name: f"c{i}" for i, name in enumerate(self.columns)}
        chosen = ", ".join(alias[name] for name in wanted) or "c0"  # rows are counted even if no column is wanted
        kinds = {name: "DOUBLE" if wanted.get(name) == "number" else "VARCHAR" for name in self.columns}
        types = ", ".join(f"{alias[name]}: '{kind}'" for name, kind in kinds.items())
        return database.connect(self.paths).sql(f"select {chosen} from {self._reader(types)} {more}")

    def _reader(self, types: str) -> str:
        """Return a call of DuckDB's reader that states everything: names, types, dialect, compression, partitions."""
        nothing = ", ".join(quote_text(text) for text in ("", *self.options.missing))
        line_end = "" if self.line_end is None else f"new_line={quote_text(NEW_LINE[self.line_end])}, "
        delimiter = quote_text(self.delimiter)
        return (
            f"read_csv([{format_paths(self.paths)}], auto_detect=false, header=true, delim={delimiter}, "
            f"quote='\"', escape='\"', comment='', {line_end}skip=0, nullstr=[{nothing}], null_padding=false, "
            f"encoding={quote_text(self.options.encoding)}, decimal_separator={quote_text(self.decimal)}, "
            f"compression={quote_text(common_compression(self.paths))}, {PLAIN_FILES}, columns={{{types}}})"
        )

    def _diagnose(self, error: Exception) -> InputError:
        """Return an error that names the line that cannot be read, and why.

        Only the beginning of DuckDB's message is searched: the quoted line may imitate any message.
        """
        place = ERROR_LINE.match(str(error))
        line = None if place is None else int(place[1])
        for path in self.paths:
            fault = find_fault(path, line, self.delimiter, self.options.encoding, len(self.columns))
            if fault is not None:
                return InputError(f"{path!r} {fault}")
        return InputError(f"{self.name} cannot be read: {database.first_line(error)}")

    def _locate_non_number(self, row: int, column: str, value: str) -> InputError:
        """Return the error about a cell that is not a number, with its line; blank lines are rows of one column."""
        rows = (
            (path, line, record)
            for path in self.paths
            for line, (record, _) in enumerate(read_records(path, self.delimiter, self.options.encoding), 1)
            if line > 1 and (record or len(self.columns) == 1)
        )
        name, at, place = self.name, "", self.columns.index(column)
        for path, line, record in islice(rows, row, row + 1):
            cells, _ = split_cells(record.decode(errors="replace"), self.delimiter)
            name, at = repr(path), f" in line {line}" if cells[place : place + 1] == [value] else ""
        return InputError(
            f"column {column!r} of {name} holds {value!r}{at}, which is not a number. "
            f"Hint: {role_hint(column, 'category')} reads it as text; "
            f"--missing {value!r} (missing=[{value!r}]) reads it as nothing"
        )


def _replace_commas(column: Any) -> Any:
    """Replace decimal commas by points in a column of numbers; return any other unchanged."""
    fits = pc.match_substring_regex(column, rf"^\s*({COMMA_NUMBER}|[+-]?\d+)\s*$")
    known = pc.is_in(column, value_set=pa.array(MISSING_NUMBERS))
    return pc.replace_substring(column, ",", ".") if pc.all(pc.or_(fits, known)).as_py() else column


def _convert_columns(batch: pa.RecordBatch, places: Sequence[int], decimal: str, connection: Any) -> pa.RecordBatch:
    """Convert columns of texts to numbers, all by one query; marks for missing numbers become nulls."""
    if not places:
        return batch
    columns = list(batch.columns)
    numbers = _convert(batch, places, decimal, connection, "cast").combine_chunks()
    for i, place in enumerate(places):
        columns[place] = numbers.slice(i * batch.num_rows, batch.num_rows)
    return pa.RecordBatch.from_arrays(columns, batch.schema.names)


def _find_non_number(
    batch: pa.RecordBatch, places: Sequence[int], decimal: str, connection: Any
) -> tuple[int, int, str] | None:
    """Find the first row that holds a text that is not a number: the row, the place of the column, and the text."""
    converted = np.asarray(_convert(batch, places, decimal, connection, "try_cast", "0.0").is_null())
    known = np.concatenate([np.asarray(batch.column(place).is_valid()) for place in places])
    faults = (converted & known).reshape(len(places), batch.num_rows)
    if not faults.any():
        return None
    row = int(faults.any(axis=0).argmax())
    place = places[int(faults[:, row].argmax())]
    return row, place, batch.column(place)[row].as_py()


def _convert(
    batch: pa.RecordBatch, places: Sequence[int], decimal: str, connection: Any, cast: str, missing: str = "null"
) -> pa.ChunkedArray:
    """Convert columns of texts, one after another, to one of numbers; marks for missing numbers become `missing`."""
    texts = pa.chunked_array([batch.column(place) for place in places]).cast(pa.large_string()).combine_chunks()
    number = "replace(t, ',', '.')" if decimal == "," else "t"
    relation = connection.from_arrow(pa.table({"t": texts})).project(
        f"case when regexp_full_match(t, {MISSING_PATTERN}) then {missing} else {cast}({number} as double) end as x"
    )
    return relation.to_arrow_table()["x"]


def _read_start(path: str, encoding: str) -> str:
    """Read the first `HEADER_BYTES` of a file as text, decompressed; refuse a file that is empty or not text."""
    if not os.path.getsize(path):
        raise InputError(f"{path!r} is empty. {HEADER_HINT}")
    with convert_read_errors(quote_path(path)), open_decompressed(path) as file:
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
            f"{path!r} is not a text file. Hint: --format (format=) names the format where the ending does not"
        )
    return text


def _first_record(start: str) -> str:
    """Return the header line, which may span several lines within quotes; all of `start` where quotes stay open."""
    match = RECORD.match(start)
    assert match is not None
    return match.group()


def _parse_header(start: str, delimiter: str, path: str) -> list[str]:
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
