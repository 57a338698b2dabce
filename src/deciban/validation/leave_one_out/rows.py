"""Rows that are left out one by one: their classes, their weights, and those for which no closed form will do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.ledger import Counts
from deciban.ledger.statistic import LEFTOVER_FRACTION, subtract_checked

CELLS = 1 << 19
"""Numbers held at a time: some megabytes."""

CANCELLED = 1e-6
"""If less than this share of a sum is left without a row, too many digits are gone: such rows are counted anew."""


@dataclass(frozen=True)
class RowsLeftOut:
    """The class and weight of each row; `todo` is set where a row is to be dealt with by the definition."""

    codes: Codes
    weight: Array
    todo: NDArray[np.bool_]

    def chunks(self, cells: int) -> Iterator[slice]:
        """The rows, so many at a time that `cells` numbers for each fit."""
        step = max(1, CELLS // max(1, cells))
        return (slice(start, start + step) for start in range(0, len(self.codes), step))


def left(before: Array, removed: Any) -> Array:
    """`before − removed`, where rounding leaves nothing of nothing."""
    return subtract_checked(before, np.broadcast_to(removed, before.shape), "weight")


def is_left(before: Array, removed: Array) -> NDArray[np.bool_]:
    """Whether anything is left of a weight."""
    return before - removed > LEFTOVER_FRACTION * before


def counts_without(part: Counts, x: Array, k: Codes, w: Array) -> Counts:
    """What class k's counts are without each row, c×1×d."""
    here = ~np.isnan(x)
    total = left(part.total[k], w[:, None] * np.where(here, x, 0.0))
    weight = np.broadcast_to(part.weight, part.total.shape)[k]
    return Counts(total[:, None], left(weight, w[:, None] * here)[:, None])
