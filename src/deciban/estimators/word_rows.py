"""Rows of words for evidence regression: read from documents, or counted already."""

from __future__ import annotations

from typing import Any

import numpy as np

from deciban._typing import Array
from deciban.engines import is_sparse
from deciban.engines.bags_from_rows import OCCURRENCES
from deciban.engines.sparse import find_invalid_entry, invalid_entry_error, to_canonical_csr
from deciban.errors import InputError
from deciban.estimators.check_documents import normalise_rows_inplace

LARGEST = 1e100
"""Beyond, squares of evidence would overflow."""


def is_count_matrix(X: Any) -> bool:
    """Whether X has rows of numbers, and is no column of documents.

    >>> is_count_matrix([[0, 2], [1, 0]]), is_count_matrix(["to be", "or not"])
    (True, False)
    """
    if is_sparse(X) or hasattr(X, "columns"):
        return True
    if isinstance(X, (list, tuple)):
        return len(X) > 0 and not isinstance(X[0], (str, bytes, type(None)))
    if hasattr(X, "__arrow_c_array__") or hasattr(X, "__arrow_c_stream__") or not hasattr(X, "__array__"):
        return False
    array = np.asarray(X)
    return array.ndim != 1 or array.dtype.kind in "fiubc"


def counted(X: Any, presence: bool) -> Any:
    """Rows of counts as CSR, each word once a row where presence is all that counts; refused are those below 0."""
    from scipy.sparse import csr_array

    rows = to_canonical_csr(X if is_sparse(X) else csr_array(np.asarray(X)))
    flaw = find_invalid_entry(rows, OCCURRENCES)
    if flaw >= 0:
        raise invalid_entry_error(rows, flaw)
    data = (rows.data > 0).astype(np.float64) if presence else rows.data.astype(np.float64)
    if (top := data.max(initial=0.0)) > LARGEST:
        raise InputError(f"counts as large as {top:g} are no counts of words. Hint: rescale them")
    return csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def root_mean_square_length(rows: Any, weight: Array | None) -> float:
    """The Euclidean length of a row, as it usually is: the root of its mean square; 1 where all are empty."""
    top = _largest(rows)
    squares = np.concatenate([[0.0], np.cumsum((rows.data / top) ** 2)])
    size = np.sqrt(np.average(np.diff(squares[rows.indptr]), weights=weight))
    return float(size) * top if size > 0 else 1.0


def normalise_lengths(rows: Any) -> Any:
    """The same rows, each of length one, beside those that were given."""
    from scipy.sparse import csr_array

    return normalise_rows_inplace(
        csr_array((rows.data / _largest(rows), rows.indices, rows.indptr), shape=rows.shape)
    )


def _largest(rows: Any) -> float:
    """The largest value comes out first, so that squares of 1e300 do not overflow."""
    return float(rows.data.max(initial=0.0)) or 1.0
