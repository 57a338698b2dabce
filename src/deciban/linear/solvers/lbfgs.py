"""Minimisation of the objective by SciPy's L-BFGS in preconditioned coordinates.

Where there are many rows, a sample of them is fitted first: its weights start the search over all rows, and its
curvature makes the preconditioner, so that few passes over all rows remain.

Under an L1 penalty (lasso, elastic net) many weights end at exactly zero. Each weight is a difference of two
non-negative ones, t = u − v, and l1·(u + v) is smooth: L-BFGS-B within bounds, each weight scaled by its own
curvature. At the minimum one of the two is zero, and where both are, so is the weight.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.ledger.hashing import hash_row_numbers
from deciban.linear.loss_pass import Rows
from deciban.linear.solvers.preconditioner import (
    Preconditioner,
    build_preconditioners,
    compute_diagonal_factors,
    precondition_by_factor,
)

MIN_SAMPLE_ROWS = 1 << 14
"""The least number of rows of a sample."""

SAMPLE_ROWS_PER_WEIGHT = 20
"""The number of rows of a sample for each weight of a class, up to MIN_SAMPLE_ROWS // 4 weights."""

SAMPLING_FACTOR = 4
"""A sample is fitted first where there are at least this many times more rows."""

STEPS_PER_PRECONDITIONER = 15
"""After this many steps the preconditioner is rebuilt from the present curvature."""

MAX_GRADIENT_STEPS = 20
"""Steps by gradients alone, at most, at the end of a search."""

GRADIENT_SHRINKAGE = 0.7
"""A step by gradients alone must reduce the length of the gradient to this fraction or less."""

ROUNDING_TOLERANCE = 1e-6
"""The minimum is found to rounding where no step leads down and the gradient is below this tolerance."""

L1_STEPS_PER_ITERATION = 10
"""The number of L-BFGS-B steps under an L1 penalty for each iteration of `max_iter`; they are cheaper."""


@dataclass(frozen=True, slots=True)
class State:
    """Weights `ts` of every block (÷ their units), the bias of centred features, and the progress of the search.

    `gradient` is the greatest absolute derivative of the mean objective; after `minimise_l1` and in `dual_lbfgs` the
    length of a gradient in their own coordinates.
    """

    ts: list[Array]
    bias: Array
    n_iter: int = 0
    converged: bool = False
    gradient: float = np.inf


def sample_rows(n: int, wanted: int) -> NDArray[np.intp]:
    """Return the indices of about `wanted` of n rows, always the same; all where n < `SAMPLING_FACTOR` · wanted."""
    if n < SAMPLING_FACTOR * wanted:
        return np.arange(n)
    return np.flatnonzero(hash_row_numbers(np.arange(n)) < np.uint64(2.0**64 * wanted / n))


def minimise(rows: Rows, l2: Sequence[Array | float], state: State, tol: float, max_iter: int) -> State:
    """Minimise Σ wℓ + ½ Σ l2 t² from a given state.

    A sample is fitted first if rows are many and it has every class; its steps are not counted in `n_iter`.
    """
    penalties = [penalty / max(rows.total, np.finfo(float).tiny) for penalty in l2]
    widest = max((block.width for block in rows.blocks), default=1)
    wanted = max(MIN_SAMPLE_ROWS, SAMPLE_ROWS_PER_WEIGHT * min(widest, MIN_SAMPLE_ROWS // 4))
    sample = sample_rows(len(rows.codes), wanted)
    if len(sample) == len(rows.codes):
        return _search_rows(rows, rows, penalties, state, tol, max_iter)
    some = rows.take(sample)
    counts = np.bincount(some.codes, weights=some.weight, minlength=max(rows.n_scores, 2))
    if (counts > 0).all():  # a sample without rows of a class would fit a probability of zero for it
        rough = choose_rough_tolerance(sum(t.size for t in state.ts), len(sample))
        state = _search_rows(some, some, penalties, state, max(tol, rough), max_iter)
    return _search_rows(rows, some, penalties, State(state.ts, state.bias), tol, max_iter)


def choose_rough_tolerance(n_weights: int, n_rows: int) -> float:
    """Return the tolerance of a search over a sample; its minimum is about √(weights ÷ rows) off that of all."""
    return 0.1 * float(np.sqrt(n_weights / max(n_rows, 1)))


def _search_rows(
    rows: Rows, some: Rows, penalties: Sequence[Array | float], state: State, tol: float, max_iter: int
) -> State:
    """Search over `rows`, preconditioned by the curvature of `some` rows where each round begins."""

    def build(at: State) -> PreconditionedObjective:
        preconditioners = build_preconditioners(some, at.ts, at.bias, penalties)
        return PreconditionedObjective(rows, penalties, preconditioners, [*at.ts, at.bias])

    return search(build, state, tol, max_iter)


def search(build: Callable[[State], "PreconditionedObjective"], state: State, tol: float, max_iter: int) -> State:
    """Run rounds of L-BFGS from a state, each on the objective that `build` returns for the state it begins in.

    The search ends at convergence or after `max_iter` steps; gradient steps end it if a round finds no descent.
    """
    while True:
        most = min(STEPS_PER_PRECONDITIONER, max_iter - state.n_iter)
        before, state = state.n_iter, _run_round(build(state), state, tol, most)
        if state.converged or state.n_iter >= max_iter:
            return state
        if state.n_iter - before < most:
            return _refine_by_gradient(build, state, tol)


def _refine_by_gradient(build: Callable[[State], "PreconditionedObjective"], state: State, tol: float) -> State:
    """Improve the last digits by gradients alone, which are still accurate where values differ only by rounding.

    In preconditioned coordinates the minimum is about one gradient away; a step counts if it makes the gradient much
    shorter. Convergence is judged by `ROUNDING_TOLERANCE` where `tol` is smaller; `n_iter` may exceed the limit.
    """
    best, previous_length = state, np.inf
    for _ in range(MAX_GRADIENT_STEPS):
        objective = build(state)
        u = objective.pack()
        _, gradient = objective.value_and_gradient(u)
        length = float(np.sqrt(gradient @ gradient))
        if not length <= GRADIENT_SHRINKAGE * previous_length:
            break
        previous_length = length
        converged = objective.is_near_minimum(max(tol, ROUNDING_TOLERANCE))
        best = replace(state, converged=converged, gradient=objective.max_gradient)
        if objective.is_near_minimum(tol):
            break
        *ts, bias = objective.unpack(u - gradient)
        state = replace(state, ts=ts, bias=bias, n_iter=state.n_iter + 1)
    return best


def _run_round(objective: "PreconditionedObjective", state: State, tol: float, max_steps: int) -> State:
    """Run at most `max_steps` of L-BFGS from a state; return the new state, its `n_iter` increased by the steps.

    The first step has length one. In preconditioned coordinates the best step is about as long as the gradient, so
    the gradient's length is the unit of the coordinates passed to it.
    """
    u = objective.pack()
    _, gradient = objective.value_and_gradient(u)
    is_near = objective.is_near_minimum(tol)
    if is_near or max_steps <= 0:
        return State(state.ts, state.bias, state.n_iter, is_near, objective.max_gradient)
    unit = float(np.sqrt(gradient @ gradient))

    def value(v: Array) -> tuple[float, Array]:
        f, g = objective.value_and_gradient(v * unit)
        return f, g * unit

    stop = partial(objective.is_near_minimum, tol)
    found = _minimise_by_scipy(value, u / unit, stop, max_steps, 50 * STEPS_PER_PRECONDITIONER)
    *ts, bias = objective.unpack(found.x * unit)
    converged = objective.is_near_minimum(tol)
    return State(ts, bias, state.n_iter + int(found.nit), converged, objective.max_gradient)


def _minimise_by_scipy(
    value: Callable[[Array], tuple[float, Array]], first: Array, stop: Callable[[], bool], max_steps: int,
    max_evaluations: int, bounds: Any = None,
) -> Any:  # fmt: skip
    """Run SciPy's L-BFGS-B from `first` until `stop()` after a step, or a limit; return its result."""
    from scipy.optimize import minimize

    def stop_if_near(intermediate_result: object) -> None:
        if stop():
            raise StopIteration

    options = {"maxiter": max_steps, "gtol": 0.0, "ftol": 0.0, "maxfun": max_evaluations, "maxcor": 20}
    return minimize(value, first, jac=True, method="L-BFGS-B", bounds=bounds, callback=stop_if_near, options=options)


@dataclass(slots=True)
class PreconditionedObjective:
    """The mean objective as a function of preconditioned coordinates, with a cache of the last evaluation."""

    rows: Any
    """`Rows`, or what has their `total`, `intercept`, `loss_and_gradients` and `is_fitted_perfectly`."""
    penalties: Sequence[Array | float]
    preconditioners: Sequence[Preconditioner]
    start: list[Array]
    last: tuple[Array, float, Array] | None = None
    max_gradient: float = np.inf
    """The greatest absolute derivative by weights and bias at the last evaluation."""

    def pack(self) -> Array:
        """Return the coordinates of the starting weights and bias as one vector."""
        return np.concatenate([c.inverse(piece).ravel() for c, piece in zip(self.preconditioners, self.start)])

    def unpack(self, u: Array) -> list[Array]:
        """Return the weights of every block, and the bias, for coordinates u."""
        ends = np.cumsum([piece.size for piece in self.start])[:-1]
        split = [part.reshape(piece.shape) for part, piece in zip(np.split(u, ends), self.start)]
        return [coordinate.weights(part) for coordinate, part in zip(self.preconditioners, split)]

    def value_and_gradient(self, u: Array) -> tuple[float, Array]:
        """Compute the objective and its gradient; the last evaluation is cached."""
        if self.last is not None and np.array_equal(self.last[0], u):
            return self.last[1:]
        *ts, bias = self.unpack(u)
        total = max(self.rows.total, np.finfo(float).tiny)
        loss, block_gradients, bias_gradient = self.rows.loss_and_gradients(ts, bias)
        f = loss / total + sum(0.5 * float(np.sum(h * t * t)) for h, t in zip(self.penalties, ts))
        gradients = [g / total + h * t for g, h, t in zip(block_gradients, self.penalties, ts)]
        gradients.append(bias_gradient / total if self.rows.intercept else np.zeros_like(bias))
        self.max_gradient = max(float(np.abs(gradient).max(initial=0.0)) for gradient in gradients)
        g = np.concatenate([c.gradient(gradient).ravel() for c, gradient in zip(self.preconditioners, gradients)])
        self.last = (u.copy(), f, g)
        return f, g

    def is_near_minimum(self, tol: float) -> bool:
        """Return whether the last evaluation is near the minimum.

        It is if the possible gain, about ½‖g‖² in these coordinates, is at most tol² f, or if f itself is at most
        tol²; also if nothing is penalised and the rows are fitted perfectly, where there is no minimum.
        """
        assert self.last is not None
        _, f, g = self.last
        is_unpenalised = not any(np.any(penalty) for penalty in self.penalties)
        if is_unpenalised and self.rows.is_fitted_perfectly(f * self.rows.total, tol):
            return True
        return bool(f <= tol * tol or g @ g <= tol * tol * 2.0 * f)


@dataclass(slots=True)
class SplitObjective:
    """A smooth objective in u and v, where t = u − v; `cost` is the penalty of each half.

    `free_gradient` is the squared length of the gradient that the bounds leave free at the last evaluation.
    """

    smooth: PreconditionedObjective
    cost: Array
    last: float = np.inf
    free_gradient: float = np.inf

    def value_and_gradient(self, halves: Array) -> tuple[float, Array]:
        """Compute the objective and its gradient for both halves."""
        up, down = np.split(halves, 2)
        f, g = self.smooth.value_and_gradient(up - down)
        gradient = np.concatenate([self.cost + g, self.cost - g])
        free = np.where(halves > 0, gradient, np.minimum(gradient, 0.0))
        self.last, self.free_gradient = f + float(self.cost @ (up + down)), float(free @ free)
        return self.last, gradient

    def is_near_minimum(self, tol: float) -> bool:
        """Return whether the possible gain, half of `free_gradient`, is at most tol² f, or f is at most tol²."""
        return bool(self.last <= tol * tol or self.free_gradient <= tol * tol * 2.0 * self.last)


def minimise_l1(
    rows: Rows, l2: Sequence[Array | float], l1: Sequence[Array | float], state: State, tol: float, max_iter: int
) -> State:
    """Minimise Σ wℓ + ½ Σ l2 t² + Σ l1 |t| from a given state by at most `max_iter` steps of L-BFGS-B over all rows.

    The returned `gradient` is the length of the free gradient in scaled coordinates.
    """
    from scipy.optimize import Bounds

    total = max(rows.total, np.finfo(float).tiny)
    penalties = [penalty / total for penalty in l2]
    factors = compute_diagonal_factors(rows, state.ts, state.bias, penalties)
    costs = [np.broadcast_to(l / total, t.shape) * factor for l, t, factor in zip(l1, state.ts, factors)]
    cost = np.concatenate([*(c.ravel() for c in costs), np.zeros(state.bias.size)])
    preconditioners = [precondition_by_factor(factor) for factor in factors]
    smooth = PreconditionedObjective(rows, penalties, preconditioners, [*state.ts, state.bias])
    objective = SplitObjective(smooth, cost)

    u = smooth.pack()
    first = np.concatenate([np.maximum(u, 0.0), np.maximum(-u, 0.0)])
    if max_iter == 0:  # L-BFGS-B would treat it as one
        objective.value_and_gradient(first)
        converged, gradient = objective.is_near_minimum(tol), float(np.sqrt(objective.free_gradient))
        return replace(state, n_iter=0, converged=converged, gradient=gradient)
    stop, bounds = partial(objective.is_near_minimum, tol), Bounds(0.0, np.inf)
    found = _minimise_by_scipy(objective.value_and_gradient, first, stop, max_iter, 10 * max_iter, bounds)
    up, down = np.split(found.x, 2)
    *ts, bias = smooth.unpack(up - down)
    converged = objective.is_near_minimum(tol) or (
        found.nit < max_iter and objective.is_near_minimum(ROUNDING_TOLERANCE)
    )
    return State(ts, bias, int(found.nit), converged, float(np.sqrt(objective.free_gradient)))
