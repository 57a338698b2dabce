"""The linear score of Bernoulli, multinomial, complement and Poisson."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import UndefinedError
from deciban.scores.explanation import Pieces
from deciban.scores.score_form import Boundary, ScoreForm

INFINITE = (
    "some log-probabilities are infinite (maximum likelihood met a zero count), so there are no finite weights. "
    "Hint: a pseudo-count, alpha > 0, makes them finite."
)


@dataclass(frozen=True, eq=False)
class Barrier:
    """Values that are impossible by maximum likelihood: `on[k, j]` if x_j ≠ 0, `off[k, j]` if x_j < 1 in class k.

    Infinite log-probabilities are separate from the finite ones: ∞ · 0 and ∞ − ∞ have no value, a count
    of impossible values has.
    """

    on: Array
    off: Array

    def find_impossible(self, x: Array) -> NDArray[np.bool_]:
        """Return whether row i is impossible in class k; NaN rules nothing out."""
        seen, absent = (np.nan_to_num(x) != 0).astype(float), (x < 1).astype(float)
        return (seen @ self.on.T + absent @ self.off.T) > 0

    def pieces(self, x: Array, k: NDArray[np.intp], l: NDArray[np.intp]) -> Array:
        """Return ±∞ where the feature rules out one of the two classes, NaN where both, else 0."""
        return self.entries(x, (k,), (l,))

    def entries(self, x: Array, in_k: tuple[Any, ...], in_l: tuple[Any, ...]) -> Array:
        """Return `pieces` for values with the indices of their entries of class k and of class l."""
        seen, absent = np.nan_to_num(x) != 0, x < 1
        out_k = (seen & (self.on[in_k] > 0)) | (absent & (self.off[in_k] > 0))
        out_l = (seen & (self.on[in_l] > 0)) | (absent & (self.off[in_l] > 0))
        return _ruled_out(out_k, out_l)

    def absent(self, x: Array, row: NDArray[Any], j: NDArray[Any], k: NDArray[Any], l: NDArray[Any]) -> Array:
        """Return `pieces` of all features together that a sparse row does not store."""

        def is_impossible(c: NDArray[Any]) -> NDArray[np.bool_]:
            stored = np.bincount(row, weights=self.off[c[row], j], minlength=len(c))
            return self.off.sum(axis=1)[c] - stored > 0

        return _ruled_out(is_impossible(k), is_impossible(l))


def _ruled_out(out_k: NDArray[np.bool_], out_l: NDArray[np.bool_]) -> Array:
    """Return ln p(x|k) − ln p(x|l) where one of the two is impossible: ∓∞; NaN where both are, else 0."""
    infinite = np.where(out_k, np.where(out_l, np.nan, -np.inf), np.inf)
    return np.where(out_k | out_l, infinite, 0.0)


@dataclass(frozen=True, eq=False)
class Linear(ScoreForm):
    """A linear score.

    score_k(x) = bias_k + Σ_j (weights_kj x_j + offsets_kj) over the features that are present.

    x is first read as the indicator [x > threshold] where a threshold is given. `carrier` names the term
    of ln p(x|k) that is equal for all classes: "log_factorial" subtracts Σ_j ln x_j!.
    """

    weights: Array
    bias: Array
    offsets: Array | None = None
    threshold: float | None = None
    carrier: Literal["log_factorial"] | None = None
    barrier: Barrier | None = None

    @property
    def n_classes(self) -> int:
        """K."""
        return self.weights.shape[0]

    @cached_property
    def whole_bias(self) -> Array:
        """The bias of a row without missing values: the offsets of all features added."""
        return self.bias if self.offsets is None else self.bias + self.offsets.sum(axis=1)

    @cached_property
    def by_feature(self) -> Array:
        """The weights, d×K, contiguous by feature for loops over stored entries."""
        return np.ascontiguousarray(self.weights.T)

    def read(self, X: NDArray[Any]) -> Array:
        """Return the values as the score uses them: themselves, or indicators; NaN stays NaN."""
        if self.threshold is None:
            return np.asarray(X, dtype=np.float64)
        seen = (self.threshold < X).astype(np.float64)  # compared in X's data type, as when it was learned
        if X.dtype.kind == "f":
            seen[np.isnan(X)] = np.nan
        return seen

    def joint(self, X: NDArray[Any]) -> Array:
        """See `ScoreForm.joint`."""
        x = self.read(X)
        missing = np.isnan(x)
        if missing.any():
            score = np.where(missing, 0.0, x) @ self.weights.T + self.bias
            if self.offsets is not None:
                score += (~missing).astype(float) @ self.offsets.T
        else:
            score = x @ self.weights.T + self.whole_bias
        if self.carrier is not None:
            score -= log_factorial(x)[:, None]
        if self.barrier is not None:
            score[self.barrier.find_impossible(x)] = -np.inf
        return score

    def pieces(self, X: NDArray[Any], k: NDArray[np.intp], l: NDArray[np.intp]) -> Pieces:
        """See `ScoreForm.pieces`."""
        x = self.read(X)
        parts = np.nan_to_num(x) * (self.weights[k] - self.weights[l])
        if self.offsets is not None:
            parts += np.where(np.isnan(x), 0.0, self.offsets[k] - self.offsets[l])
        if self.barrier is not None:
            parts += self.barrier.pieces(x, k, l)
        gap = self.bias[k] - self.bias[l]
        return Pieces(parts, {"bias": gap} if gap.any() else {})

    def stored_pieces(self, Z: Any, k: NDArray[np.intp], l: NDArray[np.intp]) -> Pieces:
        """Return the pieces of CSR rows: evidence of stored values, and that of all absent features as `absent`."""
        x = self.read(Z.data)
        Z = Z.astype(np.float64)
        row = np.repeat(np.arange(Z.shape[0]), np.diff(Z.indptr))
        at = (k[row], Z.indices), (l[row], Z.indices)
        parts = np.nan_to_num(x) * (self.weights[at[0]] - self.weights[at[1]])
        gap = self.whole_bias[k] - self.whole_bias[l]
        if self.offsets is not None:
            stored = self.offsets[at[0]] - self.offsets[at[1]]
            parts += np.where(np.isnan(x), 0.0, stored)
            gap = gap - np.bincount(row, weights=stored, minlength=Z.shape[0])
        if self.barrier is not None:
            parts, gap = parts + self.barrier.entries(x, *at), gap + self.barrier.absent(x, row, Z.indices, k, l)
        Z.data = parts
        return Pieces(Z, {"absent": gap} if gap.any() else {})

    def linear(self) -> Boundary:
        """See `ScoreForm.linear`."""
        if self.barrier is not None:
            raise UndefinedError(INFINITE)
        return Boundary(self.weights, self.whole_bias)


LOG_FACTORIALS = np.array([math.lgamma(n + 1.0) for n in range(256)])
"""ln n! for n = 0 … 255: nearly all counts are among them, and scipy.special takes 0.2 s to import."""


def log_factorials(x: Array) -> Array:
    """Return ln x! = ln Γ(x + 1) of each entry: by a table for small whole numbers, else by the gamma function.

    The choice depends on the entry alone, so that an entry has the same bits whatever the other entries.

    >>> log_factorials(np.array([0.0, 3.0, 0.5])).round(6).tolist()
    [0.0, 1.791759, -0.120782]
    """
    whole = np.where((x >= 0) & (x < len(LOG_FACTORIALS)), x, 0).astype(np.intp)
    logs = LOG_FACTORIALS[whole]
    other = whole != x
    if other.any():
        from scipy.special import gammaln

        logs[other] = gammaln(x[other] + 1)
    return logs


def log_factorial(x: Array) -> Array:
    """Return Σ_j ln x_j! of each row; a missing value adds nothing."""
    return np.asarray(log_factorials(np.nan_to_num(x.astype(np.float64))).sum(axis=1))
