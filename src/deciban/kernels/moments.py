"""Kernels that fill the moments of a block of dense rows, and that centre rows for their scatter.

Those that check values return False, or a row of −1, when they meet one that they cannot sum (±∞, and NaN unless they
leave it out); then the caller uses the definition in NumPy, which handles or reports it. The check costs nothing: it
reads sums that are computed anyway.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.kernels.double_double import add, divide, multiply, two_sum
from deciban.kernels.execution import kernel
from deciban.ledger.moments import MAX_NEAR_DEVIATION, MAX_SQUARE_RATIO, PAIR_ROUNDING_FRACTION

MomentArrays = tuple[Array, Array, Array, Array, Array, Array]
"""The arrays of `Moments`: weight, mean, rest of the mean, squares, rest of the weight, rest of the squares."""

SUM_BLOCK_BYTES = 1 << 19
"""Plain sums are taken over blocks of this size, which have so few rows that an outlier among them shows."""

LANES = 2
"""Number of sets of sums between which the rows of a single column alternate; a power of two."""

FIRST_LANE_ROWS, MAX_LANE_ROWS = 8, 1 << 14
"""Rows of a class that each lane sums before the lanes are merged: initially, and at most."""

MAX_NEAR_SQUARE = MAX_NEAR_DEVIATION**2
"""Values whose squared deviation exceeds this many times the squared scale are summed in pairs of doubles."""


@kernel
def sum_blocks(
    X: NDArray[Any], codes: Codes, w: Array, centre: Array, limit: Array, start: int, block: int, here: Array,
    weight: Array, part: Array, sums: Array, lows: Array,
) -> int:  # fmt: skip
    """Add w, w (x − c) and w (x − c)² of the rows from `start` on to pairs of doubles, a block of rows at a time.

    `weight` (2×K) are both halves of the weights; `sums` and `lows` (2×K×d) the halves of the other sums. Where the
    squares of a column in a block are too large relative to its scale, the block has an outlier: its sums are left in
    `here` (K) and `part` (2×K×d), and its first row is returned. Returns the number of rows after the last block, −1
    at a value that is not finite. `w` is empty where all rows weigh one.
    """
    for first in range(start, len(X), block):
        stop = first + block
        _sum_block(X[first:stop], codes[first:stop], w[first:stop], centre, here, weight, part[0], part[1])
        is_finite, is_wide = _find_wide_columns(here, part, limit, np.zeros(limit.shape[1], dtype=np.bool_))
        if not is_finite:
            return -1
        if is_wide:
            return first
        _add_part(len(w) == 0, here, weight, part, sums, lows)
    return len(X)


@kernel
def _sum_block(
    X: NDArray[Any], codes: Codes, w: Array, mean: Array, here: Array, weight: Array, drift: Array, squares: Array
) -> None:
    """Add w, w (x − mean) and w (x − mean)² of a block of rows; given weights are also summed in pairs of doubles."""
    for i in range(len(X)):
        k = codes[i]
        wi = w[i] if len(w) else 1.0
        if wi == 0.0:
            continue
        here[k] += wi
        if len(w):
            weight[0, k], low = two_sum(weight[0, k], wi)
            weight[1, k] += low
        for j in range(X.shape[1]):
            gap = X[i, j] - mean[k, j]
            drift[k, j] += wi * gap
            squares[k, j] += wi * gap * gap


@kernel
def _find_wide_columns(here: Array, part: Array, limit: Array, wide: NDArray[np.bool_]) -> tuple[bool, bool]:
    """Mark the columns whose squares in a block are above their limit; return whether sums are finite, and any is."""
    is_wide, non_finite = False, 0.0
    for k in range(len(here)):
        for j in range(len(wide)):
            wide[j] |= part[1, k, j] > here[k] * limit[k, j]
            is_wide |= wide[j]
            non_finite += part[0, k, j] - part[0, k, j]
    return non_finite == 0.0, is_wide


@kernel
def _add_part(unit: bool, here: Array, weight: Array, part: Array, sums: Array, lows: Array) -> None:
    """Add the sums of a block to those of all rows, in pairs of doubles, and reset them; `unit`: its weights too."""
    for k in range(len(here)):
        if here[k] > 0.0:
            weight[0, k] += here[k] if unit else 0.0
            here[k] = 0.0
            for s in range(2):
                for j in range(part.shape[2]):
                    sums[s, k, j], error = two_sum(sums[s, k, j], part[s, k, j])
                    lows[s, k, j] += error
                    part[s, k, j] = 0.0


@kernel
def sum_blocks_with_outliers(
    X: NDArray[Any], codes: Codes, w: Array, centre: Array, limit: Array, start: int, block: int, here: Array,
    weight: Array, part: Array, sums: Array, lows: Array,
) -> int:  # fmt: skip
    """Go on after `sum_blocks` has stopped at `start`: wide columns of a block are summed in pairs of doubles.

    Arguments and result are those of `sum_blocks`; `here` and `part` have the sums of the first block already.
    """
    wide = np.empty(limit.shape[1], dtype=np.bool_)
    for first in range(start, len(X), block):
        stop = first + block
        x, k_of, w_of = X[first:stop], codes[first:stop], w[first:stop]
        if first > start:
            _sum_block(x, k_of, w_of, centre, here, weight, part[0], part[1])
        wide[:] = False
        is_finite, _ = _find_wide_columns(here, part, limit, wide)
        if not is_finite:
            return -1
        columns = np.flatnonzero(wide)
        exact = np.zeros((6, len(centre), len(columns)))
        sum_exactly(x, k_of, w_of, columns, centre, limit, exact)
        for s in range(2):
            for k in range(len(centre)):
                for c in range(len(columns)):
                    part[s, k, columns[c]] = exact[2 + 2 * s, k, c]
                    lows[s, k, columns[c]] += exact[3 + 2 * s, k, c]
        _add_part(len(w) == 0, here, weight, part, sums, lows)
    return len(X)


@kernel
def sum_exactly(
    X: NDArray[Any], codes: Codes, w: Array, columns: NDArray[np.int64], centre: Array, limit: Array, sums: Array
) -> None:
    """Sum w, w (x − centre) and w (x − centre)² over some columns, K×m each, in pairs of doubles; NaN is left out.

    Values near the centre are first summed in plain doubles.
    """
    m, K = len(columns), len(centre)
    if m == 0:
        return
    c, most = np.empty((K, m)), np.empty((K, m))
    for k in range(K):  # one by one: slices would take seconds to compile
        for j in range(m):
            c[k, j] = centre[k, columns[j]]
            most[k, j] = limit[k, columns[j]] * (MAX_NEAR_SQUARE / MAX_SQUARE_RATIO)
    near = np.zeros((2, K, m))
    for i in range(len(X)):
        k = codes[i]
        wi = w[i] if len(w) else 1.0
        if wi == 0.0:
            continue
        for j in range(m):
            x = np.float64(X[i, columns[j]])
            if x != x:
                continue
            gap = x - c[k, j]
            if len(w):
                sums[0, k, j], low = two_sum(sums[0, k, j], wi)
                sums[1, k, j] += low
            else:
                sums[0, k, j] += 1.0
            if gap * gap <= most[k, j]:
                near[0, k, j] += wi * gap
                near[1, k, j] += wi * gap * gap
                continue
            gap, low = two_sum(x, -c[k, j])
            p, p_low = multiply(gap, low, wi, 0.0)
            q, q_low = multiply(p, p_low, gap, low)
            sums[2, k, j], sums[3, k, j] = add(sums[2, k, j], sums[3, k, j], p, p_low)
            sums[4, k, j], sums[5, k, j] = add(sums[4, k, j], sums[5, k, j], q, q_low)
    for k in range(K):
        for j in range(m):
            sums[0, k, j], sums[1, k, j] = two_sum(sums[0, k, j], sums[1, k, j])
            sums[2, k, j], sums[3, k, j] = add(sums[2, k, j], sums[3, k, j], near[0, k, j], 0.0)
            sums[4, k, j], sums[5, k, j] = add(sums[4, k, j], sums[5, k, j], near[1, k, j], 0.0)


@kernel
def fill_moments_with_missing(X: NDArray[Any], codes: Codes, w: Array, moments: MomentArrays) -> bool:
    """Fill weight and mean in two parts and centred squares, all K×d, of a block of rows without outliers.

    NaN is left out. Returns False at ±∞.
    """
    n, mean, rest, m2, n_rest, _ = moments
    rows, d = X.shape
    for i in range(rows):
        k = codes[i]
        wi = w[i] if len(w) else 1.0
        for j in range(d):
            x = np.float64(X[i, j])
            known = x == x
            n[k, j], low = two_sum(n[k, j], wi if known else 0.0)
            n_rest[k, j] += low
            mean[k, j] += wi * x if known else 0.0
    for k in range(n.shape[0]):
        for j in range(d):
            n[k, j], n_rest[k, j] = two_sum(n[k, j], n_rest[k, j])
            if n[k, j] > 0:
                mean[k, j] /= n[k, j]
                if not np.isfinite(mean[k, j]):
                    return False
    for i in range(rows):
        k = codes[i]
        wi = w[i] if len(w) else 1.0
        for j in range(d):
            x = np.float64(X[i, j])
            gap = x - mean[k, j] if x == x else 0.0
            rest[k, j] += wi * gap
            m2[k, j] += wi * gap * gap
    for k in range(n.shape[0]):
        for j in range(d):
            if n[k, j] > 0:
                rest[k, j] /= n[k, j]
                m2[k, j] = max(m2[k, j] - n[k, j] * rest[k, j] * rest[k, j], 0.0)
    return True


@kernel
def fill_column(x: NDArray[Any], codes: Codes, w: Array, skips: bool, limit: Array, moments: MomentArrays) -> bool:
    """Fill the moments of a single column, all K×1, whose mean is its centre so far; NaN is left out if `skips`.

    Rows alternate between `LANES` sets of sums, so that an addition does not wait for the one before where a class
    has long runs. The sums of a class are merged whenever the number of its rows has about doubled, and at an
    outlier, which is merged alone, in pairs of doubles. Returns False at a value that is not finite.
    """
    n, mean = moments[0], moments[1]
    K = len(n)
    most = limit * (MAX_NEAR_SQUARE / MAX_SQUARE_RATIO)
    lane_rows = np.full(K, FIRST_LANE_ROWS)
    lanes = np.zeros((K, LANES, 4))
    far, far_low = np.zeros((2, 1)), np.zeros((2, 1))
    i = _add_to_lanes(x, codes, w, skips, mean, most, lanes)
    while i < len(x):
        xi, k = np.float64(x[i]), np.uint32(codes[i])
        gap = xi - mean[k, 0]
        is_far = gap * gap > most[k, 0]  # as in `_add_to_lanes`, to the bit: else the loop would not end
        if not _merge_lanes(len(w) == 0, lanes, lane_rows, moments, k):
            return False
        if is_far:
            gap, low = two_sum(xi, -mean[k, 0])
            wi = w[i] if len(w) else 1.0
            far[0, 0], far_low[0, 0] = multiply(gap, low, wi, 0.0)
            far[1, 0], far_low[1, 0] = multiply(far[0, 0], far_low[0, 0], gap, low)
            if not _merge_sums((wi, 0.0), (far[0], far_low[0]), (far[1], far_low[1]), moments, k):
                return False
            i += 1
        i += _add_to_lanes(x[i:], codes[i:], w[i:], skips, mean, most, lanes)
    fine = True
    for each in range(K):
        fine &= _merge_lanes(len(w) == 0, lanes, lane_rows, moments, each)
        if n[each, 0] == 0.0:
            mean[each] = 0.0
    return fine


@kernel
def _add_to_lanes(
    x: NDArray[Any], codes: Codes, w: Array, skips: bool, mean: Array, most: Array, lanes: Array
) -> int:
    """Add rows to the lanes of their classes, up to an outlier, or a row whose lane takes no more before a merge.

    Returns the number of rows before that one. A lane has the number of rows that it still takes, Σ w,
    Σ w (x − mean) and Σ w (x − mean)²; without weights, Σ w is that number at the last merge, less the present one.
    One sum less takes a seventh of the time away, and a loop without code for merges a third.
    """
    for i in range(len(x)):
        xi = np.float64(x[i])
        wi = w[i] if len(w) else 1.0
        if wi == 0.0 or (skips and xi != xi):
            continue
        k, lane = np.uint32(codes[i]), i & (LANES - 1)
        gap = xi - mean[k, 0]
        if gap * gap > most[k, 0] or lanes[k, lane, 0] == 0.0:
            return i
        lanes[k, lane, 0] -= 1.0  # no view of the four: its reference counting would take longer than the rest
        if len(w):
            lanes[k, lane, 1] += wi
        lanes[k, lane, 2] += wi * gap
        lanes[k, lane, 3] += wi * gap * gap
    return len(x)


@kernel
def _merge_lanes(unit: bool, lanes: Array, lane_rows: NDArray[np.int64], moments: MomentArrays, k: Any) -> bool:
    """Merge the lanes of class k into its moments, reset them, and double the rows until the next merge.

    `unit`: all rows weigh one. Returns False where the sums are not finite.
    """
    here, drift, squares = np.zeros(2), np.zeros((2, 1)), np.zeros((2, 1))
    for lane in range(LANES):
        here[0], low = two_sum(here[0], lanes[k, lane, 1] - (lanes[k, lane, 0] if unit else 0.0))
        here[1] += low
        drift[0, 0] += lanes[k, lane, 2]
        squares[0, 0] += lanes[k, lane, 3]
        lanes[k, lane] = 0.0
        lanes[k, lane, 0] = lane_rows[k]
        lanes[k, lane, 1] = lane_rows[k] if unit else 0.0
    if here[0] == 0.0:
        return True
    lane_rows[k] = min(2 * lane_rows[k], MAX_LANE_ROWS)
    return _merge_sums((here[0], here[1]), (drift[0], drift[1]), (squares[0], squares[1]), moments, k)


@kernel
def _merge_sums(
    weight: tuple[float, float], drift_pair: tuple[Array, Array], squares_pair: tuple[Array, Array],
    moments: MomentArrays, k: Any,
) -> bool:  # fmt: skip
    """Add the sums of class k about its mean so far to its moments, as `Moments.__add__` does, and reset them to 0.

    Returns False where they are not finite.
    """
    (w, w_low), (drift, drift_low), (squares, squares_low) = weight, drift_pair, squares_pair
    n, n_rest = moments[0][k], moments[4][k]
    mean, rest, m2, m2_rest = moments[1][k], moments[2][k], moments[3][k], moments[5][k]
    total, total_low = add(n[0], n_rest[0], w, w_low)
    inverse, inverse_low = divide(1.0, 0.0, w, w_low)
    share, share_low = divide(w, w_low, total, total_low)
    pull, pull_low = multiply(n[0], n_rest[0], share, share_low)
    non_finite = 0.0
    for j in range(len(mean)):
        drift[j], drift_low[j] = two_sum(drift[j], drift_low[j])
        squares[j], squares_low[j] = two_sum(squares[j], squares_low[j])
        shift, shift_low = multiply(drift[j], drift_low[j], inverse, inverse_low)
        p, p_low = multiply(drift[j], drift_low[j], shift, shift_low)
        inner, inner_low = add(squares[j], squares_low[j], -p, -p_low)
        nothing = inner <= PAIR_ROUNDING_FRACTION * squares[j]  # false if it overflowed
        inner, inner_low = 0.0 if nothing else inner, 0.0 if nothing else inner_low
        gap, gap_low = add(shift, shift_low, -rest[j], 0.0)
        p, p_low = multiply(gap, gap_low, share, share_low)
        mean[j], rest[j] = add(mean[j], rest[j], p, p_low)
        p, p_low = multiply(gap, gap_low, gap, gap_low)
        p, p_low = multiply(p, p_low, pull, pull_low)
        inner, inner_low = add(inner, inner_low, p, p_low)
        m2[j], m2_rest[j] = add(m2[j], m2_rest[j], inner, inner_low)
        non_finite += shift - shift
        drift[j] = drift_low[j] = squares[j] = squares_low[j] = 0.0
    n[0], n_rest[0] = total, total_low
    return non_finite == 0.0


@kernel
def centre_rows(X: NDArray[Any], codes: Codes, w: Array, mean: Array, start: NDArray[np.int64], out: Array) -> None:
    """Group the rows by class in `out`, minus the class mean, times √w; class k begins at row `start[k]`."""
    place = start.copy()
    for i in range(X.shape[0]):
        k = codes[i]
        root = np.sqrt(w[i]) if len(w) else 1.0
        for j in range(X.shape[1]):
            out[place[k], j] = root * (X[i, j] - mean[k, j])
        place[k] += 1


@kernel
def centre_near_values(
    X: NDArray[Any], codes: Codes, w: Array, centre: Array, limit: Array, start: NDArray[np.int64], out: Array,
    products: Array, products_low: Array,
) -> None:  # fmt: skip
    """Write √w (x − centre) to `out`, by class, with zero for outliers; sum products of outliers in pairs of doubles.

    `products` (K×d×d) receives a matrix whose sum with its transpose is Σ w (x_i − c_i)(x_j − c_j) over
    the rows in which at least one of the two values is an outlier.
    """
    d = X.shape[1]
    place = start.copy()
    gap, low, far = np.empty(d), np.empty(d), np.empty(d, dtype=np.int64)
    for i in range(X.shape[0]):
        k = codes[i]
        wi = w[i] if len(w) else 1.0
        root = np.sqrt(wi)
        m = 0
        for j in range(d):
            gap[j], low[j] = two_sum(np.float64(X[i, j]), -centre[k, j])
            out[place[k], j] = root * gap[j]
            if gap[j] * gap[j] * MAX_SQUARE_RATIO > MAX_NEAR_SQUARE * limit[k, j]:
                out[place[k], j] = 0.0
                far[m] = j
                m += 1
        place[k] += 1
        for a in range(m if wi > 0.0 else 0):
            j = far[a]
            p, p_low = multiply(gap[j], low[j], wi, 0.0)
            for b in range(m):  # pairs of two outliers occur twice
                gap[far[b]] *= 0.5
                low[far[b]] *= 0.5
            for c in range(d):
                q, q_low = multiply(p, p_low, gap[c], low[c])
                products[k, j, c], products_low[k, j, c] = add(products[k, j, c], products_low[k, j, c], q, q_low)
            for b in range(m):
                gap[far[b]] *= 2.0
                low[far[b]] *= 2.0
