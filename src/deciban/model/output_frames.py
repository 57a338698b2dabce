"""Predictions in the type of the source: pandas in, pandas out; a file in, a stream of Arrow batches out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from deciban._lazy import pa
from deciban.ledger import Vocabulary
from deciban.model.columns import split_levels
from deciban.sources.arrow_cells import DATE_PARTS
from deciban.text import sample_texts

if TYPE_CHECKING:
    from deciban.model.model import Model

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


DAYS_OF_2024 = np.arange("2024-01-01", "2025-01-01", dtype="datetime64[D]")
"""The days that dates are drawn from, one year: the model has months, weekdays and hours, but no years."""


def sample_table(model: Model, n: int, rng: np.random.Generator) -> Any:
    """Return a table of n rows: the columns in the order of the training table, the target last."""
    parts, codes = model.naive.sample(n, rng)
    drawn: dict[str, Any] = {}
    words = model.options.words
    for block, X, (kind, features) in zip(model.scorer.schema.blocks, parts, model.layout.blocks):
        if kind == "bags":
            if not words.unwritable:
                rows, vocabulary = cast(Any, X).tocsr(), cast(Vocabulary, block.names)
                drawn[features[0].name] = sample_texts(rows, vocabulary, words.values == "presence", rng)
            continue
        for j, feature in enumerate(features):
            levels = block.levels[j] if kind == "levels" and block.levels else None
            cells: Any = X[:, j] if levels is None else _decode_levels(X[:, j], levels)
            drawn |= _split_combinations(cells, feature.joined) if feature.joined else {feature.name: cells}
    table = {}
    for column in model.columns:
        features = model.layout.features_of(column)
        if column.role == "date":
            table[column.name] = _sample_dates({str(f.part): drawn[f.name] for f in features}, n, rng)
        elif features and column.name in drawn:
            table[column.name] = pa.array(drawn[column.name])
    return pa.table({**table, model.target: pa.array(model.labels[codes])})


def _split_combinations(names: Sequence[str | None], columns: tuple[str, ...]) -> dict[str, list[str | None]]:
    """Return the columns that the combinations consist of."""
    missing = [None] * len(columns)
    rows = [missing if name is None else split_levels(name) for name in names]
    return {column: [row[i] for row in rows] for i, column in enumerate(columns)}


def _decode_levels(codes: Any, levels: Sequence[str]) -> list[str | None]:
    """Return the names of level codes; None for a code beyond the known levels."""
    return [levels[code] if 0 <= code < len(levels) else None for code in codes.tolist()]


def _sample_dates(parts: Mapping[str, Sequence[str | None]], n: int, rng: np.random.Generator) -> Any:
    """Return days with these months and weekdays, at these hours; none where one of them is missing."""
    month = (DAYS_OF_2024.astype("datetime64[M]") - np.datetime64("2024-01")).astype(int)
    weekday = (DAYS_OF_2024.astype(int) + 3) % 7  # the first of January 1970 was a Thursday
    codes = {part: {name: i for i, name in enumerate(DATE_PARTS[part])} for part in parts}
    out = np.full(n, np.datetime64("NaT"), dtype="datetime64[s]")
    for i in range(n):
        row = {part: names[i] for part, names in parts.items()}
        if None not in row.values():
            code = {part: codes[part][str(name)] for part, name in row.items()}
            fits = (month == code.get("month", month)) & (weekday == code.get("weekday", weekday))
            out[i] = rng.choice(DAYS_OF_2024[fits]) + np.timedelta64(code.get("hour", 0), "h")
    return pa.array(out) if "hour" in parts else pa.array(out.astype("datetime64[D]"))
