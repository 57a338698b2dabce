"""Scores by lookup: one log-probability per class, feature and level, or bin of a number."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import UndefinedError
from deciban.scores.explanation import Pieces
from deciban.scores.score_form import Boundary, Conic, ScoreForm

CHUNK_CELLS = 1 << 16
"""Log-probabilities that are looked up at a time, so that they stay in the cache until they are summed."""


@dataclass(frozen=True, eq=False)
class Lookup(ScoreForm):
    """The score of categorical features.

    score_k(x) = Σ_j log_theta[k, offset_j + x_j]; a missing (negative) code adds nothing.

    A code beyond the known levels is unseen: it scores `unseen[k, j]`, zero where it is to be ignored.
    """

    log_theta: Array
    offset: NDArray[np.int64]
    unseen: Array

    @property
    def n_classes(self) -> int:
        """K."""
        return self.log_theta.shape[0]

    @cached_property
    def by_level(self) -> tuple[Array, Array]:
        """The log-probabilities transposed, contiguous by level for loops over rows."""
        return np.ascontiguousarray(self.log_theta.T), np.ascontiguousarray(self.unseen.T)

    def _at(self, X: NDArray[Any]) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.int64]]:
        """Return which codes are known, which are unseen, and the column of each."""
        sizes = np.diff(self.offset)
        known = (X >= 0) & (sizes > X)
        return known, sizes <= X, np.where(known, X + self.offset[:-1], 0).astype(np.int64)

    def joint(self, X: NDArray[Any]) -> Array:
        """See `ScoreForm.joint`."""
        known, unknown, at = (np.ascontiguousarray(each.T) for each in self._at(X))
        score = np.zeros((len(X), self.n_classes))
        step = max(1, CHUNK_CELLS // max(1, score.size))
        levels, unseen = self.by_level
        for j in range(0, len(at), step):  # in groups of features, whose scores are summed in order
            mine = slice(j, j + step)
            terms = np.where(unknown[mine, :, None], unseen[mine, None, :], 0.0)
            if len(levels):
                terms = np.where(known[mine, :, None], levels[at[mine]], terms)
            terms[0] += score
            score = terms.sum(axis=0)
        return score

    def pieces(self, X: NDArray[Any], k: NDArray[np.intp], l: NDArray[np.intp]) -> Pieces:
        """See `ScoreForm.pieces`."""
        known, unknown, at = self._at(X)
        if not self.log_theta.shape[1]:
            return Pieces(np.zeros(X.shape))
        with np.errstate(invalid="ignore"):  # impossible under both classes: −∞ − −∞ has no value
            gap = self.log_theta[k[:, None], at] - self.log_theta[l[:, None], at]
            beyond = self.unseen[k] - self.unseen[l]
        return Pieces(np.where(known, gap, np.where(unknown, beyond, 0.0)))

    def linear(self) -> Boundary:
        """Refuse: level codes are names, not quantities."""
        raise UndefinedError(
            "a categorical model is linear in one indicator per level, not in the level codes, so it has no "
            "weights per feature, nor a quadratic_form(). Hint: explain(X) gives the evidence of each feature."
        )

    def quadratic(self) -> Conic:
        """Refuse: level codes are names, not quantities."""
        raise UndefinedError(
            "a categorical model is no function of level codes as numbers, so it has no quadratic form. "
            "Hint: explain(X) gives the evidence of each feature."
        )


@dataclass(frozen=True, eq=False)
class Steps(ScoreForm):
    """The score of numbers by bins.

    score_k(x) = Σ_j log_theta[k, bin of x_j], the bins of all features in one array; NaN adds nothing.

    Feature j's cuts are cuts[start[j]:start[j+1]], ascending, and its bins one more: x is in bin b if it is at least
    the cut before b and below the cut after. A feature without cuts has one bin, so it carries no evidence.

    >>> form = Steps(np.array([2.0]), np.array([0, 1]), np.log([[0.25, 0.75]]))
    >>> np.exp(form.joint(np.array([[1.9], [2.0], [np.nan]]))).ravel().tolist()
    [0.25, 0.75, 1.0]
    """

    cuts: Array
    start: NDArray[np.int64]
    log_theta: Array

    @property
    def n_classes(self) -> int:
        """K."""
        return self.log_theta.shape[0]

    @cached_property
    def lookup(self) -> Lookup:
        """The score of the bins as level codes."""
        d = len(self.start) - 1
        return Lookup(self.log_theta, self.start + np.arange(d + 1), np.zeros((self.n_classes, d)))

    def bins(self, X: NDArray[Any]) -> NDArray[np.int64]:
        """Return the bin of each number, counted from 0 in each feature; −1 where it is missing."""
        found = np.zeros(X.shape, dtype=np.int64)
        for j in np.flatnonzero(np.diff(self.start)).tolist():  # a feature without cuts has one bin
            a, b = self.start[j : j + 2]
            found[:, j] = np.searchsorted(self.cuts[a:b], X[:, j].astype(np.float64, copy=False), side="right")
        if X.dtype.kind == "f":
            found[np.isnan(X)] = -1
        return found

    def joint(self, X: NDArray[Any]) -> Array:
        """See `ScoreForm.joint`."""
        return self.lookup.joint(self.bins(X))

    def pieces(self, X: NDArray[Any], k: NDArray[np.intp], l: NDArray[np.intp]) -> Pieces:
        """See `ScoreForm.pieces`."""
        return self.lookup.pieces(self.bins(X), k, l)

    def linear(self) -> Boundary:
        """Refuse: a step function is not linear."""
        raise UndefinedError(
            "numbers by bins have a score that jumps from bin to bin, so it has no weights per feature, nor a "
            "quadratic_form(). Hint: explain(X) gives the evidence of each feature."
        )
