"""Gram: what rows of a sparse matrix have to do with each other, X diag(scale²) Xᵀ, never written out.

Column by column: what its rows hold is summed, and handed back to them. A column that one row alone has makes no
others richer, so it is a number of that row. Nothing as long as all columns is ever made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from deciban.discriminative.features import SparseBlock, even_stripes
from deciban.discriminative.objective import Array
from deciban.discriminative.passes import Rows
from deciban.kernels.together import run

STRIPES = 4
"""Columns are added in so many stripes, whatever the number of threads."""


@dataclass(slots=True)
class Gram:
    """Columns of more than one row, stored by columns; their squared scale (M×d or empty); the others, by row (n×M).

    `middle` is X diag(scale²) m of the centre m, n×M, and `own` mᵀ diag(scale²) m: the products of centred rows are
    those of the rows less what their middle has in them.
    """

    block: SparseBlock
    shared: Any
    squares: Array
    alone: Array
    middle: Array
    own: Array
    threads: int

    def times(self, rows: Array) -> Array:
        """What the centred rows have in common with the sum of centred rows in these shares (n×M)."""
        total = rows.sum(axis=0)
        out = self._shared(np.ascontiguousarray(rows))
        out += self.alone * rows
        out -= self.middle * total
        out += self.own * total - np.sum(self.middle * rows, axis=0)
        return out

    def _shared(self, rows: Array) -> Array:
        X, kernels = self.shared, self.block.kernels
        if kernels is None:
            sums = X @ rows
            return np.asarray(X.T @ (sums * self.squares.T if self.squares.size else sums))

        def stripe(columns: slice) -> Array:
            out = np.zeros_like(rows)
            first, last = columns.start, columns.stop
            kernels.add_shared(X.data, X.indices, X.indptr, first, last, self.squares, rows, out)
            return out

        whole, *others = run(stripe, even_stripes(X.indptr, STRIPES) or [slice(0, 0)], self.threads)
        for other in others:
            whole += other
        return np.asarray(whole)


def gram_of(rows: Rows, block: SparseBlock) -> Gram:
    """The products of a sparse block's rows."""
    n, M = len(rows.codes), rows.n_scores
    scale = None if block.scale is None else np.broadcast_to(block.scale, (M, block.width)) ** 2
    few = np.diff(block.columns.indptr)
    several = np.flatnonzero(few > 1)
    shared = block.columns[several]
    single = block.columns[np.flatnonzero(few == 1)]
    heft = np.ones((M, 1)) if scale is None else scale[:, few == 1]
    alone = np.zeros((n, M))
    for k in range(M):
        alone[:, k] = (
            alone[:, 0]
            if k and scale is None
            else np.bincount(single.indices, weights=single.data**2 * heft[k], minlength=n)
        )
    weighed = block.centre[None] if scale is None else scale * block.centre
    squares = np.empty((0, 0)) if scale is None else np.ascontiguousarray(scale[:, several])
    middle = np.asarray(block.X @ weighed.T) * np.ones(M)
    return Gram(block, shared, squares, alone, middle, weighed @ block.centre, rows.threads)
