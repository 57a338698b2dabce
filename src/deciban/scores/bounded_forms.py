"""The scores of numbers and counts in tables, bounded from below: far from all classes a value is no evidence.

The tails of a Gaussian fall so fast that one mistyped cell would outweigh all others, in favour of the class that
happens to be widest. Here the log-density of feature j falls to a bound and no further, which is the same for all
classes: the density of a rare, wide component that may occur in any of them. The family computes the bound.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import UndefinedError
from deciban.scores.explanation import Pieces
from deciban.scores.gaussian_forms import LOG_2PI, Diagonal, Full, multiply_score
from deciban.scores.linear import log_factorials
from deciban.scores.score_form import Boundary, Conic, ScoreForm, row_chunks

NOT_QUADRATIC = (
    "the score is bounded, so it is neither linear nor quadratic in x: it has no weights and no quadratic_form(). "
    "Hint: explain(X) gives the evidence of each column; GaussianNB and GaussianBayes have both."
)


CONTAMINATION = 1e-4
"""The share of gross errors in a column (Huber 1964): values mistyped or in another unit, which may occur in any
class. It bounds the evidence of numbers and counts in tables."""

MAX_FEATURE_EVIDENCE = -math.log(CONTAMINATION)
"""The largest evidence of a joint density, in nats for each of its features."""

MIN_STIRLING_COUNT = 1e4
"""Counts from which Stirling's formula is accurate to 1e-15."""


def mix_absent_classes(terms: Array, shares: Array) -> Array:
    """Return log-densities (…×K×d) in which a class of share 0 has the mean density of all classes by their shares.

    So the posterior of a class that never had a feature is not changed by it.

    >>> np.exp(mix_absent_classes(np.log([[0.5], [0.1], [9.0]]), np.array([[0.25], [0.75], [0.0]]))).round(3).tolist()
    [[0.5], [0.1], [0.2]]
    """
    with np.errstate(divide="ignore", invalid="ignore"):  # a share of 0, a missing value
        mixed = np.logaddexp.reduce(terms + np.log(shares), axis=-2, keepdims=True)
    return np.where(shares == 0, mixed, terms)


class BoundedTerms(ScoreForm):
    """A score that is a sum over features, of terms n×K×d, each bounded from below; NaN is a missing feature.

    Where `evidence_weight` is given, the terms of feature j are multiplied by it.
    """

    evidence_weight: Array | None
    not_linear = NOT_QUADRATIC

    @abstractmethod
    def bounded_terms(self, x: Array, c: Any) -> Array:
        """Return the term of every feature for classes c, not weighted; for x n×1×d and all classes n×K×d."""

    def weigh(self, terms: Array) -> Array:
        """Return terms times the evidence weight; unchanged without one."""
        return terms if self.evidence_weight is None else multiply_score(self.evidence_weight, terms)

    def terms(self, x: Array) -> Array:
        """Return the score of every class and feature, n×K×d; NaN where a feature is missing."""
        return self.weigh(self.bounded_terms(x[:, None, :], slice(None)))

    def _chunk(self, x: Array) -> Array:
        """Return the scores of rows, all at once."""
        terms = self.terms(x)
        score = terms.sum(axis=2)
        return np.where(np.isnan(terms), 0.0, terms).sum(axis=2) if np.isnan(score).any() else score

    def pieces(self, X: NDArray[Any], k: NDArray[np.intp], l: NDArray[np.intp]) -> Pieces:
        """See `ScoreForm.pieces`."""
        x = np.asarray(X, dtype=np.float64)
        with np.errstate(invalid="ignore"):  # without a bound both densities may underflow to zero: undefined
            gap = self.contrast(x, k, l)
        return Pieces(np.where(np.isnan(x), 0.0, gap))

    def contrast(self, x: Array, k: NDArray[np.intp], l: NDArray[np.intp]) -> Array:
        """Return the terms of classes k minus those of classes l."""
        return self.weigh(self.bounded_terms(x, k)) - self.weigh(self.bounded_terms(x, l))

    def linear(self) -> Boundary:
        """Raise UndefinedError: a bounded score is not linear."""
        raise UndefinedError(NOT_QUADRATIC)

    def quadratic(self) -> Conic:
        """Raise UndefinedError: a bounded score is not quadratic."""
        raise UndefinedError(NOT_QUADRATIC)


@dataclass(frozen=True, eq=False)
class BoundedDiagonal(BoundedTerms, Diagonal):
    """The score of independent Gaussian features, each bounded from below.

    score_k(x) = Σ_j max(−½ ln(2πσ²_kj) − ½ (x_j − μ_kj)² / σ²_kj, ln τ_j) over the features that are present.

    `log_tail` (d) is ln τ. Where `shares` (K×d) are given, a class of share 0 never had the feature, and its density
    is Σ_l share_lj p(x_j|l). Evidence weights and offsets are applied afterwards, as in `Diagonal`.

    >>> form = BoundedDiagonal(np.array([[0.0], [1.0]]), np.ones((2, 1)), log_tail=np.array([-10.0]))
    >>> form.log_likelihoods(np.array([[0.5], [30.0], [np.nan]])).round(3).tolist()
    [[-1.044, -1.044], [-10.0, -10.0], [0.0, 0.0]]
    """

    log_tail: Array = field(kw_only=True)
    shares: Array | None = field(default=None, kw_only=True)

    @cached_property
    def peak(self) -> Array:
        """The log-density at the mean, K×d: −½ ln(2πσ²), or ln τ if that is larger; not weighted."""
        return np.maximum(-0.5 * (LOG_2PI + np.log(self.variance)), self.log_tail)

    @cached_property
    def log_norm(self) -> Array:
        """The log-density at the mean times the evidence weight, and the offsets."""
        return self.weigh(self.peak) + (0.0 if self.offsets is None else self.offsets)

    @cached_property
    def max_squares(self) -> Array:
        """The square (x − μ)²/σ², times the evidence weight, beyond which the log-density is ln τ, K×d."""
        squares = 2 * (self.peak - self.log_tail)
        if self.evidence_weight is None:
            return squares
        return np.where(self.evidence_weight == 0, 0.0, squares) * self.evidence_weight

    @cached_property
    def absent_features(self) -> NDArray[np.intp]:
        """The features that some class never had."""
        return np.zeros(0, dtype=np.intp) if self.shares is None else np.flatnonzero((self.shares == 0).any(axis=0))

    def take_features(self, index: NDArray[np.intp]) -> "BoundedDiagonal":
        """Return the form of these features alone."""
        weight, offsets, shares = (
            None if array is None else array[..., index]
            for array in (self.evidence_weight, self.offsets, self.shares)
        )
        mean, variance = self.mean[:, index], self.variance[:, index]
        return BoundedDiagonal(mean, variance, weight, offsets, log_tail=self.log_tail[index], shares=shares)

    def bounded_terms(self, x: Array, c: Any) -> Array:
        """See `BoundedTerms.bounded_terms`."""
        terms = x - self.mean[c]
        with np.errstate(over="ignore"):  # beyond about 1e154 deviations a square overflows
            terms *= terms
            terms *= -0.5 / self.variance[c]
        terms += self.peak[c]
        return np.maximum(terms, self.log_tail, out=terms)

    def terms(self, x: Array) -> Array:
        """See `BoundedTerms.terms`."""
        terms = self.bounded_terms(x[:, None, :], slice(None))
        if self.shares is not None:
            terms = mix_absent_classes(terms, self.shares)
        return self.weigh(terms) + (0.0 if self.offsets is None else self.offsets)

    def contrast(self, x: Array, k: NDArray[np.intp], l: NDArray[np.intp]) -> Array:
        """See `BoundedTerms.contrast`; of features that some class never had, the terms of all classes are needed."""
        gap, absent = super().contrast(x, k, l), self.absent_features
        if self.offsets is not None:
            gap += self.offsets[k] - self.offsets[l]
        if len(absent):
            form = self.take_features(absent)
            for rows in row_chunks(len(x), form.mean.size):
                terms = form.terms(x[rows][:, absent])
                i = np.arange(len(terms))
                gap[rows, absent] = terms[i, k[rows]] - terms[i, l[rows]]
        return gap


@dataclass(frozen=True, eq=False)
class BoundedRates(BoundedTerms):
    """The score of independent Poisson counts, each bounded from below.

    score_k(x) = Σ_j ln p(x_j; x_j) − min(x_j ln(x_j/λ_kj) − x_j + λ_kj, bound) over the features that are present.

    p(x; x) is the probability of a count under the rate that suits it best: no class gives it less than e^−bound
    times that. Where `evidence_weight` is given, the second term of feature j is multiplied by it.

    >>> form = BoundedRates(np.array([[2.0], [4.0]]), 5.0)
    >>> np.diff(form.log_likelihoods(np.array([[0.0], [4.0], [99.0]]))).round(3).ravel().tolist()
    [-2.0, 0.773, 0.0]
    """

    rate: Array
    bound: float
    evidence_weight: Array | None = None

    class_array = "rate"

    @cached_property
    def log_rate(self) -> Array:
        """ln λ; 0 in a column without counts, whose rate is 0 in every class."""
        return np.log(np.where(self.rate > 0, self.rate, 1.0))

    def bounded_terms(self, x: Array, c: Any) -> Array:
        """See `BoundedTerms.bounded_terms`."""
        with np.errstate(over="ignore", invalid="ignore"):  # counts of 1e306 overflow
            deviance = x * (np.log(np.where(x > 0, x, 1.0)) - self.log_rate[c]) - x + self.rate[c]
        return -np.where(deviance < self.bound, deviance, np.where(np.isnan(x), np.nan, self.bound))

    def contrasts(self, X: NDArray[Any]) -> Array:
        """Return the score without ln p(x; x), which all classes share, n×K."""
        x = np.asarray(X, dtype=np.float64)
        scores = [self._chunk(x[rows]) for rows in row_chunks(len(x), self.rate.size)]
        return np.concatenate(scores) if scores else np.empty((0, self.n_classes))

    def log_likelihoods(self, X: NDArray[Any]) -> Array:
        """See `ScoreForm.log_likelihoods`."""
        x = np.asarray(X, dtype=np.float64)
        return self.contrasts(x) + sum_best_log_probabilities(x)[:, None]


def sum_best_log_probabilities(x: Array) -> Array:
    """Return Σ_j x_j ln x_j − x_j − ln x_j! of each row, the log-probabilities of counts under their best rates.

    Large counts by Stirling's formula, −½ ln(2πx) − 1/(12x), since the terms would cancel; NaN adds nothing.
    """
    count = np.where(x > 0, x, 1.0)
    small = np.where(count < MIN_STIRLING_COUNT, count, 1.0)
    exact = small * np.log(small) - small - log_factorials(small)
    logs = np.where(count < MIN_STIRLING_COUNT, exact, -0.5 * np.log(2 * np.pi * count) - 1 / (12 * count))
    return np.asarray(np.where(x > 0, logs, 0.0).sum(axis=1))


def bound_contrasts(score: Array, n_features: Any) -> Array:
    """Return scores n×K of blocks, raised to c^m times the density of the likeliest class, m the features of a row.

    c is `CONTAMINATION`: so the evidence of a block is at most that of m gross errors, 40 dB for each feature.

    >>> bound_contrasts(np.array([[0.0, -1e9], [-1e9, -1e9 - 3]]), np.array([2, 2])).round(1).tolist()
    [[0.0, -18.4], [-1000000000.0, -1000000003.0]]
    """
    least = score.max(axis=1) - MAX_FEATURE_EVIDENCE * n_features
    return np.maximum(score, least[:, None])


@dataclass(frozen=True, eq=False)
class LimitedFull(Full):
    """The score of Gaussian features with covariances, in which a value far from all classes counts as missing.

    `limits` (2×d) are the smallest and the largest value of each feature that counts. The score itself is not
    bounded: with few rows and many features it is low for every class, and only its differences between classes
    matter. These are bounded (`bound_contrasts`), before an evidence weight is applied.
    """

    limits: Array = field(kw_only=True)

    def remove_far(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the rows with NaN in place of values beyond the limits; ±∞, which is refused, stays."""
        is_far = (self.limits[0] > X) | (self.limits[1] < X)
        return np.where(is_far & np.isfinite(X), np.nan, X) if is_far.any() else X

    def score_rows(self, x: Array) -> Array:
        """See `Full.score_rows`."""
        x = self.remove_far(x)
        return bound_contrasts(super().score_rows(x), (~np.isnan(x)).sum(axis=1))

    def contrast(self, x: Array) -> Array:
        """See `Full.contrast`; for evidence weights ≥ 0. NaN in rows with a value beyond the limits."""
        weight = 1.0 if self.evidence_weight is None else self.evidence_weight
        return bound_contrasts(super().contrast(self.remove_far(x)), weight * x.shape[1])

    def pieces(self, X: NDArray[Any], k: NDArray[np.intp], l: NDArray[np.intp]) -> Pieces:
        """See `Full.pieces`; where the evidence is bounded, each part of it is smaller in proportion."""
        x, i = self.remove_far(np.asarray(X, dtype=np.float64)), np.arange(len(X))
        features, extras = super().pieces(x, k, l)
        plain, bounded = super().score_rows(x), self.score_rows(x)
        with np.errstate(invalid="ignore", divide="ignore"):  # densities that underflow to zero: undefined
            share = (bounded[i, k] - bounded[i, l]) / (plain[i, k] - plain[i, l])
        share = np.where((plain == bounded)[i, k] & (plain == bounded)[i, l], 1.0, share)
        return Pieces(features * share[:, None], {name: share * part for name, part in extras.items()})
