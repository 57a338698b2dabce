"""A belief judged by rows it has not learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.generative import GenerativeModel
from deciban.ledger.statistic import Array
from deciban.linear.fitted_model import FittedModel
from deciban.metrics.scorecard import BINS, Scorecard


def score_rows(
    belief: GenerativeModel | FittedModel,
    parts: Sequence[Any],
    codes: NDArray[np.integer[Any]],
    weight: Array | None,
    threads: int,
    bins: int = BINS,
    *,
    keep: bool = False,
    number: NDArray[np.integer[Any]] | None = None,
) -> Scorecard:
    """Judge a belief by rows it has not learned; a class it has learned no row of is unknown to it.

    `keep` keeps the rows, by their `number` in the table, for ranking and thresholds.
    """
    known = belief.ledger.rows > 0
    if not len(codes):
        return Scorecard.empty(len(known), bins)
    return Scorecard.of(
        belief.scores(parts, "log_posterior", threads), codes, weight, known, bins, keep=keep, number=number
    )
