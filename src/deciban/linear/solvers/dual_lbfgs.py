"""L-BFGS in the span of the rows, for a sparse matrix with more columns than rows: t = Xᵀα + c·t₀.

Every gradient, and so every step from zero (or from t₀), lies in the span of the rows. A class needs n numbers
instead of d, and the inner product of two weight vectors is ⟨Xᵀα, t⟩ = ⟨α, X t⟩: the coefficients of one times the
image of the other. Scores are linear along a step, so the step size is found without another pass. This is L-BFGS as
in SciPy, but SciPy's allows no other inner product, and moves some fifty vectors of length d·K at every step: with
many words and classes that is more work than the passes over the rows. Features of one weight for all scores may be
added to the matrix: they are columns like the others, except for their penalty.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from deciban._typing import Array
from deciban.engines.threads import split_rows
from deciban.kernels.execution import map_small_items
from deciban.linear.csr_matrix import CsrMatrix
from deciban.linear.design import DenseBlock, SharedBlock, SparseBlock
from deciban.linear.loss_pass import Line, Rows
from deciban.linear.solvers.gram import Gram, build_gram
from deciban.linear.solvers.lbfgs import State

MIN_COLUMNS = 100
"""With up to this many columns a search for their weights themselves is as fast."""

MAX_EXTRA_COLUMNS = 10
"""Columns beyond the sparse ones: with more of them the passes over them are no longer negligible."""

REQUIRED_SMALL_STEPS = 2
"""This many consecutive steps must predict a negligible gain: a prediction is an estimate, at times far too low."""

CERTAIN_GAIN_FRACTION = 1e-8
"""A step whose predicted gain is at most this fraction of the tolerated one ends the search at once."""

MIN_SINGLE_PRECISION_TOL = 1e-5
"""The smallest tolerance at which products of rows may be computed in single precision."""

MAX_CURVATURE_RATIO = 1e4
"""The greatest ratio of the loss's curvature to the penalty's at which single precision suffices: its rounding, 10⁻⁷
of a gradient, is then far below the tolerated error of a score. Evidence of twenty newsgroups, whose ratio is 10⁶,
does not converge in single precision."""

MAX_LINE_SEARCH_TRIALS = 40
"""The greatest number of step sizes tried along one direction."""

LINE_SEARCH_SLOPE_FRACTION = 0.1
"""A line search ends where the slope is at most this fraction of the first one."""

HISTORY_STEPS = 12
"""The number of steps that the history keeps."""

COLUMNS_PER_PIECE = 4096
"""Numbers of every vector of the history that are read together."""

Penalty = Array | float


@dataclass(slots=True)
class Vector:
    """A direction of weights and bias, in two forms.

    `coefficients` are α, the bias in its own unit and c; `image` are X t, the bias and ⟨t₀, t⟩.
    """

    coefficients: Array
    image: Array

    def __matmul__(self, other: "Vector") -> float:
        return float(self.coefficients @ other.image)

    def add(self, share: float, other: "Vector") -> None:
        """Add share · other in place, by pieces that stay in the cache."""
        for piece in split_rows(len(self.coefficients), COLUMNS_PER_PIECE):
            self.coefficients[piece] += share * other.coefficients[piece]
            self.image[piece] += share * other.image[piece]


@dataclass(slots=True)
class LbfgsHistory:
    """The gradient (row 0), and steps with the changes of the gradient (two rows each), oldest first in `order`.

    The two loops of L-BFGS only form sums of the gradient, of steps and of changes of the gradient. So they are run
    on the coefficients of these sums, using a table of all inner products (`products`), and the sum is formed once:
    three reads of the history instead of eight. It is read in pieces that stay in the cache, added in their order, so
    that the number of threads never changes a bit. All arrays except `products` may be in single precision.
    """

    coefficients: NDArray[Any]
    image: NDArray[Any]
    products: Array
    threads: int
    order: deque[int] = field(default_factory=deque)

    @classmethod
    def start(cls, gradient: Vector, threads: int, dtype: DTypeLike = np.float64) -> "LbfgsHistory":
        """Return a history that holds only a gradient."""
        n_rows = 1 + 2 * HISTORY_STEPS
        coefficients, image = (np.empty((n_rows, len(gradient.coefficients)), dtype=dtype) for _ in range(2))
        coefficients[0], image[0] = gradient.coefficients, gradient.image
        products = np.zeros((n_rows, n_rows))
        products[0, 0] = gradient @ gradient
        return cls(coefficients, image, products, threads)

    def direction(self, first: float) -> Vector:
        """Compute −H·gradient by the two loops (Nocedal 1980); `first` is H where the history has no step."""
        P, share = self.products, np.zeros(len(self.products))
        share[0] = -1.0
        alphas = {}
        for s in reversed(self.order):
            alphas[s] = (P[s] @ share) / P[s, s + 1]
            share[s + 1] -= alphas[s]
        last = self.order[-1] if self.order else 0
        share *= P[last, last + 1] / P[last + 1, last + 1] if last else first
        for s in self.order:
            share[s] += alphas[s] - (P[s + 1] @ share) / P[s, s + 1]
        return self._combine(share[: self._rows_in_use()])

    def update(self, step: Vector, share: float, gradient: Vector) -> None:
        """Record share · step and the gradient after it; keep the step if the curvature along it is positive."""
        if len(self.order) == HISTORY_STEPS:
            s = self.order.popleft()
        else:
            s = next(row for row in range(1, len(self.products), 2) if row not in self.order)
        new, end = [0, s, s + 1], max(self._rows_in_use(), s + 2)

        def write_piece(columns: slice) -> Array:
            coefficients, image = self.coefficients[:end, columns], self.image[:end, columns]
            for mine, moved, present in (
                (coefficients, step.coefficients, gradient.coefficients),
                (image, step.image, gradient.image),
            ):
                mine[s] = share * moved[columns]
                mine[s + 1] = present[columns] - mine[0]
                mine[0] = present[columns]
            return np.stack([image @ coefficients[i] for i in new]).astype(np.float64)

        found = sum(map_small_items(write_piece, self._pieces(), self.threads))
        self.products[new, :end] = found
        self.products[:end, new] = np.transpose(found)
        if self.products[s, s + 1] > 0 and self.products[s + 1, s + 1] > 0:
            self.order.append(s)

    def _combine(self, share: Array) -> Vector:
        """Return the sum of the first rows with these shares."""
        width = self.coefficients.shape[1]
        step = Vector(np.empty(width), np.empty(width))
        share = share.astype(self.coefficients.dtype)

        def write_piece(columns: slice) -> None:
            step.coefficients[columns] = share @ self.coefficients[: len(share), columns]
            step.image[columns] = share @ self.image[: len(share), columns]

        map_small_items(write_piece, self._pieces(), self.threads)
        return step

    def _pieces(self) -> list[slice]:
        return split_rows(self.coefficients.shape[1], COLUMNS_PER_PIECE)

    def _rows_in_use(self) -> int:
        """Return the number of rows that have been written."""
        return max(self.order, default=-1) + 2


def is_applicable(rows: Rows, l2: Sequence[Penalty]) -> bool:
    """Return whether the rows are one sparse matrix, wide and wider than long, with few other columns.

    A `CsrMatrix` may have any shape: the other solvers need SciPy's matrices.
    """
    wide, *extra = rows.blocks
    return (
        isinstance(wide, SparseBlock)
        and (isinstance(wide.X, CsrMatrix) or max(len(rows.codes), MIN_COLUMNS) < wide.width)
        and all(isinstance(b, SharedBlock) or (rows.n_scores == 1 and b.scale is None) for b in extra)
        and not any(isinstance(block, SparseBlock) for block in extra)
        and sum(block.width for block in extra) <= MAX_EXTRA_COLUMNS
        and (not extra or all(np.all(np.asarray(penalty) > 0) for penalty in l2))
    )


@dataclass(slots=True)
class DualProblem:
    """The rows, the initial weights t₀ with their scores, and the unit of the bias.

    `freedom` is the penalty of the sparse features ÷ that of each extra feature; `curvature` is the second derivative
    of a row's loss in each score where only the class shares are known.
    """

    rows: Rows
    gram: Gram
    l2: float
    freedom: Array
    first: list[Array]
    first_scores: Array
    curvature: Array
    unit: Array

    def split(self, long: Array) -> tuple[Array, Array, float]:
        """Split a vector into the parts of the rows, of the bias and of t₀."""
        n, M = self.first_scores.shape
        return long[: n * M].reshape(n, M), long[n * M : -1], float(long[-1])

    def line(self, at: Vector, step: Vector) -> Line:
        """Return the scores at a point and their change along a step."""
        (here, bias, _), (there, moved, _) = self.split(at.image), self.split(step.image)
        return Line(here, bias * self.unit, there, moved * self.unit)

    def inner_product(self, a: Vector, b: Vector) -> float:
        """Compute ⟨t, t'⟩ of two vectors, without their bias."""
        M = len(self.unit)
        return float(a.coefficients @ b.image - a.coefficients[-M - 1 : -1] @ b.image[-M - 1 : -1])

    def gradient(self, at: Vector, residual: Array) -> Vector:
        """Compute the gradient of the objective from w·∂ℓ/∂s of every row: the one pass of a step."""
        M = len(self.unit)
        bias = residual.sum(axis=0) * self.unit if self.rows.intercept else np.zeros(M)
        loss = Vector(np.empty_like(at.coefficients), np.empty_like(at.image))
        loss.coefficients[: residual.size], loss.coefficients[-1] = residual.ravel(), 0.0
        loss.image[: residual.size] = self.gram.multiply(residual).ravel()
        loss.image[-1] = np.vdot(residual, self.first_scores) if at.coefficients[-1] else 0.0
        loss.coefficients[-M - 1 : -1] = loss.image[-M - 1 : -1] = 0.0
        loss.add(self.l2, at)
        loss.coefficients[-M - 1 : -1] = loss.image[-M - 1 : -1] = bias  # the bias has no penalty
        return loss

    def rescale_bias_inplace(self, at: Vector, gradient: Vector) -> None:
        """Convert both to a unit of the bias in which its curvature is that along the weights' first gradient.

        Where rows have much in common, as messages have their evidence, that is far more than for a row alone.
        """
        alpha, image = self.split(gradient.coefficients)[0], self.split(gradient.image)[0]
        square = float(np.vdot(alpha, image))
        if square <= 0.0:
            return
        ratio = float(np.vdot(image, image)) / square
        total = max(self.rows.total, np.finfo(float).tiny)
        unit = np.sqrt((self.l2 + self.curvature * ratio) / (self.curvature * total))
        if not (np.isfinite(unit).all() and unit.all()):
            return
        M = len(unit)
        for vector, share in ((at, self.unit / unit), (gradient, unit / self.unit)):
            vector.coefficients[-M - 1 : -1] *= share
            vector.image[-M - 1 : -1] *= share
        self.unit = unit

    def first_step_size(self, gradient: Vector) -> float:
        """Compute the first step as a multiple of the gradient, from the curvature at the class shares."""
        image, bias, _ = self.split(gradient.image)
        squares = (image + bias * self.unit) ** 2
        sums = squares.sum(axis=0) if self.rows.weight is None else self.rows.weight @ squares
        curvature = float(sums @ self.curvature)
        square = max(gradient @ gradient, 0.0)  # a gradient of zero has a rounded square of either sign
        total = curvature + self.l2 * square
        return square / total if square and total else 1.0

    def weights(self, at: Vector) -> list[Array]:
        """Compute t of every block."""
        alpha, _, share = self.split(at.coefficients)
        alpha, block = np.ascontiguousarray(alpha), self.gram.block
        ts = [block.gradient(self.rows.sum_columns(block, alpha))]
        if len(self.first) > 1:
            ends = np.cumsum([first.size for first in self.first[1:]])[:-1].tolist()
            extra = np.split(np.sqrt(self.freedom) * self.gram.compute_extra_weights(alpha), ends)
            ts += [t.reshape(first.shape) for t, first in zip(extra, self.first[1:])]
        return [t + share * first for t, first in zip(ts, self.first)] if share else ts


def minimise(rows: Rows, l2: Sequence[Penalty], state: State, tol: float, max_iter: int) -> State:
    """Minimise Σ wℓ + ½ Σ l2 t² from a given state; the rows must be such that `is_applicable`."""
    mean = 1.0 if rows.weight is None else rows.total / max(len(rows.codes), 1)
    if mean != 1.0 and mean > 0.0:  # a mean weight of 1 has the same best weights, and keeps squares finite
        assert rows.weight is not None
        rows, l2 = replace(rows, weight=rows.weight / mean), [penalty / mean for penalty in l2]
    return _search(*_build_problem(rows, l2, state, tol >= MIN_SINGLE_PRECISION_TOL), tol, max_iter)


def _search(problem: DualProblem, at: Vector, tol: float, max_iter: int) -> State:
    """Run L-BFGS from `at`, which is changed in place, until the gain is negligible or `max_iter` steps are done."""
    residual = np.empty(problem.first_scores.shape)
    loss, _ = problem.rows.loss_and_slope_along(problem.line(at, at), 0.0, residual)
    gradient = problem.gradient(at, residual)
    with np.errstate(over="ignore"):
        problem.rescale_bias_inplace(at, gradient)
        first = problem.first_step_size(gradient)
    if not (np.isfinite(gradient @ gradient) and first > 0.0):  # numbers whose squares are not finite
        return _make_state(problem, at, gradient, 0, False)
    history = LbfgsHistory.start(gradient, problem.rows.threads, problem.gram.data.dtype)
    done, small_steps, steps = False, 0, 0
    for steps in range(max_iter + 1):
        f = loss + 0.5 * problem.l2 * problem.inner_product(at, at)
        step = history.direction(first)
        gain = -(gradient @ step)
        fraction = gain / (tol * tol * max(f, np.finfo(float).tiny)) if tol else np.inf
        small_steps = small_steps + 1 if fraction <= 1.0 else 0
        done = (
            small_steps >= REQUIRED_SMALL_STEPS
            or fraction <= CERTAIN_GAIN_FRACTION
            or (problem.l2 == 0 and problem.rows.is_fitted_perfectly(loss, tol))
        )
        if done or steps == max_iter:
            break
        before = loss
        share, loss, residual = _search_line(problem, at, step, loss, -gain)
        if share == 0.0 or (loss == before and gain <= np.finfo(float).eps * f):  # only rounding is left to gain
            done = gain <= 1e-12 * f
            break
        at.add(share, step)
        gradient = problem.gradient(at, residual)
        history.update(step, share, gradient)
    return _make_state(problem, at, gradient, steps, done)


def _build_problem(rows: Rows, l2: Sequence[Penalty], state: State, allow_single: bool) -> tuple[DualProblem, Vector]:
    """Return the problem and its initial vector; with `allow_single` in single precision, where that suffices."""
    block, M, tiny = rows.blocks[0], rows.n_scores, np.finfo(float).tiny
    assert isinstance(block, SparseBlock)
    penalty = float(np.asarray(l2[0]))
    ratios = [penalty / np.broadcast_to(p, b.width) for p, b in zip(l2[1:], rows.blocks[1:])]
    freedom = np.concatenate([np.empty(0), *ratios])
    gram = build_gram(rows, block, _collect_extra_features(rows) * np.sqrt(freedom))
    shares = np.bincount(rows.codes, weights=rows.weight, minlength=max(M, 2)) / max(rows.total, tiny)
    curvature = np.maximum((shares * (1.0 - shares))[-M:], 0.25 / (rows.total + 1.0))
    row_curvature = float(curvature.mean()) * gram.compute_mean_row_square(rows.weight)
    if allow_single and row_curvature * rows.total <= MAX_CURVATURE_RATIO * penalty:
        gram.use_single_precision()
    unit = np.sqrt((penalty + row_curvature) / (curvature * max(rows.total, tiny)))
    unit[~(unit > 0.0)] = 1.0  # neither curvature nor penalty
    is_warm = any(map(np.any, state.ts))
    scores = rows.scores(state.ts, np.zeros(M)) if is_warm else np.zeros((len(rows.codes), M))
    square = (
        sum(float(np.sum(p * t * t)) for p, t in zip(l2, state.ts)) / penalty
        if is_warm and penalty
        else float(sum(np.sum(t * t) for t in state.ts))
    )
    bias = state.bias / unit
    at = Vector(
        np.concatenate([np.zeros(scores.size), bias, [float(is_warm)]]),
        np.concatenate([scores.ravel(), bias, [square]]),
    )
    return DualProblem(rows, gram, penalty, freedom, state.ts, scores, curvature, unit), at


def _collect_extra_features(rows: Rows) -> Array:
    """Return the features of all blocks but the first, (n·M)×c."""
    n, M = len(rows.codes), rows.n_scores
    found = [np.empty((n * M, 0))]
    for block in rows.blocks[1:]:
        if isinstance(block, SharedBlock):
            found.append(block.X.transpose(0, 2, 1).reshape(n * M, -1))
        else:
            assert isinstance(block, DenseBlock)
            found.append(block.centre_rows())
    return np.concatenate(found, axis=1)


def _search_line(
    problem: DualProblem, at: Vector, step: Vector, loss: float, slope: float
) -> tuple[float, float, Array]:
    """Find the share of a step that nearly minimises the objective; return it, the loss there, and w·∂ℓ/∂s.

    The objective is convex, so its slope grows: between a negative and a positive slope the next trial is the root of
    the line through both, where the slope of the end that stays is halved each time (Illinois). The share is zero
    where nothing but rounding can be gained.
    """
    penalty = problem.l2 * problem.inner_product(at, step), problem.l2 * problem.inner_product(step, step)
    low, low_slope, high, high_slope, share = 0.0, slope, np.inf, 0.0, 1.0
    best: tuple[float, float, Array] = (0.0, loss, np.empty(0))
    line, buffer, fell = problem.line(at, step), np.empty(problem.first_scores.shape), None
    for _ in range(MAX_LINE_SEARCH_TRIALS):
        trial, rise = problem.rows.loss_and_slope_along(line, share, buffer)
        change = trial - loss + share * penalty[0] + 0.5 * share * share * penalty[1]
        rise += penalty[0] + share * penalty[1]
        if change <= 1e-4 * share * slope:
            buffer, best = best[2] if best[2].size else np.empty(buffer.shape), (share, trial, buffer)
            if abs(rise) <= LINE_SEARCH_SLOPE_FRACTION * abs(slope):
                break
        falls = rise < 0 and change <= 0
        if falls:
            low, low_slope, high_slope = share, rise, high_slope * (0.5 if fell is True else 1.0)
        else:
            high, high_slope, low_slope = share, rise, low_slope * (0.5 if fell is False else 1.0)
        fell = falls
        if np.isinf(high):
            share = 4.0 * low
        elif high_slope > 0:
            share = low + (high - low) * min(max(low_slope / (low_slope - high_slope), 0.05), 0.95)
        else:
            share = low + 0.5 * (high - low)
    return best


def _make_state(problem: DualProblem, at: Vector, gradient: Vector, steps: int, done: bool) -> State:
    """Return the state at a vector; its gradient is the length of the complete one, a bound that takes no pass."""
    _, bias, _ = problem.split(at.coefficients)
    length = float(np.sqrt(max(gradient @ gradient, 0.0))) / max(problem.rows.total, np.finfo(float).tiny)
    return State(problem.weights(at), bias * problem.unit, steps, done, length)
