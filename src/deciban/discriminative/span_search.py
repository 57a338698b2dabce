"""The search for the best predictor in a span: L-BFGS whose steps are sums of rows.

A point is (a, b) and its scores K a; slopes, steps and their changes are such points too, so every product that the
method asks for, of vectors as long as all words, is one over rows. The scores change in a straight line along a step:
how long it should be is found without looking at a word.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from deciban.discriminative.objective import Array, Codes, losses, residuals
from deciban.discriminative.spans import Span

PAIRS = 10
"""Steps that are remembered."""

SLOPE_LEFT, MOST_TRIALS = 0.05, 20
"""A step is long enough when no more of the first slope is left along it."""

HEAVY = 1e100
"""Where all rows weigh more, or less than one over it, they are divided by it all: squares would leave a double."""

BLOCK = 4096
"""Rows that are moved at a time, so that what is multiplied stays in the cache."""


@dataclass(frozen=True)
class Point:
    """a (n×M), the scores K a, and b in units of `Rows.unit`."""

    a: Array
    scores: Array
    b: Array

    def plus(self, other: Point, times: float) -> Point:
        """This and so many times the other."""
        return Point(self.a + times * other.a, self.scores + times * other.scores, self.b + times * other.b)

    def moved(self, other: Point, times: float) -> None:
        """Become that; nothing is allocated."""
        for mine, theirs in ((self.a, other.a), (self.scores, other.scores), (self.b, other.b)):
            for block in range(0, len(mine), BLOCK):
                mine[block : block + BLOCK] += times * theirs[block : block + BLOCK]

    def stretch(self, factor: float) -> None:
        """Become so many times this."""
        for mine in (self.a, self.scores, self.b):
            mine *= factor

    def dot(self, other: Point) -> float:
        """The product of the trusts and biases that they stand for."""
        return _dot(self.a, other.scores) + _dot(self.b, other.b)


def _dot(a: Array, b: Array) -> float:
    """Σ ab, by one thread: the threads of a linear algebra library wait for each other longer than this takes."""
    return float(np.einsum("i,i->", a.reshape(-1), b.reshape(-1)))


@dataclass(frozen=True)
class SpanFit:
    """Where the search ended: a, the bias of each score, and how far it came."""

    a: Array
    bias: Array
    objective: float
    loss: float
    n_iter: int
    gradient: float
    converged: bool


@dataclass(frozen=True)
class Rows:
    """A span with the classes of its rows, their weights, and the penalty; `unit` is that of the bias."""

    span: Span
    codes: Codes
    weight: Array
    l2: float
    unit: float
    threads: int

    def said(self, at: Point) -> Array:
        """Scores and bias."""
        return at.scores + self.unit * at.b

    def value(self, at: Point) -> tuple[float, float]:
        """The objective and the loss in it."""
        loss = float(self.weight @ losses(self.said(at), self.codes))
        return loss + 0.5 * self.l2 * _dot(at.a, at.scores), loss

    def slope(self, at: Point) -> Point:
        """The gradient: the one look at the words that a step takes."""
        wrong = residuals(self.said(at), self.codes) * self.weight[:, None]
        scores = self.span.applied(wrong, self.threads)
        return Point(wrong + self.l2 * at.a, scores + self.l2 * at.scores, self.unit * wrong.sum(axis=0))

    def length(self, at: Point, step: Point) -> float:
        """How many times the step is best: the slope along it, which rises, is brought near 0."""
        held = self.l2 * _dot(step.a, at.scores), self.l2 * _dot(step.a, step.scores)
        said, along = self.said(at), self.said(step)
        moved = along * self.weight[:, None]

        def slope(t: float) -> float:
            return _dot(residuals(said + t * along, self.codes), moved) + held[0] + t * held[1]

        return _root(slope, slope(0.0))


def _root(slope: Callable[[float], float], first: float) -> float:
    """Where a rising slope, negative at 0, has all but vanished: false position with halved ends (Illinois)."""
    low, at_low, high, at_high = 0.0, first, np.inf, np.nan
    t, side = 1.0, 0
    for _ in range(MOST_TRIALS):
        here = slope(t)
        if abs(here) <= SLOPE_LEFT * abs(first):
            break
        if here < 0:
            low, at_low, at_high = t, here, at_high / 2 if side == -1 else at_high
            side = -1
        else:
            high, at_high, at_low = t, here, at_low / 2 if side == 1 else at_low
            side = 1
        t = 4.0 * t if high == np.inf else (low * at_high - high * at_low) / (at_high - at_low)
    return t


def search(
    span: Span, codes: Codes, weight: Array | None, l2: float, *,
    start: SpanFit | None = None, tol: float = 1e-4, max_iter: int = 100, threads: int = 1,
) -> SpanFit:  # fmt: skip
    """What makes Σ_i w_i ℓ(y_i, s_i) and the penalty least; until the slope is `tol` times that at 0."""
    n, M = span.X.shape[0], span.evidence.shape[1]
    w = np.ones(n) if weight is None else weight
    heft = 1.0 if 1 / HEAVY < w.sum() < HEAVY else float(w.sum())
    w, l2 = w / heft, l2 / heft
    unit = float(np.sqrt(span.loudness(w) + 4 * l2 / w.sum()))  # so that the bias is as curved as the trusts are
    rows = Rows(span, codes, w, l2, unit, threads)
    at = Point(np.zeros((n, M)), np.zeros((n, M)), np.zeros(M))
    first = slope = rows.slope(at)
    bar = tol * np.sqrt(first.dot(first))
    if start is not None:
        at = Point(start.a, span.applied(start.a, threads), start.bias / unit)
        slope = rows.slope(at)
    pairs: deque[tuple[Point, Point, float]] = deque(maxlen=PAIRS)
    n_iter = 0
    while slope.dot(slope) > bar * bar and n_iter < max_iter:
        step = _downhill(slope, pairs)
        step.stretch(rows.length(at, step))
        new = at.plus(step, 1.0)
        changed = (risen := rows.slope(new)).plus(slope, -1.0)
        if (curved := step.dot(changed)) > 0:
            pairs.append((step, changed, curved))
        at, slope, n_iter = new, risen, n_iter + 1
    objective, loss = rows.value(at)
    norm = float(np.sqrt(slope.dot(slope)))
    return SpanFit(at.a, unit * at.b, heft * objective, heft * loss, n_iter, heft * norm, bool(norm <= bar))


def _downhill(slope: Point, pairs: deque[tuple[Point, Point, float]]) -> Point:
    """−H·slope, H the inverse curvature that the remembered steps tell of (Nocedal's two loops)."""
    shares = []
    down = Point(-slope.a, -slope.scores, -slope.b)
    for step, changed, curved in reversed(pairs):
        shares.append(step.dot(down) / curved)
        down.moved(changed, -shares[-1])
    if pairs:
        _, changed, curved = pairs[-1]
        down.stretch(curved / changed.dot(changed))
    for step, changed, curved in pairs:
        down.moved(step, shares.pop() - changed.dot(down) / curved)
    return down
