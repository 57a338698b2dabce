"""How probable rows usually are, so that a row like none of them is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError

KEPT = 1001
"""Quantiles that are kept: every thousandth of the rows, from the least probable on."""


@dataclass(frozen=True, eq=False)
class Novelty:
    """Quantiles of ln p(x) a cell, of rows judged by a model that had not learned them.

    >>> usual = Novelty.of(np.arange(-200.0, 0.0))
    >>> usual.threshold(0.01)
    -198.0
    """

    quantiles: Array
    rows: int

    @classmethod
    def of(cls, typicality: Array, weight: Array | None = None) -> Self:
        """The quantiles of these rows: the least value that so many of them do not exceed."""
        w = np.ones(len(typicality)) if weight is None else weight
        some = ~np.isnan(typicality)  # of the others nothing was known, so they are no yardstick
        typicality, w = typicality[some], w[some]
        order = np.argsort(typicality, kind="stable")
        values, passed = typicality[order], np.cumsum(w[order])
        if not len(values) or not passed[-1] > 0:
            raise InputError("there are no rows from which to tell what is usual")
        shares = np.linspace(0.0, 1.0, min(KEPT, len(values) + 1))
        at = np.searchsorted(passed, shares * passed[-1], side="right")
        return cls(values[np.minimum(at, len(values) - 1)], int(np.count_nonzero(w)))

    def threshold(self, share: float) -> float:
        """At most this share of the rows is less probable, a cell, than that."""
        if isinstance(share, bool) or not isinstance(share, (int, float, np.number)) or not 0 <= share < 1:
            raise InputError(
                f"reject_novel is the share of usual rows that may pass for novel, from 0 to below 1, not {share!r}. "
                f"Hint: 0.01"
            )
        place = int(np.floor(share * (len(self.quantiles) - 1) + 1e-9))
        return float(self.quantiles[place])

    def novel(self, typicality: Array, share: float) -> NDArray[np.bool_]:
        """Which rows are less probable, a cell, than all but this share of the usual ones; or say nothing at all."""
        return ~(typicality >= self.threshold(share))


def require_novelty(novelty: Novelty | None) -> Novelty:
    """What is usual, where that is known."""
    if novelty is None:
        raise InputError(
            "this model does not know which rows are usual. Hint: deciban.train measures it as it judges the model "
            "(judge=True), the facades by fit_novelty(X, y) with the rows they have learned; learning more undoes it"
        )
    return novelty


def density_per_cell(density: Array, cells: Array) -> Array:
    """ln p(x) a cell; NaN where no cell says anything: of such a row nothing is known."""
    return np.where(cells > 0, density / np.where(cells > 0, cells, 1.0), np.nan)
