"""Loops that fill a statistic from a block of dense rows.

Each returns False when it meets a value that it cannot count (NaN, ±∞, or negative where that has no
meaning); then the caller goes through the definition, which knows what to do or to say. The check costs
nothing of its own: it reads the sums that are made anyway.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.kernels.compile import kernel

Array = NDArray[np.float64]
Codes = NDArray[np.int32]

BLOCK_BYTES = 1 << 18
"""After this much data the sums are taken about the new mean."""

LANES = 2
"""Sets of sums that the rows of a single column take turns in; a power of two."""

FIRST_TURNS, MOST_TURNS = 8, 1 << 14
"""Rows of a class that each lane adds up before they are merged: at first, and at most."""


@kernel
def fill_moments(X: NDArray[Any], codes: Codes, w: Array, n: Array, mean: Array, rest: Array, m2: Array) -> bool:
    """Weight (K,), mean in two parts and centred squares (K×d) of the rows; `w` is empty where all weigh one.

    One pass: sums of x − c and (x − c)², c the class's first row, and from the second block on its mean so far;
    blocks merged by Chan's update. Sums about a number this close to the mean lose no digits that count: what c
    lies off the mean of a block is part of the variance between blocks.
    """
    rows, d = X.shape
    K = len(n)
    block = max(64, BLOCK_BYTES // max(1, d * X.itemsize))
    here = np.zeros(K)
    drift = np.zeros((K, d))
    squares = np.zeros((K, d))
    for start in range(0, rows, block):
        for i in range(start, min(rows, start + block)):
            k = codes[i]
            wi = w[i] if len(w) else 1.0
            if wi == 0.0:
                continue
            if n[k] + here[k] == 0.0:
                for j in range(d):
                    mean[k, j] = X[i, j]
            here[k] += wi
            for j in range(d):
                gap = X[i, j] - mean[k, j]
                drift[k, j] += wi * gap
                squares[k, j] += wi * gap * gap
        for k in range(K):
            if here[k] > 0:
                if not _merge(here[k], drift[k], squares[k], n[k], mean[k], rest[k], m2[k]):
                    return False
                n[k] += here[k]
                here[k] = 0.0
    return True


@kernel
def fill_column(
    x: NDArray[Any], codes: Codes, w: Array, skips: bool, n: Array, mean: Array, rest: Array, m2: Array
) -> bool:
    """What `fill_moments` gives, of a single column: K and K×1; NaN is left out where that `skips` it.

    Rows take turns in `LANES` sets of sums, lest each addition wait for the one before where a class has long runs.
    The sums of a class are merged whenever its rows have about doubled: those about a first row that lies far out
    are then few, and lose no digits (a block of 32 768 about such a row loses six).
    """
    K = len(n)
    turns = np.full(K, FIRST_TURNS)
    lanes = np.zeros((K, LANES, 4))  # turns left, Σ w, Σ w (x − mean), Σ w (x − mean)²
    for i in range(len(x)):
        xi = np.float64(x[i])
        wi = w[i] if len(w) else 1.0
        if wi == 0.0 or (skips and xi != xi):
            continue
        k, lane = np.uint32(codes[i]), i & (LANES - 1)
        if lanes[k, lane, 0] == 0.0 and not _settle(
            lanes[k], turns[k : k + 1], xi, n[k : k + 1], mean[k], rest[k], m2[k]
        ):
            return False
        gap = xi - mean[k, 0]
        lanes[k, lane, 0] -= 1.0  # no view of the four: counting references to it takes longer than all the rest
        lanes[k, lane, 1] += wi
        lanes[k, lane, 2] += wi * gap
        lanes[k, lane, 3] += wi * gap * gap
    whole = True
    for each in range(K):
        whole &= _settle(
            lanes[each], turns[each : each + 1], 0.0, n[each : each + 1], mean[each], rest[each], m2[each]
        )
    return whole


@kernel
def _settle(lanes: Array, turns: NDArray[np.int64], x: float, n: Array, mean: Array, rest: Array, m2: Array) -> bool:
    """Merge the sums of one class, which may then go on for twice as long; about `x` where there are none yet."""
    here, drift, squares = 0.0, np.zeros(1), np.zeros(1)
    for lane in range(LANES):
        here += lanes[lane, 1]
        drift[0] += lanes[lane, 2]
        squares[0] += lanes[lane, 3]
        lanes[lane] = 0.0
        lanes[lane, 0] = turns[0]
    if here == 0.0:
        mean[0] = x
        return True
    turns[0] = min(2 * turns[0], MOST_TURNS)
    whole = _merge(here, drift, squares, n[0], mean, rest, m2)
    n[0] += here
    return whole


@kernel
def _merge(w: float, drift: Array, squares: Array, n: float, mean: Array, rest: Array, m2: Array) -> bool:
    """Add sums of one class about its mean so far to its moments, as `Moments.__add__` does; they are zero again.

    Returns False where they are not finite.
    """
    share = w / (n + w)
    odd = 0.0
    for j in range(len(mean)):
        low = drift[j] / w
        inner = max(squares[j] - drift[j] * low, 0.0)
        gap = low - rest[j]
        step = gap * share
        moved = mean[j] + step
        back = moved - mean[j]
        lost = (mean[j] - (moved - back)) + (step - back) + rest[j]
        whole = moved + lost
        mean[j], rest[j] = whole, lost - (whole - moved)
        m2[j] += inner + gap * gap * (n * share)
        odd += low - low
        drift[j] = 0.0
        squares[j] = 0.0
    return odd == 0.0


@kernel
def centre_rows(X: NDArray[Any], codes: Codes, w: Array, mean: Array, start: NDArray[np.int64], out: Array) -> None:
    """The rows of each class together, less their class mean, times √w; class k from row `start[k]` on."""
    place = start.copy()
    for i in range(X.shape[0]):
        k = codes[i]
        root = np.sqrt(w[i]) if len(w) else 1.0
        for j in range(X.shape[1]):
            out[place[k], j] = root * (X[i, j] - mean[k, j])
        place[k] += 1


@kernel
def fill_counts(X: NDArray[Any], codes: Codes, w: Array, threshold: float, total: Array) -> bool:
    """Σ w [x > threshold], or Σ w x where the threshold is NaN; K×d, added to `total`."""
    rows, d = X.shape
    K = total.shape[0]
    plain = np.isnan(threshold)
    odd = 0.0
    for i in range(rows):
        k = codes[i]
        wi = w[i] if len(w) else 1.0
        if plain:
            low = 0.0
            for j in range(d):
                x = wi * X[i, j]
                total[k, j] += x
                low = min(low, x)
            odd += low
        else:
            for j in range(d):
                x = np.float64(X[i, j])
                odd += x - x
                total[k, j] += wi if x > threshold else 0.0
    if odd != 0.0:
        return False
    for k in range(K):
        for j in range(d):
            if not np.isfinite(total[k, j]):
                return False
    return True


@kernel
def count_small(X: NDArray[Any], codes: Codes, threshold: int, total: NDArray[np.int64]) -> bool:
    """How often x > threshold, for unsigned bytes or Booleans of unit weight; K×d, added to `total`.

    Sixteen-bit counters in between: four times as many lanes as with doubles (200 000×784 bytes: see
    docs/benchmarks.md), emptied before they can overflow.
    """
    rows, d = X.shape
    K = total.shape[0]
    small = np.zeros((K, d), dtype=np.uint16)
    for start in range(0, rows, 65535):
        for i in range(start, min(rows, start + 65535)):
            k = codes[i]
            for j in range(d):
                small[k, j] += np.uint16(X[i, j] > threshold)
        for k in range(K):
            for j in range(d):
                total[k, j] += small[k, j]
                small[k, j] = 0
    return True


@kernel
def fill_levels(
    X: NDArray[Any], codes: Codes, w: Array, offset: NDArray[np.int64], missing: bool, table: Array
) -> int:
    """Σ w per class, feature and level code, side by side as in `Levels`.

    Stops with 1 at a code beyond the room that `offset` gives, with −1 at a negative code, unless negative
    codes stand for `missing` values.
    """
    rows, d = X.shape
    for i in range(rows):
        k = codes[i]
        wi = w[i] if len(w) else 1.0
        for j in range(d):
            v = np.int64(X[i, j])
            if v < 0:
                if not missing:
                    return -1
            elif v >= offset[j + 1] - offset[j]:
                return 1
            else:
                table[k, offset[j] + v] += wi
    return 0
