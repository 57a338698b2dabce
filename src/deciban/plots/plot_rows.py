"""The rows of a picture: read from a table or taken from arrays, checked, and with the limits of the axes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError, UndefinedError
from deciban.formatting import format_count
from deciban.plots.boundary_geometry import Window
from deciban.sources.arrow_types import is_text
from deciban.sources.source import ColumnReading, Source, check_column
from deciban.training.cell_styles import CellStyle, parse_given_numbers
from deciban.training.column_roles import HEAD_ROWS

MAX_DRAWN_ROWS = 2000
"""The number of rows that are drawn: more would hide each other, and the picture would take long to open."""


def infer_number_readings(source: Source, columns: Sequence[str]) -> dict[str, ColumnReading]:
    """Return how columns are read as numbers: in the format of their first cells, as in training."""
    _check_columns(source, columns)
    head = source.head(HEAD_ROWS)
    style = CellStyle.of(source, "", is_complete=head.num_rows < HEAD_ROWS)
    readings: dict[str, ColumnReading] = {}
    for name in columns:
        known = head.column(name).combine_chunks().drop_null()
        numbers = parse_given_numbers(known, style) if is_text(known.type) else None
        readings[name] = "number" if numbers is None or numbers.format is None else numbers.format
    return readings


def read_numbers_and_classes(
    source: Source, columns: Mapping[str, ColumnReading], target: str
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return columns as numbers, NaN if missing, and the class of each row; rows without a class are left out.

    `columns` are the names of the columns of numbers, and how each is read.
    """
    from deciban.sources.arrow_cells import to_numbers, to_texts
    from deciban.sources.cell_conversion import read_converted

    wanted: dict[str, ColumnReading] = {**columns, target: "text"}
    _check_columns(source, [*columns, target])
    X, y = [np.empty((0, len(columns)))], []
    try:
        for batch in read_converted(source, wanted):
            X.append(np.column_stack([to_numbers(batch.column(name), name) for name in columns]))
            y += to_texts(batch.column(target)).to_pylist()
    except InputError as error:  # other hints: a picture has no roles and draws numbers
        problem, hint, advice = str(error).partition("Hint: ")
        others = [part for part in advice.split("; ") if part and "--as" not in part]
        raise InputError(
            problem + hint + "; ".join(["draw columns of numbers", *others]) if hint else problem
        ) from None
    labels = np.array(y, dtype=object)
    known = np.array([label is not None for label in y], dtype=bool)
    if not known.any():
        raise InputError(f"{source.name} has no row with a class in {target!r}, so there is nothing to draw")
    return np.concatenate(X)[known], labels[known].astype(str)


def _check_columns(source: Source, wanted: Sequence[str]) -> None:
    """Refuse a column that does not exist or is named twice."""
    for i, name in enumerate(wanted):
        check_column(source, name)
        if name in wanted[:i]:
            raise InputError(f"column {name!r} is named twice. Hint: a column to draw is not the one to predict")


def choose_drawn_rows(n: int) -> NDArray[np.intp]:
    """Return the indices of the rows to draw: all n, or `MAX_DRAWN_ROWS` at random with a fixed seed, in order."""
    if n <= MAX_DRAWN_ROWS:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, MAX_DRAWN_ROWS, replace=False))


MARGIN = 0.06
"""The margin on every side, as a share of the data's range."""

Feature = int | str


@dataclass(frozen=True)
class View:
    """Rows without missing values, the indices of their classes, names of columns and classes, and the limits."""

    X: Array
    codes: NDArray[np.intp]
    names: list[str]
    classes: list[Any]
    window: Window

    def of(self, k: int) -> Array:
        """Return the rows of class k."""
        return self.X[self.codes == k]


def make_view(model: Any, X: Any, y: Any, features: Sequence[Feature], names: Sequence[str] | None = None) -> View:
    """Return the rows of X without missing values in the model's columns, with y as indices in `classes_`.

    Values are 0 and 1 if the model binarises them. `names` are those of the columns, by default as fitted, or x0, x1.
    """
    d = int(model.n_features_in_)
    if d > 2:
        raise UndefinedError(
            f"a picture shows a model of one or two columns; this {type(model).__name__} was fitted on {d}. "
            "Hint: fit it on two, as in model.fit(X[:, [0, 1]], y), and name them: boundary(..., features=(0, 1))."
        )
    places = _find_columns(model, X, features, d)
    rows = _to_numbers(X)[:, places]
    if getattr(model, "binarize", None) is not None:  # the model uses only whether the value exceeds it
        rows = np.where(np.isnan(rows), np.nan, rows > model.binarize)
    codes = _to_codes(model, y, len(rows))
    complete = ~np.isnan(rows).any(axis=1)
    if not complete.any():
        raise InputError(f"X has no row without missing values among its {len(rows)}, so there is nothing to draw")
    if names is None:
        names = getattr(model, "feature_names_in_", [f"x{j}" for j in places])
    if isinstance(names, str) or len(names) != d:
        raise InputError(f"names must be a list with one name for each of the {d} columns, not {names!r}")
    shown, labels = rows[complete], [str(name) for name in names]
    return View(shown, codes[complete], labels, list(model.classes_.tolist()), make_window(shown))


def _find_columns(model: Any, X: Any, features: Sequence[Feature], d: int) -> list[int]:
    """Return the numbers of d columns of X; refuse columns that the model was not fitted on."""
    names = [str(name) for name in getattr(X, "columns", [])]
    width = len(names) or _to_numbers(X).shape[1]
    wanted = list(features)[:1] if d == 1 and tuple(features) == (0, 1) else list(features)
    if len(wanted) != d:
        many = "column" if d == 1 else "two columns"
        raise InputError(f"features must name the {many} the model was fitted on, not {tuple(features)!r}")
    for feature in wanted:
        if isinstance(feature, str) and feature not in names:
            has = f"X has {', '.join(names)}" if names else "X has no column names. Hint: give numbers"
            raise InputError(f"features names the column {feature!r}, and {has}.")
        if not isinstance(feature, str) and not 0 <= feature < width:
            raise InputError(f"features names column {feature}, and X has {width} (0 to {width - 1}).")
    found = [names.index(feature) if isinstance(feature, str) else int(feature) for feature in wanted]
    if names and hasattr(model, "feature_names_in_"):
        chosen, fitted = [names[j] for j in found], [str(name) for name in model.feature_names_in_]
        if chosen != fitted:
            raise InputError(
                f"the model was fitted on {fitted}, and features picks {chosen}. Hint: features={fitted!r}"
            )
    return found


def _to_numbers(X: Any) -> Array:
    """Return X as a dense matrix of numbers, NaN if missing; refuse other shapes, texts and infinite values."""
    dense = X.toarray() if hasattr(X, "toarray") else X
    try:
        rows = np.asarray(dense, dtype=np.float64)
    except (TypeError, ValueError) as why:
        raise InputError(f"X must hold numbers to be drawn: {why}") from None
    if rows.ndim != 2 or not rows.size:
        raise InputError(f"X must be rows × columns with at least one of each, not of shape {rows.shape}")
    if np.isinf(rows).any():
        i, j = np.argwhere(np.isinf(rows))[0]
        raise InputError(
            f"X has an infinite value in row {i}, column {j}, which no axis reaches. Hint: leave it out."
        )
    return rows


def _to_codes(model: Any, y: Any, n: int) -> NDArray[np.intp]:
    """Return the index in `classes_` of each of n classes; refuse another number of them, and unknown ones."""
    labels, classes = np.asarray(y), model.classes_
    if labels.shape != (n,):
        raise InputError(f"y must hold one class for each of the {n} rows of X, not shape {labels.shape}")
    unknown = ~np.isin(labels, classes)
    if unknown.any():
        first, n_unknown = int(np.flatnonzero(unknown)[0]), int(unknown.sum())
        raise InputError(
            f"y has {format_count(n_unknown, 'row')} of unknown classes (first: {labels[first]!r} "
            f"in row {first}); the model has {', '.join(map(str, classes))}. Hint: leave those rows out."
        )
    return np.searchsorted(classes, labels)


def make_window(rows: Array) -> Window:
    """Return the range of the rows with a margin; of a constant column at least one unit each way."""
    low, high = rows.min(axis=0), rows.max(axis=0)
    margin = np.where(high > low, (high - low) * MARGIN, np.maximum(1.0, np.abs(high) * MARGIN))
    return Window(low - margin, high + margin)
