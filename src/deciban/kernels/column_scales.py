"""Kernels that estimate the scale of each column and class from a few rows, by which outliers are recognised."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.kernels.execution import kernel
from deciban.ledger.moments import MAX_EXACT_ROWS, MAX_SQUARE_RATIO

SCALE_ROWS = 24
"""Rows of a class from which its scales are estimated: by 16, one Gaussian column in 5000 would have outliers."""

MAX_SCALE_DEVIATIONS = 8
"""Number of nonzero deviations, the smallest of which is the scale where all rows of the sample are equal."""


@kernel
def choose_rows(codes: Codes, w: Array, step: int, chosen: NDArray[np.int64], numbers: NDArray[np.int64]) -> None:
    """Write the numbers of some rows of each class, of positive weight, to `chosen`, K × the greatest number.

    `numbers` (2×K) receives how many were chosen of each class, and how many there are, or −1 if that is not known:
    the rows are probed at every `step`-th place, and all of them are read only if a class is rare.
    """
    rows, (K, max_rows), lacking = len(codes), chosen.shape, len(chosen)
    for k in range(K):
        numbers[0, k], numbers[1, k] = 0, -1
    i, probes = 0, 0
    while lacking and probes < min(rows, 4 * max_rows * K):
        k = codes[i]
        if numbers[0, k] < max_rows and (len(w) == 0 or w[i] > 0.0):
            chosen[k, numbers[0, k]] = i
            numbers[0, k] += 1
            lacking -= 1 if numbers[0, k] == max_rows else 0
        i += step
        i -= rows if i >= rows else 0
        probes += 1
    if not lacking:
        return
    seen = np.zeros(K, dtype=np.int64)
    for k in range(K):
        numbers[0, k], numbers[1, k] = 0, 0
    for i in range(rows):
        numbers[1, codes[i]] += 1 if len(w) == 0 or w[i] > 0.0 else 0
    for i in range(rows):
        k = codes[i]
        if len(w) and w[i] == 0.0:
            continue
        if numbers[0, k] < max_rows and seen[k] * max_rows >= numbers[0, k] * numbers[1, k]:
            chosen[k, numbers[0, k]] = i
            numbers[0, k] += 1
        seen[k] += 1


@kernel
def find_scales(
    X: NDArray[Any], chosen: NDArray[np.int64], numbers: NDArray[np.int64], centre: Array, limit: Array
) -> bool:
    """Write the median (`centre`) and the largest mean square for plain sums (`limit`), both K×d, of chosen rows.

    As in `ledger/moments.py` the scale is the lower quartile of the nonzero deviations from the median; a median of
    no finite values is NaN. Where the chosen rows of a class are equal, but not all of its rows, the limit is −1.
    Returns whether there are such.
    """
    values, has_constant = np.empty(SCALE_ROWS), False
    for k in range(len(chosen)):
        for j in range(X.shape[1]):
            m = 0
            for r in range(numbers[0, k]):
                x = np.float64(X[chosen[k, r], j])
                if x - x == 0.0:
                    at = m
                    while at > 0 and values[at - 1] > x:
                        values[at] = values[at - 1]
                        at -= 1
                    values[at] = x
                    m += 1
            centre[k, j] = values[(m - 1) // 2] if m else np.nan
            scale = _lower_quartile(values, np.int64(m))
            limit[k, j] = MAX_SQUARE_RATIO * scale * scale if numbers[0, k] > MAX_EXACT_ROWS else 0.0
            if scale == 0.0 and numbers[0, k] != numbers[1, k]:
                limit[k, j] = -1.0
                has_constant = True
    return has_constant


@kernel
def _lower_quartile(ordered: Array, m: Any) -> float:
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
def find_scales_of_constant(X: NDArray[Any], codes: Codes, w: Array, centre: Array, limit: Array) -> None:
    """Set the limits that are negative, from the smallest of the first few nonzero deviations; 0 if there are none.

    A centre that is NaN becomes the first value of its class.
    """
    columns = np.flatnonzero((limit < 0.0).sum(axis=0))
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
