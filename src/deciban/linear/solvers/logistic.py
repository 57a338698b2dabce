"""Logistic regression: the weights for which the rows learned are least surprising, held back by a penalty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.engines.threads import one_core_products
from deciban.kernels.kernel_loading import load_kernels
from deciban.linear.design import Dense, Part, Shared, Sparse, shape
from deciban.linear.feature_scaling import block_of
from deciban.linear.loss_pass import Rows
from deciban.linear.solvers import dual_lbfgs as spanned
from deciban.linear.solvers import lbfgs as smooth
from deciban.linear.solvers import newton, proximal, screening
from deciban.linear.solvers.lbfgs import SAMPLE, State, some_rows
from deciban.linear.solvers.logistic_objective import apart, score_count
from deciban.linear.solvers.separable import separable

__all__ = ["Dense", "Fit", "Shared", "Sparse", "fitted", "fitted_parts"]


LARGE = 1 << 22
"""From so many products a pass on, threads are worth waking."""


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
    of the objective, or after `max_iter` steps; with l1, whose steps are cheaper, after ten times as many.

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
    import scipy.linalg  # noqa: F401  before threads are limited: its products are its own

    codes = np.ascontiguousarray(codes, dtype=np.int32)
    with one_core_products(True):  # threads that wait for each other burn more than small products take
        rows = _rows(parts, codes, weight, n_classes, intercept, threads)
        first = _first(parts, rows, start)
        max_iter *= proximal.STEPS if any(part.l1 for part in parts) else 1
        if screening.pays(parts):
            return _screened(parts, rows, first, tol, max_iter)
        return _fit(parts, rows, _searched(parts, rows, first, tol, max_iter))


def _searched(parts: Sequence[Part], rows: Rows, first: State, tol: float, max_iter: int) -> State:
    """The search that the penalties and the shape of the rows call for."""
    l2 = _held([part.l2 for part in parts], rows, 2)
    if any(part.l1 for part in parts):
        return proximal.minimised(rows, l2, _held([part.l1 for part in parts], rows, 1), first, tol, max_iter)
    if newton.pays(rows, l2, first):
        near = newton.minimised(rows, l2, first, tol, max_iter)
        if near.converged or near.n_iter >= max_iter:
            return near
        cold = _first(parts, rows, None)  # so far out that nothing bends there: begun anew
        further = smooth.minimised(rows, l2, cold, tol, max_iter - near.n_iter)
        return replace(further, n_iter=near.n_iter + further.n_iter)
    if spanned.pays(rows, l2):
        return spanned.minimised(rows, l2, first, tol, max_iter)
    return smooth.minimised(rows, l2, first, tol, max_iter)


def _screened(parts: Sequence[Part], rows: Rows, state: State, tol: float, max_iter: int) -> Fit:
    """The search for the weights of some columns, until no other column asks for one; `max_iter` steps in all."""
    kept = [np.zeros(t.shape[-1], dtype=bool) for t in state.ts]
    steps, settled = 0, False
    for turn in range(screening.ROUNDS):
        _, slopes, _ = rows.value(state.ts, state.bias)
        told = [t if b.unit is None else t * b.unit for t, b in zip(state.ts, rows.blocks)]
        steep = [g if b.unit is None else g / b.unit for g, b in zip(slopes, rows.blocks)]
        now = [k | screening.asking(p, t, g, tol) for k, p, t, g in zip(kept, parts, told, steep)]
        settled = turn > 0 and all(map(np.array_equal, now, kept))
        if settled or (turn > 0 and steps >= max_iter):
            break
        kept = now
        fit = _of_columns(parts, rows, state, [np.flatnonzero(k) for k in kept], tol, max_iter - steps)
        steps += fit.n_iter
        found = [screening.widened(p, np.flatnonzero(k), t) for p, k, t in zip(parts, kept, fit.parts)]
        state = replace(_first(parts, rows, (found, fit.bias)), n_iter=steps, converged=fit.converged)
        state = replace(state, gradient=fit.gradient)
    return _fit(parts, rows, replace(state, converged=state.converged and settled))


def _of_columns(
    parts: Sequence[Part], rows: Rows, state: State, columns: Sequence[NDArray[np.intp]], tol: float, max_iter: int
) -> Fit:
    """The fit of these columns alone, from where the others stand at zero."""
    some = [screening.narrowed(part, column) for part, column in zip(parts, columns)]
    whole = _told(parts, rows, state)
    start = [t if isinstance(p, Shared) else t[:, c] for p, t, c in zip(parts, whole[0], columns)]
    n_classes = max(rows.n_scores, 2)
    narrow = _rows(some, rows.codes, rows.weight, n_classes, rows.intercept, rows.threads)
    first = _first(some, narrow, (start, whole[1]))
    return _fit(some, narrow, _searched(some, narrow, first, tol, max_iter))


def _rows(
    parts: Sequence[Part], codes: Codes, weight: Array | None, n_classes: int, intercept: bool, threads: int
) -> Rows:
    """The parts made ready for passes."""
    M = score_count(n_classes)
    work = M * sum(map(_cells, parts))
    fast = load_kernels("logistic_loss", work)
    sample = some_rows(len(codes), SAMPLE)
    ready = newton.to_dense(parts, len(codes), M)
    blocks = [block_of(part, M, weight, sample, intercept, fast) for part in ready]
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
        zeros = [np.zeros((1, part.width) if M == 1 else shape(part, M)) for part in parts]
        return State(zeros, _shares(rows) if rows.intercept else np.zeros(M))
    ts = []
    bias = np.array(start[1], dtype=np.float64).reshape(M) if rows.intercept else np.zeros(M)
    for part, block, given in zip(parts, rows.blocks, start[0]):
        t = np.array(given, dtype=np.float64).reshape((1, -1) if M == 1 else shape(part, M))
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
    return apart(logs)


def _told(parts: Sequence[Part], rows: Rows, state: State) -> tuple[list[Array], Array]:
    """Weights and bias of a state in the words of whoever asked."""
    bias = np.asarray(state.bias - sum(_moved(block, t) for block, t in zip(rows.blocks, state.ts)))
    if rows.n_scores > 1 and rows.intercept:
        bias = bias - bias.mean()  # what all classes have alike no score can tell
    ts = [t if block.unit is None else t * block.unit for block, t in zip(rows.blocks, state.ts)]
    return [t.reshape(shape(part, rows.n_scores)) for part, t in zip(parts, ts)], bias


def _fit(parts: Sequence[Part], rows: Rows, state: State) -> Fit:
    """The state, with what it comes to."""
    ts, bias = _told(parts, rows, state)
    scores = rows.scores(state.ts, state.bias)
    apart = not any(part.l1 or part.l2 for part in parts) and separable(rows, scores)
    loss = rows.settled(scores)
    whole = loss + sum(_penalty(part, t) for part, t in zip(parts, ts))
    return Fit(tuple(ts), bias, whole, loss, state.n_iter, state.gradient, state.converged, apart)


def _penalty(part: Part, t: Array) -> float:
    """½ l2 Σ t² + l1 Σ |t|; nothing where nothing is held back, however long the weights."""
    squares = 0.5 * part.l2 * float(np.sum(t * t)) if part.l2 else 0.0
    return squares + (part.l1 * float(np.abs(t).sum()) if part.l1 else 0.0)
