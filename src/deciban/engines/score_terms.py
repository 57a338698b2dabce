"""Scores of rows taken apart, feature by feature, however the rows are stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.engines.dispatch import is_sparse, readable
from deciban.ledger import Needs
from deciban.scores import Linear, Pieces, ScoreForm, SparseLinear


def pieces(form: ScoreForm, X: Any, needs: Needs, k: NDArray[np.intp], l: NDArray[np.intp]) -> Pieces:
    """What each feature adds to the score of class k less that of l, row by row; sparse where the rows are."""
    X = readable(X, needs)
    if is_sparse(X) and isinstance(form, Linear):
        return form.stored_pieces(X, k, l)
    if is_sparse(X) and not isinstance(form, SparseLinear):
        X = X.toarray()
    return form.pieces(X, k, l)


def side_by_side(parts: Sequence[Any]) -> Any:
    """One matrix; sparse if any of them is."""
    if len(parts) == 1:
        return parts[0]
    if not any(map(is_sparse, parts)):
        return np.concatenate(parts, axis=1)
    from scipy.sparse import csr_array, hstack

    return csr_array(hstack([part if is_sparse(part) else csr_array(part) for part in parts], format="csr"))
