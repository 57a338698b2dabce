"""Workbooks of Excel (.xlsx, .xlsm), read by openpyxl: results of formulas as they were saved; no macro is run."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any, Self
from xml.etree.ElementTree import iterparse

from deciban._lazy import pa
from deciban.errors import DecibanError, InputError, MissingExtraError
from deciban.formatting import format_count
from deciban.sources.markers import MarkerCounts
from deciban.sources.source import ColumnReading, FileOptions, FileSource, choose_table, error_summary, quote_path
from deciban.sources.typed_cells import convert_columns, join_parts, to_column

MAX_SHEET_ROWS = 1 << 20
"""Rows of a sheet in Excel; a forged file may name others."""

MAX_PART_BYTES, MAX_SHEET_BYTES = 1 << 29, 1 << 32
"""Bytes of a part of a workbook once it is unpacked: of one that is held in memory, and of a sheet."""

MAX_RATIO, MIN_RATIO_BYTES = 500, 1 << 24
"""The factor by which a part of that size may shrink when it is packed: sheets shrink to a tenth or twentieth."""

ROWS_PER_PART = 1 << 13
"""Rows that are held as Python values at a time."""

OLD_FORMAT = b"\xd0\xcf\x11\xe0"
"""The first bytes of .xls files, and of workbooks with a password."""

FORMULA_MARK = b"<f"
MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


@dataclass(frozen=True)
class Workbook(FileSource):
    """A sheet of one workbook, or of several with the same columns; its first row that is not blank names them.

    A column has the type of its cells; one with cells of different types is read as text, numbers among them too.
    """

    columns: Sequence[str]
    options: FileOptions
    number_markers: MarkerCounts = field(default_factory=dict)
    n_rows: int | None = None
    typed = False

    @classmethod
    def open(cls, paths: Sequence[str], options: FileOptions, form: str) -> Self:
        """Read the header of each sheet; raise an InputError where two files have different ones."""
        headers = [_read_header(path, options.table) for path in paths]
        cls.check_alike(paths, headers, "other columns")
        return cls(paths, headers[0], options)

    @cached_property
    def tables(self) -> list[pa.Table]:
        """The rows of each file, read when first needed and kept."""
        return [_read_table(path, self.options.table) for path in self.paths]

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        parts = [table.slice(0, n) for table in self.tables]
        chunks = [[chunk for part in parts for chunk in part.column(name).chunks] for name in self.columns]
        columns = [join_parts(column) for column in chunks]
        return pa.Table.from_arrays(columns, names=list(self.columns)).slice(0, n)

    def batches(self, wanted: Mapping[str, ColumnReading]) -> Iterator[pa.RecordBatch]:
        """See `Source.batches`."""
        for table in self.tables:
            for batch in table.select(list(wanted)).to_batches():
                yield convert_columns(batch.columns, wanted, self.number_markers)


@contextmanager
def _open_sheet(path: str, table: str | None) -> Iterator[Any]:
    """Yield a sheet: the one of that name, or else the only one that is visible and not blank."""
    try:
        import openpyxl
    except ImportError:
        raise MissingExtraError(
            f"reading {quote_path(path)} needs openpyxl. Hint: pip install 'deciban[excel]', or save it as CSV"
        ) from None
    _check_archive(path)
    with _convert_errors(path), open(path, "rb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what openpyxl does not keep, such as pictures
        book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
        try:
            sheets = {sheet.title: sheet for sheet in book.worksheets}
            for sheet in sheets.values():
                sheet.reset_dimensions()  # some programs write wrong ones
            if table is None:
                visible = [sheet for sheet in sheets.values() if sheet.sheet_state == "visible"]
                sheets = {sheet.title: sheet for sheet in visible if next(_read_rows(sheet), None)}
            name = choose_table(quote_path(path), "sheet", table, list(sheets))
            _check_formulas(book, sheets[name], path)
            yield sheets[name]
        finally:
            book.close()


def _check_archive(path: str) -> None:
    """Raise an InputError for a file that is not an archive, or that is much larger than its size once unpacked."""
    with _convert_errors(path), open(path, "rb") as file:
        if file.read(len(OLD_FORMAT)) == OLD_FORMAT:
            raise InputError(
                f"{quote_path(path)} is an old Excel file (.xls), or one with a password. "
                f"Hint: save it as .xlsx without a password, or as CSV"
            )
    with _convert_errors(path), zipfile.ZipFile(path) as archive:
        parts = archive.infolist()
    for part in parts:
        limit = MAX_SHEET_BYTES if "/worksheets/" in part.filename else MAX_PART_BYTES
        is_dense = part.file_size > MIN_RATIO_BYTES and part.file_size > MAX_RATIO * max(1, part.compress_size)
        if part.file_size > limit or is_dense:
            raise InputError(
                f"{quote_path(path)} is not read: its part {part.filename!r} has "
                f"{format_count(part.compress_size, 'byte')}, and {format_count(part.file_size)} once it is "
                f"unpacked. Hint: save it again, or as CSV"
            )


@contextmanager
def _convert_errors(path: str) -> Iterator[None]:
    """Raise whatever openpyxl raises for a damaged workbook (any exception of Python) as an InputError."""
    try:
        yield
    except DecibanError:
        raise
    except Exception as error:
        raise InputError(
            f"{quote_path(path)} cannot be read as an Excel workbook: {error_summary(error)}. "
            f"Hint: save it again as .xlsx, or as CSV"
        ) from None


def _check_formulas(book: Any, sheet: Any, path: str) -> None:
    """Raise an InputError for a formula whose result is not in the file: its cell would be taken for missing."""
    archive, part = book._archive, sheet._worksheet_path
    with archive.open(part) as file:
        before = b""
        while chunk := file.read(1 << 20):
            if FORMULA_MARK in before + chunk:
                break
            before = chunk[-1:]
        else:
            return
    with archive.open(part) as file:
        for _, element in iterparse(file):
            if element.tag == f"{MAIN}c":
                if _lacks_result(element):
                    raise InputError(
                        f"{quote_path(path)} has a formula in cell {element.get('r')} of sheet {sheet.title!r}, and "
                        f"not its result. Hint: open it in Excel or LibreOffice, and save it again"
                    )
            elif element.tag == f"{MAIN}row":
                element.clear()


def _lacks_result(cell: Any) -> bool:
    """Return whether a cell has a formula and no result; an empty text is one."""
    return cell.find(f"{MAIN}f") is not None and cell.get("t") != "str" and not cell.findtext(f"{MAIN}v")


def _read_header(path: str, table: str | None) -> list[str]:
    """Read the names of the columns of a sheet."""
    with _open_sheet(path, table) as sheet:
        return _parse_header(_read_rows(sheet), path, sheet.title)


def _read_rows(sheet: Any) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield the rows that are not blank, each with its number in the sheet; the first is the header."""
    for number, row in enumerate(sheet.iter_rows(max_row=MAX_SHEET_ROWS, values_only=True), 1):
        if any(cell is not None and cell != "" for cell in row):
            yield number, row


def _parse_header(rows: Iterator[tuple[int, tuple[Any, ...]]], path: str, sheet: str) -> list[str]:
    """Return the names of the columns, which the next row has; a blank one is named by its place."""
    _, row = next(rows, (0, ()))
    texts = to_column([str(cell) if cell is not None else None for cell in row]).to_pylist()
    while texts and texts[-1] is None:
        texts.pop()
    if not texts:
        raise InputError(f"sheet {sheet!r} of {quote_path(path)} is empty. Hint: its first row names the columns")
    return [f"column{place}" if text is None else text for place, text in enumerate(texts, 1)]


def _read_table(path: str, table: str | None) -> pa.Table:
    """Read all rows of a sheet below its header, some at a time as Python values."""
    with _open_sheet(path, table) as sheet:
        rows = _read_rows(sheet)
        names = _parse_header(rows, path, sheet.title)
        parts: list[list[Any]] = []
        while some := list(islice(rows, ROWS_PER_PART)):
            for number, row in some:
                _check_width(row, len(names), number, path)
            cells = zip(*(row[: len(names)] + (None,) * (len(names) - len(row)) for _, row in some))
            parts.append([to_column(values) for values in cells])
    columns = [join_parts(column) for column in zip(*parts)] or [pa.chunked_array([], pa.null()) for _ in names]
    return pa.Table.from_arrays(columns, names=names)


def _check_width(row: Sequence[Any], width: int, number: int, path: str) -> None:
    """Raise an InputError for a value beyond the columns that the header names."""
    for place, cell in enumerate(row[width:], width + 1):
        if cell is not None and cell != "":
            raise InputError(
                f"{quote_path(path)} has a value in row {number} and column {place}, and its header names {width} "
                f"columns. Hint: name that column, or clear the cell"
            )
