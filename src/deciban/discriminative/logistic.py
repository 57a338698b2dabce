"""Logistic regression: the weights for which the rows learned are least surprising, held back by a penalty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deciban.discriminative import proximal, smooth, spanned
from deciban.discriminative.designs import Dense, Part, Shared, Sparse
from deciban.discriminative.features import block_of
from deciban.discriminative.objective import Array, Codes
from deciban.discriminative.passes import Rows
from deciban.discriminative.separable import separable
from deciban.discriminative.smooth import SAMPLE, State, some_rows
from deciban.engines.threads import one_core_products
from deciban.kernels.loaded import kernels

__all__ = ["Dense", "Fit", "Shared", "Sparse", "fitted", "fitted_parts"]


SMALL, LARGE = 1 << 14, 1 << 22
"""Below so many numbers products are left as they are; from so many products a pass on, threads are worth waking."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Where the search ended. `parts` are the weights of each block of features, `bias` one number a score.

    `gradient` is the greatest slope of the mean objective, `n_iter` the steps over all rows. `separable`: no penalty,
    and weights that tell every row right, so that longer weights would always be better.
    """

    parts: tuple[Array, ...]
    bias: Array
    objective: float
    loss: float
    n_iter: int
    gradient: float
    converged: bool
    separable: bool

    @property
    def weights(self) -> Array:
        """The weights of the only, or first, block: K×d, of two classes 1×d."""
        return self.parts[0]


def fitted(
    X: Any,
    codes: Codes,
    weight: Array | None,
    n_classes: int,
    *,
    l2: float,
    l1: float = 0.0,
    intercept: bool = True,
    start: tuple[Array, Array] | None = None,
    tol: float = 1e-4,
    max_iter: int = 100,
    threads: int = 1,
    scale: Array | None = None,
) -> Fit:
    """The weights and bias that make Σ_i w_i ℓ(y_i, W x_i + b) + ½ l2 Σ W² + l1 Σ |W| least.

    X is dense or CSR, without missing values. With `scale` the features of class k are scale_k · x, and the weights
    given back, and held back, are those of these features. The search ends where what is left to gain is about tol²
    of the objective.

    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 0, 1], dtype=np.int32)
    >>> fit = fitted(X, y, None, 2, l2=1.0)
    >>> fit.weights.round(3).tolist(), fit.bias.round(3).tolist()
    ([[0.453]], [-0.679])
    """
    part = (Dense if isinstance(X, np.ndarray) else Sparse)(X, l2, l1, scale)
    first = None if start is None else ((start[0],), start[1])
    return fitted_parts(
        [part],
        codes,
        weight,
        n_classes,
        intercept=intercept,
        start=first,
        tol=tol,
        max_iter=max_iter,
        threads=threads,
    )


def fitted_parts(
    parts: Sequence[Part],
    codes: Codes,
    weight: Array | None,
    n_classes: int,
    *,
    intercept: bool = True,
    start: tuple[Sequence[Array], Array] | None = None,
    tol: float = 1e-4,
    max_iter: int = 100,
    threads: int = 1,
) -> Fit:
    """The same for several blocks of features beside each other, each with its own penalty."""
    codes = np.ascontiguousarray(codes, dtype=np.int32)
    rows = _rows(parts, codes, weight, n_classes, intercept, threads)
    with one_core_products(sum(map(_cells, parts)) >= SMALL):
        first, l2 = _first(parts, rows, start), _held([part.l2 for part in parts], rows, 2)
        if any(part.l1 for part in parts):
            l1 = _held([part.l1 for part in parts], rows, 1)
            return _fit(parts, rows, proximal.minimised(rows, l2, l1, first, tol, max_iter))
        if spanned.pays(rows):
            return _fit(parts, rows, spanned.minimised(rows, parts[0].l2, first, tol, max_iter))
        return _fit(parts, rows, smooth.minimised(rows, l2, first, tol, max_iter))


def _rows(
    parts: Sequence[Part], codes: Codes, weight: Array | None, n_classes: int, intercept: bool, threads: int
) -> Rows:
    """The parts made ready for passes."""
    M = 1 if n_classes == 2 else n_classes
    work = M * sum(map(_cells, parts))
    fast = kernels("logistic", work)
    sample = some_rows(len(codes), SAMPLE)
    blocks = [block_of(part, M, sample, intercept, fast) for part in parts]
    return Rows(blocks, codes, weight, M, intercept, threads if work >= LARGE else 1, fast)


def _cells(part: Part) -> int:
    if isinstance(part, Shared):
        return int(part.values.size)
    return int(part.X.size if isinstance(part, Dense) else part.X.nnz)


def _held(penalties: Sequence[float], rows: Rows, power: int) -> list[Array | float]:
    """The penalty of every block's weights in its units."""
    return [p if block.unit is None else p * block.unit**power for p, block in zip(penalties, rows.blocks)]


def _first(parts: Sequence[Part], rows: Rows, start: tuple[Sequence[Array], Array] | None) -> State:
    """Where the search begins: at the weights given, else at none, with the classes' shares for a bias."""
    M = rows.n_scores
    if start is None:
        zeros = [np.zeros((1, *part.shape(M))[-2:]) if M == 1 else np.zeros(part.shape(M)) for part in parts]
        return State(zeros, _shares(rows) if rows.intercept else np.zeros(M))
    ts = []
    bias = np.array(start[1], dtype=np.float64).reshape(M) if rows.intercept else np.zeros(M)
    for part, block, given in zip(parts, rows.blocks, start[0]):
        t = np.array(given, dtype=np.float64).reshape((1, -1) if M == 1 else part.shape(M))
        t = t if block.unit is None else t / block.unit
        bias = bias + _moved(block, t)
        ts.append(t)
    return State(ts, bias)


def _moved(block: Any, t: Array) -> Array | float:
    """W m: what the bias beside centred features has more than the bias."""
    if isinstance(getattr(block, "centre", None), np.ndarray):
        centre = block.centre if block.unit is None else block.centre * block.unit
        return np.asarray((t if block.scale is None else t * block.scale) @ centre)
    return 0.0


def _shares(rows: Rows) -> Array:
    """The log-odds of two classes, or the logarithms of the classes' shares; half a row more for each."""
    counts = np.bincount(rows.codes, weights=rows.weight, minlength=max(rows.n_scores, 2)) + 0.5
    logs = np.log(counts / counts.sum())
    return logs[1:] - logs[:1] if rows.n_scores == 1 else logs - logs.mean()


def _fit(parts: Sequence[Part], rows: Rows, state: State) -> Fit:
    """The state in the words of whoever asked."""
    scores = rows.scores(state.ts, state.bias)
    apart = not any(part.l1 or part.l2 for part in parts) and separable(rows, scores)
    loss = rows.settled(scores)
    bias = np.asarray(state.bias - sum(_moved(block, t) for block, t in zip(rows.blocks, state.ts)))
    if rows.n_scores > 1 and rows.intercept:
        bias = bias - bias.mean()  # what all classes have alike no score can tell
    ts = [t if block.unit is None else t * block.unit for block, t in zip(rows.blocks, state.ts)]
    ts = [t.reshape(part.shape(rows.n_scores)) for part, t in zip(parts, ts)]
    penalty = sum(_penalty(part, t) for part, t in zip(parts, ts))
    return Fit(tuple(ts), bias, loss + penalty, loss, state.n_iter, state.gradient, state.converged, apart)


def _penalty(part: Part, t: Array) -> float:
    """½ l2 Σ t² + l1 Σ |t|; nothing where nothing is held back, however long the weights."""
    squares = 0.5 * part.l2 * float(np.sum(t * t)) if part.l2 else 0.0
    return squares + (part.l1 * float(np.abs(t).sum()) if part.l1 else 0.0)
