"""The score of Gaussian features with a covariance matrix for each class or one for all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError, UndefinedError
from deciban.scores.explanation import Pieces
from deciban.scores.gaussian_forms import MAX_EVIDENCE, NOT_LINEAR
from deciban.scores.score_form import Boundary, Conic, ScoreForm, centred_conic

LOG_2PI = math.log(2 * math.pi)

NO_COVARIANCE = (
    "what was learned has no covariance that can be computed: its numbers are too far apart. "
    "Hint: scale the columns, or leave some out."
)

CHUNK_NUMBERS = 1 << 18
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
    `trust` is given, the score is multiplied by it.
    """

    mean: Array
    covariance: Array
    trust: float | None = None

    @property
    def n_classes(self) -> int:
        """K."""
        return self.mean.shape[0]

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
    def pull(self) -> tuple[Array, Array]:
        """Weights and bias of the score about the centre, where a shared covariance makes it linear."""
        weights, bias = self.whitened_means @ self.shapes[0].whiten, -0.5 * (self.whitened_means**2).sum(axis=1)
        return (weights, bias) if self.trust is None else (self.trust * weights, self.trust * bias)

    def contrast(self, x: Array) -> Array:
        """Return ln p(x|k) up to terms that all classes share, for a shared covariance and complete rows."""
        weights, bias = self.pull
        return (x - self.centre) @ weights.T + bias

    @cached_property
    def half_log_dets(self) -> Array:
        """½ ln|2πΣ_k|, for each covariance."""
        return np.array([shape.half_log_det for shape in self.shapes])

    def joint(self, X: NDArray[Any]) -> Array:
        """See `ScoreForm.joint`."""
        x = np.asarray(X, dtype=np.float64)
        score = np.empty((len(x), self.n_classes))
        for have, rows in group_by_missing(x):
            if have.all() and len(rows) == len(x):
                score[:] = self.whole(x)
                continue
            form = self if have.all() else self.marginal(have)
            score[rows] = form.whole(x[rows][:, have])
        np.nan_to_num(score, copy=False, nan=-np.inf, neginf=-np.inf)  # squares overflow
        return score if self.trust is None else multiply_score(self.trust, score)

    def whole(self, x: Array) -> Array:
        """Return ln p(x|k) of rows without missing values, without trust; in blocks that fit the cache."""
        step = max(16, CHUNK_NUMBERS // max(1, len(self.all_whitens)))
        chunks = (x[start : start + step] - self.centre for start in range(0, len(x), step))
        score = [self._shared_chunk(c) if self.shared else self._own_chunk(c) for c in chunks]
        return np.concatenate(score) if score else np.empty((0, self.n_classes))

    def _shared_chunk(self, gap: Array) -> Array:
        """Return −½|z|² + z·ν_k − ½|ν_k|² − ½ ln|2πΣ|: the squares of z are equal for all classes."""
        z = gap @ self.all_whitens.T
        near = z @ self.whitened_means.T - 0.5 * (self.whitened_means**2).sum(axis=1)
        return near - 0.5 * np.einsum("ij,ij->i", z, z)[:, None] - self.half_log_dets

    def _own_chunk(self, gap: Array) -> Array:
        z = (gap @ self.all_whitens.T).reshape(len(gap), self.n_classes, -1)
        z -= self.whitened_means
        return -0.5 * np.einsum("ikj,ikj->ik", z, z) - self.half_log_dets

    def marginal(self, have: NDArray[np.bool_]) -> Full:
        """Return the marginal model of some of the features."""
        return Full(self.mean[:, have], self.covariance[:, have][:, :, have], self.trust)

    def pieces(self, X: NDArray[Any], k: NDArray[np.intp], l: NDArray[np.intp]) -> Pieces:
        """See `ScoreForm.pieces`.

        Shared covariance: w_j (x_j − m_j), m midway between the two means. Separate covariances: each feature's
        square and half of each of its cross terms, and ½ ln(|Σ_l|/|Σ_k|) as `shape`.
        """
        x = np.asarray(X, dtype=np.float64)
        features, shape = np.zeros(x.shape), np.zeros(len(x))
        for have, rows in group_by_missing(x):
            form = self if have.all() else self.marginal(have)
            features[np.ix_(rows, have)], shape[rows] = form.whole_pieces(x[rows][:, have], k[rows], l[rows])
        if self.trust is not None:
            features, shape = self.trust * features, self.trust * shape
        return Pieces(features, {} if self.shared else {"shape": shape})

    def whole_pieces(self, x: Array, k: NDArray[np.intp], l: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return the evidence by feature and by shape of rows without missing values, without trust."""
        P = self.precision
        if self.shared:
            pull = (self.mean[k] - self.mean[l]) @ P[0]
            return pull * (x - (self.mean[k] + self.mean[l]) / 2), np.zeros(len(x))
        half = self.half_log_dets

        def part(c: NDArray[np.intp]) -> Array:
            gap = x - self.mean[c]
            products = np.empty_like(gap)
            for one in np.unique(c):
                products[c == one] = gap[c == one] @ P[one]
            return -0.5 * gap * products

        with np.errstate(over="ignore", invalid="ignore"):  # both densities underflow to zero: undefined
            return part(k) - part(l), half[l] - half[k]

    @cached_property
    def precision(self) -> Array:
        """Σ⁻¹, K×d×d or 1×d×d."""
        return np.stack([s.whiten.T @ s.whiten for s in self.shapes])

    def linear(self) -> Boundary:
        """See `ScoreForm.linear`: with a shared covariance the squares are equal for all classes."""
        if not self.shared:
            raise UndefinedError(NOT_LINEAR.replace("variances", "covariances"))
        conic = self._conic(np.zeros(self.n_classes))
        return Boundary(conic.weights, conic.bias)

    def quadratic(self) -> Conic:
        """See `ScoreForm.quadratic`."""
        return self._conic(np.broadcast_to(-self.half_log_dets, (self.n_classes,)))

    def _conic(self, constant: Array) -> Conic:
        A = np.broadcast_to(-0.5 * self.precision, (self.n_classes, *self.precision.shape[1:]))
        trust = 1.0 if self.trust is None else self.trust
        return centred_conic(trust * A, self.mean, trust * constant)


def multiply_score(trust: float, score: Array) -> Array:
    """Multiply a score by trust: −∞ stays −∞ with trust > 0, becomes 0 with trust 0, MAX_EVIDENCE with trust < 0."""
    with np.errstate(invalid="ignore"):
        return np.where(
            np.isneginf(score), -np.inf if trust > 0 else 0.0 if trust == 0 else MAX_EVIDENCE, trust * score
        )


def group_by_missing(x: Array) -> list[tuple[NDArray[np.bool_], NDArray[np.intp]]]:
    """Group the rows by the features that they have."""
    have = ~np.isnan(x)
    if have.all():
        return [(np.ones(x.shape[1], dtype=np.bool_), np.arange(len(x)))]
    kinds, which = np.unique(have, axis=0, return_inverse=True)
    return [(kind, np.flatnonzero(which.reshape(-1) == i)) for i, kind in enumerate(kinds)]
