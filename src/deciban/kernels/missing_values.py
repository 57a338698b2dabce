"""Kernels of `summarise` and `score` for rows with missing values: NaN is left out, weights are per feature.

They run only on blocks in which the plain kernels met a value that they cannot handle, and return False at ±∞ (or,
where it has no meaning, a negative value).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.kernels.compile import kernel
from deciban.kernels.double_double import two_sum

TILE_ROWS = 32
"""Rows of a tile."""


@kernel
def fill_moments(
    X: NDArray[Any], codes: Codes, w: Array, n: Array, mean: Array, rest: Array, m2: Array, n_rest: Array
) -> bool:
    """Fill weight and mean in two parts and centred squares, all K×d, of a block of rows without outliers."""
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
def fill_counts(
    X: NDArray[Any], codes: Codes, w: Array, threshold: float, signed: bool, total: Array, weight: Array
) -> bool:
    """Sum w [x > threshold], or w x where the threshold is NaN, and w of the rows that have the value; K×d."""
    plain = np.isnan(threshold)
    for i in range(X.shape[0]):
        k = codes[i]
        wi = w[i] if len(w) else 1.0
        for j in range(X.shape[1]):
            x = np.float64(X[i, j])
            if x == x:
                if not np.isfinite(x) or (x < 0.0 and not signed):
                    return False
                total[k, j] += wi * x if plain else (wi if x > threshold else 0.0)
                weight[k, j] += wi
    return True


@kernel
def diagonal(X: NDArray[Any], mean: Array, precision: Array, log_norm: Array, bias: Array, out: Array) -> bool:
    """Add bias_k + Σ_j log_norm_kj − ½ precision_kj (x_j − mean_kj)² over the features that are present."""
    rows, d = X.shape
    K = len(bias)
    tile = np.empty((d, TILE_ROWS))
    acc = np.empty(TILE_ROWS)
    non_finite = 0.0
    for start in range(0, rows, TILE_ROWS):
        height = min(TILE_ROWS, rows - start)
        for r in range(height):
            for j in range(d):
                tile[j, r] = X[start + r, j]
        for k in range(K):
            acc[:] = bias[k]
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
def linear(
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
