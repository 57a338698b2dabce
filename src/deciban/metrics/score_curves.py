"""Curves of one class against all others: ROC, precision and recall at every threshold of a score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array


@dataclass(frozen=True, eq=False, slots=True)
class Curve:
    """Cumulated hits and false alarms of the rows from each score upwards: a point per distinct score, falling.

    >>> curve = Curve.of(np.array([0.9, 0.8, 0.8, 0.1]), np.array([True, True, False, False]), np.ones(4))
    >>> curve.hits.tolist(), curve.alarms.tolist(), curve.area, round(curve.average_precision, 4)
    ([1.0, 2.0, 2.0], [0.0, 1.0, 2.0], 0.875, 0.8333)
    """

    score: Array
    """The distinct scores, highest first."""
    hits: Array
    """Σw of the rows of the class that have at least this score."""
    alarms: Array
    """Σw of all other rows that have at least this score."""

    @classmethod
    def of(cls, score: Array, positive: NDArray[np.bool_], weight: Array) -> Self:
        """Build the curve of rows; rows of equal score are one point."""
        order = np.argsort(-score)  # four times as fast as a stable sort; equal scores are merged anyway
        falling = score[order]
        last = np.append(np.flatnonzero(falling[1:] != falling[:-1]), len(falling) - 1)[: len(falling)]
        w, is_positive = weight[order], positive[order]
        hits, alarms = (np.cumsum(np.where(rows, w, 0.0))[last] for rows in (is_positive, ~is_positive))
        return cls(falling[last], hits, alarms)

    @property
    def n_hits(self) -> float:
        """Σw of the rows of the class."""
        return float(self.hits[-1]) if len(self.hits) else 0.0

    @property
    def n_alarms(self) -> float:
        """Σw of the other rows."""
        return float(self.alarms[-1]) if len(self.alarms) else 0.0

    @property
    def precision(self) -> Array:
        """The share of the class among the rows predicted as the class."""
        return self.hits / (self.hits + self.alarms)

    @property
    def recall(self) -> Array:
        """The share of the rows of the class that are predicted as the class; NaN where there is no row of it."""
        return self.hits / self.n_hits if self.n_hits else np.full(len(self.hits), np.nan)

    @property
    def area(self) -> float:
        """The area under the ROC curve: the probability that a row of the class scores above another, ties half."""
        if not (self.n_hits and self.n_alarms):
            return np.nan
        hits, alarms = (np.append(0.0, sums) for sums in (self.hits, self.alarms))
        return float(np.trapezoid(hits / self.n_hits, alarms / self.n_alarms))

    @property
    def average_precision(self) -> float:
        """Σ (recall − recall before) · precision over the falling scores; NaN where there is no row of the class."""
        if not self.n_hits:
            return np.nan
        return float(np.diff(self.recall, prepend=0.0) @ self.precision)

    def roc(self) -> tuple[Array, Array, Array]:
        """Return false and true positive rates, from (0, 0) to (1, 1), and the threshold of each point."""
        with np.errstate(invalid="ignore"):
            false, true = (np.append(0.0, sums) / sums[-1:] for sums in (self.alarms, self.hits))
        return false, true, np.append(np.inf, self.score)

    def precision_recall(self) -> tuple[Array, Array, Array]:
        """Return precision and recall, rising in recall, and the threshold of each point."""
        return self.precision, self.recall, self.score
