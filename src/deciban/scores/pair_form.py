"""Scores of dependent features: what a feature's cell adds, given the cell of one other feature, or of each other."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.scores.explanation import Pieces
from deciban.scores.lookup import Lookup
from deciban.scores.score_form import ScoreForm, row_chunks

CELLS_NOT_LINEAR = (
    "columns that depend on each other have a score that is not linear in x. "
    "Hint: train with structure='naive'; explain(X) gives the evidence of each feature."
)


@dataclass(frozen=True, eq=False)
class Edges(ScoreForm):
    """The correction of independent scores for a forest in which each feature depends on at most one other.

    score_k(x) = Σ_j log_ratio[k, j, x_p(j), x_j] = Σ_j ln p(x_j | x_p(j), k)/p(x_j | k), over the features that have
    a parent p(j) ≥ 0. x are the numbers of cells, below V; where one of the two is missing (negative), nothing is
    added.
    `log_ratio` is K×d×V×V, the cells of the parent first.
    """

    parent: NDArray[np.int64]
    log_ratio: Array

    class_array = "log_ratio"
    not_linear = CELLS_NOT_LINEAR

    @cached_property
    def lookup(self) -> Lookup:
        """The score of combined cells, see `combine`, as level codes."""
        K, d, V, _ = self.log_ratio.shape
        offset = np.arange(d + 1, dtype=np.int64) * (V * V)
        return Lookup(self.log_ratio.reshape(K, d * V * V), offset, np.zeros((K, d)))

    def combine(self, X: NDArray[Any]) -> NDArray[np.int64]:
        """Return the number of a feature's cell and its parent's, −1 where one is missing or there is no parent."""
        cells = np.asarray(X, dtype=np.int64)
        given = cells[:, np.maximum(self.parent, 0)]
        known = (self.parent >= 0) & (cells >= 0) & (given >= 0)
        return np.where(known, given * self.log_ratio.shape[2] + cells, -1)

    def log_likelihoods(self, X: NDArray[Any]) -> Array:
        """See `ScoreForm.log_likelihoods`."""
        return self.lookup.log_likelihoods(self.combine(X))

    def pieces(self, X: NDArray[Any], k: NDArray[np.intp], l: NDArray[np.intp]) -> Pieces:
        """See `ScoreForm.pieces`."""
        return self.lookup.pieces(self.combine(X), k, l)


@dataclass(frozen=True, eq=False)
class AveragedEdges(ScoreForm):
    """The correction of independent scores that averages over the features on which all others may depend.

    With feature i as the parent of all others the correction is a_ki(x) = Σ_j log_ratio[k, i, x_i, j, x_j], j ≠ i,
    and score_k(x) = ln mean_i exp a_ki(x), over the features i that are not missing (negative); 0 where all are.
    `log_ratio` is K×d×V×d×V, ln p(x_j | x_i, k)/p(x_j | k), and 0 for i = j.
    """

    log_ratio: Array

    class_array = "log_ratio"
    not_linear = CELLS_NOT_LINEAR

    def log_likelihoods(self, X: NDArray[Any]) -> Array:
        """See `ScoreForm.log_likelihoods`."""
        K, d = self.log_ratio.shape[:2]
        cells, out = np.asarray(X, dtype=np.int64), np.zeros((len(X), K))
        for rows in row_chunks(len(X), d * d):
            for k in range(K):
                out[rows, k] = log_mean_exp(self._ratios(cells[rows], k).sum(axis=2), cells[rows] >= 0)
        return out

    def _ratios(self, cells: NDArray[np.int64], k: int | NDArray[np.intp]) -> Array:
        """Return the terms of a_ki(x) for a class, or the class of each row: rows × parents i × features j."""
        known, own = cells >= 0, np.maximum(cells, 0)
        feature = np.arange(cells.shape[1])
        classes = k if isinstance(k, int) else k[:, None, None]
        found = self.log_ratio[classes, feature[:, None], own[:, :, None], feature, own[:, None, :]]
        return np.where(known[:, :, None] & known[:, None, :], found, 0.0)

    def pieces(self, X: NDArray[Any], k: NDArray[np.intp], l: NDArray[np.intp]) -> Pieces:
        """Return the evidence of each feature: its mean over the parents, by weights with which it adds up.

        With δ = a_k − a_l the function g(t) = ln mean exp(a_l + tδ) is convex, so g(1) − g(0) lies between its slopes
        at 0 and 1, which are means of δ with the weights softmax(a_l) and softmax(a_k); between these two the weights
        w are chosen for which Σ_i w_i δ_i is the difference of the scores.
        """
        cells = np.asarray(X, dtype=np.int64)
        found = np.zeros(cells.shape)
        for rows in row_chunks(len(cells), cells.shape[1] ** 2):
            own, known = cells[rows], cells[rows] >= 0
            for_k, for_l = self._ratios(own, k[rows]), self._ratios(own, l[rows])
            weights = _mean_weights(for_k.sum(axis=2), for_l.sum(axis=2), known)
            found[rows] = np.einsum("ni,nij->nj", weights, for_k - for_l)
        return Pieces(found)


def log_mean_exp(a: Array, known: NDArray[np.bool_]) -> Array:
    """Return ln mean exp(a) of the known entries of each row, 0 where there are none.

    >>> log_mean_exp(np.log([[1.0, 3.0], [5.0, 7.0]]), np.array([[True, True], [False, False]])).round(6).tolist()
    [0.693147, 0.0]
    """
    n, peak = known.sum(axis=1), np.where(known, a, -np.inf).max(axis=1, initial=-np.inf)
    peak = np.where(n > 0, peak, 0.0)
    total = np.where(known, np.exp(a - peak[:, None]), 0.0).sum(axis=1)
    return np.where(n > 0, np.log(np.where(n > 0, total, 1.0)) + peak - np.log(np.maximum(n, 1)), 0.0)


def _mean_weights(a: Array, b: Array, known: NDArray[np.bool_]) -> Array:
    """Return the weights of `AveragedEdges.pieces`, from the sums of two classes with each parent."""
    top, bottom = (np.where(known, np.exp(x - _log_sum(x, known)[:, None]), 0.0) for x in (a, b))
    high, low = (top * (a - b)).sum(axis=1), (bottom * (a - b)).sum(axis=1)
    gap, wanted = high - low, log_mean_exp(a, known) - log_mean_exp(b, known)
    share = np.clip(np.divide(wanted - low, gap, out=np.full(len(a), 0.5), where=gap > 0), 0.0, 1.0)[:, None]
    return share * top + (1 - share) * bottom


def _log_sum(a: Array, known: NDArray[np.bool_]) -> Array:
    """Return ln Σ exp(a) of the known entries of each row."""
    return log_mean_exp(a, known) + np.log(np.maximum(known.sum(axis=1), 1))
