"""The Gaussian family, with one of eight shapes of covariance; `covariances.py` computes the matrices."""

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import UndefinedError
from deciban.families.covariances import (
    UNIT_SCALE,
    PrincipalAxes,
    ShrinkageTarget,
    count_parameters_of_axes,
    floor_correlations,
    floor_eigenvalues,
    shrink_covariance,
    shrinkage_intensity,
    tied_covariance,
)
from deciban.families.family import GAUSSIAN_PARAMETERS, Family, pool_empty
from deciban.ledger import Moments, Needs, Scatter
from deciban.ledger.moments import MEAN_ROUNDING_FRACTION
from deciban.ledger.statistic import divide
from deciban.scores import BoundedDiagonal, Diagonal, Full, LimitedFull, ScoreForm
from deciban.scores.bounded_forms import CONTAMINATION
from deciban.scores.gaussian_forms import cholesky

Covariance = Literal["full", "tied", "mixed", "diagonal", "tied_diagonal", "spherical", "tied_spherical", "identity"]

DEFAULT_MIXING = 0.5
"""λ of a mixed covariance where none is given or chosen."""

VARIANCE_FLOOR = 1e-12
"""Smallest variance as a fraction of the column's, for classes whose few rows are all equal."""

MAX_DEVIATIONS = 10.0
"""The number of standard deviations from the means of all classes beyond which a joined number counts as missing. At
4.3, where the density of a class falls to that of gross errors, it cost 0.6 nats on a table of tumours."""


@dataclass(frozen=True)
class Gaussian(Family):
    """Numbers with a normal distribution in each class.

    ln p(x|k) = −½ ln|2πΣ_k| − ½ (x−μ_k)ᵀ Σ_k⁻¹ (x−μ_k).

    `prior_rows` is the number of pseudo-observations per class with the column's pooled variance;
    `var_smoothing` adds that fraction of the widest column's variance to all (scikit-learn's ε).

    A "mixed" covariance is (1−λ) Σ_k + λ Σ, Σ the pooled one and λ `mixing`. `shrinkage` shrinks towards the pooled
    variance of each column ("diagonal"), or s̄·I, their mean ("spherical"; files that do not say mean this one).
    With `n_components` covariances are those of that many principal components; the other directions have one mean
    and one variance, which are the same in all classes (`PrincipalAxes`).

    `bounded`, for tables: with pseudo-observations, densities are bounded from below (`log_tails`); a variance is at
    least that of rounding to the column's smallest step; and a class that never had a feature has the density of all
    classes together.
    """

    covariance: Covariance = "diagonal"
    shrinkage: float | Literal["oas"] | None = None
    prior_rows: float = 0.0
    var_smoothing: float = 0.0
    bounded: bool = False
    shrinkage_target: ShrinkageTarget = "spherical"
    mixing: float = DEFAULT_MIXING
    n_components: int | None = None

    @property
    def has_pairs(self) -> bool:
        """Whether covariances of pairs of features are estimated."""
        return self.covariance in ("full", "tied", "mixed")

    @property
    def pooled_share(self) -> float:
        """λ, the share of the pooled covariance in that of each class: 0 of full ones, 1 of a tied one."""
        return {"full": 0.0, "tied": 1.0}.get(self.covariance, self.mixing)

    def needs(self) -> Needs:
        """See `Family.needs`."""
        return Needs("scatter" if self.has_pairs or self.n_components is not None else "moments")

    def solve(self, part: Moments | Scatter) -> ScoreForm:
        """See `Family.solve`."""
        moments = part.moments if isinstance(part, Scatter) else part
        mean = means(moments)
        if isinstance(part, Scatter) and self.n_components is not None:
            axes = self.principal_axes(part, self.n_components)
            form = replace(self, n_components=None).solve(axes.project(part))
            assert isinstance(form, (Diagonal, Full))
            return axes.embed(form)
        if isinstance(part, Scatter) and self.has_pairs:
            covariance = self._covariances(part)
            if not self.bounded or not self.prior_rows:
                return Full(mean, covariance)
            deviation = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
            return LimitedFull(mean, covariance, limits=find_limits(mean, deviation))
        variance = self.variances(moments)
        if not self.bounded:
            return Diagonal(mean, variance)
        tail, shares = self.log_tails(moments), class_shares(moments)
        return BoundedDiagonal(mean, variance, log_tail=tail, shares=None if shares.all() else shares)

    def log_tails(self, part: Moments) -> Array:
        """Return ln τ_j = ln c − ½ ln(2πs²_j), the log-density below which no class falls; −∞ for maximum likelihood.

        It is that of a component of weight c, `CONTAMINATION`, as wide as the column, whose total variance is s².
        Where a class has one variance for all columns, the squares of wide columns balance the norms of narrow ones
        (bounding them so lost 28 % of the rows of a table of tumours): s² is then at least that variance, and c is
        the product of the weights of all columns, so that a wide column, too, is bounded from 4.3 deviations on.
        """
        log_share = math.log(CONTAMINATION) if self.prior_rows else -math.inf
        width = positive_variance(total_variance(part))
        if self.covariance == "spherical":
            log_share, width = log_share * part.n_features, np.maximum(width, self.variances(part).max(axis=-2))
        return log_share - 0.5 * np.log(2 * np.pi * width)

    def _covariances(self, part: Scatter) -> Array:
        """Return (ν₀ S + C_k) / (ν₀ + n_k) pair by pair, S the pooled covariance; S where a class lacks the pair."""
        pooled = tied_covariance(part)
        if self.covariance == "tied":
            rows = np.array([part.moments.weight.max(axis=1).sum()])
            raw = floor_correlations(pooled, part.weight.sum(axis=0, keepdims=True))
        else:
            rows = part.moments.weight.max(axis=1)
            own = divide(self.prior_rows * pooled + part.comoment, self.prior_rows + part.weight, pooled)
            if self.covariance == "mixed":
                own = (1 - self.mixing) * own + self.mixing * pooled
            raw = floor_correlations(own, part.weight)
        if not total_variance(part.moments).any():
            return np.broadcast_to(UNIT_SCALE * np.eye(part.n_features), raw.shape).copy()
        shrunk = shrink_covariance(raw, rows, self.shrinkage, self.target_variances(pooled_variance(part.moments)))
        return floor_eigenvalues(shrunk, scale_variances(part.moments))

    def target_variances(self, pooled: Array) -> Array:
        """Return the variance of each column (…×d) towards which others are shrunk, from the pooled variances.

        The shapes "spherical" and "tied_spherical" have one variance for all columns, whatever the target.
        """
        if self.shrinkage_target == "diagonal" and "spherical" not in self.covariance:
            return pooled
        return np.broadcast_to(pooled.mean(axis=-1, keepdims=True), pooled.shape)

    def principal_axes(self, part: Scatter, n_components: int) -> PrincipalAxes:
        """Return the principal axes of all rows, of columns in units of the deviations of the shrinkage target."""
        target = self.target_variances(variance_within(part.moments))
        unit = np.sqrt(np.where(target > 0, target, positive_variance(total_variance(part.moments))))
        return PrincipalAxes.of(part, pooled_mean(part.moments), unit, n_components)

    def variances(self, part: Moments) -> Array:
        """Return σ²_kj, K×d, for the shapes without cross terms; for many ledgers at once (…×K×d), those of each."""
        spread = self._raw_variances(part)
        if self.shrinkage is not None:
            spread = self._shrink_variances(spread, part)
        total = total_variance(part)
        spread = spread + np.asarray(self._smoothing(total))[..., None, None]
        floor = VARIANCE_FLOOR * positive_variance(total)
        if self.bounded and self.covariance != "identity":
            floor = np.maximum(floor, rounding_variance(part))
        never = np.broadcast_to(part.weight, part.mean.shape).sum(axis=-2, keepdims=True) == 0
        floored = np.where(never, UNIT_SCALE, np.maximum(spread, floor[..., None, :]))
        varied = np.asarray(total.any(axis=-1))[..., None, None]
        return np.where(varied, floored, np.where(spread == 0, UNIT_SCALE, spread))

    def _raw_variances(self, part: Moments) -> Array:
        """Return (ν₀ s²_j + M2_kj) / (ν₀ + n_kj), averaged over classes or features according to the shape."""
        n = np.broadcast_to(part.weight, part.mean.shape)
        pooled = pooled_variance(part)[..., None, :]
        own = divide(self.prior_rows * pooled + part.m2, self.prior_rows + n, pooled)
        shape = part.mean.shape
        if self.covariance == "tied_diagonal":
            return np.broadcast_to(pooled, shape).copy()
        if self.covariance == "spherical":
            together = (own * n).sum(axis=-1, keepdims=True)
            mean = pooled.mean(axis=-1, keepdims=True)
            return np.broadcast_to(divide(together, n.sum(axis=-1, keepdims=True), mean), shape).copy()
        if self.covariance == "tied_spherical":
            sums = (each.sum(axis=(-2, -1), keepdims=True) for each in (part.m2, n))
            return np.broadcast_to(divide(*sums), shape).copy()
        return np.ones(shape) if self.covariance == "identity" else own

    def _shrink_variances(self, spread: Array, part: Moments) -> Array:
        """Return the variances shrunk towards those of the target."""
        rows = part.weight.max(axis=-1)
        if "tied" in self.covariance:
            rows = np.broadcast_to(rows.sum(axis=-1, keepdims=True), rows.shape)
        target = np.broadcast_to(self.target_variances(pooled_variance(part))[..., None, :], spread.shape)
        varies = target > 0
        d = varies.sum(axis=-1)
        scaled = np.where(varies, divide(spread, target), 0.0)
        unit = divide(scaled, divide(scaled.sum(axis=-1), d)[..., None])
        a = shrinkage_intensity(self.shrinkage, (unit**2).sum(axis=-1), d, rows)
        return (1 - a)[..., None] * spread + a[..., None] * target

    def epsilon(self, part: Moments) -> Any:
        """Return the variance that `var_smoothing` adds."""
        return self._smoothing(total_variance(part))

    def _smoothing(self, total: Array) -> Any:
        """Return the variance that `var_smoothing` adds to columns of this total variance."""
        return self.var_smoothing * total.max(axis=-1, initial=0.0)

    def sample(self, part: Moments | Scatter, codes: NDArray[np.intp], rng: np.random.Generator) -> Array:
        """See `Family.sample`."""
        form = self.solve(part)
        noise = rng.standard_normal((len(codes), part.n_features))
        if isinstance(form, Diagonal):
            k, j = _draw_donors(form, codes, rng), np.arange(part.n_features)
            return form.mean[k, j] + noise * np.sqrt(form.variance[k, j])
        assert isinstance(form, Full)
        lower = cholesky(form.covariance)
        correlated = np.empty_like(noise)
        for k in np.unique(codes):
            rows = codes == k
            correlated[rows] = noise[rows] @ lower[0 if form.shared else k].T
        return form.mean[codes] + correlated

    def log_likelihood(self, part: Moments | Scatter, solved: Moments | Scatter) -> float:
        """See `Family.log_likelihood`: squares about the solved mean are those about the data's mean plus n·gap²."""
        if self.bounded and self.prior_rows:
            raise UndefinedError(
                "the ledger does not say which values lie beyond the bound of a number's density, so it does not "
                "determine the likelihood. Hint: log_likelihood(X, y) computes it from the rows."
            )
        form = self.solve(solved)
        moments = part.moments if isinstance(part, Scatter) else part
        if isinstance(form, Diagonal):
            squares = moments.m2 + moments.weight * (moments.mean + moments.rest - form.mean) ** 2
            return float((moments.weight * form.log_norm - 0.5 * squares * form.precision).sum())
        assert isinstance(form, Full)
        assert isinstance(part, Scatter)
        if not part.complete:
            raise UndefinedError(
                "with missing values the ledger does not determine the likelihood of a full covariance. "
                "Hint: log_likelihood(X, y) computes it from the rows."
            )
        n, gap = moments.weight[:, 0], moments.mean + moments.rest - form.mean
        about = part.comoment + n[:, None, None] * gap[:, :, None] * gap[:, None, :]
        squares = (form.precision * about).sum(axis=(1, 2))
        return float(-(n * form.half_log_dets + 0.5 * squares).sum())

    def n_parameters(self, part: Moments | Scatter) -> int:
        """Return the number that `parameter_count("gaussian", …)` gives."""
        count, d = GAUSSIAN_PARAMETERS[self.covariance], part.n_features
        if self.n_components is None:
            return count(part.n_classes, d)
        assert isinstance(part, Scatter)
        m = self.principal_axes(part, self.n_components).n_components
        return count(part.n_classes, m) + count_parameters_of_axes(d, m)


def means(part: Moments) -> Array:
    """Return μ_kj; the mean of all classes where a class lacks the feature."""
    return pool_empty(part.mean + part.rest, part.weight, pooled_mean(part)[..., None, :])


def pooled_mean(part: Moments) -> Array:
    """Return the mean of each column over all classes."""
    n = np.broadcast_to(part.weight, part.mean.shape)
    return divide((n * part.mean).sum(axis=-2), n.sum(axis=-2))


def pooled_variance(part: Moments) -> Array:
    """Return s²_j = Σ_k M2_kj / Σ_k n_kj, the variance within classes."""
    return divide(part.m2.sum(axis=-2), np.broadcast_to(part.weight, part.mean.shape).sum(axis=-2))


def variance_within(part: Moments) -> Array:
    """Return s²_j, or 0 where it is no more than the rounding of means: the column is constant in each class."""
    pooled, largest = pooled_variance(part), np.abs(part.mean).max(axis=-2, initial=0.0)
    return np.where(np.sqrt(pooled) > MEAN_ROUNDING_FRACTION * largest, pooled, 0.0)


def scale_variances(part: Moments) -> Array:
    """Return the variance of each column within classes, or the total one where it does not vary within them.

    The repair of covariances is relative to it: a class that lies 1e6 deviations away leaves it as it is.
    """
    within = variance_within(part)
    return np.where(within > 0, within, positive_variance(total_variance(part)))


def total_variance(part: Moments) -> Array:
    """Return the variance of each column, within and between classes."""
    n = np.broadcast_to(part.weight, part.mean.shape)
    gap = part.mean - pooled_mean(part)[..., None, :]
    return divide((part.m2 + n * gap**2).sum(axis=-2), n.sum(axis=-2))


def find_limits(mean: Array, deviation: Array) -> Array:
    """Return the smallest and the largest value of each feature, 2×d, within `MAX_DEVIATIONS` of any class's mean."""
    reach = MAX_DEVIATIONS * deviation
    return np.stack([(mean - reach).min(axis=0), (mean + reach).max(axis=0)])


def rounding_variance(part: Moments) -> Array:
    """Return r²/12 of columns without spread within the classes, r the smallest step between their values; else 0.

    A value that was rounded to steps of r is uncertain by r²/12 (Sheppard 1898). Without spread the values of a
    column are the means of its classes, so this, too, is a function of the moments.
    """
    total = total_variance(part)
    own = np.where(np.broadcast_to(part.weight, part.mean.shape) > 0, part.mean + part.rest, np.nan)
    squares = np.diff(np.sort(own, axis=-2), axis=-2) ** 2
    squares = np.where(squares > VARIANCE_FLOOR * total[..., None, :], squares, np.inf)  # not NaN, nor rounding
    smallest = squares.min(axis=-2, initial=np.inf)
    has_step = (pooled_variance(part) <= VARIANCE_FLOOR * total) & np.isfinite(smallest)
    return np.where(has_step, smallest, 0.0) / 12


def class_shares(part: Moments) -> Array:
    """Return the share of each class in the weight of each column, K×d; equal shares where no class has it."""
    n = np.broadcast_to(part.weight, part.mean.shape)
    return divide(n, np.broadcast_to(n.sum(axis=-2, keepdims=True), n.shape), 1 / n.shape[-2])


def _draw_donors(form: Diagonal, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the class that each value is drawn from, n×d: that of the row, or any by its share if it has none."""
    donors = np.repeat(codes[:, None], form.mean.shape[1], axis=1)
    if isinstance(form, BoundedDiagonal) and form.shares is not None:
        for j in form.absent_features:
            absent = np.flatnonzero(form.shares[codes, j] == 0)
            donors[absent, j] = rng.choice(len(form.shares), size=len(absent), p=form.shares[:, j])
    return donors


def positive_variance(total: Array) -> Array:
    """Return the variance of each column; where it is zero the widest column's, or 1 if all are zero."""
    widest = total.max(axis=-1, keepdims=True, initial=0.0)
    return np.where(total > 0, total, np.where(widest > 0, widest, UNIT_SCALE))
