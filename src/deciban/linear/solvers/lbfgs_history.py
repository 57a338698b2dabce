"""Pairs: what a search in the span of rows remembers, and the direction that follows from it (L-BFGS).

The two loops of the method only ever form sums of the slope, of steps and of changes of the slope. So they are gone
through in the shares of these sums, by a table of all products, and the sum is written out once: three reads of what
is remembered in the place of eight. It is read in pieces that stay in the cache, added up in their order, so that the
number of threads never changes a bit.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from deciban._typing import Array
from deciban.engines.threads import row_blocks
from deciban.kernels.thread_pool import shared

MEMORY = 12
"""Steps that are remembered."""

PIECE = 4096
"""Numbers of every vector that are read together."""


@dataclass(slots=True)
class Vector:
    """A direction of weights and bias: α, the bias in its own unit and c; beside them X t, the bias and ⟨t₀, t⟩."""

    own: Array
    dual: Array

    def __matmul__(self, other: Vector) -> float:
        return float(self.own @ other.dual)

    def add(self, share: float, other: Vector) -> None:
        """Become self + share · other, by pieces that stay in the cache."""
        for piece in row_blocks(len(self.own), PIECE):
            self.own[piece] += share * other.own[piece]
            self.dual[piece] += share * other.dual[piece]


@dataclass(slots=True)
class Pairs:
    """The slope (row 0), and steps with the changes of the slope along them (two rows each), oldest first in `order`.

    `products` are those of all rows with each other. All but these may be in single precision.
    """

    own: NDArray[Any]
    dual: NDArray[Any]
    products: Array
    threads: int
    order: deque[int] = field(default_factory=deque)

    @classmethod
    def begun(cls, slope: Vector, threads: int, kind: DTypeLike = np.float64) -> Pairs:
        """Nothing but a slope."""
        n_rows = 1 + 2 * MEMORY
        own, dual = (np.empty((n_rows, len(slope.own)), dtype=kind) for _ in range(2))
        own[0], dual[0] = slope.own, slope.dual
        products = np.zeros((n_rows, n_rows))
        products[0, 0] = slope @ slope
        return cls(own, dual, products, threads)

    def direction(self, first: float) -> Vector:
        """−H·slope by the two loops (Nocedal 1980); `first` is H where nothing is known."""
        P, share = self.products, np.zeros(len(self.products))
        share[0] = -1.0
        kept = {}
        for s in reversed(self.order):
            kept[s] = (P[s] @ share) / P[s, s + 1]
            share[s + 1] -= kept[s]
        last = self.order[-1] if self.order else 0
        share *= P[last, last + 1] / P[last + 1, last + 1] if last else first
        for s in self.order:
            share[s] += kept[s] - (P[s + 1] @ share) / P[s, s + 1]
        return self._sum(share[: self._end()])

    def learn(self, step: Vector, share: float, slope: Vector) -> None:
        """Take the slope after so many times a step for the present one, and remember the step where it bent."""
        s = self._free()
        news, end = [0, s, s + 1], max(self._end(), s + 2)

        def piece(columns: slice) -> Array:
            own, dual = self.own[:end, columns], self.dual[:end, columns]
            for mine, moved, risen in ((own, step.own, slope.own), (dual, step.dual, slope.dual)):
                mine[s] = share * moved[columns]
                mine[s + 1] = risen[columns] - mine[0]
                mine[0] = risen[columns]
            return np.stack([dual @ own[i] for i in news]).astype(np.float64)

        found = sum(shared(piece, self._pieces(), self.threads))
        self.products[news, :end] = found
        self.products[:end, news] = np.transpose(found)
        if self.products[s, s + 1] > 0 and self.products[s + 1, s + 1] > 0:
            self.order.append(s)

    def _sum(self, share: Array) -> Vector:
        step = Vector(np.empty(self.own.shape[1]), np.empty(self.own.shape[1]))
        share = share.astype(self.own.dtype)

        def piece(columns: slice) -> None:
            step.own[columns] = share @ self.own[: len(share), columns]
            step.dual[columns] = share @ self.dual[: len(share), columns]

        shared(piece, self._pieces(), self.threads)
        return step

    def _pieces(self) -> list[slice]:
        return row_blocks(self.own.shape[1], PIECE)

    def _free(self) -> int:
        """The place of a new step: the first that is free, else that of the oldest."""
        if len(self.order) == MEMORY:
            return self.order.popleft()
        return next(s for s in range(1, 1 + 2 * MEMORY, 2) if s not in self.order)

    def _end(self) -> int:
        """Rows in use: all before this one have been written."""
        return max(self.order, default=-1) + 2
