"""Novelty detection: quantiles of the density of usual rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError

MAX_QUANTILES = 1001
"""Largest number of stored quantiles: every thousandth of the rows, from the least probable on."""


@dataclass(frozen=True, eq=False)
class Novelty:
    """Quantiles of ln p(x) per cell, of rows scored by a model that was fitted without them.

    >>> usual = Novelty.of(np.arange(-200.0, 0.0))
    >>> usual.threshold(0.01)
    -198.0
    """

    quantiles: Array
    rows: int

    @classmethod
    def of(cls, typicality: Array, weight: Array | None = None) -> Self:
        """Compute the quantiles of these rows."""
        w = np.ones(len(typicality)) if weight is None else weight
        some = ~np.isnan(typicality)  # rows without any observed cell are left out
        typicality, w = typicality[some], w[some]
        order = np.argsort(typicality, kind="stable")
        values, passed = typicality[order], np.cumsum(w[order])
        if not len(values) or not passed[-1] > 0:
            raise InputError("there are no rows from which to measure what is usual")
        shares = np.linspace(0.0, 1.0, min(MAX_QUANTILES, len(values) + 1))
        at = np.searchsorted(passed, shares * passed[-1], side="right")
        return cls(values[np.minimum(at, len(values) - 1)], int(np.count_nonzero(w)))

    def threshold(self, share: float) -> float:
        """Return the typicality below which at most this share of the usual rows lies."""
        if isinstance(share, bool) or not isinstance(share, (int, float, np.number)) or not 0 <= share < 1:
            raise InputError(
                f"reject_novel is the share of usual rows that may pass for novel, from 0 to below 1, not {share!r}. "
                f"Hint: 0.01"
            )
        place = int(np.floor(share * (len(self.quantiles) - 1) + 1e-9))
        return float(self.quantiles[place])

    def novel(self, typicality: Array, share: float) -> NDArray[np.bool_]:
        """Return which rows are less typical than all but this share of usual rows, or have no observed cell."""
        return ~(typicality >= self.threshold(share))


def require_novelty(novelty: Novelty | None) -> Novelty:
    """Return the novelty; refuse a model without one."""
    if novelty is None:
        raise InputError(
            "this model does not know which rows are usual. Hint: deciban.train measures it when it evaluates "
            "(judge=True), estimators by fit_novelty(X, y) with the rows they have learned; learning more discards it"
        )
    return novelty


def density_per_cell(density: Array, cells: Array) -> Array:
    """Return ln p(x) per observed cell; NaN for rows without observed cells."""
    return np.where(cells > 0, density / np.where(cells > 0, cells, 1.0), np.nan)
