"""Folds inside the rows learned: dealt by what is in the rows, so that their order changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.ledger.hashing import hash_row_numbers
from deciban.validation.splits import Folds

Marks = NDArray[np.uint64]


def by_content(parts: Sequence[Any], codes: NDArray[np.int32], weight: Array | None, n_folds: int) -> Folds:
    """Folds with their share of every class, by what the rows are and not where they stand.

    `parts` are columns or matrices, dense or CSR: both have the same folds if they have the same numbers.
    """
    return dealt(codes, content(parts, len(codes)), weight, n_folds)


def dealt(codes: NDArray[np.int32], mark: Marks, weight: Array | None, n_folds: int) -> Folds:
    """The i-th row of class k, by what is in it, goes to fold (i + k) mod F.

    Rows that are alike go round the folds too: a category of three levels makes many, and without all that are alike
    it would seem to say the opposite. But where each is there twice (or g times) two are dealt as one, so that a
    table written twice is learned as one whose rows weigh 2.

    >>> dealt(np.zeros(4, np.int32), np.array([7, 5, 7, 5], np.uint64), None, 2).tolist()
    [1, 0, 1, 0]
    """
    n = len(codes)
    order = np.lexsort((np.zeros(n) if weight is None else weight, mark, codes))
    k, own = codes[order], mark[order]
    first = np.flatnonzero(np.concatenate([[True], (k[1:] != k[:-1]) | (own[1:] != own[:-1])])) if n else np.arange(0)
    times = max(1, int(np.gcd.reduce(np.diff(np.append(first, n)))))
    counts = np.bincount(codes)
    place = np.arange(n) - np.repeat(np.cumsum(counts) - counts, counts)
    out = np.empty(n, dtype=np.int32)
    out[order] = (place // times + k) % n_folds
    return out


def content(parts: Sequence[Any], n: int) -> Marks:
    """A number for what is in each of n rows: the same for rows that are alike, and hardly ever for others."""
    mark: Marks = np.zeros(n, dtype=np.uint64)
    for part in parts:
        mark = _mixed(mark) + _cells(part)
    return _mixed(mark)


def _mixed(mark: Marks) -> Marks:
    return hash_row_numbers(mark.view(np.int64))


def _cells(part: Any) -> Marks:
    """The cells of a column as whole numbers; of a matrix a sum over all that are not 0, whatever their order."""
    if hasattr(part, "indptr"):
        ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_placed(part.indices, part.data), dtype=np.uint64)])
        sums: Marks = ends[part.indptr[1:]] - ends[part.indptr[:-1]]
        return sums
    if part.ndim == 1:
        return _bits(part)
    total: Marks = np.zeros(len(part), dtype=np.uint64)
    for j in range(part.shape[1]):
        total += _placed(np.array([j]), part[:, j])
    return total


def _placed(where: NDArray[Any], cells: NDArray[Any]) -> Marks:
    """Cells beside their columns; 0 for those that are 0."""
    each = _mixed(hash_row_numbers(where.astype(np.int64)) ^ _mixed(_bits(cells)))
    return np.where(cells == 0, np.uint64(0), each)


def _bits(numbers: NDArray[Any]) -> Marks:
    if numbers.dtype.kind != "f":
        return numbers.astype(np.int64).view(np.uint64)
    x = numbers.astype(np.float64) + 0.0  # which makes −0 of 0 none
    return np.where(np.isnan(x), np.nan, x).view(np.uint64)
