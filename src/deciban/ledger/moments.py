"""Moments: weight, mean and centred sum of squares per class and feature, the statistic of the Gaussian.

Merged and taken apart by the update of Chan, Golub & LeVeque (1983), never through raw sums of squares:
at mean 1e8 and deviation 1 those lose every digit of the variance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deciban.ledger.counts import place
from deciban.ledger.statistic import (
    ROUNDING,
    Array,
    Codes,
    Lacking,
    divide,
    merged_means,
    nudge,
    rows_by_class,
    same,
    take_away,
)

ULPS = 64 * np.finfo(np.float64).eps
"""Means carry rounding of about this fraction of themselves, so squares below (ULPS·mean)² are noise."""


@dataclass(frozen=True, eq=False, slots=True)
class Moments:
    """n_kj (K×d, or K×1 where nothing was missing), mean_kj and M2_kj = Σ w (x − mean)².

    The mean is a pair of doubles: `mean`, and in `rest` what it cannot hold.

    >>> m = Moments.of(np.array([[1.0], [3.0]]), np.array([0, 0], np.int32), None, 1)
    >>> m.mean.item(), m.m2.item()
    (2.0, 2.0)
    """

    weight: Array
    mean: Array
    rest: Array
    m2: Array

    @classmethod
    def of(cls, X: NDArray[Any], codes: Codes, weight: Array | None, n_classes: int) -> Self:
        """Two passes: the class means, then what is left about them; NaN is left out."""
        some = X.dtype.kind == "f" and bool(np.isnan(X).any())
        n = np.zeros((n_classes, X.shape[1] if some else 1))
        mean, rest, m2 = np.zeros((3, n_classes, X.shape[1]))
        for k, rows in rows_by_class(codes):
            x = X[rows].astype(np.float64, copy=False)
            w = None if weight is None else weight[rows, None]
            if some:
                known = ~np.isnan(x)
                x, w = np.where(known, x, 0.0), known * (1.0 if w is None else w)
            n[k] = len(rows) if w is None else w.sum(axis=0)
            mean[k] = divide(_weighted(x, w), n[k])
            gap = x - mean[k]
            rest[k] = divide(_weighted(gap, w), n[k])
            m2[k] = np.maximum(_weighted(gap * gap, w) - n[k] * rest[k] ** 2, 0.0)
        return cls(n, mean, rest, m2)

    @classmethod
    def empty(cls, n_classes: int, n_features: int) -> Self:
        """Nothing learned yet."""
        zeros = np.zeros((n_classes, n_features))
        return cls(np.zeros((n_classes, 1)), zeros, zeros, zeros)

    @property
    def n_classes(self) -> int:
        """K."""
        return self.mean.shape[0]

    @property
    def n_features(self) -> int:
        """d."""
        return self.mean.shape[1]

    def __add__(self, other: Self) -> Self:
        n, mean, rest, gap, pull = merged_means(self, other)
        return type(self)(n, mean, rest, self.m2 + other.m2 + gap**2 * pull)

    def __sub__(self, other: Self) -> Self:
        """The moments that, merged with `other`, give these."""
        before, removed = np.broadcast_arrays(self.weight, other.weight)
        n = take_away(before, removed, "weight")
        lever = divide(removed, n)
        gap = (self.mean - other.mean) + (self.rest - other.rest)
        mean, rest = nudge(self.mean, self.rest, gap * lever)
        between = (gap * (1 + lever)) ** 2 * removed * divide(n, before)
        m2 = clamp(self.m2 - other.m2 - between, self.m2, n, ULPS * np.abs(self.mean) * (1 + lever))
        gone = n == 0
        return type(self)(n, *(np.where(gone, 0.0, a) for a in (mean, rest, m2)))

    def __mul__(self, factor: float) -> Self:
        weight = self.weight * factor
        gone = weight == 0
        return type(self)(weight, *(np.where(gone, 0.0, a) for a in (self.mean, self.rest, self.m2 * factor)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Moments) and same(self, other)

    def spread(self, index: NDArray[np.intp], n_classes: int) -> Self:
        """See `Statistic.spread`."""
        return type(self)(*(place(a, index, n_classes) for a in self.arrays().values()))

    def take(self, index: NDArray[np.intp]) -> Self:
        """See `Statistic.take`."""
        return type(self)(*(a[index] for a in self.arrays().values()))

    def reorder(self, order: NDArray[np.intp]) -> Self:
        """See `Statistic.reorder`."""
        weight = self.weight if self.weight.shape[1] == 1 else self.weight[:, order]
        return type(self)(weight, *(a[:, order] for a in (self.mean, self.rest, self.m2)))

    def relevel(self, places: Sequence[NDArray[np.intp] | None], sizes: Sequence[int]) -> Self:
        """Moments have no levels."""
        return self

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """See `Statistic.arrays`."""
        return {"weight": self.weight, "mean": self.mean, "rest": self.rest, "m2": self.m2}


def _weighted(x: Array, w: Array | None) -> Array:
    """Σ w·x by column; without weights every row weighs one."""
    return x.sum(axis=0) if w is None else (w * x).sum(axis=0)


def clamp(squares: Array, before: Array, n: Array, slip: Array) -> Array:
    """Squares that rounding took below zero are zero; further below, the rows were never learned.

    `slip` is the rounding of the means left behind: a few units in the last place of the mean before,
    times the lever by which taking away most of the rows magnifies it.
    """
    noise = ROUNDING * before + n * slip**2 + 2 * np.sqrt(before * n) * slip
    lacking = squares < -noise
    if lacking.any():
        k, j = (int(i) for i in np.argwhere(lacking)[0])
        had = np.broadcast_to(before, squares.shape)[k, j]
        raise Lacking("sum of squares", k, j, float(had), float(had - squares[k, j]))
    return np.maximum(squares, 0.0)
