"""Counts as a prior sees them: draws from urns (Dirichlet, Beta), sums at a rate (Gamma), and how probable they are.

The formulas stand in `families/marginal_likelihood.py`, which says what they are for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array

FAR = 1e3
"""From here on the series of ψ is exact to the last digits."""


def log_rising(a: Array, n: Array) -> Array:
    """ln a(a+1)…(a+n−1) = ln Γ(a+n) − ln Γ(a), also for n that is no whole number; no digits are lost for large a.

    >>> np.exp(log_rising(np.array([0.5, 3.0]), np.array([2.0, 0.0]))).round(12).tolist()
    [0.75, 1.0]
    """
    from scipy.special import betaln, gammaln

    some = np.where(n > 0, n, 1.0)
    return np.where(n > 0, gammaln(some) - betaln(a, some), 0.0)


def _slope_of_rising(a: Array, n: Array) -> Array:
    """The derivative of `log_rising` by a; beyond FAR by the series, where the difference would lose its digits."""
    from scipy.special import digamma

    near, a = np.minimum(a, FAR), np.maximum(a, FAR)
    with np.errstate(over="ignore"):  # a square beyond all doubles divides by ∞
        share = n / (a + n)
        series = np.log1p(n / a) + share / (2 * a) + share * (1 + a / (a + n)) / (12 * a**2)
    return np.where(a > FAR, series, digamma(near + n) - digamma(near))


class Drawn(Protocol):
    """What was counted, as it looks to a prior: for one pseudo-count, or for several independently."""

    def log_marginal_likelihood(self, alpha: Array) -> Array:
        """ln p(counts | α) for each α, up to what it does not change."""
        ...

    def slope(self, alpha: Array) -> Array:
        """Its derivative by α."""
        ...


@dataclass(frozen=True)
class Urns:
    """Draws from urns, `total` from each; urns and counts belong to the α of their `urn_owner` and `owner`.

    An urn has as many kinds as its owner has `levels`. Equal counts of one owner are told once, with their `times`.

    >>> coin = Urns.of(np.array([3.0, 2.0]), np.zeros(2), np.array([5.0]), np.zeros(1), np.array([2.0]))
    >>> np.exp(-coin.log_marginal_likelihood(np.ones(1))).round(9).tolist()  # heads 1/2 2/3 3/4, tails 1/5 2/6
    [60.0]
    """

    count: Array
    owner: NDArray[np.intp]
    times: Array
    total: Array
    urn_owner: NDArray[np.intp]
    urns: Array
    levels: Array

    @classmethod
    def of(
        cls, count: Array, owner: Array, total: Array, urn_owner: Array, levels: Array, times: Array | None = None
    ) -> Urns:
        """Urns and counts as they come, `times` over."""
        drawn = _told_once(count, owner, np.ones(len(count)) if times is None else times)
        return cls(*drawn, *_told_once(total, urn_owner, np.ones(len(total))), levels)

    @classmethod
    def alike(cls, count: Array, total: Array, levels: float, times: Array | None = None) -> Urns:
        """Urns with as many kinds each, under one α."""
        return cls.of(count, np.zeros(len(count)), total, np.zeros(len(total)), np.array([levels]), times)

    def log_marginal_likelihood(self, alpha: Array) -> Array:
        """See `Drawn.log_marginal_likelihood`."""
        each = self.times * log_rising(alpha[self.owner], self.count)
        whole = self.urns * log_rising((alpha * self.levels)[self.urn_owner], self.total)
        return self._sums(each, whole)

    def slope(self, alpha: Array) -> Array:
        """See `Drawn.slope`."""
        each = self.times * _slope_of_rising(alpha[self.owner], self.count)
        whole = self.urns * _slope_of_rising((alpha * self.levels)[self.urn_owner], self.total)
        return self._sums(each, whole * self.levels[self.urn_owner])

    def _sums(self, each: Array, whole: Array) -> Array:
        m = len(self.levels)
        return _summed(self.owner, each, m) - _summed(self.urn_owner, whole, m)


def _told_once(value: Array, owner: Array, times: Array) -> tuple[Array, NDArray[np.intp], Array]:
    """Equal values of one owner once, and how often; values of 0 not at all."""
    some = (value > 0) & (times > 0)
    pair, place = np.unique(owner[some] + 1j * value[some], return_inverse=True)
    return pair.imag, pair.real.astype(np.intp), _summed(place.reshape(-1), times[some], len(pair))


def _summed(owner: NDArray[np.intp], value: Array, n: int) -> Array:
    return np.bincount(owner, value, n).astype(np.float64, copy=False)  # of nothing NumPy makes whole numbers


@dataclass(frozen=True)
class Rates:
    """Sums of counts that come at a rate: `total` in `weight` rows, where α rows of the `mean` are imagined."""

    total: Array
    weight: Array
    mean: Array

    def log_marginal_likelihood(self, alpha: Array) -> Array:
        """See `Drawn.log_marginal_likelihood`."""
        shape, rows = alpha * self.mean, self.weight + alpha
        each = log_rising(shape, self.total) + shape * np.log(alpha / rows) - self.total * np.log(rows)
        return each.sum(keepdims=True)

    def slope(self, alpha: Array) -> Array:
        """See `Drawn.slope`."""
        rows = self.weight + alpha
        prior = _slope_of_rising(alpha * self.mean, self.total) + np.log(alpha / rows) + self.weight / rows
        return (self.mean * prior - self.total / rows).sum(keepdims=True)
