"""The search where weights are held back by their size (L1, elastic net): many end at exactly zero.

Each weight is a difference of two that are not negative, t = u − v, and l1·(u + v) is smooth: L-BFGS-B within bounds,
each weight measured by its own curvature. At the least one of the two is zero, and where both are, so is the weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from deciban._typing import Array
from deciban.linear.loss_pass import Rows
from deciban.linear.solvers.lbfgs import NOISE, State, View
from deciban.linear.solvers.preconditioner import diagonal

STEPS = 10
"""Steps within bounds are cheaper and more than those without: so many are allowed for each."""


@dataclass(slots=True)
class Halves:
    """A smooth objective and what each half of a weight costs; `inward` is the slope that the bounds leave free."""

    view: View
    cost: Array
    at: float = np.inf
    inward: float = np.inf

    def value(self, halves: Array) -> tuple[float, Array]:
        """The objective and its gradient for both halves."""
        up, down = np.split(halves, 2)
        f, g = self.view.value(up - down)
        slope = np.concatenate([self.cost + g, self.cost - g])
        free = np.where(halves > 0, slope, np.minimum(slope, 0.0))
        self.at, self.inward = f + float(self.cost @ (up + down)), float(free @ free)
        return self.at, slope

    def near(self, tol: float) -> bool:
        """Whether what is left to gain is below tol² of the objective, or of 1."""
        return bool(self.at <= tol * tol or self.inward <= tol * tol * 2.0 * self.at)


def minimised(
    rows: Rows, l2: Sequence[Array | float], l1: Sequence[Array | float], state: State, tol: float, max_iter: int
) -> State:
    """The state at which Σ wℓ + ½ Σ l2 t² + Σ l1 |t| is least, from a given one."""
    from scipy.optimize import Bounds, minimize

    total = max(rows.total, np.finfo(float).tiny)
    held = [penalty / total for penalty in l2]
    where = diagonal(rows, state.ts, state.bias, held)
    costs = [np.broadcast_to(l / total, t.shape) * c.factor for l, t, c in zip(l1, state.ts, where)]
    cost = np.concatenate([*(c.ravel() for c in costs), np.zeros(state.bias.size)])
    halves = Halves(View(rows, held, where, [*state.ts, state.bias]), cost)

    def enough(intermediate_result: object) -> None:
        if halves.near(tol):
            raise StopIteration

    u = halves.view.coordinates()
    first = np.concatenate([np.maximum(u, 0.0), np.maximum(-u, 0.0)])
    if max_iter == 0:  # which L-BFGS-B takes for one
        halves.value(first)
        return replace(state, n_iter=0, converged=halves.near(tol), gradient=float(np.sqrt(halves.inward)))
    options = {"maxiter": max_iter, "gtol": 0.0, "ftol": 0.0, "maxfun": 10 * max_iter, "maxcor": 20}
    found = minimize(
        halves.value, first, jac=True, method="L-BFGS-B", bounds=Bounds(0.0, np.inf), callback=enough, options=options
    )
    up, down = np.split(found.x, 2)
    *ts, bias = halves.view.apart(up - down)
    done = halves.near(tol) or (found.nit < max_iter and halves.near(NOISE))
    return State(ts, bias, int(found.nit), done, float(np.sqrt(halves.inward)))
