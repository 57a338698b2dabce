"""Kernels of pairs of cells: their counts in each class (`ledger/pairs.py`), and scores averaged over parents."""

from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.kernels.execution import kernel


@kernel
def fill_pairs(X: NDArray[np.int16], codes: Codes, w: Array, single: Any, pair: Any) -> None:
    """Add the weight of each row to its cells in `single` (K×d×V) and to their pairs in `pair` (K×m×V×V)."""
    d = X.shape[1]
    for r in range(len(X)):
        k, weight, m = codes[r], w[r] if len(w) else 1.0, 0
        for i in range(d):
            a = X[r, i]
            if a < 0:
                m += d - i - 1
                continue
            single[k, i, a] += weight
            for j in range(i + 1, d):
                b = X[r, j]
                if b >= 0:
                    pair[k, m, a, b] += weight
                m += 1


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
