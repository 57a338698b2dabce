"""Files that the executors of Spark read themselves: row groups of Parquet, byte ranges of CSV and JSON lines.

Spark's own readers hand rows over from the JVM to Python, which takes most of the time of a training: Parquet files
that its tasks read directly are learned several times as fast (docs/scale.md).
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, ClassVar, TypeVar

from deciban._lazy import pa
from deciban.errors import InputError
from deciban.sources.arrow_sources import Parquet, open_parquet
from deciban.sources.arrow_types import decode_dictionary
from deciban.sources.csv_files import Delimited
from deciban.sources.database import JsonLines
from deciban.sources.document_files import compression_by_name
from deciban.sources.paths import list_files, open_path, open_paths
from deciban.sources.remote_files import is_remote, list_remote, open_remote
from deciban.sources.source import (
    COPY_NAMES,
    NO_QUOTE,
    ColumnReading,
    FileOptions,
    Source,
    as_paths,
    convert_read_errors,
)
from deciban.sources.spark_frames import (
    check_kept,
    convert_spark_errors,
    merge_states,
    number_fields,
    raise_for_all_rows,
    result_names,
    spark_types,
)
from deciban.sources.spark_tasks import STATE_SCHEMA, SplitTask, SplitTransformTask, make_runner

T = TypeVar("T")

SPLIT_BYTES = 1 << 26
"""The number of bytes of text files that one task reads."""

PARQUET_SPLIT_BYTES = 1 << 29
"""The number of bytes of Parquet files, decoded, that one task reads, if there are many."""

TASKS_PER_CORE = 2
"""The least number of tasks for each core, where there are as many row groups or byte ranges."""

MIN_SPLIT_BYTES = 1 << 20
"""The least number of bytes that are worth a task."""

COPY_CHUNK_BYTES = 1 << 20
REMOTE_HEAD_BYTES = 1 << 24
"""Bytes of a file of a storage service that are copied to read its first rows."""

QUOTE_FAULT = "a quoted cell holds a line end"
"""The end of the error by which files are read as a whole, each by one task."""


@dataclass(frozen=True)
class ParquetSplit:
    """Some row groups of some files."""

    files: Parquet
    row_groups: Mapping[str, Sequence[int]]

    @contextmanager
    def open(self) -> Iterator[Source]:
        """Open the row groups as a source."""
        yield replace(self.files, paths=list(self.row_groups), row_groups=self.row_groups)


@dataclass(frozen=True)
class FileSplit:
    """A whole text file."""

    files: Delimited | JsonLines
    path: str

    @contextmanager
    def open(self) -> Iterator[Source]:
        """Open the file as a source; one of a storage service as a temporary copy."""
        if is_remote(self.path):
            with _copy_range(self.path, 0, None) as (copy, _):
                yield replace(self.files, paths=[copy])
        else:
            yield replace(self.files, paths=[self.path])


@dataclass(frozen=True)
class ByteRange:
    """The lines of a text file that begin within a range of bytes."""

    files: Delimited | JsonLines
    path: str
    start: int
    end: int

    @contextmanager
    def open(self) -> Iterator[Source | None]:
        """Open the lines as a source, from a temporary copy; None if no line begins there."""
        quote = self.files.form.quote if isinstance(self.files, Delimited) else NO_QUOTE
        with _copy_range(self.path, self.start, self.end, quote) as (copy, n_quotes):
            if n_quotes % 2:
                raise InputError(f"{self.path!r} cannot be split: {QUOTE_FAULT}")
            files = replace(self.files, paths=[copy])
            if isinstance(files, Delimited) and self.start:
                files = replace(files, form=files.form._replace(has_header=False, n_skipped=0))
            yield files if os.path.getsize(copy) else None


@contextmanager
def _copy_range(path: str, start: int, end: int | None, quote: str = NO_QUOTE) -> Iterator[tuple[str, int]]:
    """Yield the path of a temporary copy of the lines that begin in a range, and the number of quotes in it."""
    handle, copy = tempfile.mkstemp(suffix=os.path.splitext(path)[1] if end is None else "")
    COPY_NAMES[copy] = repr(path) if not start else f"{path!r} from byte {start} on"
    try:
        with os.fdopen(handle, "wb") as out, convert_read_errors(repr(path)):
            n_quotes = _write_lines(path, start, end, out, None if quote == NO_QUOTE else quote.encode())
        yield copy, n_quotes
    finally:
        COPY_NAMES.pop(copy, None)
        os.unlink(copy)


def _write_lines(path: str, start: int, end: int | None, out: Any, quote: bytes | None) -> int:
    """Write the lines that begin in a range of a file, the last to its end; return the number of quotes in them."""
    n_quotes = 0
    with open_remote(path) if is_remote(path) else open(path, "rb") as file:
        if start:
            file.seek(start - 1)
            _skip_line(file)
        left = None if end is None else end - file.tell()
        last = b"\n"
        while left is None or left > 0:
            chunk = file.read(COPY_CHUNK_BYTES if left is None else min(COPY_CHUNK_BYTES, left))
            if not chunk:
                return n_quotes
            out.write(chunk)
            n_quotes += chunk.count(quote) if quote else 0
            left, last = None if left is None else left - len(chunk), chunk[-1:]
        while left is not None and last != b"\n" and (chunk := file.read(COPY_CHUNK_BYTES >> 6)):
            line = chunk[: chunk.find(b"\n") + 1] or chunk
            out.write(line)
            n_quotes += line.count(quote) if quote else 0
            last = line[-1:]
    return n_quotes


def _skip_line(file: Any) -> None:
    """Move to the beginning of the next line."""
    at = file.tell()
    while chunk := file.read(COPY_CHUNK_BYTES >> 6):
        place = chunk.find(b"\n")
        if place >= 0:
            file.seek(at + place + 1)
            return
        at += len(chunk)


@dataclass(frozen=True)
class SparkFiles:
    """Files of one format, read by the executors of a session of Spark."""

    spark: Any
    files: Any
    """The files as a source on this machine, which knows their columns and how they are written."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    start: Any = None
    """A local copy of the beginning of the first file, as a source, where the files are not on this machine."""
    fills_cores: ClassVar[bool] = False
    advice: ClassVar[str] = ""
    name: ClassVar[Any] = property(attrgetter("files.name"))
    columns: ClassVar[Any] = property(attrgetter("files.columns"))
    typed: ClassVar[Any] = property(attrgetter("files.typed"))
    n_rows: ClassVar[Any] = property(attrgetter("files.n_rows"))

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        table: pa.Table = (self.files if self.start is None else self.start).head(n)
        return table

    def batches(self, wanted: Mapping[str, ColumnReading]) -> Iterator[pa.RecordBatch]:
        """Refuse to read all rows on one machine; see `Source.batches`."""
        raise_for_all_rows(self.name)
        yield

    def reduce(self, work: Any, merge: Any, dump: Any, load: Any, wanted: Sequence[str]) -> Any:
        """See `DistributedSource.reduce`; text files whose cells have line ends are read as a whole."""
        try:
            return self._reduce(work, merge, dump, load, self._split())
        except InputError as error:
            if not str(error).endswith(QUOTE_FAULT):
                raise
        return self._reduce(work, merge, dump, load, self._split_whole())

    def _reduce(self, work: Any, merge: Any, dump: Any, load: Any, splits: Sequence[Any]) -> Any:
        with convert_spark_errors():
            states = self._numbers(len(splits)).mapInArrow(make_runner(SplitTask(work, dump, splits)), STATE_SCHEMA)
            return merge_states(states, merge, dump, load, len(splits))

    def _numbers(self, n: int) -> Any:
        """Return a frame of the numbers of n splits, each in a partition of its own."""
        return self.spark.range(0, n, 1, max(1, n))

    def choose_kept(self, keep: Sequence[str] | None) -> list[str]:
        """See `DistributedSource.choose_kept`: by default no column."""
        return [] if keep is None else check_kept(self, keep)

    def transform(self, work: Any, kept: Sequence[str], added: pa.Schema, wanted: Collection[str]) -> Any:
        """See `DistributedSource.transform`; the frame is computed when its rows are asked for.

        CSV files whose cells may hold line ends are read as a whole.
        """
        names, head = result_names(self.name, kept, added.names), self.head(1)
        kinds = [decode_dictionary(head.column(name).combine_chunks().slice(0, 0)).type for name in kept]
        has_quotes = isinstance(self.files, Delimited) and self.files.form.quote != NO_QUOTE
        splits = self._split_whole() if has_quotes else self._split()
        task = SplitTransformTask(work, splits, [f"r{i}" for i in range(len(names))])
        schema = number_fields(spark_types([*kinds, *added.types]))
        return self._numbers(len(splits)).mapInArrow(make_runner(task), schema).toDF(*names)

    def _split(self) -> list[Any]:
        """Return the splits of all files, about as large as each other."""
        if isinstance(self.files, Parquet):
            groups = list(_list_row_groups(self.files))
            size = self._choose_size(sum(n_bytes for *_, n_bytes in groups), PARQUET_SPLIT_BYTES)
            return _split_parquet(self.files, groups, size)
        size = self._choose_size(sum(self.sizes.values()), SPLIT_BYTES)
        return [split for path in self.files.paths for split in self._split_text(path, size)]

    def _choose_size(self, total: int, largest: int) -> int:
        """Return the number of bytes of a split: few enough for some tasks on each core."""
        return min(largest, max(MIN_SPLIT_BYTES, -(-total // (TASKS_PER_CORE * self._count_cores()))))

    def _split_text(self, path: str, size: int) -> list[Any]:
        """Return the ranges of a text file; a compressed one is read as a whole."""
        if compression_by_name(path):
            return [FileSplit(self.files, path)]
        return [ByteRange(self.files, path, start, start + size) for start in range(0, self.sizes[path], size)]

    def _split_whole(self) -> list[Any]:
        """Return one split for each file; of Parquet files, which have no lines, the usual ones."""
        if isinstance(self.files, Parquet):
            return self._split()
        return [FileSplit(self.files, path) for path in self.files.paths]

    def _count_cores(self) -> int:
        """Return the number of cores of the session; 1 where a remote one does not say."""
        try:
            return int(self.spark.sparkContext.defaultParallelism)
        except Exception:
            return 1


def _list_row_groups(files: Parquet) -> Iterator[tuple[str, int, int]]:
    """Yield the path, the number and the bytes of each row group of all files."""
    for path in files.paths:
        metadata = open_parquet(path).metadata
        for group in range(metadata.num_row_groups):
            yield path, group, metadata.row_group(group).total_byte_size


def _split_parquet(files: Parquet, row_groups: Sequence[tuple[str, int, int]], size: int) -> list[ParquetSplit]:
    """Return consecutive row groups together, up to a number of bytes."""
    splits: list[ParquetSplit] = []
    groups: dict[str, list[int]] = {}
    n_bytes = 0
    for path, group, group_bytes in row_groups:
        groups.setdefault(path, []).append(group)
        n_bytes += group_bytes
        if n_bytes >= size:
            splits.append(ParquetSplit(files, groups))
            groups, n_bytes = {}, 0
    return [*splits, *([ParquetSplit(files, groups)] if groups else [])]


def open_spark_files(spark: Any, source: Any, sql: str | None, options: FileOptions) -> SparkFiles:
    """Open files that a session of Spark is to read."""
    paths = as_paths(source)
    if sql is not None or paths is None:
        thing = "a query" if sql is not None else type(source).__name__
        raise InputError(
            f"spark= reads paths, and this is {thing}. Hint: a DataFrame of Spark is given as it is, without spark="
        )
    if not hasattr(spark, "createDataFrame"):
        raise InputError(f"spark= is a session of Spark, SparkSession, not {type(spark).__name__}")
    if options.hive:
        raise InputError("hive= is for files on one machine. Hint: spark.read.parquet(PATH), and its DataFrame")
    listed = [paths] if isinstance(paths, str) else paths
    if any(map(is_remote, listed)):
        return _open_remote_files(spark, [path for each in listed for path in list_remote(each)], options)
    listed = [path.removeprefix("file://") for each in listed for path in (_list_folder(each) or [each])]
    files: Any = open_path(listed[0], options) if len(listed) == 1 else open_paths(listed, options)
    _check_files(files)
    files = replace(files, paths=[os.path.abspath(path) for path in files.paths])  # executors have other folders
    return SparkFiles(spark, files, {path: os.path.getsize(path) for path in files.paths})


def _list_folder(path: str) -> list[str]:
    """Return the files of a folder as Spark writes it: without hidden ones and marks of success."""
    path = path.removeprefix("file://")
    if not os.path.isdir(path):
        return []
    return [file for file in list_files(os.path.join(path, "*")) if not os.path.basename(file).startswith(("_", "."))]


def _check_files(files: Any) -> None:
    """Refuse files that tasks cannot read by themselves."""
    if not isinstance(files, (Parquet, Delimited, JsonLines)):
        raise InputError(
            f"{files.name} is read on one machine only; spark= is for Parquet, CSV, TSV and JSON lines. "
            f"Hint: leave spark= out"
        )
    if isinstance(files, Delimited) and files.copies is not None:
        raise InputError(f"{files.name} is not in UTF-8, and spark= reads files as they are. Hint: convert it first")


def _open_remote_files(spark: Any, paths: list[str], options: FileOptions) -> SparkFiles:
    """Open files of a storage service: Parquet files as they are, of others a copy of the beginning of the first."""
    form = options.format or ("parquet" if paths[0].endswith((".parquet", ".pq")) else "")
    if form == "parquet":
        return SparkFiles(spark, Parquet.open(paths, options, form))
    sizes = {}
    for path in paths:
        with convert_read_errors(repr(path)), open_remote(path) as file:
            sizes[path] = file.size()
    if any(map(compression_by_name, paths)):
        raise InputError(f"{paths[0]!r} is compressed, and on a storage service. Hint: Parquet, or unpack it")
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="deciban-"))
        copy = os.path.join(folder, os.path.basename(paths[0]))
        with open(copy, "wb") as out, convert_read_errors(repr(paths[0])):
            _write_lines(paths[0], 0, REMOTE_HEAD_BYTES, out, None)
        start: Any = open_path(copy, options)
        weakref.finalize(start, stack.pop_all().close)
    _check_files(start)
    if isinstance(start, JsonLines):
        raise InputError(f"{paths[0]!r} is JSON lines, whose types are found in all lines. Hint: Parquet, or CSV")
    return SparkFiles(spark, replace(start, paths=paths), sizes, start)
