"""What rows say of each other by the words they share: one pass over the words in the place of two over the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from deciban.kernels.compile import kernel


@kernel
def shared_by_words(start: Any, row: Any, value: Any, squares: Any, A: Any, out: Any, first: int, last: int) -> None:
    """out_ik += Σ_j x_ij e²_jk Σ_l x_lj a_lk over the words j from first to last, stored word by word.

    The rows of a word are visited twice while they are at hand, so the table of words × scores is never made.
    """
    M = A.shape[1]
    met = np.empty(M)
    for j in range(first, last):
        met[:] = 0.0
        for p in range(start[j], start[j + 1]):
            i, x = row[p], value[p]
            for k in range(M):
                met[k] += x * A[i, k]
        for k in range(M):
            met[k] *= squares[j, k]
        for p in range(start[j], start[j + 1]):
            i, x = row[p], value[p]
            for k in range(M):
                out[i, k] += x * met[k]
