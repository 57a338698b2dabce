"""Scores of rows by Gaussian models that were fitted without them: that of a fold, or of all other rows.

Tiles of rows are scored as in `kernels/score.py`; the rows of a tile need not be consecutive. Without a row, mean and
squares of its own class change by rank one; the other classes change only by ε, the fraction of the widest column's
variance that is added to all: where that change is negligible the scores stay as they are.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.kernels.execution import kernel
from deciban.kernels.score import TILE_COLUMNS, TILE_ROWS, sum_tile_squares
from deciban.ledger.statistic import LEFTOVER_FRACTION

SIMD_LANES = 8
"""Number of independent products and sums, for vector instructions."""

RATIOS_PER_LANE = 8
"""Variance ratios multiplied in each lane before a logarithm is taken: one for 64 features, and no underflow."""

MIN_PRODUCT = 1e-200
"""Products below this, or above its inverse, are not formed: the logarithm of each factor is taken."""

MIN_SQUARES_FRACTION = 1e-6
"""If less than this fraction of the squares is left without a row, too many digits are lost: the model is computed
without the row, as in `validation/closed_form.py`."""


@kernel
def sum_log_variance_ratios(
    x: NDArray[Any], mean: Array, squares: Array, precision: Array, c: float, share: float, more: float, lanes: Array
) -> float:
    """Return Σ_j ln(v_j/σ²_j) of new variances v = (squares − c (x − mean)²) · share + more, given 1/σ².

    `lanes` (3×`SIMD_LANES`) is overwritten: Σ_j (x − mean)²/v is the sum of lanes[1], and a number in lanes[2] is
    below 0 where too little is left of the squares. The step of a feature is written twice, in lanes and for the
    remaining features: as a function it would not be vectorised.
    """
    d = len(mean)
    total = 0.0
    lanes[:] = 0.0
    for first in range(0, d, SIMD_LANES * RATIOS_PER_LANE):
        lanes[0] = 1.0
        last = min(d, first + SIMD_LANES * RATIOS_PER_LANE)
        for start in range(first, last - SIMD_LANES + 1, SIMD_LANES):
            for l in range(SIMD_LANES):
                j = start + l
                gap = x[j] - mean[j]
                square = gap * gap
                left = squares[j] - c * square
                v = left * share + more
                lanes[0, l] *= v * precision[j]
                lanes[1, l] += square / v
                low = left - MIN_SQUARES_FRACTION * squares[j]
                lanes[2, l] = low if low < lanes[2, l] else lanes[2, l]
        for j in range(last - (last - first) % SIMD_LANES, last):
            gap = x[j] - mean[j]
            square = gap * gap
            left = squares[j] - c * square
            v = left * share + more
            lanes[0, 0] *= v * precision[j]
            lanes[1, 0] += square / v
            lanes[2, 0] = min(lanes[2, 0], left - MIN_SQUARES_FRACTION * squares[j])
        product = 1.0
        for l in range(SIMD_LANES):
            product *= lanes[0, l]
        if product > MIN_PRODUCT and product < 1 / MIN_PRODUCT:
            total += np.log(product)
        else:
            for l in range(SIMD_LANES):
                total += np.log(lanes[0, l])
    return total


@kernel
def score_leaving_one_out(
    X: NDArray[Any], codes: NDArray[np.int32], w: Array, n: Array, mean: Array, m2: Array, variance: Array,
    precision: Array, constant: Array, smoothing: float, epsilon: float, total: Array, weights: Array,
    prior_moves: bool, log_prior: Array, min_score_change: float, out: Array, needs_refit: NDArray[np.bool_],
) -> bool:  # fmt: skip
    """Write ln π_k + ln p(x|k) of each row without itself to `out`; set `needs_refit` where digits would be lost.

    In those rows `out` has no meaning. `w` is empty where all rows weigh one; `total` is 2×d: the mean of each
    column, and its sum of squares about it. If `prior_moves`, the prior follows the `weights` of the classes, and
    `log_prior` is their logarithm, not normalised. Returns False at NaN, ±∞ and squares that overflow. It is one long
    loop so that a tile of rows is read once and stays in the cache for all classes, the widest column and the row's
    own class.
    """
    rows, d = X.shape
    K = len(n)
    N = n.sum()
    everything = weights.sum()
    tile, acc = np.empty((d, TILE_ROWS)), np.empty((K, TILE_ROWS))
    widest, pull = np.empty(TILE_ROWS), np.empty(TILE_ROWS)
    lanes = np.empty((3, SIMD_LANES))
    steep = np.empty(K)
    for k in range(K):
        steep[k] = precision[k].max()
    for start in range(0, rows, TILE_ROWS):
        height = min(TILE_ROWS, rows - start)
        for r in range(height):
            for j in range(d):
                tile[j, r] = X[start + r, j]
            wi = w[start + r] if len(w) else 1.0
            pull[r] = wi * N / (N - wi)
        acc[:] = 0.0
        for k in range(K):
            for j in range(d):
                m = mean[k, j]
                p = precision[k, j]
                for r in range(height):
                    gap = tile[j, r] - m
                    acc[k, r] += p * gap * gap
        widest[:] = 0.0
        if smoothing > 0:
            for j in range(d):
                m = total[0, j]
                s = total[1, j]
                for r in range(height):
                    gap = tile[j, r] - m
                    left = s - pull[r] * gap * gap
                    widest[r] = left if left > widest[r] else widest[r]
        for k in range(K):
            for r in range(height):
                if not np.isfinite(acc[k, r]):
                    return False
        for r in range(height):
            i = start + r
            own = codes[i]
            wi = w[i] if len(w) else 1.0
            left = n[own] - wi
            if left <= LEFTOVER_FRACTION * n[own]:
                needs_refit[i] = True
                out[i] = 0.0
                continue
            new = smoothing * widest[r] / (N - wi)
            shared = np.log(everything - wi) if prior_moves else 0.0
            for k in range(K):
                score = constant[k] - 0.5 * acc[k, r]
                drift = new - epsilon
                if k == own:
                    logs = sum_log_variance_ratios(
                        X[i], mean[k], m2[k], precision[k], wi * n[k] / left, 1 / left, new, lanes
                    )
                    stretch = n[k] / left
                    score = constant[k] - 0.5 * (logs + stretch * stretch * lanes[1].sum())
                    needs_refit[i] = lanes[2].min() < 0.0
                elif 0.5 * abs(drift) * steep[k] * (d + acc[k, r]) > min_score_change:
                    logs = sum_log_variance_ratios(X[i], mean[k], variance[k], precision[k], 0.0, 1.0, drift, lanes)
                    score = constant[k] - 0.5 * (logs + lanes[1].sum())
                prior = log_prior[k]
                if prior_moves:
                    prior = np.log(weights[k] - wi) - shared if k == own else prior - shared
                out[i, k] = score + prior
    return True


@kernel
def score_by_fold(
    X: NDArray[Any], fold: NDArray[np.int32], mean: Array, precision: Array, constant: Array, out: Array
) -> bool:
    """Write constant_fk − ½ Σ_j precision_fkj (x_j − mean_fkj)², f the fold of each row; NaN for rows in no fold.

    Tiles consist of rows of one fold, which need not be consecutive: rows are sorted by counting. Returns False at
    NaN or ±∞.
    """
    F, K = mean.shape[:2]
    start = np.zeros(F + 2, dtype=np.int64)
    for i in range(len(fold)):
        start[fold[i] + 2] += 1
    for f in range(F + 1):
        start[f + 1] += start[f]
    order = np.empty(len(fold), dtype=np.int64)
    for i in range(len(fold)):
        order[start[fold[i] + 1]] = i
        start[fold[i] + 1] += 1
    for at in range(start[0]):  # rows of fold −1
        out[order[at]] = np.nan
    tile, acc = np.empty((TILE_COLUMNS, TILE_ROWS)), np.empty((K, TILE_ROWS))
    for f in range(F):
        for first in range(start[f], start[f + 1], TILE_ROWS):
            rows = order[first : min(first + TILE_ROWS, start[f + 1])]
            if not sum_tile_squares(X, rows, mean[f], precision[f], tile, acc):
                return False
            for r in range(len(rows)):
                for k in range(K):
                    out[rows[r], k] = constant[f, k] - 0.5 * acc[k, r]
    return True
