"""The search under an L1 penalty (lasso, elastic net), where many weights end at exactly zero.

Each weight is a difference of two non-negative ones, t = u − v, and l1·(u + v) is smooth: L-BFGS-B within bounds,
each weight scaled by its own curvature. At the minimum one of the two is zero, and where both are, so is the weight.

Screening: a weight stays at zero while its gradient is no larger than l1. Of a hundred thousand words a few thousand
remain, and the search is for those only; then the gradients of all columns are checked once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.linear.design import Part, Shared
from deciban.linear.loss_pass import Rows
from deciban.linear.solvers.lbfgs import ROUNDING_TOLERANCE, PreconditionedObjective, State
from deciban.linear.solvers.preconditioner import build_diagonal_preconditioners

STEPS_PER_ITERATION = 10
"""Steps within bounds are cheaper and more numerous than those without: this many are allowed for each of those."""

MIN_SCREENED_COLUMNS = 1000
"""Parts with fewer columns are fitted without screening."""

MAX_SCREENING_ROUNDS = 20
"""The greatest number of times that the gradients of all columns are checked."""

Columns = NDArray[np.intp]


@dataclass(slots=True)
class SplitObjective:
    """A smooth objective in u and v, where t = u − v; `cost` is the penalty of each half.

    `free_gradient` is the squared length of the gradient that the bounds leave free at the last evaluation.
    """

    smooth: PreconditionedObjective
    cost: Array
    last: float = np.inf
    free_gradient: float = np.inf

    def value(self, halves: Array) -> tuple[float, Array]:
        """Compute the objective and its gradient for both halves."""
        up, down = np.split(halves, 2)
        f, g = self.smooth.value(up - down)
        gradient = np.concatenate([self.cost + g, self.cost - g])
        free = np.where(halves > 0, gradient, np.minimum(gradient, 0.0))
        self.last, self.free_gradient = f + float(self.cost @ (up + down)), float(free @ free)
        return self.last, gradient

    def is_near_minimum(self, tol: float) -> bool:
        """Return whether the possible gain is below tol² of the objective, or of 1."""
        return bool(self.last <= tol * tol or self.free_gradient <= tol * tol * 2.0 * self.last)


def minimise(
    rows: Rows, l2: Sequence[Array | float], l1: Sequence[Array | float], state: State, tol: float, max_iter: int
) -> State:
    """Minimise Σ wℓ + ½ Σ l2 t² + Σ l1 |t| from a given state."""
    from scipy.optimize import Bounds, minimize

    total = max(rows.total, np.finfo(float).tiny)
    penalties = [penalty / total for penalty in l2]
    preconditioners = build_diagonal_preconditioners(rows, state.ts, state.bias, penalties)
    costs = [np.broadcast_to(l / total, t.shape) * c.factor for l, t, c in zip(l1, state.ts, preconditioners)]
    cost = np.concatenate([*(c.ravel() for c in costs), np.zeros(state.bias.size)])
    smooth = PreconditionedObjective(rows, penalties, preconditioners, [*state.ts, state.bias])
    objective = SplitObjective(smooth, cost)

    def stop_if_near(intermediate_result: object) -> None:
        if objective.is_near_minimum(tol):
            raise StopIteration

    u = smooth.pack()
    first = np.concatenate([np.maximum(u, 0.0), np.maximum(-u, 0.0)])
    if max_iter == 0:  # L-BFGS-B would treat it as one
        objective.value(first)
        converged, gradient = objective.is_near_minimum(tol), float(np.sqrt(objective.free_gradient))
        return replace(state, n_iter=0, converged=converged, gradient=gradient)
    found = minimize(
        objective.value,
        first,
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(0.0, np.inf),
        callback=stop_if_near,
        options={"maxiter": max_iter, "gtol": 0.0, "ftol": 0.0, "maxfun": 10 * max_iter, "maxcor": 20},
    )
    up, down = np.split(found.x, 2)
    *ts, bias = smooth.unpack(up - down)
    converged = objective.is_near_minimum(tol) or (
        found.nit < max_iter and objective.is_near_minimum(ROUNDING_TOLERANCE)
    )
    return State(ts, bias, int(found.nit), converged, float(np.sqrt(objective.free_gradient)))


def is_screening_applicable(parts: Sequence[Part]) -> bool:
    """Return whether some part with an L1 penalty is wide."""
    return any(
        not isinstance(part, Shared) and part.l1 > 0 and part.X.shape[1] >= MIN_SCREENED_COLUMNS for part in parts
    )


def select_columns(part: Part, t: Array, gradient: Array, tol: float) -> NDArray[np.bool_]:
    """Return a mask of the columns that have weights, or whose gradient exceeds the L1 penalty."""
    if isinstance(part, Shared) or not part.l1 or part.X.shape[1] < MIN_SCREENED_COLUMNS:
        return np.ones(t.shape[-1], dtype=bool)
    return np.asarray(((t != 0) | (np.abs(gradient) > part.l1 * (1.0 + tol))).any(axis=0))


def keep_columns(part: Part, columns: Columns) -> Part:
    """Return the part with these columns only."""
    if isinstance(part, Shared):
        return part
    scale = None if part.scale is None else np.ascontiguousarray(part.scale[..., columns])
    return replace(part, X=part.X[:, columns], scale=scale)


def restore_columns(part: Part, columns: Columns, t: Array) -> Array:
    """Return weights of all columns: t for these columns, zero for the others."""
    if isinstance(part, Shared):
        return t
    whole = np.zeros((len(t), part.X.shape[1]))
    whole[:, columns] = t
    return whole
