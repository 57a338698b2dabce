"""Frames and arrays in memory, and streams of Arrow batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from deciban._lazy import pa
from deciban.errors import InputError
from deciban.sources.source import ColumnReading, Source, convert_read_errors, validate_arrow

SOURCE_KINDS = (
    "a path, a query, a frame (pandas, polars, pyarrow, whatever has __arrow_c_stream__), or a mapping of arrays"
)

LONE_SURROGATE = (
    "column {!r} holds half a character, which tables have no place for: {}. Hint: text.encode(errors='replace')"
)


def open_frame(source: Any) -> Source:
    """Open a frame that exports Arrow data, a mapping of NumPy arrays, or a stream of batches."""
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        return Frame(validate_arrow(source, Frame.name))
    if isinstance(source, pa.RecordBatchReader):
        return Stream(source)
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
    if hasattr(source, "__arrow_c_stream__"):
        return _open_stream(source)
    raise InputError(f"a table is {SOURCE_KINDS}; not {type(source).__name__}")


def _open_stream(source: Any) -> Source:
    """Open an Arrow stream: all of it if the object can be streamed again, else as a stream that is read once."""
    with convert_read_errors(Stream.name):
        reader = pa.RecordBatchReader.from_stream(source)
        if hasattr(source, "__len__") or hasattr(source, "to_pyarrow"):
            return Frame(validate_arrow(reader.read_all(), Frame.name))
    return Stream(reader)


def _from_pandas(frame: Any) -> pa.Table:
    """Convert the columns, without the index; an error names a column of mixed types."""
    if not hasattr(frame, "columns"):
        raise InputError("a pandas Series is one column, not a table. Hint: frame[['a', 'b']]")
    named: dict[str, list[Any]] = {}
    for place, name in enumerate(frame.columns):
        try:
            named.setdefault(str(name), []).append(_from_series(frame.iloc[:, place]))
        except UnicodeError as error:
            raise InputError(LONE_SURROGATE.format(str(name), error)) from None
        except pa.ArrowException as error:
            raise InputError(
                f"column {str(name)!r} mixes types: {str(error).splitlines()[0]}. "
                f"Hint: frame[{str(name)!r}].astype(str) makes them texts"
            ) from None
    columns = [(name, array) for name, arrays in named.items() for array in arrays]
    return pa.Table.from_arrays([array for _, array in columns], names=[name for name, _ in columns])


def _from_series(series: Any) -> pa.Array:
    """Convert a column of a pandas frame; categories that are not plain values, such as intervals, become texts."""
    array = pa.Array.from_pandas(series)
    if pa.types.is_dictionary(array.type) and isinstance(array.type.value_type, pa.BaseExtensionType):
        return pa.Array.from_pandas(series.cat.rename_categories(str))
    return array


def _from_arrays(arrays: Mapping[str, Any]) -> pa.Table:
    columns = {}
    for name, values in arrays.items():
        plain = values if isinstance(values, (pa.Array, pa.ChunkedArray)) else np.ma.asarray(values)
        if isinstance(plain, np.ndarray) and plain.ndim != 1:
            raise InputError(
                f"{name!r} has {plain.ndim} dimensions; a column has one. Hint: give each column its name"
            )
        try:
            if isinstance(plain, np.ma.MaskedArray):  # masked values are missing
                mask = np.ma.getmaskarray(plain) if np.ma.is_masked(plain) else None
                plain = pa.array(plain.data, mask=mask, from_pandas=True)
            columns[str(name)] = plain
        except UnicodeError as error:
            raise InputError(LONE_SURROGATE.format(name, error)) from None
        except pa.ArrowException as error:
            raise InputError(f"column {name!r} mixes types: {str(error).splitlines()[0]}") from None
    lengths = {name: len(array) for name, array in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"the columns have different lengths: {lengths}")
    return pa.table(columns)


@dataclass(frozen=True)
class Frame:
    """A table in memory."""

    table: pa.Table
    name: str = "the table"
    typed: bool = True
    fills_cores: bool = False

    @property
    def columns(self) -> Sequence[str]:
        """See `Source.columns`."""
        return list(self.table.column_names)

    @property
    def n_rows(self) -> int:
        """See `Source.n_rows`."""
        return self.table.num_rows

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        return self.table.slice(0, n)

    def batches(self, wanted: Mapping[str, ColumnReading]) -> Iterator[pa.RecordBatch]:
        """See `Source.batches`."""
        yield from self.table.select(list(wanted)).to_batches()


class Stream:
    """Batches that can be read once: those read for the head are kept until then."""

    name = "the stream"
    typed = True
    fills_cores = False
    n_rows = None

    def __init__(self, reader: Any) -> None:
        self.reader = reader
        self.kept: list[Any] = []
        self.is_exhausted = False

    @property
    def columns(self) -> Sequence[str]:
        """See `Source.columns`."""
        return list(self.reader.schema.names)

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        missing = n - sum(batch.num_rows for batch in self.kept)
        while missing > 0 and (batch := self._read_batch()) is not None:
            self.kept.append(batch)
            missing -= batch.num_rows
        return pa.Table.from_batches(self.kept, schema=self.reader.schema).slice(0, n)

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
        return validate_arrow(batch, self.name)
