"""Closed forms of leave-one-out: the rows that are left out, and the dispatch on the family of a block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban._typing import Array, Codes
from deciban.ledger import Counts, Needs
from deciban.ledger.statistic import LEFTOVER_FRACTION, subtract_checked

CHUNK_CELLS = 1 << 19
"""The numbers held in memory at a time: some megabytes."""

MIN_REMAINING_SHARE = 1e-6
"""The share of a sum that must remain without a row: below it too many digits are lost, and the row is refitted."""


@dataclass(frozen=True)
class LeftOutRows:
    """The class and weight of each row that is left out; `needs_refit` marks rows that no closed form can score."""

    codes: Codes
    weight: Array
    needs_refit: NDArray[np.bool_]

    def chunks(self, cells: int) -> Iterator[slice]:
        """Yield slices of rows so small that `cells` numbers for each row fit `CHUNK_CELLS`."""
        step = max(1, CHUNK_CELLS // max(1, cells))
        return (slice(start, start + step) for start in range(0, len(self.codes), step))

    @property
    def have_one_weight(self) -> bool:
        """Whether all rows have the same weight."""
        return bool((self.weight == self.weight[:1]).all())


@dataclass(frozen=True)
class LeftOutBlock:
    """A block of features of rows that are left out, with the statistic and the score form learned from all rows."""

    part: Any
    form: Any
    X: Any
    need: Needs
    rows: LeftOutRows
    threads: int

    def joint_scores(self, form: Any = None, X: Any = None) -> Array:
        """Compute ln p(x|k) by the score form of all rows, or by another form or of other values of the rows."""
        form, X = self.form if form is None else form, self.X if X is None else X
        scores: Array = engines.apply([form], [X], [self.need], np.zeros(form.n_classes), "joint", self.threads)
        return scores


@singledispatch
def score_without_row(family: Any, block: LeftOutBlock) -> Array | None:
    """Compute ln p(x|k), n×K, of each row by the statistics of all other rows; None if there is no closed form.

    Each family registers its own form.
    """
    return None


def subtract_weight(before: Array, removed: Any) -> Array:
    """Return `before − removed`, with 0 where rounding leaves a remainder of nothing."""
    return subtract_checked(before, np.broadcast_to(removed, before.shape), "weight")


def has_rest(before: Array, removed: Array) -> NDArray[np.bool_]:
    """Return whether anything remains of a weight."""
    return before - removed > LEFTOVER_FRACTION * before


def counts_excluding(part: Counts, x: Array, k: Codes, w: Array) -> Counts:
    """Return the counts of each row's class k without the row, c×1×d."""
    here = ~np.isnan(x)
    total = subtract_weight(part.total[k], w[:, None] * np.where(here, x, 0.0))
    weight = np.broadcast_to(part.weight, part.total.shape)[k]
    return Counts(total[:, None], subtract_weight(weight, w[:, None] * here)[:, None])
