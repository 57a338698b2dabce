"""Kernels that estimate the scale of each column and class from a few rows, by which outliers are recognised."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.kernels.execution import kernel
from deciban.ledger.moments import MAX_EXACT_ROWS, MAX_SQUARE_RATIO

SCALE_ROWS = 16
"""Rows of a class from which its scales are estimated."""

MAX_SCALE_DEVIATIONS = 8
"""Number of nonzero deviations, the smallest of which is the scale where all rows of the sample are equal."""


@kernel
def find_scales(X: NDArray[Any], codes: Codes, w: Array, centre: Array, limit: Array) -> None:
    """Write the median (`centre`) and the largest mean square for plain sums (`limit`), both K×d, from a few rows.

    As in `ledger/moments.py` the scale is the lower quartile of the nonzero deviations from the median.
    Where the few rows are all equal, the first rows that differ determine the scale.
    """
    K, d = centre.shape
    chosen = np.empty((K, SCALE_ROWS), dtype=np.int64)
    n_chosen, all_chosen = _choose_rows(codes, w, chosen)
    values = np.empty(SCALE_ROWS)
    constant = np.zeros(d, dtype=np.bool_)
    for k in range(K):
        for j in range(d):
            m = 0
            for r in range(n_chosen[k]):
                x = np.float64(X[chosen[k, r], j])
                if x - x == 0.0:
                    at = m
                    while at > 0 and values[at - 1] > x:
                        values[at] = values[at - 1]
                        at -= 1
                    values[at] = x
                    m += 1
            centre[k, j] = values[(m - 1) // 2] if m else np.nan
            scale = _lower_quartile(values, m)
            limit[k, j] = MAX_SQUARE_RATIO * scale * scale if n_chosen[k] > MAX_EXACT_ROWS else 0.0
            if scale == 0.0 and not all_chosen[k]:
                limit[k, j] = -1.0
                constant[j] = True
    if constant.any():
        _find_scales_of_constant(X, codes, w, np.flatnonzero(constant), centre, limit)
    for k in range(K):
        for j in range(d):
            centre[k, j] = centre[k, j] if centre[k, j] - centre[k, j] == 0.0 else 0.0


@kernel
def _choose_rows(codes: Codes, w: Array, chosen: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Write the numbers of some rows of each class, of positive weight, to `chosen`, K × the greatest number.

    Returns how many were chosen of each class, and whether these are all.
    """
    rows, (K, max_rows) = len(codes), chosen.shape
    n_chosen, lacking = np.zeros(K, dtype=np.int64), K
    step = max(1, int(0.618 * rows))
    while np.gcd(step, rows) > 1:
        step += 1
    i, probes = 0, 0
    while lacking and probes < min(rows, 4 * max_rows * K):
        k = codes[i]
        if n_chosen[k] < max_rows and (len(w) == 0 or w[i] > 0.0):
            chosen[k, n_chosen[k]] = i
            n_chosen[k] += 1
            lacking -= n_chosen[k] == max_rows
        i += step
        i -= rows if i >= rows else 0
        probes += 1
    if not lacking:
        return n_chosen, np.zeros(K, dtype=np.bool_)
    total, seen = np.zeros(K, dtype=np.int64), np.zeros(K, dtype=np.int64)
    for i in range(rows):
        total[codes[i]] += 1 if len(w) == 0 or w[i] > 0.0 else 0
    n_chosen[:] = 0
    for i in range(rows):
        k = codes[i]
        if len(w) and w[i] == 0.0:
            continue
        if n_chosen[k] < max_rows and seen[k] * max_rows >= n_chosen[k] * total[k]:
            chosen[k, n_chosen[k]] = i
            n_chosen[k] += 1
        seen[k] += 1
    return n_chosen, n_chosen == total


@kernel
def _lower_quartile(ordered: Array, m: int) -> float:
    """Return the lower quartile of the nonzero deviations of m sorted numbers from their median; 0 if none."""
    middle = (m - 1) // 2
    low, high = middle, middle
    while low >= 0 and ordered[low] == ordered[middle]:
        low -= 1
    while high < m and ordered[high] == ordered[middle]:
        high += 1
    left = low + 1 + m - high
    found = 0.0
    for _ in range((left - 1) // 4 + 1 if left else 0):
        if high >= m or (low >= 0 and ordered[middle] - ordered[low] <= ordered[high] - ordered[middle]):
            found = ordered[middle] - ordered[low]
            low -= 1
        else:
            found = ordered[high] - ordered[middle]
            high += 1
    return found


@kernel
def _find_scales_of_constant(
    X: NDArray[Any], codes: Codes, w: Array, columns: NDArray[np.int64], centre: Array, limit: Array
) -> None:
    """Set the limits that are still negative, from the smallest of the first few nonzero deviations.

    A centre that is NaN becomes the first value of its class.
    """
    found = np.zeros(limit.shape, dtype=np.int64)
    for i in range(len(X)):
        k = codes[i]
        if len(w) and w[i] == 0.0:
            continue
        for j in columns:
            if limit[k, j] < 0.0 and found[k, j] < MAX_SCALE_DEVIATIONS:
                if centre[k, j] != centre[k, j]:
                    centre[k, j] = X[i, j]
                gap = abs(np.float64(X[i, j]) - centre[k, j])
                if gap > 0.0 and gap - gap == 0.0:
                    square = -MAX_SQUARE_RATIO * gap * gap
                    limit[k, j] = square if found[k, j] == 0 else max(square, limit[k, j])
                    found[k, j] += 1
    for k in range(len(limit)):
        for j in columns:
            limit[k, j] = abs(limit[k, j]) if found[k, j] or limit[k, j] > 0.0 else 0.0
