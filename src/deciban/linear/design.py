"""Design of a linear predictor: blocks of features side by side, each with its own penalty.

Scores are s_ik = b_k + Σ over blocks. M is the number of scores of a row: one for two classes, else one per class.
A *part* (`Dense`, `Sparse`, `Shared`) holds features as the caller gives them; a *block* holds the same features as a
pass over the rows reads them: centred, in units that neither overflow nor underflow.

With a bias any centre gives the same model: s = W(x − m) + b', b' = b + W m. Then a column of 10⁸ ± 1 is as good as
one of 0 ± 1. A block converts weights for use with the stored rows (`row_weights`), and converts Σ r_i (x_i − m),
summed by a pass, into ∂/∂t (`gradient`). Weights of a block are t ÷ `unit`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from types import ModuleType
from typing import Any

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

SPARSE_COLUMN_STRIPES = 16
"""Columns of a sparse matrix are summed in this many stripes, whatever the number of threads."""

ROWS_PER_SCAN = 4096
"""Rows read together when the ranges of columns are computed."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """Numeric features: s_ik += Σ_j t_kj · scale_kj · x_ij. `scale` is M×d or d; None stands for one."""

    X: Any
    l2: float = 0.0
    l1: float = 0.0
    scale: Array | None = None

    @property
    def width(self) -> int:
        """The number of features."""
        return int(self.X.shape[1])

    def scores(self, t: Array) -> Array:
        """Compute the scores of every row under these weights, n×M: the definition."""
        return np.asarray(self.X @ (t if self.scale is None else t * self.scale).T, dtype=np.float64)


class Dense(Matrix):
    """A dense matrix of features."""

    __slots__ = ()


class Sparse(Matrix):
    """A CSR matrix of features: cells that are not stored are zero."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Shared:
    """Features with a value for every class and one weight for all classes: s_ik += Σ_j t_j · Φ_ijk.

    `values` is n×d×K; of two classes only their difference matters.
    """

    values: Array
    l2: float = 0.0
    l1: float = 0.0

    @property
    def width(self) -> int:
        """The number of features."""
        return int(self.values.shape[1])

    def scores(self, t: Array) -> Array:
        """Compute the scores of every row under these weights, n×M: the definition."""
        return as_scores(np.einsum("ijk,j->ik", self.values, t), axis=1)


Part = Dense | Sparse | Shared


def weight_shape(part: Part, n_scores: int) -> tuple[int, ...]:
    """Return the shape of a part's weights: one per feature and score, or one per feature."""
    return (part.width,) if isinstance(part, Shared) else (n_scores, part.width)


@dataclass(slots=True)
class DenseBlock:
    """Columns of numbers. With `explicit` the rows are centred and scaled when read, else through the bias."""

    X: NDArray[Any]
    scale: Array | None
    centre: Array
    unit: Array | None
    explicit: bool
    by_columns = False

    @property
    def width(self) -> int:
        """The number of features."""
        return int(self.X.shape[1])

    def row_weights(self, t: Array) -> tuple[Array, Array]:
        """Return the weights that multiply stored rows, d×M, and the offset to add to the bias."""
        weights = t if self.scale is None else t * self.scale
        offset = np.zeros(len(t)) if self.explicit else -(weights @ self.centre)
        return np.ascontiguousarray(weights.T), offset

    def read(self, rows: slice | NDArray[np.intp]) -> Array:
        """Return some rows as they are multiplied: unchanged, or centred and in their unit."""
        part = self.X[rows]
        if not self.explicit:
            return part if part.dtype == np.float64 else part.astype(np.float64)
        out = np.subtract(part, self.centre, dtype=np.float64)
        if self.unit is not None:
            out *= self.unit
        return out

    def centred(self, rows: slice = slice(None)) -> Array:
        """Return the rows centred."""
        return self.read(rows) - (0.0 if self.explicit else self.centre)

    def centre_sums(self, total: Array, bias_gradient: Array) -> Array:
        """Compute Σ r_i (x_i − m) from the sums over rows as read, Σ r_i x_i (M×d), and Σ r_i."""
        return total if self.explicit else total - bias_gradient[:, None] * self.centre

    def gradient(self, total: Array) -> Array:
        """Compute ∂/∂t from Σ r_i (x_i − m), M×d."""
        return total if self.scale is None else total * self.scale

    def take(self, rows: NDArray[np.intp]) -> DenseBlock:
        """Return the block restricted to these rows."""
        return DenseBlock(self.X[rows], self.scale, self.centre, self.unit, self.explicit)

    def squares(self, weight: Array) -> Array:
        """Compute Σ_i w_ik (x_ij − m_j)² of every score and column, M×d."""
        total = np.zeros((weight.shape[1], self.X.shape[1]))
        for rows in split_rows(len(self.X), ROWS_PER_SCAN):
            x = self.centred(rows)
            total += weight[rows].T @ (x * x)
        return total


@dataclass(slots=True)
class SparseBlock:
    """Columns of a CSR matrix, also stored by columns for sums over rows."""

    X: Any
    columns: Any
    scale: Array | None
    centre: Array
    kernels: ModuleType | None
    unit: Array | None = None
    by_columns = True

    @property
    def width(self) -> int:
        """The number of features."""
        return int(self.X.shape[1])

    def row_weights(self, t: Array) -> tuple[Array, Array]:
        """Return the weights that multiply stored rows, d×M, and the offset to add to the bias."""
        weights = np.ascontiguousarray((t if self.scale is None else t * self.scale).T)
        return weights, -(self.centre @ weights)

    def add_scores(self, rows: slice, weights: Array, scores: Array) -> None:
        """Add the scores of some rows to `scores`."""
        if self.kernels is None:
            scores += self.X[rows] @ weights
        else:
            X = self.X
            self.kernels.add_row_scores(X.data, X.indices, X.indptr, rows.start, weights, scores)

    def stripes(self) -> list[slice]:
        """Split the columns into ranges with about equally many stored cells."""
        return split_evenly(self.columns.indptr, SPARSE_COLUMN_STRIPES) if self.kernels else [slice(0, self.width)]

    def write_sums(self, residual: Array, total: Array, out: Array, stripe: slice) -> None:
        """Write Σ_i r_i (x_ij − m_j) of some columns into `out`, d×M; `total` is Σ r_i."""
        C = self.columns
        if self.kernels is None:
            out[stripe] = (C @ residual - self.centre[:, None] * total)[stripe]
        else:
            column_sums, first, last = self.kernels.column_sums, stripe.start, stripe.stop
            column_sums(C.data, C.indices, C.indptr, first, last, residual, self.centre, total, out)

    def gradient(self, total: Array) -> Array:
        """Compute ∂/∂t from Σ r_i (x_i − m), d×M."""
        return total.T if self.scale is None else total.T * self.scale

    def take(self, rows: NDArray[np.intp]) -> SparseBlock:
        """Return the block restricted to these rows."""
        some = self.X[rows]
        return SparseBlock(some, some.T.tocsr(), self.scale, self.centre, self.kernels)

    def centred(self) -> Array:
        """Return all rows, dense and centred."""
        return np.asarray(self.X.toarray() - self.centre)

    def squares(self, weight: Array) -> Array:
        """Estimate Σ_i w_ik (x_ij − m_j)² of every score and column, M×d, as if all scores had equal row weights."""
        row = weight.sum(axis=1)
        total = max(float(row.sum()), np.finfo(float).tiny)
        near = 2.0 * np.asarray(self.X.T @ row) - total * self.centre
        squares = np.asarray(self.X.power(2).T @ row) - self.centre * near
        return np.asarray(np.outer(weight.sum(axis=0) / total, np.maximum(squares, 0.0)))


@dataclass(slots=True)
class SharedBlock:
    """Features with a value for every class and one weight for all; values are n×d×K."""

    values: Array
    unit: Array | None = None
    scale: Array | None = None
    by_columns = False

    @property
    def width(self) -> int:
        """The number of features."""
        return int(self.values.shape[1])

    def row_weights(self, t: Array) -> tuple[Array, Array]:
        """Return the weights unchanged, and a zero offset of the bias."""
        return t, np.zeros(self.values.shape[2])

    def take(self, rows: NDArray[np.intp]) -> SharedBlock:
        """Return the block restricted to these rows."""
        return SharedBlock(self.values[rows])

    def gradient(self, total: Array) -> Array:
        """Return ∂/∂t, which is the sum that a pass computes."""
        return total


Block = DenseBlock | SparseBlock | SharedBlock


def prepare_block(
    part: Part,
    n_scores: int,
    weight: Array | None,
    sample: NDArray[np.intp],
    centred: bool,
    kernels: ModuleType | None,
) -> Block:
    """Prepare a part for passes; its mean and spread are those of the sampled rows, its range that of all.

    They are weighted as the rows are, so that a row of weight two equals two rows to the last digits.
    """
    share = _relative_weights(part.values.shape[0] if isinstance(part, Shared) else part.X.shape[0], weight)
    if isinstance(part, Sparse):
        return _prepare_sparse(part, share, centred, kernels)
    if isinstance(part, Dense):
        return _prepare_dense(part.X, part.scale, share, sample, centred)
    if n_scores > 1:
        return SharedBlock(part.values)
    return _prepare_dense(part.values[:, :, 1] - part.values[:, :, 0], None, share, sample, centred)


def _relative_weights(n: int, weight: Array | None) -> Array:
    """Return each row's weight relative to the largest."""
    return np.ones(n) if weight is None or not weight.any() else weight / weight.max()


def _prepare_dense(
    X: NDArray[Any], scale: Array | None, share: Array, sample: NDArray[np.intp], centred: bool
) -> DenseBlock:
    some, share = X[sample].astype(np.float64), share[sample]
    share = share / share.sum() if share.any() else np.full(len(some), 1 / max(len(some), 1))
    with np.errstate(over="ignore", invalid="ignore"):
        first = some[:1].sum(axis=0)  # the deviations of a constant column from its first value are exactly zero
        mean = _zero_if_infinite(first + share @ (some - first)) if centred else np.zeros(X.shape[1])
        spread = _zero_if_infinite(share @ np.abs(some - mean))
    reach = _column_reach(X, mean)
    extreme = ((reach > MAX_COLUMN_RANGE) | (reach < 1 / MAX_COLUMN_RANGE)) & (reach > 0)
    unit = None
    if extreme.any():
        unit = np.ldexp(1.0, -np.frexp(np.where(extreme, reach, 1.0))[1].clip(-500, 1000))
    far = (np.abs(mean) > MAX_CENTRE_IN_SPREADS * spread).any() or (spread < reach / MAX_COLUMN_RANGE).any()
    return DenseBlock(X, scale, mean, unit, bool(extreme.any() or far))


def _zero_if_infinite(numbers: Array) -> Array:
    return np.where(np.isfinite(numbers), numbers, 0.0)


def _column_reach(X: NDArray[Any], mean: Array) -> Array:
    """Return the greatest distance from the mean in every column."""
    reach = np.zeros(X.shape[1])
    for rows in split_rows(len(X), ROWS_PER_SCAN):
        if len(X):
            part = X[rows]
            np.maximum(reach, np.maximum(part.max(axis=0) - mean, mean - part.min(axis=0)), out=reach)
    return reach


def _prepare_sparse(part: Sparse, share: Array, centred: bool, kernels: ModuleType | None) -> SparseBlock:
    X = part.X
    if X.dtype != np.float64:
        X = X.astype(np.float64)
    centre = np.zeros(X.shape[1])
    if centred and len(share) and part.scale is None:  # features scaled by evidence lie on both sides of zero already
        centre = np.asarray(X.T @ share) / share.sum()
    return SparseBlock(X, X.T.tocsr(), part.scale, centre, kernels)


def split_evenly(pointer: NDArray[Any], n_stripes: int) -> list[slice]:
    """Split columns, given where each begins among the stored cells, into stripes of about equally many cells."""
    cuts = np.searchsorted(pointer, np.linspace(0, pointer[-1], n_stripes + 1)[1:-1])
    return [slice(first, last) for first, last in pairwise([0, *cuts.tolist(), len(pointer) - 1]) if last > first]
