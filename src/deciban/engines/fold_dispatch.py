"""Rows scored by models of their own, without being gathered: where a kernel can."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.engines import dense as arrays
from deciban.engines import kernel_dispatch as fast
from deciban.engines.threads import row_blocks
from deciban.kernels.execution import load_kernels, map_in_threads
from deciban.scores import Diagonal, ScoreForm
from deciban.scores.posterior import Finish

AT_ONCE = 1 << 17
"""Scores made at a time: rows of ten folds are told apart within a block, so that it has to have some of each."""


def apply_by_fold(
    forms: Sequence[ScoreForm], X: Any, log_priors: Array, fold: NDArray[np.int32], wanted: Finish, threads: int
) -> NDArray[Any] | None:
    """What is wanted of each row, by the form and the log-prior of its fold (F×K); None where no kernel can tell.

    Rows of fold −1 are scored by none: NaN.
    """
    F, K = log_priors.shape
    if not isinstance(X, np.ndarray) or not X.size or wanted == "winner":
        return None
    diagonal = [form for form in forms if isinstance(form, Diagonal)]
    loops, finishing = load_kernels("held_out_scores", K * X.size), fast.load_kernels("score", K * X.size)
    if len(diagonal) < F or loops is None or finishing is None:
        return None
    mean, precision = np.stack([form.mean for form in diagonal]), np.stack([form.precision for form in diagonal])
    constant = np.stack([form.constant for form in diagonal]) + log_priors
    x, out = fast.plain(X), arrays.empty_answer(len(X), K, wanted)

    def one(block: slice) -> bool:
        joint = out[block] if out.ndim == 2 else np.empty((block.stop - block.start, K))
        if not loops.diagonal_by_fold(x[block], fold[block], mean, precision, constant, joint):
            return False
        if wanted == "joint":
            return True
        nobody = np.flatnonzero(fold[block] < 0)
        joint[nobody] = 0.0
        lost = fast.finish(finishing, joint, log_priors[0], wanted, out[block])
        out[block][nobody] = np.nan
        return lost == 0

    fine = all(map_in_threads(one, row_blocks(len(X), max(arrays.FEW_ROWS, AT_ONCE // K)), threads))
    return out if fine else None
