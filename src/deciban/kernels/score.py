"""Loops that apply a score form to a block of dense rows, adding ln p(x|k) to `out` (rows × K).

Rows are taken in tiles, turned so that the innermost loop runs over the rows of a tile side by side: no
sums across vector lanes, so the compiler vectorises without being allowed to reorder additions.
A tile that holds NaN or ±∞ (or, where it has no meaning, a negative value) ends the loop before anything of
it is written: a loop returns how many rows it has done.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.kernels.compile import kernel

ROWS = 32
COLUMNS = 64
"""A tile of so many rows and columns of doubles is a third of a core's first cache."""

FEW_CUTS = 8
"""So few cuts are compared one by one."""


@kernel
def diagonal(X: NDArray[Any], mean: Array, precision: Array, constant: Array, out: Array) -> int:
    """constant_k − ½ Σ_j precision_kj (x_j − mean_kj)²."""
    rows, d = X.shape
    K = len(constant)
    tile = np.empty((COLUMNS, ROWS))
    acc = np.empty((K, ROWS))
    for start in range(0, rows, ROWS):
        height = min(ROWS, rows - start)
        acc[:] = 0.0
        for left in range(0, d, COLUMNS):
            width = min(COLUMNS, d - left)
            for r in range(height):
                for j in range(width):
                    tile[j, r] = X[start + r, left + j]
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
                    return start
        for r in range(height):
            for k in range(K):
                out[start + r, k] += constant[k] - 0.5 * acc[k, r]
    return rows


@kernel
def linear(X: NDArray[Any], weights: Array, bias: Array, threshold: float, signed: bool, out: Array) -> int:
    """bias_k + Σ_j weights_kj x_j, x read as [x > threshold] unless the threshold is NaN."""
    rows, d = X.shape
    K = len(bias)
    plain = np.isnan(threshold)
    tile = np.empty((COLUMNS, ROWS))
    acc = np.empty((K, ROWS))
    odd = 0.0
    for start in range(0, rows, ROWS):
        height = min(ROWS, rows - start)
        acc[:] = 0.0
        for left in range(0, d, COLUMNS):
            width = min(COLUMNS, d - left)
            for r in range(height):
                low = 0.0
                for j in range(width):
                    x = np.float64(X[start + r, left + j])
                    odd += x - x
                    low = min(low, x)
                    tile[j, r] = x if plain else (1.0 if x > threshold else 0.0)
                if odd != 0.0 or (low < 0.0 and not signed):
                    return start
            for k in range(K):
                for j in range(0, width - 3, 4):  # four at a time: the sums are read and written a quarter as often
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
def lookup(X: NDArray[Any], table: Array, offset: NDArray[np.int64], unseen: Array, missing: bool, out: Array) -> int:
    """Σ_j table[offset_j + x_j, k], a row a level; unseen[j, k] beyond the levels.

    A negative code adds nothing if it stands for a `missing` value; otherwise it ends the loop, its row half done.
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
def steps(X: NDArray[Any], cuts: Array, start: NDArray[np.int64], table: Array, missing: bool, out: Array) -> int:
    """Σ_j table[bin of x_j, k], a row a bin, feature j's from row start[j] + j on; its bin is how many cuts are ≤ x.

    NaN adds nothing if values may be `missing`; otherwise it ends the loop, as ±∞ does, its row half done.
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
            while high - low > FEW_CUTS:
                middle = (low + high) // 2
                if x >= cuts[middle]:
                    low = middle + 1
                else:
                    high = middle
            at = low + j
            for c in range(low, high):  # no branch to guess wrong
                at += x >= cuts[c]
            for k in range(K):
                out[i, k] += table[at, k]
    return rows


@kernel
def normalise(joint: Array, log_prior: Array, logarithm: bool) -> int:
    """Turn ln p(x, k) into p(k|x), or its logarithm, in place; the prior where every class is impossible.

    Returns how many such rows there are, or −1 at a score that is no number below +∞.
    """
    rows, K = joint.shape
    lost = 0
    for i in range(rows):
        top = joint[i, 0]
        for k in range(1, K):
            top = max(top, joint[i, k])
        if top == -np.inf:
            lost += 1
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
    return lost


@kernel
def densities(joint: Array, out: Array) -> None:
    """ln p(x) = ln Σ_k p(x, k) of each row; −∞ where every class is impossible."""
    rows, K = joint.shape
    for i in range(rows):
        top = joint[i, 0]
        for k in range(1, K):
            top = max(top, joint[i, k])
        total = 0.0
        if top > -np.inf:
            for k in range(K):
                total += np.exp(joint[i, k] - top)
        out[i] = top + np.log(total) if top > -np.inf else -np.inf


@kernel
def winners(joint: Array, log_prior: Array, out: NDArray[np.intp]) -> int:
    """argmax_k of each row, the first of equals; the likeliest class where every class is impossible.

    Returns as `normalise` does.
    """
    rows, K = joint.shape
    favourite = 0
    for k in range(1, K):
        if log_prior[k] > log_prior[favourite]:
            favourite = k
    lost = 0
    odd = False
    for i in range(rows):
        best = 0
        top = joint[i, 0]
        for k in range(1, K):
            if joint[i, k] > top:
                top = joint[i, k]
                best = k
            odd = odd or joint[i, k] != joint[i, k]
        if odd or not top < np.inf:
            return -1
        out[i] = best
        if top == -np.inf:
            lost += 1
            out[i] = favourite
    return lost
