"""The search where weights are held back by their size (L1, elastic net): many end at exactly zero.

Each weight is a difference of two that are not negative, t = u − v, and l1·(u + v) is smooth: L-BFGS-B within bounds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deciban.discriminative.coordinates import diagonal
from deciban.discriminative.objective import Array
from deciban.discriminative.passes import Rows
from deciban.discriminative.smooth import State


def minimised(
    rows: Rows, l2: Sequence[Array | float], l1: Sequence[Array | float], state: State, tol: float, max_iter: int
) -> State:
    """The state at which Σ wℓ + ½ Σ l2 t² + Σ l1 |t| is least, from a given one."""
    from scipy.optimize import minimize

    total = max(rows.total, np.finfo(float).tiny)
    where = diagonal(rows, state.ts, state.bias, [h / total for h in l2])
    factors = [np.asarray(c.weights(np.ones_like(piece))) for c, piece in zip(where, [*state.ts, state.bias])]
    held = [h / total for h in l2]
    cost = np.concatenate(
        [
            *(np.broadcast_to(h / total, t.shape).ravel() * f.ravel() for h, t, f in zip(l1, state.ts, factors)),
            np.zeros(state.bias.size),
        ]
    )
    pieces = [*state.ts, state.bias]
    ends = np.cumsum([piece.size for piece in pieces])[:-1]
    seen: dict[str, float] = {}

    def apart(uv: Array) -> list[Array]:
        u, v = np.split(uv, 2)
        return [p.reshape(f.shape) * f for p, f in zip(np.split(u - v, ends), factors)]

    def value(uv: Array) -> tuple[float, Array]:
        *ts, bias = apart(uv)
        loss, gradients, of_bias = rows.value(ts, bias)
        f = (
            loss / total
            + sum(0.5 * float(np.sum(h * t * t)) for h, t in zip(held, ts))
            + float(cost @ sum(np.split(uv, 2)))
        )
        slopes = [g / total + h * t for g, h, t in zip(gradients, held, ts)]
        slopes.append(of_bias / total if rows.intercept else np.zeros_like(bias))
        g = np.concatenate([(slope * factor).ravel() for slope, factor in zip(slopes, factors)])
        both = np.concatenate([cost + g, cost - g])
        inward = np.where(uv > 0, both, np.minimum(both, 0.0))
        seen.update(f=f, g=float(np.sqrt(inward @ inward)), raw=float(np.abs(inward).max(initial=0.0)))
        return f, both

    def near(tol: float) -> bool:
        return seen["g"] <= tol * np.sqrt(2.0 * max(seen["f"], np.finfo(float).tiny))

    def enough(intermediate_result: object) -> None:
        if near(tol):
            raise StopIteration

    u = np.concatenate([(piece / f).ravel() for piece, f in zip(pieces, factors)])
    both = np.concatenate([np.maximum(u, 0.0), np.maximum(-u, 0.0)])
    options = {"maxiter": 10 * max_iter, "gtol": 0.0, "ftol": 0.0, "maxfun": 100 * max_iter, "maxcor": 20}
    found = minimize(
        value, both, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * len(both), callback=enough, options=options
    )
    *ts, bias = apart(found.x)
    return State(ts, bias, int(found.nit), near(max(tol, 1e-7)), seen["raw"])
