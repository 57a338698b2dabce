"""Table: the score of the full joint model, one log-probability per class and combination of levels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.errors import UndefinedError
from deciban.scores.evidence import Pieces
from deciban.scores.form import Array, Boundary, Conic


@dataclass(frozen=True)
class Table:
    """p(x|k) = (count_k(x) + α) / (N_k + αM), M the number of cells; the cells never seen are not stored.

    A missing value, or an unseen level that is to be ignored, is summed over: the cells that agree with
    what the row has, counted together.
    """

    cell: NDArray[np.int64]
    count: Array
    sizes: tuple[int, ...]
    alpha: float
    smooth_unseen: bool = False

    @property
    def n_classes(self) -> int:
        """K."""
        return self.count.shape[0]

    def joint(self, X: NDArray[Any]) -> Array:
        """See `ScoreForm.joint`."""
        rows, back = np.unique(np.asarray(X, dtype=np.int64), axis=0, return_inverse=True)
        if not len(rows):
            return np.zeros((0, self.n_classes))
        return np.stack([self._one(row) for row in rows])[back.reshape(-1)]

    def _one(self, row: NDArray[np.int64]) -> Array:
        sizes = np.array(self.sizes, dtype=object)
        strange = row >= np.array(self.sizes)
        have = (row >= 0) & ~(strange & (not self.smooth_unseen))
        agree = (self.cell[:, have] == row[have]).all(axis=1)
        total = self.count.sum(axis=1)
        cells = math.prod(int(v) + self.smooth_unseen for v in sizes)
        free = math.prod(int(v) + self.smooth_unseen for v in sizes[~have])
        weight = total + self.alpha * cells
        part = self.count[:, agree].sum(axis=1) + self.alpha * free
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(weight > 0, np.log(part / weight), self._pooled(agree))

    def _pooled(self, agree: NDArray[np.bool_]) -> float:
        """A class never seen says what all classes together say."""
        everything = self.count.sum()
        part = self.count[:, agree].sum()
        return math.log(part / everything) if part > 0 else (-math.inf if everything > 0 else 0.0)

    def pieces(self, X: NDArray[Any], k: NDArray[np.intp], l: NDArray[np.intp]) -> Pieces:
        """The combination speaks as one: no feature's share can be told apart."""
        score = self.joint(X)
        i = np.arange(len(score))
        with np.errstate(invalid="ignore"):
            gap = score[i, k] - score[i, l]
        return Pieces(np.zeros(X.shape), {"joint": gap})

    def linear(self) -> Boundary:
        """A table follows no line."""
        raise UndefinedError(
            "the full joint table is not linear in x, nor has it a quadratic_form(): every combination of levels has "
            "a probability of its own. Hint: explain(X) gives the evidence of each row."
        )

    def quadratic(self) -> Conic:
        """A table follows no curve."""
        self.linear()
        raise AssertionError
