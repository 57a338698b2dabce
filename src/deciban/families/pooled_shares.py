"""The pseudo-counts of levels whose shares in each class are shrunk to the share of all classes together.

A pseudo-count that is alike in all classes makes a rare level speak for the class of fewer rows: it adds 1/N_k to the
share of every class. Here a level has the pseudo-count

    a_kv = αKπ_k + m p_v,    θ_kv = (n_kv + a_kv) / (N_k + αKπ_k V + m),

K the number of classes that have the feature, π_k the class's share of the rows that have it: so α on average is
added to every level and class, and the same to the *shares* of all classes. p_v is the share of the level in all
classes together, with these pseudo-counts. Both leave the order of the classes by their shares of a level as it is:
with two classes the evidence of a level has the sign of the difference of its shares, and lies between that of the
counts alone and none.

m is the concentration of a Dirichlet distribution about p, of which the shares of each class are a draw. It maximises

    Σ_k (1 − π_k) [ln Γ(m)/Γ(N_k + m) + Σ_v ln Γ(n_kv + m p_v)/Γ(m p_v)],

the marginal likelihood of the counts, in which a class counts by the share of the rows of all others: p is its own
share too, and a class of nearly all rows would always agree with it.

docs/lab/levels.md has what was tried. Without α, (n_kv + m p_v)/(N_k + m), a level of three rows of one class has the
evidence of one of three hundred, which lost breast-w; without m, chance among the few rows of a class is evidence.
"""

import numpy as np

from deciban._typing import Array
from deciban.ledger import Levels
from deciban.ledger.statistic import divide

LOG_MIN_POOLING, LOG_MAX_POOLING = np.log(1e-2), np.log(1e6)
"""The logarithms of the bounds of m."""

MIN_SERIES_ARGUMENT = 1e3
"""Argument from which the series of ψ is accurate to the last digits."""

BISECTIONS = 24
"""The number of halvings of the range of ln m: to 10⁻⁶."""


def pooled_pseudo_counts(part: Levels, alpha: Array, n_more: int = 0) -> tuple[Array, Array, Array]:
    """Return a_kv of each level (K×m), a_k of a level without rows (K×d), and m (d) of each feature.

    `alpha` has a pseudo-count for each feature; `n_more` levels without rows belong to every feature.

    >>> part = Levels(np.array([[300.0, 100.0], [6.0, 14.0]]), np.array([0, 2]))
    >>> added, _, m = pooled_pseudo_counts(part, np.ones(1))
    >>> ((part.table + added) / (part.weight + added.sum(axis=1, keepdims=True))).round(2).tolist()  # 3/4 and 3/10
    [[0.75, 0.25], [0.34, 0.66]]
    """
    own, weight = part.owner, part.weight
    rows, added = weight.sum(axis=0), alpha * (weight > 0).sum(axis=0)
    share = divide(weight, np.broadcast_to(rows, weight.shape))
    whole = np.maximum(rows + added * (part.sizes + n_more), np.finfo(np.float64).tiny)
    pooled = (part.table.sum(axis=0) + added[own]) / whole[own]
    m = fit_pooling(part, pooled, 1 - share)
    flat = added * share
    return flat[:, own] + m[own] * pooled, flat + m * added / whole, m


def fit_pooling(part: Levels, pooled: Array, class_weight: Array) -> Array:
    """Return m of each feature, where the derivative of its marginal likelihood by ln m changes its sign."""
    k, v = np.nonzero(part.table * pooled)
    count, base, own = part.table[k, v], pooled[v], part.owner[v]
    times, weight = class_weight[k, own], part.weight
    low, high = np.full(part.n_features, LOG_MIN_POOLING), np.full(part.n_features, LOG_MAX_POOLING)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        m = np.exp(middle)
        levels = np.bincount(own, times * base * log_rising_derivative(m[own] * base, count), part.n_features)
        up = levels > (class_weight * log_rising_derivative(np.broadcast_to(m, weight.shape), weight)).sum(axis=0)
        low, high = np.where(up, middle, low), np.where(up, high, middle)
    return np.exp((low + high) / 2)


def log_rising_derivative(a: Array, n: Array) -> Array:
    """Return the derivative of ln Γ(a+n) − ln Γ(a) by a; for large a by a series, which loses no digits."""
    from scipy.special import digamma

    near, a = np.minimum(a, MIN_SERIES_ARGUMENT), np.maximum(a, MIN_SERIES_ARGUMENT)
    with np.errstate(over="ignore"):  # a square that overflows divides by ∞
        share = n / (a + n)
        series = np.log1p(n / a) + share / (2 * a) + share * (1 + a / (a + n)) / (12 * a**2)
    return np.where(a > MIN_SERIES_ARGUMENT, series, digamma(near + n) - digamma(near))
