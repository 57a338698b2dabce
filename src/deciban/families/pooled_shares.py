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

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.ledger import Levels
from deciban.ledger.statistic import divide

LOG_MIN_POOLING, LOG_MAX_POOLING = np.log(1e-2), np.log(1e6)
"""The logarithms of the bounds of m."""

MIN_SERIES_ARGUMENT = 1e3
"""Argument from which the series of ψ is accurate to the last digits."""

MAX_STEPS, TOLERANCE = 40, 1e-9
"""The greatest number of steps to ln m, and the last step's size."""

TINY = np.finfo(np.float64).tiny
"""The smallest normal double, whose logarithm is finite."""


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
    """Return m of each feature, where the derivative of its marginal likelihood by ln m changes its sign.

    Equal counts of levels with equal shares are taken together.
    """
    d, (k, v) = part.n_features, np.nonzero(part.table)
    base, same = np.unique(part.owner + 1j * pooled, return_inverse=True)
    count, level, times = merge_equal(part.table[k, v], same[v], class_weight[k, part.owner[v]])
    own, share = base[level].real.astype(np.intp), base[level].imag

    def compare(log_m: Array) -> Array:
        m = np.exp(log_m)
        levels = sum_by_owner(own, times * share * _count_draws(m[own] * share, count), d)
        classes = (class_weight * _count_draws(m, part.weight)).sum(axis=0)
        return np.log(np.maximum(levels, TINY)) - np.log(np.maximum(classes, TINY))

    return np.exp(_find_roots(compare, np.full(d, LOG_MIN_POOLING), np.full(d, LOG_MAX_POOLING)))


def _count_draws(m: Array, n: Array) -> Array:
    """Return Σ_i 1/(m + i), i from 0 to n − 1, the derivative of ln Γ(m + n)/Γ(m) by m: ψ(m + n) − ψ(m)."""
    return np.asarray(np.log1p(n / (m + 8.0)) + _digamma_less_log(m + n) - _digamma_less_log(m))


def _digamma_less_log(x: Array) -> Array:
    """Return ψ(x) − ln(x + 8), x > 0, to ten digits: by the series of ψ at x + 8. (Importing SciPy takes as long as a
    small table.)
    """
    steps, y = np.zeros_like(x), x + 8.0
    for i in range(8):
        steps += 1 / (x + i)
    z = (1 / y) ** 2
    return np.asarray(-0.5 / y - z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z / 240))) - steps)


def _find_roots(function: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """Return where a function of each element falls to 0, by regula falsi (Illinois); else the nearer end.

    Each third step halves the interval: where the function falls like 1/m, secants alone hardly leave its high end.
    """
    at_low, at_high = function(low), function(high)
    low = np.where(at_high >= 0, high, low)
    high = np.where(at_low <= 0, low, high)
    found, last = high, np.zeros(len(low), dtype=np.bool_)
    for step in range(MAX_STEPS):
        gap = np.where((low == high) | (at_high == at_low), 1.0, at_high - at_low)
        inner = (low + high) / 2 if step % 3 == 2 else (low * at_high - high * at_low) / gap
        before, found = found, np.where(low == high, low, inner)
        if step and np.abs(found - before).max(initial=0.0) < TOLERANCE:
            break
        at_found = function(found)
        up = at_found > 0
        low, high = np.where(up, found, low), np.where(up, high, found)
        again = (up == last) & (step > 0)  # an end that stays twice counts half
        at_low = np.where(up, at_found, np.where(again, at_low / 2, at_low))
        at_high = np.where(up, np.where(again, at_high / 2, at_high), at_found)
        last = up
    return found


def merge_equal(value: Array, owner: NDArray[Any], times: Array) -> tuple[Array, NDArray[np.intp], Array]:
    """Return the distinct positive values of each owner, their owners and how often they occur."""
    some = (value > 0) & (times > 0)
    pair, place = np.unique(owner[some] + 1j * value[some], return_inverse=True)
    return pair.imag, pair.real.astype(np.intp), sum_by_owner(place.reshape(-1), times[some], len(pair))


def sum_by_owner(owner: NDArray[np.intp], value: Array, n: int) -> Array:
    """Return the sum of the values of each of n owners."""
    return np.bincount(owner, value, n).astype(np.float64, copy=False)  # of empty arrays NumPy makes integers


def log_rising_derivative(a: Array, n: Array) -> Array:
    """Return the derivative of ln Γ(a+n) − ln Γ(a) by a; for large a by a series, which loses no digits."""
    from scipy.special import digamma

    near, a = np.minimum(a, MIN_SERIES_ARGUMENT), np.maximum(a, MIN_SERIES_ARGUMENT)
    with np.errstate(over="ignore"):  # a square that overflows divides by ∞
        share = n / (a + n)
        series = np.log1p(n / a) + share / (2 * a) + share * (1 + a / (a + n)) / (12 * a**2)
    return np.where(a > MIN_SERIES_ARGUMENT, series, digamma(near + n) - digamma(near))
