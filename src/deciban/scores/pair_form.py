"""The score of dependent features: what a feature's cell adds, given the cell of the feature that it depends on."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.scores.explanation import Pieces
from deciban.scores.lookup import Lookup
from deciban.scores.score_form import ScoreForm


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
    not_linear = (
        "columns that depend on each other have a score that is not linear in x. "
        "Hint: train with structure='naive'; explain(X) gives the evidence of each feature."
    )

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
