"""DuckDB, the embedded database that reads files and runs queries; JSON lines files, in which dates stay texts."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any, ClassVar, Self

from deciban._lazy import duckdb, pa
from deciban.errors import InputError, list_names
from deciban.sources.arrow_types import to_plain_types
from deciban.sources.document_files import compression_by_name, open_decompressed, total_bytes
from deciban.sources.source import ColumnReading, FileOptions, FileSource, convert_read_errors, quote_path

ROWS_PER_BATCH = 1 << 17
"""Rows in a batch that DuckDB hands over; a CSV of 10⁷ rows took 4.5 s so, and 5.7 with half as many."""

READ_AHEAD = "8MB"
"""The size of DuckDB's read-ahead buffer: the same file took 6.2 s with 2 MB, 5.9 with 8 or 64 MB, and training from
it 40 MB more memory with 64 than with 8."""

JSON_FORMAT = "format='newline_delimited'"
JSON_INFERENCE = "sample_size=-1, maximum_sample_files=1000000, maximum_depth=2, map_inference_threshold=-1"
"""Types are inferred from all lines of all files, not of the first 32; no object is a map for having many keys."""

MAX_INFERENCE_BYTES = 1 << 24
"""Files up to this size have their types inferred again for `head`: to name 20 000 types takes DuckDB 0.3 s."""

JSON_TYPES = ("BIGINT", "UBIGINT", "HUGEINT", "DOUBLE", "BOOLEAN")
"""Types that are kept; everything else is read as text."""

LAST_LINE_BYTES = 1 << 22
"""Bytes before the blank lines at the end of an uncompressed file in which its last line is sought."""

SINGLE_THREAD_BYTES = 1 << 20
"""Files up to this size in all are read by one thread: DuckDB, streaming a small file with a fault on several
threads, waited for ever in 2 of 500 readings on a busy machine."""


def connect(paths: Sequence[str] = ()) -> Any:
    """Connect to a database in memory that may use the cores of this process, or one core for small files."""
    from deciban.engines.threads import thread_count

    with hold_interrupts():  # one that arrives while DuckDB's library is initialised aborts the process
        import duckdb
    is_small = paths and total_bytes(paths) <= SINGLE_THREAD_BYTES
    database = duckdb.connect()
    database.execute(f"set threads={1 if is_small else thread_count(None)}")
    database.execute(f"set streaming_buffer_size='{READ_AHEAD}'")
    database.execute("set enable_progress_bar=false")
    database.execute("set autoinstall_known_extensions=false")  # a file's or a table's name never fetches a program
    database.execute("set python_enable_replacements=false")  # nor does it refer to a Python variable
    return database


@contextmanager
def hold_interrupts() -> Iterator[None]:
    """Deliver an interrupt (SIGINT) at the end of the block; Python delivers it to the main thread alone."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: held.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
        if held:
            signal.raise_signal(signal.SIGINT)


def quote_name(name: str) -> str:
    """Quote a column's name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    """Quote a text for SQL."""
    return "'" + text.replace("'", "''") + "'"


def is_duckdb_error(error: Any) -> bool:
    """Return whether an error is DuckDB's; while rows are streamed its errors come as Arrow's, without a number."""
    return isinstance(error, duckdb.Error) or (isinstance(error, OSError) and error.errno is None)


PLAIN_FILES = "hive_partitioning=false, filename=false, union_by_name=false"
"""For DuckDB's readers of files: columns come from what is in the files, and never from their names."""


def format_paths(paths: Sequence[str]) -> str:
    """Format paths for SQL.

    Each is absolute, so that DuckDB takes none for an address (`http://…`, `file:…`, `~`), and without patterns.
    """
    return ", ".join(quote_text(re.sub(r"([*?\[])", r"[\1]", os.path.abspath(path))) for path in paths)


def common_compression(paths: Sequence[str]) -> str:
    """Return DuckDB's name of the compression of files, or "none"; "auto", by each file's name, where they differ."""
    found = {compression_by_name(path) or "none" for path in paths}
    return found.pop() if len(found) == 1 else "auto"


def check_gzip(path: str) -> None:
    """Raise an InputError for a damaged gzip file, of which DuckDB, which ignores checksums, returns wrong rows."""
    if compression_by_name(path) == "gzip":
        measure_last_line(path)


def measure_last_line(path: str) -> int:
    """Return the bytes of the last line that is not blank; of an uncompressed file at most `LAST_LINE_BYTES`.

    A compressed file is read to its end; raises an InputError for a file that is damaged or cannot be read.
    """
    with convert_read_errors(quote_path(path)):
        found = os.stat(path)
        return _measure_last_line(path, found.st_size, found.st_ino, found.st_mtime_ns)


@lru_cache(maxsize=4096)
def _measure_last_line(path: str, size: int, *_version: int) -> int:
    """Do the work of `measure_last_line`, once for each version of a file."""
    n_bytes, is_ended = 0, True
    with open_decompressed(path) as file:
        if compression_by_name(path) is None:
            file.seek(max(0, _find_end_of_text(file, size) - LAST_LINE_BYTES))
        while piece := file.read(1 << 20):
            text = piece.rstrip(b"\r\n")
            start = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
            if text:
                n_bytes = len(text) - start if start or is_ended else n_bytes + len(text)
            is_ended = len(text) < len(piece)
    return n_bytes


def _find_end_of_text(file: Any, size: int) -> int:
    """Return the bytes of a file of `size` bytes without the blank lines at its end."""
    end = size
    while end:
        start = max(0, end - LAST_LINE_BYTES)
        file.seek(start)
        if text := file.read(end - start).rstrip(b"\r\n"):
            return start + len(text)
        end = start
    return 0


def first_line(error: Exception) -> str:
    """Return the first line of DuckDB's message, without its advice."""
    return str(error).split("\n")[0]


@dataclass(frozen=True)
class Query:
    """A relation: a query that has not run yet, and that runs again for every reading."""

    relation: Any
    name: str = "the query"
    typed, fills_cores, n_rows = True, True, None
    columns: ClassVar[Any] = property(attrgetter("relation.columns"))

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        with convert_duckdb_errors("the query fails"):
            return to_plain_types(self.relation.limit(n).to_arrow_table())

    def batches(self, wanted: Mapping[str, ColumnReading]) -> Iterator[pa.RecordBatch]:
        """See `Source.batches`."""
        with convert_duckdb_errors("the query fails"):
            chosen = self.relation.project(", ".join(quote_name(name) for name in wanted))
            yield from map(to_plain_types, chosen.to_arrow_reader(ROWS_PER_BATCH))


@contextmanager
def convert_duckdb_errors(what: str | Callable[[Exception], InputError]) -> Iterator[None]:
    """Raise DuckDB's errors as InputErrors that begin with `what`, or that `what` returns."""
    try:
        yield
    except Exception as error:
        if not is_duckdb_error(error):
            raise
        if isinstance(what, str):
            raise InputError(f"{what}: {first_line(error)}") from error
        raise what(error) from None  # DuckDB's own message quotes the lines of the file


def _make_query_error(error: Exception) -> InputError:
    """Return the error for a query that DuckDB refuses."""
    return InputError(f"the query cannot be read: {first_line(error)}. Hint: one query that begins with select")


def open_query(source: Any, sql: str) -> Query:
    """Open a query on files, on the connection that is given, or on frames by their names in a mapping.

    On a given connection the query may be any statement that gives rows. Elsewhere it is one that only reads:
    DuckDB's function query() refuses all others, and with them COPY, which would replace files at every reading.
    """
    con = source if hasattr(source, "register") and hasattr(source, "sql") else connect()
    if isinstance(source, Mapping):
        for name, frame in source.items():
            con.register(name, frame)
    elif source is not None and con is not source:
        raise InputError(
            f"with sql= the source is a DuckDB connection, a mapping of names to frames, or left out; "
            f"not {type(source).__name__}. Hint: train(sql=\"select * from 'data.csv'\", target=...)"
        )
    with convert_duckdb_errors(_make_query_error):
        if con is not source:
            con.sql(f"from query({quote_text(sql)})")  # renames one of two columns of a name, so it checks alone
        relation = con.sql(sql)
    if relation is None:
        raise InputError("the query gives no rows. Hint: a query that begins with select")
    if equal := _list_equal_names(set(relation.columns)):
        raise InputError(f"the query has columns that differ only in case: {equal}. Hint: rename one of them")
    return Query(relation)


@dataclass(frozen=True)
class JsonLines(FileSource):
    """Files with one JSON object per line."""

    types: Mapping[str, str]
    n_rows: int | None = None
    is_inferred: bool = False
    """Whether the types are all as DuckDB infers them from a small file."""
    fills_cores = True

    @classmethod
    def open(cls, paths: Sequence[str], options: FileOptions, form: str) -> Self:
        """Infer names and types of the columns from all lines: booleans, numbers, and everything else as text."""
        for path in paths:
            check_gzip(path)
        size = total_bytes(paths)
        if not size:
            raise InputError(f"{quote_path(paths[0])} is empty. Hint: each line holds a JSON object")
        with convert_duckdb_errors(f"{quote_path(paths[0])} cannot be read as JSON lines"):
            try:
                (line,) = connect(paths).sql(f"from {_json_reader(paths, JSON_INFERENCE)}").types
            except duckdb.NotImplementedException:  # keys of an object differ only in case
                raise InputError(
                    f"{quote_path(paths[0])} has columns that differ only in case: {_find_equal_names(paths)}. "
                    f"Hint: rename one of them"
                ) from None
        if line.id != "struct":
            raise InputError(
                f"{quote_path(paths[0])} holds lines that are not JSON objects, or that have a key without a name. "
                f"Hint: --format (format=) names another format"
            )
        kinds = {name: str(kind) for name, kind in line.children}
        types = {name: kind if kind in JSON_TYPES else "VARCHAR" for name, kind in kinds.items()}
        return cls(paths, types, is_inferred=size <= MAX_INFERENCE_BYTES and types == kinds)

    @property
    def columns(self) -> Sequence[str]:
        """See `Source.columns`."""
        return list(self.types)

    def _relation(self, wanted: Iterable[str], more: str = "") -> Any:
        fields = ", ".join(f"{quote_name(name)} {self.types[name]}" for name in wanted)
        columns = f"columns={{line: {quote_text(f'STRUCT({fields})')}}}"
        return connect(self.paths).sql(f"from {_json_reader(self.paths, columns)} {more}")

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        with convert_duckdb_errors(f"{self.name} cannot be read as JSON lines"):
            if self.is_inferred:
                relation = connect(self.paths).sql(f"from {_json_reader(self.paths, JSON_INFERENCE)} limit {n}")
            else:
                relation = self._relation(self.types, f"limit {n}")
            lines = relation.to_arrow_table().column(0).combine_chunks()
        return pa.Table.from_arrays(lines.flatten(), list(self.types))

    def batches(self, wanted: Mapping[str, ColumnReading]) -> Iterator[pa.RecordBatch]:
        """See `Source.batches`."""
        with convert_duckdb_errors(f"{self.name} cannot be read as JSON lines"):
            for batch in self._relation(wanted).to_arrow_reader(ROWS_PER_BATCH):
                yield pa.RecordBatch.from_arrays(batch.column(0).flatten(), list(wanted))


def _find_equal_names(paths: Sequence[str]) -> str:
    """List, for a message, the keys that differ only in their case, which DuckDB takes for one name."""
    objects = f"read_json_objects({_json_files(paths)})"
    keys = connect(paths).sql(f"select distinct unnest(json_keys(json)) from {objects}").fetchall()
    return _list_equal_names({key for (key,) in keys})


def _list_equal_names(names: Collection[str]) -> str:
    """List, for a message, those of different names that DuckDB takes for one; empty if there are none."""
    count = Counter(name.lower() for name in names)
    return list_names(sorted(repr(name) for name in names if count[name.lower()] > 1))


def _json_reader(paths: Sequence[str], more: str) -> str:
    """Return a call of DuckDB's reader, each line one struct: 20 000 columns took 9 s, as many fields 1 s."""
    return f"read_json({_json_files(paths)}, records=false, {PLAIN_FILES}, {more})"


def _json_files(paths: Sequence[str]) -> str:
    return f"[{format_paths(paths)}], {JSON_FORMAT}, compression={quote_text(common_compression(paths))}"
