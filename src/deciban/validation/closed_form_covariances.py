"""Leave-one-out of mixed and shrunk covariances: Σ_k = (1−γ)[(1−λ)(ν₀ S/N + C_k)/(ν₀ + n_k) + λ S/N] + γ diag(t).

C_k is the scatter of a class, S = Σ_k C_k that of all, t the pooled variances S_jj/N or their mean. Without a row of
weight w in class k, C_k and S lose c g gᵀ, with g = x − μ_k and c = w n_k/(n_k − w), and t changes too.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.families.gaussian import Gaussian, means
from deciban.ledger import Scatter
from deciban.ledger.statistic import divide
from deciban.scores.gaussian_forms import LOG_2PI
from deciban.validation.closed_form import LeftOutRows

RowIndex = NDArray[np.intp]


MAX_DISTINCT_WEIGHTS = 8
"""The number of different weights of rows for each of which the matrices of all classes are decomposed."""

CHUNK_CELLS = 1 << 18
"""The projected values held at a time."""


class MixedScores(NamedTuple):
    """ln p(x|k) of each row without itself, for each γ, G×n×K, and ln|Σ_k| without the row, of the same shape."""

    scores: Array
    log_dets: Array


@dataclass(frozen=True, eq=False)
class LeftOutCovariances:
    """The covariances of a scatter without missing values, when each of some rows is left out.

    `gammas` are the shares γ of the target; those of the family are not used.
    """

    family: Gaussian
    part: Scatter
    X: Array
    rows: LeftOutRows
    gammas: Array

    @cached_property
    def pooled(self) -> Array:
        """S, the scatter within classes, d×d."""
        return self.part.comoment.sum(axis=0)

    @cached_property
    def weight(self) -> Array:
        """n_k, the weight of each class."""
        return self.part.weight[:, 0, 0]

    @cached_property
    def mean(self) -> Array:
        """μ_k, K×d."""
        return means(self.part.moments)

    @cached_property
    def own_gaps(self) -> Array:
        """g = x − μ_k of each row and its own class, n×d."""
        return self.X - self.mean[self.rows.codes]

    @cached_property
    def lost(self) -> Array:
        """c = w n_k/(n_k − w) of each row."""
        return self.rows.weight * self.stretch

    @cached_property
    def stretch(self) -> Array:
        """n_k/(n_k − w): x − μ_k without the row is g times this."""
        n = self.weight[self.rows.codes]
        return divide(n, n - self.rows.weight)

    def compute_coefficients(self, k: int, w: Array, own: bool) -> tuple[Array, Array]:
        """Return the factors of C_k and S in (1−λ)(ν₀ S/N + C_k)/(ν₀ + n_k) + λ S/N without weights w.

        With `own` the weights are removed from class k too, else from the total alone.
        """
        share, prior_rows = self.family.pooled_share, self.family.prior_rows
        n, total = self.weight[k] - (w if own else 0 * w), self.weight.sum() - w
        alpha = divide((1 - share) * np.ones_like(w), prior_rows + n)
        return alpha, (1 - alpha * n) / total

    def compute_targets(self, index: RowIndex) -> Array:
        """Return t without each row, c×d."""
        squares = np.diag(self.pooled) - self.lost[index, None] * self.own_gaps[index] ** 2
        total = (self.weight.sum() - self.rows.weight[index])[:, None]
        return self.family.target_variances(np.maximum(squares, 0.0) / total)

    def score_directly(self) -> MixedScores:
        """Score by the Cholesky factors of each row's own matrices: exact for every target and weight, O(d³)."""
        G, K, (n, d) = len(self.gammas), len(self.weight), self.X.shape
        scores, log_dets = np.empty((G, n, K)), np.empty((G, n, K))
        for some in self.rows.split_into_chunks(2 * d * d):
            index = np.arange(n)[some]
            target = self.compute_targets(index)
            for k in range(K):
                matrix, gap = self._make_matrices(index, k)
                for i, gamma in enumerate(self.gammas):
                    shrunk = (1 - gamma) * matrix
                    shrunk[:, np.arange(d), np.arange(d)] += gamma * target
                    scores[i, some, k], log_dets[i, some, k] = _score_each(shrunk, gap)
        return MixedScores(scores, log_dets)

    def _make_matrices(self, index: RowIndex, k: int) -> tuple[Array, Array]:
        """Return the covariance of class k without each row, before shrinkage, c×d×d, and x − μ_k without the row."""
        own = self.rows.codes[index] == k
        w, g, lost = self.rows.weight[index], self.own_gaps[index], self.lost[index]
        alpha, beta = (
            np.where(own, a, b) for a, b in zip(*(self.compute_coefficients(k, w, o) for o in (True, False)))
        )
        matrix = alpha[:, None, None] * self.part.comoment[k] + beta[:, None, None] * self.pooled
        matrix -= ((alpha * own + beta) * lost)[:, None, None] * g[:, :, None] * g[:, None, :]
        return matrix, np.where(own[:, None], g * self.stretch[index, None], self.X[index] - self.mean[k])

    def score_by_eigenvalues(self) -> MixedScores:
        """Score by 2K eigendecompositions for each weight that rows have, and rank-one corrections; O(d²) a row.

        It is exact where the target is a multiple of the identity, or γ = 0: then leaving out a row changes all
        eigenvalues alike, but for c g gᵀ (Sherman & Morrison 1950). The variances of a target "diagonal" are taken
        to change in proportion, each by the mean share that the row has in them.
        """
        G, n, K = len(self.gammas), len(self.X), len(self.weight)
        out = MixedScores(np.empty((G, n, K)), np.empty((G, n, K)))
        pooled = np.diag(self.pooled) / self.weight.sum()
        unit = np.sqrt(self.family.target_variances(pooled))
        for w in np.unique(self.rows.weight):
            for k in range(K):
                for own in (True, False):
                    index = np.flatnonzero((self.rows.weight == w) & ((self.rows.codes == k) == own))
                    if len(index):
                        self._score_group(out, index, k, own, unit)
        return out

    def _decompose(self, k: int, alpha: float, beta: float, unit: Array) -> tuple[Array, Array]:
        """Return eigenvalues and eigenvectors of α C_k + β S in units of columns; a single matrix is kept."""
        share = self.family.pooled_share
        only = -1 if share == 1 else k if share == 0 and not self.family.prior_rows else None
        if only is None:
            found = np.linalg.eigh((alpha * self.part.comoment[k] + beta * self.pooled) / unit / unit[:, None])
            return found.eigenvalues, found.eigenvectors
        if only not in self._decomposed:
            matrix = self.pooled if share == 1 else self.part.comoment[k]
            self._decomposed[only] = np.linalg.eigh(matrix / unit / unit[:, None])
        values, vectors = self._decomposed[only]
        return (beta if share == 1 else alpha) * values, vectors

    @cached_property
    def _decomposed(self) -> dict[int, Any]:
        """The decompositions of C_k, and under −1 that of S."""
        return {}

    def _score_group(self, out: MixedScores, index: RowIndex, k: int, own: bool, unit: Array) -> None:
        """Score the rows of one weight by class k, their own or another; fills `out`."""
        alpha, beta = (float(a[0]) for a in self.compute_coefficients(k, self.rows.weight[index[:1]], own))
        (values, vectors), log_unit = self._decompose(k, alpha, beta, unit), np.log(unit).sum()
        step = max(1, 4 * CHUNK_CELLS // len(unit))
        for some in (index[start : start + step] for start in range(0, len(index), step)):
            g = (self.own_gaps[some] / unit) @ vectors
            h = g * self.stretch[some, None] if own else ((self.X[some] - self.mean[k]) / unit) @ vectors
            scale = (self.compute_targets(some) / unit**2).mean(axis=1)
            lost = (alpha * own + beta) * self.lost[some]
            for i, gamma in enumerate(self.gammas):
                spread = (1 - gamma) * values + gamma * scale[:, None]
                found = _score_rank_one(spread, g, h, (1 - gamma) * lost)
                out.scores[i, some, k] = found[0] - log_unit
                out.log_dets[i, some, k] = found[1] + 2 * log_unit


def _score_each(covariance: Array, gap: Array) -> tuple[Array, Array]:
    """Return each gap's log-density under its covariance, and ln|Σ|; NaN for all if one is not positive definite."""
    try:
        lower = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        nothing = np.full(len(gap), np.nan)
        return nothing, nothing
    z = np.linalg.solve(lower, gap[:, :, None])[:, :, 0]
    log_det = 2 * np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
    return -0.5 * ((z * z).sum(axis=1) + log_det + gap.shape[1] * LOG_2PI), log_det


def _score_rank_one(spread: Array, g: Array, h: Array, lost: Array) -> tuple[Array, Array]:
    """Return the log-density of each h under diag(spread) − c g gᵀ, and the logarithm of its determinant.

    NaN where the matrix is not positive definite.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled = g / spread
        gg, hg = np.einsum("ij,ij->i", g, scaled), np.einsum("ij,ij->i", h, scaled)
        hh = np.einsum("ij,ij->i", h, h / spread)
        kept = 1 - lost * gg
        is_positive = (kept > 0) & (spread > 0).all(axis=1)
        log_det = np.log(spread).sum(axis=1) + np.log(kept)
        score = -0.5 * (hh + lost * hg * hg / kept + log_det + g.shape[1] * LOG_2PI)
    return np.where(is_positive, score, np.nan), np.where(is_positive, log_det, np.nan)
