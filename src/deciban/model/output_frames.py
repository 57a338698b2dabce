"""Tables that a model returns: predictions in the type of the source, and sampled rows.

Predictions are a pandas object for a pandas frame, and a stream of Arrow batches for a file; sampled rows are a table
like the one that the model was trained on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from deciban._lazy import pa
from deciban.errors import InputError
from deciban.ledger import Vocabulary
from deciban.model.columns import split_levels
from deciban.model.distributed_scores import ScoreTask, score_parts
from deciban.model.matrices import check_columns
from deciban.scores.posterior import Decision, Finish, take_labels
from deciban.sources.arrow_cells import DATE_PARTS
from deciban.sources.distributed import distributed_base
from deciban.sources.paths import holds_documents
from deciban.sources.source import FileOptions, Source, open_source
from deciban.text import sample_texts

if TYPE_CHECKING:
    from deciban.model.model import Model

PredictionBlocks = Callable[[], Iterator[NDArray[Any]]]
"""A function that yields the predictions of each block of rows."""

INTEGER = re.compile("0|-?[1-9][0-9]*")
"""A whole number as it is written in one way only."""

SPARK_ARGUMENTS = ("spark", "keep")
"""The arguments of predictions that are for tables of Spark: the session, and the columns to keep."""

DAYS_OF_2024 = np.arange("2024-01-01", "2025-01-01", dtype="datetime64[D]")
"""The days that dates are drawn from, one year: the model has months, weekdays and hours, but no years."""


def open_rows(model: Model, source: Any, sql: str | None, reading: Mapping[str, Any]) -> Source:
    """Open the rows that a model is to predict; InputError for `keep` in `reading` if they are no table of Spark."""
    given = {name: value for name, value in reading.items() if name not in SPARK_ARGUMENTS}
    options = choose_reading(model, source, sql, FileOptions.from_arguments(given))
    opened = open_source(source, sql, options, reading.get("spark"))
    if reading.get("keep") is not None and distributed_base(opened) is None:
        raise InputError("keep= is for tables of Spark. Hint: leave it out; predictions are in the order of the rows")
    return opened


def choose_reading(model: Model, source: Any, sql: str | None, options: FileOptions) -> FileOptions:
    """Return how the rows to predict are read: for a model of whole files, a file that is no table is a document."""
    if sql is None and model._layout.has_whole_files and holds_documents(source, options):
        return replace(options, format="text")
    return options


def predict_source(
    model: Model,
    source: Any,
    sql: str | None,
    reading: Mapping[str, Any],
    wanted: Finish,
    allow_missing: bool,
    rule: Decision | None = None,
    reject_novel: float | None = None,
) -> Any:
    """Return the predictions of all rows of a source in its type of object; see `Model.predict`."""
    rows = open_rows(model, source, sql, reading)
    check_columns(rows, model._layout, allow_missing)
    if distributed_base(rows) is not None:
        return score_parts(model, rows, ScoreTask(wanted, allow_missing, rule, reject_novel), reading.get("keep"))
    labels = model._labels

    def predict_blocks() -> Iterator[NDArray[Any]]:
        for _, parts in model._read_blocks(rows, allow_missing):
            if rule is not None or reject_novel is not None:
                log_posterior = model._score(parts, "log_posterior")
                yield take_labels(labels, model._decide(parts, log_posterior, rule, reject_novel))
            else:
                scores = model._score(parts, wanted)
                yield labels[scores] if wanted == "winner" else scores

    columns: dict[str, list[Any]] = {"winner": [model.target], "density": ["log_density"]}
    names = columns.get(wanted) or labels.tolist()
    source = source if sql is None else None
    return to_source_type(source, predict_blocks, names, labels if wanted == "winner" else None)


def to_source_type(
    source: Any, blocks: PredictionBlocks, names: Sequence[Any], labels: NDArray[Any] | None = None
) -> Any:
    """Return the predictions of all blocks in the source's type of object; a stream of Arrow batches for a file.

    A mapping or NumPy array gives a NumPy array; an Arrow table gives a table, or an array of a single column.
    Each block is one-dimensional (a column named names[0]) or has a column for each name; names that are not texts
    stay as they are in pandas, and become texts elsewhere. `labels` are the labels that predictions are among, which
    may also be None.
    """
    kind = type(source).__module__.split(".")[0]
    is_arrow = isinstance(source, (pa.Table, pa.RecordBatch))
    if not (kind in ("pandas", "polars") or is_arrow or isinstance(source, np.ndarray) or hasattr(source, "keys")):
        return to_stream(blocks, names, labels)
    parts, width = list(blocks()), len(names)
    empty = np.empty((0, width) if width > 1 else 0) if labels is None else labels[:0]
    values = np.concatenate(parts) if parts else empty
    if kind == "pandas":
        import pandas as pd

        if values.ndim == 1:
            return pd.Series(values, index=source.index, name=_name_like_columns(names[0], source))
        return pd.DataFrame(values, index=source.index, columns=list(names))
    names = list(map(str, names))
    columns = {name: np.ascontiguousarray(values[:, k]) for k, name in enumerate(names)} if values.ndim > 1 else {}
    if kind == "polars":
        import polars as pl

        if not columns:
            return pl.Series(names[0], _to_arrow_array(values, labels) if values.dtype == object else values)
        return pl.DataFrame(columns)
    if is_arrow:
        return pa.table(columns) if columns else _to_arrow_array(values, labels)
    return values


def _name_like_columns(name: str, frame: Any) -> Any:
    """Return the name of a column as a number, if it is one and the columns of a pandas frame are all numbered."""
    is_numbered = len(frame.columns) and all(isinstance(column, (int, np.integer)) for column in frame.columns)
    return int(name) if is_numbered and INTEGER.fullmatch(name) else name


def _to_arrow_array(values: NDArray[Any], labels: NDArray[Any] | None) -> Any:
    """Return an Arrow array of the type of `labels`, even where all values are None; of numbers if it is None."""
    return pa.array(values, type=None if labels is None else pa.array(labels).type)


def to_stream(blocks: PredictionBlocks, names: Sequence[Any], labels: NDArray[Any] | None = None) -> Any:
    """Return a reader of Arrow batches, one for each block of rows; the first is computed now, others when read."""

    def batch(values: NDArray[Any]) -> Any:
        columns = [values] if values.ndim == 1 else [np.ascontiguousarray(column) for column in values.T]
        arrays = [_to_arrow_array(column, labels) for column in columns]
        return pa.RecordBatch.from_arrays(arrays, names=list(map(str, names)))

    stream = (batch(values) for values in blocks())
    first = next(stream, None)
    if first is None:
        kind = pa.float64() if labels is None else pa.array(labels).type
        schema = pa.schema([(str(name), kind) for name in names])
        return pa.RecordBatchReader.from_batches(schema, iter(()))
    return pa.RecordBatchReader.from_batches(first.schema, chain([first], stream))


def to_labels(names: Sequence[str], target_type: str) -> NDArray[Any]:
    """Return the names of classes in the Arrow type of the target column, or as texts if one is of another type."""
    is_whole = "int" in target_type
    if target_type != "string" and (not is_whole or all(map(INTEGER.fullmatch, names))):  # 007 is not 7
        with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return np.asarray(pa.array(names, pa.string()).cast(pa.type_for_alias(target_type)).to_numpy(False))
    return np.array(names, dtype=object)


def sample_table(model: Model, n: int, rng: np.random.Generator) -> Any:
    """Return an Arrow table of n rows: the columns in the order of the training table, the target last.

    Skipped columns are left out, and texts whose words overlap or were hashed; InputError for n < 0.
    """
    if not isinstance(n, (int, np.integer)) or n < 0:
        raise InputError(f"n rows are drawn for a whole number n ≥ 0, not {n!r}")
    model._scorer.require_density("rows to draw")
    parts, codes = model._naive.sample(n, rng)
    drawn: dict[str, Any] = {}
    words = model.options.words
    for block, X, (kind, features) in zip(model._scorer.schema.blocks, parts, model._layout.blocks):
        if kind == "bags":
            if not words.unwritable:
                rows, vocabulary = cast(Any, X).tocsr(), cast(Vocabulary, block.names)
                drawn[features[0].name] = sample_texts(rows, vocabulary, words.values == "presence", rng)
            continue
        for j, feature in enumerate(features):
            cells: Any = X[:, j]
            if kind == "levels" and block.levels:  # a code beyond the known levels is None
                levels = block.levels[j]
                cells = [levels[code] if 0 <= code < len(levels) else None for code in cells.tolist()]
            drawn |= _split_combinations(cells, feature.joined) if feature.joined else {feature.name: cells}
    table = {}
    for column in model.columns:
        features = column.modelled_features
        if column.role == "date":
            table[column.name] = _sample_dates({str(f.part): drawn[f.name] for f in features}, n, rng)
        elif features and column.name in drawn:
            table[column.name] = pa.array(drawn[column.name])
    return pa.table({**table, model.target: pa.array(model._labels[codes])})


def _split_combinations(names: Sequence[str | None], columns: tuple[str, ...]) -> dict[str, list[str | None]]:
    """Return the levels of each column that the combinations consist of, by its name; None where one is missing."""
    missing = [None] * len(columns)
    rows = [missing if name is None else split_levels(name) for name in names]
    return {column: [row[i] for row in rows] for i, column in enumerate(columns)}


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
