"""Newton's method for predictors of few weights: each step solves the quadratic that fits the loss best.

Where the matrix of second derivatives is small, five or six steps reach the last digits; a penalty that is chosen by
folds, in folds that are judged, takes hundreds of such fits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from deciban._typing import Array
from deciban.linear.design import Dense, Part, Sparse
from deciban.linear.feature_scaling import SharedBlock, SparseBlock
from deciban.linear.loss_pass import Rows
from deciban.linear.solvers.lbfgs import State
from deciban.linear.solvers.logistic_objective import probabilities

MOST_WEIGHTS = 400
"""Weights beyond which the second derivatives are no longer small,"""

MOST_PRODUCTS = 1 << 27
"""or so many multiplications that a step takes longer than many steps by gradients."""

MOST_ROWS = 1 << 15
"""Of more rows a search that learns a sample of them first is as quick."""

UNTOLD = 1e-3
"""Of a slope: where a step tells no more than the rest of it, something slopes and does not bend."""

ROUNDING = 1e-12
"""Of the objective: what a step promises no more of is rounding."""

HALVINGS = 30
"""Times a step is halved where it goes too far, before there is nothing left to gain."""


def pays(rows: Rows, l2: Sequence[Array | float], state: State) -> bool:
    """Whether Newton's method is the quickest: few weights, all of them held back, in units that need no care."""
    if not all(np.all(np.asarray(held) > 0) for held in l2):
        return False
    if any(isinstance(b, SparseBlock) or b.scale is not None or b.unit is not None for b in rows.blocks):
        return False
    return _few(len(rows.codes), rows.n_scores + sum(t.size for t in state.ts))


def to_dense(parts: Sequence[Part], n: int, n_scores: int) -> Sequence[Part]:
    """The same parts, sparse ones with all their zeros where Newton's method is for them."""
    held = all(part.l2 > 0 and not part.l1 and getattr(part, "scale", None) is None for part in parts)
    wide = any(isinstance(part, Sparse) and part.width > n for part in parts)
    if wide or not held or not _few(n, n_scores * (1 + sum(part.width for part in parts))):
        return parts
    return [Dense(part.X.toarray(), part.l2) if isinstance(part, Sparse) else part for part in parts]


def _few(n_rows: int, n_weights: int) -> bool:
    return n_rows <= MOST_ROWS and n_weights <= MOST_WEIGHTS and n_rows * n_weights**2 <= MOST_PRODUCTS


class Small:
    """A predictor whose second derivatives are written out, and its weights as one vector θ.

    Numbers, indicators and a bias stand side by side (`own`, weights for each score); what says something else for
    every class (`shared`, one weight for all) stands apart.
    """

    def __init__(self, rows: Rows) -> None:
        n, self.M, self.intercept = len(rows.codes), rows.n_scores, rows.intercept
        self.is_shared = [isinstance(block, SharedBlock) for block in rows.blocks]
        own = [block.centred() for block in rows.blocks if not isinstance(block, SharedBlock)]
        self.own = np.concatenate([np.ones((n, int(self.intercept))), *own], axis=1)
        said = [block.values for block in rows.blocks if isinstance(block, SharedBlock)]
        self.shared = np.concatenate([np.zeros((n, 0, self.M)), *said], axis=1)

    def together(self, ts: Sequence[Array], bias: Array) -> Array:
        """Something for the weights of each block and for the bias as one vector."""
        own = [bias[:, None]] if self.intercept else []
        own += [t for t, shared in zip(ts, self.is_shared) if not shared]
        side_by_side = np.concatenate([np.zeros((self.M, 0)), *own], axis=1)
        return np.concatenate([side_by_side.ravel(), *(t for t, shared in zip(ts, self.is_shared) if shared)])

    def apart(self, theta: Array, like: Sequence[Array]) -> tuple[list[Array], Array]:
        """The weights of each block, shaped like these, and the bias."""
        n_own = self.M * self.own.shape[1]
        own, j, at = theta[:n_own].reshape(self.M, -1), int(self.intercept), n_own
        found = []
        for t, shared in zip(like, self.is_shared):
            if shared:
                found.append(theta[at : at + t.size])
                at += t.size
            else:
                found.append(own[:, j : j + t.shape[1]])
                j += t.shape[1]
        return found, own[:, 0] if self.intercept else np.zeros(self.M)

    def slope(self, wrong: Array) -> Array:
        """∂Σℓ/∂θ from w·∂ℓ/∂s of the rows."""
        return np.concatenate([(wrong.T @ self.own).ravel(), np.einsum("ijk,ik->j", self.shared, wrong)])

    def curvature(self, p: Array, w: Array) -> Array:
        """∂²Σℓ/∂θ², p what is said of the rows: those that are told with less certainty bend it more."""
        P = self.own.shape[1]
        n_own = self.M * P
        H = np.zeros((n_own + self.shared.shape[1],) * 2)
        for k in range(self.M):
            for l in range(k + 1):
                bend = w * p[:, k] * (float(k == l) - p[:, l])
                block = self.own.T @ (self.own * bend[:, None])
                H[k * P : (k + 1) * P, l * P : (l + 1) * P] = block
                H[l * P : (l + 1) * P, k * P : (k + 1) * P] = block.T
        if self.shared.shape[1]:
            mean = np.einsum("ijk,ik->ij", self.shared, p)
            bent = (self.shared - mean[:, :, None]) * (w[:, None] * p)[:, None, :]
            H[n_own:, n_own:] = np.einsum("ijk,ihk->jh", bent, self.shared)
            beside = np.einsum("ip,ijk->kpj", self.own, bent).reshape(n_own, -1)
            H[:n_own, n_own:], H[n_own:, :n_own] = beside, beside.T
        if self.M > 1 and self.intercept:  # biases that all rise together change nothing: that way is not looked at
            H[np.ix_(range(0, n_own, P), range(0, n_own, P))] += max(float(w.sum()), 1.0) / self.M**2
        return H


class Point(NamedTuple):
    """A place that the search has reached: what it comes to, the slope there, and what is said of the rows."""

    theta: Array
    objective: float
    slope: Array
    scores: Array


def minimised(rows: Rows, l2: Sequence[Array | float], state: State, tol: float, max_iter: int) -> State:
    """The state at which Σ wℓ + ½ Σ l2 t² is least, from a given one."""
    small, w = Small(rows), np.ones(len(rows.codes)) if rows.weight is None else rows.weight
    held = small.together([np.broadcast_to(h, t.shape) for h, t in zip(l2, state.ts)], np.zeros(rows.n_scores))

    def point(theta: Array) -> Point:
        scores = rows.scores(*small.apart(theta, state.ts))
        wrong = scores.copy()
        loss = rows.settled(wrong)
        return Point(theta, loss + 0.5 * float(held @ theta**2), small.slope(wrong) + held * theta, scores)

    here, converged, steps = point(small.together(state.ts, state.bias)), False, 0
    stuck = False
    while steps < max_iter and not converged and not stuck:
        H = small.curvature(probabilities(here.scores), w)
        H[np.diag_indices_from(H)] += held
        step = _solved(H, here.slope)
        left = float(step @ here.slope)
        there, steps = _nearer(point, here, step), steps + 1
        flat = bool(np.abs(H @ step - here.slope).max() > UNTOLD * np.abs(here.slope).max())
        stuck = flat or there is None  # at the least to the last digit, or where so little bends that steps mislead
        converged = not flat and left <= max(tol**2, ROUNDING if stuck else 0.0) * here.objective
        here = there or here
    ts, bias = small.apart(here.theta, state.ts)
    steepest = float(np.abs(here.slope).max(initial=0.0)) / max(rows.total, np.finfo(float).tiny)
    return State([np.ascontiguousarray(t) for t in ts], bias.copy(), steps, converged, steepest)


def _solved(H: Array, slope: Array) -> Array:
    """H⁻¹ slope; where nothing bends, the least step that does as well."""
    try:
        return np.asarray(np.linalg.solve(H, slope))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(H, slope)[0])


def _nearer(point: Callable[[Array], Point], here: Point, step: Array) -> Point | None:
    """A place that is better, a whole step away, half of one, …; None where there is none."""
    for _ in range(HALVINGS):
        there = point(here.theta - step)
        if there.objective < here.objective:
            return there
        step = step / 2
    return None
