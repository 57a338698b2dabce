"""Blocks of words beside blocks of other features: sparse and dense rows, scored together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.engines import dense as arrays
from deciban.engines import kernel_dispatch as fast
from deciban.engines import sparse
from deciban.engines.threads import row_blocks
from deciban.kernels.execution import map_in_threads
from deciban.ledger import Needs
from deciban.scores import ScoreForm
from deciban.scores.posterior import Finish, warn_impossible


def apply(
    forms: Sequence[ScoreForm],
    parts: Sequence[Any],
    needs: Sequence[Needs],
    log_prior: Array,
    wanted: Finish,
    threads: int,
) -> NDArray[Any]:
    """Score all rows, a block at a time: first what is dense, then what each sparse part adds."""
    blocks = list(zip(forms, parts, needs))
    words = [(form, sparse.canonical(X), need) for form, X, need in blocks if hasattr(X, "tocsr")]
    dense = [block for block in blocks if not hasattr(block[1], "tocsr")]
    n, K = parts[0].shape[0], len(log_prior)
    out = arrays.empty_answer(n, K, wanted)
    kernels = fast.load_kernels("score", K * (sum(X.nnz for _, X, _ in words) + sum(X.size for _, X, _ in dense)))

    def one(rows: slice) -> int:
        joint = out[rows] if out.ndim == 2 else np.empty((rows.stop - rows.start, K))
        known = [form for form, _, _ in dense], [X[rows] for _, X, _ in dense], [need for _, _, need in dense]
        arrays.joint_block(kernels, *known, log_prior, wanted, joint, rows.start)
        for form, X, need in words:
            joint += sparse.apply(form, X[rows], need, np.zeros(K), "joint", 1)
        return arrays.finish_block(kernels, joint, log_prior, wanted, out[rows])

    lost = sum(map_in_threads(one, row_blocks(n, max(64, sparse.BLOCK_SCORES // K)), threads))
    if lost:
        warn_impossible(lost)
    return out
