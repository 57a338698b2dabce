"""The score of Gaussian features that are independent given the class."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import UndefinedError
from deciban.scores.explanation import Pieces
from deciban.scores.score_form import Boundary, Conic, ScoreForm, centred_conic

NOT_LINEAR = (
    "the classes have different variances, so the score is quadratic in x, not linear. "
    "Hint: quadratic_form() gives A, weights and bias."
)

MAX_EVIDENCE = 1e300
"""Largest evidence of a feature with a trust below zero, so that sums stay finite."""

CHUNK_NUMBERS = 1 << 16
"""Largest number of squared deviations held at a time."""


@dataclass(frozen=True, eq=False)
class Diagonal(ScoreForm):
    """The score of independent Gaussian features.

    score_k(x) = Σ_j −½ ln(2πσ²_kj) − ½ (x_j − μ_kj)² / σ²_kj over the features that are present.

    Where `trust` is given, the score of feature j is multiplied by t_j; `offsets` (K×d) are then added for each
    feature that is present: sums of such scores have them (`scores/form_algebra.py`).
    """

    mean: Array
    variance: Array
    trust: Array | None = None
    offsets: Array | None = None

    @property
    def n_classes(self) -> int:
        """K."""
        return self.mean.shape[0]

    @cached_property
    def precision(self) -> Array:
        """1/σ², times the trust."""
        return (1.0 if self.trust is None else self.trust) / self.variance

    @cached_property
    def log_norm(self) -> Array:
        """−½ ln(2πσ²), per class and feature, times the trust, and the offsets."""
        norm = -0.5 * (math.log(2 * math.pi) + np.log(self.variance))
        if self.trust is not None:
            norm = self.trust * norm
        return norm if self.offsets is None else norm + self.offsets

    @cached_property
    def constant(self) -> Array:
        """The log-density at the mean of a row without missing values."""
        return self.log_norm.sum(axis=1)

    def joint(self, X: NDArray[Any]) -> Array:
        """See `ScoreForm.joint`; in blocks of rows, so that rows × K × d stays small."""
        x = np.asarray(X, dtype=np.float64)
        step = max(1, CHUNK_NUMBERS // max(1, self.mean.size))
        if len(x) <= step:
            return self._chunk(x)
        return np.concatenate([self._chunk(x[start : start + step]) for start in range(0, len(x), step)])

    def _chunk(self, x: Array) -> Array:
        gap = x[:, None, :] - self.mean
        with np.errstate(over="ignore", invalid="ignore"):  # beyond about 1e154 deviations the density is zero
            part = gap * gap * self.precision
        if self.trust is not None:
            part = _bound_squares(part, gap)
        score = part.sum(axis=2) * -0.5 + self.constant
        if np.isnan(score).any():
            part = part * -0.5 + self.log_norm
            return np.where(np.isnan(gap), 0.0, part).sum(axis=2)
        return score

    def pieces(self, X: NDArray[Any], k: NDArray[np.intp], l: NDArray[np.intp]) -> Pieces:
        """See `ScoreForm.pieces`."""
        x = np.asarray(X, dtype=np.float64)

        def part(c: NDArray[np.intp]) -> Array:
            gap = x - self.mean[c]
            square = self.precision[c] * gap**2
            return self.log_norm[c] - 0.5 * (square if self.trust is None else _bound_squares(square, gap))

        with np.errstate(over="ignore", invalid="ignore"):  # both densities underflow to zero: undefined
            return Pieces(np.where(np.isnan(x), 0.0, part(k) - part(l)))

    def linear(self) -> Boundary:
        """See `ScoreForm.linear`: with shared variances the squares are equal for all classes."""
        if not (self.precision == self.precision[0]).all():
            raise UndefinedError(NOT_LINEAR)
        own = np.zeros(self.n_classes) if self.offsets is None else self.offsets.sum(axis=1)
        conic = centred_conic(-0.5 * self.precision, self.mean, own)
        return Boundary(conic.weights, conic.bias)

    def quadratic(self) -> Conic:
        """See `ScoreForm.quadratic`."""
        return centred_conic(-0.5 * self.precision, self.mean, self.constant)


def _bound_squares(square: Array, gap: Array) -> Array:
    """Bound squares times a trust that overflow: with trust 0 they are 0, with negative trust −MAX_EVIDENCE."""
    return np.where(np.isnan(square) & ~np.isnan(gap), 0.0, np.maximum(square, -MAX_EVIDENCE))
