"""Records of a CSV file, found without DuckDB: which line holds a row, and why a line cannot be read."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from deciban.sources.document_files import open_decompressed
from deciban.sources.source import convert_read_errors, quote_path

DELIMITERS = (",", ";", "\t", "|")

CHUNK_BYTES = 1 << 22
MAX_RECORD_BYTES = 2_000_000
"""DuckDB refuses a longer record."""

QUOTE_HINT = "Hint: a quote in a cell is doubled"


def _record_pattern(mark: str) -> bytes:
    plain = rf"[^{mark}\r\n]*+"
    cell = rf'(?: *+"(?:[^"]++|"")*+"{plain}|(?! *+"){plain})'
    return rf"{cell}(?:{mark}{cell})*+(\r\n|\r|\n)".encode()


RECORDS = {delimiter: re.compile(_record_pattern(re.escape(delimiter))) for delimiter in DELIMITERS}
"""Patterns of a record and, as a group, the end of its line, in linear time."""

CELLS = {
    mark: re.compile(rf'(?: *+"((?:[^"]++|"")*+)("?+) *+([^{m}]*+)|([^{m}]*+))({m}|\Z)')
    for mark, m in zip(DELIMITERS, map(re.escape, DELIMITERS))
}
"""Patterns of a cell: its text in quotes, the closing quote and text after it, or a plain text; and the delimiter."""


def read_records(path: str, delimiter: str, encoding: str) -> Iterator[tuple[bytes, str]]:
    """Yield each record in UTF-8, blank ones too, and the end of its line ("" at the end of the file).

    A cell is quoted where a quote is its first character but for spaces, as in DuckDB; line ends in it are its own.
    A record longer than `MAX_RECORD_BYTES` whose end is not in sight is cut off, and is the last.
    """
    decoder = None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)("replace")
    unread, started, ended = b"", False, False
    with convert_read_errors(quote_path(path)), open_decompressed(path) as file:
        while not ended:
            raw = bytes(file.read(CHUNK_BYTES))
            ended = not raw
            unread += raw if decoder is None else decoder.decode(raw, ended).encode("utf-8", "replace")
            if not started:
                unread, started = unread.removeprefix(codecs.BOM_UTF8), True
            place = 0
            while (match := RECORDS[delimiter].match(unread, place)) and (
                ended or match.end() < len(unread)
            ):  # \r may precede \n
                yield unread[place : match.start(1)], match[1].decode()
                place = match.end()
            unread = unread[place:]
            if len(unread) > MAX_RECORD_BYTES:
                break
    if unread:
        yield unread, ""


def find_fault(path: str, line: int | None, delimiter: str, encoding: str, n_columns: int) -> str | None:
    """Find the line that cannot be read, and describe it by a predicate; None where no fault is found.

    Line ends are compared in all lines up to `line`, other faults are searched in that line only.
    """
    first_end = ""
    for number, (record, end) in enumerate(read_records(path, delimiter, encoding), 1):
        first_end = first_end or end
        if end and end != first_end:
            return (
                f"cannot be read in line {number}: it ends with {end!r}, and the first line with {first_end!r}. "
                f"Hint: end all lines alike; a cell that holds such a character needs quotes"
            )
        if number == line:
            return _describe(record, number, delimiter, n_columns)
    return None


def _describe(record: bytes, line: int, delimiter: str, n_columns: int) -> str | None:
    try:
        text = record.decode()
    except UnicodeDecodeError:
        if len(record) <= MAX_RECORD_BYTES:
            return f"is not in UTF-8 in line {line}. Hint: --encoding latin-1 (or encoding='latin-1')"
        text = record.decode(errors="replace")
    cells, has_bad_quotes = split_cells(text, delimiter)
    cannot = f"cannot be read in line {line}:"
    if has_bad_quotes and len(record) > MAX_RECORD_BYTES:
        return f"{cannot} a quote is not closed within {MAX_RECORD_BYTES:,} bytes. {QUOTE_HINT}"
    if has_bad_quotes:
        return f"{cannot} a quote is not closed, or text follows the closing quote. {QUOTE_HINT}"
    if len(record) > MAX_RECORD_BYTES:
        return f"{cannot} the line is longer than {MAX_RECORD_BYTES:,} bytes. Hint: Parquet files have no such bound"
    if record and (len(cells) < n_columns or any(cells[n_columns:])):  # DuckDB takes no empty cells beyond for data
        return (
            f"is ragged: {len(cells)} cells in line {line} where the header has {n_columns}. "
            f"Hint: mend that line; a cell that holds the delimiter needs quotes"
        )
    return None


def split_cells(record: str, delimiter: str) -> tuple[list[str], bool]:
    """Split a record into its cells; and whether a quote is not closed or has text after it."""
    cells: list[str] = []
    has_bad_quotes = False
    for match in CELLS[delimiter].finditer(record):
        quoted, closing, after, plain, end = match.groups()
        cells.append(plain if quoted is None else quoted.replace('""', '"') + after)
        has_bad_quotes |= quoted is not None and (not closing or bool(after))
        if not end:
            break
    return cells, has_bad_quotes
