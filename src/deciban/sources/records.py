"""Records of a CSV file, found without DuckDB: their bytes, their cells, and why one cannot be read."""

import codecs
import re
from collections.abc import Iterator

from deciban.sources.document_files import open_decompressed
from deciban.sources.source import convert_read_errors, quote_path

DELIMITERS = (",", ";", "\t", "|")

RECORD_CHUNK_BYTES = 1 << 22
MAX_RECORD_BYTES = 2_000_000
"""DuckDB refuses a longer record."""

QUOTE_HINT = "Hint: a quote in a cell is doubled"


def _record_pattern(escaped: str) -> bytes:
    """Return the pattern of a record and the end of its line, for this delimiter, escaped for a pattern."""
    plain = rf"[^{escaped}\r\n]*+"
    cell = rf'(?: *+"(?:[^"]++|"")*+"{plain}|(?! *+"){plain})'
    return rf"{cell}(?:{escaped}{cell})*+(\r\n|\r|\n)".encode()


RECORDS = {delimiter: re.compile(_record_pattern(re.escape(delimiter))) for delimiter in DELIMITERS}
"""Patterns of a record and, as a group, the end of its line, in linear time."""

CELLS = {
    delimiter: re.compile(rf'(?: *+"((?:[^"]++|"")*+)("?+) *+([^{escaped}]*+)|([^{escaped}]*+))({escaped}|\Z)')
    for delimiter, escaped in zip(DELIMITERS, map(re.escape, DELIMITERS))
}
"""Patterns of a cell: its text in quotes, the closing quote and text after it, or a plain text; and the delimiter."""


def read_records(path: str, delimiter: str, encoding: str) -> Iterator[tuple[bytes, str]]:
    """Yield each record in UTF-8 (not checked), blank ones too, and the end of its line ("" at the end of the file).

    A cell is quoted where a quote is its first character but for spaces, as in DuckDB; line ends in it are its own.
    A record longer than `MAX_RECORD_BYTES` whose end has not been read is cut off, and is the last. A BOM is removed.
    """
    decoder = None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)("replace")
    unread, started, ended = b"", False, False
    with convert_read_errors(quote_path(path)), open_decompressed(path) as file:
        while not ended:
            raw = bytes(file.read(RECORD_CHUNK_BYTES))
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


def find_fault(path: str, record_number: int | None, delimiter: str, encoding: str, n_columns: int) -> str | None:
    """Describe why a record cannot be read, as the predicate of an error message; None if no fault is found.

    Records are counted from 1, the header, and called lines in the message. Line ends are compared up to
    `record_number` (None: in all records); other faults are sought in that record only.
    """
    first_end = ""
    for number, (record, end) in enumerate(read_records(path, delimiter, encoding), 1):
        first_end = first_end or end
        if end and end != first_end:
            return (
                f"cannot be read in line {number}: it ends with {end!r}, and the first line with {first_end!r}. "
                f"Hint: end all lines alike; a cell that holds such a character needs quotes"
            )
        if number == record_number:
            return _describe_fault(record, number, delimiter, n_columns)
    return None


def _describe_fault(record: bytes, record_number: int, delimiter: str, n_columns: int) -> str | None:
    """Describe the fault of a record: encoding, quotes, length, number of cells (empty ones may follow); or None."""
    try:
        text = record.decode()
    except UnicodeDecodeError:
        if len(record) <= MAX_RECORD_BYTES:
            return f"is not in UTF-8 in line {record_number}. Hint: --encoding latin-1 (or encoding='latin-1')"
        text = record.decode(errors="replace")
    cells, has_bad_quotes = split_cells(text, delimiter)
    cannot = f"cannot be read in line {record_number}:"
    if has_bad_quotes and len(record) > MAX_RECORD_BYTES:
        return f"{cannot} a quote is not closed within {MAX_RECORD_BYTES:,} bytes. {QUOTE_HINT}"
    if has_bad_quotes:
        return f"{cannot} a quote is not closed, or text follows the closing quote. {QUOTE_HINT}"
    if len(record) > MAX_RECORD_BYTES:
        return f"{cannot} the line is longer than {MAX_RECORD_BYTES:,} bytes. Hint: Parquet files have no such bound"
    if record and (len(cells) < n_columns or any(cells[n_columns:])):  # DuckDB takes no empty cells beyond for data
        return (
            f"is ragged: {len(cells)} cells in line {record_number} where the header has {n_columns}. "
            f"Hint: mend that line; a cell that holds the delimiter needs quotes"
        )
    return None


def split_cells(record: str, delimiter: str) -> tuple[list[str], bool]:
    """Return the cells of a record, and whether a quote is not closed or has text after it."""
    cells: list[str] = []
    has_bad_quotes = False
    for match in CELLS[delimiter].finditer(record):
        quoted, closing, after, plain, end = match.groups()
        cells.append(plain if quoted is None else quoted.replace('""', '"') + after)
        has_bad_quotes |= quoted is not None and (not closing or bool(after))
        if not end:
            break
    return cells, has_bad_quotes
