"""Two ways of scoring the same rows, compared row by row: what is hard for both cancels out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.ledger.statistic import Array
from deciban.metrics.intervals import error_of_mean

MOST_SURPRISE = -float(np.log(np.finfo(np.float64).tiny))
"""What a truth that was called impossible costs where ways are compared, so that means exist: −ln of the least
number, 708 nats."""


def surprises(log_posterior: Array, truth: NDArray[np.integer[Any]]) -> Array:
    """−ln p(truth) of each row, within bounds.

    >>> surprises(np.array([[-1.0, -0.5], [0.0, -np.inf]]), np.array([0, 1])).round(1).tolist()
    [1.0, 708.4]
    """
    return np.minimum(-log_posterior[np.arange(len(truth)), truth], MOST_SURPRISE)


def paired(gap: Array, weight: Array) -> tuple[float, float]:
    """The mean difference and its standard error; the weights add up to the number of rows that they say as much as.

    >>> paired(np.array([1.0, 3.0]), np.ones(2))
    (2.0, 1.0)
    """
    n = float(weight.sum())
    mean = float(weight @ gap) / n
    return mean, error_of_mean(float(weight @ (gap - mean) ** 2) / n, n)
