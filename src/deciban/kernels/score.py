"""Kernels that apply a score form to a block of dense rows, adding ln p(x|k) to `out` (rows × K), that turn scores
into posteriors, densities or classes, and that evaluate posteriors.

Kernels of the forms `Diagonal` and `Linear` process transposed tiles of rows, so that the innermost loop runs over
the rows of a tile: no sums across vector lanes, so the compiler vectorises without being allowed to reorder
additions. A tile that holds NaN or ±∞ (or, where it has no meaning, a negative value) ends their loop before anything
of it is written, and they return the number of rows scored. Variants for missing values leave NaN out: they run on
the remaining rows only, and return False at ±∞ (or at such a negative value).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.kernels.execution import kernel

TILE_ROWS = 32
TILE_COLUMNS = 64
"""Rows and columns of a tile; its doubles take a third of a core's first-level cache."""

NEGLIGIBLE_LOG_PROBABILITY = -40.0
"""Log-probability below which a squared probability is negligible in the sum of squares, which is at least 1/K."""

MAX_LINEAR_SEARCH_CUTS = 8
"""Up to this many cuts are compared one by one."""


@kernel
def sum_tile_squares(
    X: NDArray[Any], rows: NDArray[np.int64], mean: Array, precision: Array, tile: Array, acc: Array
) -> bool:
    """Write Σ_j precision_kj (x_j − mean_kj)² of some rows to `acc` (K × rows); return whether all are finite."""
    d, K, height = X.shape[1], len(mean), len(rows)
    acc[:] = 0.0
    for left in range(0, d, TILE_COLUMNS):
        width = min(TILE_COLUMNS, d - left)
        for r in range(height):
            row = rows[r]
            for j in range(width):
                tile[j, r] = X[row, left + j]
        for k in range(K):
            for j in range(width):
                m = mean[k, left + j]
                p = precision[k, left + j]
                for r in range(height):
                    gap = tile[j, r] - m
                    acc[k, r] += p * gap * gap
    for k in range(K):
        for r in range(height):
            if not np.isfinite(acc[k, r]):
                return False
    return True


@kernel
def add_diagonal_scores(X: NDArray[Any], mean: Array, precision: Array, constant: Array, out: Array) -> int:
    """Add constant_k − ½ Σ_j precision_kj (x_j − mean_kj)²; return the number of rows scored."""
    rows, K = np.arange(len(X)), len(constant)
    tile, acc = np.empty((TILE_COLUMNS, TILE_ROWS)), np.empty((K, TILE_ROWS))
    for start in range(0, len(X), TILE_ROWS):
        some = rows[start : start + TILE_ROWS]
        if not sum_tile_squares(X, some, mean, precision, tile, acc):
            return start
        for r in range(len(some)):
            for k in range(K):
                out[start + r, k] += constant[k] - 0.5 * acc[k, r]
    return len(X)


@kernel
def add_diagonal_scores_with_missing(
    X: NDArray[Any], mean: Array, precision: Array, log_norm: Array, out: Array
) -> bool:
    """Add Σ_j log_norm_kj − ½ precision_kj (x_j − mean_kj)² over the features that are present."""
    rows, d = X.shape
    K = len(mean)
    tile = np.empty((d, TILE_ROWS))
    acc = np.empty(TILE_ROWS)
    non_finite = 0.0
    for start in range(0, rows, TILE_ROWS):
        height = min(TILE_ROWS, rows - start)
        for r in range(height):
            for j in range(d):
                tile[j, r] = X[start + r, j]
        for k in range(K):
            acc[:] = 0.0
            for j in range(d):
                for r in range(height):
                    gap = tile[j, r] - mean[k, j]
                    part = log_norm[k, j] - 0.5 * precision[k, j] * gap * gap
                    acc[r] += part if gap == gap else 0.0
            for r in range(height):
                non_finite += acc[r] - acc[r]
                out[start + r, k] += acc[r]
    return non_finite == 0.0


@kernel
def add_linear_scores(
    X: NDArray[Any], weights: Array, bias: Array, threshold: float, signed: bool, out: Array
) -> int:
    """Add bias_k + Σ_j weights_kj x_j, x read as [x > threshold] unless the threshold is NaN."""
    rows, d = X.shape
    K = len(bias)
    plain = np.isnan(threshold)
    tile = np.empty((TILE_COLUMNS, TILE_ROWS))
    acc = np.empty((K, TILE_ROWS))
    non_finite = 0.0
    for start in range(0, rows, TILE_ROWS):
        height = min(TILE_ROWS, rows - start)
        acc[:] = 0.0
        for left in range(0, d, TILE_COLUMNS):
            width = min(TILE_COLUMNS, d - left)
            for r in range(height):
                low = 0.0
                for j in range(width):
                    x = np.float64(X[start + r, left + j])
                    non_finite += x - x
                    low = min(low, x)
                    tile[j, r] = x if plain else (1.0 if x > threshold else 0.0)
                if non_finite != 0.0 or (low < 0.0 and not signed):
                    return start
            for k in range(K):
                for j in range(0, width - 3, 4):  # four columns at a time: a quarter of the reads and writes
                    w0, w1 = weights[k, left + j], weights[k, left + j + 1]
                    w2, w3 = weights[k, left + j + 2], weights[k, left + j + 3]
                    for r in range(height):
                        pair = w0 * tile[j, r] + w1 * tile[j + 1, r]
                        acc[k, r] += pair + (w2 * tile[j + 2, r] + w3 * tile[j + 3, r])
                for j in range(width - width % 4, width):
                    for r in range(height):
                        acc[k, r] += weights[k, left + j] * tile[j, r]
        for r in range(height):
            for k in range(K):
                out[start + r, k] += bias[k] + acc[k, r]
    return rows


@kernel
def add_linear_scores_with_missing(
    X: NDArray[Any], weights: Array, offsets: Array, bias: Array, threshold: float, signed: bool, out: Array
) -> bool:
    """Add bias_k + Σ_j weights_kj x_j + offsets_kj over the features that are present."""
    rows, d = X.shape
    K = len(bias)
    plain = np.isnan(threshold)
    acc = np.empty(K)
    for i in range(rows):
        acc[:] = bias
        for j in range(d):
            x = np.float64(X[i, j])
            if x == x:
                if not np.isfinite(x) or (x < 0.0 and not signed):
                    return False
                z = x if plain else (1.0 if x > threshold else 0.0)
                for k in range(K):
                    acc[k] += weights[k, j] * z + offsets[k, j]
        for k in range(K):
            out[i, k] += acc[k]
    return True


@kernel
def add_lookup_scores(
    X: NDArray[Any], table: Array, offset: NDArray[np.int64], unseen: Array, missing: bool, out: Array
) -> int:
    """Add Σ_j table[offset_j + x_j, k], one row per level; unseen[j, k] for codes beyond the levels.

    A negative code adds nothing if it stands for a `missing` value; otherwise it ends the loop within its row.
    Returns the number of rows scored.
    """
    rows, d = X.shape
    K = table.shape[1]
    for i in range(rows):
        for j in range(d):
            v = np.int64(X[i, j])
            if v < 0:
                if not missing:
                    return i
            elif v < offset[j + 1] - offset[j]:
                at = offset[j] + v
                for k in range(K):
                    out[i, k] += table[at, k]
            else:
                for k in range(K):
                    out[i, k] += unseen[j, k]
    return rows


@kernel
def add_step_scores(
    X: NDArray[Any], cuts: Array, start: NDArray[np.int64], table: Array, missing: bool, out: Array
) -> int:
    """Add Σ_j table[bin of x_j, k]; the bin is the number of cuts ≤ x. Feature j has the rows from start[j] + j on.

    NaN adds nothing if values may be `missing`; otherwise it ends the loop within its row, as ±∞ does. Returns the
    number of rows scored.
    """
    rows, d = X.shape
    K = table.shape[1]
    for i in range(rows):
        for j in range(d):
            x = np.float64(X[i, j])
            if not np.isfinite(x):
                if x == x or not missing:
                    return i
                continue
            low, high = start[j], start[j + 1]
            while high - low > MAX_LINEAR_SEARCH_CUTS:
                middle = (low + high) // 2
                if x >= cuts[middle]:
                    low = middle + 1
                else:
                    high = middle
            at = low + j
            for c in range(low, high):  # without a branch that could be mispredicted
                at += x >= cuts[c]
            for k in range(K):
                out[i, k] += table[at, k]
    return rows


@kernel
def normalise(joint: Array, log_prior: Array, logarithm: bool) -> int:
    """Convert ln p(x, k) to p(k|x), or its logarithm, in place; to the prior where every class is impossible.

    Returns the number of such rows, or −1 at a score that is NaN or +∞.
    """
    rows, K = joint.shape
    impossible = 0
    for i in range(rows):
        top = joint[i, 0]
        for k in range(1, K):
            top = max(top, joint[i, k])
        if top == -np.inf:
            impossible += 1
            for k in range(K):
                joint[i, k] = log_prior[k] if logarithm else np.exp(log_prior[k])
            continue
        total = 0.0
        if logarithm:
            for k in range(K):
                total += np.exp(joint[i, k] - top)
            if not total >= 1.0:
                return -1
            log_total = np.log(total)
            for k in range(K):
                joint[i, k] = (joint[i, k] - top) - log_total
        else:
            for k in range(K):
                joint[i, k] = np.exp(joint[i, k] - top)
                total += joint[i, k]
            if not total >= 1.0:
                return -1
            for k in range(K):
                joint[i, k] /= total
    return impossible


@kernel
def compute_log_densities(joint: Array, out: Array) -> int:
    """Write ln p(x) = ln Σ_k p(x, k) of each row to `out`, −∞ for impossible rows; return −1 at NaN or +∞, else 0."""
    rows, K = joint.shape
    for i in range(rows):
        top = joint[i, 0]
        for k in range(1, K):
            top = max(top, joint[i, k])
        out[i] = -np.inf
        if top != -np.inf:
            total = 0.0
            for k in range(K):
                total += np.exp(joint[i, k] - top)
            if not total >= 1.0:
                return -1
            out[i] = top + np.log(total)
        elif np.isnan(joint[i]).any():  # the maximum of −∞ and NaN is either, by their order
            return -1
    return 0


@kernel
def find_best_classes(joint: Array, log_prior: Array, out: NDArray[np.intp]) -> int:
    """Write argmax_k of each row to `out`, the first of equals; that of the prior where every class is impossible.

    Returns the number of such rows, or −1 at a score that is NaN or +∞.
    """
    rows, K = joint.shape
    largest_prior, impossible = np.argmax(log_prior), 0
    has_nan = False
    for i in range(rows):
        best = 0
        top = joint[i, 0]
        for k in range(1, K):
            if joint[i, k] > top:
                top = joint[i, k]
                best = k
            has_nan = has_nan or joint[i, k] != joint[i, k]
        if has_nan or not top < np.inf:
            return -1
        out[i] = best
        if top == -np.inf:
            impossible += 1
            out[i] = largest_prior
    return impossible


@kernel
def score_posteriors(
    scores: Array, truth: NDArray[np.int32], w: Array, known: NDArray[np.bool_], edges: Array,
    confusion: Array, unknown: Array, bins: Array, squares: Array, rows: NDArray[np.int64], losses: Array,
) -> bool:  # fmt: skip
    """Add rows of ln p(k|x) to the sums of a `Scorecard`, which describes them; write the losses of each row (n×2).

    A loss without a value is NaN. `w` is empty where all rows weigh one; `known` has one line, or one for each row.
    Returns False at NaN. It is one long loop because all results of a row need the same few numbers.
    """
    n, K = scores.shape
    B = bins.shape[1]
    for i in range(n):
        predicted = 0
        top = scores[i, 0]
        has_nan = top != top
        for k in range(1, K):
            s = scores[i, k]
            has_nan = has_nan or s != s
            if s > top:
                top = s
                predicted = k
        if has_nan:
            return False
        wi = w[i] if len(w) else 1.0
        t = truth[i]
        has_truth = t >= 0 and known[i if len(known) > 1 else 0, t]
        confidence = np.exp(top)
        b = min(B - 1, int(confidence * B))
        while b > 0 and confidence <= edges[b - 1]:
            b -= 1
        while b < B - 1 and confidence > edges[b]:
            b += 1
        bins[0, b] += wi
        bins[1, b] += wi * confidence
        squares[0] += wi * wi
        losses[i, 0] = np.nan
        losses[i, 1] = np.nan
        rows[0] += 1
        if not has_truth:
            rows[1] += 1
            unknown[t if t >= 0 else K, predicted] += wi
            continue
        confusion[t, predicted] += wi
        bins[2, b] += wi if predicted == t else 0.0
        total = 0.0
        for k in range(K):
            s = scores[i, k]
            if k == t:
                gap = np.expm1(s)
                total += gap * gap
            elif s > NEGLIGIBLE_LOG_PROBABILITY:
                p = np.exp(s)
                total += p * p
        losses[i, 1] = total
        squares[2] += wi * wi
        if scores[i, t] == -np.inf:
            rows[2] += 1
        else:
            losses[i, 0] = max(-scores[i, t], 0.0)
            squares[1] += wi * wi
    return True
