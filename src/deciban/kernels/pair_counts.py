"""Kernels of pairs of cells: their counts in each class (`ledger/pairs.py`), and scores averaged over parents."""

from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.kernels.execution import kernel


@kernel
def fill_pairs(X: NDArray[np.int16], codes: Codes, w: Array, single: Any, pair: Any) -> None:
    """Add the weight of each row to its cells in `single` (K×d×V) and to their pairs in `pair` (K×m×V×V).

    A pair of one class is counted at a time, in a table that stays in the cache; its first row and column are those
    of missing values. Without weights (none in `w`) the counts are integers, which is faster.
    """
    d, V = X.shape[1], single.shape[2]
    cells, weight, bounds = _sort_by_class(X, codes, w, len(single))
    width = np.uint32(V + 1)
    counts, sums = np.empty(width * width, dtype=np.int32), np.empty(width * width)
    for k in range(len(single)):
        own = slice(bounds[k], bounds[k + 1])
        m = 0
        for i in range(d if bounds[k] < bounds[k + 1] else 0):
            first, weights = cells[i, own], weight[own]
            for r in range(len(first)):
                if first[r] > 0:
                    single[k, i, first[r] - 1] += weights[r] if len(w) else 1.0
            for j in range(i + 1, d):
                second = cells[j, own]
                if len(w):
                    sums[:] = 0
                    for r in range(len(first)):
                        sums[width * first[r] + second[r]] += weights[r]
                    pair[k, m] += sums.reshape(V + 1, V + 1)[1:, 1:]
                else:
                    counts[:] = 0
                    for r in range(len(first)):
                        counts[width * first[r] + second[r]] += 1
                    pair[k, m] += counts.reshape(V + 1, V + 1)[1:, 1:]
                m += 1


@kernel
def _sort_by_class(
    X: NDArray[np.int16], codes: Codes, w: Array, K: int
) -> tuple[NDArray[np.uint16], Array, NDArray[np.int64]]:
    """Return cells plus one, d×n, and weights, both sorted by class, and the bounds of the classes (K+1)."""
    n, d = X.shape
    bounds = np.zeros(K + 1, dtype=np.int64)
    for k in codes:
        bounds[k + 1] += 1
    for k in range(K):
        bounds[k + 1] += bounds[k]
    place = bounds[:-1].copy()
    cells, weight = np.empty((d, n), dtype=np.uint16), np.empty(len(w))
    for r in range(n):
        at = place[codes[r]]
        place[codes[r]] += 1
        for j in range(d):
            cells[j, at] = max(X[r, j], -1) + 1
        if len(w):
            weight[at] = w[r]
    return cells, weight, bounds


@kernel
def add_averaged_scores(X: NDArray[np.int64], log_ratio: Array, out: Array) -> bool:
    """Add the scores of `AveragedEdges` to `out` (n×K); return whether all cells are below V."""
    K, d, V = log_ratio.shape[:3]
    sums = np.empty(d)
    for r in range(len(X)):
        for i in range(d):
            if X[r, i] >= V:
                return False
        for k in range(K):
            n, peak = 0, 0.0
            for i in range(d):
                a = X[r, i]
                if a < 0:
                    continue
                total = 0.0
                for j in range(d):
                    if X[r, j] >= 0:
                        total += log_ratio[k, i, a, j, X[r, j]]
                peak = max(peak, total) if n else total
                sums[n] = total
                n += 1
            if n:
                mean = 0.0
                for i in range(n):
                    mean += exp(sums[i] - peak)
                out[r, k] += log(mean / n) + peak
    return True
