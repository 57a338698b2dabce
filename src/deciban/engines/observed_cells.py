"""How much of a row says something: cells that are there, or words that are known."""

from __future__ import annotations

from typing import Any

import numpy as np

from deciban._typing import Array
from deciban.engines.dispatch import is_sparse, readable
from deciban.ledger import Needs
from deciban.scores import Linear, Lookup, ScoreForm, SparseLinear


def observed(form: ScoreForm, X: Any, needs: Needs) -> Array:
    """Of bags of words the words, each as often as it counts; of other features those with a value that is known."""
    X = readable(X, needs)
    if isinstance(form, Lookup):
        return np.asarray((X >= 0) & (np.diff(form.offset) > X)).sum(axis=1).astype(np.float64)
    if needs.kind == "cells":
        return np.asarray(X >= 0).sum(axis=1).astype(np.float64)
    speaks = _speaks(form)
    if isinstance(form, (Linear, SparseLinear)) and form.threshold is None and form.carrier is None:
        return _words(X, speaks)
    return _cells(X, speaks)


def _speaks(form: ScoreForm) -> Array | None:
    """1 for each feature that carries evidence, 0 for the others; None: all do."""
    mute = getattr(form, "mute", None)
    return None if mute is None else 1.0 - mute


def _words(X: Any, speaks: Array | None) -> Array:
    """Σ_v z_v of each row."""
    weighed = X.sum(axis=1) if speaks is None else X @ speaks
    return np.asarray(weighed, dtype=np.float64).reshape(-1)


def _cells(X: Any, speaks: Array | None) -> Array:
    """How many features are not missing; what a sparse row does not store is zero, and known."""
    d = X.shape[1]
    every = float(d) if speaks is None else float(speaks.sum())
    if not is_sparse(X):
        known = ~np.isnan(X) if X.dtype.kind == "f" else np.ones(X.shape, dtype=np.bool_)
        return np.asarray(known.sum(axis=1) if speaks is None else known @ speaks, dtype=np.float64)
    row, column = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), X.indices
    hole = np.isnan(X.data) * (1.0 if speaks is None else speaks[column])
    return np.asarray(every - np.bincount(row, weights=hole, minlength=X.shape[0]), dtype=np.float64)
