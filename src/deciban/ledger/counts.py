"""Counts: Σ w·x per class and feature, the statistic of Bernoulli, multinomial and Poisson."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.ledger.statistic import Statistic, rows_by_class, subtract_checked


def apply_threshold(X: NDArray[Any], threshold: float | None) -> Array:
    """Return the values to count: x itself, or the indicator [x > threshold]; NaN stays NaN."""
    if threshold is None:
        return X.astype(np.float64, copy=False)
    seen = (threshold < X).astype(np.float64)
    if X.dtype.kind == "f":
        seen[np.isnan(X)] = np.nan
    return seen


@dataclass(frozen=True, eq=False, slots=True)
class Counts(Statistic):
    """Weighted sums of values, by class and feature.

    `total` is Σ w·x (K×d); `weight` is Σ w over the rows that have the value, K×d, or K×1 where none was missing.

    >>> Counts.of(np.array([[1.0, 0.0], [1.0, 2.0]]), np.array([0, 1], np.int32), None, 2).total.tolist()
    [[1.0, 0.0], [1.0, 2.0]]
    """

    total: Array
    weight: Array

    @classmethod
    def of(
        cls, X: NDArray[Any], codes: Codes, weight: Array | None, n_classes: int, threshold: float | None = None
    ) -> Self:
        """Count the rows of X, read by `threshold`, into their classes."""
        some = X.dtype.kind == "f" and bool(np.isnan(X).any())
        total = np.zeros((n_classes, X.shape[1]))
        n = np.zeros((n_classes, X.shape[1] if some else 1))
        for k, rows in rows_by_class(codes):
            x = apply_threshold(X[rows], threshold)
            w = np.ones((len(rows), 1)) if weight is None else weight[rows, None]
            if some:
                w = w * ~np.isnan(x)
                x = np.nan_to_num(x)
            total[k], n[k] = (w * x).sum(axis=0), w.sum(axis=0)
        return cls(total, n)

    @property
    def shape(self) -> tuple[int, int]:
        """See `Statistic.shape`."""
        return self.total.shape[0], self.total.shape[1]

    def __add__(self, other: Self) -> Self:
        return type(self)(self.total + other.total, self.weight + other.weight)

    def __sub__(self, other: Self) -> Self:
        before, removed = np.broadcast_arrays(self.weight, other.weight)
        weight = subtract_checked(before, removed, "weight")
        return type(self)(subtract_checked(self.total, other.total, "count"), weight)
