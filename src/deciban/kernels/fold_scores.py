"""Loops in which rows are scored by models of their own: that of a fold, or of all other rows.

They do as those of `score` do, tile by tile; the rows of a tile need not follow each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.kernels.compile import kernel
from deciban.kernels.score import COLUMNS, ROWS


@kernel
def diagonal_by_fold(
    X: NDArray[Any], fold: NDArray[np.int32], mean: Array, precision: Array, constant: Array, out: Array
) -> bool:
    """constant_fk − ½ Σ_j precision_fkj (x_j − mean_fkj)², f the fold of each row; out of rows in none is NaN.

    Tiles are made of rows of one fold, wherever they stand. Returns False at NaN or ±∞. It is long because the rows
    are put in order here, by counting, where their tiles are made: an order made before would be another n numbers.
    """
    F, K, d = mean.shape
    start = np.zeros(F + 2, dtype=np.int64)
    for i in range(len(fold)):
        start[fold[i] + 2] += 1
    for f in range(F + 1):
        start[f + 1] += start[f]
    order = np.empty(len(fold), dtype=np.int64)
    for i in range(len(fold)):
        order[start[fold[i] + 1]] = i
        start[fold[i] + 1] += 1
    for at in range(start[0]):  # those in fold −1
        out[order[at]] = np.nan
    tile = np.empty((COLUMNS, ROWS))
    acc = np.empty((K, ROWS))
    for f in range(F):
        for first in range(start[f], start[f + 1], ROWS):
            height = min(ROWS, start[f + 1] - first)
            acc[:] = 0.0
            for left in range(0, d, COLUMNS):
                width = min(COLUMNS, d - left)
                for r in range(height):
                    row = order[first + r]
                    for j in range(width):
                        tile[j, r] = X[row, left + j]
                for k in range(K):
                    for j in range(width):
                        m = mean[f, k, left + j]
                        p = precision[f, k, left + j]
                        for r in range(height):
                            gap = tile[j, r] - m
                            acc[k, r] += p * gap * gap
            for k in range(K):
                for r in range(height):
                    if not np.isfinite(acc[k, r]):
                        return False
            for r in range(height):
                for k in range(K):
                    out[order[first + r], k] = constant[f, k] - 0.5 * acc[k, r]
    return True
