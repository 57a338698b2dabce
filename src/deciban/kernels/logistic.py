"""Logistic loss and the products with sparse rows that it needs: the definitions of `discriminative/`, in loops."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.kernels.compile import kernel

Array = NDArray[np.float64]


@kernel
def settle(scores: Array, codes: NDArray[np.int32], weight: Array) -> float:
    """Replace the scores of rows by w·∂ℓ/∂s, and give Σ w·ℓ. No weights at all: all are one."""
    n, M = scores.shape
    weighted = len(weight) > 0
    loss = 0.0
    for i in range(n):
        w = weight[i] if weighted else 1.0
        if M == 1:
            wrong = -1.0 if codes[i] == 1 else 1.0
            s = wrong * scores[i, 0]  # how much the other class is ahead
            small = np.exp(-abs(s))
            loss += w * (max(s, 0.0) + np.log1p(small))
            scores[i, 0] = w * wrong * (1.0 if s > 0.0 else small) / (1.0 + small)
            continue
        y = codes[i]
        top = scores[i, 0]
        for k in range(1, M):
            top = max(top, scores[i, k])
        gap = top - scores[i, y]
        others = 0.0
        for k in range(M):
            said = np.exp(scores[i, k] - top)
            scores[i, k] = said
            if k != y:
                others += said
        total = others + scores[i, y]
        loss += w * (gap + np.log1p(np.expm1(-gap) + others))
        for k in range(M):
            scores[i, k] *= w / total
        scores[i, y] = -w * others / total
    return loss


@kernel
def add_row_scores(
    data: Array, indices: NDArray[Any], indptr: NDArray[Any], first: int, weights: Array, scores: Array
) -> None:
    """Add x_i · weights (d×M) to the scores of sparse rows, the first of which is row `first`."""
    M = weights.shape[1]
    for i in range(len(scores)):
        for at in range(indptr[first + i], indptr[first + i + 1]):
            j, x = indices[at], data[at]
            for k in range(M):
                scores[i, k] += x * weights[j, k]


@kernel
def column_sums(
    data: Array,
    indices: NDArray[Any],
    indptr: NDArray[Any],
    first: int,
    last: int,
    rows: Array,
    centre: Array,
    total: Array,
    out: Array,
) -> None:
    """out_j = Σ_i (x_ij − centre_j) · rows_i (n×M) for some columns, stored by columns; total is Σ_i rows_i."""
    M = rows.shape[1]
    for j in range(first, last):
        for k in range(M):
            out[j, k] = -centre[j] * total[k]
        for at in range(indptr[j], indptr[j + 1]):
            i, x = indices[at], data[at]
            for k in range(M):
                out[j, k] += x * rows[i, k]


@kernel
def add_shared(
    data: Array,
    indices: NDArray[Any],
    indptr: NDArray[Any],
    first: int,
    last: int,
    squares: Array,
    rows: Array,
    out: Array,
) -> None:
    """out_i += Σ_j x_ij s_j Σ_l x_lj · rows_l (n×M) over some columns; s is `squares`, M×d; empty: one."""
    M = rows.shape[1]
    scaled = squares.shape[0] > 0
    total = np.empty(M)
    for j in range(first, last):
        total[:] = 0.0
        at, end = indptr[j], indptr[j + 1]
        while at + 1 < end:  # two rows at a time: the sum is read and written half as often
            i, x, l, z = indices[at], data[at], indices[at + 1], data[at + 1]
            for k in range(M):
                total[k] += x * rows[i, k] + z * rows[l, k]
            at += 2
        if at < end:
            i, x = indices[at], data[at]
            for k in range(M):
                total[k] += x * rows[i, k]
        if scaled:
            for k in range(M):
                total[k] *= squares[k, j]
        for at in range(indptr[j], indptr[j + 1]):
            i, x = indices[at], data[at]
            for k in range(M):
                out[i, k] += x * total[k]
