"""The beginning of a CSV file: its delimiter, its header, and whether its first line is a header at all.

The delimiter is the one that occurs most often in the first line, or that of Excel's line `sep=;` above it. DuckDB's
own sniffer is not used: it reads a yes/no column as true and false, and a ragged file as one wide column.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from typing import Literal

from deciban.errors import InputError
from deciban.formatting import format_count
from deciban.sources.arrow_texts import SPACES
from deciban.sources.document_files import open_decompressed
from deciban.sources.markers import MISSING_NUMBERS
from deciban.sources.number_formats import detect_decimal, parse_number
from deciban.sources.records import DELIMITERS, QUOTE_HINT, describe_encoding_fault, describe_line_end, read_records
from deciban.sources.source import NO_QUOTE, FileOptions, convert_read_errors, quote_path

HEADER_BYTES = 1 << 20
HEADER_HINT = "Hint: the first line names the columns"
SAMPLE_BYTES = 1 << 16
START_SAMPLE_ROWS = 100
"""The number of rows that the first line is compared with."""

MAX_COLUMNS = 100_000
"""DuckDB took 9 s of CPU time to plan a query of 40 000 columns, and more than twice that for twice as many."""

SEPARATOR_LINE = re.compile(r'\A"?sep=([\t -!#-~])"?(\r\n|\r|\n)', re.IGNORECASE)
"""A line in which Excel finds the delimiter of a file."""

MAX_SHOWN_CHARACTERS = 60
"""Characters of the first line that a message shows."""

MIN_EQUAL_STEPS = 0.8
"""The ratio of least and greatest step between numbers from which on they are a scale, such as wavelengths."""


@dataclass(frozen=True)
class FileStart:
    """The first lines of a file: `record` is the first, which may hold line ends in quotes, `cells` are its cells.

    `rest` is the text after it, from its line end on, as far as the file is read (`HEADER_BYTES`); `n_skipped` is the
    number of lines before the first, 1 after a line `sep=`.
    """

    delimiter: str
    quote: str
    cells: Sequence[str]
    record: str
    rest: str
    n_skipped: int

    @property
    def line_end(self) -> str:
        """The end of the first line; "" where the file ends with it."""
        found = re.match(r"\r\n|\r|\n", self.rest)
        return "" if found is None else found[0]

    @property
    def names(self) -> list[str]:
        """The names of columns that the first line gives."""
        return [cell.strip(SPACES) or f"column{place}" for place, cell in enumerate(self.cells, 1)]

    @cached_property
    def rows(self) -> list[list[str]]:
        """The first rows after the first line, trimmed; those with another number of cells are left out."""
        sample = self.rest[:SAMPLE_BYTES]
        if len(sample) < len(self.rest):  # its last line is not complete
            sample = sample[: max(sample.rfind("\n"), sample.rfind("\r"), 0)]
        rows = []
        try:
            for row in _read_csv(io.StringIO(sample, newline=""), self.delimiter, self.quote):
                rows += [[cell.strip(SPACES) for cell in row]] if len(row) == len(self.cells) else []
        except csv.Error:  # the reading of the rows describes the fault
            pass
        return rows

    @cached_property
    def decimal(self) -> str:
        """The decimal mark of plain numbers; where commas separate cells it is a point."""
        return "." if self.delimiter == "," else detect_decimal(cell for row in self.rows for cell in row)


def read_start(path: str, form: str, options: FileOptions, original: str) -> FileStart:
    """Read the first lines of a file in UTF-8, decompressed; refuse one that is empty or not text.

    `original` is the path in messages, of the file that this is a copy of.
    """
    text, is_cut = _read_text(path, original)
    separator = SEPARATOR_LINE.match(text)
    text = text if separator is None else text[separator.end() :]
    record = _first_record(text, options.quote)
    if separator is not None:
        delimiter = separator[1]
    else:
        delimiter = "\t" if form == "tsv" else _find_delimiter(record, options.quote)
    cells = _parse_first_line(record, delimiter, options.quote, is_cut and len(record) == len(text), original)
    n_skipped = 0 if separator is None else 1
    if "\ufffd" in record:  # an invalid byte, unless the character itself is in the file
        raw = next(islice(read_records(path, delimiter, options.quote), n_skipped, None), (b"", ""))[0]
        if (fault := describe_encoding_fault(raw, n_skipped + 1)) is not None:
            raise InputError(f"{quote_path(original)} {fault}")
    start = FileStart(delimiter, options.quote, cells, record, text[len(record) :], n_skipped)
    if separator is not None and start.line_end not in ("", separator[2]):  # DuckDB would find no rows
        raise InputError(f"{quote_path(original)} {describe_line_end(2, start.line_end, separator[2])}")
    return start


def _find_delimiter(record: str, quote: str) -> str:
    """Return the delimiter that occurs most often outside quotes.

    Commas within numbers do not count where there is another: 5,1;3,5 has decimal commas.
    """
    q = re.escape(quote)
    unquoted = record if quote == NO_QUOTE else re.sub(rf"{q}[^{q}]*{q}", "", record)
    counts = {delimiter: unquoted.count(delimiter) for delimiter in DELIMITERS}
    if any(counts[delimiter] for delimiter in DELIMITERS[1:]):
        counts[","] -= len(re.findall(r"(?<=[0-9]),(?=[0-9])", unquoted))
    return max(DELIMITERS, key=counts.__getitem__)


def _read_text(path: str, original: str) -> tuple[str, bool]:
    """Return the first `HEADER_BYTES` of a file, and if it may have more; InputError if it is empty or not text."""
    if not os.path.getsize(path):
        raise InputError(f"{quote_path(original)} is empty. {HEADER_HINT}")
    with convert_read_errors(quote_path(original)), open_decompressed(path) as file:
        raw = bytes(file.read(HEADER_BYTES))
    text = raw.decode("utf-8-sig", errors="replace")
    if "\0" in text[:1000]:
        even, odd = raw[:1000:2].count(0), raw[1:1000:2].count(0)
        hint = "--format (format=) names the format where the ending does not"
        if max(even, odd) > len(raw[:1000]) // 4 and min(even, odd) == 0:
            other = "utf-16-be" if even else "utf-16-le"
            hint = f"it may be in UTF-16 without a byte order mark, --encoding {other} (encoding={other!r})"
        raise InputError(f"{quote_path(original)} is not a text file. Hint: {hint}")
    return text, len(raw) == HEADER_BYTES


def _first_record(text: str, quote: str) -> str:
    """Return the first line, which may span several lines within quotes; all of the text where quotes stay open."""
    q = re.escape(quote)
    quoted = rf"(?:[^{q}\r\n]++|{q}[^{q}]*+(?:{q}|\Z))*+"  # in linear time
    match = re.match(r"[^\r\n]*+" if quote == NO_QUOTE else quoted, text)
    assert match is not None
    return match.group()


def _read_csv(lines: Iterable[str], delimiter: str, quote: str) -> Iterator[list[str]]:
    """Return Python's reader of these lines; a csv.Error is raised while it is read."""
    if quote == NO_QUOTE:
        return csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
    return csv.reader(lines, delimiter=delimiter, quotechar=quote)


def _parse_first_line(line: str, delimiter: str, quote: str, is_cut: bool, path: str) -> list[str]:
    """Return the cells of the first line; InputError if it is empty or cut, has too many, or a quote stays open."""
    if not line.strip():
        raise InputError(f"the first line of {quote_path(path)} is empty. {HEADER_HINT}")
    if is_cut:
        most = format_count(HEADER_BYTES, "byte")
        raise InputError(f"the first line of {quote_path(path)} is longer than {most}. {HEADER_HINT}")
    if quote != NO_QUOTE and line.count(quote) % 2:
        raise InputError(
            f"the header of {quote_path(path)} opens a quote that is not closed within "
            f"{format_count(len(line), 'character')}. {QUOTE_HINT}"
        )
    try:
        cells = next(iter(_read_csv([line], delimiter, quote)))
    except csv.Error as error:
        raise InputError(f"the first line of {quote_path(path)} cannot be read: {error}. {HEADER_HINT}") from None
    if len(cells) > MAX_COLUMNS:
        raise InputError(
            f"the first line of {quote_path(path)} names {format_count(len(cells), 'column')}; "
            f"at most {format_count(MAX_COLUMNS)} are read. "
            f"Hint: a Parquet file, or a sparse matrix and an estimator"
        )
    return cells


def name_columns(start: FileStart, options: FileOptions, path: str) -> tuple[list[str], bool]:
    """Return the names of the columns, and whether the first line is a header.

    Raises an InputError where that is not stated and looks otherwise, naming both ways out.
    """
    has_header = not options.names if options.header is None else options.header
    if options.header is None:
        _check_first_line(start, has_header, path)
    if not options.names:
        numbered = [f"column{place}" for place in range(1, len(start.cells) + 1)]
        return start.names if has_header else numbered, has_header
    if len(options.names) != len(start.cells):
        raise InputError(
            f"{len(options.names)} names are given, and the first line of {quote_path(path)} has {len(start.cells)} "
            f"cells. Hint: a name for each column"
        )
    return [name.strip(SPACES) for name in options.names], has_header


def _check_first_line(start: FileStart, has_header: bool, path: str) -> None:
    """Raise an InputError where the first line looks like data and is to be a header, or the other way round.

    A text above a column of numbers is a name. Else the line is data if more of its cells fit their columns than not;
    numbers that are a scale, as 1990, 1991 are, do not count.
    """
    cells = [cell.strip(SPACES) for cell in start.cells]
    numbers = [number for cell in cells if (number := parse_number(cell, start.decimal)) is not None]
    is_scale, verdicts = _is_scale(numbers), Counter[str]()
    for cell, column in zip(cells, zip(*start.rows[:START_SAMPLE_ROWS])):
        verdict = _judge_cell(cell, column, start.decimal)
        if verdict == "name":
            break
        if not is_scale or parse_number(cell, start.decimal) is None:
            verdicts[verdict] += 1
    else:
        if has_header and verdicts["data"] > verdicts["header"]:
            raise InputError(
                f"the first line of {quote_path(path)} looks like a row of data, and not like names of columns: "
                f"{start.record[:MAX_SHOWN_CHARACTERS]!r}. Hint: --no-header (header=False) reads it as a row, with "
                f"the columns column1, column2, … or --names a,b,… (names=['a', 'b', …]); --header (header=True) "
                f"takes it for names"
            )
        return
    if not has_header:
        raise InputError(
            f"names are given, and the first line of {quote_path(path)} looks like a header: "
            f"{start.record[:MAX_SHOWN_CHARACTERS]!r}. Hint: --header (header=True) replaces its names; "
            f"--no-header (header=False) reads it as a row"
        )


def _judge_cell(cell: str, column: Sequence[str], decimal: str) -> Literal["name", "header", "data", ""]:
    """Return whether a cell of the first line fits the column below it.

    "name": a text above numbers; "header": a text that is new to a column in which values recur; "data": a number in
    the range of the numbers, or a value of a column in which values recur; "": neither.
    """
    known = [other for other in column if other and other not in MISSING_NUMBERS]
    if not known or not cell or cell in MISSING_NUMBERS:
        return ""
    numbers = [number for other in known if (number := parse_number(other, decimal)) is not None]
    if len(numbers) == len(known):
        number = parse_number(cell, decimal)
        if number is None:
            return "name"
        return "data" if min(numbers) <= number <= max(numbers) else ""
    n_distinct = len(set(known))
    if cell in known:
        return "data" if n_distinct < len(known) else ""
    return "header" if n_distinct <= len(known) / 2 else ""


def _is_scale(numbers: Sequence[float]) -> bool:
    """Return whether numbers may be names: a whole one alone, whole ones that increase, or nearly equal steps.

    >>> _is_scale([1990, 1991, 1995]), _is_scale([400.0, 400.5, 401.0]), _is_scale([5.1, 3.5, 1.4, 0.2])
    (True, True, False)
    """
    steps = [b - a for a, b in pairwise(numbers)]
    if all(step > 0 for step in steps) and all(float(number).is_integer() for number in numbers):
        return True
    return (
        len(steps) > 1
        and min(steps) * max(steps) > 0
        and min(map(abs, steps)) >= MIN_EQUAL_STEPS * max(map(abs, steps))
    )
