"""The scores of Gaussian features in tables, bounded from below: far from all classes a value is no evidence.

The tails of a Gaussian fall so fast that one mistyped cell would outweigh all others, in favour of the class that
happens to be widest. Here the log-density of feature j falls to ln τ_j and no further, which is the same for all
classes: the density of a rare, wide component that may occur in any of them. The family computes τ.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import UndefinedError
from deciban.scores.explanation import Pieces
from deciban.scores.gaussian_forms import LOG_2PI, MAX_EVIDENCE, Diagonal, Full
from deciban.scores.score_form import Boundary, Conic

NOT_QUADRATIC = (
    "the score is bounded, so it is neither linear nor quadratic in x: it has no weights and no quadratic_form(). "
    "Hint: explain(X) gives the evidence of each column; GaussianNB and GaussianBayes have both."
)


def mix_absent_classes(terms: Array, shares: Array) -> Array:
    """Return log-densities (…×K×d) in which a class of share 0 has the mean density of all classes by their shares.

    So the posterior of a class that never had a feature is not changed by it.

    >>> np.exp(mix_absent_classes(np.log([[0.5], [0.1], [9.0]]), np.array([[0.25], [0.75], [0.0]]))).round(3).tolist()
    [[0.5], [0.1], [0.2]]
    """
    with np.errstate(divide="ignore", invalid="ignore"):  # a share of 0, a missing value
        mixed = np.logaddexp.reduce(terms + np.log(shares), axis=-2, keepdims=True)
    return np.where(shares == 0, mixed, terms)


@dataclass(frozen=True, eq=False)
class BoundedDiagonal(Diagonal):
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

    not_linear = NOT_QUADRATIC

    @cached_property
    def peak(self) -> Array:
        """The log-density at the mean, K×d: −½ ln(2πσ²), or ln τ if that is larger; not weighted."""
        return np.maximum(-0.5 * (LOG_2PI + np.log(self.variance)), self.log_tail)

    @cached_property
    def log_norm(self) -> Array:
        """The log-density at the mean times the evidence weight, and the offsets."""
        return self._weigh(self.peak, self.offsets)

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

    def _weigh(self, terms: Array, offsets: Array | None) -> Array:
        """Return log-densities times the evidence weight, plus the offsets."""
        if self.evidence_weight is not None:
            terms = self.evidence_weight * np.maximum(terms, -MAX_EVIDENCE)
        return terms if offsets is None else terms + offsets

    def take_features(self, index: NDArray[np.intp]) -> "BoundedDiagonal":
        """Return the form of these features alone."""
        weight, offsets, shares = (
            None if array is None else array[..., index]
            for array in (self.evidence_weight, self.offsets, self.shares)
        )
        mean, variance = self.mean[:, index], self.variance[:, index]
        return BoundedDiagonal(mean, variance, weight, offsets, log_tail=self.log_tail[index], shares=shares)

    def _bounded_terms(self, x: Array, c: Any) -> Array:
        """Return ln p(x_j|c) of every feature for classes c, bounded; NaN where it is missing."""
        terms = x - self.mean[c]
        with np.errstate(over="ignore"):  # beyond about 1e154 deviations a square overflows
            terms *= terms
            terms *= -0.5 / self.variance[c]
        terms += self.peak[c]
        return np.maximum(terms, self.log_tail, out=terms)

    def terms(self, x: Array) -> Array:
        """See `Diagonal.terms`."""
        terms = self._bounded_terms(x[:, None, :], slice(None))
        if self.shares is not None:
            terms = mix_absent_classes(terms, self.shares)
        return self._weigh(terms, self.offsets)

    def _chunk(self, x: Array) -> Array:
        terms = self.terms(x)
        score = terms.sum(axis=2)
        return np.where(np.isnan(terms), 0.0, terms).sum(axis=2) if np.isnan(score).any() else score

    def pieces(self, X: NDArray[Any], k: NDArray[np.intp], l: NDArray[np.intp]) -> Pieces:
        """See `ScoreForm.pieces`."""
        x, absent = np.asarray(X, dtype=np.float64), self.absent_features

        def score(c: NDArray[np.intp]) -> Array:
            return self._weigh(self._bounded_terms(x, c), None if self.offsets is None else self.offsets[c])

        with np.errstate(invalid="ignore"):  # without a bound both densities may underflow to zero: undefined
            gap = score(k) - score(l)
            if len(absent):
                gap[:, absent] = self.take_features(absent)._contrast(x[:, absent], k, l)
        return Pieces(np.where(np.isnan(x), 0.0, gap))

    def _contrast(self, x: Array, k: NDArray[np.intp], l: NDArray[np.intp]) -> Array:
        """Return the scores of classes k minus those of classes l by feature, from the scores of all classes."""
        out = np.empty_like(x)
        for rows in self.row_chunks(len(x)):
            terms = self.terms(x[rows])
            i = np.arange(len(terms))
            out[rows] = terms[i, k[rows]] - terms[i, l[rows]]
        return out

    def linear(self) -> Boundary:
        """Raise UndefinedError: a bounded score is not linear."""
        raise UndefinedError(NOT_QUADRATIC)

    def quadratic(self) -> Conic:
        """Raise UndefinedError: a bounded score is not quadratic."""
        raise UndefinedError(NOT_QUADRATIC)


@dataclass(frozen=True, eq=False)
class BoundedFull(Full):
    """The score of Gaussian features with covariances, bounded from below for all features together.

    score_k(x) = max(−½ ln|2πΣ_k| − ½ (x−μ_k)ᵀ Σ_k⁻¹ (x−μ_k), Σ_j ln τ_j) over the features that are present.

    `log_tail` (d) is ln τ. A row with one value far from all classes has no evidence from any of these features.
    """

    log_tail: Array = field(kw_only=True)

    not_linear = NOT_QUADRATIC

    def score_complete(self, x: Array) -> Array:
        """Return ln p(x|k) of rows without missing values, bounded and not weighted."""
        return np.fmax(super().score_complete(x), self.log_tail.sum())  # NaN where squares overflow

    def marginal(self, have: NDArray[np.bool_]) -> "BoundedFull":
        """Return the marginal model of some of the features."""
        plain = super().marginal(have)
        if plain is self:
            return self
        tail = self.log_tail[have]
        return BoundedFull(plain.mean, plain.covariance, plain.evidence_weight, log_tail=tail)

    @cached_property
    def peak(self) -> Array:
        """The log-density of each class at its mean, K: −½ ln|2πΣ_k|, or the bound if that is larger."""
        return np.broadcast_to(np.maximum(-self.half_log_dets, self.log_tail.sum()), (self.n_classes,))

    def complete_pieces(self, x: Array, k: NDArray[np.intp], l: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return the evidence by feature and by shape of rows without missing values, not weighted.

        Where a class is at its bound, the squares of its features are scaled so that they add up to it; where both
        are, no feature has evidence.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # a square that overflows is beyond the bound
            is_bounded = ~(super().score_complete(x) > self.log_tail.sum())
        i = np.arange(len(x))
        first, second = is_bounded[i, k], is_bounded[i, l]
        features, _ = super().complete_pieces(x, k, l)
        some, both = np.flatnonzero(first | second), first & second
        scaled = (self._scale_squares(x[some], c[some], at[some]) for c, at in ((k, first), (l, second)))
        features[some] = next(scaled) - next(scaled)
        features[both] = 0.0
        return features, np.where(both, 0.0, self.peak[k] - self.peak[l])

    def _scale_squares(self, x: Array, c: NDArray[np.intp], at_bound: NDArray[np.bool_]) -> Array:
        """Return what the features of each row take from the peak of class c; scaled to reach the bound there.

        Deviations are divided by the largest, whose square may overflow.
        """
        gap = x - self.mean[c]
        unit = np.maximum(np.abs(gap).max(axis=1, initial=0.0, keepdims=True), np.finfo(np.float64).tiny)
        squares = self.half_squares(gap / unit, c)
        total = squares.sum(axis=1, keepdims=True)
        depth = (self.log_tail.sum() - self.peak[c])[:, None]
        with np.errstate(over="ignore"):
            return squares * np.where(at_bound[:, None], depth / np.where(total == 0, 1.0, total), unit**2)

    def linear(self) -> Boundary:
        """Raise UndefinedError: a bounded score is not linear."""
        raise UndefinedError(NOT_QUADRATIC)

    def quadratic(self) -> Conic:
        """Raise UndefinedError: a bounded score is not quadratic."""
        raise UndefinedError(NOT_QUADRATIC)
