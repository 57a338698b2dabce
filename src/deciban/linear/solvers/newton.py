"""Newton's method for predictors of few weights: each step minimises a quadratic approximation of the objective.

Where the Hessian is small, five or six steps reach the last digits; choosing a penalty by folds, inside folds of a
cross-validation, takes hundreds of such fits.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from deciban._typing import Array
from deciban.linear.design import Dense, Part, SharedBlock, Sparse, SparseBlock
from deciban.linear.loss_pass import Rows
from deciban.linear.solvers.lbfgs import State
from deciban.linear.solvers.logistic_objective import compute_probabilities

MAX_WEIGHTS = 400
"""The greatest number of weights: beyond it the Hessian is no longer small."""

MAX_PRODUCTS = 1 << 27
"""The greatest number of multiplications per Hessian: beyond it a step takes longer than many gradient steps."""

MAX_NEWTON_ROWS = 1 << 15
"""The greatest number of rows: with more a search that fits a sample first is as fast."""

MAX_RELATIVE_RESIDUAL = 1e-3
"""A step whose residual H·step − gradient exceeds this fraction of the gradient shows a direction with slope but
without curvature."""

ROUNDING_GAIN = 1e-12
"""A predicted gain below this fraction of the objective is rounding."""

MAX_STEP_HALVINGS = 30
"""A step that goes too far is halved this many times at most, before there is nothing left to gain."""


def is_applicable(rows: Rows, l2: Sequence[Array | float], state: State) -> bool:
    """Return whether Newton's method is the fastest: few weights, all penalised, in units that need no care."""
    if not all(np.all(np.asarray(penalty) > 0) for penalty in l2):
        return False
    if any(isinstance(b, SparseBlock) or b.scale is not None or b.unit is not None for b in rows.blocks):
        return False
    return _is_small(len(rows.codes), rows.n_scores + sum(t.size for t in state.ts))


def make_dense_if_small(parts: Sequence[Part], n: int, n_scores: int) -> Sequence[Part]:
    """Convert sparse parts to dense ones where that makes Newton's method applicable."""
    is_penalised = all(part.l2 > 0 and not part.l1 and part.scale is None for part in parts)
    is_wide = any(isinstance(part, Sparse) and part.width > n for part in parts)
    if is_wide or not is_penalised or not _is_small(n, n_scores * (1 + sum(part.width for part in parts))):
        return parts
    return [Dense(part.X.toarray(), part.l2) if isinstance(part, Sparse) else part for part in parts]


def _is_small(n_rows: int, n_weights: int) -> bool:
    return n_rows <= MAX_NEWTON_ROWS and n_weights <= MAX_WEIGHTS and n_rows * n_weights**2 <= MAX_PRODUCTS


class SmallPredictor:
    """A predictor whose Hessian is computed in full, with its weights as one vector θ.

    Numbers, indicators and the bias form one matrix (`own`, with weights for each score); features that have a value
    for every class and one weight for all (`shared`) are kept separately.
    """

    def __init__(self, rows: Rows) -> None:
        n, self.M, self.intercept = len(rows.codes), rows.n_scores, rows.intercept
        self.fixed_bias = np.zeros(self.M) if rows.fixed_bias is None else rows.fixed_bias
        self.is_shared = [isinstance(block, SharedBlock) for block in rows.blocks]
        own = [block.centre_rows() for block in rows.blocks if not isinstance(block, SharedBlock)]
        self.own = np.concatenate([np.ones((n, int(self.intercept))), *own], axis=1)
        shared = [block.X for block in rows.blocks if isinstance(block, SharedBlock)]
        self.shared = np.concatenate([np.zeros((n, 0, self.M)), *shared], axis=1)

    def pack(self, ts: Sequence[Array], bias: Array) -> Array:
        """Concatenate one value per weight of each block and per bias into a vector like θ."""
        own = [bias[:, None]] if self.intercept else []
        own += [t for t, shared in zip(ts, self.is_shared) if not shared]
        side_by_side = np.concatenate([np.zeros((self.M, 0)), *own], axis=1)
        return np.concatenate([side_by_side.ravel(), *(t for t, shared in zip(ts, self.is_shared) if shared)])

    def unpack(self, theta: Array, like: Sequence[Array]) -> tuple[list[Array], Array]:
        """Split θ into the weights of each block, shaped as in `like`, and the bias."""
        n_own = self.M * self.own.shape[1]
        own, j, at = theta[:n_own].reshape(self.M, -1), int(self.intercept), n_own
        ts = []
        for t, shared in zip(like, self.is_shared):
            if shared:
                ts.append(theta[at : at + t.size])
                at += t.size
            else:
                ts.append(own[:, j : j + t.shape[1]])
                j += t.shape[1]
        return ts, own[:, 0] if self.intercept else self.fixed_bias

    def gradient(self, residual: Array) -> Array:
        """Compute ∂Σℓ/∂θ from w·∂ℓ/∂s of the rows."""
        return np.concatenate([(residual.T @ self.own).ravel(), np.einsum("ijk,ik->j", self.shared, residual)])

    def hessian(self, p: Array, w: Array) -> Array:
        """Compute ∂²Σℓ/∂θ² from the rows' probabilities p; rows predicted with less certainty contribute more."""
        P = self.own.shape[1]
        n_own = self.M * P
        H = np.zeros((n_own + self.shared.shape[1],) * 2)
        for k in range(self.M):
            for l in range(k + 1):
                curvature = w * p[:, k] * (float(k == l) - p[:, l])
                block = self.own.T @ (self.own * curvature[:, None])
                H[k * P : (k + 1) * P, l * P : (l + 1) * P] = block
                H[l * P : (l + 1) * P, k * P : (k + 1) * P] = block.T
        if self.shared.shape[1]:
            mean = np.einsum("ijk,ik->ij", self.shared, p)
            weighted = (self.shared - mean[:, :, None]) * (w[:, None] * p)[:, None, :]
            H[n_own:, n_own:] = np.einsum("ijk,ihk->jh", weighted, self.shared)
            mixed = np.einsum("ip,ijk->kpj", self.own, weighted).reshape(n_own, -1)
            H[:n_own, n_own:], H[n_own:, :n_own] = mixed, mixed.T
        if self.M > 1 and self.intercept:  # raising all biases equally changes nothing: make that direction steep
            H[np.ix_(range(0, n_own, P), range(0, n_own, P))] += max(float(w.sum()), 1.0) / self.M**2
        return H


class Point(NamedTuple):
    """A point that the search has reached: objective, gradient, and the scores of the rows there."""

    theta: Array
    objective: float
    gradient: Array
    scores: Array


def minimise(rows: Rows, l2: Sequence[Array | float], state: State, tol: float, max_iter: int) -> State:
    """Minimise Σ wℓ + ½ Σ l2 t² from a given state; it stops unconverged where a slope has no curvature."""
    small, w = SmallPredictor(rows), np.ones(len(rows.codes)) if rows.weight is None else rows.weight
    penalty = small.pack([np.broadcast_to(h, t.shape) for h, t in zip(l2, state.ts)], np.zeros(rows.n_scores))

    def evaluate(theta: Array) -> Point:
        scores = rows.scores(*small.unpack(theta, state.ts))
        residual = scores.copy()
        loss = rows.loss_and_residuals_inplace(residual)
        objective = loss + 0.5 * float(penalty @ theta**2)
        return Point(theta, objective, small.gradient(residual) + penalty * theta, scores)

    here, converged, steps = evaluate(small.pack(state.ts, state.bias)), False, 0
    stuck = False
    while steps < max_iter and not converged and not stuck:
        H = small.hessian(compute_probabilities(here.scores), w)
        H[np.diag_indices_from(H)] += penalty
        step = _solve(H, here.gradient)
        gain = float(step @ here.gradient)
        there, steps = _search_line(evaluate, here, step), steps + 1
        largest = np.abs(here.gradient).max()
        flat = bool(np.abs(H @ step - here.gradient).max() > MAX_RELATIVE_RESIDUAL * largest)
        stuck = flat or there is None  # at the minimum to rounding, or where too little curvature misleads steps
        converged = not flat and gain <= max(tol**2, ROUNDING_GAIN if stuck else 0.0) * here.objective
        here = there or here
    ts, bias = small.unpack(here.theta, state.ts)
    largest = float(np.abs(here.gradient).max(initial=0.0)) / max(rows.total, np.finfo(float).tiny)
    return State([np.ascontiguousarray(t) for t in ts], bias.copy(), steps, converged, largest)


def _solve(H: Array, gradient: Array) -> Array:
    """Solve H·step = gradient; where H is singular, return the shortest least-squares step."""
    try:
        return np.asarray(np.linalg.solve(H, gradient))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(H, gradient)[0])


def _search_line(evaluate: Callable[[Array], Point], here: Point, step: Array) -> Point | None:
    """Return a better point one step away, half a step, …; None where there is none."""
    for _ in range(MAX_STEP_HALVINGS):
        there = evaluate(here.theta - step)
        if there.objective < here.objective:
            return there
        step = step / 2
    return None
