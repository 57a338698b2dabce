"""Steps: the score of numbers by bins, one log-probability per class, feature and bin."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import UndefinedError
from deciban.scores.explanation import Pieces
from deciban.scores.lookup import Lookup
from deciban.scores.score_form import Boundary, Conic


@dataclass(frozen=True, eq=False)
class Steps:
    """score_k(x) = Σ_j log_theta[k, bin of x_j], the bins of all features side by side; NaN says nothing.

    Feature j's cuts are cuts[start[j]:start[j+1]], ascending, and its bins one more: x is in bin b if it is at least
    the cut before b and below the cut after. A feature without cuts has one bin, so it tells no class from another.

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
        """The bin of each number, counted from 0 in each feature; −1 where it is missing."""
        found = np.zeros(X.shape, dtype=np.int64)
        for j in np.flatnonzero(np.diff(self.start)).tolist():  # without cuts all is in one bin
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
        """Steps follow no line."""
        raise UndefinedError(
            "numbers by bins have a score that jumps from bin to bin, so it has no weights per feature, nor a "
            "quadratic_form(). Hint: explain(X) gives the evidence of each feature."
        )

    def quadratic(self) -> Conic:
        """Steps follow no curve."""
        self.linear()
        raise AssertionError
