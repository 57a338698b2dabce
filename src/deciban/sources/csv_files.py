"""CSV and TSV files, read by DuckDB with given types: yes, 007 and 1e5 stay as they are written."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from tempfile import NamedTemporaryFile
from typing import Any, Self

import numpy as np

from deciban._lazy import pa, pc
from deciban.errors import InputError
from deciban.sources import database
from deciban.sources.arrow_texts import SPACES, trim_texts
from deciban.sources.arrow_types import is_text
from deciban.sources.cell_conversion import BadCellError, convert_batch
from deciban.sources.csv_start import SAMPLE_BYTES, FileStart, name_columns, read_start
from deciban.sources.database import PLAIN_FILES, common_compression, format_paths, quote_text
from deciban.sources.date_formats import DateFormat
from deciban.sources.document_files import estimate_lines, total_bytes
from deciban.sources.markers import MISSING_NUMBERS, MarkerCounts, count_markers
from deciban.sources.number_formats import OTHER_MARK, PLAIN, NumberFormat
from deciban.sources.records import MAX_RECORD_BYTES, RecordForm, find_fault, read_records, split_cells
from deciban.sources.source import N_PLACES, NO_QUOTE, ColumnReading, FileOptions, FileSource, quote_path
from deciban.sources.utf8_copies import Utf8Copies, copy_to_utf8

TEXT_BATCH_CELLS = 1 << 22
"""Cells of texts that are converted to numbers at a time."""

MIN_TEXT_ROWS = 1 << 11
"""Rows in a batch of texts that are converted to numbers, however many columns there are."""

SMALL_FILE_BYTES = 1 << 22
"""Size of files whose numbers are read as texts from the start: a mark of a missing number costs little then, where
a second reading of thousands of columns doubles the time."""

NEW_LINE = {"\n": r"\n", "\r": r"\r", "\r\n": r"\r\n"}
"""Line ends as DuckDB's option names them. The option is set where the name of a column holds a line break: DuckDB
takes the first one of a file for the end of its lines, and finds no rows where lines end in another way."""

SPREAD_FACTORS = (2, 16)
"""The bytes that are read from places of a file, as a multiple of those that the wanted rows would have if the first
ones are like the others; the second where they are not."""

ERROR_LINE = re.compile(r"(?:Invalid Input|Conversion) Error: CSV Error on Line: (\d+)\n")
"""The beginning of DuckDB's message where it names a line; after that it quotes cells, which may hold any words."""


@dataclass(frozen=True)
class Delimited(FileSource):
    """A table of one or more CSV or TSV files that have the same columns; cells are texts by default."""

    columns: Sequence[str]
    options: FileOptions
    n_rows: int | None
    form: RecordForm
    number_format: NumberFormat = PLAIN
    """The format of plain numbers: the decimal mark and, if that was given, the separator of thousands."""
    line_end: str | None = None
    copies: Utf8Copies | None = None
    number_markers: MarkerCounts = field(default_factory=dict)
    """The number of cells of each of `MISSING_NUMBERS` in columns that were read as numbers or dates."""
    typed, fills_cores = False, True

    @classmethod
    def open(cls, paths: Sequence[str], options: FileOptions, form: str) -> Self:
        """Read the first lines of all files, and estimate the number of rows; files that are not in UTF-8 are copied.

        Raises an InputError where two files differ in columns, in delimiters, or in a way that DuckDB cannot read.
        """
        copies = copy_to_utf8(paths, options.encoding)
        opened = cls(paths, (), options, None, RecordForm("", options.quote, 0), copies=copies)
        first = read_start(opened.text_path(paths[0]), form, options, paths[0])
        columns, has_header = name_columns(first, options, paths[0])
        line_ends = {first.line_end}
        for path in paths[1:]:
            start = read_start(opened.text_path(path), form, options, path)
            _check_same_start(first, start, has_header, paths[0], path)
            line_ends.add(start.line_end)
        decimal = options.decimal or first.decimal
        return replace(
            opened,
            columns=columns,
            n_rows=estimate_lines([*map(opened.text_path, paths)], first.rest[:SAMPLE_BYTES].encode()),
            form=RecordForm(first.delimiter, options.quote, len(columns), first.n_skipped, has_header),
            number_format=NumberFormat(decimal, OTHER_MARK[decimal] if options.decimal else ""),
            line_end=_common_line_end(first.record, line_ends, paths[0]),
        )

    def text_path(self, path: str) -> str:
        """Return the path of a file in UTF-8: the file itself, or its copy."""
        return path if self.copies is None else self.copies.find(path)

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        with database.convert_duckdb_errors(self._diagnose):
            table = self._relation(dict.fromkeys(self.columns, "VARCHAR"), f"limit {n}").to_arrow_table()
        columns = [self.trim(column) for column in table.combine_chunks().columns]
        return pa.Table.from_arrays(columns, names=list(self.columns))

    def read_spread(self, n: int) -> pa.Table:
        """See `source.read_spread`: parts of uncompressed files are copied and read."""
        head = self.head(n)
        if head.num_rows < n or database.common_compression([*map(self.text_path, self.paths)]) != "none":
            return head
        for factor in SPREAD_FACTORS:
            rows = self._read_parts(min(1.0, factor * n / (self.n_rows or n)) / N_PLACES, 2 * factor * n)
            if rows is not None and rows.num_rows >= n:
                return rows.take(np.linspace(0, rows.num_rows - 1, n).astype(int))
        return head

    def _read_parts(self, share: float, n: int) -> pa.Table | None:
        """Return at most n rows from `N_PLACES` parts of each file of this share; None where they cannot be read."""
        with NamedTemporaryFile(suffix=".csv") as copy:
            for path in map(self.text_path, self.paths):
                size = os.path.getsize(path)
                with open(path, "rb") as file:
                    for start in np.linspace(0, size * (1 - share), N_PLACES).astype(int).tolist():
                        file.seek(start)
                        copy.write(self._find_records(file.read(int(size * share))))
            copy.flush()
            form = self.form._replace(n_skipped=0, has_header=False)
            try:
                return replace(self, paths=[copy.name], form=form, copies=None).head(n)
            except InputError:
                return None

    def _find_records(self, part: bytes) -> bytes:
        """Return the records of a part of a file from the first to the last that is a line of its own.

        There are none if their quotes are odd in number: the first or the last such line lies within a cell.
        """
        quote = b"\0" if self.form.quote == NO_QUOTE else self.form.quote.encode()
        mark, lines = self.form.delimiter.encode(), part.splitlines(keepends=True)[1:-1]
        whole = [i for i, x in enumerate(lines) if x.count(quote) % 2 == 0 and x.count(mark) >= len(self.columns) - 1]
        records = b"".join(lines[whole[0] : whole[-1] + 1]) if whole else b""
        return b"" if records.count(quote) % 2 else records

    def batches(self, wanted: Mapping[str, ColumnReading]) -> Iterator[pa.RecordBatch]:
        """See `Source.batches`; a cell that is not a plain number restarts the reading, with numbers as texts."""
        done = 0
        is_small = total_bytes([*map(self.text_path, self.paths)]) <= SMALL_FILE_BYTES
        with database.convert_duckdb_errors(self._diagnose):
            try:
                for batch in self._read(wanted, skip=0, as_texts=is_small):
                    yield batch
                    done += batch.num_rows
            except Exception as error:
                # the message about a value that does not have its column's type begins so, whatever cells it quotes
                is_conversion = database.is_duckdb_error(error) and str(error).startswith("Conversion Error: ")
                if is_small or not is_conversion:
                    raise
                yield from self._read(wanted, done, as_texts=True)

    def _read(
        self, wanted: Mapping[str, ColumnReading], skip: int, as_texts: bool = False
    ) -> Iterator[pa.RecordBatch]:
        """Yield all rows but the first `skip`; `as_texts`: plain numbers are read as texts, and then converted."""
        kinds = {n: "DOUBLE" if reading == "number" and not as_texts else "VARCHAR" for n, reading in wanted.items()}
        n_texts = sum(
            isinstance(reading, (NumberFormat, DateFormat)) or (reading == "number" and as_texts)
            for reading in wanted.values()
        )
        n_rows = max(MIN_TEXT_ROWS, TEXT_BATCH_CELLS // n_texts) if n_texts else database.ROWS_PER_BATCH
        done = 0
        for batch in self._relation(kinds).to_arrow_reader(min(database.ROWS_PER_BATCH, n_rows)):
            if skip < batch.num_rows:
                named = batch.slice(skip).rename_columns(list(wanted) or ["c0"])
                yield self._convert(named, wanted, done + skip)
            skip = max(0, skip - batch.num_rows)
            done += batch.num_rows

    def _convert(self, batch: pa.RecordBatch, wanted: Mapping[str, ColumnReading], first: int) -> pa.RecordBatch:
        """Return a batch that begins with row `first`, its texts trimmed, and converted to numbers and dates.

        Where bad cells are missing, those who read the source convert the texts: they count them.
        """
        columns = [
            column if wanted.get(name) in ("words", "as it is") else self.trim(column)
            for name, column in zip(batch.schema.names, batch.columns)
        ]
        trimmed = pa.RecordBatch.from_arrays(columns, batch.schema.names)
        self._count_markers(trimmed, wanted)
        if self.options.bad_cells == "missing":
            return trimmed
        try:
            return convert_batch(trimmed, wanted, self.number_format)
        except BadCellError as bad:
            raise self._locate(bad, first + bad.row) from None

    def _count_markers(self, batch: pa.RecordBatch, wanted: Mapping[str, ColumnReading]) -> None:
        """Add the markers of missing numbers in columns of texts that are wanted as numbers to `number_markers`."""
        for name, texts in zip(batch.schema.names, batch.columns):
            reading = wanted.get(name)
            if is_text(texts.type) and (reading == "number" or isinstance(reading, (NumberFormat, DateFormat))):
                self.number_markers.setdefault(name, Counter()).update(count_markers(texts, MISSING_NUMBERS))

    def trim(self, column: Any) -> Any:
        """Return texts without spaces at their ends; those that are empty then, or mean a missing value, are null.

        Other columns, and arrays in which no text has such spaces, are returned as they are.
        """
        if not pa.types.is_string(column.type):
            return column
        if isinstance(column, pa.ChunkedArray):
            return pa.chunked_array([self.trim(chunk) for chunk in column.chunks], column.type)
        trimmed = trim_texts(column)
        if trimmed is column:
            return column
        gone = pc.is_in(trimmed, value_set=pa.array(["", *self.options.missing]))
        return pc.if_else(gone, pa.scalar(None, pa.string()), trimmed)

    def _relation(self, kinds: Mapping[str, str], more: str = "") -> Any:
        """Return a query for columns of these types, then `more`; all have types, so the file is parsed as it is.

        The columns are selected without expressions: DuckDB's time to plan those grows with the square of the number.
        """
        for path in self.paths:
            self._check_last_line(path)
        alias = {name: f"c{i}" for i, name in enumerate(self.columns)}
        chosen = ", ".join(alias[name] for name in kinds) or "c0"  # rows are counted even if no column is wanted
        types = ", ".join(f"{alias[name]}: '{kinds.get(name, 'VARCHAR')}'" for name in self.columns)
        connection = database.connect([self.text_path(path) for path in self.paths])
        return connection.sql(f"select {chosen} from {self._reader(types)} {more}")

    def _check_last_line(self, path: str) -> None:
        """Raise an InputError where the last line of a file is too long: DuckDB silently leaves out one of 32 MB.

        Other long lines it refuses. A damaged gzip file is an InputError too, see `database.check_gzip`.
        """
        text_path = self.text_path(path)
        if database.measure_last_line(text_path) > MAX_RECORD_BYTES:
            raise InputError(f"{quote_path(path)} {find_fault(text_path, None, self.form)}")

    def _reader(self, types: str) -> str:
        """Return a call of DuckDB's reader that states everything: names, types, dialect, compression, partitions."""
        paths = [self.text_path(path) for path in self.paths]
        nothing = ", ".join(quote_text(text) for text in ("", *self.options.missing))
        line_end = "" if self.line_end is None else f"new_line={quote_text(NEW_LINE[self.line_end])}, "
        quote = quote_text("" if self.form.quote == NO_QUOTE else self.form.quote)
        return (
            f"read_csv([{format_paths(paths)}], auto_detect=false, header={self.form.has_header}, "
            f"delim={quote_text(self.form.delimiter)}, quote={quote}, escape={quote}, comment='', {line_end}"
            f"skip={self.form.n_skipped}, nullstr=[{nothing}], null_padding=false, encoding='utf-8', "
            f"decimal_separator={quote_text(self.number_format.decimal)}, "
            f"compression={quote_text(common_compression(paths))}, {PLAIN_FILES}, columns={{{types}}})"
        )

    def _diagnose(self, error: Exception) -> InputError:
        """Return an error that names the line that cannot be read, and why.

        Only the beginning of DuckDB's message is searched: the quoted line may imitate any message.
        """
        place = ERROR_LINE.match(str(error))
        line = None if place is None else int(place[1])
        for path in self.paths:
            fault = find_fault(self.text_path(path), line, self.form)
            if fault is not None:
                return InputError(f"{quote_path(path)} {fault}")
        return InputError(f"{self.name} cannot be read: {database.first_line(error)}")

    def _locate(self, bad: BadCellError, row: int) -> BadCellError:
        """Return the error about a cell with its file and line; blank lines are rows of one column."""
        n_above, form = self.form.n_skipped + self.form.has_header, self.form
        rows = (
            (path, line, record)
            for path in self.paths
            for line, (record, _) in enumerate(read_records(self.text_path(path), form.delimiter, form.quote), 1)
            if line > n_above and (record or len(self.columns) == 1)
        )
        name, at, place = self.name, "", self.columns.index(bad.column)
        for path, line, record in islice(rows, row, row + 1):
            cells, _ = split_cells(record.decode(errors="replace"), form.delimiter, form.quote)
            is_found = [cell.strip(SPACES) for cell in cells[place : place + 1]] == [bad.value.strip(SPACES)]
            name, at = quote_path(path), f"line {line}" if is_found else ""
        return bad.at(name, at, is_csv=True)


def _check_same_start(first: FileStart, start: FileStart, has_header: bool, first_path: str, path: str) -> None:
    """Raise an InputError where two files differ in columns, delimiter or skipped lines."""
    columns = [each.names if has_header else len(each.cells) for each in (first, start)]
    Delimited.check_alike([first_path, path], columns, "other columns")
    if (start.delimiter, start.n_skipped) != (first.delimiter, first.n_skipped):
        raise InputError(
            f"{quote_path(path)} has another delimiter than {quote_path(first_path)}, or only one has a line sep=. "
            f"Hint: read the files one by one"
        )


def _common_line_end(record: str, line_ends: set[str], path: str) -> str | None:
    """Return how lines end if the first holds a line break within quotes, else None; InputError if files differ."""
    if not re.search(r"[\r\n]", record):
        return None
    found = line_ends - {""}
    if len(found) > 1:
        raise InputError(
            f"{quote_path(path)} and the files read with it have line breaks in the names of columns, and differ in "
            f"how lines end. Hint: rename the columns, or read the files one by one"
        )
    return found.pop() if found else None
