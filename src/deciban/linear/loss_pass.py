"""One pass over the rows: the loss and its gradient for all classes, a block of rows read once.

Rows come in stripes of a fixed number and blocks of a fixed size, added in their order, so the number of threads
never changes a bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.engines.threads import row_blocks
from deciban.kernels.thread_pool import run, shared
from deciban.linear.feature_scaling import Block, DenseBlock, SharedBlock, SparseBlock
from deciban.linear.solvers.logistic_objective import losses, residuals

BLOCK_CELLS = 1 << 17
"""Numbers of a block of rows, which stay in the cache for the scores and the gradient."""

STRIPES = 16
"""Sums are made for so many stripes of rows, whatever the number of threads."""


class Line(NamedTuple):
    """Scores without bias (n×M) and bias, and how both change along a step."""

    scores: Array
    bias: Array
    scores_along: Array
    bias_along: Array


@dataclass(slots=True)
class Rows:
    """The rows to be learned: blocks of features, classes, weights (None: one each)."""

    blocks: Sequence[Block]
    codes: Codes
    weight: Array | None
    n_scores: int
    intercept: bool
    threads: int
    kernels: ModuleType | None

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(len(self.codes) if self.weight is None else self.weight.sum())

    def take(self, rows: NDArray[np.intp]) -> Rows:
        """These rows alone."""
        weight = None if self.weight is None else self.weight[rows]
        blocks = [block.take(rows) for block in self.blocks]
        return Rows(blocks, self.codes[rows], weight, self.n_scores, self.intercept, self.threads, self.kernels)

    def scores(self, ts: Sequence[Array], bias: Array) -> Array:
        """s of every row, n×M."""
        begun, bias = self._begun(ts, bias)
        out = np.empty((len(self.codes), self.n_scores))
        list(
            shared(
                lambda rows: self._score(rows, begun, bias, out[rows]), self._small(slice(0, len(out))), self.threads
            )
        )
        return out

    def value(self, ts: Sequence[Array], bias: Array) -> tuple[float, list[Array], Array]:
        """Σ w·ℓ, and its gradient for the weights of every block and for the bias."""
        begun, shifted = self._begun(ts, bias)
        n, by_columns = len(self.codes), any(block.by_columns for block in self.blocks)
        kept = np.empty((n, self.n_scores)) if by_columns else None
        stripes = run(lambda rows: self._stripe(rows, begun, shifted, kept), self._stripes(), self.threads)
        loss, of_bias = 0.0, np.zeros(self.n_scores)
        totals: list[Array | None] = [None] * len(self.blocks)
        for part_loss, part_bias, collected in stripes:
            loss += part_loss
            of_bias += part_bias
            totals = [
                new if old is None else None if new is None else old + new for old, new in zip(totals, collected)
            ]
        gradients = []
        for block, total in zip(self.blocks, totals):
            if isinstance(block, SparseBlock):
                assert kept is not None
                total = self.columns(block, kept)
            assert total is not None
            total = block.about(total, of_bias) if isinstance(block, DenseBlock) else total
            gradients.append(block.end(total))
        return loss, gradients, of_bias

    def settle(self, scores: Array, rows: slice) -> float:
        """Replace the scores of some rows by w·∂ℓ/∂s, and give Σ w·ℓ."""
        codes, weight = self.codes[rows], None if self.weight is None else self.weight[rows]
        if self.kernels is not None:
            return float(self.kernels.settle(scores, codes, np.empty(0) if weight is None else weight))
        loss = losses(scores, codes)
        scores[:] = residuals(scores, codes)
        if weight is not None:
            scores *= weight[:, None]
            loss = loss * weight
        return float(loss.sum())

    def settled(self, scores: Array) -> float:
        """The same for all rows."""
        return sum(
            shared(lambda rows: self.settle(scores[rows], rows), self._small(slice(0, len(scores))), self.threads)
        )

    def settled_along(self, line: Line, share: float, out: Array) -> tuple[float, float]:
        """Σ w·ℓ after a share of a step and its slope along it; w·∂ℓ/∂s of all rows go to `out`."""
        bias = line.bias + share * line.bias_along

        def some(rows: slice) -> tuple[float, float]:
            here, along = out[rows], line.scores_along[rows]
            np.multiply(along, share, out=here)
            here += line.scores[rows]
            here += bias
            loss = self.settle(here, rows)
            return loss, float(np.vdot(here, along)) + float(here.sum(axis=0) @ line.bias_along)

        found = shared(some, self._small(slice(0, len(out))), self.threads)
        return sum(loss for loss, _ in found), sum(slope for _, slope in found)

    def _begun(self, ts: Sequence[Array], bias: Array) -> tuple[list[Array], Array]:
        pairs = [block.begin(t) for block, t in zip(self.blocks, ts)]
        return [weights for weights, _ in pairs], bias + sum(offset for _, offset in pairs)

    def _stripes(self) -> list[slice]:
        n = len(self.codes)
        return row_blocks(n, max(self._size(), -(-n // STRIPES)))

    def _size(self) -> int:
        widths = [block.X.shape[1] for block in self.blocks if isinstance(block, DenseBlock)]
        widths += [block.values.shape[1] * self.n_scores for block in self.blocks if isinstance(block, SharedBlock)]
        return max(64, BLOCK_CELLS // (sum(widths) + self.n_scores))

    def _small(self, rows: slice) -> list[slice]:
        return [
            slice(rows.start + s.start, rows.start + s.stop) for s in row_blocks(rows.stop - rows.start, self._size())
        ]

    def _score(self, rows: slice, begun: Sequence[Array], bias: Array, out: Array) -> list[Array | None]:
        """Write the scores of some rows; gives the numbers that were read, for `_stripe` to use again."""
        out[:] = bias
        read: list[Array | None] = []
        for block, weights in zip(self.blocks, begun):
            if isinstance(block, SparseBlock):
                block.add(rows, weights, out)
                read.append(None)
            elif isinstance(block, DenseBlock):
                read.append(numbers := block.numbers(rows))
                out += numbers @ weights
            else:
                read.append(values := block.values[rows])
                out += np.matmul(weights, values)
        return read

    def _stripe(
        self, rows: slice, begun: Sequence[Array], bias: Array, kept: Array | None
    ) -> tuple[float, Array, list[Array | None]]:
        loss, of_bias = 0.0, np.zeros(self.n_scores)
        collected: list[Array | None] = [None] * len(self.blocks)
        room = np.empty((self._size(), self.n_scores)) if kept is None else None
        for small in self._small(rows):
            out = kept[small] if room is None else room[: small.stop - small.start]  # type: ignore[index]
            read = self._score(small, begun, bias, out)
            loss += self.settle(out, small)
            of_bias += out.sum(axis=0)
            for b, numbers in enumerate(read):
                if numbers is not None:
                    new = out.T @ numbers if numbers.ndim == 2 else np.einsum("ijk,ik->j", numbers, out)
                    old = collected[b]
                    collected[b] = new if old is None else old + new
        return loss, of_bias, collected

    def columns(self, block: SparseBlock, residual: Array) -> Array:
        """Σ_i r_i (x_i − m) of a sparse block, d×M."""
        out, total = np.empty((block.X.shape[1], self.n_scores)), residual.sum(axis=0)
        list(run(lambda stripe: block.sums(residual, total, out, stripe), block.stripes(), self.threads))
        return out
