"""The search where a sparse matrix has more columns than rows: weights are sums of rows, t = Xᵀα + c·t₀.

Every gradient, and so every step from zero (or from t₀), lies in the span of the rows. There are n numbers a class to
keep instead of d, and the inner product of two weights is ⟨Xᵀα, t⟩ = ⟨α, X t⟩: what one has of itself times what the
other says of the rows. Scores are linear along a step, so how far to go is found without another pass. This is L-BFGS
as SciPy has it, but SciPy's knows no other inner product, and moves some fifty vectors of length d·K at every step:
with many words and classes that is more work than the passes over the rows.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from deciban.discriminative.features import SparseBlock
from deciban.discriminative.gram import Gram, gram_of
from deciban.discriminative.objective import Array
from deciban.discriminative.passes import Rows
from deciban.discriminative.separable import all_told
from deciban.discriminative.smooth import State

WIDE = 100
"""Up to so many columns their weights themselves are found as fast."""

CALM = 2
"""So many steps in a row must promise next to nothing: what one promises is an estimate, at times far too low."""

SURELY = 1e-8
"""Of what may be left to gain: a step that promises no more ends the search at once."""

MEMORY = 12
"""Steps that are remembered."""

TRIALS = 40
SLOPE_LEFT = 0.1
"""How far to go is tried so many times, or until so much of the slope is left."""


@dataclass(slots=True)
class Vector:
    """A direction of weights and bias: α, the bias in its own unit and c; beside them X t, the bias and ⟨t₀, t⟩."""

    own: Array
    dual: Array

    def __matmul__(self, other: Vector) -> float:
        return float(self.own @ other.dual)

    def plus(self, share: float, other: Vector) -> Vector:
        """self + share · other."""
        return Vector(self.own + share * other.own, self.dual + share * other.dual)

    def add(self, share: float, other: Vector) -> None:
        """The same in place, nothing allocated."""
        from scipy.linalg.blas import daxpy

        daxpy(other.own, self.own, a=share)
        daxpy(other.dual, self.dual, a=share)

    def times(self, share: float) -> Vector:
        """share · self."""
        return Vector(self.own * share, self.dual * share)


def pays(rows: Rows) -> bool:
    """Whether the rows are one sparse matrix that is wide, and wider than long."""
    return (
        len(rows.blocks) == 1
        and isinstance(rows.blocks[0], SparseBlock)
        and max(len(rows.codes), WIDE) < rows.blocks[0].X.shape[1]
    )


@dataclass(slots=True)
class Span:
    """The rows, the weights that the search began with and what they say, and the unit of the bias."""

    rows: Rows
    gram: Gram
    l2: float
    first: Array
    said: Array
    unit: Array

    def split(self, long: Array) -> tuple[Array, Array, float]:
        """What belongs to the rows, to the bias and to t₀."""
        n, M = self.said.shape
        return long[: n * M].reshape(n, M), long[n * M : -1], float(long[-1])

    def scores(self, vector: Vector) -> Array:
        """What a vector says of the rows, its bias included."""
        image, bias, _ = self.split(vector.dual)
        return image + bias * self.unit

    def length(self, a: Vector, b: Vector) -> float:
        """⟨t, t'⟩ of two vectors, without their bias."""
        M = len(self.unit)
        return float(a.own @ b.dual - a.own[-M - 1 : -1] @ b.dual[-M - 1 : -1])

    def gradient(self, at: Vector, residual: Array) -> Vector:
        """Of the whole objective, from w·∂ℓ/∂s of every row: the one pass of a step."""
        bias = residual.sum(axis=0) * self.unit if self.rows.intercept else np.zeros(len(self.unit))
        loss = Vector(
            np.concatenate([residual.ravel(), bias, [0.0]]),
            np.concatenate([self.gram.times(residual).ravel(), bias, [float(np.vdot(residual, self.said))]]),
        )
        loss.add(self.l2, at)
        loss.own[-len(bias) - 1 : -1] = loss.dual[-len(bias) - 1 : -1] = bias  # which nothing holds back
        return loss

    def weights(self, at: Vector) -> Array:
        """t itself, M×d."""
        alpha, _, share = self.split(at.own)
        block = self.gram.block
        t = block.end(self.rows.columns(block, np.ascontiguousarray(alpha)), np.empty(0))
        return t + share * self.first if share else t


def minimised(rows: Rows, l2: float, state: State, tol: float, max_iter: int) -> State:
    """The state at which Σ wℓ + ½ l2 Σ t² is least, from a given one."""
    span, at = _begun(rows, l2, state)
    loss, residual = _settled(span, span.scores(at))
    slope = span.gradient(at, residual)
    before: deque[tuple[Vector, Vector, float]] = deque(maxlen=MEMORY)
    done, calm = False, 0
    steps = 0
    for steps in range(max_iter + 1):
        f = loss + 0.5 * l2 * span.length(at, at)
        step = _direction(slope, before, span)
        gain = -(slope @ step)
        share = gain / (tol * tol * max(f, np.finfo(float).tiny)) if tol else np.inf
        calm = calm + 1 if share <= 1.0 else 0
        done = calm >= CALM or share <= SURELY or (l2 == 0 and all_told(rows, loss, tol))
        if done or steps == max_iter:
            break
        share, loss, residual = _along(span, at, step, loss, -gain)
        if share == 0.0:
            done = gain <= 1e-12 * f
            break
        at.add(share, step)
        new = span.gradient(at, residual)
        change = new.plus(-1.0, slope)
        moved = step.times(share)
        if (curvature := moved @ change) > 0:
            before.append((moved, change, curvature))
        slope = new
    return _ended(span, at, slope, steps, done)


def _begun(rows: Rows, l2: float, state: State) -> tuple[Span, Vector]:
    block = rows.blocks[0]
    assert isinstance(block, SparseBlock)
    n, M = len(rows.codes), rows.n_scores
    begun = bool(np.any(state.ts[0]))
    said = rows.scores(state.ts, np.zeros(M)) if begun else np.zeros((n, M))
    shares = np.bincount(rows.codes, weights=rows.weight, minlength=max(M, 2)) / max(rows.total, np.finfo(float).tiny)
    curve = np.maximum((shares * (1.0 - shares))[-M:], 0.25 / (rows.total + 1.0))
    typical = l2 + float(curve.mean()) * _mean_square(rows, block)
    unit = np.sqrt(typical / (curve * max(rows.total, np.finfo(float).tiny)))
    bias, share = state.bias / unit, float(begun)
    own = np.concatenate([np.zeros(n * M), bias, [share]])
    dual = np.concatenate([said.ravel(), bias, [float(np.sum(state.ts[0] ** 2))]])
    return Span(rows, gram_of(rows, block), l2, state.ts[0], said, unit), Vector(own, dual)


def _mean_square(rows: Rows, block: SparseBlock) -> float:
    """‖x‖² in the mean of all rows, weighed as they are."""
    squares = np.asarray(block.X.multiply(block.X).sum(axis=1)).ravel()
    return float(squares.mean() if rows.weight is None else np.average(squares, weights=rows.weight))


def _settled(span: Span, scores: Array) -> tuple[float, Array]:
    loss = span.rows.settled(scores)
    return loss, scores


def _direction(slope: Vector, before: deque[tuple[Vector, Vector, float]], span: Span) -> Vector:
    """−H·g by the two loops of L-BFGS (Nocedal 1980)."""
    step = slope.times(-1.0)
    shares = []
    for moved, change, curvature in reversed(before):
        shares.append((moved @ step) / curvature)
        step.add(-shares[-1], change)
    if before:
        _, change, curvature = before[-1]
        step = step.times(curvature / (change @ change))
    else:
        step = step.times(1.0 / (span.l2 + 1.0))
    for (moved, change, curvature), share in zip(before, reversed(shares)):
        step.add(share - (change @ step) / curvature, moved)
    return step


def _along(span: Span, at: Vector, step: Vector, loss: float, slope: float) -> tuple[float, float, Array]:
    """How far along a step the objective is nearly least; also the loss there, and w·∂ℓ/∂s.

    The objective is convex, so its slope grows: between one that falls and one that rises it is cut by the line
    through both. Nothing is gained but rounding where the share is zero.
    """
    here, there = span.scores(at), span.scores(step)
    inner, outer = span.length(at, step), span.length(step, step)
    f = loss + 0.5 * span.l2 * span.length(at, at)
    low, low_slope, high, high_slope, share = 0.0, slope, np.inf, 0.0, 1.0
    best: tuple[float, float, Array] = (0.0, loss, np.empty(0))
    for _ in range(TRIALS):
        trial, residual = _settled(span, here + share * there)
        value = trial + 0.5 * span.l2 * (span.length(at, at) + 2.0 * share * inner + share * share * outer)
        rise = float(np.vdot(residual, there)) + span.l2 * (inner + share * outer)
        if value <= f + 1e-4 * share * slope:
            best = (share, trial, residual)
            if abs(rise) <= SLOPE_LEFT * abs(slope):
                break
        if rise < 0 and value <= f:
            low, low_slope = share, rise
        else:
            high, high_slope = share, rise
        share = _between(low, low_slope, high, high_slope)
    return best


def _between(low: float, low_slope: float, high: float, high_slope: float) -> float:
    if np.isinf(high):
        return 4.0 * low
    width = high - low
    if high_slope > 0:
        return low + width * min(max(low_slope / (low_slope - high_slope), 0.05), 0.95)
    return low + 0.5 * width


def _ended(span: Span, at: Vector, slope: Vector, steps: int, done: bool) -> State:
    """The weights; for the greatest slope the length of all, which is no less, as it takes no pass."""
    t = span.weights(at)
    _, bias, _ = span.split(at.own)
    longest = float(np.sqrt(max(slope @ slope, 0.0))) / max(span.rows.total, np.finfo(float).tiny)
    return State([t], bias * span.unit, steps, done, longest)
