"""Logistic regression: the weights that minimise the penalised logistic loss of the training rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.engines.threads import limit_products_to_one_core
from deciban.kernels.execution import load_kernels
from deciban.linear.csr_matrix import CsrMatrix
from deciban.linear.design import Block, Dense, Part, Shared, SharedBlock, Sparse, prepare_block
from deciban.linear.loss_pass import Rows
from deciban.linear.solvers import dual_lbfgs, lbfgs, newton
from deciban.linear.solvers.lbfgs import MIN_SAMPLE_ROWS, State, sample_rows
from deciban.linear.solvers.logistic_objective import contrast, count_scores

__all__ = ["Dense", "LogisticFit", "Shared", "Sparse", "fit_parts"]


MIN_THREADED_PRODUCTS = 1 << 22
"""The least number of products per pass from which on several threads are used."""

MIN_SCREENED_COLUMNS = 1000
"""Parts with fewer columns are fitted without screening."""

MAX_SCREENING_ROUNDS = 20
"""The greatest number of times that the gradients of all columns are checked."""


@dataclass(frozen=True, slots=True)
class LogisticFit:
    """The result of a search. `parts` are the weights of each block of features, `bias` has one number per score.

    `gradient` is that of the last `State`, `n_iter` the number of steps over all rows.
    `separable`: there is no penalty and every row is predicted correctly, so longer weights would always be better.
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


def fit_parts(
    parts: Sequence[Part],
    codes: Codes,
    weight: Array | None,
    n_classes: int,
    *,
    intercept: bool = True,
    fixed_bias: Array | None = None,
    start: tuple[Sequence[Array], Array] | None = None,
    tol: float = 1e-4,
    max_iter: int = 100,
    threads: int = 1,
    prepared: Rows | None = None,
) -> LogisticFit:
    """Fit the weights and bias that minimise Σ_i w_i ℓ(y_i, W x_i + b) + ½ l2 Σ W² + l1 Σ |W|.

    The features x are several blocks side by side, without missing values, each with its own penalty. The weights of
    a block with a scale, returned and penalised, are those of the features scale_k · x of class k.

    `fixed_bias` is a bias that is not fitted, one number per score; there is no intercept then.

    The search ends where the possible gain is about tol² of the objective, or after `max_iter` steps; with l1, whose
    steps are cheaper, after ten times as many. `prepared` are the rows as `prepare_rows` returns them, for several
    fits that differ in their penalties alone.

    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 0, 1], dtype=np.int32)
    >>> fit = fit_parts([Dense(X, l2=1.0)], y, None, 2)
    >>> fit.weights.round(3).tolist(), fit.bias.round(3).tolist()
    ([[0.453]], [-0.679])
    """
    if not any(isinstance(part.X, CsrMatrix) for part in parts) and _is_scipy_installed():
        import scipy.linalg  # noqa: F401  before threads are limited: SciPy has a BLAS of its own

    with limit_products_to_one_core(True):  # threads that wait for each other cost more than small products take
        rows = prepared or prepare_rows(parts, codes, weight, n_classes, intercept and fixed_bias is None, threads)
        rows = rows if fixed_bias is None else replace(rows, fixed_bias=fixed_bias)
        first = _build_initial_state(parts, rows, start)
        max_iter *= lbfgs.L1_STEPS_PER_ITERATION if any(part.l1 for part in parts) else 1
        if any(map(_is_screened, parts)):
            return _search_with_screening(parts, rows, first, tol, max_iter)
        return _summarise(parts, rows, _search(parts, rows, first, tol, max_iter))


def _search(parts: Sequence[Part], rows: Rows, first: State, tol: float, max_iter: int) -> State:
    """Run the solver that suits the penalties and the shape of the rows."""
    l2 = _scale_penalties([part.l2 for part in parts], rows, 2)
    if any(part.l1 for part in parts):
        penalties = _scale_penalties([part.l1 for part in parts], rows, 1)
        return lbfgs.minimise_l1(rows, l2, penalties, first, tol, max_iter)
    if newton.is_applicable(rows, l2, first):
        near = newton.minimise(rows, l2, first, tol, max_iter)
        if near.converged or near.n_iter >= max_iter:
            return near
        # the start was so far out that the loss has no curvature there
        cold = _build_initial_state(parts, rows, None)
        further = lbfgs.minimise(rows, l2, cold, tol, max_iter - near.n_iter)
        return replace(further, n_iter=near.n_iter + further.n_iter)
    if dual_lbfgs.is_applicable(rows, l2):
        return dual_lbfgs.minimise(rows, l2, first, tol, max_iter)
    if not _is_scipy_installed():  # a small installation for mail: its dense fits have two weights
        return newton.minimise(rows, l2, first, tol, max_iter)
    return lbfgs.minimise(rows, l2, first, tol, max_iter)


@cache
def _is_scipy_installed() -> bool:
    """Return whether SciPy can be imported, by importing it."""
    try:
        import scipy  # noqa: F401
    except ModuleNotFoundError:
        return False
    return True


def _is_screened(part: Part) -> bool:
    """Return whether only some columns of a part are fitted at a time: those of many under an L1 penalty."""
    return not isinstance(part, Shared) and part.l1 > 0 and part.width >= MIN_SCREENED_COLUMNS


def _search_with_screening(parts: Sequence[Part], rows: Rows, state: State, tol: float, max_iter: int) -> LogisticFit:
    """Fit the weights of selected columns until no other column qualifies; `max_iter` steps in all.

    A weight stays at zero while its gradient is no larger than l1. Of a hundred thousand words a few thousand remain,
    and the search is for those only; then the gradients of all columns are checked once more.
    """
    kept = [np.zeros(t.shape[-1], dtype=bool) for t in state.ts]
    steps, is_complete = 0, False
    for turn in range(MAX_SCREENING_ROUNDS):
        _, gradients, _ = rows.loss_and_gradients(state.ts, state.bias)
        weights = [t if b.unit is None else t * b.unit for t, b in zip(state.ts, rows.blocks)]
        gradients = [g if b.unit is None else g / b.unit for g, b in zip(gradients, rows.blocks)]
        selected = [k | _select_columns(p, t, g, tol) for k, p, t, g in zip(kept, parts, weights, gradients)]
        is_complete = turn > 0 and all(map(np.array_equal, selected, kept))
        if is_complete or (turn > 0 and steps >= max_iter):
            break
        kept = selected
        fit = _fit_columns(parts, rows, state, kept, tol, max_iter - steps)
        steps += fit.n_iter
        found = [np.zeros(part.weight_shape(rows.n_scores)) for part in parts]
        for t, columns, fitted in zip(found, kept, fit.parts):
            t[..., columns] = fitted
        state = _build_initial_state(parts, rows, (found, fit.bias))
        state = replace(state, n_iter=steps, converged=fit.converged, gradient=fit.gradient)
    return _summarise(parts, rows, replace(state, converged=state.converged and is_complete))


def _select_columns(part: Part, t: Array, gradient: Array, tol: float) -> NDArray[np.bool_]:
    """Return a mask of the columns that have weights, or whose gradient exceeds the L1 penalty."""
    if not _is_screened(part):
        return np.ones(t.shape[-1], dtype=bool)
    return np.asarray(((t != 0) | (np.abs(gradient) > part.l1 * (1.0 + tol))).any(axis=0))


def _fit_columns(
    parts: Sequence[Part], rows: Rows, state: State, kept: Sequence[NDArray[np.bool_]], tol: float, max_iter: int
) -> LogisticFit:
    """Fit these columns only, with the weights of the others at zero."""
    columns = [np.flatnonzero(mask) for mask in kept]
    scales = [None if p.scale is None else np.ascontiguousarray(p.scale[..., c]) for p, c in zip(parts, columns)]
    some = [replace(p, X=p.X[:, c], scale=scale) for p, c, scale in zip(parts, columns, scales)]
    ts, bias = _to_original_units(parts, rows, state)
    narrow = prepare_rows(some, rows.codes, rows.weight, max(rows.n_scores, 2), rows.intercept, rows.threads)
    narrow = replace(narrow, fixed_bias=rows.fixed_bias)
    first = _build_initial_state(some, narrow, ([t[..., c] for t, c in zip(ts, columns)], bias))
    return _summarise(some, narrow, _search(some, narrow, first, tol, max_iter))


def prepare_rows(
    parts: Sequence[Part], codes: Codes, weight: Array | None, n_classes: int, intercept: bool, threads: int
) -> Rows:
    """Convert parts to blocks that are ready for passes; few columns of a sparse part become dense."""
    codes, M = np.ascontiguousarray(codes, dtype=np.int32), count_scores(n_classes)
    work = M * sum(int(part.X.nnz if isinstance(part, Sparse) else part.X.size) for part in parts)
    kernels = load_kernels("logistic_loss", work)
    sample = sample_rows(len(codes), MIN_SAMPLE_ROWS)
    ready = newton.make_dense_if_small(parts, len(codes), M)
    blocks = [prepare_block(part, M, weight, sample, intercept) for part in ready]
    return Rows(blocks, codes, weight, M, intercept, threads if work >= MIN_THREADED_PRODUCTS else 1, kernels)


def _scale_penalties(penalties: Sequence[float], rows: Rows, power: int) -> list[Array | float]:
    """Convert the penalty of every block to the units of its weights; `power` is 2 of squares, 1 of sizes."""
    return [p if block.unit is None else p * block.unit**power for p, block in zip(penalties, rows.blocks)]


def _build_initial_state(parts: Sequence[Part], rows: Rows, start: tuple[Sequence[Array], Array] | None) -> State:
    """Return the initial state: the start weights if any, else zero weights with class log-odds as the bias."""
    M = rows.n_scores
    unfitted = np.zeros(M) if rows.fixed_bias is None else rows.fixed_bias
    if start is None:
        zeros = [np.zeros((1, part.width) if M == 1 else part.weight_shape(M)) for part in parts]
        # the log-odds of two classes, or centred logarithms of the class shares; half a row is added to each
        counts = np.bincount(rows.codes, weights=rows.weight, minlength=max(M, 2)) + 0.5
        return State(zeros, contrast(np.log(counts / counts.sum())) if rows.intercept else unfitted)
    ts = []
    bias = np.array(start[1], dtype=np.float64).reshape(M) if rows.intercept else unfitted
    for part, block, weights in zip(parts, rows.blocks, start[0]):
        t = np.array(weights, dtype=np.float64).reshape((1, -1) if M == 1 else part.weight_shape(M))
        t = t if block.unit is None else t / block.unit
        bias = bias + _compute_centring_shift(block, t)
        ts.append(t)
    return State(ts, bias)


def _compute_centring_shift(block: Block, t: Array) -> Array | float:
    """Compute W m, the difference between the bias of centred features and that of the original ones."""
    if isinstance(block, SharedBlock):
        return 0.0
    centre = block.centre if block.unit is None else block.centre * block.unit
    return np.asarray((t if block.scale is None else t * block.scale) @ centre)


def _to_original_units(parts: Sequence[Part], rows: Rows, state: State) -> tuple[list[Array], Array]:
    """Convert the weights and bias of a state to those of the features as the caller gave them."""
    bias = np.asarray(state.bias - sum(_compute_centring_shift(block, t) for block, t in zip(rows.blocks, state.ts)))
    if rows.n_scores > 1 and rows.intercept:
        bias = bias - bias.mean()  # a change common to all classes affects no posterior
    ts = [t if block.unit is None else t * block.unit for block, t in zip(rows.blocks, state.ts)]
    return [t.reshape(part.weight_shape(rows.n_scores)) for part, t in zip(parts, ts)], bias


def _summarise(parts: Sequence[Part], rows: Rows, state: State) -> LogisticFit:
    """Convert a state to a fit, with its loss and objective."""
    ts, bias = _to_original_units(parts, rows, state)
    scores = rows.scores(state.ts, state.bias)
    separable = not any(part.l1 or part.l2 for part in parts) and rows.is_separated_by(scores)
    loss = rows.loss_and_residuals_inplace(scores)
    objective = loss + sum(_compute_penalty(part, t) for part, t in zip(parts, ts))
    return LogisticFit(tuple(ts), bias, objective, loss, state.n_iter, state.gradient, state.converged, separable)


def _compute_penalty(part: Part, t: Array) -> float:
    """Compute ½ l2 Σ t² + l1 Σ |t|; zero without a penalty, even where the squares overflow."""
    squares = 0.5 * part.l2 * float(np.sum(t * t)) if part.l2 else 0.0
    return squares + (part.l1 * float(np.abs(t).sum()) if part.l1 else 0.0)
