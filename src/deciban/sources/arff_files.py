"""ARFF files, as Weka writes them: attributes with types, then rows, dense or sparse; `?` is a missing value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice
from typing import Any, NamedTuple, Self

from deciban._lazy import pa
from deciban.errors import InputError, list_names
from deciban.formatting import format_count
from deciban.sources.document_files import Decoding
from deciban.sources.source import ColumnReading, FileOptions, FileSource, quote_path, take_batches

READ_BYTES = 1 << 20
ARFF_ROWS_PER_BATCH = 1 << 14

MAX_LINE_CHARACTERS = 1 << 24
"""Characters of a line of the file; a longer one is not read."""

QUOTED = r"'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\""
ATTRIBUTE = re.compile(rf"@attribute\s+({QUOTED}|[^\s'\"{{}}]++)\s*+(\S.*)", re.IGNORECASE)
CELL = re.compile(rf"\s*+({QUOTED}|[^,'\"{{}}]*+)\s*+(,|\Z)")
SPARSE_CELL = re.compile(rf"\s*+(\d{{1,9}})\s++({QUOTED}|[^,'\"{{}}]*+)\s*+(?:,|\Z)")
CODE = re.compile(rf"(?:{QUOTED}|[^%'\"])*+")
SPECIAL = re.compile(r"['\"{}]")
"""Patterns in linear time; a cell without quotes may contain spaces."""

ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}

DEFAULT_DATE_FORMAT = "yyyy-MM-dd'T'HH:mm:ss"
DATE_LETTERS = {
    "yyyy": "%Y", "yy": "%y", "MMMM": "%B", "MMM": "%b", "MM": "%m", "M": "%m", "dd": "%d", "d": "%d", "HH": "%H",
    "H": "%H", "hh": "%I", "h": "%I", "mm": "%M", "m": "%M", "ss": "%S", "s": "%S", "SSS": "%f", "a": "%p",
    "EEEE": "%A", "EEE": "%a", "E": "%a", "Z": "%z", "X": "%z", "XXX": "%z", "D": "%j", "DDD": "%j",
}  # fmt: skip
"""Letters of Java's date patterns, and the directives of `strptime`."""


class Attribute(NamedTuple):
    """A column: its name and type, the values of a nominal one, and the format of a date."""

    name: str
    kind: str
    values: tuple[str, ...] = ()
    date_format: str = ""


@dataclass(frozen=True)
class Arff(FileSource):
    """ARFF files with the same attributes; nominal attributes are categories, whatever their values look like."""

    attributes: Sequence[Attribute]
    decoding: Decoding
    n_rows: int | None = None

    @classmethod
    def open(cls, paths: Sequence[str], options: FileOptions, form: str) -> Self:
        """Read the attributes; raise an InputError where two files have different ones."""
        decoding = Decoding.of(options)
        found = [_read_attributes(_read_lines(path, decoding), path) for path in paths]
        cls.check_alike(paths, found, "other attributes")
        return cls(paths, found[0], decoding)

    @property
    def columns(self) -> Sequence[str]:
        """See `Source.columns`."""
        return [attribute.name for attribute in self.attributes]

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        batches = take_batches(self.batches(dict.fromkeys(self.columns, "as it is")), n)
        empty = pa.RecordBatch.from_arrays([_to_array(a, []) for a in self.attributes], names=list(self.columns))
        return pa.Table.from_batches(batches or [empty]).slice(0, n)

    def batches(self, wanted: Mapping[str, ColumnReading]) -> Iterator[pa.RecordBatch]:
        """See `Source.batches`."""
        places = [self.columns.index(name) for name in wanted]
        for path in self.paths:
            lines = _read_lines(path, self.decoding)
            _read_attributes(lines, path)
            rows = ((number, _split_row(line, self.attributes, number, path)) for number, line in lines)
            while some := list(islice(rows, ARFF_ROWS_PER_BATCH)):
                numbers = [number for number, _ in some]
                columns = [
                    self._convert_column(place, [row[place] for _, row in some], numbers, path) for place in places
                ]
                yield pa.RecordBatch.from_arrays(columns, names=list(wanted))

    def _convert_column(self, place: int, cells: list[str | None], numbers: list[int], path: str) -> Any:
        """Convert cells to the attribute's type; InputError with the line of one that does not fit."""
        attribute = self.attributes[place]
        if self.decoding.missing:
            cells = [None if cell in self.decoding.missing else cell for cell in cells]
        try:
            return _to_array(attribute, cells)
        except ValueError:
            for number, cell in zip(numbers, cells):
                try:
                    _to_array(attribute, [cell])
                except ValueError:
                    raise InputError(
                        f"{quote_path(path)} has {cell!r} in line {number} for {attribute.name!r}, which is "
                        f"{_describe(attribute)}. Hint: mend that line, or the attribute"
                    ) from None
            raise


def _read_lines(path: str, decoding: Decoding) -> Iterator[tuple[int, str]]:
    """Yield the lines that are neither blank nor comments, each with its number, without comment and outer spaces.

    A line longer than `MAX_LINE_CHARACTERS` is an InputError.
    """
    number, unfinished = 0, ""
    for piece in chain(decoding.read_pieces(path, READ_BYTES), ["\n"]):
        *lines, unfinished = (unfinished + piece).split("\n")
        for line in lines:
            number += 1
            text = (_strip_comment(line) if "%" in line else line).strip()
            if text:
                yield number, text
        if len(unfinished) > MAX_LINE_CHARACTERS:
            raise InputError(
                f"line {number + 1} of {quote_path(path)} is longer than "
                f"{format_count(MAX_LINE_CHARACTERS, 'character')}. Hint: is it an ARFF file?"
            )


def _strip_comment(line: str) -> str:
    """Return a line up to the first percent sign outside quotes."""
    code = CODE.match(line)
    assert code is not None
    return line[: code.end()] if line[code.end() : code.end() + 1] == "%" else line


def _read_attributes(lines: Iterator[tuple[int, str]], path: str) -> list[Attribute]:
    """Read the lines up to `@data`, and return the attributes; InputError for another line, or where it is absent."""
    attributes: list[Attribute] = []
    for number, line in lines:
        keyword = line.split(None, 1)[0].lower()
        if keyword == "@data":
            return attributes
        if keyword == "@attribute":
            attributes.append(_parse_attribute(line, number, path))
        elif not keyword.startswith("@"):
            raise InputError(
                f"{quote_path(path)} has {line[:80]!r} in line {number}, before @data. "
                f"Hint: an ARFF file names its columns by @attribute lines"
            )
    raise InputError(f"{quote_path(path)} has no line @data. Hint: is it an ARFF file, and complete?")


def _parse_attribute(line: str, number: int, path: str) -> Attribute:
    """Return the attribute that a line declares; InputError for a line or a type that is not read."""
    match = ATTRIBUTE.fullmatch(line)
    if match is not None:
        name, kind = _unquote(match[1]), match[2]
        word = kind.split(None, 1)[0].lower()
        if kind.startswith("{") and kind.endswith("}"):
            cells = _split_cells(kind[1:-1])
            if cells is not None:
                return Attribute(name, "nominal", tuple(cell or "" for cell in cells))
        elif word in ("numeric", "real", "integer"):
            return Attribute(name, "numeric")
        elif word == "string":
            return Attribute(name, "string")
        elif word == "date":
            return _make_date_attribute(name, kind[len(word) :].strip())
    raise InputError(
        f"{quote_path(path)} has {line[:80]!r} in line {number}, which declares no attribute that is read. "
        f"Hint: @attribute NAME numeric, string, date, or {{VALUE, VALUE, …}}"
    )


def _make_date_attribute(name: str, java_format: str) -> Attribute:
    """Return the attribute of dates in a format of Java; one of strings where Python has no such letter."""
    parts = re.findall(r"'[^']*'|[A-Za-z]+|[^A-Za-z']", _unquote(java_format) or DEFAULT_DATE_FORMAT)
    directives = []
    for part in parts:
        if part[0].isalpha() and part not in DATE_LETTERS:
            return Attribute(name, "string")
        directives.append(DATE_LETTERS.get(part) or part.strip("'").replace("%", "%%"))
    return Attribute(name, "date", date_format="".join(directives))


def _unquote(text: str) -> str:
    """Return a text without its quotes and escapes; one without quotes unchanged."""
    if text[:1] not in ("'", '"'):
        return text

    def replace_escape(match: re.Match[str]) -> str:
        code = match[1]
        return chr(int(code[1:], 16)) if len(code) > 1 else ESCAPED.get(code, code)

    return ESCAPE.sub(replace_escape, text[1:-1])


def _split_cells(text: str) -> list[str | None] | None:
    """Return the cells between commas, None for `?` and an empty one; None where quotes or braces do not fit."""
    if not SPECIAL.search(text):
        cells = [cell.strip() for cell in text.split(",")]
        return [None if cell in ("", "?") else cell for cell in cells]
    found: list[str | None] = []
    place, end = 0, ","
    while end:
        match = CELL.match(text, place)
        if match is None:
            return None
        cell, end = match[1].strip(), match[2]
        found.append(None if cell in ("", "?") else _unquote(cell))
        place = match.end()
    return found


def _split_row(line: str, attributes: Sequence[Attribute], number: int, path: str) -> list[str | None]:
    """Return the cell of each attribute in a line; an InputError says what is wrong with it."""
    n = len(attributes)
    if line.startswith("{") and line.endswith("}"):
        cells = _split_sparse_row(line[1:-1], attributes)
    else:
        cells = _split_cells(line)
        if cells is not None and len(cells) == 1 < n and not SPECIAL.search(line):
            cells = [None if cell == "?" else cell for cell in line.split()]
    if cells is None:
        why = "quotes, braces or indices that do not fit; weights of rows, {…} after the cells, are not read"
    elif len(cells) != n:
        why = f"{len(cells)} cells, and there are {n} attributes"
    else:
        return cells
    raise InputError(
        f"{quote_path(path)} cannot be read in line {number}: it has {why}. "
        f"Hint: mend that line; a cell that holds a comma, a quote or a brace needs quotes"
    )


def _split_sparse_row(text: str, attributes: Sequence[Attribute]) -> list[str | None] | None:
    """Return the cells of a sparse row, INDEX VALUE between commas; None where it cannot be read.

    The cells that it leaves out are 0 or the first nominal value; of other attributes they are missing.
    """
    row = ["0" if a.kind == "numeric" else next(iter(a.values), None) for a in attributes]
    place, text = 0, text.strip()
    while place < len(text):
        match = SPARSE_CELL.match(text, place)
        if match is None or int(match[1]) >= len(row):
            return None
        row[int(match[1])] = None if match[2].strip() in ("", "?") else _unquote(match[2].strip())
        place = match.end()
    return row


def _to_array(attribute: Attribute, cells: Sequence[str | None]) -> Any:
    """Return cells in the type of their attribute; raise a ValueError for one that has no such value."""
    match attribute.kind:
        case "numeric":
            return pa.array([None if cell is None else float(cell) for cell in cells], pa.float64())
        case "nominal":
            code = {value: i for i, value in enumerate(attribute.values)}
            unknown = next((cell for cell in cells if cell is not None and cell not in code), None)
            if unknown is not None:
                raise ValueError(unknown)
            codes = pa.array([None if cell is None else code[cell] for cell in cells], pa.int32())
            return pa.DictionaryArray.from_arrays(codes, pa.array(attribute.values, pa.string()))
        case "date":
            form = attribute.date_format
            dates = [None if cell is None else datetime.strptime(cell, form).replace(tzinfo=None) for cell in cells]
            return pa.array(dates, pa.timestamp("us"))
    return pa.array(cells, pa.string())


def _describe(attribute: Attribute) -> str:
    """Return the values that an attribute allows, in words, for messages."""
    if attribute.kind == "nominal":
        return f"one of {list_names(attribute.values)}"
    return f"a date ({attribute.date_format})" if attribute.kind == "date" else attribute.kind
