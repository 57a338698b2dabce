"""The class prior π: counted, smoothed, uniform, or given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from deciban._typing import Array

Kind = Literal["empirical", "smoothed", "uniform", "given"]


@dataclass(frozen=True)
class ClassPrior:
    """π_k = n_k/n, (n_k + l)/(n + lK), 1/K, or as given.

    Before any row is learned the empirical prior is uniform: there is nothing to prefer a class by.

    >>> ClassPrior("smoothed", alpha=1.0).solve(np.array([3.0, 0.0])).tolist()
    [0.8, 0.2]
    """

    kind: Kind = "empirical"
    alpha: float = 1.0
    given: tuple[float, ...] | None = None

    def solve(self, rows: Array) -> Array:
        """π from the weight of each class's rows."""
        if self.kind == "given":
            return np.array(self.given, dtype=np.float64)
        if self.kind == "smoothed":
            rows = rows + self.alpha
        if self.kind == "uniform" or rows.sum() == 0:
            rows = np.ones(len(rows))
        return rows / rows.sum()
