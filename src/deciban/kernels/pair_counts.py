"""A kernel that counts the cells of features, and of pairs of features, in each class: `ledger/pairs.py`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.kernels.execution import kernel


@kernel
def fill_pairs(X: NDArray[np.int16], codes: Codes, w: Array, single: Any, pair: Any) -> None:
    """Add the weight of each row to its cells in `single` (K×d×V) and to their pairs in `pair` (K×m×V×V)."""
    d = X.shape[1]
    for r in range(len(X)):
        k, weight, m = codes[r], w[r] if len(w) else 1.0, 0
        for i in range(d):
            a = X[r, i]
            if a < 0:
                m += d - i - 1
                continue
            single[k, i, a] += weight
            for j in range(i + 1, d):
                b = X[r, j]
                if b >= 0:
                    pair[k, m, a, b] += weight
                m += 1
