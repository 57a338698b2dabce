"""Gram: what the rows of a sparse matrix have to do with each other, X diag(scale²) Xᵀ, never written out.

Column by column: what its rows hold is summed, and handed back to them. A column that one row alone has makes no
others richer, so it is a number of that row. Nothing as long as all columns is ever made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.engines.threads import row_blocks
from deciban.kernels.thread_pool import run, shared
from deciban.linear.feature_scaling import SparseBlock, even_stripes
from deciban.linear.loss_pass import Rows

STRIPES = 4
"""Columns are added in so many stripes, whatever the number of threads."""

BLOCK = 4096
"""Rows whose sums are put together at a time."""

TAME = 1e6
"""Numbers within this, and above its inverse, have products that single precision can tell."""

LEAST = 1e-30
"""Below this a share of a row is none in single precision, which would lose its speed before its digits."""


@dataclass(slots=True)
class Gram:
    """The columns of several rows; the scale by column (d×M, or empty: one); the columns of one row, as n×M or n×1.

    `middle` is what the rows have to do with their own middle m, X diag(scale²) m, and `own` mᵀ diag(scale²) m: the
    products of centred rows are those of the rows less what their middle has in them. `beside` (n·M × c) are features
    of one weight for all scores, in the unit in which they are held back as the others are.
    """

    block: SparseBlock
    data: NDArray[Any]
    scale: Array
    alone: Array
    middle: Array
    own: Array
    beside: Array
    threads: int
    room: list[NDArray[Any]] = field(default_factory=list)

    def times(self, rows: Array) -> Array:
        """What the centred rows have in common with the sum of centred rows in these shares (n×M)."""
        parts, total, out = self._shared(rows), rows.sum(axis=0), np.empty(rows.shape)
        level = self.own * total - np.einsum("ik,ik->k", self.middle, rows)

        def finish(block: slice) -> None:
            np.multiply(self.alone[block], rows[block], out=out[block])
            out[block] -= self.middle[block] * total
            for part in parts:
                out[block] += part[block]
            out[block] += level

        shared(finish, row_blocks(len(out), BLOCK), self.threads)
        if self.beside.shape[1]:
            out += (self.beside @ self.told_beside(rows)).reshape(out.shape)
        return out

    def round(self) -> None:
        """Go on in single precision, unless numbers are too large or small for it."""
        if self.block.kernels is not None and _tame(self.data):
            self.data, self.room = self.data.astype(np.float32), []

    def told_beside(self, rows: Array) -> Array:
        """The weights of the features beside, in their unit, that the sum of rows in these shares stands for."""
        return np.asarray(self.beside.T @ rows.reshape(-1))

    def loudness(self, weight: Array | None) -> float:
        """The mean square of a row, weighed as rows are, and over all scores: how far it moves its own score."""
        X, (n, M) = self.block.X, self.middle.shape
        each = X.data if weight is None else X.data * np.repeat(weight, np.diff(X.indptr))
        if len(self.scale):
            each = each * (np.einsum("jk,jk->j", self.scale, self.scale) / M)[X.indices]
        beside = np.einsum("rc,rc->r", self.beside, self.beside).reshape(n, M).mean(axis=1)
        total = float(each @ X.data) + float(beside.sum() if weight is None else weight @ beside)
        return total / max(n if weight is None else float(weight.sum()), np.finfo(float).tiny)

    def _shared(self, rows: Array) -> list[NDArray[Any]]:
        """What the columns of several rows say, stripe by stripe."""
        C, kernels = self.block.columns, self.block.kernels
        if kernels is None:
            several = np.diff(C.indptr) > 1
            sums = (C @ rows) * several[:, None]
            return [np.asarray(C.T @ (sums * self.scale**2 if len(self.scale) else sums))]
        shares = np.ascontiguousarray(rows, dtype=self.data.dtype)
        if shares.dtype == np.float32:
            shares[np.abs(shares) < LEAST] = 0.0

        stripes = even_stripes(C.indptr, STRIPES)
        self.room = self.room or [np.empty_like(shares) for _ in stripes]

        def stripe(s: int) -> None:
            self.room[s].fill(0.0)
            first, last = stripes[s].start, stripes[s].stop
            kernels.add_shared(self.data, C.indices, C.indptr, first, last, self.scale, shares, self.room[s])

        list(run(stripe, range(len(stripes)), self.threads))
        return self.room


def gram_of(rows: Rows, block: SparseBlock, beside: Array) -> Gram:
    """The products of a sparse block's rows, and of the features beside it."""
    n, M = len(rows.codes), rows.n_scores
    scale = np.empty((0, 0))
    if block.scale is not None:
        scale = np.ascontiguousarray(np.broadcast_to(block.scale, (M, block.width)).T)
    data = block.columns.data
    middle, own = np.zeros((n, M)), np.zeros(M)
    if block.centre.any():  # never beside a scale
        middle += np.asarray(block.X @ block.centre)[:, None]
        own += block.centre @ block.centre
    return Gram(block, data, scale, _alone(block, scale, n), middle, own, beside, rows.threads)


def _alone(block: SparseBlock, scale: Array, n: int) -> Array:
    """Σ x² scale² over the columns that a row has for itself."""
    C: Any = block.columns
    words = np.flatnonzero(np.diff(C.indptr) == 1)
    at = C.indptr[words]
    row, squares = C.indices[at], C.data[at] ** 2
    hefts = [scale[words, k] ** 2 for k in range(scale.shape[1])] or [np.ones(len(words))]
    return np.stack([np.bincount(row, weights=squares * heft, minlength=n) for heft in hefts], axis=1)


def _tame(numbers: Array) -> bool:
    """Whether the numbers that are not zero neither overflow nor vanish in single precision, nor their products."""
    sizes = np.abs(numbers)
    return bool(sizes.max(initial=0.0) <= TAME and sizes[sizes > 0].min(initial=1.0) >= 1 / TAME)
