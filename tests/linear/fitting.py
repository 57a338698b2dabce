"""Logistic regression of one matrix, dense or CSR."""

from __future__ import annotations

import numpy as np

from deciban.linear.design import Dense, Sparse
from deciban.linear.solvers.logistic import fit_parts


def fit_matrix(X, codes, weight, n_classes, *, l2, l1=0.0, scale=None, start=None, **options):
    """Fit one matrix of features by `fit_parts`; `start` has its weights and the bias."""
    part = (Dense if isinstance(X, np.ndarray) else Sparse)(X, l2, l1, scale)
    first = None if start is None else ((start[0],), start[1])
    return fit_parts([part], codes, weight, n_classes, start=first, **options)
