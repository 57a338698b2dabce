"""Opening of files by their names: format, compression, all files that a pattern matches, and columns from folders.

With `hive` the names of folders give columns, `year=2024/month=05/day.csv`, as Hive, Spark and DuckDB write them.
"""

from __future__ import annotations

import glob
import os
import re
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Self
from urllib.parse import unquote

import numpy as np

from deciban._lazy import pa
from deciban.errors import InputError
from deciban.sources.document_files import TEXT, compression_by_name, open_decompressed
from deciban.sources.source import (
    ColumnReading,
    FileOptions,
    Source,
    SourceView,
    as_paths,
    convert_read_errors,
    quote_path,
)
from deciban.sources.spool import is_pipe, spool_pipes

FORMAT_ENDINGS = {
    "csv": (".csv", ".data"),
    "tsv": (".tsv", ".tab"),
    "lines": (".txt",),
    "parquet": (".parquet", ".pq"),
    "jsonl": (".jsonl", ".ndjson", ".json"),
    "arrow": (".arrow", ".feather", ".ipc", ".arrows"),
    "excel": (".xlsx", ".xlsm"),
    "arff": (".arff",),
    "sqlite": (".db", ".db3", ".sqlite", ".sqlite3"),
}
"""The endings of file names of each format; a compressed file has another one after them."""

READERS = {
    "csv": ("csv_files", "Delimited"),
    "tsv": ("csv_files", "Delimited"),
    "jsonl": ("database", "JsonLines"),
    "parquet": ("arrow_sources", "Parquet"),
    "arrow": ("arrow_sources", "Ipc"),
    "excel": ("workbooks", "Workbook"),
    "arff": ("arff_files", "Arff"),
    "sqlite": ("sqlite_files", "SqliteTable"),
    "lines": ("document_files", "TextLines"),
    "text": ("document_files", "DocumentFiles"),
    "folders": ("document_files", "Folders"),
}
"""The module and the class that read each format, imported when needed; `open` has the paths, options and format."""

MISSING_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""The text that stands for a missing value in a folder's name."""

DOCUMENT_FORMATS = ("lines", "text", "folders")
TABLE_FORMATS = ("excel", "sqlite")
"""The formats whose files have several tables; they are not read from compressed files."""

UNREAD_ENDINGS = (".xls", ".xlsb", ".ods", ".numbers")
"""The endings of spreadsheets that are not read."""

START_BYTES = 1 << 12
ARFF_START = re.compile(rb"(?:\s|%[^\n]*+\n)*+@relation\b", re.IGNORECASE)
FORMAT_MARKS = {b"PAR1": "parquet", b"ARROW1": "arrow", b"SQLite format 3\0": "sqlite", b"PK\3\4": "excel"}
"""The first bytes of files of some formats."""

MODEL_FILE_START, MODEL_FILE_KEY = b'{"__metadata__":{"', b'"deciban":"'
"""The first bytes of a model file after the length of its header, which takes 8, and a key within that header."""

TEXT_TABLES = ("csv", "tsv")
"""The formats that options of tables in text files are for."""


def open_path(path: str, options: FileOptions) -> Source:
    """Open a file or folder, or all files that a pattern matches, in the order of their names.

    Raises an InputError, with a hint, where there is none.
    """
    matched = list_files(path)
    if options.format == "text" and matched != [path]:  # a folder is not a document
        matched = [found for found in matched if not os.path.isdir(found)]
    if not matched:
        thing = "folder" if options.format == "folders" else "file"
        what = f"no {thing} matches" if glob.has_magic(path) else f"there is no {thing}"
        raise InputError(f"{what} {path!r}{_hint_at_similar_name(path)}")
    return open_paths(matched, options)


def list_files(path: str) -> list[str]:
    """Return the path if it exists, else all files and folders that match it as a pattern, sorted; [] for none."""
    if os.path.exists(path):
        return [path]
    return sorted(glob.glob(path, recursive=True)) if glob.has_magic(path) else []


def open_paths(paths: Sequence[str], options: FileOptions) -> Source:
    """Open files of one format, read one after the other, or a folder of documents; pipes are copied first."""
    if any(map(is_pipe, paths)):
        return _open_pipes(paths, options)
    form = "folders" if options.format == "folders" else _check_formats(paths, options)
    if options.hive and form in DOCUMENT_FORMATS:
        shown = quote_path(paths[0])
        raise InputError(f"--hive (hive=True) is for tables, and {shown} is read as {form}. Hint: leave it out")
    module, name = READERS[form]
    source: Any = getattr(import_module(f"deciban.sources.{module}"), name).open(paths, options, form)
    return Partitioned.open(source) if options.hive else source


def _open_pipes(paths: Sequence[str], options: FileOptions) -> Source:
    """Open files some of which are pipes: as temporary copies that exist as long as the source."""
    with ExitStack() as copies:
        source = open_paths(copies.enter_context(spool_pipes(paths)), options)
        weakref.finalize(source, copies.pop_all().close)
        return source


def _check_formats(paths: Sequence[str], options: FileOptions) -> str:
    """Return the format that all the files have; refuse a folder, different or unknown formats, and unfit options."""
    for path in paths:
        if os.path.isdir(path):
            raise InputError(
                f"{path!r} is a folder. Hint: name the files in it, {os.path.join(path, '*.csv')!r}; --folders "
                f"(format='folders') reads one that has a sub-folder of documents for each class"
            )
    formats = {options.format or detect_format(path) for path in paths}
    if len(formats) > 1:
        raise InputError(
            f"the files have different formats: {', '.join(sorted(formats))}. Hint: read one kind at a time"
        )
    form, shown = formats.pop(), quote_path(paths[0])
    if form not in READERS:
        raise InputError(f"format {form!r} is not known. Hint: one of {', '.join(READERS)}")
    if options.errors != "strict" and form not in DOCUMENT_FORMATS:
        raise InputError(
            f"errors={options.errors!r} is for documents, and {shown} is read as {form}. "
            f"Hint: --encoding latin-1 (encoding='latin-1') takes every byte for a letter"
        )
    if options.table is not None and form not in TABLE_FORMATS:
        raise InputError(
            f"--table (table=) is for the sheets of Excel files and the tables of SQLite files, and {shown} is "
            f"read as {form}. Hint: leave it out"
        )
    compressed = next((path for path in paths if form in TABLE_FORMATS and compression_by_name(path)), None)
    if compressed is not None:
        raise InputError(
            f"{quote_path(compressed)} is compressed, and {form} files are read as they are. Hint: unpack it first"
        )
    if form not in TEXT_TABLES:
        options.refuse_for(f"{shown}, read as {form}")
    if form in DOCUMENT_FORMATS and options.bad_cells != "error":
        raise InputError(f"bad_cells={options.bad_cells!r} is for tables, and {shown} is read as {form}")
    for path in () if form == "text" else paths:  # of documents there may be very many files
        _refuse_model_file(path)
    return form


def detect_format(path: str) -> str:
    """Return the format of a file by the ending of its name or, if that is unknown, its first bytes; else csv.

    A spreadsheet of a kind that is not read (`UNREAD_ENDINGS`) is an InputError.
    """
    ending = _find_ending(path)
    for form, endings in FORMAT_ENDINGS.items():
        if ending in endings:
            return form
    if ending in UNREAD_ENDINGS:
        raise InputError(f"{path!r} is a spreadsheet of a kind that is not read. Hint: save it as .xlsx or as CSV")
    start = _read_start(path)
    for mark, form in FORMAT_MARKS.items():
        if start.startswith(mark):
            return form
    if ARFF_START.match(start):
        return "arff"
    return "jsonl" if start.lstrip()[:1] == b"{" else "csv"


def _read_start(path: str) -> bytes:
    """Return the first bytes of a file, decompressed."""
    with convert_read_errors(quote_path(path)), open_decompressed(path) as file:
        return bytes(file.read(START_BYTES))


def _refuse_model_file(path: str) -> None:
    """Refuse a model file, whatever the ending of its name."""
    start = _read_start(path)
    if start[8:].startswith(MODEL_FILE_START) and MODEL_FILE_KEY in start:
        raise InputError(
            f"{quote_path(path)} is a model file, not a table. Hint: deciban evaluate takes it by --model, and other "
            f"commands take it before DATA (in Python: deciban.load(path))"
        )


def holds_documents(source: Any, options: FileOptions) -> bool:
    """Return whether a path, a pattern or a list of paths names files that all appear to be documents.

    Documents are .txt files, and files with an unknown ending whose first line does not name a column `text`.
    False for other sources, and where the options give a format: then nothing is to be found out.
    """
    paths = as_paths(source)
    if paths is None or options.format is not None:
        return False
    files = list_files(paths) if isinstance(paths, str) else paths
    return bool(files) and all(os.path.isfile(path) and _is_document(path, options) for path in files)


def _is_document(path: str, options: FileOptions) -> bool:
    """Return whether one file appears to be a document, see `holds_documents`."""
    form = detect_format(path)
    if form != "csv" or _find_ending(path) in FORMAT_ENDINGS["csv"]:
        return form == "lines"
    from deciban.sources.csv_files import Delimited

    with suppress(InputError):
        return TEXT not in Delimited.open([path], options, form).columns
    return True  # its first line is no header


def _find_ending(path: str) -> str:
    """Return the ending of a file's name in lower case, without that of its compression: .csv of A.CSV.gz."""
    return os.path.splitext(path.lower().removesuffix(".gz").removesuffix(".zst"))[1]


def _hint_at_similar_name(path: str) -> str:
    """Return a hint at a file of nearly that name, or at a folder that does not exist; "" where there is neither."""
    from difflib import get_close_matches

    folder, name = os.path.split(path)
    try:
        close = get_close_matches(name, os.listdir(folder or "."), n=1, cutoff=0.8)
    except OSError:
        return f". Hint: there is no folder {folder!r} either" if folder else ""
    return f". Hint: did you mean {os.path.join(folder, close[0])!r}?" if close else ""


@dataclass(frozen=True)
class Partitioned(SourceView):
    """Files with additional columns, categories whose values are in the names of their folders."""

    values: Sequence[Mapping[str, str | None]]

    @classmethod
    def open(cls, source: Any) -> Self:
        """Parse the folders' names; raise an InputError unless all files have the same keys, none a column's name."""
        values = [_parse_folders(path) for path in source.paths]
        for path, found in zip(source.paths, values):
            if list(found) != list(values[0]):
                raise InputError(
                    f"the folders of {path!r} name {list(found)}, those of {source.paths[0]!r} {list(values[0])}. "
                    f"Hint: files read together need the same KEY=VALUE folders"
                )
        if not values[0]:
            raise InputError(
                f"no folder of {source.paths[0]!r} is named KEY=VALUE. Hint: leave --hive (hive=True) out"
            )
        for key in values[0]:
            if key in source.columns:
                folder = f"{key}={values[0][key] or ''}"
                raise InputError(
                    f"{key!r} is a column of {source.name}, and a folder is named {folder!r}. "
                    f"Hint: rename one of them, or leave --hive (hive=True) out to read the column of the file"
                )
        return cls(source, values)

    @property
    def columns(self) -> Sequence[str]:
        """See `Source.columns`."""
        return [*self.source.columns, *self.values[0]]

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        tables: list[Any] = []
        for source, values in self._files():
            table = source.head(n)
            for key, value in values.items():
                table = table.append_column(key, pa.chunked_array([_repeat(value, table.num_rows)]))
            tables.append(table)
            n -= table.num_rows
            if n <= 0:
                break
        return pa.concat_tables(tables, promote_options="permissive")

    def batches(self, wanted: Mapping[str, ColumnReading]) -> Iterator[pa.RecordBatch]:
        """See `Source.batches`."""
        own = {name: reading for name, reading in wanted.items() if name not in self.values[0]}
        read: Mapping[str, ColumnReading] = own or {self.source.columns[0]: "text"}
        for source, values in self._files():
            for batch in source.batches(read):
                columns = [
                    batch.column(name) if name in own else _repeat(values[name], batch.num_rows) for name in wanted
                ]
                yield pa.RecordBatch.from_arrays(columns, names=list(wanted))

    def _files(self) -> Iterator[tuple[Any, Mapping[str, str | None]]]:
        """Yield each file as a source of its own, and the values of its folders."""
        files: Any = self.source
        for path, values in zip(files.paths, self.values):
            yield replace(files, paths=[path]), values


def _parse_folders(path: str) -> dict[str, str | None]:
    """Parse the keys and values in the names of a file's folders, from the first to the last.

    >>> _parse_folders("sales/year=2024/shop=caf%C3%A9/day=__HIVE_DEFAULT_PARTITION__/a=b.csv")
    {'year': '2024', 'shop': 'café', 'day': None}
    """
    found: dict[str, str | None] = {}
    for folder in path.replace("\\", "/").split("/")[:-1]:
        key, equals, value = folder.partition("=")
        if not equals or not key:
            continue
        key = unquote(key)
        if key in found:
            raise InputError(f"two folders of {path!r} are named {key}=. Hint: rename one of them")
        found[key] = None if value == MISSING_VALUE else unquote(value)
    return found


def _repeat(value: str | None, n_rows: int) -> Any:
    """Return a column that has one value in all rows, as a dictionary array."""
    codes = pa.nulls(n_rows, pa.int32()) if value is None else pa.array(np.zeros(n_rows, dtype=np.int32))
    return pa.DictionaryArray.from_arrays(codes, pa.array([] if value is None else [value], pa.string()))
