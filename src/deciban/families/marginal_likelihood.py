"""How much smoothing the counts themselves ask for: the pseudo-count under which they are most probable.

A pseudo-count α is a Dirichlet prior, Dir(α, …, α), and θ = (n_v + α)/(N + αV) the probability of what comes next.
Multiplied over all that came, one after another, these are the probability of the counts before any was seen, in
closed form and whatever the order (Pólya's urn):

    p(n | α) = Π_v α(α+1)…(α+n_v−1) / αV(αV+1)…(αV+N−1),

for each class and feature; flags are V = 2, the Beta-binomial. A rate has the prior Gamma(αm, α), m the column's
mean, and its sums are negative binomial:

    p(S | α) ∝ Γ(S + αm)/Γ(αm) · α^(αm) / (N + α)^(S + αm).

The α that is asked for is that of the highest product over the classes: of levels and bins one for each feature, of
all else, whose features are alike (words, flags, rates), one for all of them. Nothing but sums is needed, so merged,
forgotten or held-out rows ask for what a model learned without detours would ask for.

docs/lab/calibration.md counts, by 10×10-fold log-loss, where that won, tied and lost against α = 1. The rule was
found on the tables of that page, as one of some fifteen that were compared, so the count flatters it. The others were
tried once, mostly in fewer shuffles, by scripts that are not kept: one α for all levels, as for words, won 3 and lost
adult; bins as free as levels lost breast-w and labor, but won adult, and a prior that pulls α towards 1 did not mend
breast-w. Of words (SMS and R8, four events, one 5-fold split) log-loss fell in seven cases of eight, and rose for the
complement on R8.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.families.bernoulli import Bernoulli
from deciban.families.binned import Binned
from deciban.families.categorical import Categorical
from deciban.families.complement import Complement
from deciban.families.family import Alpha, Family, to_dense
from deciban.families.joint import Joint
from deciban.families.multinomial import Multinomial
from deciban.families.poisson import Poisson
from deciban.families.text_family import Text
from deciban.ledger import Cells, Counts, Levels, Tallies
from deciban.ledger.statistic import divide

LEAST, MOST = 1e-3, 1e3
"""Between these a pseudo-count is looked for; in a joint table of many cells from one for all of them on."""

LEAST_OF_BINS = 1.0
"""Bins were cut where the classes part, so their counts look surer than they are: never below Laplace's."""

FALLBACK = 1.0
"""Laplace's, where the counts say nothing."""

STEPS, HALVINGS = 25, 32
"""The highest of so many steps, and then where the slope is nothing: there may be several hills."""

DIGITS = 3
"""Digits of what is chosen: more change nothing, and sums that were added in another order must not change it."""

FLAT = 1e-10
"""Heights that differ by less than this share are the same."""

MOST_CELLS = 1e300
"""A joint table of more cells is told as one of so many, so that doubles can hold it."""


MIN_SERIES_ARGUMENT = 1e3
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
    """The derivative of `log_rising` by a; beyond MIN_SERIES_ARGUMENT by the series, where the difference would lose its digits."""
    from scipy.special import digamma

    near, a = np.minimum(a, MIN_SERIES_ARGUMENT), np.maximum(a, MIN_SERIES_ARGUMENT)
    with np.errstate(over="ignore"):  # a square beyond all doubles divides by ∞
        share = n / (a + n)
        series = np.log1p(n / a) + share / (2 * a) + share * (1 + a / (a + n)) / (12 * a**2)
    return np.where(a > MIN_SERIES_ARGUMENT, series, digamma(near + n) - digamma(near))


class CompoundLikelihood(Protocol):
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
        """See `CompoundLikelihood.log_marginal_likelihood`."""
        each = self.times * log_rising(alpha[self.owner], self.count)
        whole = self.urns * log_rising((alpha * self.levels)[self.urn_owner], self.total)
        return self._sums(each, whole)

    def slope(self, alpha: Array) -> Array:
        """See `CompoundLikelihood.slope`."""
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
        """See `CompoundLikelihood.log_marginal_likelihood`."""
        shape, rows = alpha * self.mean, self.weight + alpha
        each = log_rising(shape, self.total) + shape * np.log(alpha / rows) - self.total * np.log(rows)
        return each.sum(keepdims=True)

    def slope(self, alpha: Array) -> Array:
        """See `CompoundLikelihood.slope`."""
        rows = self.weight + alpha
        prior = _slope_of_rising(alpha * self.mean, self.total) + np.log(alpha / rows) + self.weight / rows
        return (self.mean * prior - self.total / rows).sum(keepdims=True)


def compound_likelihood(family: Family, part: Any) -> CompoundLikelihood | None:
    """What this family draws its probabilities from; None where it has no pseudo-count."""
    told = next((told for kind, told in COMPOUND_LIKELIHOODS.items() if isinstance(family, kind)), None)
    return None if told is None else told(family, part)


def _flags(family: Bernoulli, part: Counts | Tallies) -> Urns:
    if isinstance(part, Tallies):
        return _sparse_flags(part)
    absent = np.maximum(part.weight - part.total, 0.0)
    total = np.broadcast_to(part.weight, part.total.shape).ravel()
    return Urns.alike(np.concatenate([part.total.ravel(), absent.ravel()]), total, 2.0)


def _sparse_flags(part: Tallies) -> Urns:
    """A class that a word does not list is without it in all of its rows."""
    n, V = part.weight[:, 0], part.n_features
    absent = np.maximum(n[part.klass] - part.total, 0.0)
    listed = part.per_class(np.ones(len(part.total)))
    times = np.concatenate([np.ones(2 * len(part.total)), V - listed])
    urns = Urns.alike(np.concatenate([part.total, absent, n]), n, 2.0, times)
    return replace(urns, urns=urns.urns * V)


def _words(family: Multinomial, part: Counts | Tallies) -> Urns:
    if isinstance(part, Tallies):
        return Urns.alike(part.total, part.per_class(part.total), part.n_features)
    return Urns.alike(part.total.ravel(), part.total.sum(axis=1), part.n_features)


def _other_words(family: Complement, part: Counts | Tallies) -> Urns:
    """The words of all other classes, for each class: what its weights are estimated from.

    They overlap, so the product is no probability of all words together, but it is one of what each class is
    estimated from; for two classes it is that of `Multinomial`.
    """
    sparse = part if isinstance(part, Tallies) else Tallies.from_counts(Counts(part.total, part.weight[:, :1]))
    everywhere, K = sparse.per_feature(sparse.total), sparse.n_classes
    elsewhere = np.maximum(everywhere[sparse.feature] - sparse.total, 0.0)
    times = np.concatenate([np.ones(len(elsewhere)), K - np.diff(sparse.start)])
    total = np.maximum(everywhere.sum() - sparse.per_class(sparse.total), 0.0)
    return Urns.alike(np.concatenate([elsewhere, everywhere]), total, sparse.n_features, times)


def _levels(family: Categorical, part: Levels) -> Urns:
    counts = family.separate_levels(family.full(part)).counts
    K, owner, each = counts.n_classes, counts.owner, np.arange(counts.n_features)
    sizes = (counts.sizes + (family.unseen == "smooth")).astype(np.float64)
    table, weight = counts.table.ravel(), counts.weight.ravel()
    return Urns.of(table, np.tile(owner, K), weight, np.tile(each, K), sizes)


def _bins(family: Binned, part: Any) -> Urns:
    return _levels(Categorical(), family.bins(part).counts(part))


def _cells(family: Joint, part: Cells) -> Urns:
    logs = sum(math.log(v) for v in family.solve(part).room)
    return Urns.alike(part.count.ravel(), part.count.sum(axis=1), math.exp(min(logs, math.log(MOST_CELLS))))


def _rates(family: Poisson, part: Counts | Tallies) -> Rates:
    counts = to_dense(part)
    weight = np.broadcast_to(counts.weight, counts.total.shape)
    mean = np.broadcast_to(divide(counts.total.sum(axis=0), weight.sum(axis=0)), weight.shape)
    told = (weight > 0) & (mean > 0)
    return Rates(counts.total[told], weight[told], mean[told])


def _text(family: Text, part: Any) -> Urns:
    counted = family.select_words(part).counted
    if family.event == "bernoulli":
        return _sparse_flags(counted)
    return _other_words(Complement(), counted) if family.event == "complement" else _words(Multinomial(), counted)


COMPOUND_LIKELIHOODS: dict[type, Callable[[Any, Any], CompoundLikelihood]] = {
    Bernoulli: _flags,
    Multinomial: _words,
    Complement: _other_words,
    Categorical: _levels,
    Binned: _bins,
    Joint: _cells,
    Poisson: _rates,
    Text: _text,
}
"""What each family that has a pseudo-count draws from."""


def best_alpha(family: Family, part: Any) -> Alpha | None:
    """The pseudo-count of the highest evidence, to three digits; of levels and bins one each; None: there is none.

    >>> best_alpha(Bernoulli(), Counts(np.array([[9.0, 1.0, 5.0]]), np.array([[10.0]])))
    1.09
    """
    told = compound_likelihood(family, part)
    if told is None:
        return None
    if isinstance(family, (Categorical, Binned)):
        least = LEAST_OF_BINS if isinstance(family, Binned) else LEAST
        return _highest(told, np.full(part.n_features, least))
    cells = float(told.levels[0]) if isinstance(family, Joint) and isinstance(told, Urns) else 1.0
    return float(_highest(told, np.array([min(LEAST, 1 / cells)]))[0])


def _highest(told: CompoundLikelihood, least: Array) -> Array:
    """The α of the highest evidence from `least` to MOST, where it depends on α at all."""
    steps = np.geomspace(least, np.full(len(least), MOST), STEPS)
    height = np.array([told.log_marginal_likelihood(alpha) for alpha in steps])
    top, each = height.argmax(axis=0), np.arange(len(least))
    low, high = np.log(steps[np.maximum(top - 1, 0), each]), np.log(steps[np.minimum(top + 1, STEPS - 1), each])
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        up = told.slope(np.exp(middle)) > 0
        low, high = np.where(up, middle, low), np.where(up, high, middle)
    flat = np.ptp(height, axis=0) <= FLAT * np.maximum(1.0, np.abs(height).max(axis=0))
    found = np.where(flat, FALLBACK, np.exp((low + high) / 2))
    return np.array([float(f"{alpha:.{DIGITS}g}") for alpha in found.tolist()])


def with_best_alphas(families: Sequence[Family], parts: Sequence[Any]) -> tuple[Family, ...]:
    """The families with the pseudo-counts that their parts ask for."""
    return tuple(with_alpha(family, best_alpha(family, part)) for family, part in zip(families, parts))


def with_alpha(family: Any, alpha: Alpha | None) -> Any:
    """The family with another pseudo-count; one that has none as it is."""
    return family if alpha is None else replace(family, alpha=alpha)
