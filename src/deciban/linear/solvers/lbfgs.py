"""The search for the least of a smooth objective: SciPy's L-BFGS in coordinates that are nearly a sphere.

Where there are many rows, a sample of them is learned first: its weights are where the search over all rows begins,
and its curvature is what the coordinates are made of, so that few passes over all rows remain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.ledger.hashing import hash_row_numbers
from deciban.linear.loss_pass import Rows
from deciban.linear.solvers.preconditioner import Coordinates, coordinates
from deciban.linear.solvers.separable import all_told

SAMPLE, PER_WEIGHT = 1 << 14, 20
"""Rows of a sample: at least so many, and so many for each weight of a class."""

SAMPLE_PAYS = 4
"""A sample is learned first where there are so many times more rows."""

AGAIN = 15
"""After so many steps the curvature is taken anew."""

POLISHING, SHORTER = 20, 0.7
"""Steps by slopes alone, at most, and how much shorter each must make the gradient."""

NOISE = 1e-6
"""Where no step leads down any more and the gradient is so small, the least has been found to the last digits."""


@dataclass(frozen=True, slots=True)
class State:
    """Weights of every block (÷ their units) and the bias beside centred features; how far the search has come."""

    ts: list[Array]
    bias: Array
    n_iter: int = 0
    converged: bool = False
    gradient: float = np.inf


def sample_of(rows: Rows) -> NDArray[np.intp]:
    """A fair share of the rows, always the same; all of them where there are not many more."""
    widest = max((block.width for block in rows.blocks), default=1)
    return some_rows(len(rows.codes), max(SAMPLE, PER_WEIGHT * min(widest, SAMPLE // 4)))


def some_rows(n: int, wanted: int) -> NDArray[np.intp]:
    """About so many of n rows, thoroughly mixed; all where they are not `SAMPLE_PAYS` times as many."""
    if n < SAMPLE_PAYS * wanted:
        return np.arange(n)
    return np.flatnonzero(hash_row_numbers(np.arange(n)) < np.uint64(2.0**64 * wanted / n))


def minimised(rows: Rows, l2: Sequence[Array | float], state: State, tol: float, max_iter: int) -> State:
    """The state at which Σ wℓ + ½ Σ l2 t² is least, from a given one."""
    held = [penalty / max(rows.total, np.finfo(float).tiny) for penalty in l2]
    sample = sample_of(rows)
    if len(sample) == len(rows.codes):
        return _searched(rows, rows, held, state, tol, max_iter)
    some = rows.take(sample)
    if _fair(some, rows.n_scores):
        state = _searched(some, some, held, state, max(tol, _rough(state, len(sample))), max_iter)
    state = State(state.ts, state.bias)
    return _searched(rows, some, held, state, tol, max_iter)


def _fair(some: Rows, n_scores: int) -> bool:
    """Whether a sample has rows of every class: else it would say that the others never come."""
    counts = np.bincount(some.codes, weights=some.weight, minlength=max(n_scores, 2))
    return bool((counts > 0).all())


def _rough(state: State, n: int) -> float:
    """As near as the sample's own least is to that of all rows: √(weights ÷ rows)."""
    return 0.1 * float(np.sqrt(sum(t.size for t in state.ts) / max(n, 1)))


def _searched(
    rows: Rows, some: Rows, held: Sequence[Array | float], state: State, tol: float, max_iter: int
) -> State:
    """Rounds of L-BFGS, each in coordinates of the curvature where it begins."""
    while True:
        where = coordinates(some, state.ts, state.bias, held)
        most = min(AGAIN, max_iter - state.n_iter)
        before, state = state.n_iter, _round(rows, held, where, state, tol, most)
        if state.converged or state.n_iter >= max_iter:
            return state
        if state.n_iter - before < most:
            return _polished(rows, some, held, state, tol)


def _polished(rows: Rows, some: Rows, held: Sequence[Array | float], state: State, tol: float) -> State:
    """The last digits, by slopes alone: where values differ in nothing but rounding, slopes still tell the way.

    In these coordinates the least is about one gradient away; a step counts if it makes the gradient much shorter.
    """
    best, left = state, np.inf
    for _ in range(POLISHING):
        view = View(rows, held, coordinates(some, state.ts, state.bias, held), [*state.ts, state.bias])
        u = view.coordinates()
        _, slope = view.value(u)
        length = float(np.sqrt(slope @ slope))
        if not length <= SHORTER * left:
            break
        left, best = length, replace(state, converged=view.near(max(tol, NOISE)), gradient=view.steepest)
        if view.near(tol):
            break
        *ts, bias = view.apart(u - slope)
        state = replace(state, ts=ts, bias=bias, n_iter=state.n_iter + 1)
    return best


def _round(
    rows: Rows, held: Sequence[Array | float], where: Sequence[Coordinates], state: State, tol: float, most: int
) -> State:
    """Some steps of L-BFGS.

    Its first step has length one. In these coordinates the best one has about the gradient's length, so that is the
    unit in which they are given to it.
    """
    from scipy.optimize import minimize

    view = View(rows, held, where, [*state.ts, state.bias])
    u = view.coordinates()
    _, slope = view.value(u)
    if view.near(tol):
        return State(state.ts, state.bias, state.n_iter, True, view.steepest)
    unit = float(np.sqrt(slope @ slope))

    def value(v: Array) -> tuple[float, Array]:
        f, g = view.value(v * unit)
        return f, g * unit

    def enough(intermediate_result: object) -> None:
        if view.near(tol):
            raise StopIteration

    options = {"maxiter": max(most, 1), "gtol": 0.0, "ftol": 0.0, "maxfun": 50 * AGAIN, "maxcor": 20}
    found = minimize(value, u / unit, jac=True, method="L-BFGS-B", callback=enough, options=options)
    *ts, bias = view.apart(found.x * unit)
    return State(ts, bias, state.n_iter + int(found.nit), view.near(tol), view.steepest)


@dataclass(slots=True)
class View:
    """The mean objective as seen in coordinates, and what was seen last."""

    rows: Rows
    held: Sequence[Array | float]
    where: Sequence[Coordinates]
    pieces: list[Array]
    last: tuple[Array, float, Array] | None = None
    steepest: float = np.inf

    @property
    def free(self) -> bool:
        """Whether nothing holds the weights back."""
        return not any(np.any(h) for h in self.held)

    def coordinates(self) -> Array:
        """Of the pieces."""
        return np.concatenate([c.inverse(piece).ravel() for c, piece in zip(self.where, self.pieces)])

    def apart(self, u: Array) -> list[Array]:
        """The weights of every block, and the bias."""
        ends = np.cumsum([piece.size for piece in self.pieces])[:-1]
        split = [part.reshape(piece.shape) for part, piece in zip(np.split(u, ends), self.pieces)]
        return [coordinate.weights(part) for coordinate, part in zip(self.where, split)]

    def value(self, u: Array) -> tuple[float, Array]:
        """The objective and its gradient; what was asked last is not computed again."""
        if self.last is not None and np.array_equal(self.last[0], u):
            return self.last[1:]
        *ts, bias = self.apart(u)
        total = max(self.rows.total, np.finfo(float).tiny)
        loss, gradients, of_bias = self.rows.value(ts, bias)
        f = loss / total + sum(0.5 * float(np.sum(h * t * t)) for h, t in zip(self.held, ts))
        slopes = [g / total + h * t for g, h, t in zip(gradients, self.held, ts)]
        slopes.append(of_bias / total if self.rows.intercept else np.zeros_like(bias))
        self.steepest = max(float(np.abs(slope).max(initial=0.0)) for slope in slopes)
        g = np.concatenate([c.gradient(slope).ravel() for c, slope in zip(self.where, slopes)])
        self.last = (u.copy(), f, g)
        return f, g

    def near(self, tol: float) -> bool:
        """Whether what is left to gain, about ½‖g‖² in these coordinates, is below tol² of the objective, or of 1."""
        assert self.last is not None
        _, f, g = self.last
        if self.free and all_told(self.rows, f * self.rows.total, tol):
            return True
        return bool(f <= tol * tol or g @ g <= tol * tol * 2.0 * f)
