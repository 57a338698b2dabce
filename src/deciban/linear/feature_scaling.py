"""Features as a pass over the rows reads them: centred, in units that neither overflow nor vanish.

With a bias any centre gives the same model: s = W(x − m) + b', b' = b + W m. Then a column of 10⁸ ± 1 is as good as
one of 0 ± 1. A `Block` hands out weights ready for the rows (`begin`), and turns Σ r_i x_i, summed by a pass, into
∂/∂t about the middle (`end`). Weights here are t ÷ `unit`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.engines.threads import row_blocks
from deciban.linear.design import Dense, Part, Shared, Sparse

FAR = 100.0
"""Columns whose middle is more than so many spreads from zero are centred before they are multiplied."""

TAME = 1e100
"""Columns within this, and above its inverse, need no other unit: their squares and sums of squares are doubles."""

STRIPES = 16
"""Columns of a sparse matrix are summed in so many stripes, whatever the number of threads."""

AT_A_TIME = 4096
"""Rows looked at together for the ranges of columns."""


@dataclass(slots=True)
class DenseBlock:
    """Columns of numbers."""

    X: NDArray[Any]
    scale: Array | None
    centre: Array
    unit: Array | None
    explicit: bool
    by_columns = False

    @property
    def width(self) -> int:
        """How many features."""
        return int(self.X.shape[1])

    def begin(self, t: Array) -> tuple[Array, Array]:
        """Weights for the rows, M×d, and what is to be added to the bias."""
        weights = t if self.scale is None else t * self.scale
        offset = np.zeros(len(t)) if self.explicit else -(weights @ self.centre)
        return np.ascontiguousarray(weights.T), offset

    def numbers(self, rows: slice | NDArray[np.intp]) -> Array:
        """Some rows as they are multiplied: as they are, or centred and in their unit."""
        part = self.X[rows]
        if not self.explicit:
            return part if part.dtype == np.float64 else part.astype(np.float64)
        out = np.subtract(part, self.centre, dtype=np.float64)
        if self.unit is not None:
            out *= self.unit
        return out

    def centred(self) -> Array:
        """All rows, centred."""
        return self.numbers(slice(None)) - (0.0 if self.explicit else self.centre)

    def about(self, total: Array, of_bias: Array) -> Array:
        """Σ r_i (x_i − m) from what was collected, Σ r_i x_i (M×d), and Σ r_i."""
        return total if self.explicit else total - of_bias[:, None] * self.centre

    def end(self, total: Array) -> Array:
        """∂/∂t of Σ r_i (x_i − m), M×d."""
        return total if self.scale is None else total * self.scale

    def take(self, rows: NDArray[np.intp]) -> DenseBlock:
        """The same with these rows alone."""
        return DenseBlock(self.X[rows], self.scale, self.centre, self.unit, self.explicit)

    def squares(self, weight: Array) -> Array:
        """Σ_i w_ik (x_ij − m_j)² of every score and column, M×d."""
        total = np.zeros((weight.shape[1], self.X.shape[1]))
        for rows in row_blocks(len(self.X), AT_A_TIME):
            x = self.numbers(rows) - (0.0 if self.explicit else self.centre)
            total += weight[rows].T @ (x * x)
        return total


@dataclass(slots=True)
class SparseBlock:
    """Columns of a CSR matrix; for sums over rows it is kept by columns too."""

    X: Any
    columns: Any
    scale: Array | None
    centre: Array
    kernels: ModuleType | None
    unit: Array | None = None
    by_columns = True

    @property
    def width(self) -> int:
        """How many features."""
        return int(self.X.shape[1])

    def begin(self, t: Array) -> tuple[Array, Array]:
        """Weights for the rows, d×M, and what is to be added to the bias."""
        weights = np.ascontiguousarray((t if self.scale is None else t * self.scale).T)
        return weights, -(self.centre @ weights)

    def add(self, rows: slice, weights: Array, scores: Array) -> None:
        """Add the scores of some rows."""
        if self.kernels is None:
            scores += self.X[rows] @ weights
        else:
            X = self.X
            self.kernels.add_row_scores(X.data, X.indices, X.indptr, rows.start, weights, scores)

    def stripes(self) -> list[slice]:
        """Columns in shares that have about as much in them."""
        return even_stripes(self.columns.indptr, STRIPES) if self.kernels else [slice(0, self.width)]

    def sums(self, residual: Array, total: Array, out: Array, stripe: slice) -> None:
        """Σ_i r_i (x_ij − m_j) of some columns into `out`, d×M; `total` is Σ r_i."""
        C = self.columns
        if self.kernels is None:
            out[stripe] = (C @ residual - self.centre[:, None] * total)[stripe]
        else:
            column_sums, first, last = self.kernels.column_sums, stripe.start, stripe.stop
            column_sums(C.data, C.indices, C.indptr, first, last, residual, self.centre, total, out)

    def end(self, total: Array) -> Array:
        """∂/∂t of Σ r_i (x_i − m), d×M."""
        return total.T if self.scale is None else total.T * self.scale

    def take(self, rows: NDArray[np.intp]) -> SparseBlock:
        """The same with these rows alone."""
        some = self.X[rows]
        return SparseBlock(some, some.T.tocsr(), self.scale, self.centre, self.kernels)

    def centred(self) -> Array:
        """All rows, centred, with their zeros."""
        return np.asarray(self.X.toarray() - self.centre)

    def squares(self, weight: Array) -> Array:
        """Σ_i w_ik (x_ij − m_j)² of every score and column, M×d, as if all scores weighed rows alike."""
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
        """How many features."""
        return int(self.values.shape[1])

    def begin(self, t: Array) -> tuple[Array, Array]:
        """The weights as they are, and nothing for the bias."""
        return t, np.zeros(self.values.shape[2])

    def take(self, rows: NDArray[np.intp]) -> SharedBlock:
        """The same with these rows alone."""
        return SharedBlock(self.values[rows])

    def end(self, total: Array) -> Array:
        """∂/∂t is what was collected."""
        return total


Block = DenseBlock | SparseBlock | SharedBlock


def block_of(
    part: Part,
    n_scores: int,
    weight: Array | None,
    sample: NDArray[np.intp],
    centred: bool,
    kernels: ModuleType | None,
) -> Block:
    """A part made ready for passes; its middle and spread are those of the sampled rows, its range that of all.

    They are weighed as the rows are, so that a row of weight two is two rows to the last digits.
    """
    share = _shares(part.values.shape[0] if isinstance(part, Shared) else part.X.shape[0], weight)
    if isinstance(part, Sparse):
        return _sparse(part, share, centred, kernels)
    if isinstance(part, Dense):
        return _dense(part.X, part.scale, share, sample, centred)
    if n_scores > 1:
        return SharedBlock(part.values)
    return _dense(part.values[:, :, 1] - part.values[:, :, 0], None, share, sample, centred)


def _shares(n: int, weight: Array | None) -> Array:
    """Each row's weight beside the largest."""
    return np.ones(n) if weight is None or not weight.any() else weight / weight.max()


def _dense(X: NDArray[Any], scale: Array | None, share: Array, sample: NDArray[np.intp], centred: bool) -> DenseBlock:
    some, share = X[sample].astype(np.float64), share[sample]
    share = share / share.sum() if share.any() else np.full(len(some), 1 / max(len(some), 1))
    with np.errstate(over="ignore", invalid="ignore"):
        first = some[:1].sum(axis=0)  # from which a constant column is exactly nothing away
        middle = _finite(first + share @ (some - first)) if centred else np.zeros(X.shape[1])
        spread = _finite(share @ np.abs(some - middle))
    reach = _reach(X, middle)
    wild = ((reach > TAME) | (reach < 1 / TAME)) & (reach > 0)
    unit = None
    if wild.any():
        unit = np.ldexp(1.0, -np.frexp(np.where(wild, reach, 1.0))[1].clip(-500, 1000))
    explicit = bool(wild.any() or (np.abs(middle) > FAR * spread).any() or (spread < reach / TAME).any())
    return DenseBlock(X, scale, middle, unit, explicit)


def _finite(numbers: Array) -> Array:
    """Zero for what overflowed."""
    return np.where(np.isfinite(numbers), numbers, 0.0)


def _reach(X: NDArray[Any], middle: Array) -> Array:
    """The greatest distance from the middle in every column."""
    reach = np.zeros(X.shape[1])
    for rows in row_blocks(len(X), AT_A_TIME):
        if len(X):
            part = X[rows]
            np.maximum(reach, np.maximum(part.max(axis=0) - middle, middle - part.min(axis=0)), out=reach)
    return reach


def _sparse(part: Sparse, share: Array, centred: bool, kernels: ModuleType | None) -> SparseBlock:
    X = part.X
    if X.dtype != np.float64:
        X = X.astype(np.float64)
    centre = np.zeros(X.shape[1])
    if (
        centred and len(share) and part.scale is None
    ):  # what is scaled by evidence lies on both sides of zero as it is
        centre = np.asarray(X.T @ share) / share.sum()
    return SparseBlock(X, X.T.tocsr(), part.scale, centre, kernels)


def even_stripes(pointer: NDArray[Any], n_stripes: int) -> list[slice]:
    """Columns, by where each begins in what is stored, in stripes that have about as much in them."""
    cuts = np.searchsorted(pointer, np.linspace(0, pointer[-1], n_stripes + 1)[1:-1])
    return [slice(first, last) for first, last in pairwise([0, *cuts.tolist(), len(pointer) - 1]) if last > first]
