"""The uncertainty of figures: standard errors, 95 % intervals of shares, means and areas, and paired differences."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array

NORMAL_95 = 1.959963984540054
"""The 97.5 % quantile of the normal distribution: 95 % lie within this many standard deviations of the mean."""

N_BISECTIONS = 60
"""The number of halvings of [0, 1] that find the end of an interval to the last bits of a double."""

MAX_LOSS_NATS = -float(np.log(np.finfo(np.float64).tiny))
"""The loss in nats of a true class of probability 0 where models are compared, so that means exist: −ln of the least
normal number, 708 nats."""

Interval = tuple[float, float]


def effective_rows(weight: float, squares: float) -> float:
    """Return Kish's effective number of rows (1965), (Σw)²/Σw²; NaN where that leaves the range of a double.

    >>> effective_rows(4.0, 10.0), effective_rows(1.0, 0.0)
    (1.6, nan)
    """
    return weight * weight / squares if 0 < squares < math.inf else math.nan


def effective_weights(weight: Array) -> Array:
    """Return weights rescaled so that their sum is the effective number of rows; zeros stay zeros.

    >>> effective_weights(np.array([3.0, 1.0])).round(9).tolist(), effective_weights(np.full(2, 1e300)).tolist()
    ([1.2, 0.4], [1.0, 1.0])
    """
    w = weight / weight.max() if weight.any() else weight  # no square may overflow
    return np.asarray(w * (w.sum() / max(float(w @ w), np.finfo(np.float64).tiny)))


def standard_error(variance: float, rows: float) -> float:
    """Return the standard error of a mean of n rows, √(variance/(n − 1)); NaN for too few.

    >>> standard_error(4.0, 5), standard_error(4.0, 1)
    (1.0, nan)
    """
    return math.sqrt(variance / (rows - 1)) if rows > 1 else math.nan


def wilson(share: float, n: float) -> Interval:
    """Return the 95 % interval of a share observed in n rows (Wilson 1927): within 0 and 1, good for small n.

    (p + z²/2n ± z √(p(1−p)/n + z²/4n²)) / (1 + z²/n); all from 0 to 1 without rows, or where share or n is NaN.

    >>> [round(end, 3) for end in wilson(1.0, 10)]
    [0.722, 1.0]
    """
    if math.isnan(share) or not n:
        return 0.0, 1.0
    z2 = NORMAL_95**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    reach = NORMAL_95 * math.sqrt(max(0.0, share * (1 - share)) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def mean_interval(mean: float, error: float) -> Interval:
    """Return the normal 95 % interval of a mean with a known standard error: mean ± 1.96 errors.

    >>> mean_interval(0.5, 0.0)
    (0.5, 0.5)
    """
    return mean - NORMAL_95 * error, mean + NORMAL_95 * error


def average_interval(shares: Iterable[tuple[float, Interval]]) -> Interval:
    """Return the 95 % interval of the plain mean of independent shares, by Newcombe's square-and-add (1998).

    The distances of the shares to the ends of their intervals are squared and added. Unlike an interval by a standard
    error it keeps the properties of Wilson's intervals: it stays within 0 and 1 and is not empty at a share of 1.

    >>> [round(end, 3) for end in average_interval([(1.0, wilson(1.0, 10)), (0.5, wilson(0.5, 10))])]
    [0.559, 0.882]
    """
    pairs = list(shares)
    mean = sum(share for share, _ in pairs) / len(pairs)
    down, up = (math.sqrt(sum((share - ends[i]) ** 2 for share, ends in pairs)) / len(pairs) for i in (0, 1))
    return max(0.0, mean - down), min(1.0, mean + up)


def area_interval(area: float, positives: float, negatives: float) -> Interval:
    """Return the 95 % interval of an area under the ROC curve: every θ with |θ − A| ≤ 1.96 √V(θ).

    V(θ) is Hanley and McNeil's variance (1982) in Newcombe's form (2006, method 5), which needs no more than the
    number of rows of both kinds: θ(1−θ) [1 + N (1−θ)/(2−θ) + N θ/(1+θ)] / mn, N = (m+n)/2 − 1. Unlike A ± 1.96 √V(A)
    it stays within 0 and 1, and it is not empty where the ranking was perfect. Without rows of either kind it is
    all from 0 to 1.

    >>> [round(end, 3) for end in area_interval(1.0, 10, 10)]
    [0.8, 1.0]
    """
    if math.isnan(area) or not (positives > 0 and negatives > 0):
        return 0.0, 1.0
    half = max(0.0, (positives + negatives) / 2 - 1)

    def is_outside(theta: float) -> bool:
        spread = 1 + half * (1 - theta) / (2 - theta) + half * theta / (1 + theta)
        variance = theta * (1 - theta) * spread / (positives * negatives)
        return (theta - area) ** 2 > NORMAL_95**2 * variance

    ends = []
    for far in (0.0, 1.0):
        near = area
        for _ in range(N_BISECTIONS):
            middle = (near + far) / 2
            near, far = (near, middle) if is_outside(middle) else (middle, far)
        ends.append(near)
    return ends[0], ends[1]


def bounded_losses(log_posterior: Array, truth: NDArray[np.integer[Any]]) -> Array:
    """Return −ln p(truth) of each row, at most `MAX_LOSS_NATS`.

    >>> bounded_losses(np.array([[-1.0, -0.5], [0.0, -np.inf]]), np.array([0, 1])).round(1).tolist()
    [1.0, 708.4]
    """
    return np.minimum(-log_posterior[np.arange(len(truth)), truth], MAX_LOSS_NATS)


def paired_mean(difference: Array, weight: Array) -> tuple[float, float]:
    """Return the mean of paired differences of rows and its standard error; NaN for no weight.

    Two models are compared row by row, so that what is hard for both cancels out. The weights must sum to the
    effective number of rows (`effective_weights`).

    >>> paired_mean(np.array([1.0, 3.0]), np.ones(2))
    (2.0, 1.0)
    """
    n = float(weight.sum())
    if not n:
        return math.nan, math.nan
    mean = float(weight @ difference) / n
    return mean, standard_error(float(weight @ (difference - mean) ** 2) / n, n)
