"""The linear scores of Bernoulli, multinomial, complement and Poisson, with dense or with sparse weights.

Sparse weights differ from a simple default in few places.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.scores.explanation import Pieces
from deciban.scores.score_form import Boundary, ScoreForm

NO_FINITE_WEIGHTS = (
    "some log-probabilities are infinite (maximum likelihood met a zero count), so there are no finite weights. "
    "Hint: a pseudo-count, alpha > 0, makes them finite."
)


@dataclass(frozen=True, eq=False)
class ImpossibleValues:
    """Values that are impossible by maximum likelihood: `on[k, j]` if x_j ≠ 0, `off[k, j]` if x_j < 1 in class k.

    Infinite log-probabilities are separate from the finite ones: ∞ · 0 and ∞ − ∞ have no value, a count
    of impossible values has.
    """

    on: Array
    off: Array

    def find_rows(self, x: Array) -> NDArray[np.bool_]:
        """Return whether row i is impossible in class k; NaN rules nothing out."""
        nonzero, absent = (np.nan_to_num(x) != 0).astype(float), (x < 1).astype(float)
        return (nonzero @ self.on.T + absent @ self.off.T) > 0

    def pieces(self, x: Array, at_k: tuple[Any, ...], at_l: tuple[Any, ...]) -> Array:
        """Return ±∞ where a value rules out one of two classes, NaN where both, else 0; `at_k` and `at_l` index the
        values of class k and of class l.
        """
        nonzero, absent = np.nan_to_num(x) != 0, x < 1
        in_k, in_l = ((nonzero & (self.on[at] > 0)) | (absent & (self.off[at] > 0)) for at in (at_k, at_l))
        return _contrast_impossible(in_k, in_l)

    def unstored_pieces(self, row: NDArray[Any], j: NDArray[Any], k: NDArray[Any], l: NDArray[Any]) -> Array:
        """Return `pieces` of all features together that sparse rows do not store; they store feature j in `row`."""

        def is_impossible(c: NDArray[Any]) -> NDArray[np.bool_]:
            stored = np.bincount(row, weights=self.off[c[row], j], minlength=len(c))
            return self.off.sum(axis=1)[c] - stored > 0

        return _contrast_impossible(is_impossible(k), is_impossible(l))


def _contrast_impossible(in_k: NDArray[np.bool_], in_l: NDArray[np.bool_]) -> Array:
    """Return ln p(x|k) − ln p(x|l) where x is impossible in one of the two: ∓∞; NaN in both, else 0."""
    return np.where(in_k, np.where(in_l, np.nan, -np.inf), np.where(in_l, np.inf, 0.0))


@dataclass(frozen=True, eq=False)
class Linear(ScoreForm):
    """A linear score.

    score_k(x) = bias_k + Σ_j (weights_kj x_j + offsets_kj) over the features that are present.

    x is first replaced by the indicator [x > threshold] where a threshold is given; where `limits` (2×d) are, a value
    beyond the smallest and the largest counts as the nearer of them. `carrier` names the term of ln p(x|k) that is
    equal for all classes: "log_factorial" subtracts Σ_j ln x_j!.
    """

    weights: Array
    bias: Array
    offsets: Array | None = None
    threshold: float | None = None
    carrier: Literal["log_factorial"] | None = None
    impossible: ImpossibleValues | None = None
    limits: Array | None = None

    class_array = "weights"
    not_linear = NO_FINITE_WEIGHTS
    mute = None  # a sparse form may have words without evidence

    @cached_property
    def complete_bias(self) -> Array:
        """The bias of a row without missing values: the offsets of all features added."""
        return self.bias if self.offsets is None else self.bias + self.offsets.sum(axis=1)

    @cached_property
    def by_feature(self) -> Array:
        """The weights, d×K, contiguous by feature for loops over stored entries."""
        return np.ascontiguousarray(self.weights.T)

    def read_values(self, X: NDArray[Any]) -> Array:
        """Return the values to multiply by weights: [x > threshold], or x within the limits; NaN stays NaN."""
        if self.threshold is None:
            return self.limit(np.asarray(X, dtype=np.float64))
        seen = (self.threshold < X).astype(np.float64)  # compared in X's data type, as when it was learned
        if X.dtype.kind == "f":
            seen[np.isnan(X)] = np.nan
        return seen

    def limit(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the values with those beyond the limits at them; NaN and ±∞, which is refused, stay as they are."""
        return X if self.limits is None else np.where(np.isfinite(X), np.clip(X, *self.limits), X)

    def log_likelihoods(self, X: NDArray[Any]) -> Array:
        """See `ScoreForm.log_likelihoods`."""
        x = self.read_values(X)
        missing = np.isnan(x)
        if missing.any():
            score = np.where(missing, 0.0, x) @ self.weights.T + self.bias
            if self.offsets is not None:
                score += (~missing).astype(float) @ self.offsets.T
        else:
            score = x @ self.weights.T + self.complete_bias
        if self.carrier is not None:
            score -= sum_log_factorials(x)[:, None]
        if self.impossible is not None:
            score[self.impossible.find_rows(x)] = -np.inf
        return score

    def pieces(self, X: NDArray[Any], k: NDArray[np.intp], l: NDArray[np.intp]) -> Pieces:
        """See `ScoreForm.pieces`."""
        gap = self.bias[k] - self.bias[l]
        return Pieces(self._contrast_values(self.read_values(X), (k,), (l,)), {"bias": gap} if gap.any() else {})

    def stored_pieces(self, Z: Any, k: NDArray[np.intp], l: NDArray[np.intp]) -> Pieces:
        """Return the pieces of CSR rows by stored value, and of absent features as `absent`; `limits` is None."""
        x = self.read_values(Z.data)
        Z = Z.astype(np.float64)
        row = np.repeat(np.arange(Z.shape[0]), np.diff(Z.indptr))
        at_k, at_l = (k[row], Z.indices), (l[row], Z.indices)
        Z.data = self._contrast_values(x, at_k, at_l)
        gap = self.complete_bias[k] - self.complete_bias[l]
        if self.offsets is not None:
            stored = self.offsets[at_k] - self.offsets[at_l]
            gap = gap - np.bincount(row, weights=stored, minlength=Z.shape[0])
        if self.impossible is not None:
            gap = gap + self.impossible.unstored_pieces(row, Z.indices, k, l)
        return Pieces(Z, {"absent": gap} if gap.any() else {})

    def _contrast_values(self, x: Array, at_k: tuple[Any, ...], at_l: tuple[Any, ...]) -> Array:
        """Return the evidence of values x; `at_k` and `at_l` index their weights in class k and in class l."""
        evidence = np.nan_to_num(x) * (self.weights[at_k] - self.weights[at_l])
        if self.offsets is not None:
            evidence += np.where(np.isnan(x), 0.0, self.offsets[at_k] - self.offsets[at_l])
        if self.impossible is not None:
            evidence += self.impossible.pieces(x, at_k, at_l)
        return evidence

    def linear(self) -> Boundary:
        """See `ScoreForm.linear`."""
        if self.impossible is not None:
            return super().linear()
        return Boundary(self.weights, self.complete_bias)


@dataclass(frozen=True, eq=False)
class SparseLinear(ScoreForm):
    """A linear score with weights of few parameters and a list of deviations.

    weight_kv = slope_k + scale_k · base_v + delta_kv, with delta zero but for the listed entries.

    Feature v lists classes class_code[i] and deltas delta[i] for i in start[v]:start[v+1]. With a pseudo-count,
    ln θ_kv = ln α − ln(N_k + αV) + ln(1 + n_kv/α): only the last term depends on class *and* word, and
    it is zero for words that the class lacks, so a thousand classes need no dense table.

    `hard` marks words that are impossible in a class that lacks them (no pseudo-count), `mute` words that
    carry no evidence (never seen, or not selected). `carrier` is as in `Linear`. Where `evidence_weight` is given,
    the evidence of word v is multiplied by evidence_weight_v.
    """

    start: NDArray[np.int64]
    class_code: NDArray[np.int32]
    delta: Array
    bias: Array
    slope: Array
    base: Array
    scale: Array
    threshold: float | None = None
    hard: NDArray[np.bool_] | None = None
    mute: NDArray[np.bool_] | None = None
    carrier: Literal["log_factorial"] | None = None
    evidence_weight: Array | None = None

    class_array = "bias"
    not_linear = NO_FINITE_WEIGHTS

    @property
    def feature(self) -> NDArray[np.intp]:
        """The feature of each entry."""
        return np.repeat(np.arange(len(self.base)), np.diff(self.start))

    def prepare_values(self, X: Any) -> Any:
        """Return a CSR copy of X with the values that the score uses: x, or an indicator; 0 for words in `mute`."""
        from scipy.sparse import csr_array

        Z = csr_array(X, copy=True)
        if self.threshold is None:
            Z.data = Z.data.astype(np.float64)
        else:  # compared in X's data type, as when it was learned
            Z.data = np.where(np.isnan(Z.data), np.nan, Z.data > self.threshold)
        if self.mute is not None:
            Z.data[self.mute[Z.indices]] = 0.0
        return Z

    def _entries(self, values: Array) -> Any:
        """Return values of the listed entries as a V×K matrix."""
        from scipy.sparse import csr_array

        return csr_array((values, self.class_code, self.start), shape=(len(self.base), self.n_classes))

    def log_likelihoods(self, X: Any) -> Array:
        """See `ScoreForm.log_likelihoods`; X is dense where there is a carrier."""
        score = self.log_likelihoods_without_carrier(X)
        if self.carrier is not None:
            score -= sum_log_factorials(np.asarray(X))[:, None]
        return score

    def log_likelihoods_without_carrier(self, X: Any) -> Array:
        """Return ln p(x|k), n×K, without the term that `carrier` names; X may be sparse."""
        Z = self.prepare_values(X)
        missing = np.flatnonzero(np.isnan(Z.data))
        rows, words = np.searchsorted(Z.indptr, missing, side="right") - 1, Z.indices[missing]
        Z.data[missing] = 0.0
        Z = self.apply_evidence_weight(Z)
        score: Array = (Z @ self._entries(self.delta)).toarray()
        score += self.bias + np.outer(Z.sum(axis=1), self.slope) + np.outer(Z @ self.base, self.scale)
        if self.hard is not None:
            score[self._find_impossible(Z, self.hard)] = -np.inf
        for row, v in zip(rows, words):
            score[row] -= self._absence(np.arange(self.n_classes), np.full(self.n_classes, v))
        return score

    def apply_evidence_weight(self, Z: Any) -> Any:
        """Return CSR rows with each value multiplied by the evidence weight of its word; Z itself without such."""
        if self.evidence_weight is None:
            return Z
        Z = Z.copy()
        Z.data = Z.data * self.evidence_weight[Z.indices]
        return Z

    def _absence(self, k: NDArray[Any], v: NDArray[Any]) -> Array:
        """Return the evidence of the absence of word v for class k, part of the bias: ln(1 − θ), −λ, or 0."""
        scale = 1.0 if self.evidence_weight is None else self.evidence_weight[v]
        if self.threshold is not None:
            return -np.logaddexp(0, self._own_weights(k, v)) * scale
        if self.carrier is None:
            return np.zeros(len(k))
        silent = False if self.mute is None else self.mute[v]
        return np.where(silent, 0.0, -np.exp(self._own_weights(k, v))) * scale

    def absence_evidence(self, k: int) -> Array:
        """Return the evidence of the absence of each word for class k; 0 for words in `mute`."""
        words = np.arange(len(self.base))
        evidence = self._absence(np.full(len(words), k), words)
        return evidence if self.mute is None else np.where(self.mute, 0.0, evidence)

    def _find_impossible(self, Z: Any, hard: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return whether row i has a hard word that class k lacks."""
        words = Z.copy()
        words.data = ((words.data != 0) & hard[words.indices]).astype(np.float64)
        known = (words @ self._entries(np.ones(len(self.delta)))).toarray()
        return known < words.sum(axis=1)[:, None]

    def pieces(self, X: Any, k: NDArray[np.intp], l: NDArray[np.intp]) -> Pieces:
        """See `ScoreForm.pieces`; CSR with the evidence of the row's words, and that of absent words as `absent`."""
        Z = self.prepare_values(X)
        missing = np.isnan(Z.data)
        Z.data[missing] = 0.0
        row = np.repeat(np.arange(Z.shape[0]), np.diff(Z.indptr))
        not_absent = missing | (Z.data != 0)  # a word that is present, or missing, has no evidence of absence
        moved = np.where(not_absent, self._absence(k[row], Z.indices) - self._absence(l[row], Z.indices), 0.0)
        absent = self.bias[k] - self.bias[l] - np.bincount(row, weights=moved, minlength=Z.shape[0])
        with np.errstate(invalid="ignore"):  # impossible under both classes: −∞ − −∞ has no value
            gap = self.weights(k[row], Z.indices) - self.weights(l[row], Z.indices)
            Z.data = np.where(Z.data == 0, 0.0, Z.data * gap + moved)
        return Pieces(Z, {"absent": absent} if absent.any() else {})

    def weights(self, k: NDArray[Any], v: NDArray[Any]) -> Array:
        """Return weight_kv for pairs of class and feature, times the evidence weight; 0 for words in `mute`."""
        weight = self._own_weights(k, v)
        if self.evidence_weight is None:
            return weight
        scale = self.evidence_weight[v]
        return np.where(scale == 0, 0.0, weight) * scale

    def _own_weights(self, k: NDArray[Any], v: NDArray[Any]) -> Array:
        """Return weight_kv without the evidence weight."""
        key = self.feature.astype(np.int64) * self.n_classes + self.class_code
        wanted = v.astype(np.int64) * self.n_classes + k
        at = np.searchsorted(key, wanted)
        found = (at < len(key)) & (key[np.minimum(at, len(key) - 1)] == wanted) if len(key) else at < 0
        default = self.slope[k] + self.scale[k] * self.base[v]
        delta = np.zeros(len(wanted))
        delta[found] = self.delta[at[found]]
        weight = default + delta
        if self.hard is not None:
            weight = np.where(~found & self.hard[v], -np.inf, weight)
        return weight if self.mute is None else np.where(self.mute[v], 0.0, weight)

    def linear(self) -> Boundary:
        """See `ScoreForm.linear`; this makes all K×V weights."""
        if self.hard is not None:
            return super().linear()
        weights = self.slope[:, None] + np.outer(self.scale, self.base)
        weights[self.class_code, self.feature] += self.delta
        if self.mute is not None:
            weights[:, self.mute] = 0.0
        if self.evidence_weight is not None:
            weights *= self.evidence_weight
        return Boundary(weights, self.bias)


LOG_FACTORIALS = np.array([math.lgamma(n + 1.0) for n in range(256)])
"""ln n! for n = 0 … 255: nearly all counts are among them, and scipy.special takes 0.2 s to import."""


def log_factorials(x: Array) -> Array:
    """Return ln x! = ln Γ(x + 1) of each entry: by a table for small whole numbers, else by the gamma function.

    The choice depends on the entry alone, so that an entry has the same bits whatever the other entries.

    >>> log_factorials(np.array([0.0, 3.0, 0.5])).round(6).tolist()
    [0.0, 1.791759, -0.120782]
    """
    index = np.where((x >= 0) & (x < len(LOG_FACTORIALS)), x, 0).astype(np.intp)
    logs = LOG_FACTORIALS[index]
    other = index != x
    if other.any():
        from scipy.special import gammaln

        logs[other] = gammaln(x[other] + 1)
    return logs


def sum_log_factorials(x: Array) -> Array:
    """Return Σ_j ln x_j! of each row; a missing value adds nothing."""
    return np.asarray(log_factorials(np.nan_to_num(x.astype(np.float64))).sum(axis=1))
