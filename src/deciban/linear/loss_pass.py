"""Passes over the rows: the loss and its gradient for all classes, reading each block of rows once.

Rows are split into stripes and blocks whatever the number of threads, and their sums are added in order, so that the
result is the same to the last bit.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.engines.threads import split_rows
from deciban.kernels.execution import map_in_threads, map_small_items
from deciban.linear.design import DenseBlock, SharedBlock, SparseBlock, split_evenly
from deciban.linear.solvers.logistic_objective import compute_losses, compute_margins, compute_residuals

PASS_BLOCK_CELLS = 1 << 17
"""Numbers in a block of rows, chosen so that they stay in the cache for the scores and the gradient."""

ROW_STRIPES = 16
"""Sums are computed for at most this many stripes of rows, whatever the number of threads."""

SPARSE_COLUMN_STRIPES = 16
"""Columns of a sparse matrix are summed in this many stripes, whatever the number of threads."""

SEPARATED_MEAN_MARGIN = 30.0
BOUNDARY_MARGIN_FRACTION = 0.01
"""Rows whose mean margin exceeds `SEPARATED_MEAN_MARGIN` nats, and none of which is wrong by more than this fraction
of that mean, are separable except for rows on the boundary itself: weights can grow without limit."""


class Line(NamedTuple):
    """Scores without bias (n×M) and the bias at a point, and the change of both along a step."""

    scores: Array
    bias: Array
    scores_along: Array
    bias_along: Array


@dataclass(slots=True)
class Rows:
    """The training rows: blocks of features, class codes, weights (None: one each), kernels (None: NumPy)."""

    blocks: Sequence[DenseBlock | SparseBlock | SharedBlock]
    codes: Codes
    weight: Array | None
    n_scores: int
    intercept: bool
    threads: int
    kernels: ModuleType | None
    fixed_bias: Array | None = None
    """The bias where there is no intercept to fit; None: 0."""

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(len(self.codes) if self.weight is None else self.weight.sum())

    def take(self, rows: NDArray[np.intp]) -> "Rows":
        """Return a copy with these rows only."""
        weight = None if self.weight is None else self.weight[rows]
        return replace(
            self, blocks=[block.take(rows) for block in self.blocks], codes=self.codes[rows], weight=weight
        )

    def scores(self, ts: Sequence[Array], bias: Array) -> Array:
        """Compute the scores of every row, n×M, by the weights t of each block (see `linear.design`) and the bias."""
        weights, bias = self._convert_weights(ts, bias)
        out = np.empty((len(self.codes), self.n_scores))
        map_small_items(
            lambda rows: self._write_scores(rows, weights, bias, out[rows]),
            self._slice_rows(slice(0, len(out))),
            self.threads,
        )
        return out

    def loss_and_gradients(self, ts: Sequence[Array], bias: Array) -> tuple[float, list[Array], Array]:
        """Return Σ w·ℓ, its gradient for the weights of every block, and that for the bias, with intercept or not."""
        weights, shifted = self._convert_weights(ts, bias)
        n, is_any_sparse = len(self.codes), any(isinstance(block, SparseBlock) for block in self.blocks)
        residual = np.empty((n, self.n_scores)) if is_any_sparse else None
        stripes = map_in_threads(
            lambda rows: self._sum_stripe(rows, weights, shifted, residual),
            split_rows(n, max(self._rows_per_block(), -(-n // ROW_STRIPES))),
            self.threads,
        )
        loss, bias_gradient = 0.0, np.zeros(self.n_scores)
        totals: list[Array | float] = [0.0] * len(self.blocks)
        for stripe_loss, stripe_bias, sums in stripes:
            loss += stripe_loss
            bias_gradient += stripe_bias
            totals = [total + new for total, new in zip(totals, sums)]
        gradients = []
        for block, total in zip(self.blocks, totals):
            if isinstance(block, SparseBlock):
                assert residual is not None
                total = self.sum_columns(block, residual)
            elif isinstance(block, DenseBlock) and not block.explicit:
                total = total - bias_gradient[:, None] * block.centre
            gradients.append(block.gradient(np.asarray(total)))
        return loss, gradients, bias_gradient

    def loss_and_residuals_inplace(self, scores: Array) -> float:
        """Replace the scores of all rows by w·∂ℓ/∂s, and return Σ w·ℓ."""
        blocks = self._slice_rows(slice(0, len(scores)))
        return sum(map_small_items(lambda rows: self._residuals_inplace(scores[rows], rows), blocks, self.threads))

    def loss_and_slope_along(self, line: Line, share: float, out: Array) -> tuple[float, float]:
        """Return Σ w·ℓ after a share of a step, and its slope along the step; write w·∂ℓ/∂s of all rows to `out`."""
        bias = line.bias + share * line.bias_along

        def compute(rows: slice) -> tuple[float, float]:
            here, along = out[rows], line.scores_along[rows]
            np.multiply(along, share, out=here)
            here += line.scores[rows]
            here += bias
            loss = self._residuals_inplace(here, rows)
            return loss, float(np.vdot(here, along)) + float(here.sum(axis=0) @ line.bias_along)

        results = map_small_items(compute, self._slice_rows(slice(0, len(out))), self.threads)
        return sum(loss for loss, _ in results), sum(slope for _, slope in results)

    def sum_columns(self, block: SparseBlock, residual: Array) -> Array:
        """Compute Σ_i r_i (x_i − m) of a sparse block, M×d."""
        C, total, kernels = block.columns, residual.sum(axis=0), self.kernels
        if kernels is None:
            return np.asarray(C @ residual - np.outer(block.centre, total)).T
        out, columns = np.empty((block.width, self.n_scores)), (C.data, C.indices, C.indptr)

        def write_stripe(stripe: slice) -> None:
            kernels.sum_columns(columns, stripe.start, stripe.stop, residual, block.centre, total, out)

        list(map_in_threads(write_stripe, split_evenly(C.indptr, SPARSE_COLUMN_STRIPES), self.threads))
        return out.T

    def is_fitted_perfectly(self, loss: float, tol: float) -> bool:
        """Return whether a loss is so small that every row is predicted correctly, with little left to gain.

        A row that is predicted wrongly has a loss of ln 2 or more. Without a penalty longer weights are then always
        better, so the search must stop here.
        """
        smallest = 1.0 if self.weight is None else float(self.weight[self.weight > 0].min(initial=np.inf))
        return bool(loss < np.log(2.0) * smallest and loss <= tol * self.total)

    def is_separated_by(self, scores: Array) -> bool:
        """Return whether scores separate the classes, or nearly: without a penalty no weights are best then."""
        margin = compute_margins(scores, self.codes)
        if self.weight is not None:
            margin = margin[self.weight > 0]
        if not len(margin):
            return False
        mean = float(margin.mean())
        nearly = mean > SEPARATED_MEAN_MARGIN and margin.min() > -BOUNDARY_MARGIN_FRACTION * mean
        return bool(margin.min() > 0 or nearly)

    def _residuals_inplace(self, scores: Array, rows: slice) -> float:
        """Replace `scores`, which are those of `rows` only, by w·∂ℓ/∂s, and return Σ w·ℓ of these rows."""
        codes, weight = self.codes[rows], None if self.weight is None else self.weight[rows]
        if self.kernels is not None:
            return float(
                self.kernels.loss_and_residuals_inplace(scores, codes, np.empty(0) if weight is None else weight)
            )
        loss = compute_losses(scores, codes)
        scores[:] = compute_residuals(scores, codes)
        if weight is not None:
            scores *= weight[:, None]
            loss = loss * weight
        return float(loss.sum())

    def _convert_weights(self, ts: Sequence[Array], bias: Array) -> tuple[list[Array], Array]:
        pairs = [block.convert_weights(t) for block, t in zip(self.blocks, ts)]
        return [weights for weights, _ in pairs], bias + sum(offset for _, offset in pairs)

    def _rows_per_block(self) -> int:
        cells = sum(math.prod(block.X.shape[1:]) for block in self.blocks if not isinstance(block, SparseBlock))
        return max(64, PASS_BLOCK_CELLS // (cells + self.n_scores))

    def _slice_rows(self, rows: slice) -> list[slice]:
        blocks = split_rows(rows.stop - rows.start, self._rows_per_block())
        return [slice(rows.start + s.start, rows.start + s.stop) for s in blocks]

    def _write_scores(self, rows: slice, weights: Sequence[Array], bias: Array, out: Array) -> list[Array | None]:
        """Write the scores of some rows to `out`; return what was read of each block, None for a sparse one."""
        out[:] = bias
        read: list[Array | None] = []
        for block, weight in zip(self.blocks, weights):
            if isinstance(block, SparseBlock):
                read.append(None)
                if self.kernels is None:
                    out += block.X[rows] @ weight
                else:
                    X = block.X
                    self.kernels.add_row_scores((X.data, X.indices, X.indptr), rows.start, weight, out)
            elif isinstance(block, DenseBlock):
                read.append(numbers := block.read(rows))
                out += numbers @ weight
            else:
                read.append(values := block.X[rows])
                out += np.matmul(weight, values)
        return read

    def _sum_stripe(
        self, rows: slice, weights: Sequence[Array], bias: Array, residual: Array | None
    ) -> tuple[float, Array, list[Array | float]]:
        """Return loss, bias gradient and Σ r_i x_i of each block (0 for a sparse one) over a stripe of rows.

        `residual` receives w·∂ℓ/∂s, unless it is None.
        """
        loss, bias_gradient = 0.0, np.zeros(self.n_scores)
        sums: list[Array | float] = [0.0] * len(self.blocks)
        buffer = np.empty((self._rows_per_block(), self.n_scores)) if residual is None else None
        for small in self._slice_rows(rows):
            out = residual[small] if buffer is None else buffer[: small.stop - small.start]  # type: ignore[index]
            read = self._write_scores(small, weights, bias, out)
            loss += self._residuals_inplace(out, small)
            bias_gradient += out.sum(axis=0)
            for b, numbers in enumerate(read):
                if numbers is not None:
                    sums[b] += out.T @ numbers if numbers.ndim == 2 else np.einsum("ijk,ik->j", numbers, out)
        return loss, bias_gradient, sums
