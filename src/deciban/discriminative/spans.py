"""Span: a linear predictor of more words than rows, told by what it adds to each row.

    score_ik = b_k + Σ_j t_jk e_jk x_ij,   held back by ½ l2 (Σ_jk (t_jk − t̄)² + t̄²/c)

The best t are sums of the rows that were learned: t_jk = t̄ + e_jk Σ_i x_ij a_ik (the representer theorem). So n
numbers a score are looked for in the place of V, and the scores are K a, K = X diag(e²) Xᵀ, and what t̄ adds, which is
c Σ_ik m_ik a_ik where m = X e is what all words say together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban.kernels.loaded import kernels
from deciban.kernels.together import run
from deciban.ledger.statistic import Array

STRIPES = 8
"""Into so many stretches of words the work is cut, however many threads there are: sums keep their order."""


class ByWord(NamedTuple):
    """The rows of each word of two rows or more, with the squares of its evidence."""

    start: NDArray[np.int64]
    row: NDArray[np.int32]
    value: Array
    squares: Array


@dataclass(frozen=True, eq=False)
class Span:
    """Rows of words (CSR, n×V), the evidence of each word (V×M, one column a score), and c."""

    X: Any
    evidence: Array
    common: float = 0.0

    @cached_property
    def together(self) -> Array:
        """m_ik = Σ_j e_jk x_ij: what all words of a row say."""
        return np.asarray(self.X @ self.evidence)

    @cached_property
    def _df(self) -> NDArray[np.int64]:
        return np.bincount(self.X.indices, minlength=self.X.shape[1])

    @cached_property
    def by_word(self) -> ByWord:
        """Words that several rows share; the others say nothing about any row but their own."""
        shared = np.flatnonzero(self._df > 1)
        columns = self.X[:, shared].tocsc() if len(shared) < self.X.shape[1] else self.X.tocsc()
        start, row = columns.indptr.astype(np.int64), columns.indices.astype(np.int32)
        return ByWord(start, row, columns.data.astype(np.float64), self.evidence[shared] ** 2)

    @cached_property
    def alone(self) -> Array:
        """Σ x²_ij e²_jk over the words that no other row has, n×M."""
        words = np.flatnonzero(self._df == 1)
        if not len(words):
            return np.zeros((self.X.shape[0], self.evidence.shape[1]))
        own = self.X[:, words]
        own.data = own.data**2
        return np.asarray(own @ self.evidence[words] ** 2)

    def loudness(self, weight: Array) -> float:
        """The mean of K_ii over rows of these weights: how far a row moves its own score."""
        words = self.by_word
        own = _columns(words._replace(value=words.value**2), self.X.shape[0]) @ words.squares + self.alone
        return float(weight @ own.sum(axis=1)) / (float(weight.sum()) * own.shape[1])

    def applied(self, A: Array, threads: int = 1) -> Array:
        """K a, and what t̄ adds: the scores of all rows, n×M."""
        out = self._shared(np.ascontiguousarray(A), threads) + self.alone * A
        if self.common:
            out += self.together * (self.common * float((self.together * A).sum()))
        return out

    def _shared(self, A: Array, threads: int) -> Array:
        words = self.by_word
        loaded = kernels("spans", len(words.row) * A.shape[1])
        if loaded is None:
            return _shared(words, A)
        ends = np.searchsorted(words.start, np.linspace(0, len(words.row), STRIPES + 1)[1:-1])
        cuts = [0, *ends.tolist(), len(words.squares)]

        def stripe(s: int) -> Array:
            out = np.zeros_like(A)
            loaded.shared_by_words(*words, A, out, cuts[s], cuts[s + 1])
            return out

        return np.sum(list(run(stripe, range(STRIPES), threads)), axis=0)

    def common_trust(self, A: Array) -> float:
        """t̄."""
        return self.common * float((self.together * A).sum()) if self.common else 0.0

    def trust(self, A: Array) -> Array:
        """t, V×M."""
        trust = np.asarray(self.X.T.tocsr() @ A)
        trust *= self.evidence
        trust += self.common_trust(A)
        return trust


def _shared(words: ByWord, A: Array) -> Array:
    """The definition of what rows share: X (e² ∘ Xᵀ a)."""
    X = _columns(words, len(A))
    return np.asarray(X @ (words.squares * (X.T @ A)))


def _columns(words: ByWord, n: int) -> Any:
    from scipy.sparse import csc_array

    return csc_array((words.value, words.row, words.start), shape=(n, len(words.squares)))
