"""What a linear predictor is made of: blocks of features beside each other, each with its penalty.

Scores are s_ik = b_k + Σ over blocks. M is the number of scores of a row: one for two classes, else one a class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from deciban._typing import Array
from deciban.linear.solvers.logistic_objective import as_scores


@dataclass(frozen=True, slots=True)
class Matrix:
    """Numbers: s_ik += Σ_j t_kj · scale_kj · x_ij. `scale` is M×d or d; None is one."""

    X: Any
    l2: float = 0.0
    l1: float = 0.0
    scale: Array | None = None

    @property
    def width(self) -> int:
        """How many features."""
        return int(self.X.shape[1])

    def scores(self, t: Array) -> Array:
        """What these weights say of every row, n×M: the definition."""
        return np.asarray(self.X @ (t if self.scale is None else t * self.scale).T, dtype=np.float64)


class Dense(Matrix):
    """A matrix with all its numbers."""

    __slots__ = ()


class Sparse(Matrix):
    """A CSR matrix: what is not stored is zero."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Shared:
    """Features that say something else for every class, and have one weight for all: s_ik += Σ_j t_j · Φ_ijk.

    `values` is n×d×K; of two classes it is their difference that counts.
    """

    values: Array
    l2: float = 0.0
    l1: float = 0.0

    @property
    def width(self) -> int:
        """How many features."""
        return int(self.values.shape[1])

    def scores(self, t: Array) -> Array:
        """What these weights say of every row, n×M: the definition."""
        return as_scores(np.einsum("ijk,j->ik", self.values, t), axis=1)


Part = Dense | Sparse | Shared


def shape(part: Part, n_scores: int) -> tuple[int, ...]:
    """Of a part's weights: one of each feature for every score, or one for all."""
    return (part.width,) if isinstance(part, Shared) else (n_scores, part.width)
