"""Ledgers of fold models: of all folds but each, of the folds before each, of all rows but each, from one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from deciban.ledger import Bags, Grid, Ledger, Schema, Statistic, Tallies
from deciban.validation.splits import Folds

ROWS_PER_BATCH = 64
"""The number of rows left out one by one whose ledgers are kept at the same time,"""

MAX_BATCH_BYTES = 1 << 27
"""unless their ledgers would take more memory than this, about."""

RowIndex = NDArray[np.intp]

Model = TypeVar("Model")


def split_by_fold(ledger: Ledger, classes: Sequence[Any], n_folds: int) -> list[Ledger]:
    """Return the ledger of each fold, from one in which class k of fold f was counted as class k·F + f."""
    schema = Schema(tuple(np.asarray(classes).tolist()), ledger.schema.blocks)
    index = np.arange(len(classes)) * n_folds
    return [
        Ledger(schema, ledger.rows[index + f], tuple(part.take_classes(index + f) for part in ledger.parts))
        for f in range(n_folds)
    ]


def ledgers_excluding_each(folds: Sequence[Ledger]) -> Iterator[Ledger]:
    """Yield the ledger of all folds but the first, but the second …: the sum of those before it and those after it.

    Sums, so that a fold with an outlier leaves no rounding behind, as subtracting it would. Statistics kept by what
    occurs are long, and mostly whole numbers: of these the fold is subtracted from the total.
    """
    wide = [_is_wide(parts) for parts in zip(*(fold.parts for fold in folds))]
    narrow = [fold.choose([[] if w else None for w in wide]) for fold in folds]
    after = list(accumulate(reversed(narrow[1:]), lambda a, b: b + a))
    before = narrow[0].empty()
    totals = [reduce(lambda a, b: a + b, (fold.parts[i] for fold in folds)) for i in np.flatnonzero(wide)]
    for fold, own in zip(folds, narrow):
        rest = before + after.pop() if after else before
        differences = (total - fold.parts[i] for total, i in zip(totals, np.flatnonzero(wide)))
        sums = iter(rest.parts)
        yield Ledger(fold.schema, rest.rows, tuple(next(differences) if w else next(sums) for w in wide))
        before = before + own


def ledgers_before_each(folds: Sequence[Ledger]) -> Iterator[Ledger]:
    """Yield the ledger of all folds before the first (empty), before the second …"""
    before = folds[0].empty()
    for fold in folds:
        yield before
        before = before + fold


def ledgers_excluding_each_row(
    rows: RowIndex,
    total: Ledger,
    outside: Ledger,
    count_together: Callable[[RowIndex], Ledger],
    count_each: Callable[[RowIndex], Sequence[Ledger]],
) -> Iterator[tuple[RowIndex, Iterator[Ledger]]]:
    """Yield batches of the rows, with the ledgers of all rows but the first of them, but the second …

    `outside` is the ledger of the rows that are not among these, `total` of all. Half of the rows are added to those
    outside for the other half, and so on: nothing but words is ever subtracted, so an outlier leaves no rounding
    behind.
    """
    frame = total.empty()
    if len(rows) <= max(1, min(ROWS_PER_BATCH, MAX_BATCH_BYTES // max(1, total.nbytes))):
        rests = ledgers_excluding_each([frame + outside, *(frame + own for own in count_each(rows))])
        next(rests)
        yield rows, rests
        return
    halves = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    for half, other in (halves, halves[::-1]):
        yield from ledgers_excluding_each_row(
            half, total, outside + count_together(other), count_together, count_each
        )


def _is_wide(parts: Sequence[Statistic]) -> bool:
    """Return whether statistics are kept by what occurs, so that adding many is slow; grids only if unweighted."""
    if isinstance(parts[0], Grid):
        return all((part.table == np.floor(part.table)).all() for part in parts if isinstance(part, Grid))
    return isinstance(parts[0], (Bags, Tallies))


def score_by_fold(
    models: Iterable[Model | None], fold: Folds, score: Callable[[Model, RowIndex], tuple[NDArray[Any], ...]]
) -> list[NDArray[Any]]:
    """Score the rows of each fold by its model; return the arrays that `score` returns, for all rows in their order.

    Rows that no model scores (of fold −1, or of a fold whose model is None) have NaN, or False.
    """
    indices, results = [], []
    for f, model in enumerate(models):
        index = np.flatnonzero(fold == f)
        if model is not None and len(index):
            indices.append(index)
            results.append(score(model, index))
    return [_scatter(indices, parts, len(fold)) for parts in zip(*results)]


def _scatter(indices: Sequence[RowIndex], parts: Sequence[NDArray[Any]], n: int) -> NDArray[Any]:
    fill = np.nan if parts[0].dtype.kind == "f" else 0
    out = np.full((n, *parts[0].shape[1:]), fill, dtype=parts[0].dtype)
    for index, part in zip(indices, parts):
        out[index] = part
    return out
