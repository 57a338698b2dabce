"""How sure a figure is: 95 % intervals of shares, of means, and of the area under a curve."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from deciban.ledger.statistic import Array

NORMAL_95 = 1.959963984540054
"""The 97.5 % point of the normal distribution: 95 % lie within so many deviations."""

HALVINGS = 60
"""Halvings of [0, 1] that find the end of an interval to the last bits of a double."""

Interval = tuple[float, float]


def effective_rows(weight: float, squares: float) -> float:
    """How many rows of equal weight say as much (Kish 1965), (Σw)²/Σw²; NaN where that leaves the range of a double.

    >>> effective_rows(4.0, 10.0), effective_rows(1.0, 0.0)
    (1.6, nan)
    """
    return weight * weight / squares if 0 < squares < math.inf else math.nan


def effective_weights(weight: Array) -> Array:
    """The same weights in the unit in which they add up to that number of rows.

    >>> effective_weights(np.array([3.0, 1.0])).round(9).tolist(), effective_weights(np.full(2, 1e300)).tolist()
    ([1.2, 0.4], [1.0, 1.0])
    """
    w = weight / weight.max() if weight.any() else weight  # no square may overflow
    return np.asarray(w * (w.sum() / max(float(w @ w), np.finfo(np.float64).tiny)))


def error_of_mean(variance: float, rows: float) -> float:
    """The standard error of a mean of so many rows, √(variance/(n − 1)); NaN for too few.

    >>> error_of_mean(4.0, 5), error_of_mean(4.0, 1)
    (1.0, nan)
    """
    return math.sqrt(variance / (rows - 1)) if rows > 1 else math.nan


def wilson(share: float, n: float) -> Interval:
    """The 95 % interval of a share seen in n rows (Wilson 1927): never below 0 nor above 1, good for small n.

    (p + z²/2n ± z √(p(1−p)/n + z²/4n²)) / (1 + z²/n); all from 0 to 1 where n is not known (NaN).

    >>> [round(end, 3) for end in wilson(1.0, 10)]
    [0.722, 1.0]
    """
    if math.isnan(share) or not n:
        return 0.0, 1.0
    z2 = NORMAL_95**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    reach = NORMAL_95 * math.sqrt(max(0.0, share * (1 - share)) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def of_mean(mean: float, error: float) -> Interval:
    """The 95 % interval of a mean whose standard error is known: the normal one, mean ± 1.96 errors.

    >>> of_mean(0.5, 0.0)
    (0.5, 0.5)
    """
    return mean - NORMAL_95 * error, mean + NORMAL_95 * error


def of_average(shares: Iterable[tuple[float, Interval]]) -> Interval:
    """The 95 % interval of the plain mean of independent shares: their distances to their ends, squared and added.

    (Newcombe's square-and-add, 1998: it has the manners of Wilson's intervals, which a standard error has not.)

    >>> [round(end, 3) for end in of_average([(1.0, wilson(1.0, 10)), (0.5, wilson(0.5, 10))])]
    [0.559, 0.882]
    """
    given = list(shares)
    mean = sum(share for share, _ in given) / len(given)
    down, up = (math.sqrt(sum((share - ends[i]) ** 2 for share, ends in given)) / len(given) for i in (0, 1))
    return max(0.0, mean - down), min(1.0, mean + up)


def of_area(area: float, positives: float, negatives: float) -> Interval:
    """The 95 % interval of an area under the ROC curve: every θ with |θ − A| ≤ 1.96 √V(θ).

    V(θ) is Hanley and McNeil's variance (1982) in Newcombe's form (2006, method 5), which needs no more than the
    number of rows of both kinds: θ(1−θ) [1 + N (1−θ)/(2−θ) + N θ/(1+θ)] / mn, N = (m+n)/2 − 1. Unlike A ± 1.96 √V(A)
    it stays within 0 and 1, and it is not empty where the ranking was perfect.

    >>> [round(end, 3) for end in of_area(1.0, 10, 10)]
    [0.8, 1.0]
    """
    if math.isnan(area) or not (positives > 0 and negatives > 0):
        return 0.0, 1.0
    half = max(0.0, (positives + negatives) / 2 - 1)

    def outside(theta: float) -> bool:
        spread = 1 + half * (1 - theta) / (2 - theta) + half * theta / (1 + theta)
        variance = theta * (1 - theta) * spread / (positives * negatives)
        return (theta - area) ** 2 > NORMAL_95**2 * variance

    ends = []
    for far in (0.0, 1.0):
        near = area
        for _ in range(HALVINGS):
            middle = (near + far) / 2
            near, far = (near, middle) if outside(middle) else (middle, far)
        ends.append(near)
    return ends[0], ends[1]
