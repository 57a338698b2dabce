"""What would have been learned without each fold, from one pass over all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.ledger import Bags, Grid, Ledger, Schema, Statistic, Tallies

MOST_ALONE = 10_000
"""Rows that may each be left out by the definition: everything is solved as many times, which takes minutes."""

AT_ONCE = 64
"""Rows left out alone whose ledgers are kept at the same time,"""

MOST_BYTES = 1 << 27
"""unless these would take more memory than this, about."""

Numbers = NDArray[np.intp]


def parted(ledger: Ledger, classes: Sequence[Any], n_folds: int) -> list[Ledger]:
    """The ledger of each fold, from one in which class k of fold f was counted as class k·F + f."""
    schema = Schema(tuple(np.asarray(classes).tolist()), ledger.schema.blocks)
    index = np.arange(len(classes)) * n_folds
    return [
        Ledger(schema, ledger.rows[index + f], tuple(part.take(index + f) for part in ledger.parts))
        for f in range(n_folds)
    ]


def all_but_each(folds: Sequence[Ledger]) -> Iterator[Ledger]:
    """The ledger of all folds but the first, but the second …: of those before it and of those after it.

    Sums, so that a fold with a row far out leaves no rounding behind, as it would if it were taken away. What is kept
    by what occurs is long, and whole numbers mostly: of this what is in the fold is taken away from all.
    """
    wide = [is_wide(parts) for parts in zip(*(fold.parts for fold in folds))]
    narrow = [fold.choose([[] if w else None for w in wide]) for fold in folds]
    after = list(accumulate(reversed(narrow[1:]), lambda a, b: b + a))
    before = narrow[0].empty()
    totals = [reduce(lambda a, b: a + b, (fold.parts[i] for fold in folds)) for i in np.flatnonzero(wide)]
    for fold, own in zip(folds, narrow):
        rest = before + after.pop() if after else before
        words = (total - fold.parts[i] for total, i in zip(totals, np.flatnonzero(wide)))
        others = iter(rest.parts)
        yield Ledger(fold.schema, rest.rows, tuple(next(words) if w else next(others) for w in wide))
        before = before + own


def before_each(folds: Sequence[Ledger]) -> Iterator[Ledger]:
    """The ledger of all folds before the first (nothing), before the second …"""
    before = folds[0].empty()
    for fold in folds:
        yield before
        before = before + fold


def each_left_out(
    rows: Numbers,
    total: Ledger,
    outside: Ledger,
    together: Callable[[Numbers], Ledger],
    alone: Callable[[Numbers], Sequence[Ledger]],
) -> Iterator[tuple[Numbers, Iterator[Ledger]]]:
    """Some of the rows at a time, and the ledgers of all rows but the first of them, but the second …

    `outside` is the ledger of the rows that are not among these, `total` of all; `together` counts any of the rows,
    `alone` each of them. Half of the rows join those outside for the sake of the other half, and so on: nothing but
    words is ever taken away, so a row far out leaves no rounding behind.
    """
    frame = total.empty()
    if len(rows) <= max(1, min(AT_ONCE, MOST_BYTES // max(1, total.nbytes))):
        rests = all_but_each([frame + outside, *(frame + own for own in alone(rows))])
        next(rests)
        yield rows, rests
        return
    first, second = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    yield from each_left_out(first, total, outside + together(second), together, alone)
    yield from each_left_out(second, total, outside + together(first), together, alone)


def is_wide(parts: Sequence[Statistic]) -> bool:
    """Whether statistics are kept by what occurs, so that adding up many takes long; numbers only if unweighted."""
    if isinstance(parts[0], Grid):
        return all((part.table == np.floor(part.table)).all() for part in parts if isinstance(part, Grid))
    return isinstance(parts[0], (Bags, Tallies))
