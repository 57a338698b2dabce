"""Weight, mean and centred sum of squares per class and feature, the statistic of the Gaussian.

Merged and subtracted by the update of Chan, Golub & LeVeque (1983), never through raw sums of squares:
at mean 1e8 and deviation 1 those lose every digit of the variance.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.ledger.double_double import Pair, difference
from deciban.ledger.statistic import ROUNDING_FRACTION, NotLearnedError, Statistic, divide, is_rounding, rows_by_class

MEAN_ROUNDING_FRACTION = 64 * np.finfo(np.float64).eps
"""Means carry rounding errors of about this fraction of themselves, so squares below (fraction·mean)² are noise."""

PAIR_ROUNDING_FRACTION = 2.0**-98
"""Squares kept in pairs of doubles carry rounding of at most this fraction of themselves."""

MAX_MEAN_SHIFT = 1e-3
"""The squared difference of two means of the same rows is less than this fraction of their variance."""

EXACT_RELATIVE_ERROR = 1e-12
"""Relative error up to which the result of a subtraction counts as exact."""

NEGLIGIBLE_VARIANCE = 1e-20
"""An error of a variance below this fraction of the column's mean square is negligible."""

SAMPLE_ROWS = 32
"""Number of rows of a class from which its scale is estimated."""

MAX_EXACT_ROWS = 8
"""A class with at most this many rows has no reliable scale: all of them are summed exactly."""

MAX_SQUARE_RATIO = 2000.0
"""Largest mean square, in squared scales, at which plain sums are used (for a Gaussian it is about 10, and seldom
beyond 1000 in a sample of 16): their rounding is below 1e-12 of the squares of any fiftieth of the rows."""

MAX_NEAR_DEVIATION = 64.0
"""Rows within this many scales (about 20 standard deviations) are summed in plain doubles, others exactly."""


class CentredStatistic(Statistic):
    """Sums about a mean; weight, mean and squares (or products) are pairs of doubles.

    At mean 1e8 a double is good to 1e-8; merging by such means would spoil a variance of 1 in its ninth digit.

    The fields are, in this order: weight, mean, its remainder, the squares, and the remainders of weight and squares.
    """

    __slots__ = ()
    square_array: ClassVar[str]
    """The name of the array of squares."""
    weight: Array
    weight_rest: Array
    mean: Array
    rest: Array

    def __post_init__(self) -> None:
        for name, array in self.arrays().items():
            if array is None:
                object.__setattr__(self, name, np.zeros_like(getattr(self, name.removesuffix("_rest"))))

    @classmethod
    def of(cls, X: NDArray[Any], codes: Codes, weight: Array | None, n_classes: int) -> Self:
        """Sum rows about the means of their classes; outliers are summed separately, in pairs of doubles.

        NaN is left out.
        """
        # a row without weight is not an outlier, and makes none of others
        if weight is not None and not weight.all():
            X, codes, weight = X[weight != 0], codes[weight != 0], weight[weight != 0]
        far = find_far_rows(X, codes)
        if not far.any():
            return cls._of_rows(X, codes, weight, n_classes, exact=False)
        near, outliers = (
            cls._of_rows(X[rows], codes[rows], None if weight is None else weight[rows], n_classes, exact)
            for rows, exact in ((~far, False), (far, True))
        )
        return near + outliers

    @classmethod
    @abstractmethod
    def _of_rows(cls, X: NDArray[Any], codes: Codes, weight: Array | None, n_classes: int, exact: bool) -> Self:
        """Compute the statistic of all these rows alike, in pairs of doubles if `exact`; NaN is left out."""

    @property
    def shape(self) -> tuple[int, int]:
        """See `Statistic.shape`."""
        return self.mean.shape[0], self.mean.shape[1]

    @property
    def squares(self) -> Pair:
        """The squares, or products, about the mean in two parts."""
        return Pair(getattr(self, self.square_array), getattr(self, f"{self.square_array}_rest"))

    @property
    def weight_pair(self) -> Pair:
        """The weight in two parts."""
        return Pair(self.weight, self.weight_rest)

    @property
    def mean_pair(self) -> Pair:
        """The mean in two parts."""
        return Pair(self.mean, self.rest)

    def __mul__(self, factor: float | Array) -> Self:
        factor = np.reshape(factor, (-1, *[1] * (self.mean.ndim - 1)))
        weight = self.weight_pair.scale(factor)
        kept = weight.high != 0
        mean, squares = self.mean_pair.where(kept), self.squares.scale(factor).where(kept)
        return type(self)(weight.high, *mean, squares.high, weight.low, squares.low)  # type: ignore[call-arg]


class Merged(NamedTuple):
    """Weight and mean after a merge or a subtraction, and the factors of the squares between the two.

    Entry (i, j) of the scatter between the two is gap_i · weighted_gap_j.
    """

    weight: Pair
    mean: Pair
    gap: Pair
    weighted_gap: Pair


def merge_means(a: CentredStatistic, b: CentredStatistic) -> Merged:
    """Merge weights and means (Chan, Golub & LeVeque): mean = mean_a + δ n_b/n; gap δ, weighted gap δ n_a n_b/n.

    Where one of them has no weight it has no mean, and the gap is zero.
    """
    first, last = a.weight == 0, b.weight == 0
    n_a, n_b, mean_a, mean_b = a.weight_pair, b.weight_pair, a.mean_pair, b.mean_pair
    n = n_a.plus(n_b)
    share = n_b.over(n)
    gap = mean_b.minus(mean_a).where(~(first | last))
    mean = mean_a.plus(gap.times(share)).where(~first, mean_b)
    return Merged(n, mean, gap, gap.times(n_a.times(share)))


def subtract_means(a: CentredStatistic, b: CentredStatistic) -> Merged:
    """Return weight and mean of a without b, refusing if b weighs more: mean = mean_a + (mean_a − mean_b) n_b/n."""
    n_a, n_b, mean_a = a.weight_pair, b.weight_pair, a.mean_pair
    n = n_a.minus(n_b)
    n = n.where(~is_rounding(n.high, np.broadcast_to(n_a.high, n.high.shape), n_b.high, "weight"))
    short = mean_a.minus(b.mean_pair).where((n.high != 0) & (n_b.high != 0))
    step = short.times(n_b.over(n))
    gap = short.plus(step)
    mean = mean_a.plus(step).where(n.high != 0)
    return Merged(n, mean, gap, gap.times(n_b.times(n).over(n_a)))


@dataclass(frozen=True, eq=False, slots=True)
class Moments(CentredStatistic):
    """Weight n_kj (K×d, or K×1 where nothing was missing), mean_kj and squares M2_kj = Σ w (x − mean)².

    Each of them is a pair of doubles: `weight`, `mean` and `m2` are the nearest doubles; `weight_rest`, `rest` and
    `m2_rest` (zero by default) the remainders. So an outlier can be forgotten without losing the squares of the
    other rows.

    >>> m = Moments.of(np.array([[1.0], [3.0]]), np.array([0, 0], np.int32), None, 1)
    >>> m.mean.item(), m.m2.item()
    (2.0, 2.0)
    """

    weight: Array
    mean: Array
    rest: Array
    m2: Array
    weight_rest: Array = None  # type: ignore[assignment]
    m2_rest: Array = None  # type: ignore[assignment]
    square_array: ClassVar[str] = "m2"

    @classmethod
    def _of_rows(cls, X: NDArray[Any], codes: Codes, weight: Array | None, n_classes: int, exact: bool) -> Self:
        """Compute the moments in two passes: the class means, then sums about them; NaN is left out."""
        some = X.dtype.kind == "f" and bool(np.isnan(X).any())
        n, n_rest = np.zeros((2, n_classes, X.shape[1] if some else 1))
        mean, rest, m2, m2_rest = np.zeros((4, n_classes, X.shape[1]))
        for k, rows in rows_by_class(codes):
            x = X[rows].astype(np.float64, copy=False)
            w = None if weight is None else weight[rows, None]
            if some:
                known = ~np.isnan(x)
                x, w = np.where(known, x, 0.0), known * (1.0 if w is None else w)
            n[k], n_rest[k] = (len(rows), 0.0) if w is None else Pair.of(w).sum_rows()
            mean[k] = divide(_sum_weighted(x, w), n[k])
            if exact:
                v = np.ones((len(x), 1)) if w is None else w
                sums = sum_about(x, v, mean[k])
                mean[k], rest[k], m2[k], m2_rest[k] = moments_about(mean[k], Pair(n[k], n_rest[k]), *sums)
                continue
            gap = x - mean[k]
            rest[k] = divide(_sum_weighted(gap, w), n[k])
            m2[k] = np.maximum(_sum_weighted(gap * gap, w) - n[k] * rest[k] ** 2, 0.0)
        return cls(n, mean, rest, m2, n_rest, m2_rest)

    def __add__(self, other: Self) -> Self:
        with np.errstate(over="ignore", invalid="ignore"):
            both = merge_means(self, other)
            m2 = self.squares.plus(other.squares).plus(both.gap.times(both.weighted_gap))
        return type(self)(both.weight.high, *both.mean, m2.high, both.weight.low, m2.low)

    def __sub__(self, other: Self) -> Self:
        """Return the moments that, merged with `other`, give these."""
        with np.errstate(over="ignore", invalid="ignore"):
            left = subtract_means(self, other)
            squares = self.squares.minus(other.squares).minus(left.gap.times(left.weighted_gap))
        n = left.weight.high
        self._refuse_other_rows(other, n)
        lever = 1 + divide(other.weight, n)
        m2 = clamp_squares(squares.where(n != 0), self.m2, n, MEAN_ROUNDING_FRACTION * np.abs(self.mean) * lever)
        mean = round_mean_of_constant(
            left.mean, m2.high == 0, MEAN_ROUNDING_FRACTION * np.sqrt(divide(self.m2, self.weight)) * lever
        )
        return type(self)(n, *mean, m2.high, left.weight.low, m2.low)

    def _refuse_other_rows(self, other: Self, n: Array) -> None:
        """Refuse to subtract all of the weight where the mean of `other` differs from that of these rows.

        The rounding error of a mean after many subtractions is far below this bound, unless all rows have one value.
        """
        with np.errstate(over="ignore"):
            shift = other.weight * (self.mean - other.mean) ** 2
        lacking = (n == 0) & (self.m2 > 0) & (shift > MAX_MEAN_SHIFT * self.m2)
        if lacking.any():
            k, j = (int(i) for i in np.argwhere(lacking)[0])
            raise NotLearnedError("mean", k, j, float(self.mean[k, j]), float(other.mean[k, j]))


def _sum_weighted(x: Array, w: Array | None) -> Array:
    """Return Σ w·x by column; without weights every row weighs one."""
    return x.sum(axis=0) if w is None else (w * x).sum(axis=0)


def sum_about(x: Array, w: Array, centre: Array) -> tuple[Pair, Pair]:
    """Return Σ w (x − centre) and Σ w (x − centre)² over the rows, in pairs of doubles."""
    with np.errstate(over="ignore", invalid="ignore"):
        gap = difference(x, centre)
        weighted = gap.scale(w)
        return weighted.sum_rows(), weighted.times(gap).sum_rows()


def moments_about(centre: Array, n: Pair, drift: Pair, squares: Pair) -> tuple[Array, Array, Array, Array]:
    """Return mean and its remainder, the squares about it and their remainder, from the sums of `sum_about`."""
    with np.errstate(over="ignore", invalid="ignore"):
        shift = drift.over(n)
        m2 = squares.minus(drift.times(shift))
        m2 = m2.where(~(m2.high <= PAIR_ROUNDING_FRACTION * squares.high))  # overflowed values stay as they are
        return *Pair.of(centre).plus(shift), *m2


def clamp_squares(squares: Pair, before: Array, n: Array, slip: Array) -> Pair:
    """Return the squares, with zero for those that differ from it only by rounding; refuse those further below zero.

    `before` are the squares before the subtraction, n the weight after it.

    `slip` is the rounding error of means that were summed in single doubles: a few units in the last place of the
    mean before, times the factor by which subtracting most of the rows magnifies it.
    """
    noise = ROUNDING_FRACTION * before + n * slip**2 + 2 * np.sqrt(before * n) * slip
    lacking = squares.high < -noise
    if lacking.any():
        k, j = (int(i) for i in np.argwhere(lacking)[0])
        present = np.broadcast_to(before, squares.high.shape)[k, j]
        raise NotLearnedError("sum of squares", k, j, float(present), float(present - squares.high[k, j]))
    return squares.where(~(squares.high <= PAIR_ROUNDING_FRACTION * before))


def round_mean_of_constant(mean: Pair, constant: NDArray[np.bool_], tolerance: Array) -> Pair:
    """Return the mean; where all values are equal it is a single double, and zero if within `tolerance` of zero.

    Plain sums leave such rounding in a mean; zeros with a mean of 1e-17 could not be forgotten any more.
    """
    high = np.where(constant & (np.abs(mean.high) <= tolerance), 0.0, mean.high)
    return Pair(high, np.where(constant, 0.0, mean.low))


def find_lost_digits(before: Moments, left: Moments) -> tuple[int, int, int] | None:
    """Return class, feature and digits of the least accurate variance after a subtraction; None if all are exact.

    Squares that cancel to zero are exact where their rounding error is negligible against the column's values.
    """
    n = np.broadcast_to(left.weight, left.mean.shape)
    error = np.where((n > 0) & (left.weight != before.weight), PAIR_ROUNDING_FRACTION * before.m2, 0.0)
    if not (error > EXACT_RELATIVE_ERROR * left.m2).any():
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        size = divide((left.m2 + n * left.mean**2).sum(axis=0), n.sum(axis=0))
        unsure = (error > np.maximum(EXACT_RELATIVE_ERROR * left.m2, NEGLIGIBLE_VARIANCE * n * size)) & (size > 0)
    if not unsure.any():
        return None
    share = np.where(unsure, np.minimum(divide(error, left.m2, 1.0), 1.0), 1e-300)
    digits = -np.log10(share)
    k, j = (int(i) for i in np.unravel_index(np.argmin(digits), digits.shape))
    return k, j, int(digits[k, j])


def find_far_rows(X: NDArray[Any], codes: Codes) -> NDArray[np.bool_]:
    """Return whether each row must be summed in more than double precision: it is an outlier or its class is small.

    A plain sum of squares is exact to about 1e-16 of itself. That is enough unless a few rows make up nearly all of
    it: once these are forgotten, their rounding error is left. The scale of a class's column is a low quantile of its
    deviations from the median, taken from a few rows, so that up to three quarters of them may be outliers.
    """
    far = np.zeros(len(X), dtype=np.bool_)
    for _, rows in rows_by_class(codes) if len(X) > 1 else ():
        if len(rows) > 1:
            far[rows] = len(rows) <= MAX_EXACT_ROWS or _find_far(X[rows].astype(np.float64, copy=False))
    return far


def _find_far(x: Array) -> NDArray[np.bool_]:
    """Return whether each row of one class is an outlier in any column; see `find_far_rows`."""
    sample = x if len(x) <= SAMPLE_ROWS else x[np.linspace(0, len(x) - 1, SAMPLE_ROWS).astype(np.intp)]
    centre = _lower_quantile(np.sort(sample, axis=0), 2)
    gap = np.abs(x - centre)
    squares, present = np.nan_to_num(gap**2).sum(axis=0), (~np.isnan(gap)).sum(axis=0)
    scale = _lower_quantile(_nonzero_deviations(sample, centre), 4)
    constant = np.flatnonzero((scale == 0) & (squares > 0))
    if constant.size:
        scale[constant] = _lower_quantile(_nonzero_deviations(x[:, constant], centre[constant]), 4)
    wide = np.flatnonzero(squares > MAX_SQUARE_RATIO * present * scale**2)
    return np.asarray((gap[:, wide] > MAX_NEAR_DEVIATION * scale[wide]).any(axis=1))


def _nonzero_deviations(x: Array, centre: Array) -> Array:
    """Return |x − centre| sorted by column, with zeros replaced by NaN."""
    gap = np.abs(x - centre)
    return np.sort(np.where(gap > 0, gap, np.nan), axis=0)


def _lower_quantile(ordered: Array, parts: int) -> Array:
    """Return the value of each sorted column that ends the first of `parts` equal parts; 0 where all are missing."""
    last = (~np.isnan(ordered)).sum(axis=0) - 1
    place = np.maximum(last, 0) // parts
    return np.where(last < 0, 0.0, np.take_along_axis(ordered, place[None], axis=0)[0])
