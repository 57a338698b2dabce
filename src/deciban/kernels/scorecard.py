"""The kernel of `Scorecard`: predicted class, confidence and losses of rows of log-posteriors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.kernels.compile import kernel

NEGLIGIBLE_LOG_PROBABILITY = -40.0
"""Log-probability below which a squared probability is negligible in the sum of squares, which is at least 1/K."""


@kernel
def score_posteriors(
    scores: Array, truth: NDArray[np.int32], w: Array, known: NDArray[np.bool_], edges: Array,
    confusion: Array, unknown: Array, bins: Array, squares: Array, rows: NDArray[np.int64], losses: Array,
) -> bool:  # fmt: skip
    """Add rows of ln p(k|x) to the sums of a `Scorecard`, and write their losses (n×2).

    `w` is empty where all rows weigh one; `known` has one line for all rows or one for each. Returns False at NaN.
    It is one long loop because predicted class, confidence and losses of a row need the same few numbers.
    """
    n, K = scores.shape
    B = bins.shape[1]
    for i in range(n):
        predicted = 0
        top = scores[i, 0]
        has_nan = top != top
        for k in range(1, K):
            s = scores[i, k]
            has_nan = has_nan or s != s
            if s > top:
                top = s
                predicted = k
        if has_nan:
            return False
        wi = w[i] if len(w) else 1.0
        t = truth[i]
        has_truth = t >= 0 and known[i if len(known) > 1 else 0, t]
        confidence = np.exp(top)
        b = min(B - 1, int(confidence * B))
        while b > 0 and confidence <= edges[b - 1]:
            b -= 1
        while b < B - 1 and confidence > edges[b]:
            b += 1
        bins[0, b] += wi
        bins[1, b] += wi * confidence
        squares[0] += wi * wi
        losses[i, 0] = np.nan
        losses[i, 1] = np.nan
        rows[0] += 1
        if not has_truth:
            rows[1] += 1
            unknown[t if t >= 0 else K, predicted] += wi
            continue
        confusion[t, predicted] += wi
        bins[2, b] += wi if predicted == t else 0.0
        total = 0.0
        for k in range(K):
            s = scores[i, k]
            if k == t:
                gap = np.expm1(s)
                total += gap * gap
            elif s > NEGLIGIBLE_LOG_PROBABILITY:
                p = np.exp(s)
                total += p * p
        losses[i, 1] = total
        squares[2] += wi * wi
        if scores[i, t] == -np.inf:
            rows[2] += 1
        else:
            losses[i, 0] = max(-scores[i, t], 0.0)
            squares[1] += wi * wi
    return True
