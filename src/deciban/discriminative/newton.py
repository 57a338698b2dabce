"""Newton's method for predictors of few weights: each step solves the quadratic that fits the loss best.

Where the matrix of second derivatives is small, five or six steps reach the last digits; a penalty that is chosen by
folds, in folds that are judged, takes hundreds of such fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from deciban.discriminative.designs import Part, Shared
from deciban.discriminative.logistic import Fit
from deciban.discriminative.objective import Array, Codes, losses, residuals

MOST_WEIGHTS = 400
"""Weights beyond which the second derivatives are no longer small,"""

MOST_PRODUCTS = 1 << 28
"""or so many multiplications that a step takes longer than many steps by gradients."""

HALVINGS = 30
"""Times a step is halved where it goes too far, before there is nothing left to gain."""


class Small:
    """A predictor whose second derivatives are written out.

    Numbers, indicators and a bias stand side by side (`own`, weights for each score); what says something else for
    every class (`shared`, one weight for all) stands apart.
    """

    def __init__(self, parts: Sequence[Part], codes: Codes, n_classes: int) -> None:
        self.parts, self.codes, n = parts, codes, len(codes)
        self.M = 1 if n_classes == 2 else n_classes
        own = [np.ones((n, 1)), *(_dense(part) for part in parts if not isinstance(part, Shared))]
        self.own = np.concatenate(own, axis=1)
        said = [part.values for part in parts if isinstance(part, Shared)]
        values = np.concatenate([np.zeros((n, 0, n_classes)), *said], axis=1)
        self.shared = values[:, :, 1:] - values[:, :, :1] if self.M == 1 else values

    @property
    def n_own(self) -> int:
        """How many weights are those of a score."""
        return self.M * self.own.shape[1]

    def held(self, parts: Sequence[Part]) -> Array:
        """The penalty on every weight."""
        own = [np.zeros(1), *(np.full(p.shape(1)[1], p.l2) for p in parts if not isinstance(p, Shared))]
        shared = [np.full(p.shape(1)[0], p.l2) for p in parts if isinstance(p, Shared)]
        return np.concatenate([np.tile(np.concatenate(own), self.M), *shared])

    def scores(self, theta: Array) -> Array:
        """What these weights say of every row, n×M."""
        own, t = theta[: self.n_own].reshape(self.M, -1), theta[self.n_own :]
        return np.asarray(self.own @ own.T + np.einsum("ijk,j->ik", self.shared, t))

    def slope(self, residual: Array) -> Array:
        """∂Σℓ/∂θ."""
        shared = np.einsum("ijk,ik->j", self.shared, residual)
        return np.concatenate([(residual.T @ self.own).ravel(), shared])

    def curvature(self, scores: Array, w: Array) -> Array:
        """∂²Σℓ/∂θ²: rows that are told with less certainty bend it more."""
        p = self._shares(scores)
        bend = p[:, :, None] * ((1 - p[:, :, None]) if self.M == 1 else np.eye(self.M) - p[:, None, :])
        bend *= w[:, None, None]
        P, n_own = self.own.shape[1], self.n_own
        H = np.zeros((n_own + self.shared.shape[1],) * 2)
        for k in range(self.M):
            for l in range(k + 1):
                block = self.own.T @ (self.own * bend[:, k, l, None])
                H[k * P : (k + 1) * P, l * P : (l + 1) * P] = block
                H[l * P : (l + 1) * P, k * P : (k + 1) * P] = block.T
        if self.shared.shape[1]:
            bent = np.einsum("ikl,ijl->ijk", bend, self.shared)
            H[n_own:, n_own:] = np.einsum("ijk,ihk->jh", bent, self.shared)
            beside = np.einsum("ip,ijk->kpj", self.own, bent).reshape(n_own, -1)
            H[:n_own, n_own:], H[n_own:, :n_own] = beside, beside.T
        if self.M > 1:  # biases that all rise together change nothing: that direction is not looked at
            H[np.ix_(range(0, n_own, P), range(0, n_own, P))] += max(float(w.sum()), 1.0) / self.M**2
        return H

    def _shares(self, scores: Array) -> Array:
        """p of each score: of the second of two classes, else of every class."""
        nobody = np.zeros(len(scores), dtype=np.int32)
        told = residuals(scores, nobody)
        if self.M > 1:
            told[:, 0] += 1.0
        return told

    def apart(self, theta: Array) -> tuple[tuple[Array, ...], Array]:
        """Weights of each part, and the bias."""
        own = theta[: self.n_own].reshape(self.M, -1)
        at, j, found = self.n_own, 1, []
        for part in self.parts:
            if isinstance(part, Shared):
                d = part.shape(self.M)[0]
                found.append(theta[at : at + d])
                at += d
            else:
                d = part.shape(self.M)[1]
                found.append(own[:, j : j + d])
                j += d
        return tuple(found), own[:, 0]

    def together(self, ts: Sequence[Array], bias: Array) -> Array:
        """Weights of each part and a bias as one vector."""
        both = list(zip(self.parts, ts))
        own = np.concatenate([bias[:, None], *(t for part, t in both if not isinstance(part, Shared))], axis=1)
        return np.concatenate([own.ravel(), *(t for part, t in both if isinstance(part, Shared))])


class Point(NamedTuple):
    """A place that the search has reached."""

    theta: Array
    scores: Array
    loss: float
    objective: float


def is_small(parts: Sequence[Part], n: int, n_classes: int) -> bool:
    """Whether Newton's method is the quickest."""
    M = 1 if n_classes == 2 else n_classes
    if any(part.l1 for part in parts) or any(getattr(part, "scale", None) is not None for part in parts):
        return False
    weights = M + sum(int(np.prod(part.shape(M))) for part in parts)
    return weights <= MOST_WEIGHTS and n * weights**2 <= MOST_PRODUCTS


def _dense(part: Part) -> Array:
    assert not isinstance(part, Shared)
    return np.asarray(part.X if isinstance(part.X, np.ndarray) else part.X.toarray(), dtype=np.float64)


def newton(
    small: Small, parts: Sequence[Part], weight: Array | None, start: Fit | None, tol: float, max_iter: int
) -> Fit:
    """The weights for which the rows are least surprising, under the penalties of the parts."""
    held, codes = small.held(parts), small.codes
    w = np.ones(len(codes)) if weight is None else weight

    def point(theta: Array) -> Point:
        scores = small.scores(theta)
        loss = float(w @ losses(scores, codes))
        return Point(theta, scores, loss, loss + 0.5 * float(held @ theta**2))

    here = point(np.zeros(len(held)) if start is None else small.together(start.parts, start.bias))
    converged, steps, slope = False, 0, np.zeros(1)
    while steps < max_iter:
        slope = small.slope(residuals(here.scores, codes) * w[:, None]) + held * here.theta
        H = small.curvature(here.scores, w)
        H[np.diag_indices_from(H)] += held
        step = _solved(H, slope)
        gain = float(step @ slope)
        converged = gain <= tol**2 * here.objective
        if converged and gain <= 0:
            break
        there = _nearer(point, here, step)
        steps += 1
        if there is None:
            converged = True
            break
        here = there
        if converged:
            break
    ts, bias = small.apart(here.theta)
    size = float(np.abs(slope).max()) / max(float(w.sum()), 1.0)
    return Fit(ts, bias, here.objective, here.loss, steps, size, converged, False)


def _solved(H: Array, slope: Array) -> Array:
    """H⁻¹ slope; where weights are free and nothing bends, the least step that does as well."""
    try:
        return np.asarray(np.linalg.solve(H, slope))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(H, slope)[0])


def _nearer(point: Any, here: Point, step: Array) -> Point | None:
    """A place that is better, a whole step away, half of one, …; None where there is none."""
    for _ in range(HALVINGS):
        there: Point = point(here.theta - step)
        if there.objective < here.objective:
            return there
        step = step / 2
    return None
