"""Conversion of frames and arrays to Arrow tables and back, by scikit-learn's rules."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_y, check_consistent_length, validate_data

from deciban._lazy import pa
from deciban._typing import Array
from deciban.errors import InputError
from deciban.estimators.check_arguments import check_label_type
from deciban.sources.arrow_sources import Frame
from deciban.sources.source import open_source

FRAME_KINDS = ("pandas", "polars", "table", "array")
"""Kinds of frame: pandas, polars, another table with names, or an array."""


def to_table(estimator: Any, X: Any, names: Sequence[str] | None) -> pa.Table:
    """Return X as a table with the names of the training columns; None: X is the training table.

    Frames must have the columns of the training frame, in the same order; an array's columns are x0, x1 …
    """
    table = _from_frame(estimator, X, names is None) if _is_frame(X) else _from_array(estimator, X, names is None)
    if not table.num_rows:
        raise InputError(
            f"Found array with 0 sample(s) (shape={table.shape}) while a minimum of 1 is required by "
            f"{type(estimator).__name__}."
        )
    return table if names is None else table.rename_columns(list(names))


def _is_frame(X: Any) -> bool:
    if isinstance(X, np.ndarray) or hasattr(X, "tocsr"):
        return getattr(X.dtype, "names", None) is not None
    return isinstance(X, Mapping) or hasattr(X, "__arrow_c_stream__") or hasattr(X, "columns")


def _from_frame(estimator: Any, X: Any, reset: bool) -> pa.Table:
    source = open_source(X)
    if isinstance(source, Frame):
        table = source.table
    else:
        table = pa.Table.from_batches(list(source.batches(dict.fromkeys(source.columns, "as it is"))))
    named = X if type(X).__module__.startswith("pandas") else table  # only pandas has names that are not strings
    validate_data(estimator, named, skip_check_array=True, reset=reset)
    return table


def _from_array(estimator: Any, X: Any, reset: bool) -> pa.Table:
    if isinstance(X, (str, os.PathLike)):
        raise InputError(f"X holds rows, and is {X!r}. Hint: deciban.train({X!r}, target=...) learns from a file")
    if isinstance(X, (list, tuple)):
        cells = np.asarray(X)  # numbers among texts stay numbers
        X = np.array(X, dtype=object) if cells.dtype.kind in "US" else cells
    cells = validate_data(estimator, X, dtype=None, ensure_all_finite="allow-nan", reset=reset)
    return open_source({f"x{j}": cells[:, j] for j in range(cells.shape[1])}).head(len(cells))


def check_labels(estimator: Any, y: Any, table: pa.Table) -> NDArray[Any]:
    """Return y as an array with a label for each row."""
    if y is None:
        raise InputError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None."
        )
    labels: NDArray[Any] = _check_y(y, estimator=estimator)
    check_consistent_length(table, labels)
    return check_label_type(labels)


def append_classes(
    table: pa.Table, codes: NDArray[np.int32], n_classes: int, weight: Array | None
) -> tuple[Frame, str, str | None, list[str]]:
    """Append a column of classes and one of weights; return the table, the names of these columns, and the classes.

    A class is its number, padded with zeros so that the order of the texts is that of the numbers.
    """
    names = [f"{k:08}" for k in range(n_classes)]
    target = make_unique_name("class", table.column_names)
    coded = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(names, pa.string()))
    table = table.append_column(target, coded)
    if weight is None:
        return Frame(table), target, None, names
    weights = make_unique_name("weight", table.column_names)
    return Frame(table.append_column(weights, pa.array(weight))), target, weights, names


def make_unique_name(name: str, names: Sequence[str]) -> str:
    """Return the name, with underscores appended until it is not among the names."""
    while name in names:
        name += "_"
    return name


def frame_kind(X: Any) -> str:
    """Return the kind of frame: pandas, polars, another table, or an array."""
    library = type(X).__module__.split(".")[0]
    return library if library in FRAME_KINDS else "table" if _is_frame(X) else "array"


def to_frame(kind: str, names: Sequence[str], columns: Mapping[str, Any], n: int) -> Any:
    """Return columns as a frame of this kind, in the order of the names; columns that are not given are missing."""
    table = pa.table({name: columns.get(name, pa.nulls(n, pa.float64())) for name in names})
    if kind == "pandas":
        return table.to_pandas()
    if kind == "polars":
        import polars as pl

        return pl.from_arrow(table)
    if kind == "table":
        return table
    texts = any(pa.types.is_string(field.type) for field in table.schema)
    out = np.empty((n, len(names)), dtype=object if texts else np.float64)
    for j, column in enumerate(table.columns):
        out[:, j] = column.to_pylist() if texts else column.to_numpy()
    return out
