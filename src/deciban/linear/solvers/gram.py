"""Products with the Gram matrix of a sparse matrix's rows, X diag(scale²) Xᵀ, without forming it.

The product is computed column by column: the shares of a column's rows are summed, and the sum is added back to those
rows. A column with a single row contributes only to that row, so it is kept as one number of the row. No vector with
one entry per column is ever made.
"""

from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.engines.threads import split_rows
from deciban.kernels.execution import map_in_threads, map_small_items
from deciban.linear.design import SparseBlock, split_evenly
from deciban.linear.loss_pass import Rows

GRAM_STRIPES = 4
"""Columns are added in this many stripes, whatever the number of threads."""

GRAM_BLOCK_ROWS = 4096
"""Rows whose sums are combined at a time."""

MAX_SINGLE_PRECISION = 1e6
"""Numbers between this and its inverse have products that single precision represents."""

MIN_SINGLE_SHARE = 1e-30
"""Shares of rows below this are zero in single precision: denormal numbers would be slow before they lose digits."""


@dataclass(slots=True)
class Gram:
    """Gram matrix of centred rows, as the columns that several rows have and one number for those of a single row.

    `data` are the stored values by column, perhaps in single precision. `scale` is by column (d×M, or empty: one);
    `own_squares` is Σ x² scale² over the columns that a row alone has, n×M or n×1.
    `mean_products` are the products of the rows with their mean m, X diag(scale²) m, and `mean_square` is
    mᵀ diag(scale²) m: they correct the products of the rows to those of centred rows. `extra` (n·M × c) are features
    of one weight for all scores, in the unit in which they have the penalty of the others.
    """

    block: SparseBlock
    data: NDArray[Any]
    scale: Array
    own_squares: Array
    mean_products: Array
    mean_square: Array
    extra: Array
    kernels: ModuleType | None
    threads: int
    buffers: list[NDArray[Any]] = field(default_factory=list)

    def multiply(self, rows: Array) -> Array:
        """Multiply the Gram matrix of the centred rows by shares of rows (n×M)."""
        parts, total, out = self._sum_shared_columns(rows), rows.sum(axis=0), np.empty(rows.shape)
        level = self.mean_square * total - np.einsum("ik,ik->k", self.mean_products, rows)

        def combine(block: slice) -> None:
            np.multiply(self.own_squares[block], rows[block], out=out[block])
            out[block] -= self.mean_products[block] * total
            for part in parts:
                out[block] += part[block]
            out[block] += level

        map_small_items(combine, split_rows(len(out), GRAM_BLOCK_ROWS), self.threads)
        if self.extra.shape[1]:
            out += (self.extra @ self.compute_extra_weights(rows)).reshape(out.shape)
        return out

    def use_single_precision(self) -> None:
        """Continue in single precision, if kernels are used and no number is too large or too small for it."""
        if self.kernels is None:
            return
        sizes = np.abs(self.data)
        if (
            sizes.max(initial=0.0) <= MAX_SINGLE_PRECISION
            and sizes[sizes > 0].min(initial=1.0) >= 1 / MAX_SINGLE_PRECISION
        ):
            self.data, self.buffers = self.data.astype(np.float32), []

    def compute_extra_weights(self, rows: Array) -> Array:
        """Compute the weights of the extra features, in their unit, from shares of rows."""
        return np.asarray(self.extra.T @ rows.reshape(-1))

    def compute_mean_row_square(self, weight: Array | None) -> float:
        """Compute the weighted mean square of a row over all scores: how far a row moves its own score."""
        X, (n, M) = self.block.X, self.mean_products.shape
        each = X.data if weight is None else X.data * np.repeat(weight, np.diff(X.indptr))
        if len(self.scale):
            each = each * (np.einsum("jk,jk->j", self.scale, self.scale) / M)[X.indices]
        extra = np.einsum("rc,rc->r", self.extra, self.extra).reshape(n, M).mean(axis=1)
        total = float(each @ X.data) + float(extra.sum() if weight is None else weight @ extra)
        return total / max(n if weight is None else float(weight.sum()), np.finfo(float).tiny)

    def _sum_shared_columns(self, rows: Array) -> list[NDArray[Any]]:
        """Compute the contributions of columns that several rows have, one array (n×M) per stripe.

        By kernels the arrays are buffers, which the next call overwrites.
        """
        C, kernels = self.block.columns, self.kernels
        if kernels is None:
            several = np.diff(C.indptr) > 1
            sums = (C @ rows) * several[:, None]
            return [np.asarray(self.block.X @ (sums * self.scale**2 if len(self.scale) else sums))]
        shares = np.ascontiguousarray(rows, dtype=self.data.dtype)
        if shares.dtype == np.float32:
            shares[np.abs(shares) < MIN_SINGLE_SHARE] = 0.0

        stripes = split_evenly(C.indptr, GRAM_STRIPES)
        self.buffers = self.buffers or [np.empty_like(shares) for _ in stripes]

        def add_stripe(s: int) -> None:
            self.buffers[s].fill(0.0)
            columns, first, last = (self.data, C.indices, C.indptr), stripes[s].start, stripes[s].stop
            kernels.add_gram_product(columns, first, last, self.scale, shares, self.buffers[s])

        list(map_in_threads(add_stripe, range(len(stripes)), self.threads))
        return self.buffers


def build_gram(rows: Rows, block: SparseBlock, extra: Array) -> Gram:
    """Build the Gram matrix of a sparse block's rows and of the extra features."""
    n, M = len(rows.codes), rows.n_scores
    scale = np.empty((0, 0))
    if block.scale is not None:
        scale = np.ascontiguousarray(np.broadcast_to(block.scale, (M, block.width)).T)
    mean_products, mean_square = np.zeros((n, M)), np.zeros(M)
    if block.centre.any():  # a block with a scale is never centred
        mean_products += np.asarray(block.X @ block.centre)[:, None]
        mean_square += block.centre @ block.centre
    C: Any = block.columns
    single_row = np.flatnonzero(np.diff(C.indptr) == 1)
    at = C.indptr[single_row]
    row, squares = C.indices[at], C.data[at] ** 2
    factors = [scale[single_row, k] ** 2 for k in range(scale.shape[1])] or [np.ones(len(single_row))]
    own: Array = np.stack([np.bincount(row, weights=squares * factor, minlength=n) for factor in factors], axis=1)
    return Gram(block, C.data, scale, own, mean_products, mean_square, extra, rows.kernels, rows.threads)
