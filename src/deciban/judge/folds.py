"""Exact k-fold cross-validation without a second scan: the model without a fold is a subtraction of ledgers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.belief import Assumption, Belief
from deciban.errors import InputError
from deciban.judge.metrics import BINS, Scorecard
from deciban.ledger import Ledger
from deciban.ledger.statistic import Array


def without_each(assumption: Assumption, total: Ledger, folds: Iterable[Ledger]) -> Iterator[Belief]:
    """What is believed without the first fold, without the second, …; one at a time, since each may be large.

    The schema is the whole table's: classes and levels keep their places, whichever fold is left out.
    """
    for fold in folds:
        yield Belief(assumption, total.without(fold))


def score_folds(
    beliefs: Iterable[Belief],
    parts: Sequence[Any],
    fold_of_row: NDArray[np.integer[Any]],
    codes: NDArray[np.integer[Any]],
    weight: Array | None,
    threads: int,
    bins: int = BINS,
) -> Scorecard:
    """Judge every row by the belief of its own fold: the i-th belief has not learned the rows with `fold_of_row` i.

    `parts` are the matrices for the beliefs' blocks, `codes` the places of the rows' classes. The rows may be a
    sample of those that were learned.
    """
    card: Scorecard | None = None
    judged = 0
    for i, belief in enumerate(beliefs):
        rows = np.flatnonzero(fold_of_row == i)
        judged += len(rows)
        w = None if weight is None else weight[rows]
        part = score_rows(belief, [X[rows] for X in parts], codes[rows], w, threads, bins)
        card = part if card is None else card + part
    if card is None or judged < len(fold_of_row):
        raise InputError(
            f"{len(fold_of_row) - judged} of {len(fold_of_row)} rows belong to no fold that has a belief. "
            f"Hint: fold_of_row counts from 0, in the order of the beliefs."
        )
    return card


def score_rows(
    belief: Belief,
    parts: Sequence[Any],
    codes: NDArray[np.integer[Any]],
    weight: Array | None,
    threads: int,
    bins: int = BINS,
) -> Scorecard:
    """Judge a belief by rows it has not learned; a class it has learned no row of is unknown to it."""
    known = belief.ledger.rows > 0
    if not len(codes):
        return Scorecard.empty(len(known), bins)
    return Scorecard.of(belief.scores(parts, "log_posterior", threads), codes, weight, known, bins)
