"""Sources of Arrow data: frames and arrays in memory, streams of batches, Parquet and Arrow files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from operator import attrgetter
from typing import Any, ClassVar, Self

import numpy as np

from deciban._lazy import pa
from deciban.errors import InputError
from deciban.formatting import clip_text
from deciban.sources.arrow_types import join_batches, to_plain_types
from deciban.sources.document_files import compression_by_name, open_decompressed
from deciban.sources.remote_files import is_remote, open_remote
from deciban.sources.source import (
    N_PLACES,
    ColumnReading,
    FileOptions,
    FileSource,
    Source,
    convert_read_errors,
    error_summary,
    quote_path,
    take_batches,
)

MAX_BATCH_CELLS = 1 << 21
"""The number of cells of a row group that are held at once; larger groups are read in batches."""

TEXT_BATCH_BYTES = 1 << 24
"""The approximate number of bytes of a row group that are held at once where it has long texts."""

BUFFER_BYTES = 1 << 22
"""The number of bytes of a column that are fetched at a time."""

MAX_SPREAD_ROWS = 1 << 17
"""The rows of Parquet files up to which all are read for some of them from many places: 20 ms for 10 columns."""

FILE_MAGIC = b"ARROW1"
"""The first bytes of the file format; the stream format begins with the length of a message."""

MAX_HINT_WIDTH = 40
"""Characters of a value that a hint repeats."""

SOURCE_KINDS = (
    "a path, a query, a frame (pandas, polars, pyarrow, whatever has __arrow_c_stream__), or a mapping of arrays"
)


@dataclass(frozen=True)
class SchemaFiles(FileSource):
    """Files that state their schema."""

    schema: pa.Schema
    n_rows: int | None = None
    columns: ClassVar[Any] = property(attrgetter("schema.names"))


@dataclass(frozen=True)
class Parquet(SchemaFiles):
    """Parquet files, read one row group at a time, texts as the dictionaries in which they are stored.

    Measured on 10⁷ rows × 13 columns: 1.0 s by row groups, 2.3 by `iter_batches`.
    """

    row_groups: Mapping[str, Sequence[int]] | None = None
    """The row groups that are read of each file; None: all of all files."""

    @classmethod
    def open(cls, paths: Sequence[str], options: FileOptions, form: str) -> Self:
        """Read the schemas and row counts, but no rows; raise an InputError where columns of files differ."""
        schemas, n_rows = [], 0
        for path in paths:
            with convert_read_errors(quote_path(path), "is not a Parquet file"):
                file = open_parquet(path)
                schemas.append(file.schema_arrow)
                n_rows += file.metadata.num_rows
        cls.check_alike(paths, [schema.names for schema in schemas], "other columns")
        return cls(paths, schemas[0], n_rows)

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""

        def read() -> Iterator[Any]:
            for path in self.paths:
                with convert_read_errors(quote_path(path)):
                    for batch in open_parquet(path, in_pieces=True).iter_batches(batch_size=max(1, n)):
                        yield to_plain_types(validate_arrow(batch, quote_path(path)))

        batches = take_batches(read(), n)
        with convert_read_errors(quote_path(self.paths[0]), "and the files read with it have different types"):
            return join_batches(batches, self.schema).slice(0, n)

    def read_spread(self, n: int) -> pa.Table:
        """See `source.read_spread`: of small files all rows are read, else the first ones of row groups."""
        groups = [(path, g) for path in self.paths for g in range(open_parquet(path).metadata.num_row_groups)]
        if self.n_rows is None or not n < self.n_rows or self.row_groups is not None:
            return self.head(n)
        if self.n_rows <= MAX_SPREAD_ROWS:
            read = list(self.batches(dict.fromkeys(self.columns, "as it is")))
            return Frame(join_batches(read, self.schema)).read_spread(n)
        chosen = groups[:: -(-len(groups) // N_PLACES)]
        batches: list[Any] = []
        for path, group in chosen:
            with convert_read_errors(quote_path(path)):
                file = open_parquet(path, in_pieces=True)
                batches += islice(file.iter_batches(batch_size=-(-n // len(chosen)), row_groups=[group]), 1)
        rows = join_batches([to_plain_types(validate_arrow(b, self.name)) for b in batches], self.schema).slice(0, n)
        return rows if rows.num_rows == n else self.head(n)

    def batches(self, wanted: Mapping[str, ColumnReading]) -> Iterator[pa.RecordBatch]:
        """See `Source.batches`."""
        plain_texts = [f.name for f in self.schema if f.type in (pa.string(), pa.large_string())]
        texts = [name for name in plain_texts if wanted.get(name, "words") != "words"]
        long_texts = "words" in wanted.values()
        for path in self.paths:
            with convert_read_errors(quote_path(path)):
                groups = None if self.row_groups is None else self.row_groups[path]
                file = open_parquet(path, texts, long_texts)
                for part in _read_row_groups(file, list(wanted), long_texts, groups):
                    valid = to_plain_types(validate_arrow(part, quote_path(path)))
                    yield from [valid] if isinstance(valid, pa.RecordBatch) else valid.combine_chunks().to_batches()


def _read_row_groups(
    file: Any, columns: list[str], long_texts: bool, groups: Sequence[int] | None
) -> Iterator[pa.RecordBatch | pa.Table]:
    """Yield the rows of these row groups of a file (None: of all): a group at a time, or batches of a large one."""
    for group in range(file.num_row_groups) if groups is None else groups:
        # the size of all columns: reading that of single ones aborts the process where their statistics are damaged
        rows, size = file.metadata.row_group(group).num_rows, file.metadata.row_group(group).total_byte_size
        if long_texts and size > 2 * TEXT_BATCH_BYTES:
            yield from file.iter_batches(max(1, rows * TEXT_BATCH_BYTES // size), row_groups=[group], columns=columns)
        elif rows * max(1, len(columns)) <= MAX_BATCH_CELLS * 8:
            yield file.read_row_group(group, columns=columns)
        else:
            yield from file.iter_batches(MAX_BATCH_CELLS // max(1, len(columns)), row_groups=[group], columns=columns)


def open_parquet(path: str, texts: Sequence[str] = (), in_pieces: bool = False) -> Any:
    """Open a Parquet file, of this machine or of a storage service, with the columns `texts` as dictionaries.

    `in_pieces`: a row group, which may be all of the file, is not fetched at once, but step by step.
    Checksums of pages are compared where the file has them.
    """
    import pyarrow.parquet as pq

    how = {"buffer_size": BUFFER_BYTES, "pre_buffer": False} if in_pieces else {"pre_buffer": is_remote(path)}
    file = open_remote(path) if is_remote(path) else path
    return pq.ParquetFile(file, read_dictionary=list(texts), memory_map=False, page_checksum_verification=True, **how)


@dataclass(frozen=True)
class Ipc(SchemaFiles):
    """Arrow files: Feather (the file format) and the stream format."""

    @classmethod
    def open(cls, paths: Sequence[str], options: FileOptions, form: str) -> Self:
        """Read the schemas, but no rows; raise an InputError where two files have different ones."""
        schemas = []
        for path in paths:
            with convert_read_errors(quote_path(path), "is not an Arrow file"):
                schemas.append(_open_reader(path).schema)
                len(schemas[-1].names)  # decodes the names, which may not be UTF-8
        cls.check_alike(paths, schemas, "other columns or types")
        return cls(paths, schemas[0])

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        batches = take_batches(self.batches(dict.fromkeys(self.columns, "as it is")), n)
        return join_batches(batches, self.schema).slice(0, n)

    def batches(self, wanted: Mapping[str, ColumnReading]) -> Iterator[pa.RecordBatch]:
        """See `Source.batches`."""
        for path in self.paths:
            with convert_read_errors(quote_path(path)):
                reader = _open_reader(path)
                if hasattr(reader, "num_record_batches"):  # the file format, in which batches have numbers
                    reader = map(reader.get_batch, range(reader.num_record_batches))
                for batch in reader:
                    yield to_plain_types(validate_arrow(batch.select(list(wanted)), quote_path(path)))


def _open_reader(path: str) -> Any:
    """Return Arrow's reader of a file of either format; a file with a compressed ending is decompressed in memory."""
    if compression_by_name(path) is None:
        file = pa.OSFile(path)
    else:
        with open_decompressed(path) as content:
            file = pa.BufferReader(content.read())
    is_file = file.read(len(FILE_MAGIC)) == FILE_MAGIC
    file.seek(0)
    return pa.ipc.open_file(file) if is_file else pa.ipc.open_stream(file)


def open_frame(source: Any) -> Source:
    """Open a frame that exports Arrow data, a mapping of arrays, a DuckDB relation, or a stream of batches."""
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        return Frame(validate_arrow(source, Frame.name))
    if isinstance(source, pa.RecordBatchReader):
        return Stream(source)
    if hasattr(source, "batches") and hasattr(source, "head") and hasattr(source, "typed"):
        return source  # a table that is open already
    if type(source).__module__.startswith("duckdb"):
        from deciban.sources.database import Query

        if not hasattr(source, "columns") or not hasattr(source, "project"):
            raise InputError(
                "a DuckDB connection alone is not a table. Hint: train(connection, sql='select …', target=…)"
            )
        return Query(source, "the relation")
    if type(source).__module__.startswith("pandas"):
        return Frame(validate_arrow(_from_pandas(source), Frame.name))
    if isinstance(source, np.ndarray) and source.dtype.names:
        source = {name: source[name] for name in source.dtype.names}
    if isinstance(source, Mapping):
        return Frame(validate_arrow(_from_arrays(source), Frame.name))
    if hasattr(source, "collect") and not hasattr(source, "__arrow_c_stream__"):
        source = source.collect()  # a lazy polars frame
    if type(source).__module__.startswith("polars"):
        source = _prepare_polars(source)
    if not hasattr(source, "__arrow_c_stream__"):
        is_rows = isinstance(source, Sequence) and len(source) > 0 and isinstance(source[0], Mapping)
        hint = ". Hint: pandas.DataFrame(rows), or pyarrow.Table.from_pylist(rows)" if is_rows else ""
        raise InputError(f"a table is {SOURCE_KINDS}; not {type(source).__name__}{hint}")
    with convert_read_errors(Stream.name):
        reader = pa.RecordBatchReader.from_stream(source)
        if hasattr(source, "__len__") or hasattr(source, "to_pyarrow"):  # it could be streamed again: read all of it
            return Frame(validate_arrow(reader.read_all(), Frame.name))
    return Stream(reader)


def _from_pandas(frame: Any) -> pa.Table:
    """Convert the columns of a pandas frame, without its index; an InputError names a column of mixed types."""
    if not hasattr(frame, "columns"):
        raise InputError("a pandas Series is one column, not a table. Hint: frame[['a', 'b']]")
    names, columns = list(map(str, frame.columns)), []
    for place, name in enumerate(names):
        with convert_column_errors(name, f". Hint: frame[{name!r}].astype(str) makes them texts"):
            columns.append(_from_series(frame.iloc[:, place]))
    return pa.Table.from_arrays(columns, names=names)


def _prepare_polars(frame: Any) -> Any:
    """Return a polars frame with integers of 128 bits as doubles, for Arrow; InputError for a column of objects."""
    kinds = {name: str(kind) for name, kind in getattr(frame, "schema", {}).items()}
    for name, kind in kinds.items():
        if kind == "Object":
            raise InputError(
                f"column {name!r} holds objects of Python, which are no values. "
                f"Hint: make it from texts or numbers, or frame.drop({name!r})"
            )
    wide = [name for name, kind in kinds.items() if kind in ("Int128", "UInt128")]
    return frame.with_columns([frame[name].cast(float) for name in wide]) if wide else frame


def _from_series(series: Any) -> Any:
    """Convert a column of a pandas frame: periods to their beginnings, intervals to texts, sparse values to all."""
    match type(series.dtype).__name__:
        case "PeriodDtype":
            series = series.dt.to_timestamp()
        case "IntervalDtype":
            series = series.astype("category").cat.rename_categories(str)
        case "CategoricalDtype" if type(series.cat.categories.dtype).__name__ == "IntervalDtype":
            series = series.cat.rename_categories(str)
        case "SparseDtype":
            series = series.sparse.to_dense()
    return pa.Array.from_pandas(series)


@contextmanager
def convert_column_errors(name: str, hint: str = "") -> Iterator[None]:
    """Raise the errors of the conversion of a column as InputErrors that name it."""
    try:
        yield
    except UnicodeError as error:
        raise InputError(
            f"column {name!r} holds a lone surrogate, half of a character: {error}. "
            f"Hint: text.encode(errors='replace')"
        ) from None
    except (OverflowError, pa.ArrowException) as error:
        if isinstance(error, OverflowError) or "too large to fit int64" in str(error):  # beside a double
            raise InputError(
                f"column {name!r} holds a whole number outside −2⁶³ to 2⁶³ − 1. Hint: make the column floats or texts"
            ) from None
        raise InputError(f"column {name!r} mixes types: {str(error).splitlines()[0]}{hint}") from None


def _from_arrays(arrays: Mapping[str, Any]) -> pa.Table:
    """Return a mapping of names to one-dimensional arrays as an Arrow table; masked values are nulls."""
    columns = {}
    for name, values in arrays.items():
        plain = values if isinstance(values, (pa.Array, pa.ChunkedArray)) else np.ma.asarray(values)
        if isinstance(plain, np.ndarray) and plain.ndim != 1:
            if plain.ndim:
                hint = "give each column its name"
            else:
                hint = f"a list for each column, {{{name!r}: [{clip_text(repr(plain.item()), MAX_HINT_WIDTH)}]}}"
            raise InputError(f"{name!r} has {plain.ndim} dimensions; a column has one. Hint: {hint}")
        if isinstance(plain, np.ma.MaskedArray):  # masked values are missing
            mask = np.ma.getmaskarray(plain) if np.ma.is_masked(plain) else None
            with convert_column_errors(name):
                plain = pa.array(plain.data, mask=mask, from_pandas=True)
        columns[str(name)] = plain
    lengths = {name: len(array) for name, array in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"the columns have different lengths: {lengths}")
    return pa.table(columns)


@dataclass(frozen=True)
class Frame:
    """A table in memory."""

    table: pa.Table
    name: str = "the table"
    typed, fills_cores = True, False
    columns: ClassVar[Any] = property(attrgetter("table.column_names"))
    n_rows: ClassVar[Any] = property(attrgetter("table.num_rows"))

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        return to_plain_types(self.table.slice(0, n))

    def read_spread(self, n: int) -> pa.Table:
        """See `source.read_spread`."""
        if self.n_rows <= n:
            return self.head(n)
        starts = np.linspace(0, self.n_rows - n // N_PLACES, N_PLACES).astype(int).tolist()
        return to_plain_types(pa.concat_tables([self.table.slice(start, n // N_PLACES) for start in starts]))

    def batches(self, wanted: Mapping[str, ColumnReading]) -> Iterator[pa.RecordBatch]:
        """See `Source.batches`."""
        yield from map(to_plain_types, self.table.select(list(wanted)).to_batches())


class Stream:
    """Batches that can be read once: those read for the head are kept until then."""

    name, typed, fills_cores, n_rows = "the stream", True, False, None
    columns: ClassVar[Any] = property(attrgetter("reader.schema.names"))

    def __init__(self, reader: Any) -> None:
        self.reader = reader
        self.kept: list[Any] = []
        self.is_exhausted = False

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        missing = n - sum(batch.num_rows for batch in self.kept)
        if missing > 0:
            self.kept += take_batches(iter(self._read_batch, None), missing)
        return join_batches(self.kept, self.reader.schema).slice(0, n)

    def batches(self, wanted: Mapping[str, ColumnReading]) -> Iterator[pa.RecordBatch]:
        """See `Source.batches`."""
        if self.is_exhausted:
            raise InputError(
                "the stream has been read to its end, and this needs it again. Hint: give a table or a file"
            )
        self.is_exhausted = True
        kept, self.kept = self.kept, []
        for batch in chain(kept, iter(self._read_batch, None)):
            yield batch.select(list(wanted))

    def _read_batch(self) -> pa.RecordBatch | None:
        """Read the next batch of the stream; None at its end."""
        with convert_read_errors(self.name):
            try:
                batch = self.reader.read_next_batch()
            except StopIteration:
                return None
        return to_plain_types(validate_arrow(batch, self.name))


def validate_arrow(data: pa.RecordBatch | pa.Table, name: str) -> Any:
    """Return Arrow data as it is if its offsets, indices and texts are valid; else raise an InputError.

    Arrow itself trusts them: an offset beyond its buffer is a segmentation fault in the first function that uses it.
    Every batch of a file, a stream or a frame passes through here before anything else reads it.
    """
    try:
        data.validate(full=True)
    except pa.ArrowException as error:
        columns = zip(data.schema.names, data.columns, strict=True)  # by place: two may have one name
        where = "".join(f"column {column!r}: " for column, values in columns if _is_invalid(values))
        why = error_summary(error).rpartition("Invalid: ")[2]
        raise InputError(f"{name} is damaged: {where}{why}. Hint: have it written again") from None
    return data


def _is_invalid(column: Any) -> bool:
    """Return whether Arrow finds a column's offsets, indices or texts invalid."""
    try:
        column.validate(full=True)
    except pa.ArrowException:
        return True
    return False
