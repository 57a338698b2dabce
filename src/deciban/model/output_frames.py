"""Answers in the user's own kind of frame: pandas in, pandas out; a file in, a stream out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Blocks = Callable[[], Iterator[NDArray[Any]]]


def answer(source: Any, blocks: Blocks, names: Sequence[str], labels: NDArray[Any] | None = None) -> Any:
    """Blocks of answers put together as the kind of thing that the source is.

    Each block is one-dimensional (a column named names[0]) or has a column for each name. `labels` are what answers
    are among that may also be None.
    """
    import pyarrow as pa

    kind = type(source).__module__.split(".")[0]
    if isinstance(source, (str, bytes)) or hasattr(source, "__fspath__") or source is None:
        return streamed(blocks, names, labels)
    if kind == "pandas":
        return _pandas(source, _all(blocks, len(names)), names)
    if kind == "polars":
        return _polars(source, _all(blocks, len(names)), names, labels)
    if isinstance(source, (pa.Table, pa.RecordBatch)):
        return _arrow(_all(blocks, len(names)), names, labels)
    if isinstance(source, np.ndarray) or hasattr(source, "keys"):
        return _all(blocks, len(names))
    return streamed(blocks, names, labels)


def _all(blocks: Blocks, width: int) -> NDArray[Any]:
    parts = list(blocks())
    return np.concatenate(parts) if parts else np.empty((0, width) if width > 1 else 0)


def _pandas(source: Any, values: NDArray[Any], names: Sequence[str]) -> Any:
    import pandas as pd

    if values.ndim == 1:
        return pd.Series(values, index=source.index, name=names[0])
    return pd.DataFrame(values, index=source.index, columns=list(names))


def _polars(source: Any, values: NDArray[Any], names: Sequence[str], labels: NDArray[Any] | None) -> Any:
    import polars as pl

    if values.ndim == 1:
        return pl.Series(names[0], _array(values, labels) if values.dtype == object else values)
    return pl.DataFrame({name: values[:, k] for k, name in enumerate(names)})


def _array(values: NDArray[Any], labels: NDArray[Any] | None) -> Any:
    """A column; of labels of their own type, though none of them may be there."""
    import pyarrow as pa

    return pa.array(values, type=None if labels is None else pa.array(labels).type)


def _arrow(values: NDArray[Any], names: Sequence[str], labels: NDArray[Any] | None) -> Any:
    import pyarrow as pa

    if values.ndim == 1:
        return _array(values, labels)
    return pa.table({name: np.ascontiguousarray(values[:, k]) for k, name in enumerate(names)})


def streamed(blocks: Blocks, names: Sequence[str], labels: NDArray[Any] | None = None) -> Any:
    """A reader of Arrow batches, one for each block of rows, computed as they are asked for."""
    import pyarrow as pa

    def batch(values: NDArray[Any]) -> Any:
        columns = [values] if values.ndim == 1 else [np.ascontiguousarray(column) for column in values.T]
        return pa.RecordBatch.from_arrays([_array(column, labels) for column in columns], names=list(names))

    stream = (batch(values) for values in blocks())
    first = next(stream, None)
    if first is None:
        schema = pa.schema([(name, pa.string() if len(names) == 1 else pa.float64()) for name in names])
        return pa.RecordBatchReader.from_batches(schema, iter(()))
    return pa.RecordBatchReader.from_batches(first.schema, _chained(first, stream))


def _chained(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest
