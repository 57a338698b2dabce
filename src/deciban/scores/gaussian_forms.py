"""The scores of Gaussian features: independent given the class, or with a covariance of each class or of all."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError
from deciban.scores.explanation import Pieces
from deciban.scores.score_form import Boundary, Conic, ScoreForm, centred_conic, row_chunks

LOG_2PI = math.log(2 * math.pi)

NOT_LINEAR = (
    "the classes have different variances, so the score is quadratic in x, not linear. "
    "Hint: quadratic_form() gives A, weights and bias."
)


@dataclass(frozen=True, eq=False)
class Diagonal(ScoreForm):
    """The score of independent Gaussian features.

    score_k(x) = Σ_j −½ ln(2πσ²_kj) − ½ (x_j − μ_kj)² / σ²_kj over the features that are present.

    Where `evidence_weight` is given, the score of feature j is multiplied by it; `offsets` (K×d) are then added for
    each feature that is present: sums of such scores have them (`scores/form_algebra.py`).
    """

    mean: Array
    variance: Array
    evidence_weight: Array | None = None
    offsets: Array | None = None

    class_array = "mean"
    not_linear = NOT_LINEAR

    @cached_property
    def precision(self) -> Array:
        """1/σ², times the evidence weight."""
        return (1.0 if self.evidence_weight is None else self.evidence_weight) / self.variance

    @cached_property
    def log_norm(self) -> Array:
        """−½ ln(2πσ²), per class and feature, times the evidence weight, and the offsets."""
        norm = -0.5 * (LOG_2PI + np.log(self.variance))
        if self.evidence_weight is not None:
            norm = self.evidence_weight * norm
        return norm if self.offsets is None else norm + self.offsets

    @cached_property
    def constant(self) -> Array:
        """The log-density at the mean of a row without missing values."""
        return self.log_norm.sum(axis=1)

    def log_likelihoods(self, X: NDArray[Any]) -> Array:
        """See `ScoreForm.log_likelihoods`; in blocks of rows, so that rows × K × d stays small."""
        x = np.asarray(X, dtype=np.float64)
        chunks = row_chunks(len(x), self.mean.size)
        return self._chunk(x) if len(chunks) < 2 else np.concatenate([self._chunk(x[rows]) for rows in chunks])

    def _chunk(self, x: Array) -> Array:
        """Return `log_likelihoods` of rows, all at once."""
        gap = x[:, None, :] - self.mean
        with np.errstate(over="ignore", invalid="ignore"):  # beyond about 1e154 deviations the density is zero
            squares = gap * gap * self.precision
        if self.evidence_weight is not None:
            squares = _bound_squares(squares, gap)
        score = squares.sum(axis=2) * -0.5 + self.constant
        if np.isnan(score.max(initial=0.0)):  # NaN if any score is
            return np.where(np.isnan(gap), 0.0, squares * -0.5 + self.log_norm).sum(axis=2)
        return score

    def terms(self, x: Array) -> Array:
        """Return the score of every class and feature, n×K×d; NaN where a feature is missing."""
        return self.log_norm - 0.5 * self.precision * (x[:, None, :] - self.mean) ** 2

    def pieces(self, X: NDArray[Any], k: NDArray[np.intp], l: NDArray[np.intp]) -> Pieces:
        """See `ScoreForm.pieces`."""
        x = np.asarray(X, dtype=np.float64)

        def log_density(c: NDArray[np.intp]) -> Array:
            gap = x - self.mean[c]
            square = self.precision[c] * gap**2
            return self.log_norm[c] - 0.5 * (square if self.evidence_weight is None else _bound_squares(square, gap))

        with np.errstate(over="ignore", invalid="ignore"):  # both densities underflow to zero: undefined
            return Pieces(np.where(np.isnan(x), 0.0, log_density(k) - log_density(l)))

    def linear(self) -> Boundary:
        """See `ScoreForm.linear`: with shared variances the squares are equal for all classes."""
        if not (self.precision == self.precision[0]).all():
            return super().linear()
        own = np.zeros(self.n_classes) if self.offsets is None else self.offsets.sum(axis=1)
        conic = centred_conic(-0.5 * self.precision, self.mean, own)
        return Boundary(conic.weights, conic.bias)

    def quadratic(self) -> Conic:
        """See `ScoreForm.quadratic`."""
        return centred_conic(-0.5 * self.precision, self.mean, self.constant)


def _bound_squares(square: Array, gap: Array) -> Array:
    """Return weighted squares, 0 where they overflow and the weight is not positive; see `multiply_score`."""
    return np.where((np.isnan(square) & ~np.isnan(gap)) | np.isneginf(square), 0.0, square)


NO_COVARIANCE = (
    "what was learned has no covariance that can be computed: its numbers are too far apart. "
    "Hint: scale the columns, or leave some out."
)

MAX_EXPANDED_DEVIATIONS = 1e3
"""The distance of class means up to which squares about a shared covariance are multiplied out. Beyond it they lose
digits: at 1e6 deviations probabilities were wrong by 2e-5, at 1e8 by 0.2."""

WHITENED_CHUNK_NUMBERS = 1 << 18
"""Largest number of whitened values held at a time: 2 MiB."""


class Shape(NamedTuple):
    """A factorised covariance: W with WᵀW = Σ⁻¹, and ½ ln|2πΣ|."""

    whiten: Array
    half_log_det: float


def cholesky(covariance: Array) -> NDArray[Any]:
    """Return L with LLᵀ = Σ, of one matrix or of many; refuse a matrix that is not positive definite."""
    try:
        return np.asarray(np.linalg.cholesky(covariance), dtype=np.float64)
    except np.linalg.LinAlgError:
        raise InputError(NO_COVARIANCE) from None


def factorise(covariance: Array) -> Shape:
    """Factorise a covariance by Cholesky: Σ = LLᵀ, W = L⁻¹."""
    lower = cholesky(covariance)
    whiten = np.linalg.solve(lower, np.eye(len(lower)))
    return Shape(np.tril(whiten), float(np.log(np.diag(lower)).sum() + 0.5 * len(lower) * LOG_2PI))


@dataclass(frozen=True, eq=False)
class Full(ScoreForm):
    """The score of Gaussian features with covariances, K×d×d, or 1×d×d if shared.

    score_k(x) = −½ ln|2πΣ_k| − ½ (x−μ_k)ᵀ Σ_k⁻¹ (x−μ_k).

    A row with missing values is scored by the marginal distribution of its values: the sub-matrix of Σ_k. Where
    `evidence_weight` is given, the score is multiplied by it.
    """

    mean: Array
    covariance: Array
    evidence_weight: float | None = None

    class_array = "mean"
    not_linear = NOT_LINEAR.replace("variances", "covariances")

    @property
    def shared(self) -> bool:
        """Whether all classes have one covariance."""
        return len(self.covariance) == 1

    @cached_property
    def shapes(self) -> list[Shape]:
        """Each class's covariance (or the shared one), factorised."""
        return [factorise(c) for c in self.covariance]

    @cached_property
    def centre(self) -> Array:
        """The mean of the class means: whitening about it keeps the digits of data far from zero."""
        return self.mean.mean(axis=0)

    @cached_property
    def whitened_means(self) -> Array:
        """W_k(μ_k − centre), K×d."""
        gap = self.mean - self.centre
        if self.shared:
            return gap @ self.shapes[0].whiten.T
        return np.stack([shape.whiten @ g for shape, g in zip(self.shapes, gap)])

    @cached_property
    def all_whitens(self) -> Array:
        """The W_k of all classes stacked, so that one product whitens a row for every class."""
        return np.concatenate([shape.whiten for shape in self.shapes])

    @cached_property
    def centred_weights(self) -> tuple[Array, Array]:
        """Weights and bias of the score about the centre, where a shared covariance makes it linear."""
        weights, bias = self.whitened_means @ self.shapes[0].whiten, -0.5 * (self.whitened_means**2).sum(axis=1)
        scale = 1.0 if self.evidence_weight is None else self.evidence_weight
        return scale * weights, scale * bias

    @cached_property
    def is_expanded(self) -> bool:
        """Whether squares about a shared covariance are multiplied out, into a score that is linear in x."""
        return bool((np.abs(self.whitened_means) <= MAX_EXPANDED_DEVIATIONS).all())

    def contrast(self, x: Array) -> Array:
        """Return weighted scores of complete rows up to terms that all classes share, for a shared covariance."""
        if self.is_expanded:
            weights, bias = self.centred_weights
            return (x - self.centre) @ weights.T + bias
        z = (x - self.centre) @ self.all_whitens.T
        nearest = self.whitened_means[self._sum_squares(z).argmin(axis=1)]
        # (ν_k − ν_r)·(z − (ν_k + ν_r)/2), r the nearest class: right for rows far from all classes too
        halves = (np.einsum("ij,ij->i", mean - nearest, z - (mean + nearest) / 2) for mean in self.whitened_means)
        return (1.0 if self.evidence_weight is None else self.evidence_weight) * np.stack([*halves], axis=1)

    def _sum_squares(self, z: Array) -> Array:
        """Return |z − ν_k|² of whitened rows."""
        gaps = (z - mean for mean in self.whitened_means)
        return np.stack([np.einsum("ij,ij->i", gap, gap) for gap in gaps], axis=1)

    @cached_property
    def half_log_dets(self) -> Array:
        """½ ln|2πΣ_k|, for each covariance."""
        return np.array([shape.half_log_det for shape in self.shapes])

    def log_likelihoods(self, X: NDArray[Any]) -> Array:
        """See `ScoreForm.log_likelihoods`."""
        score = self.score_rows(np.asarray(X, dtype=np.float64))
        return score if self.evidence_weight is None else multiply_score(self.evidence_weight, score)

    def score_rows(self, x: Array) -> Array:
        """Return ln p(x|k) of rows, not weighted."""
        score = np.empty((len(x), self.n_classes))
        for have, rows in group_by_missing(~np.isnan(x)):
            if have.all() and len(rows) == len(x):  # rows need not be copied
                score = self.score_complete(x)
            else:
                score[rows] = self.marginal(have).score_complete(x[rows][:, have])
        np.nan_to_num(score, copy=False, nan=-np.inf, neginf=-np.inf)  # squares overflow
        return score

    def score_complete(self, x: Array) -> Array:
        """Return ln p(x|k) of rows without missing values, not weighted; in blocks that fit the cache."""
        step = max(16, WHITENED_CHUNK_NUMBERS // max(1, len(self.all_whitens)))
        chunks = (x[start : start + step] - self.centre for start in range(0, len(x), step))
        score = [self._shared_chunk(c) if self.shared else self._own_chunk(c) for c in chunks]
        return np.concatenate(score) if score else np.empty((0, self.n_classes))

    def _shared_chunk(self, gap: Array) -> Array:
        """Return −½|z − ν_k|² − ½ ln|2πΣ|, multiplied out where the means allow: |z|² is equal for all classes."""
        z = gap @ self.all_whitens.T
        if not self.is_expanded:
            return -0.5 * self._sum_squares(z) - self.half_log_dets
        near = z @ self.whitened_means.T - 0.5 * (self.whitened_means**2).sum(axis=1)
        return near - 0.5 * np.einsum("ij,ij->i", z, z)[:, None] - self.half_log_dets

    def _own_chunk(self, gap: Array) -> Array:
        """Return ln p(x|k) of rows about the centre, with a covariance of each class."""
        z = (gap @ self.all_whitens.T).reshape(len(gap), self.n_classes, -1)
        z -= self.whitened_means
        return -0.5 * np.einsum("ikj,ikj->ik", z, z) - self.half_log_dets

    def marginal(self, have: NDArray[np.bool_]) -> "Full":
        """Return the marginal model of some of the features."""
        if have.all():
            return self
        return Full(self.mean[:, have], self.covariance[:, have][:, :, have], self.evidence_weight)

    def pieces(self, X: NDArray[Any], k: NDArray[np.intp], l: NDArray[np.intp]) -> Pieces:
        """See `ScoreForm.pieces`.

        Shared covariance: w_j (x_j − m_j), m midway between the two means. Separate covariances: each feature's
        square and half of each of its cross terms, and ½ ln(|Σ_l|/|Σ_k|) as `shape`.
        """
        x = np.asarray(X, dtype=np.float64)
        features, shape = np.zeros(x.shape), np.zeros(len(x))
        for have, rows in group_by_missing(~np.isnan(x)):
            evidence = self.marginal(have).complete_pieces(x[rows][:, have], k[rows], l[rows])
            features[np.ix_(rows, have)], shape[rows] = evidence
        if self.evidence_weight is not None:
            features, shape = self.evidence_weight * features, self.evidence_weight * shape
        return Pieces(features, {} if self.shared else {"shape": shape})

    def complete_pieces(self, x: Array, k: NDArray[np.intp], l: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return the evidence by feature and by shape of rows without missing values, not weighted."""
        P = self.precision
        if self.shared:
            weights = (self.mean[k] - self.mean[l]) @ P[0]
            return weights * (x - (self.mean[k] + self.mean[l]) / 2), np.zeros(len(x))

        def half_squares(c: NDArray[np.intp]) -> Array:
            gap = x - self.mean[c]
            products = np.empty_like(gap)
            for one in np.unique(c):
                products[c == one] = gap[c == one] @ P[one]
            return -0.5 * gap * products

        with np.errstate(over="ignore", invalid="ignore"):  # both densities underflow to zero: undefined
            return half_squares(k) - half_squares(l), self.half_log_dets[l] - self.half_log_dets[k]

    @cached_property
    def precision(self) -> Array:
        """Σ⁻¹, K×d×d or 1×d×d."""
        return np.stack([s.whiten.T @ s.whiten for s in self.shapes])

    def linear(self) -> Boundary:
        """See `ScoreForm.linear`: with a shared covariance the squares are equal for all classes."""
        if not self.shared:
            return super().linear()
        conic = self._conic(np.zeros(self.n_classes))
        return Boundary(conic.weights, conic.bias)

    def quadratic(self) -> Conic:
        """See `ScoreForm.quadratic`."""
        return self._conic(np.broadcast_to(-self.half_log_dets, (self.n_classes,)))

    def _conic(self, constant: Array) -> Conic:
        """Return −½ (x−μ_k)ᵀ Σ_k⁻¹ (x−μ_k) + constant_k, times the evidence weight, multiplied out."""
        A = np.broadcast_to(-0.5 * self.precision, (self.n_classes, *self.precision.shape[1:]))
        scale = 1.0 if self.evidence_weight is None else self.evidence_weight
        return centred_conic(scale * A, self.mean, scale * constant)


def multiply_score(weight: float | Array, score: Array) -> Array:
    """Multiply a score by an evidence weight t: −∞ stays −∞ if t > 0, and becomes 0 otherwise."""
    t = np.asarray(weight)
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(score) & (t <= 0), 0.0, t * score)


def group_by_missing(have: NDArray[np.bool_]) -> list[tuple[NDArray[np.bool_], NDArray[np.intp]]]:
    """Group rows by the features that they have: return each set of features, and the numbers of its rows."""
    if have.all():
        return [(np.ones(have.shape[1], dtype=np.bool_), np.arange(len(have)))]
    group = np.unique(np.packbits(have, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
    by_group = np.argsort(group, kind="stable")
    return [(have[rows[0]], rows) for rows in np.split(by_group, np.cumsum(np.bincount(group))[:-1])]
