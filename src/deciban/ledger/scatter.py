"""Weight, means and centred co-moment per class and *pair* of features, for full covariances.

Where a cell is missing, every pair of features is summed over the rows that have both, so the mean of i
depends on which j it is paired with: `mean[k, i, j] + rest[k, i, j]` is the mean of x_i over the rows that
have x_i and x_j (a pair of doubles, as in `Moments`). Where nothing is missing the weight is K×1×1 and the
mean K×d×1, and the formulas below broadcast.
Merged pair by pair with the update of Chan, Golub & LeVeque (1983). Weights and co-moments are pairs of doubles, too.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.ledger.double_double import SUM_CHUNK_CELLS, Pair, difference, matrix_product
from deciban.ledger.moments import (
    MEAN_ROUNDING_FRACTION,
    PAIR_ROUNDING_FRACTION,
    CentredStatistic,
    Merged,
    Moments,
    clamp_squares,
    merge_means,
    round_mean_of_constant,
    subtract_means,
)
from deciban.ledger.statistic import divide, rows_by_class


@dataclass(frozen=True, eq=False, slots=True)
class Scatter(CentredStatistic):
    """Weight n_kij, mean_kij and co-moment C_kij = Σ w (x_i − mean_ij)(x_j − mean_ji) of each pair of features.

    >>> s = Scatter.of(np.array([[0.0, 0.0], [2.0, 4.0]]), np.array([0, 0], np.int32), None, 1)
    >>> s.comoment[0].tolist()
    [[2.0, 4.0], [4.0, 8.0]]
    """

    weight: Array
    mean: Array
    rest: Array
    comoment: Array
    weight_rest: Array = None  # type: ignore[assignment]
    comoment_rest: Array = None  # type: ignore[assignment]
    square_array: ClassVar[str] = "comoment"

    @classmethod
    def _of_rows(cls, X: NDArray[Any], codes: Codes, weight: Array | None, n_classes: int, exact: bool) -> Self:
        """Centre each class on its means, then compute one matrix product for it; NaN is left out, pair by pair."""
        w = np.ones(len(X)) if weight is None else weight
        centres = Moments.of(X, codes, w, n_classes)
        d = X.shape[1]
        missing = np.isnan(X) if X.dtype.kind == "f" else np.zeros(X.shape, dtype=np.bool_)
        wide = bool(missing.any())
        out = cls.empty(n_classes, d, wide)
        of_class = _sum_class_exactly if exact else _sum_class
        for k, rows in rows_by_class(codes):
            n, mean, comoment = of_class(X[rows], w[rows], missing[rows], centres.mean[k], wide)
            out.weight[k], out.weight_rest[k] = n
            out.mean[k], out.rest[k] = mean
            out.comoment[k], out.comoment_rest[k] = comoment
        return out

    @classmethod
    def empty(cls, n_classes: int, n_features: int, wide: bool = False) -> Self:
        """Return the scatter of no rows; `wide` where each pair of features has a weight and means of its own."""
        K, d = n_classes, n_features
        weight, mean = ((d, d), (d, d)) if wide else ((1, 1), (d, 1))
        return cls(*(np.zeros((K, *shape)) for shape in (weight, mean, mean, (d, d))))

    @property
    def complete(self) -> bool:
        """Whether every pair of features occurred in the same rows, as where nothing is missing."""
        return bool((self.weight == self.weight[:, :1, :1]).all())

    @property
    def moments(self) -> Moments:
        """The diagonal: weight, mean and squares of each feature."""
        d = np.arange(self.n_features)
        return Moments(*(a[:, d, d] if a.shape[2] > 1 else a[:, :, 0] for a in self.arrays().values()))

    def __add__(self, other: Self) -> Self:
        with np.errstate(over="ignore", invalid="ignore"):
            both = merge_means(self, other)
            total = _add_between(self.squares, other.squares, both)
        return type(self)(both.weight.high, *both.mean, total.high, both.weight.low, total.low)

    def __sub__(self, other: Self) -> Self:
        """Return the scatter that, merged with `other`, gives this one."""
        with np.errstate(over="ignore", invalid="ignore"):
            left = subtract_means(self, other)
            total = _add_between(self.squares, other.squares, left, sign=-1)
        n = left.weight.high
        if (n == 0).any():
            _ = self.moments - other.moments  # refuses to subtract all rows where others were learned
        total = total.where(n != 0)
        made = type(self)(n, *left.mean, total.high, left.weight.low, total.low)
        return made._clamp_diagonal(self, 1 + divide(other.weight, n))

    def _clamp_diagonal(self, before: Self, lever: Array) -> Self:
        """Refuse a negative variance and clamp rounding errors; changes the arrays of `self`, not yet shared."""
        d = np.arange(self.n_features)
        own, past = self.moments, before.moments
        lever_own = lever[:, d, d] if lever.shape[1] > 1 else lever[:, :, 0]
        slip = MEAN_ROUNDING_FRACTION * np.abs(past.mean) * lever_own
        m2 = clamp_squares(own.squares, past.m2, own.weight, slip)
        self.comoment[:, d, d], self.comoment_rest[:, d, d] = m2
        tolerance = MEAN_ROUNDING_FRACTION * np.sqrt(divide(past.m2, past.weight)) * lever_own
        mean = round_mean_of_constant(self.mean_pair, m2.high[:, :, None] == 0, tolerance[:, :, None])
        return replace(self, mean=mean.high, rest=mean.low)

    def take_features(self, order: NDArray[np.intp]) -> Self:
        """See `Statistic.take_features`."""

        def reorder_array(a: Array) -> Array:
            rows = a if a.shape[1] == 1 else a[:, order]
            return rows if a.shape[2] == 1 else rows[:, :, order]

        return type(self)(**{name: reorder_array(a) for name, a in self.arrays().items()})


def _add_between(first: Pair, second: Pair, merged: Merged, sign: int = 1) -> Pair:
    """Return first ± (second + the products between the two), in blocks of rows that fit the cache."""
    K, d, _ = first.high.shape
    out = Pair(np.empty((K, d, d)), np.empty((K, d, d)))
    columns = Pair(*(np.swapaxes(a, 1, 2) for a in merged.weighted_gap))
    step = max(1, SUM_CHUNK_CELLS // max(1, d))
    for k in range(K):
        for i in range(0, d, step):

            def rows(pairs: Pair, k: int = k, i: int = i) -> Pair:
                return Pair(*(a[k] if a.shape[1] == 1 else a[k, i : i + step] for a in pairs))

            change = rows(second).plus(rows(merged.gap).times(rows(columns)))
            total = rows(first).plus(change if sign > 0 else change.negative())
            out.high[k, i : i + step], out.low[k, i : i + step] = total
    return out


def _sum_class(
    X: NDArray[Any], w: Array, missing: NDArray[np.bool_], centre: Array, wide: bool
) -> tuple[Pair, Pair, Pair]:
    """Return weight, mean and co-moment of one class's rows, by plain sums about `centre`; `wide`: of each pair."""
    gap = np.where(missing, 0.0, X.astype(np.float64, copy=False) - centre)
    weighted = gap * w[:, None]
    present = (~missing).astype(np.float64)
    if wide:
        n = _sum_pair_weights(present, w)
        rest = divide(weighted.T @ present, n.high)
        mean = np.where(n.high == 0, 0.0, centre[:, None])
    else:
        n = Pair.of(w[:, None, None]).sum_rows()
        rest = divide(weighted.sum(axis=0)[:, None], n.high)
        mean = centre[:, None]
    product = weighted.T @ gap - n.high * rest * rest.T
    return n, Pair(mean, rest), Pair.of((product + product.T) / 2)


def _sum_pair_weights(present: Array, w: Array) -> Pair:
    """Return Σ w over the rows that have both features of each pair, without rounding."""
    weighted = present * w[:, None]
    if (w == np.rint(w)).all():
        return Pair.of(weighted.T @ present)
    return matrix_product(Pair.of(weighted), Pair.of(present))


def _sum_class_exactly(
    X: NDArray[Any], w: Array, missing: NDArray[np.bool_], centre: Array, wide: bool
) -> tuple[Pair, Pair, Pair]:
    """Return what `_sum_class` does, by sums in pairs of doubles."""
    gap = difference(np.where(missing, centre, X.astype(np.float64, copy=False)), centre)
    weighted = gap.scale(w[:, None])
    present = (~missing).astype(np.float64)
    if wide:
        n = _sum_pair_weights(present, w)
        drift = matrix_product(weighted, Pair.of(present))
    else:
        n = Pair.of(w[:, None, None]).sum_rows()
        total = weighted.sum_rows()
        drift = Pair(total.high[:, None], total.low[:, None])
    shift = drift.over(n)
    mean = Pair.of(centre[:, None]).plus(shift).where(n.high != 0)
    product = _subtract_products(matrix_product(weighted, gap), drift.times(Pair(shift.high.T, shift.low.T)))
    mirrored = Pair(product.high.T, product.low.T)
    return n, mean, product.plus(mirrored).scale(0.5)


def comoment_about(products: Pair, n: Pair, shift: Pair) -> Pair:
    """Return co-moments about the mean c + shift from Σ w (x_i − c_i)(x_j − c_j), where no value is missing."""
    weighted = shift.times(n)
    outer = Pair(weighted.high[:, None], weighted.low[:, None]).times(Pair(*(a[None] for a in shift)))
    return _subtract_products(products, outer)


def _subtract_products(products: Pair, between: Pair) -> Pair:
    """Return products − between, d×d, with zero where it is only rounding of the squares of the two features."""
    size = np.sqrt(np.abs(np.diag(products.high)))
    left = products.minus(between)
    return left.where(~(np.abs(left.high) <= PAIR_ROUNDING_FRACTION * np.outer(size, size)))
