"""Fitting calibration maps to ln p(k|x) of rows that were not learned, and choosing among them.

Rows that no slope and bias could correct (a true class of probability 0) are left out by temperature and Platt.
`calibrate` rescales weights to sum to the effective number of rows (Kish 1965); other functions do not rescale them.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deciban._typing import Array
from deciban.errors import InputError
from deciban.ledger.statistic import divide
from deciban.metrics.intervals import bounded_losses, effective_weights, paired_mean
from deciban.metrics.report import Report
from deciban.scores.calibration import Calibration, CalibrationMap, Isotonic, Platt, Temperature, clip_log_odds
from deciban.scores.posterior import log_sum_exp

IntegerCodes = NDArray[np.integer[Any]]

METHODS = ("temperature", "platt", "isotonic")
"""The methods of calibration, in increasing order of the number of parameters."""

REQUIRED_ERRORS = {"temperature": 0.0, "shares": 0.0, "platt": 2.0, "isotonic": 2.0}
"""The candidates of "auto" in this order, and by how many standard errors each has to be better than the one before.

docs/lab/calibration.md counts where that won, tied and lost against no calibration. A temperature is taken in any
case: it is shrunk towards 1. Leaving it out where it gained nothing out of fold won on 2 of 36 samples of 9 to
183 rows, and lost on 21.
"""

PLATT_PRIOR_ROWS = 1.0
"""Half the number of prior rows of a wrong class in Platt's prior, shared by the classes; 0 is maximum likelihood.

Measured once, by a script that is not kept: held-out log-loss (10-fold, paired) of temperature and of Platt's map
against none, over 11 tables. With it each won on 10 and lost on none, by maximum likelihood each lost on one (labor,
57 rows). Rows for every *pair* of classes cost soybean (19 classes) 0.5 nats a row.
"""

TEMPERATURE_PRIOR_ROWS = 0.5
"""The number of prior rows of a temperature, whose classes have their shares; the distance from 1 weighs twice that.

On 20 rows of 20 tables, log-loss of the other rows: half a row won 8 and lost 12 against one, but won much where
classes are separable (wine 0.085 for 0.115), and lost up to 5 %; Platt's targets won 6 and lost 14 against one.
"""

MAX_BIASED_CLASSES = 50
"""The number of classes above which Platt's map has no biases, and "auto" does not try it."""

ISOTONIC_END_ROWS = 2.0
"""The prior rows at the lowest and the highest score, with the shares of the classes: isotonic gives no p of 0."""

MAX_ISOTONIC_LOG_ODDS = 700.0
"""The bound of true log-odds where a class, or all others, have no rows."""

MIN_ISOTONIC_ROWS = 1000
"""The effective number of rows from which "auto" tries isotonic maps: with fewer these overfit (Niculescu-Mizil &
Caruana 2005)."""

MIN_FITTED_SLOPE, MAX_FITTED_SLOPE = 1e-6, 1e9
"""The bounds of the slope: evidence may lose nearly all its weight, but never change its sign. The scores of "twcnb"
are divided by a sum over all words: those of 20 newsgroups need a slope of 10⁷, and files allow 10⁹."""

LARGE_CALIBRATION_ERROR = 0.02
"""The calibration error, beyond twice what chance explains, from which it is reported."""

MAX_SLOPE_CHANGE = 0.75
"""The largest change of the slope in a step of Newton's method, as a share of the slope."""

MAX_CALIBRATION_STEPS, MAX_CALIBRATION_HALVINGS, CONVERGENCE_GAIN = 200, 40, 1e-12
"""Newton's method: the number of steps, of halvings of a step, and the relative gain below which it ends."""

CALIBRATION_BLOCK_CELLS = 1 << 14
"""Posteriors of this many rows times classes are summed at a time: they stay in the cache."""


def compute_targets(truth: IntegerCodes, weight: Array, K: int, prior_rows: float) -> Array:
    """Return Platt's targets of each row, n×K: (n_k + l)/(n_k + 2l), l = 2·prior_rows/K, for its own class k.

    The other classes share the remainder.
    """
    n, l = np.bincount(truth, weights=weight, minlength=K), 2 * prior_rows / K
    own = (n + l) / np.maximum(n + 2 * l, np.finfo(np.float64).tiny)
    others = (1 - own) / max(K - 1, 1)
    return (np.tile(others[:, None], K) + np.diag(own - others))[truth]


def _compute_loss(
    L: Array, targets: Array, weight: Array, log_prior: Array, theta: Array
) -> tuple[float, Array, Array]:
    """Return the cross-entropy of slope · L + ln π + bias with targets, its gradient and Hessian by (slope, bias₁ …).

    The first class has no bias: a common bias makes no difference. Arrays are K×n: sums over few classes are fast
    that way.
    """
    scores = theta[0] * L + log_prior[:, None]
    if len(theta) > 1:
        scores[1:] += theta[1:, None]
    top = scores.max(axis=0)
    P = np.exp(scores - top)
    total = P.sum(axis=0)
    P /= total
    loss = float(weight @ (np.log(total) + top - (targets * scores).sum(axis=0)))
    residual, spread = (P - targets) * weight, L - (P * L).sum(axis=0)
    weighted = P * spread * weight
    gradient, hessian = np.array([(residual * L).sum()]), np.array([[(weighted * spread).sum()]])
    if len(theta) == 1:
        return loss, gradient, hessian
    biases, mixed = np.diag(P @ weight) - (P * weight) @ P.T, weighted[1:].sum(axis=1)[None]
    hessian = np.block([[hessian, mixed], [mixed.T, biases[1:, 1:]]])
    return loss, np.append(gradient, residual[1:].sum(axis=1)), hessian


def _minimise(objective: Callable[[Array], tuple[float, Array, Array]], theta: Array) -> Array:
    """Return θ of the least loss (which has a gradient and Hessian) by Newton's method; the slope θ₀ has bounds."""
    loss, gradient, hessian = objective(theta)
    for _ in range(MAX_CALIBRATION_STEPS):
        step = -np.linalg.lstsq(hessian, gradient, rcond=None)[0]
        if -float(gradient @ step) <= CONVERGENCE_GAIN * (abs(loss) + 1):
            return theta + step if MIN_FITTED_SLOPE <= (theta + step)[0] <= MAX_FITTED_SLOPE else theta
        max_change = MAX_SLOPE_CHANGE * theta[0]  # where nearly all rows are certain, the Hessian is nearly 0
        for size in max_change / max(abs(step[0]), max_change) * 0.5 ** np.arange(MAX_CALIBRATION_HALVINGS):
            trial = theta + size * step
            if MIN_FITTED_SLOPE <= trial[0] <= MAX_FITTED_SLOPE and (found := objective(trial))[0] < loss:
                break
        else:
            return theta
        theta, (loss, gradient, hessian) = trial, found
    return theta


def fit_temperature(
    L: Array, truth: IntegerCodes, weight: Array, log_prior: Array, near: Temperature | None = None,
    prior_rows: float = TEMPERATURE_PRIOR_ROWS,
) -> Temperature:  # fmt: skip
    """Fit the common factor of all evidence to ln p(k|x) of rows, `L`, under π, by a loss that shrinks it towards 1.

    `near` is the starting point. Prior rows have the evidence of the rows and the shares of the classes, so that rows
    that no class shares make nothing certain.
    """
    rows, log_prior = _take_evidence(L, truth, weight, log_prior), log_prior[~np.isneginf(log_prior)]
    start = np.array([_choose_starting_slope(rows[0]) if near is None else near.t])
    share = prior_rows / max(prior_rows + rows[2].sum(), np.finfo(np.float64).tiny)
    targets = (1 - share) * np.eye(len(log_prior))[rows[1]] + share * np.exp(log_prior - log_sum_exp(log_prior[None]))
    return Temperature(float(_fit_line(rows, targets, log_prior, start, 2 * prior_rows)[0]))


def fit_shares(L: Array, truth: IntegerCodes, weight: Array, log_prior: Array, near: Any = None) -> Temperature:
    """Return the temperature by which the probabilities are the shares of the classes, whatever the evidence."""
    return Temperature(0.0)


def fit_platt(L: Array, truth: IntegerCodes, weight: Array, log_prior: Array, near: Platt | None = None) -> Platt:
    """Fit slope and biases by penalised maximum likelihood; for two classes this is Platt's own fit.

    `near` is the starting point. Above `MAX_BIASED_CLASSES` all biases are 0.
    """
    rows, possible = _take_evidence(L, truth, weight, log_prior), ~np.isneginf(log_prior)
    bias = np.zeros(len(log_prior))
    K, slope = possible.sum(), _choose_starting_slope(rows[0]) if near is None else near.slope
    first = np.zeros(K) if near is None else near.bias[possible] - near.bias[possible][0]
    start = np.append(slope, first[1:] if K <= MAX_BIASED_CLASSES else [])
    theta = _fit_line(rows, compute_targets(*rows[1:], K, PLATT_PRIOR_ROWS), log_prior[possible], start, 0.0)
    bias[possible] = np.append(0.0, theta[1:]) if len(theta) > 1 else 0.0
    return Platt(float(theta[0]), np.where(possible, bias - bias[possible].mean(), 0.0))


def _take_evidence(
    L: Array, truth: IntegerCodes, weight: Array, log_prior: Array
) -> tuple[Array, IntegerCodes, Array]:
    """Return ln p(x|k), up to a constant, of the rows that a slope can correct, their classes and weights.

    Classes whose prior is 0 are left out.
    """
    known, possible = ~np.isneginf(L[np.arange(len(truth)), truth]), ~np.isneginf(log_prior)
    evidence = L[known][:, possible] - log_prior[possible]
    finite = np.isfinite(evidence)
    if not finite.all():
        evidence = np.where(finite, evidence, evidence[finite].min() - 1.0)
    return evidence, (np.cumsum(possible) - 1)[truth[known]], weight[known]


def _choose_starting_slope(evidence: Array) -> float:
    """Return a starting slope under which few rows are certain: certain rows have no gradient."""
    far = evidence - evidence.max(axis=1, keepdims=True, initial=-np.inf)
    slope = 1 / np.sqrt((far * far).mean() + 1e-30) if far.any() else 1.0
    return float(np.clip(slope, MIN_FITTED_SLOPE, MAX_FITTED_SLOPE))


def _fit_line(
    rows: tuple[Array, IntegerCodes, Array], targets: Array, log_prior: Array, start: Array, prior_rows: float
) -> Array:
    """Return slope and biases, as many as `start` has, of least loss; `start` itself without rows."""
    (L, _, weight), K = rows, len(log_prior)
    if not len(L):
        return start
    size = max(K, CALIBRATION_BLOCK_CELLS // K)  # a Hessian has K² numbers
    blocks = [
        (np.ascontiguousarray(L[part].T), np.ascontiguousarray(targets[part].T), weight[part])
        for part in (slice(i, i + size) for i in range(0, len(L), size))
    ]

    def sum_losses(theta: Array) -> tuple[float, Array, Array]:
        loss, gradient, hessian = 0.0, np.zeros(len(theta)), np.zeros((len(theta), len(theta)))
        for block in blocks:
            more = _compute_loss(*block, log_prior, theta)
            loss, gradient, hessian = loss + more[0], gradient + more[1], hessian + more[2]
        shrunk = prior_rows * _measure_distance_from_one(theta[0])
        loss, gradient[0], hessian[0, 0] = loss + shrunk[0], gradient[0] + shrunk[1], hessian[0, 0] + shrunk[2]
        return loss, gradient, hessian

    return _minimise(sum_losses, start)


def _measure_distance_from_one(t: float) -> Array:
    """Return d²/2, d = t − 1 below 1 and ln t above, a line beyond d = 1, with its slope and about its curvature."""
    d, rise = (t - 1, 1.0) if t < 1 else (np.log(t), 1 / t)
    pull = min(d, 1.0)
    return np.array([pull * (d - pull / 2), pull * rise, rise * rise])


def fit_isotonic(
    L: Array, truth: IntegerCodes, weight: Array, log_prior: Array | None = None, near: Isotonic | None = None
) -> Isotonic:
    """Fit an increasing map of each class's log-odds (of two classes the second's) by pooling adjacent violators.

    There are prior rows at both ends; neither the prior nor `near` is used.
    """
    K, counted = L.shape[1], weight > 0
    L, truth, weight = L[counted], truth[counted], weight[counted]
    classes = [1] if K == 2 else range(K)
    prior = np.bincount(truth, weight, K) / weight.sum() if log_prior is None else np.exp(log_prior)
    curves = [_fit_isotonic_curve(clip_log_odds(L, k), truth == k, weight, prior[k]) for k in classes]
    start = np.cumsum([0, *(len(claimed) for claimed, _ in curves)]).astype(np.int64)
    return Isotonic(start, *(np.concatenate(values) for values in zip(*curves)))


def _fit_isotonic_curve(x: Array, hit: NDArray[np.bool_], weight: Array, prior: float) -> tuple[Array, Array]:
    """Return the knots of an increasing line: the claimed log-odds, and the log-odds of hits in each pool of them.

    `prior` is the share of the class among the prior rows at both ends.
    """
    from scipy.optimize import isotonic_regression

    at, where = np.unique(x, return_inverse=True)
    rows, hits = (np.bincount(where, weights=w, minlength=len(at)) for w in (weight, weight * hit))
    for end in (0, -1):
        rows[end] += ISOTONIC_END_ROWS
        hits[end] += ISOTONIC_END_ROWS * prior
    share = isotonic_regression(np.clip(hits / rows, 0.0, 1.0), weights=rows).x
    ends = np.diff(share, prepend=-1.0) > 0, np.diff(share, append=2.0) > 0
    kept = np.flatnonzero(ends[0] | ends[1])
    with np.errstate(divide="ignore"):
        to = np.log(share[kept]) - np.log1p(-share[kept])
    to = np.clip(to, -MAX_ISOTONIC_LOG_ODDS, MAX_ISOTONIC_LOG_ODDS)
    if len(kept) == 1:  # one score for all rows: a constant line needs two knots
        return np.array([0.0, 1.0]), np.repeat(to, 2)
    return at[kept], to


FITS: Mapping[str, Callable[..., CalibrationMap]] = {
    "temperature": fit_temperature,
    "shares": fit_shares,
    "platt": fit_platt,
    "isotonic": fit_isotonic,
}
"""The function that fits each map; "shares" is the constant, a candidate of "auto"."""


class CalibrationResult(NamedTuple):
    """The calibration, None where none is best, and ln p(k|x) of each row by the map fitted without its fold."""

    calibration: Calibration | None
    log_posterior: Array
    fold_maps: Mapping[int, CalibrationMap] = {}
    """The map fitted without each fold."""


def calibrate(
    method: str, log_posterior: Array, truth: IntegerCodes, weight: Array | None, fold: IntegerCodes,
    log_prior: Array, shares: ArrayLike | None = None,
) -> CalibrationResult:  # fmt: skip
    """Fit a map to rows that were each scored by a model without their fold.

    "auto" compares temperature, the shares of the classes, Platt's and, of many rows, isotonic maps by the log-loss
    of each fold by maps fitted without it, and moves on to the next only if that gains more than `REQUIRED_ERRORS`,
    paired row by row. Rows whose class is not known (−1) are returned as they are; InputError if there are no others.

    `shares` are those of the classes where the prior is fixed: rows are weighted to them, as the frequencies of
    classes among unweighted rows would be learned in its place.
    """
    is_known = truth >= 0
    L, codes = log_posterior[is_known], truth[is_known]
    w = np.ones(len(L)) if weight is None else weight[is_known]
    if shares is not None:
        total = np.bincount(codes, weights=w, minlength=L.shape[1]).astype(np.float64)
        w = w * divide(np.asarray(shares, dtype=np.float64), total)[codes]
    w = w if weight is None and shares is None else effective_weights(w)
    if L.shape[1] < 2 or not w.any():
        raise InputError("calibration takes rows of two classes or more whose classes are known. Hint: leave it out")
    best: tuple[str, Array, Mapping[int, CalibrationMap]] = (method, L, {})
    excluded = [w.sum() < MIN_ISOTONIC_ROWS and "isotonic", L.shape[1] > MAX_BIASED_CLASSES and "platt"]
    for name in [each for each in FITS if each not in excluded] if method == "auto" else (method,):
        maps = fit_without_each_fold(name, L, codes, w, fold[is_known], log_prior)
        calibrated = apply_fold_maps(maps, L, fold[is_known], log_prior)
        gain, error = paired_mean(bounded_losses(best[1], codes) - bounded_losses(calibrated, codes), w)
        if name in (method, "temperature") or gain > REQUIRED_ERRORS[name] * error:
            best = name, calibrated, maps
    out = log_posterior.copy()
    out[is_known] = best[1]
    before, after = (float(np.average(bounded_losses(scores, codes), weights=w)) for scores in (L, best[1]))
    calibration = Calibration(FITS[best[0]](L, codes, w, log_prior), log_prior, len(L), before, after)
    return CalibrationResult(calibration, out, best[2])


def fit_without_each_fold(
    method: str, L: Array, truth: IntegerCodes, weight: Array, fold: IntegerCodes, log_prior: Array
) -> dict[int, CalibrationMap]:
    """Return the map fitted to all rows but those of each fold, by its number; an empty mapping for one fold."""
    map_of_all_rows, maps = FITS[method](L, truth, weight, log_prior), {}
    for f in np.unique(fold):
        others = fold != f
        if weight[others].any():
            maps[int(f)] = FITS[method](L[others], truth[others], weight[others], log_prior, near=map_of_all_rows)
    return maps


def apply_fold_maps(
    maps: Mapping[int, CalibrationMap], log_posterior: Array, fold: IntegerCodes, log_prior: Any
) -> Array:
    """Return ln p(k|x) of each row by the map of its fold; unchanged where its fold has none.

    The prior is that of the maps, None where there are none.
    """
    out = log_posterior.copy()
    for f, mapping in maps.items():
        own = fold == f
        out[own] = mapping.apply(log_posterior[own], log_prior)
    return out


def check_method(method: Any, default: str | None = None) -> str | None:
    """Return the method if it is one of `METHODS` or "auto", None for "none", the default for None; refuse others."""
    if method is not None and method not in (*METHODS, "auto", "none"):
        raise InputError(
            f"calibrate must be 'auto', 'temperature', 'platt', 'isotonic', 'none' or None, not {method!r}"
        )
    return {None: default, "none": None}.get(method, method)


def is_clearly_miscalibrated(report: Report) -> bool:
    """Return whether the calibration error exceeds `LARGE_CALIBRATION_ERROR` and twice what chance explains.

    It is False where the bins or the effective number of rows are not known. Chance is the error of a model that is
    calibrated perfectly: of n_b rows with the confidence p in a bin the share of hits is off by √(2p(1−p)/πn_b) on
    average.
    """
    if report.bins is None or not np.isfinite(report.effective_rows):
        return False
    weight, confidence, _ = report.bins[:, report.bins[0] > 0]
    p, n = np.minimum(confidence / weight, 1.0), weight * (report.effective_rows / report.weight)
    chance = float((n * np.sqrt(2 * p * (1 - p) / (np.pi * n))).sum()) / report.effective_rows
    return report.calibration_error > LARGE_CALIBRATION_ERROR + 2 * chance
