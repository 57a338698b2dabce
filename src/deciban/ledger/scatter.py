"""Scatter: per class and *pair* of features, weight, means and centred co-moment; for full covariances.

Where a cell is missing, every pair of features is summed over the rows that have both, so the mean of i
depends on which j it is paired with: `mean[k, i, j] + rest[k, i, j]` is the mean of x_i over the rows that
have x_i and x_j (a pair of doubles, as in `Moments`). Where nothing is missing the weight is K×1×1 and the
mean K×d×1, and the formulas below broadcast.
Merged pair by pair with the update of Chan, Golub & LeVeque (1983).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deciban.ledger.counts import place
from deciban.ledger.moments import ULPS, Moments, clamp
from deciban.ledger.statistic import Array, Codes, divide, merged_means, nudge, rows_by_class, same, take_away


def flip(pairs: Array) -> Array:
    """Entry (j, i) at (i, j)."""
    return np.swapaxes(pairs, 1, 2)


@dataclass(frozen=True, eq=False, slots=True)
class Scatter:
    """n_kij, mean_kij and C_kij = Σ w (x_i − mean_ij)(x_j − mean_ji).

    >>> s = Scatter.of(np.array([[0.0, 0.0], [2.0, 4.0]]), np.array([0, 0], np.int32), None, 1)
    >>> s.comoment[0].tolist()
    [[2.0, 4.0], [4.0, 8.0]]
    """

    weight: Array
    mean: Array
    rest: Array
    comoment: Array

    @classmethod
    def of(cls, X: NDArray[Any], codes: Codes, weight: Array | None, n_classes: int) -> Self:
        """Centre each class on its own means, then one product a class; NaN is left out, pair by pair."""
        centres = Moments.of(X, codes, weight, n_classes)
        d = X.shape[1]
        missing = np.isnan(X) if X.dtype.kind == "f" else np.zeros(X.shape, dtype=np.bool_)
        w = np.ones(len(X)) if weight is None else weight
        out = cls.empty(n_classes, d) if not missing.any() else cls._wide(n_classes, d)
        for k, rows in rows_by_class(codes):
            part = _one_class(X[rows], w[rows], missing[rows], centres.mean[k], bool(missing.any()))
            out.weight[k], out.mean[k], out.rest[k], out.comoment[k] = part
        return out

    @classmethod
    def empty(cls, n_classes: int, n_features: int) -> Self:
        """Nothing learned yet."""
        K, d = n_classes, n_features
        return cls(np.zeros((K, 1, 1)), np.zeros((K, d, 1)), np.zeros((K, d, 1)), np.zeros((K, d, d)))

    @classmethod
    def _wide(cls, K: int, d: int) -> Self:
        return cls(*(np.zeros((K, d, d)) for _ in range(4)))

    @property
    def n_classes(self) -> int:
        """K."""
        return self.comoment.shape[0]

    @property
    def n_features(self) -> int:
        """d."""
        return self.comoment.shape[1]

    @property
    def complete(self) -> bool:
        """Whether every pair of features was seen in the same rows: nothing was missing."""
        return bool((self.weight == self.weight[:, :1, :1]).all())

    @property
    def moments(self) -> Moments:
        """The diagonal: each feature's own weight, mean and squares."""
        d = np.arange(self.n_features)
        if self.weight.shape[1] == 1:
            return Moments(self.weight[:, :, 0], self.mean[:, :, 0], self.rest[:, :, 0], self.comoment[:, d, d])
        return Moments(*(a[:, d, d] for a in (self.weight, self.mean, self.rest, self.comoment)))

    def __add__(self, other: Self) -> Self:
        n, mean, rest, gap, pull = merged_means(self, other)
        return type(self)(n, mean, rest, self.comoment + other.comoment + gap * flip(gap) * pull)

    def __sub__(self, other: Self) -> Self:
        """The scatter that, merged with `other`, gives this."""
        before, removed = np.broadcast_arrays(self.weight, other.weight)
        n = take_away(before, removed, "weight")
        lever = divide(removed, n)
        gap = (self.mean - other.mean) + (self.rest - other.rest)
        mean, rest = nudge(self.mean, self.rest, gap * lever)
        stretched = gap * (1 + lever)
        between = stretched * flip(stretched) * removed * divide(n, before)
        gone = n == 0
        parts = (mean, rest, self.comoment - other.comoment - between)
        left = type(self)(n, *(np.where(gone, 0.0, a) for a in parts))
        left._mend_diagonal(self, lever)
        return left

    def _mend_diagonal(self, before: Self, lever: Array) -> None:
        """Refuse a negative variance; clamp what is only rounding. `self` is not yet anyone else's."""
        d = np.arange(self.n_features)
        own, past = self.moments, before.moments
        lever_own = lever[:, d, d] if lever.shape[1] > 1 else lever[:, :, 0]
        slip = ULPS * np.abs(past.mean) * (1 + lever_own)
        self.comoment[:, d, d] = clamp(own.m2, past.m2, own.weight, slip)

    def __mul__(self, factor: float) -> Self:
        weight = self.weight * factor
        parts = (self.mean, self.rest, self.comoment * factor)
        return type(self)(weight, *(np.where(weight == 0, 0.0, a) for a in parts))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scatter) and same(self, other)

    def spread(self, index: NDArray[np.intp], n_classes: int) -> Self:
        """See `Statistic.spread`."""
        return type(self)(*(place(a, index, n_classes) for a in self.arrays().values()))

    def take(self, index: NDArray[np.intp]) -> Self:
        """See `Statistic.take`."""
        return type(self)(*(a[index] for a in self.arrays().values()))

    def reorder(self, order: NDArray[np.intp]) -> Self:
        """See `Statistic.reorder`."""

        def moved(a: Array) -> Array:
            rows = a if a.shape[1] == 1 else a[:, order]
            return rows if a.shape[2] == 1 else rows[:, :, order]

        return type(self)(*(moved(a) for a in (self.weight, self.mean, self.rest, self.comoment)))

    def relevel(self, places: Sequence[NDArray[np.intp] | None], sizes: Sequence[int]) -> Self:
        """Scatter has no levels."""
        return self

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """See `Statistic.arrays`."""
        return {"weight": self.weight, "mean": self.mean, "rest": self.rest, "comoment": self.comoment}


def _one_class(
    X: NDArray[Any], w: Array, missing: NDArray[np.bool_], centre: Array, wide: bool
) -> tuple[Array, Array, Array, Array]:
    """Weight, mean (in two parts) and co-moment of one class's rows, by sums about `centre`."""
    gap = np.where(missing, 0.0, X.astype(np.float64, copy=False) - centre)
    weighted = gap * w[:, None]
    if not wide:
        n = w.sum(keepdims=True)[:, None]
        rest = divide(weighted.sum(axis=0)[:, None], n)
        return n, centre[:, None], rest, _symmetric(weighted.T @ gap - n * rest * rest.T)
    present = (~missing).astype(np.float64)
    n = (present * w[:, None]).T @ present
    rest = divide(weighted.T @ present, n)
    mean = np.where(n == 0, 0.0, centre[:, None])
    return n, mean, rest, _symmetric(weighted.T @ gap - n * rest * rest.T)


def _symmetric(product: Array) -> Array:
    return (product + product.T) / 2
