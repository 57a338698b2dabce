"""What a missing cell counts for: the mean of its column, at which the column is no evidence."""

from __future__ import annotations

from typing import Any

import numpy as np

from deciban import engines
from deciban._typing import Array
from deciban.ledger import Needs
from deciban.ledger.statistic import divide

SUMS = {True: Needs("counts"), False: Needs("counts", skips=False)}
"""Sums of the columns, with missing cells left out or refused."""


def column_means(X: Any, weight: Array | None, skips: bool, threads: int) -> Array:
    """m_j, the mean of the values that are there; 0 where there are none. Infinite values are refused here.

    >>> column_means(np.array([[1.0, np.nan], [3.0, np.nan]]), None, True, 1).tolist()
    [2.0, 0.0]
    """
    one = np.zeros(X.shape[0], dtype=np.int32)
    part: Any = engines.summarise(SUMS[skips], X, one, weight, 1, threads)
    return np.asarray(divide(part.total[0], np.broadcast_to(part.weight[0], part.total[0].shape)))


def filled(X: Any, means: Array) -> Any:
    """The same rows with missing cells at the mean of their column; what was given stays as it is.

    >>> filled(np.array([[1.0, 5.0], [np.nan, 7.0]]), np.array([1.0, 6.0])).tolist()
    [[1.0, 5.0], [1.0, 7.0]]
    """
    sparse = engines.is_sparse(X)
    with np.errstate(over="ignore", invalid="ignore"):
        complete = not np.isnan((X.data if sparse else X).sum())
    if complete:
        return X
    X = X.copy()
    if sparse:
        missing = np.isnan(X.data)
        X.data[missing] = means[X.indices[missing]]
    else:
        rows, columns = np.nonzero(np.isnan(X))
        X[rows, columns] = means[columns]
    return X
