"""Sources of tables: their columns, their first rows, and all of their rows as a stream of Arrow batches."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from deciban._lazy import pa, pc
from deciban.errors import InputError

T = TypeVar("T")

BLOCK_CELLS = 1 << 22
"""Rows are summarised in blocks of about this many cells, whatever the source: every source gives the same bits."""

BLOCK_BYTES = 1 << 24
"""Texts are summarised in blocks of about this many bytes; a single text may be longer."""

MAX_BLOCK_ROWS, MIN_BLOCK_ROWS = 1 << 18, 1 << 12
"""The greatest and the least number of rows of a block."""

Reading = Literal["number", "text", "words", "as it is"]
"""How a column of a file without types is to be read; "words" is a text too, and long: few rows have the same."""


@dataclass(frozen=True)
class FileOptions:
    """Properties that a file does not state: its format, its encoding, and the texts that stand for a missing value.

    `errors` is the treatment of bytes that the encoding does not have, in documents: "strict" or "replace". With
    `hive` the folders of a file that are named KEY=VALUE give it columns.
    """

    format: str | None = None
    encoding: str = "utf-8"
    missing: tuple[str, ...] = ()
    errors: str = "strict"
    hive: bool = False


class Source(Protocol):
    """A table that can be read from its beginning; not `typed` where all columns are read as text by default."""

    @property
    def name(self) -> str:
        """The name of the table in messages."""

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns, in order."""

    @property
    def typed(self) -> bool:
        """Whether the columns have types of their own."""

    @property
    def fills_cores(self) -> bool:
        """Whether reading it keeps all cores busy, as DuckDB does: more threads of ours would only slow it down."""

    @property
    def n_rows(self) -> int | None:
        """The number of rows, if it is known without reading them; an estimate for some files."""

    def head(self, n: int) -> pa.Table:
        """Return the first n rows; of a source without types, as text."""

    def batches(self, wanted: Mapping[str, Reading]) -> Iterator[pa.RecordBatch]:
        """Yield all rows, from the first, with the wanted columns."""


@dataclass(frozen=True)
class FileSource:
    """Files of one format, read one after the other."""

    paths: Sequence[str]

    @property
    def name(self) -> str:
        """See `Source.name`."""
        return repr(self.paths[0])


@dataclass(frozen=True)
class SourceView:
    """A source derived from another: everything except `batches` is taken from that source."""

    source: Source

    @property
    def name(self) -> str:
        """See `Source.name`."""
        return self.source.name

    @property
    def columns(self) -> Sequence[str]:
        """See `Source.columns`."""
        return self.source.columns

    @property
    def typed(self) -> bool:
        """See `Source.typed`."""
        return self.source.typed

    @property
    def fills_cores(self) -> bool:
        """See `Source.fills_cores`."""
        return self.source.fills_cores

    @property
    def n_rows(self) -> int | None:
        """See `Source.n_rows`."""
        return self.source.n_rows

    @property
    def decimal(self) -> str:
        """The decimal mark, where numbers come as texts."""
        return getattr(self.source, "decimal", ".")

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        return self.source.head(n)


def open_source(source: Any, sql: str | None = None, options: FileOptions | None = None) -> Source:
    """Open the source that a path, glob, query, frame or mapping of arrays describes."""
    if options is not None and options.hive and (sql is not None or not _is_path(source)):
        raise InputError("--hive (hive=True) is for files. Hint: a query says read_csv(…, hive_partitioning=true)")
    if sql is not None:
        from deciban.sources.database import open_query

        return _check_columns(open_query(source, sql))
    if _is_path(source) and not isinstance(source, (list, tuple)):
        from deciban.sources.paths import open_path

        return _check_columns(open_path(os.fspath(source), options or FileOptions()))
    if _is_path(source):
        from deciban.sources.paths import open_paths

        return _check_columns(open_paths([os.fspath(item) for item in source], options or FileOptions()))
    from deciban.sources.frames import open_frame

    return _check_columns(open_frame(source))


def _is_path(source: Any) -> bool:
    """Return whether a source is a path, or several of them."""
    if isinstance(source, (list, tuple)):
        return bool(source) and all(isinstance(item, (str, Path)) for item in source)
    return isinstance(source, (str, os.PathLike))


def _check_columns(source: Source) -> Source:
    """Raise an error for a table without columns, or with two columns of one name."""
    if not source.columns:
        raise InputError(f"{source.name} has no columns. Hint: a table has a column for each feature")
    seen: set[str] = set()
    for name in source.columns:
        if name in seen:
            raise InputError(f"{source.name} has two columns named {name!r}. Hint: rename one of them")
        seen.add(name)
    return source


def validate(data: pa.RecordBatch | pa.Table, name: str) -> Any:
    """Return Arrow data that another program wrote, once its offsets, indices and texts are known to be valid.

    Arrow itself trusts them: an offset beyond its buffer is a segmentation fault in the first function that uses it.
    Every batch of a file, a stream or a frame passes through here before anything else reads it. A null that is a
    value of a dictionary becomes a missing value of the column.
    """
    try:
        data.validate(full=True)
    except pa.ArrowException as error:
        columns = zip(data.schema.names, data.columns, strict=True)  # by place: two may have one name
        where = "".join(f"column {column!r}: " for column, values in columns if _is_invalid(values))
        why = error_summary(error).rpartition("Invalid: ")[2]
        raise InputError(f"{name} is damaged: {where}{why}. Hint: have it written again") from None
    for place, column in enumerate(data.columns):
        if pa.types.is_dictionary(column.type) and any(chunk.dictionary.null_count for chunk in _chunks(column)):
            plain = [_without_null_values(chunk) for chunk in _chunks(column)]
            whole = pa.chunked_array(plain, column.type) if isinstance(data, pa.Table) else plain[0]
            data = data.set_column(place, data.schema.field(place), whole)
    return data


def _chunks(column: Any) -> list[Any]:
    return getattr(column, "chunks", [column])


def _without_null_values(column: Any) -> Any:
    """Return a column with equal values, none of which is null in its dictionary."""
    import numpy as np

    known = np.asarray(column.dictionary.is_valid())
    places = pa.array(np.cumsum(known) - 1, column.indices.type, mask=~known)
    values = column.dictionary.cast(_without_views(column.dictionary.type)).drop_null().cast(column.dictionary.type)
    return pa.DictionaryArray.from_arrays(places.take(column.indices), values, ordered=column.type.ordered)


def _is_invalid(column: Any) -> bool:
    try:
        column.validate(full=True)
    except pa.ArrowException:
        return True
    return False


def reword_errors(path: str, verdict: str = "cannot be read") -> AbstractContextManager[None]:
    """Raise the errors of a file system, a decompressor or a decoder as errors that name the file."""
    return reword_read_errors(repr(printable(path)), verdict)


@contextmanager
def reword_read_errors(name: str, verdict: str = "cannot be read") -> Iterator[None]:
    """Raise the errors of reading a file or a stream as InputErrors that begin with its name."""
    try:
        yield
    except (OSError, pa.ArrowException, UnicodeError, MemoryError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{name} {verdict}: {error_summary(error)}") from None


def error_summary(error: BaseException) -> str:
    """Return the first line of another library's error, to follow a colon."""
    lines = str(getattr(error, "strerror", None) or error).split("\n")
    why = next((line.strip() for line in lines if line.strip()), type(error).__name__)
    return why if why[1:2].isupper() else why[:1].lower() + why[1:]


def printable(path: str) -> str:
    """Return a path as text: in a file's name there may be bytes that no encoding has."""
    return os.fsencode(path).decode("utf-8", "replace").replace(os.sep, "/")


def role_hint(column: str, role: str) -> str:
    """Return the options that give a column another role, on the command line and in Python."""
    return f"--as {column}={role} (roles={{{column!r}: {role!r}}})"


def read_first_rows(source: Source, n: int) -> pa.Table:
    """Return the first rows of a source in types that all functions support: string views cannot be filtered yet."""
    head = source.head(n)
    plain = [_without_views(kind) for kind in head.schema.types]
    return head if plain == head.schema.types else head.cast(pa.schema(list(zip(head.schema.names, plain))))


def take_batches(batches: Iterable[T], n: int) -> list[T]:
    """Return the first batches or tables, up to the one that completes n rows."""
    taken: list[Any] = []
    rows = 0
    for batch in batches:
        taken.append(batch)
        rows += taken[-1].num_rows
        if rows >= n:
            break
    return taken


def _without_views(kind: Any) -> Any:
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _without_views(kind.value_type))
    return pa.string() if pa.types.is_string_view(kind) else kind


def choose_block_rows(n_features: int) -> int:
    """Return the number of rows per block: a power of two that depends on the number of features alone."""
    wanted = BLOCK_CELLS // max(1, n_features)
    return min(MAX_BLOCK_ROWS, max(MIN_BLOCK_ROWS, 1 << (wanted.bit_length() - 1)))


def split_into_blocks(
    batches: Iterator[pa.RecordBatch], size: int, texts: Sequence[str] = ()
) -> Iterator[list[pa.RecordBatch]]:
    """Yield the rows in blocks of one size, each a list of slices of the batches, without copying.

    A block ends early with the row at which its `texts`, columns of long texts, reach `BLOCK_BYTES`.
    """
    block: list[pa.RecordBatch] = []
    n_free, left = size, BLOCK_BYTES
    for batch in batches:
        ends = _text_ends(batch, texts)
        at = 0
        while at < batch.num_rows:
            n = min(n_free, batch.num_rows - at)
            if ends is not None:
                n = min(n, int(ends.searchsorted(ends[at] + left)) - at)
                left -= int(ends[at + n] - ends[at])
            block.append(batch.slice(at, n))
            n_free, at = n_free - n, at + n
            if not n_free or left <= 0:
                yield block
                block, n_free, left = [], size, BLOCK_BYTES
    if block:
        yield block


def _text_ends(batch: pa.RecordBatch, texts: Sequence[str]) -> Any:
    """Return the number of bytes of text before each row, and before the end; None without texts."""
    import numpy as np

    here = [batch.column(name) for name in texts if batch.schema.get_field_index(name) >= 0]
    if not here:
        return None
    ends = np.zeros(batch.num_rows + 1, dtype=np.int64)
    np.cumsum(sum(_text_bytes(column) for column in here), out=ends[1:])
    return ends


def _text_bytes(column: Any) -> Any:
    """Return the size of each text, 0 where it is missing; 0 for values that are no text."""
    import numpy as np

    kind, types = column.type, pa.types
    if types.is_dictionary(kind):
        sizes = np.append(_text_bytes(column.dictionary), 0)
        return sizes[pc.fill_null(column.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)]
    is_large = types.is_large_string(kind) or types.is_large_binary(kind)
    if types.is_string_view(kind) or types.is_binary_view(kind):
        column, is_large = column.cast(pa.large_binary()), True
    elif not (is_large or types.is_string(kind) or types.is_binary(kind)):
        return np.zeros(len(column), dtype=np.int64)
    if not len(column):
        return np.zeros(0, dtype=np.int64)
    ends = np.frombuffer(
        column.buffers()[1], np.int64 if is_large else np.int32
    )  # pyarrow's own function imports pandas
    return np.diff(ends[column.offset : column.offset + len(column) + 1]).astype(np.int64)


def prefetch(items: Iterator[T], most: int = 2) -> Iterator[T]:
    """Yield items in their order while a thread fetches the next ones, at most `most`; errors keep their place."""
    end: Any = object()
    pool = ThreadPoolExecutor(1)
    try:
        pending = deque(pool.submit(next, items, end) for _ in range(most))
        while (item := pending.popleft().result()) is not end:
            pending.append(pool.submit(next, items, end))
            yield item
    finally:
        pool.shutdown(cancel_futures=True)
