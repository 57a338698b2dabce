"""CSV and TSV, read by DuckDB with the types we say: what a file calls yes, 007 or 1e5 stays what it says.

The delimiter is the one that the header line has most of. DuckDB's own sniffer is not asked: it reads a yes/no
column as true and false, and a ragged file as one wide column.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from deciban.engines.arrow.database import (
    READ_AT_ONCE,
    as_it_is,
    connection,
    first_line,
    from_duckdb,
    literal,
)
from deciban.engines.arrow.source import FileOptions, Reading, as_role
from deciban.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

ENCODINGS = ("utf-8", "utf-16", "latin-1")
DELIMITERS = (",", ";", "\t", "|")
MISSING_NUMBERS = ("NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?", "-", ".")
"""What a column of numbers may hold where one is missing; in other columns these are values like any other."""

COMMA_NUMBER = r"[+-]?\d+,\d+"
RECORD = re.compile(r'(?:[^"\r\n]++|"[^"]*+(?:"|\Z))*+')
"""Everything up to the first end of a line that is outside quotes, in linear time."""

WIDE_COLUMNS = 1000
"""From so many columns on, DuckDB takes longer to bind them than to read them."""

HEADER_BYTES = 1 << 20
SAMPLE_BYTES = 1 << 16


@dataclass(frozen=True)
class Delimited:
    """Text files with a header line, one after the other."""

    paths: Sequence[str]
    columns: Sequence[str]
    delimiter: str
    options: FileOptions
    n_rows: int | None
    decimal: str = "."
    typed: bool = False
    fills_cores: bool = True
    all_texts: list[pa.Table] = field(default_factory=list, compare=False, repr=False)
    """All rows of a wide file as `head` read them, if it read them all: DuckDB took 0.4 ms a column to read again."""

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

        relation = self._relation(dict.fromkeys(self.columns, "text"), (), f"limit {n}")
        with self._complaints():
            table = relation.to_arrow_table()
        if len(self.columns) >= WIDE_COLUMNS and table.num_rows < n and self.decimal == ".":
            self.all_texts[:] = [table.rename_columns(list(self.columns))]
        columns = [_with_points(column) for column in table.columns] if self.decimal == "," else table.columns
        return pa.Table.from_arrays(columns, names=list(self.columns))

    def batches(self, wanted: Mapping[str, Reading]) -> Iterator[pa.RecordBatch]:
        """See `Source.batches`; a mark for a missing number starts the reading anew, with that mark known."""
        if (known := self._converted(wanted)) is not None:
            yield from known.to_batches()
            return
        marked: set[str] = set()
        done = 0
        while True:
            try:
                for batch in self._read(wanted, marked, skip=done):
                    yield batch
                    done += batch.num_rows
                return
            except _Unreadable as unreadable:
                if marked or unreadable.value.strip() not in MISSING_NUMBERS:
                    raise unreadable.worded(self.name) from None
                marked = {name for name, reading in wanted.items() if reading == "number"}

    def _converted(self, wanted: Mapping[str, Reading]) -> pa.Table | None:
        """The wanted columns of the texts that `head` has read, numbers as DuckDB casts them, all in one column.

        None where nothing was kept, or where a text is no number: reading the file says in which line.
        """
        import duckdb
        import pyarrow as pa

        if not self.all_texts:
            return None
        columns = {name: self.all_texts[0].column(name) for name in wanted}
        numbers = [name for name, reading in wanted.items() if reading == "number"]
        chunks = [chunk for name in numbers for chunk in columns[name].chunks]
        if chunks:
            texts = connection(threads=1).from_arrow(pa.table({"x": pa.chunked_array(chunks)}))
            try:
                doubles = texts.project(_taken("x", True, self.decimal)).to_arrow_table().column(0).combine_chunks()
            except duckdb.Error:
                return None
            n = len(doubles) // len(numbers)
            columns |= {name: pa.chunked_array([doubles.slice(i * n, n)]) for i, name in enumerate(numbers)}
        return pa.table(columns)

    def _read(self, wanted: Mapping[str, Reading], marked: set[str], skip: int) -> Iterator[pa.RecordBatch]:
        """All rows but the first ones."""
        with self._complaints():
            for batch in self._relation(wanted, marked).to_arrow_reader(READ_AT_ONCE):
                if skip < batch.num_rows:
                    yield batch.slice(skip).rename_columns(list(wanted) or ["c0"])
                skip = max(0, skip - batch.num_rows)

    def _relation(self, wanted: Mapping[str, Reading], marked: Any, more: str = "") -> Any:
        """All columns have types, so that the file is parsed as it is; only the wanted ones are taken."""
        alias = {name: f"c{i}" for i, name in enumerate(self.columns)}
        direct = {name for name, reading in wanted.items() if reading == "number" and name not in marked}
        types = ", ".join(f"{alias[n]}: '{'DOUBLE' if n in direct else 'VARCHAR'}'" for n in self.columns)
        missing = ", ".join(literal(text) for text in ("", *self.options.missing))
        files = ", ".join(literal(as_it_is(path)) for path in self.paths)
        reader = (
            f"read_csv([{files}], auto_detect=false, header=true, delim={literal(self.delimiter)}, quote='\"', "
            f"escape='\"', nullstr=[{missing}], encoding={literal(self.options.encoding)}, "
            f"decimal_separator={literal(self.decimal)}, columns={{{types}}})"
        )
        chosen = ", ".join(_taken(alias[n], n in marked, self.decimal) for n in wanted)
        with self._complaints():
            return connection().sql(f"select {chosen or 'c0'} from {reader} {more}")

    def _complaints(self) -> _Complaints:
        return _Complaints(self)


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


def _taken(column: str, marked: bool, decimal: str) -> str:
    """A column as it was parsed, or its texts as numbers where some of them stand for missing ones.

    By a pattern: with a list of marks, 1200 columns of 50 rows took DuckDB more than 18 GiB.
    """
    if not marked:
        return column
    marks = literal(f" *({'|'.join(map(re.escape, MISSING_NUMBERS))}) *")
    number = f"replace({column}, ',', '.')" if decimal == "," else column
    return f"case when regexp_full_match({column}, {marks}) then null else cast({number} as double) end"


def _start(path: str, encoding: str) -> str:
    """The beginning of a file, unpacked."""
    import pyarrow as pa

    if not os.path.getsize(path):
        raise InputError(f"{path!r} is empty. Hint: the first line names the columns")
    try:
        with pa.input_stream(path, compression="detect") as file:
            raw = file.read(HEADER_BYTES)
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{path!r} cannot be read: {str(error).splitlines()[0]}") from None
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
        raise InputError(f"the first line of {path!r} is empty. Hint: the first line names the columns")
    if line.count('"') % 2:
        raise InputError(
            f"the header of {path!r} opens a quote that is not closed within {len(start)} characters. "
            f"Hint: close it, or write a quote within a name twice, between quotes"
        )
    names = next(csv.reader([line], delimiter=delimiter))
    return [name if name.strip() else f"column{place}" for place, name in enumerate(names, 1)]


def _guessed_rows(paths: Sequence[str], start: str) -> int | None:
    """About how many rows, from the length of the first lines; unknown for compressed files."""
    if any(path.endswith((".gz", ".zst")) for path in paths):
        return None
    sample = start[:SAMPLE_BYTES]
    return round(sum(map(os.path.getsize, paths)) * max(1, sample.count("\n")) / max(1, len(sample.encode())))


class _Unreadable(Exception):
    """A value that is no number, in a column that should hold numbers."""

    def __init__(self, column: str, value: str, line: str | None) -> None:
        self.column, self.value, self.line = column, value, line

    def worded(self, name: str) -> InputError:
        where = f" in line {self.line}" if self.line else ""
        return InputError(
            f"column {self.column!r} of {name} holds {self.value!r}{where}, which is no number. "
            f"Hint: {as_role(self.column, 'category')} reads it as text; "
            f"--missing {self.value!r} (missing=[{self.value!r}]) reads it as nothing"
        )


class _Complaints:
    """Word DuckDB's errors as ours."""

    def __init__(self, source: Delimited) -> None:
        self.source = source

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if not from_duckdb(error):
            return
        text, name = str(error), self.source.name
        line = _found(r"CSV Error on Line: (\d+)", text)
        value = _found(r"Could not convert string [\"'](.*?)[\"'] to", text)
        if value is not None:
            alias = _found(r'column "?c(\d+)', text)
            column = self.source.columns[int(alias)] if alias else "?"
            raise _Unreadable(column, value, line) from None
        if "not utf-8" in text or "unicode" in text.lower():
            raise InputError(
                f"{name} is not in UTF-8{_at(line)}. Hint: --encoding latin-1 (or encoding='latin-1')"
            ) from None
        if found := _found(r"Expected Number of Columns: \d+ Found: (\d+)", text):
            raise InputError(
                f"{name} is ragged: {found} cells{_at(line)} where the header has {len(self.source.columns)}. "
                f"Hint: mend that line; a cell that holds the delimiter needs quotes"
            ) from None
        detail = text.split("\n")[2] if line and text.count("\n") > 2 else first_line(error)
        raise InputError(f"{name} cannot be read{_at(line)}: {detail}") from None


def _at(line: str | None) -> str:
    return f" in line {line}" if line else ""


def _found(pattern: str, text: str) -> str | None:
    match = re.search(pattern, text, re.DOTALL)
    return match.group(1) if match else None
