"""Predictions in the type of the source: pandas in, pandas out; a file in, a stream of Arrow batches out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._lazy import pa

Blocks = Callable[[], Iterator[NDArray[Any]]]
"""A function that yields the predictions of each block of rows."""


def to_source_type(source: Any, blocks: Blocks, names: Sequence[str], labels: NDArray[Any] | None = None) -> Any:
    """Concatenate blocks of predictions into an object of the type of the source.

    Each block is one-dimensional (a column named names[0]) or has a column for each name. `labels` are the
    labels that predictions are among, which may also be None.
    """
    kind = type(source).__module__.split(".")[0]
    if isinstance(source, (str, bytes)) or hasattr(source, "__fspath__") or source is None:
        return to_stream(blocks, names, labels)
    if kind == "pandas":
        return _to_pandas(source, _concatenate(blocks, len(names)), names)
    if kind == "polars":
        return _to_polars(source, _concatenate(blocks, len(names)), names, labels)
    if isinstance(source, (pa.Table, pa.RecordBatch)):
        return _to_arrow(_concatenate(blocks, len(names)), names, labels)
    if isinstance(source, np.ndarray) or hasattr(source, "keys"):
        return _concatenate(blocks, len(names))
    return to_stream(blocks, names, labels)


def _concatenate(blocks: Blocks, width: int) -> NDArray[Any]:
    parts = list(blocks())
    return np.concatenate(parts) if parts else np.empty((0, width) if width > 1 else 0)


def _to_pandas(source: Any, values: NDArray[Any], names: Sequence[str]) -> Any:
    import pandas as pd

    if values.ndim == 1:
        return pd.Series(values, index=source.index, name=names[0])
    return pd.DataFrame(values, index=source.index, columns=list(names))


def _to_polars(source: Any, values: NDArray[Any], names: Sequence[str], labels: NDArray[Any] | None) -> Any:
    import polars as pl

    if values.ndim == 1:
        return pl.Series(names[0], _to_arrow_array(values, labels) if values.dtype == object else values)
    return pl.DataFrame({name: values[:, k] for k, name in enumerate(names)})


def _to_arrow_array(values: NDArray[Any], labels: NDArray[Any] | None) -> Any:
    """Return an Arrow array; labels have their own type, even where all of them are None."""
    return pa.array(values, type=None if labels is None else pa.array(labels).type)


def _to_arrow(values: NDArray[Any], names: Sequence[str], labels: NDArray[Any] | None) -> Any:
    if values.ndim == 1:
        return _to_arrow_array(values, labels)
    return pa.table({name: np.ascontiguousarray(values[:, k]) for k, name in enumerate(names)})


def to_stream(blocks: Blocks, names: Sequence[str], labels: NDArray[Any] | None = None) -> Any:
    """Return a reader of Arrow batches, one for each block of rows, computed when it is read."""

    def batch(values: NDArray[Any]) -> Any:
        columns = [values] if values.ndim == 1 else [np.ascontiguousarray(column) for column in values.T]
        return pa.RecordBatch.from_arrays([_to_arrow_array(column, labels) for column in columns], names=list(names))

    stream = (batch(values) for values in blocks())
    first = next(stream, None)
    if first is None:
        schema = pa.schema([(name, pa.string() if len(names) == 1 else pa.float64()) for name in names])
        return pa.RecordBatchReader.from_batches(schema, iter(()))
    return pa.RecordBatchReader.from_batches(first.schema, chain([first], stream))
