"""What confidence is worth: how often a call was right in each bin of confidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from deciban.ledger.statistic import Array
from deciban.metrics.intervals import wilson
from deciban.plain_json import plain


@dataclass(frozen=True, eq=False, slots=True)
class Reliability:
    """Bins of equal width of the confidence in the class called; NaN where a bin has no rows.

    >>> bins = np.array([[0.0, 4.0], [0.0, 3.2], [0.0, 3.0]])
    >>> table = Reliability.of(bins, 1.0)
    >>> table.confidence.tolist(), table.hits.tolist()
    ([nan, 0.8], [nan, 0.75])
    """

    weight: Array
    confidence: Array
    """The mean confidence in each bin."""
    hits: Array
    """The share of the rows of each bin that were called rightly."""
    low: Array
    """Where the share lies at least, 95 % sure (Wilson)."""
    high: Array
    """Where it lies at most."""

    @classmethod
    def of(cls, bins: Array, rows_per_weight: float) -> Self:
        """The sums of a scorecard: weight, confidence, hits."""
        weight, confidence, hits = bins
        nothing = np.full(len(weight), np.nan)
        mean, share = (np.divide(v, weight, out=nothing.copy(), where=weight > 0) for v in (confidence, hits))
        share = np.minimum(share, 1.0)
        ends = np.array([wilson(s, w * rows_per_weight) if w else (np.nan, np.nan) for s, w in zip(share, weight)])
        return cls(weight, mean, share, ends[:, 0], ends[:, 1])

    def to_dict(self) -> dict[str, Any]:
        """By name, as JSON knows it."""
        return {name: plain(getattr(self, name)) for name in self.__slots__}
