"""Records of a CSV file, found without DuckDB: their bytes, their cells, and why one cannot be read."""

import codecs
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from deciban.formatting import format_count
from deciban.sources.document_files import open_decompressed
from deciban.sources.source import NO_QUOTE, convert_read_errors, quote_path
from deciban.sources.utf8_copies import describe_invalid_byte

DELIMITERS = (",", ";", "\t", "|")

RECORD_CHUNK_BYTES = 1 << 22
MAX_RECORD_BYTES = 2_000_000
"""DuckDB refuses a longer record."""

QUOTE_HINT = "Hint: a quote in a cell is doubled; --quote none (quote='none') reads quotes as ordinary characters"


@lru_cache(maxsize=64)
def _compile_record_pattern(delimiter: str, quote: str) -> re.Pattern[bytes]:
    """Return the pattern of a record and, as a group, the end of its line, in linear time."""
    mark, q = re.escape(delimiter), re.escape(quote)
    plain = rf"[^{mark}\r\n]*+"
    cell = plain if quote == NO_QUOTE else rf"(?: *+{q}(?:[^{q}]++|{q}{q})*+{q}{plain}|(?! *+{q}){plain})"
    return re.compile(rf"{cell}(?:{mark}{cell})*+(\r\n|\r|\n)".encode())


@lru_cache(maxsize=64)
def _compile_cell_pattern(delimiter: str, quote: str) -> re.Pattern[str]:
    """Return the pattern of a cell: its text in quotes, the closing quote and text after it, or a plain text; and the
    delimiter.
    """
    mark, q = re.escape(delimiter), re.escape(quote)
    return re.compile(rf"(?: *+{q}((?:[^{q}]++|{q}{q})*+)({q}?+) *+([^{mark}]*+)|([^{mark}]*+))({mark}|\Z)")


def read_records(path: str, delimiter: str, quote: str = '"') -> Iterator[tuple[bytes, str]]:
    """Yield each record of a file in UTF-8 (not checked), blank ones too, and the end of its line ("" at the end).

    A cell is quoted where a quote is its first character but for spaces, as in DuckDB; line ends in it are its own.
    A record longer than `MAX_RECORD_BYTES` whose end has not been read is cut off, and is the last. A BOM is removed.
    """
    pattern = _compile_record_pattern(delimiter, quote)
    unread, started, ended = b"", False, False
    with convert_read_errors(quote_path(path)), open_decompressed(path) as file:
        while not ended:
            raw = bytes(file.read(RECORD_CHUNK_BYTES))
            ended = not raw
            unread += raw
            if not started:
                unread, started = unread.removeprefix(codecs.BOM_UTF8), True
            place = 0
            while (match := pattern.match(unread, place)) and (ended or match.end() < len(unread)):  # \r, then \n?
                yield unread[place : match.start(1)], match[1].decode()
                place = match.end()
            unread = unread[place:]
            if len(unread) > MAX_RECORD_BYTES:
                break
    if unread:
        yield unread, ""


class RecordForm(NamedTuple):
    """How records are written: delimiter, quote, the number of cells, lines to skip, and whether a header follows."""

    delimiter: str
    quote: str
    n_columns: int
    n_skipped: int = 0
    has_header: bool = True


def find_fault(path: str, record_number: int | None, form: RecordForm) -> str | None:
    """Describe why a record cannot be read, as the predicate of an error message; None if no fault is found.

    Records are counted from 1, and called lines in the message. Line ends are compared up to `record_number` (None:
    in all records); other faults are sought in that record only, and in one that is too long.
    """
    first_end = ""
    for number, (record, end) in enumerate(read_records(path, form.delimiter, form.quote), 1):
        first_end = first_end or end
        if end and end != first_end:
            return describe_line_end(number, end, first_end)
        if number == record_number or len(record) > MAX_RECORD_BYTES:
            return _describe_fault(record, number, form)
    return None


def describe_line_end(record_number: int, end: str, first_end: str) -> str:
    """Describe a record that ends in another way than the first, as the predicate of an error message."""
    return (
        f"cannot be read in line {record_number}: it ends with {end!r}, and the first line with {first_end!r}. "
        f"Hint: end all lines alike; a cell that holds such a character needs quotes"
    )


def describe_encoding_fault(record: bytes, record_number: int) -> str | None:
    """Describe the invalid bytes of a record, as the predicate of an error message; None if it is in UTF-8."""
    try:
        record.decode()
    except UnicodeDecodeError as error:
        return describe_invalid_byte("utf-8", record_number, record[error.start])
    return None


def _describe_fault(record: bytes, record_number: int, form: RecordForm) -> str | None:
    """Describe the fault of a record: encoding, quotes, length, number of cells (empty ones may follow); or None."""
    is_long = len(record) > MAX_RECORD_BYTES
    if not is_long and (fault := describe_encoding_fault(record, record_number)) is not None:
        return fault
    cells, has_bad_quotes = split_cells(record.decode(errors="replace"), form.delimiter, form.quote)
    cannot = f"cannot be read in line {record_number}:"
    most = format_count(MAX_RECORD_BYTES, "byte")
    if has_bad_quotes and is_long:
        return f"{cannot} a quote is not closed within {most}. {QUOTE_HINT}"
    if has_bad_quotes:
        return f"{cannot} a quote is not closed, or text follows the closing quote. {QUOTE_HINT}"
    if is_long:
        return f"{cannot} the line is longer than {most}. Hint: Parquet files have no such bound"
    n = form.n_columns
    if record and (len(cells) < n or any(cells[n:])):  # DuckDB takes no empty cells beyond for data
        return (
            f"is ragged: {format_count(len(cells), 'cell')} in line {record_number} where the "
            f"{'header' if form.has_header else 'first line'} has {format_count(n)}. "
            f"Hint: mend that line; a cell that holds the delimiter needs quotes"
        )
    return None


def split_cells(record: str, delimiter: str, quote: str = '"') -> tuple[list[str], bool]:
    """Return the cells of a record, and whether a quote is not closed or has text after it."""
    if quote == NO_QUOTE:
        return record.split(delimiter), False
    cells: list[str] = []
    has_bad_quotes = False
    for match in _compile_cell_pattern(delimiter, quote).finditer(record):
        quoted, closing, after, plain, end = match.groups()
        cells.append(plain if quoted is None else quoted.replace(2 * quote, quote) + after)
        has_bad_quotes |= quoted is not None and (not closing or bool(after))
        if not end:
            break
    return cells, has_bad_quotes
