"""A linear score whose weights differ from a simple default in few places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import UndefinedError
from deciban.scores.explanation import Pieces
from deciban.scores.linear import INFINITE, log_factorial
from deciban.scores.score_form import Boundary, ScoreForm


@dataclass(frozen=True, eq=False)
class SparseLinear(ScoreForm):
    """A linear score with weights of few parameters and a list of deviations.

    weight_kv = slope_k + scale_k · base_v + delta_kv, with delta zero but for the listed entries.

    Feature v lists classes klass[i] and deltas delta[i] for i in start[v]:start[v+1]. With a pseudo-count,
    ln θ_kv = ln α − ln(N_k + αV) + ln(1 + n_kv/α): only the last term depends on class *and* word, and
    it is zero for words that the class lacks, so a thousand classes need no dense table.

    `hard` marks words that are impossible in a class that lacks them (no pseudo-count), `mute` words that
    carry no evidence (never seen, or not selected). `carrier` is as in `Linear`. Where `trust` is given, the evidence
    of word v is multiplied by trust_v.
    """

    start: NDArray[np.int64]
    klass: NDArray[np.int32]
    delta: Array
    bias: Array
    slope: Array
    base: Array
    scale: Array
    threshold: float | None = None
    hard: NDArray[np.bool_] | None = None
    mute: NDArray[np.bool_] | None = None
    carrier: Literal["log_factorial"] | None = None
    trust: Array | None = None

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.bias)

    @property
    def feature(self) -> NDArray[np.intp]:
        """The feature of each entry."""
        return np.repeat(np.arange(len(self.base)), np.diff(self.start))

    def read(self, X: Any) -> Any:
        """Return X as CSR of the values that the score uses: themselves, or indicators; 0 for mute words."""
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

        return csr_array((values, self.klass, self.start), shape=(len(self.base), self.n_classes))

    def joint(self, X: Any) -> Array:
        """See `ScoreForm.joint`."""
        score = self.sparse_joint(X)
        if self.carrier is not None:
            score -= log_factorial(np.asarray(X))[:, None]
        return score

    def sparse_joint(self, X: Any) -> Array:
        """Return the score without its carrier."""
        Z = self.read(X)
        unknown = self._take_missing(Z)
        Z = self.apply_trust(Z)
        score: Array = (Z @ self._entries(self.delta)).toarray()
        score += self.bias + np.outer(Z.sum(axis=1), self.slope) + np.outer(Z @ self.base, self.scale)
        if self.hard is not None:
            score[self._find_impossible(Z, self.hard)] = -np.inf
        for row, v in zip(*unknown):
            score[row] -= self._absence(np.arange(self.n_classes), np.full(self.n_classes, v))
        return score

    def apply_trust(self, Z: Any) -> Any:
        """Return CSR rows with each value multiplied by the trust in its word."""
        if self.trust is None:
            return Z
        Z = Z.copy()
        Z.data = Z.data * self.trust[Z.indices]
        return Z

    def _take_missing(self, Z: Any) -> tuple[NDArray[np.intp], NDArray[Any]]:
        """Set missing values in Z to zero; return their rows and words."""
        at = np.flatnonzero(np.isnan(Z.data))
        Z.data[at] = 0.0
        return np.searchsorted(Z.indptr, at, side="right") - 1, Z.indices[at]

    def _absence(self, k: NDArray[Any], v: NDArray[Any]) -> Array:
        """Return the evidence of the absence of word v for class k, part of the bias: ln(1 − θ), −λ, or 0."""
        trust = 1.0 if self.trust is None else self.trust[v]
        if self.threshold is not None:
            return -np.logaddexp(0, self._own_weights(k, v)) * trust
        if self.carrier is None:
            return np.zeros(len(k))
        silent = False if self.mute is None else self.mute[v]
        return np.where(silent, 0.0, -np.exp(self._own_weights(k, v))) * trust

    def sum_absences(self, trust: Array) -> Array:
        """Return Σ_v trust_v · evidence of the absence of word v, for each class."""
        return np.array([self._absent(k) @ trust for k in range(self.n_classes)], dtype=np.float64)

    def absent_words(self) -> Array:
        """Return the evidence of the absence of each word for each class, K×V."""
        return np.stack([self._absent(k) for k in range(self.n_classes)])

    def _absent(self, k: int) -> Array:
        """Return the evidence of the absence of each word for one class; 0 for mute words."""
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
        Z = self.read(X)
        missing = np.isnan(Z.data)
        self._take_missing(Z)
        row = np.repeat(np.arange(Z.shape[0]), np.diff(Z.indptr))
        not_absent = missing | (Z.data != 0)  # a word that is present, or missing, has no evidence of absence
        moved = np.where(not_absent, self._absence(k[row], Z.indices) - self._absence(l[row], Z.indices), 0.0)
        absent = self.bias[k] - self.bias[l] - np.bincount(row, weights=moved, minlength=Z.shape[0])
        with np.errstate(invalid="ignore"):  # impossible under both classes: −∞ − −∞ has no value
            gap = self.weights(k[row], Z.indices) - self.weights(l[row], Z.indices)
            Z.data = np.where(Z.data == 0, 0.0, Z.data * gap + moved)
        return Pieces(Z, {"absent": absent} if absent.any() else {})

    def weights(self, k: NDArray[Any], v: NDArray[Any]) -> Array:
        """Return weight_kv for pairs of class and feature, times the trust; 0 for mute words."""
        weight = self._own_weights(k, v)
        if self.trust is None:
            return weight
        trust = self.trust[v]
        return np.where(trust == 0, 0.0, weight) * trust

    def _own_weights(self, k: NDArray[Any], v: NDArray[Any]) -> Array:
        """Return weight_kv without trust."""
        key = self.feature.astype(np.int64) * self.n_classes + self.klass
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
            raise UndefinedError(INFINITE)
        weights = self.slope[:, None] + np.outer(self.scale, self.base)
        weights[self.klass, self.feature] += self.delta
        if self.mute is not None:
            weights[:, self.mute] = 0.0
        if self.trust is not None:
            weights *= self.trust
        return Boundary(weights, self.bias)
