"""The search where a sparse matrix has more columns than rows: weights are sums of rows, t = Xᵀα + c·t₀.

Every gradient, and so every step from zero (or from t₀), lies in the span of the rows. There are n numbers a class to
keep instead of d, and the inner product of two weights is ⟨Xᵀα, t⟩ = ⟨α, X t⟩: what one has of itself times what the
other says of the rows. Scores are linear along a step, so how far to go is found without another pass. This is L-BFGS
as SciPy has it, but SciPy's knows no other inner product, and moves some fifty vectors of length d·K at every step:
with many words and classes that is more work than the passes over the rows. Features of one weight for all scores may
stand beside the matrix: they are columns like the others, but for what holds them back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from deciban._typing import Array
from deciban.linear.feature_scaling import DenseBlock, SharedBlock, SparseBlock
from deciban.linear.loss_pass import Line, Rows
from deciban.linear.solvers.gram import Gram, gram_of
from deciban.linear.solvers.lbfgs import State
from deciban.linear.solvers.lbfgs_history import Pairs, Vector
from deciban.linear.solvers.separable import all_told

WIDE = 100
"""Up to so many columns their weights themselves are found as fast."""

FEW = 10
"""Columns that may stand beside the sparse ones: with more the passes over them are no longer next to nothing."""

CALM = 2
"""So many steps in a row must promise next to nothing: what one promises is an estimate, at times far too low."""

SURELY = 1e-8
"""Of what may be left to gain: a step that promises no more ends the search at once."""

ROUGH, BENT = 1e-5, 1e4
"""Down to this tolerance, and where the loss bends no more than so many times as the penalty does, single precision
will do for products of rows: its rounding, 10⁻⁷ of a slope, is then far less than a score is settled by. Evidence of
twenty newsgroups, whose loss bends 10⁶ times as much, does not settle in single precision."""

TRIALS = 40
SLOPE_LEFT = 0.1
"""How far to go is tried so many times, or until so much of the slope is left."""

Penalty = Array | float


def pays(rows: Rows, l2: Sequence[Penalty]) -> bool:
    """Whether the rows are one sparse matrix that is wide, and wider than long, with at most a few columns beside."""
    wide, *beside = rows.blocks
    return (
        isinstance(wide, SparseBlock)
        and max(len(rows.codes), WIDE) < wide.width
        and all(isinstance(block, SharedBlock) or _alike(block, rows.n_scores) for block in beside)
        and sum(block.width for block in beside) <= FEW
        and (not beside or all(np.all(np.asarray(penalty) > 0) for penalty in l2))
    )


def _alike(block: object, n_scores: int) -> bool:
    """Of two classes there is one score, so every column has one weight for all."""
    return n_scores == 1 and isinstance(block, DenseBlock) and block.scale is None


@dataclass(slots=True)
class Span:
    """The rows, the weights that the search began with and what they say, and the unit of the bias.

    `freedom` is how freely each feature beside the sparse ones moves in comparison; `curve` is how the loss of a row
    bends in each score where nothing but the classes' shares is known.
    """

    rows: Rows
    gram: Gram
    l2: float
    freedom: Array
    first: list[Array]
    said: Array
    curve: Array
    unit: Array

    def split(self, long: Array) -> tuple[Array, Array, float]:
        """What belongs to the rows, to the bias and to t₀."""
        n, M = self.said.shape
        return long[: n * M].reshape(n, M), long[n * M : -1], float(long[-1])

    def line(self, at: Vector, step: Vector) -> Line:
        """What a vector and a step from it say of the rows."""
        (here, bias, _), (there, moved, _) = self.split(at.dual), self.split(step.dual)
        return Line(here, bias * self.unit, there, moved * self.unit)

    def length(self, a: Vector, b: Vector) -> float:
        """⟨t, t'⟩ of two vectors, without their bias."""
        M = len(self.unit)
        return float(a.own @ b.dual - a.own[-M - 1 : -1] @ b.dual[-M - 1 : -1])

    def gradient(self, at: Vector, residual: Array) -> Vector:
        """Of the whole objective, from w·∂ℓ/∂s of every row: the one pass of a step."""
        M = len(self.unit)
        bias = residual.sum(axis=0) * self.unit if self.rows.intercept else np.zeros(M)
        loss = Vector(np.empty_like(at.own), np.empty_like(at.dual))
        loss.own[: residual.size], loss.own[-1] = residual.ravel(), 0.0
        loss.dual[: residual.size] = self.gram.times(residual).ravel()
        loss.dual[-1] = np.vdot(residual, self.said) if at.own[-1] else 0.0
        loss.own[-M - 1 : -1] = loss.dual[-M - 1 : -1] = 0.0
        loss.add(self.l2, at)
        loss.own[-M - 1 : -1] = loss.dual[-M - 1 : -1] = bias  # which nothing holds back
        return loss

    def settle_unit(self, at: Vector, slope: Vector) -> None:
        """Measure the bias so that the loss bends along it as along the first slope of the weights.

        Where rows have much in common, as messages have their evidence, that is far more than by a row alone.
        """
        alpha, image = self.split(slope.own)[0], self.split(slope.dual)[0]
        steep = float(np.vdot(alpha, image))
        if steep <= 0.0:
            return
        bend = float(np.vdot(image, image)) / steep
        unit = np.sqrt((self.l2 + self.curve * bend) / (self.curve * max(self.rows.total, np.finfo(float).tiny)))
        if not (np.isfinite(unit).all() and unit.all()):
            return
        M = len(unit)
        for vector, share in ((at, self.unit / unit), (slope, unit / self.unit)):
            vector.own[-M - 1 : -1] *= share
            vector.dual[-M - 1 : -1] *= share
        self.unit = unit

    def stretch(self, slope: Vector) -> float:
        """How many times a slope to go down at first: as far as the loss of rows that are told nothing bends."""
        image, bias, _ = self.split(slope.dual)
        squares = (image + bias * self.unit) ** 2
        weighed = squares.sum(axis=0) if self.rows.weight is None else self.rows.weight @ squares
        bend = float(weighed @ self.curve)  # with the rounding of a slope that is none the penalty bends either way
        steep = max(slope @ slope, 0.0)
        bent = bend + self.l2 * steep
        return steep / bent if steep and bent else 1.0

    def weights(self, at: Vector) -> list[Array]:
        """t itself, of every block."""
        alpha, _, share = self.split(at.own)
        alpha, block = np.ascontiguousarray(alpha), self.gram.block
        wide = block.end(self.rows.columns(block, alpha))
        beside = (
            np.split(np.sqrt(self.freedom) * self.gram.told_beside(alpha), self._ends())
            if len(self.first) > 1
            else []
        )
        ts = [wide, *(t.reshape(first.shape) for t, first in zip(beside, self.first[1:]))]
        return [t + share * first for t, first in zip(ts, self.first)] if share else ts

    def _ends(self) -> list[int]:
        return np.cumsum([first.size for first in self.first[1:]])[:-1].tolist()


def minimised(rows: Rows, l2: Sequence[Penalty], state: State, tol: float, max_iter: int) -> State:
    """The state at which Σ wℓ + ½ Σ l2 t² is least, from a given one."""
    mean = 1.0 if rows.weight is None else rows.total / max(len(rows.codes), 1)
    if mean != 1.0 and mean > 0.0:  # rows that weigh 1 in the mean have the same best weights, and squares in bounds
        assert rows.weight is not None
        rows, l2 = replace(rows, weight=rows.weight / mean), [penalty / mean for penalty in l2]
    return _searched(*_begun(rows, l2, state, tol >= ROUGH), tol, max_iter)


def _searched(span: Span, at: Vector, tol: float, max_iter: int) -> State:
    residual = np.empty(span.said.shape)
    loss, _ = span.rows.settled_along(span.line(at, at), 0.0, residual)
    slope = span.gradient(at, residual)
    with np.errstate(over="ignore"):
        span.settle_unit(at, slope)
        first = span.stretch(slope)
    if not (np.isfinite(slope @ slope) and first > 0.0):  # numbers whose squares leave a double
        return _ended(span, at, slope, 0, False)
    pairs = Pairs.begun(slope, span.rows.threads, span.gram.data.dtype)
    done, calm, steps = False, 0, 0
    for steps in range(max_iter + 1):
        f = loss + 0.5 * span.l2 * span.length(at, at)
        step = pairs.direction(first)
        gain = -(slope @ step)
        share = gain / (tol * tol * max(f, np.finfo(float).tiny)) if tol else np.inf
        calm = calm + 1 if share <= 1.0 else 0
        done = calm >= CALM or share <= SURELY or (span.l2 == 0 and all_told(span.rows, loss, tol))
        if done or steps == max_iter:
            break
        share, loss, residual = _along(span, at, step, loss, -gain)
        if share == 0.0:
            done = gain <= 1e-12 * f
            break
        at.add(share, step)
        slope = span.gradient(at, residual)
        pairs.learn(step, share, slope)
    return _ended(span, at, slope, steps, done)


def _begun(rows: Rows, l2: Sequence[Penalty], state: State, rough: bool) -> tuple[Span, Vector]:
    block, M, tiny = rows.blocks[0], rows.n_scores, np.finfo(float).tiny
    assert isinstance(block, SparseBlock)
    held = float(np.asarray(l2[0]))
    freedom = np.concatenate(
        [np.empty(0), *(held / np.broadcast_to(p, b.width) for p, b in zip(l2[1:], rows.blocks[1:]))]
    )
    gram = gram_of(rows, block, _beside(rows) * np.sqrt(freedom))
    shares = np.bincount(rows.codes, weights=rows.weight, minlength=max(M, 2)) / max(rows.total, tiny)
    curve = np.maximum((shares * (1.0 - shares))[-M:], 0.25 / (rows.total + 1.0))
    bend = float(curve.mean()) * gram.loudness(rows.weight)
    if rough and bend * rows.total <= BENT * held:
        gram.round()
    unit = np.sqrt((held + bend) / (curve * max(rows.total, tiny)))
    unit[~(unit > 0.0)] = 1.0  # nothing bends, and nothing is held back
    begun = any(map(np.any, state.ts))
    said = rows.scores(state.ts, np.zeros(M)) if begun else np.zeros((len(rows.codes), M))
    length = (
        sum(float(np.sum(p * t * t)) for p, t in zip(l2, state.ts)) / held
        if begun and held
        else float(sum(np.sum(t * t) for t in state.ts))
    )
    bias = state.bias / unit
    at = Vector(
        np.concatenate([np.zeros(said.size), bias, [float(begun)]]), np.concatenate([said.ravel(), bias, [length]])
    )
    return Span(rows, gram, held, freedom, state.ts, said, curve, unit), at


def _beside(rows: Rows) -> Array:
    """The features beside the sparse ones, (n·M)×c."""
    n, M = len(rows.codes), rows.n_scores
    found = [np.empty((n * M, 0))]
    for block in rows.blocks[1:]:
        if isinstance(block, SharedBlock):
            found.append(block.values.transpose(0, 2, 1).reshape(n * M, -1))
        else:
            assert isinstance(block, DenseBlock)
            found.append(block.centred())
    return np.concatenate(found, axis=1)


def _along(span: Span, at: Vector, step: Vector, loss: float, slope: float) -> tuple[float, float, Array]:
    """How far along a step the objective is nearly least; also the loss there, and w·∂ℓ/∂s.

    The objective is convex, so its slope grows: between one that falls and one that rises it is cut by the line
    through both, where the end that stays counts for half each time (Illinois). Nothing is gained but rounding where
    the share is zero.
    """
    held = span.l2 * span.length(at, step), span.l2 * span.length(step, step)
    low, low_slope, high, high_slope, share = 0.0, slope, np.inf, 0.0, 1.0
    best: tuple[float, float, Array] = (0.0, loss, np.empty(0))
    line, room, fell = span.line(at, step), np.empty(span.said.shape), None
    for _ in range(TRIALS):
        trial, rise = span.rows.settled_along(line, share, room)
        gained = trial - loss + share * held[0] + 0.5 * share * share * held[1]
        rise += held[0] + share * held[1]
        if gained <= 1e-4 * share * slope:
            room, best = best[2] if best[2].size else np.empty(room.shape), (share, trial, room)
            if abs(rise) <= SLOPE_LEFT * abs(slope):
                break
        falls = rise < 0 and gained <= 0
        if falls:
            low, low_slope, high_slope = share, rise, high_slope * (0.5 if fell is True else 1.0)
        else:
            high, high_slope, low_slope = share, rise, low_slope * (0.5 if fell is False else 1.0)
        share, fell = _between(low, low_slope, high, high_slope), falls
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
    _, bias, _ = span.split(at.own)
    longest = float(np.sqrt(max(slope @ slope, 0.0))) / max(span.rows.total, np.finfo(float).tiny)
    return State(span.weights(at), bias * span.unit, steps, done, longest)
