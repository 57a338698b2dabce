"""Design of a linear predictor: blocks of features side by side, each with its own penalty.

Scores are s_ik = b_k + Σ over blocks. M is the number of scores of a row: one for two classes, else one per class.
A *part* (`Dense`, `Sparse`, `Shared`) holds features as the caller gives them; a *block* holds the same features as a
pass over the rows reads them: centred, in units that neither overflow nor underflow.

With a bias any centre gives the same model: s = W(x − m) + b', b' = b + W m. Then a column of 10⁸ ± 1 is as good as
one of 0 ± 1. A block converts weights for use with the stored rows (`convert_weights`), and converts Σ r_i (x_i − m),
summed by a pass, into ∂/∂t (`gradient`). Weights of a block are t ÷ `unit`.
"""

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.engines.threads import split_rows
from deciban.linear.solvers.logistic_objective import as_scores

MAX_CENTRE_IN_SPREADS = 100.0
"""Columns whose mean is more than this many mean deviations from zero are centred before they are multiplied."""

MAX_COLUMN_RANGE = 1e100
"""Columns whose range lies between this and its inverse need no other unit: their squares and sums of squares are
finite doubles."""

ROWS_PER_SCAN = 4096
"""Rows read together when the ranges of columns are computed."""


@dataclass(frozen=True)
class Part:
    """Features of a linear predictor and the factors of their penalties: s_ik += Σ_j t_kj · scale_kj · x_ij.

    `scale` is M×d or d; None stands for one.
    """

    X: Any
    l2: float = 0.0
    l1: float = 0.0
    scale: Array | None = None

    @property
    def width(self) -> int:
        """The number of features."""
        return int(self.X.shape[1])

    def weight_shape(self, n_scores: int) -> tuple[int, ...]:
        """Return the shape of the weights: one per feature and score."""
        return n_scores, self.width

    def scores(self, t: Array) -> Array:
        """Compute the scores of every row under these weights, n×M: the definition."""
        return np.asarray(self.X @ (t if self.scale is None else t * self.scale).T, dtype=np.float64)


class Dense(Part):
    """A dense matrix of features."""


class Sparse(Part):
    """A CSR matrix of features, SciPy's or a `CsrMatrix`: cells that are not stored are zero."""


class Shared(Part):
    """Features with a value for every class and one weight for all classes: s_ik += Σ_j t_j · x_ijk.

    `X` is n×d×K; of two classes only their difference matters. There is no scale.
    """

    def weight_shape(self, n_scores: int) -> tuple[int, ...]:
        """Return the shape of the weights: one per feature."""
        return (self.width,)

    def scores(self, t: Array) -> Array:
        """See `Part.scores`."""
        return as_scores(np.einsum("ijk,j->ik", self.X, t), axis=1)


@dataclass(kw_only=True)
class Block:
    """Features as a pass reads them; `centre` is m: 0 if they are not centred, empty if classes share the weights.

    With `explicit` rows are centred, and multiplied by `unit`, when read; else they are centred through the bias.
    """

    X: Any
    scale: Array | None = None
    centre: Array = field(default_factory=lambda: np.zeros(0))
    unit: Array | None = None
    explicit: bool = False

    @property
    def width(self) -> int:
        """The number of features."""
        return int(self.X.shape[1])

    def convert_weights(self, t: Array) -> tuple[Array, Array]:
        """Return the weights that multiply stored rows, d×M, and the offset to add to the bias."""
        weights = t if self.scale is None else t * self.scale
        offset = np.zeros(len(t)) if self.explicit else -(weights @ self.centre)
        return np.ascontiguousarray(weights.T), offset

    def gradient(self, total: Array) -> Array:
        """Compute ∂/∂t from Σ r_i (x_i − m), M×d."""
        return total if self.scale is None else total * self.scale

    def take(self, rows: NDArray[np.intp]) -> Self:
        """Return the block restricted to these rows."""
        return replace(self, X=self.X[rows])


class DenseBlock(Block):
    """Columns of numbers."""

    def read(self, rows: slice | NDArray[np.intp]) -> Array:
        """Return some rows as they are multiplied: unchanged, or centred and in their unit."""
        part = self.X[rows]
        if not self.explicit:
            return part if part.dtype == np.float64 else part.astype(np.float64)
        out = np.subtract(part, self.centre, dtype=np.float64)
        if self.unit is not None:
            out *= self.unit
        return out

    def centre_rows(self, rows: slice = slice(None)) -> Array:
        """Return these rows centred, and in their unit."""
        return self.read(rows) - (0.0 if self.explicit else self.centre)

    def sum_squares(self, weight: Array) -> Array:
        """Compute Σ_i w_ik (x_ij − m_j)² of every score and column, M×d."""
        total = np.zeros((weight.shape[1], self.width))
        for rows in split_rows(len(self.X), ROWS_PER_SCAN):
            x = self.centre_rows(rows)
            total += weight[rows].T @ (x * x)
        return total


@dataclass(kw_only=True)
class SparseBlock(Block):
    """Columns of a CSR matrix, also stored by columns for sums over rows; `take` and `sum_squares` need SciPy's."""

    columns: Any

    def take(self, rows: NDArray[np.intp]) -> "SparseBlock":
        """See `Block.take`."""
        some = self.X[rows]
        return replace(self, X=some, columns=some.T.tocsr())

    def centre_rows(self) -> Array:
        """Return all rows, dense and centred."""
        return np.asarray(self.X.toarray() - self.centre)

    def sum_squares(self, weight: Array) -> Array:
        """Estimate Σ_i w_ik (x_ij − m_j)² of every score and column, M×d, as if all scores had equal row weights."""
        row = weight.sum(axis=1)
        total = max(float(row.sum()), np.finfo(float).tiny)
        near = 2.0 * np.asarray(self.X.T @ row) - total * self.centre
        squares = np.asarray(self.X.power(2).T @ row) - self.centre * near
        return np.asarray(np.outer(weight.sum(axis=0) / total, np.maximum(squares, 0.0)))


class SharedBlock(Block):
    """Features with a value for every class and one weight for all; X is n×d×K."""

    def convert_weights(self, t: Array) -> tuple[Array, Array]:
        """Return the weights unchanged, and a zero offset of the bias."""
        return t, np.zeros(self.X.shape[2])

    def sum_squares(self, weight: Array) -> Array:
        """Compute Σ_ik w_ik x_ijk² of every feature."""
        return np.einsum("ijk,ik->j", self.X**2, weight)


def prepare_block(
    part: Part, n_scores: int, weight: Array | None, sample: NDArray[np.intp], centred: bool
) -> DenseBlock | SparseBlock | SharedBlock:
    """Convert a part to a block for passes, about the mean of its columns if `centred`, else about zero.

    Shared features of two classes (one score) become a dense block of the differences; of more they are not centred.
    Mean and spread of a dense part are those of the sampled rows, its range that of all. They are weighted as the
    rows are, so that a row of weight two equals two rows to the last digits.
    """
    share = np.ones(part.X.shape[0]) if weight is None or not weight.any() else weight / weight.max()
    if isinstance(part, Sparse):
        X = part.X.astype(np.float64, copy=False)
        columns, centre = X.T.tocsr(), np.zeros(X.shape[1])
        if centred and len(share) and part.scale is None:  # scaled by evidence, features lie on both sides of zero
            centre = np.asarray(columns @ share) / share.sum()
        return SparseBlock(X=X, columns=columns, scale=part.scale, centre=centre)
    if isinstance(part, Dense):
        return _prepare_dense(part.X, part.scale, share, sample, centred)
    if n_scores > 1:
        return SharedBlock(X=part.X)
    return _prepare_dense(part.X[:, :, 1] - part.X[:, :, 0], None, share, sample, centred)


def _prepare_dense(
    X: NDArray[Any], scale: Array | None, share: Array, sample: NDArray[np.intp], centred: bool
) -> DenseBlock:
    """Return a dense block: centred when read if its mean is far from zero, rescaled if its range is extreme."""
    some, share = X[sample].astype(np.float64), share[sample]
    share = share / share.sum() if share.any() else np.full(len(some), 1 / max(len(some), 1))
    with np.errstate(over="ignore", invalid="ignore"):
        first = some[:1].sum(axis=0)  # the deviations of a constant column from its first value are exactly zero
        mean = first + share @ (some - first) if centred else np.zeros(X.shape[1])
        mean[~np.isfinite(mean)] = 0.0
        spread = share @ np.abs(some - mean)
        spread[~np.isfinite(spread)] = 0.0
    reach = _compute_column_reach(X, mean)
    extreme = ((reach > MAX_COLUMN_RANGE) | (reach < 1 / MAX_COLUMN_RANGE)) & (reach > 0)
    unit = None
    if extreme.any():
        unit = np.ldexp(1.0, -np.frexp(np.where(extreme, reach, 1.0))[1].clip(-500, 1000))
    far = (np.abs(mean) > MAX_CENTRE_IN_SPREADS * spread).any() or (spread < reach / MAX_COLUMN_RANGE).any()
    return DenseBlock(X=X, scale=scale, centre=mean, unit=unit, explicit=bool(extreme.any() or far))


def _compute_column_reach(X: NDArray[Any], mean: Array) -> Array:
    """Return the greatest distance of any row from the mean in every column."""
    reach = np.zeros(X.shape[1])
    for rows in split_rows(len(X), ROWS_PER_SCAN):
        if len(X):
            part = X[rows]
            np.maximum(reach, np.maximum(part.max(axis=0) - mean, mean - part.min(axis=0)), out=reach)
    return reach


def split_evenly(pointer: NDArray[Any], n_stripes: int) -> list[slice]:
    """Split columns, given where each begins among the stored cells, into stripes of about equally many cells."""
    cuts = np.searchsorted(pointer, np.linspace(0, pointer[-1], n_stripes + 1)[1:-1])
    return [slice(first, last) for first, last in pairwise([0, *cuts.tolist(), len(pointer) - 1]) if last > first]
