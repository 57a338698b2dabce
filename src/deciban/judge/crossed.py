"""What would have been learned without each fold, from one pass over all rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import accumulate
from typing import Any

import numpy as np

from deciban.ledger import Bags, Ledger, Schema, Statistic, Tallies


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

    Sums, so that a fold with a row far out leaves no rounding behind, as it would if it were taken away. Words are
    many, and whole numbers mostly: of these what is in the fold is taken away from all.
    """
    wide = [is_wide(part) for part in folds[0].parts]
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


def is_wide(part: Statistic) -> bool:
    """Whether a statistic is kept by what occurs, so that adding up many takes long."""
    return isinstance(part, (Bags, Tallies))
