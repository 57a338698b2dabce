"""Leave-one-out of independent bells over many rows, by a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.engines import dense as arrays
from deciban.engines import kernel_dispatch as fast
from deciban.engines.threads import row_blocks
from deciban.families.family import log
from deciban.families.gaussian import VARIANCE_FLOOR, Gaussian, pooled_mean, total_variance
from deciban.generative import GenerativeModel
from deciban.kernels.execution import load_kernels, map_in_threads
from deciban.ledger import Moments
from deciban.scores import Diagonal
from deciban.scores.posterior import Finish

NOTICE = 1e-10
"""A change of ε that moves no score by more than this is left out of account."""

FAR_FROM_FLOOR = 1e7
"""So many times the floor of variances all of them are, where the kernel does without it."""


def quick_bells(
    belief: GenerativeModel, X: Any, codes: Codes, weight: Array | None, wanted: Finish, threads: int
) -> tuple[Array, NDArray[np.bool_]] | None:
    """What is wanted of each row, and which rows are to be dealt with otherwise; None where no kernel can tell."""
    family, part, form = belief.assumption.families[0], belief.complete.parts[0], belief.solved.forms[0]
    if not isinstance(X, np.ndarray) or not X.size or not _is_plain(family, part, form):
        return None
    K = form.n_classes
    loops, finishing = load_kernels("held_out_scores", K * X.size), fast.load_kernels("score", K * X.size)
    if loops is None or finishing is None:
        return None
    assert isinstance(part, Moments)
    assert isinstance(form, Diagonal)
    assert isinstance(family, Gaussian)
    moves, weights, fixed = _prior(belief)
    n = part.weight[:, 0]
    spread = total_variance(part)
    total = np.stack([pooled_mean(part), spread * n.sum()])
    known = (
        n, form.mean, part.m2, form.variance, form.precision, form.constant, family.var_smoothing,
        float(family.epsilon(part)), total, weights, moves, fixed, NOTICE,
    )  # fmt: skip
    x, w = fast.to_kernel_array(X), fast.UNIT_WEIGHT if weight is None else weight
    out, todo = arrays.allocate_result(len(X), K, wanted), np.zeros(len(X), dtype=np.bool_)

    def one(block: slice) -> bool:
        joint = out[block] if out.ndim == 2 else np.empty((block.stop - block.start, K))
        if not loops.diagonal_leave_one_out(x[block], codes[block], w[block], *known, joint, todo[block]):
            return False
        return wanted == "joint" or fast.finish_by_kernel(finishing, joint, fixed, wanted, out[block]) == 0

    fine = all(map_in_threads(one, row_blocks(len(X), max(arrays.FEW_ROWS, arrays.BLOCK_SCORES // K)), threads))
    return (out, todo) if fine else None


def _is_plain(family: Any, part: Any, form: Any) -> bool:
    """Whether a row changes its own class alone, but for ε, and no variance is near the floor."""
    if not (isinstance(family, Gaussian) and isinstance(part, Moments) and isinstance(form, Diagonal)):
        return False
    if family.covariance != "diagonal" or family.shrinkage is not None or family.prior_rows:
        return False
    if part.weight.shape[1] > 1 or not (part.weight > 0).all():
        return False
    total = total_variance(part)
    if not total.any():
        return False
    if family.var_smoothing >= 10 * VARIANCE_FLOOR:  # ε is above the floor of every column
        return True
    return bool((form.variance > FAR_FROM_FLOOR * VARIANCE_FLOOR * total).all() and (total > 0).all())


def _prior(belief: GenerativeModel) -> tuple[bool, Array, Array]:
    """Whether the prior changes with a row, the weights it follows, and what is known of it: ln of them, or of π."""
    prior, rows = belief.assumption.prior, belief.complete.rows
    if prior.kind in ("given", "uniform"):
        return False, rows, belief.solved.log_prior
    weights = rows + (prior.alpha if prior.kind == "smoothed" else 0.0)
    return True, weights, log(weights)
