"""Kernels of the form `BoundedDiagonal` for dense rows; see `kernels/score.py`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.kernels.execution import kernel
from deciban.kernels.score import TILE_COLUMNS, TILE_ROWS


@kernel
def add_bounded_scores(
    X: NDArray[Any], mean: Array, precision: Array, max_squares: Array, constant: Array, out: Array
) -> int:
    """Add constant_k − ½ Σ_j min(precision_kj (x_j − mean_kj)², max_squares_kj); return the number of rows scored.

    Precisions are not negative. Squares that overflow are bounded, so the values themselves are checked for ±∞.
    """
    rows, d = X.shape
    K = len(constant)
    tile, acc = np.empty((TILE_COLUMNS, TILE_ROWS)), np.empty((K, TILE_ROWS))
    non_finite = 0.0
    for start in range(0, rows, TILE_ROWS):
        height = min(TILE_ROWS, rows - start)
        acc[:] = 0.0
        for left in range(0, d, TILE_COLUMNS):
            width = min(TILE_COLUMNS, d - left)
            for r in range(height):
                for j in range(width):
                    x = np.float64(X[start + r, left + j])
                    non_finite += x - x
                    tile[j, r] = x
            if non_finite != 0.0:
                return start
            for k in range(K):
                for j in range(width):
                    m = mean[k, left + j]
                    p = precision[k, left + j]
                    most = max_squares[k, left + j]
                    for r in range(height):
                        gap = tile[j, r] - m
                        square = p * gap * gap
                        acc[k, r] += square if square < most else most
        for r in range(height):
            for k in range(K):
                out[start + r, k] += constant[k] - 0.5 * acc[k, r]
    return rows


@kernel
def add_bounded_scores_with_missing(
    X: NDArray[Any], mean: Array, precision: Array, max_squares: Array, log_norm: Array, out: Array
) -> bool:
    """Add Σ_j log_norm_kj − ½ min(precision_kj (x_j − mean_kj)², max_squares_kj) over the present features."""
    rows, d = X.shape
    K = len(mean)
    tile = np.empty((d, TILE_ROWS))
    acc = np.empty(TILE_ROWS)
    for start in range(0, rows, TILE_ROWS):
        height = min(TILE_ROWS, rows - start)
        for r in range(height):
            for j in range(d):
                x = np.float64(X[start + r, j])
                if np.isinf(x):
                    return False
                tile[j, r] = x
        for k in range(K):
            acc[:] = 0.0
            for j in range(d):
                for r in range(height):
                    gap = tile[j, r] - mean[k, j]
                    square = precision[k, j] * gap * gap
                    part = log_norm[k, j] - 0.5 * (square if square < max_squares[k, j] else max_squares[k, j])
                    acc[r] += part if gap == gap else 0.0
            for r in range(height):
                out[start + r, k] += acc[r]
    return True
