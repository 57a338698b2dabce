"""Kernels of the logistic loss and of products with sparse rows; `linear/` has the definitions."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.kernels.execution import kernel

SparseArrays = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""Arrays of a sparse matrix: data, indices, and where each row (CSR) or column (CSC) begins."""


def loss_and_residuals_inplace(scores: Array, codes: NDArray[np.int32], weight: Array) -> float:
    """Replace the scores of rows by w·∂ℓ/∂s, and return Σ w·ℓ; an empty `weight` means that all weights are one.

    NumPy's exponentials are faster than a loop's (226 000 scores: 1.1 ms against 2.4): they are called between
    two loops.
    """
    if scores.shape[1] == 1:
        return _two_class_loss_inplace(scores, codes, weight)
    gap = np.empty(len(scores))
    _subtract_top_inplace(scores, codes, gap)
    np.exp(scores, out=scores)
    return _softmax_loss_inplace(scores, codes, gap, weight)


@kernel
def _two_class_loss_inplace(scores: Array, codes: NDArray[np.int32], weight: Array) -> float:
    """Replace log-odds of the second of two classes by w·∂ℓ/∂s, and return Σ w·ℓ."""
    weighted = len(weight) > 0
    loss = 0.0
    for i in range(len(scores)):
        w = weight[i] if weighted else 1.0
        wrong = -1.0 if codes[i] == 1 else 1.0
        s = wrong * scores[i, 0]  # by how much the other class leads
        small = np.exp(-abs(s))
        loss += w * (max(s, 0.0) + np.log1p(small))
        scores[i, 0] = w * wrong * (1.0 if s > 0.0 else small) / (1.0 + small)
    return loss


@kernel
def _subtract_top_inplace(scores: Array, codes: NDArray[np.int32], gap: Array) -> None:
    """Subtract the highest score of each row, and write to `gap` how far the score of the row's class is below it."""
    n, M = scores.shape
    for i in range(n):
        top = scores[i, 0]
        for k in range(1, M):
            top = max(top, scores[i, k])
        gap[i] = top - scores[i, codes[i]]
        for k in range(M):
            scores[i, k] -= top


@kernel
def _softmax_loss_inplace(shares: Array, codes: NDArray[np.int32], gap: Array, weight: Array) -> float:
    """Replace e^{s−top} of rows by w·∂ℓ/∂s, and return Σ w·ℓ.

    The other classes are summed separately: 1 − p(y|x) keeps its digits where p(y|x) is nearly 1.
    """
    n, M = shares.shape
    weighted = len(weight) > 0
    loss = 0.0
    for i in range(n):
        w, y = weight[i] if weighted else 1.0, codes[i]
        own = shares[i, y]
        shares[i, y] = 0.0
        others = 0.0
        for k in range(M):
            others += shares[i, k]
        loss += w * (gap[i] + np.log1p(np.expm1(-gap[i]) + others))
        total = others + own
        for k in range(M):
            shares[i, k] *= w / total
        shares[i, y] = -w * others / total
    return loss


@kernel
def add_row_scores(X: SparseArrays, first: int, weights: Array, scores: Array) -> None:
    """Add x_i · weights (d×M) to the scores of sparse rows, the first of which is row `first`."""
    data, indices, indptr = X
    M = weights.shape[1]
    for i in range(len(scores)):
        for at in range(indptr[first + i], indptr[first + i + 1]):
            j, x = indices[at], data[at]
            for k in range(M):
                scores[i, k] += x * weights[j, k]


@kernel
def sum_columns(
    columns: SparseArrays, first: int, last: int, rows: Array, centre: Array, total: Array, out: Array
) -> None:
    """Compute out_j = Σ_i (x_ij − centre_j) · rows_i (n×M) for a range of columns (CSC); total is Σ_i rows_i."""
    data, indices, indptr = columns
    M = rows.shape[1]
    for j in range(first, last):
        for k in range(M):
            out[j, k] = -centre[j] * total[k]
        for at in range(indptr[j], indptr[j + 1]):
            i, x = indices[at], data[at]
            for k in range(M):
                out[j, k] += x * rows[i, k]


def add_gram_product(
    columns: SparseArrays, first: int, last: int, scale: Array, rows: NDArray[Any], out: NDArray[Any]
) -> None:
    """Add Σ_j x_ij s_j² Σ_l x_lj · rows_l (n×M) to out_i over columns with several rows; s: `scale`, d×M; empty: one.

    Four rows are summed at a time: a quarter of the reads and writes (1.7 million numbers, 20 classes:
    30 ms against 52). All but the scale are of one type; in single precision twice as many rows stay in the cache.
    A loop of its own for M = 1 makes the same sums (1.35 million numbers: 2.4 ms against 5.4); unsigned indices need
    no check for negative ones.
    """
    if rows.shape[1] > 1:
        _add_gram_product_of_scores(columns, first, last, scale, rows, out)
        return
    data, indices, indptr = columns
    unsigned = indices.view(f"u{indices.itemsize}")
    _add_gram_product_of_one((data, unsigned, indptr), first, last, scale.ravel(), rows.ravel(), out.reshape(-1))


@kernel
def _add_gram_product_of_one(
    columns: SparseArrays, first: int, last: int, scale: Array, rows: NDArray[Any], out: NDArray[Any]
) -> None:
    """Add the product for one score to `out`; scale, rows and out are vectors."""
    data, indices, indptr = columns
    scaled = len(scale) > 0
    for j in range(first, last):
        at, end = indptr[j], indptr[j + 1]
        if end - at < 2:
            continue
        total = rows.dtype.type(0.0)
        while at + 3 < end:
            left = data[at] * rows[indices[at]] + data[at + 1] * rows[indices[at + 1]]
            total += left + (data[at + 2] * rows[indices[at + 2]] + data[at + 3] * rows[indices[at + 3]])
            at += 4
        while at < end:
            total += data[at] * rows[indices[at]]
            at += 1
        if scaled:
            total = rows.dtype.type(total * (scale[j] * scale[j]))
        for at in range(indptr[j], end):
            out[indices[at]] += data[at] * total


@kernel
def _add_gram_product_of_scores(
    columns: SparseArrays, first: int, last: int, scale: Array, rows: NDArray[Any], out: NDArray[Any]
) -> None:
    """Add the products for several scores to `out`; scale, rows and out have a column for each."""
    data, indices, indptr = columns
    M = rows.shape[1]
    scaled = len(scale) > 0
    total = np.empty(M, dtype=rows.dtype)
    for j in range(first, last):
        at, end = indptr[j], indptr[j + 1]
        if end - at < 2:
            continue
        total[:] = 0.0
        while at + 3 < end:
            a, b, c, d = indices[at], indices[at + 1], indices[at + 2], indices[at + 3]
            u, x, y, z = data[at], data[at + 1], data[at + 2], data[at + 3]
            for k in range(M):
                total[k] += (u * rows[a, k] + x * rows[b, k]) + (y * rows[c, k] + z * rows[d, k])
            at += 4
        while at < end:
            i, x = indices[at], data[at]
            for k in range(M):
                total[k] += x * rows[i, k]
            at += 1
        if scaled:
            for k in range(M):
                total[k] *= scale[j, k] * scale[j, k]
        for at in range(indptr[j], end):
            i, x = indices[at], data[at]
            for k in range(M):
                out[i, k] += x * total[k]
