"""Fitting calibration maps to ln p(k|x) of rows that were not learned, and choosing among them.

Rows that no map of its kind could mend (a truth called impossible) are left out by temperature and Platt's map.
Weights count as so many rows of equal weight as would say as much (Kish 1965), whatever their unit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError
from deciban.metrics.intervals import bounded_losses, effective_weights, paired_mean
from deciban.metrics.report import Report
from deciban.scores.calibration import (
    Calibration,
    CalibrationMap,
    Isotonic,
    Platt,
    Temperature,
    claimed_odds,
)

IntegerCodes = NDArray[np.integer[Any]]

METHODS = ("temperature", "platt", "isotonic")
"""From the simplest to the one with most freedom.

"auto" goes through them so; docs/lab/calibration.md counts where that won, tied and lost against no calibration.
"""

IMAGINED = 1.0
"""Platt's prior: two rows that went to a wrong class, shared by the classes; 0 is maximum likelihood.

Measured once, by a script that is not kept: held-out log-loss (10-fold, paired) of temperature and of Platt's map
against none, over 11 tables. With it each won on 10 and lost on none, by maximum likelihood each lost on one (labor,
57 rows). Rows for every *pair* of classes cost soybean (19 classes) 0.5 nats a row.
"""

END_ROWS = 1.0
"""Imagined rows of either side at the lowest and the highest score, so that isotonic makes nothing impossible."""

LEAST_SLOPE, MOST_SLOPE = 1e-6, 1e6
"""Evidence may lose nearly all its weight, but never turn against itself."""

LARGE_ERROR = 0.02
"""A calibration error that is worth a word, beyond twice what chance explains."""

MOST_CHANGE = 0.75
"""How much of itself the slope may change by at a step."""

STEPS, STEP_HALVINGS, CONVERGED = 200, 40, 1e-12
"""Newton's method: at most so many steps, each halved so often, until one would gain less than this share."""


def targets(truth: IntegerCodes, weight: Array, K: int, imagined: float) -> Array:
    """(n_k + l)/(n_k + 2l), l = 2/K, for a row's own class k, the rest shared by all others; K = 2: Platt's."""
    n, l = np.bincount(truth, weights=weight, minlength=K), 2 * imagined / K
    own = (n + l) / np.maximum(n + 2 * l, np.finfo(np.float64).tiny)
    others = (1 - own) / max(K - 1, 1)
    return (np.tile(others[:, None], K) + np.diag(own - others))[truth]


@dataclass(frozen=True, eq=False)
class _Line:
    """slope · L + bias of every row, judged by targets: loss, gradient and curvature by (slope, bias₁, bias₂ …).

    The first class has no bias: what all have in common makes no difference. Arrays are K×n: sums over few classes
    are fast that way.
    """

    L: Array
    aim: Array
    weight: Array

    def __call__(self, theta: Array) -> tuple[float, Array, Array]:
        scores = theta[0] * self.L
        if len(theta) > 1:
            scores[1:] += theta[1:, None]
        top = scores.max(axis=0)
        P = np.exp(scores - top)
        total = P.sum(axis=0)
        P /= total
        loss = float(self.weight @ (np.log(total) + top - (self.aim * scores).sum(axis=0)))
        off, spread = (P - self.aim) * self.weight, self.L - (P * self.L).sum(axis=0)
        far = P * spread * self.weight
        slope, curve = np.array([(off * self.L).sum()]), np.array([[(far * spread).sum()]])
        if len(theta) == 1:
            return loss, slope, curve
        inner, beside = np.diag(P @ self.weight) - (P * self.weight) @ P.T, far[1:].sum(axis=1)[None]
        curve = np.block([[curve, beside], [beside.T, inner[1:, 1:]]])
        return loss, np.append(slope, off[1:].sum(axis=1)), curve


def _least(line: Callable[[Array], tuple[float, Array, Array]], theta: Array) -> Array:
    """The least loss by Newton's method with halved steps: the loss is convex."""
    loss, slope, curve = line(theta)
    for _ in range(STEPS):
        step = -np.linalg.lstsq(curve, slope, rcond=None)[0]
        if -float(slope @ step) <= CONVERGED * (abs(loss) + 1):
            return theta + step if LEAST_SLOPE <= (theta + step)[0] <= MOST_SLOPE else theta
        most = MOST_CHANGE * theta[0]  # where nearly all is certain, the curvature says nothing
        for size in most / max(abs(step[0]), most) * 0.5 ** np.arange(STEP_HALVINGS):
            trial = theta + size * step
            if LEAST_SLOPE <= trial[0] <= MOST_SLOPE and (found := line(trial))[0] < loss:
                break
        else:
            return theta
        theta, (loss, slope, curve) = trial, found
    return theta


def temperature(
    L: Array, truth: IntegerCodes, weight: Array, imagined: float = IMAGINED, near: Temperature | None = None
) -> Temperature:
    """The weight of all evidence that makes the rows most probable; `near` is where to begin."""
    start = np.array([_unsure(L) if near is None else near.t])
    return Temperature(float(_fitted_line(L, truth, weight, imagined, start)[0]))


def platt(
    L: Array, truth: IntegerCodes, weight: Array, imagined: float = IMAGINED, near: Platt | None = None
) -> Platt:
    """Slope and biases that make the rows most probable; for two classes Platt's own fit."""
    start = np.append(_unsure(L), np.zeros(L.shape[1] - 1))
    if near is not None:
        start = np.append(near.slope, near.bias[1:] - near.bias[0])
    theta = _fitted_line(L, truth, weight, imagined, start)
    bias = np.append(0.0, theta[1:])
    return Platt(float(theta[0]), bias - bias.mean())


def _unsure(L: Array) -> float:
    """A slope under which few rows are certain, to begin with: certainty has no slope to follow."""
    finite = np.isfinite(L)
    far = L[finite] - np.broadcast_to(L.max(axis=1, keepdims=True), L.shape)[finite]
    return float(np.clip(1 / np.sqrt((far * far).mean() + 1e-12), LEAST_SLOPE, 1.0)) if len(far) else 1.0


def _fitted_line(L: Array, truth: IntegerCodes, weight: Array, imagined: float, start: Array) -> Array:
    possible = ~np.isneginf(L[np.arange(len(truth)), truth])
    L, truth, weight = L[possible], truth[possible], weight[possible]
    if not len(L):
        return start
    finite = np.isfinite(L)
    L = L if finite.all() else np.where(finite, L, L[finite].min() - 1.0)
    aim = targets(truth, weight, L.shape[1], imagined)
    return _least(_Line(np.ascontiguousarray(L.T), np.ascontiguousarray(aim.T), weight), start)


def isotonic(
    L: Array, truth: IntegerCodes, weight: Array, imagined: float = END_ROWS, near: Isotonic | None = None
) -> Isotonic:
    """The rising lines that make the rows most probable (pooling adjacent violators), imagined rows at both ends."""
    K = L.shape[1]
    classes = [1] if K == 2 else range(K)
    curves = [_rising(claimed_odds(L, k), truth == k, weight, imagined) for k in classes]
    start = np.cumsum([0, *(len(claimed) for claimed, _ in curves)]).astype(np.int64)
    return Isotonic(start, *(np.concatenate(values) for values in zip(*curves)))


def _rising(x: Array, hit: NDArray[np.bool_], weight: Array, imagined: float) -> tuple[Array, Array]:
    """Knots of a rising line: the log-odds claimed, and the log-odds of hits in each stretch of them."""
    from scipy.optimize import isotonic_regression

    at, where = np.unique(x, return_inverse=True)
    rows, hits = (np.bincount(where, weights=w, minlength=len(at)) for w in (weight, weight * hit))
    for end in (0, -1):
        rows[end] += 2 * imagined
        hits[end] += imagined
    share = isotonic_regression(hits / rows, weights=rows).x
    ends = np.diff(share, prepend=-1.0) > 0, np.diff(share, append=2.0) > 0
    kept = np.flatnonzero(ends[0] | ends[1])
    to = np.log(share[kept]) - np.log1p(-share[kept])
    if len(kept) == 1:  # one score for all rows: a level line needs two knots
        return np.array([at[0], at[0] + 1.0]), np.repeat(to, 2)
    return at[kept], to


FITS: Mapping[str, Callable[..., CalibrationMap]] = {
    "temperature": temperature,
    "platt": platt,
    "isotonic": isotonic,
}
"""How each map is fitted, from the simplest to the one with most freedom."""


class Outcome(NamedTuple):
    """The calibration, None where none is best, and ln p(k|x) of the rows by maps fitted without their folds."""

    calibration: Calibration | None
    log_posterior: Array


def calibrate(
    method: str, log_posterior: Array, truth: IntegerCodes, weight: Array | None, fold: IntegerCodes, log_prior: Array
) -> Outcome:
    """A map fitted to rows that were each scored by a model without their fold.

    "auto" compares none, temperature, Platt's and isotonic maps by the log-loss of each fold under maps fitted
    without it, and goes on to one with more freedom only where that gains more than one standard error, paired row
    by row.
    Rows of no class that is known (−1) take no part.
    """
    told = truth >= 0
    L, codes = log_posterior[told], truth[told]
    w = (np.ones(len(truth)) if weight is None else effective_weights(weight))[told]
    if log_posterior.shape[1] < 2 or not len(L):
        raise InputError("calibration takes rows of two classes or more whose classes are known. Hint: leave it out")
    best: tuple[str | None, Array] = (None, L)
    for name in METHODS if method == "auto" else (method,):
        mended = without_fold(name, L, codes, w, fold[told])
        if method != "auto" or _gains(best[1], mended, codes, w):
            best = name, mended
    out = log_posterior.copy()
    out[told] = best[1]
    if best[0] is None:
        return Outcome(None, out)
    means = [float(np.average(bounded_losses(scores, codes), weights=w)) for scores in (L, best[1])]
    return Outcome(Calibration(FITS[best[0]](L, codes, w), log_prior, len(L), *means), out)


def without_fold(method: str, L: Array, truth: IntegerCodes, weight: Array, fold: IntegerCodes) -> Array:
    """Each row calibrated by the map fitted without its fold; as it is, where there are no other rows."""
    whole = FITS[method](L, truth, weight)
    out = L.copy()
    for f in np.unique(fold):
        mine = fold == f
        if not mine.all():
            rest = FITS[method](L[~mine], truth[~mine], weight[~mine], near=whole)
            out[mine] = rest.apply(L[mine])
    return out


def checked_method(method: Any) -> str | None:
    """The name of a method, of "auto", or None."""
    if method is not None and method not in (*METHODS, "auto"):
        raise InputError(f"calibrate must be 'auto', 'temperature', 'platt', 'isotonic' or None, not {method!r}")
    chosen: str | None = method
    return chosen


def clearly_off(report: Report) -> bool:
    """Whether the calibration error is more than chance would give a model whose probabilities all come true.

    Of n_b rows with the confidence p in a bin the share of hits is off by √(2p(1−p)/πn_b) on average.
    """
    if report.bins is None or not np.isfinite(report.effective_rows):
        return False
    weight, confidence, _ = report.bins[:, report.bins[0] > 0]
    p, n = confidence / weight, weight * (report.effective_rows / report.weight)
    chance = float((n * np.sqrt(2 * p * (1 - p) / (np.pi * n))).sum()) / report.effective_rows
    return report.calibration_error > LARGE_ERROR + 2 * chance


def _gains(simple: Array, complex: Array, truth: IntegerCodes, weight: Array) -> bool:
    """Whether the log-loss falls by more than one standard error of the paired difference."""
    gain, error = paired_mean(bounded_losses(simple, truth) - bounded_losses(complex, truth), weight)
    return gain > error
