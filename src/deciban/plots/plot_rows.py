"""The rows of a table that a picture is drawn from: some columns as numbers, and the class of each row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from deciban.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from deciban.sources.source import Reading, Source

MOST_DRAWN = 2000
"""Rows that are drawn: more would hide each other, and a picture of them all takes long to open."""


def numbers_and_classes(
    source: Source, columns: Sequence[str], target: str
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """These columns as numbers, NaN where one is missing, and each row's class; rows without a class are left out."""
    import numpy as np

    from deciban.model.matrices import check_columns
    from deciban.sources.arrow_cells import to_numbers, to_texts

    wanted: dict[str, Reading] = {**dict.fromkeys(columns, "number"), target: "text"}
    checked_columns(source, [*columns, target])
    X, y = [np.empty((0, len(columns)))], []
    with _numbers_wanted():
        for batch in source.batches(check_columns(source, wanted, allow_missing=False)):
            X.append(np.column_stack([to_numbers(batch.column(name), name) for name in columns]))
            y += to_texts(batch.column(target)).to_pylist()
    labels = np.array(y, dtype=object)
    known = np.array([label is not None for label in y], dtype=bool)
    if not known.any():
        raise InputError(f"{source.name} has no row with a class in {target!r}, so there is nothing to draw")
    return np.concatenate(X)[known], labels[known].astype(str)


@contextmanager
def _numbers_wanted() -> Iterator[None]:
    """A picture has no roles to give: what is drawn is numbers."""
    try:
        yield
    except InputError as error:
        what, hint, _ = str(error).partition("Hint: ")
        advice = "draw columns of numbers; --missing TEXT names a text that stands for nothing"
        raise InputError(what + hint + advice if hint else what) from None


def checked_columns(source: Source, wanted: Sequence[str]) -> None:
    """Refuse a column that is not there, or that is named twice."""
    from deciban.errors import did_you_mean

    for i, name in enumerate(wanted):
        if name not in source.columns:
            shown = ", ".join(source.columns[:20]) + (" …" if len(source.columns) > 20 else "")
            near = did_you_mean(name, source.columns)
            raise InputError(f"{source.name} has no column {name!r}{near or '.'} Hint: there are {shown}")
        if name in wanted[:i]:
            raise InputError(f"column {name!r} is named twice. Hint: a column to draw is not the one to predict")


def thinned(n: int, most: int = MOST_DRAWN) -> NDArray[np.intp]:
    """The rows that are drawn: all, or so many of them at random, the same each time."""
    import numpy as np

    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))
