"""The pseudo-count of highest marginal likelihood of the counts.

A pseudo-count α is a Dirichlet prior, Dir(α, …, α), and θ = (n_v + α)/(N + αV) the predictive probability of v.
The product of the predictive probabilities of all observations is the marginal likelihood of the counts, in
closed form and independent of the order (Pólya's urn):

    p(n | α) = Π_v α(α+1)…(α+n_v−1) / αV(αV+1)…(αV+N−1),

for each class and feature; flags are V = 2, the Beta-binomial. A rate has the prior Gamma(αm, α), m the column's
mean, and its sums are negative binomial:

    p(S | α) ∝ Γ(S + αm)/Γ(αm) · α^(αm) / (N + α)^(S + αm).

The chosen α maximises the product over the classes: for levels one for each feature; for
all else, whose features are alike (words, flags, rates), one for all of them. Only sums are needed, so the choice
after merging, forgetting or holding out rows is that of a model learned directly.

docs/lab/calibration.md counts, by 10×10-fold log-loss, where this rule won, tied and lost against α = 1. It was
selected on the tables of that page from some fifteen rules, so the count is biased in its favour. The others were
tried once, mostly in fewer shuffles, by scripts that are not kept: one α for all levels, as for words, won 3 and lost
adult; bins with the bounds of levels lost breast-w and labor, but won adult, and a prior that pulls α towards 1 did
not improve breast-w. For words (SMS and R8, four events, one 5-fold split) log-loss fell in seven cases of eight, and
rose for the complement on R8.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.families.count_families import Bernoulli, Complement, Multinomial, Poisson
from deciban.families.family import Alpha, Family, to_dense
from deciban.families.level_families import Categorical, Joint
from deciban.families.pooled_shares import log_rising_derivative, merge_equal, sum_by_owner
from deciban.families.text_family import Text
from deciban.ledger import Cells, Counts, Levels, Tallies
from deciban.ledger.statistic import divide

MIN_ALPHA, MAX_ALPHA = 1e-3, 1e3
"""The range of pseudo-counts that are searched; in a joint table of many cells it begins at 1 / (number of cells)."""

FALLBACK_ALPHA = 1.0
"""The pseudo-count (Laplace's) where the likelihood does not depend on it."""

GRID_POINTS, BISECTIONS = 25, 32
"""Number of grid points, since there may be several maxima, and of bisections of the derivative after that."""

SIGNIFICANT_DIGITS = 3
"""Significant digits of the chosen pseudo-count: more change nothing, and the order of summation must not show."""

FLAT_FRACTION = 1e-10
"""Log-likelihoods that differ by less than this fraction count as equal."""

MAX_JOINT_CELLS = 1e300
"""Largest number of cells of a joint table, so that a double can hold it; more count as this many."""


def log_rising(a: Array, n: Array) -> Array:
    """Return ln a(a+1)…(a+n−1) = ln Γ(a+n) − ln Γ(a), also for fractional n; accurate for large a.

    >>> np.exp(log_rising(np.array([0.5, 3.0]), np.array([2.0, 0.0]))).round(12).tolist()
    [0.75, 1.0]
    """
    from scipy.special import betaln, gammaln

    some = np.where(n > 0, n, 1.0)
    return np.where(n > 0, gammaln(some) - betaln(a, some), 0.0)


@dataclass(frozen=True)
class Urns:
    """Draws from urns, `total` from each; urns and counts belong to the α of their `urn_owner` and `owner`.

    An urn has as many kinds as its owner has `levels`. Equal counts of one owner are stored once, with their `times`.

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
    ) -> "Urns":
        """Build urns from counts, each occurring `times` times."""
        drawn = merge_equal(count, owner, np.ones(len(count)) if times is None else times)
        return cls(*drawn, *merge_equal(total, urn_owner, np.ones(len(total))), levels)

    @classmethod
    def of_one_alpha(cls, count: Array, total: Array, levels: float, times: Array | None = None) -> "Urns":
        """Build urns with equal numbers of kinds, under one α."""
        return cls.of(count, np.zeros(len(count)), total, np.zeros(len(total)), np.array([levels]), times)

    def log_marginal_likelihood(self, alpha: Array) -> Array:
        """Return ln p(counts | α) for each α, up to a constant."""
        drawn = self.times * log_rising(alpha[self.owner], self.count)
        urns = self.urns * log_rising((alpha * self.levels)[self.urn_owner], self.total)
        return self._subtract_urns(drawn, urns)

    def derivative(self, alpha: Array) -> Array:
        """Return the derivative of `log_marginal_likelihood` with respect to each α."""
        drawn = self.times * log_rising_derivative(alpha[self.owner], self.count)
        urns = self.urns * log_rising_derivative((alpha * self.levels)[self.urn_owner], self.total)
        return self._subtract_urns(drawn, urns * self.levels[self.urn_owner])

    def _subtract_urns(self, drawn: Array, urns: Array) -> Array:
        """Return, for each α, the sum of the terms of its counts less that of its urns."""
        m = len(self.levels)
        return sum_by_owner(self.owner, drawn, m) - sum_by_owner(self.urn_owner, urns, m)


@dataclass(frozen=True)
class Rates:
    """Sums of Poisson counts: `total` in `weight` rows, to which α pseudo-observations of the `mean` are added."""

    total: Array
    weight: Array
    mean: Array

    def log_marginal_likelihood(self, alpha: Array) -> Array:
        """See `Urns.log_marginal_likelihood`; there is one α."""
        shape, rows = alpha * self.mean, self.weight + alpha
        each = log_rising(shape, self.total) + shape * np.log(alpha / rows) - self.total * np.log(rows)
        return each.sum(keepdims=True)

    def derivative(self, alpha: Array) -> Array:
        """See `Urns.derivative`."""
        rows = self.weight + alpha
        prior = log_rising_derivative(alpha * self.mean, self.total) + np.log(alpha / rows) + self.weight / rows
        return (self.mean * prior - self.total / rows).sum(keepdims=True)


CompoundLikelihood = Urns | Rates
"""The marginal likelihood of counts as a function of one pseudo-count, or of several independent ones."""


def compound_likelihood(family: Family, part: Any) -> CompoundLikelihood | None:
    """Return the marginal likelihood of a family's counts; None where it has no pseudo-count."""
    build = COMPOUND_LIKELIHOODS.get(type(family))
    return None if build is None else build(family, part)


def _build_flag_urns(family: Bernoulli, part: Counts | Tallies) -> Urns:
    """Return an urn for each class and flag, with the kinds present and absent."""
    if isinstance(part, Tallies):
        return _build_sparse_flag_urns(part)
    absent = np.maximum(part.weight - part.total, 0.0)
    total = np.broadcast_to(part.weight, part.total.shape).ravel()
    return Urns.of_one_alpha(np.concatenate([part.total.ravel(), absent.ravel()]), total, 2.0)


def _build_sparse_flag_urns(part: Tallies) -> Urns:
    """Return the urns of sparse flags; a class without an entry of a word has it in none of its rows."""
    n, V = part.weight[:, 0], part.n_features
    absent = np.maximum(n[part.class_code] - part.total, 0.0)
    listed = part.per_class(np.ones(len(part.total)))
    times = np.concatenate([np.ones(2 * len(part.total)), V - listed])
    urns = Urns.of_one_alpha(np.concatenate([part.total, absent, n]), n, 2.0, times)
    return replace(urns, urns=urns.urns * V)


def _build_word_urns(family: Multinomial, part: Counts | Tallies) -> Urns:
    """Return an urn for each class, whose kinds are the words."""
    sums = part.per_class(part.total) if isinstance(part, Tallies) else part.total.sum(axis=1)
    return Urns.of_one_alpha(part.total.ravel(), sums, part.n_features)


def _build_urns_of_others(family: Complement, part: Counts | Tallies) -> Urns:
    """Return, for each class, the words of all other classes, from which its weights are estimated.

    They overlap, so the product is not a probability of all words together, but of the words from which each class is
    estimated; for two classes it is that of `Multinomial`.
    """
    sparse = part if isinstance(part, Tallies) else Tallies.from_counts(Counts(part.total, part.weight[:, :1]))
    everywhere, K = sparse.per_feature(sparse.total), sparse.n_classes
    elsewhere = np.maximum(everywhere[sparse.feature] - sparse.total, 0.0)
    times = np.concatenate([np.ones(len(elsewhere)), K - np.diff(sparse.start)])
    total = np.maximum(everywhere.sum() - sparse.per_class(sparse.total), 0.0)
    return Urns.of_one_alpha(np.concatenate([elsewhere, everywhere]), total, sparse.n_features, times)


def _build_level_urns(family: Categorical, part: Levels) -> Urns:
    """Return an urn for each class and feature, whose kinds are its levels; each feature has its own α."""
    counts = family.separate_levels(family.full(part)).counts
    K, owner, each = counts.n_classes, counts.owner, np.arange(counts.n_features)
    sizes = (counts.sizes + (family.unseen == "smooth")).astype(np.float64)
    table, weight = counts.table.ravel(), counts.weight.ravel()
    return Urns.of(table, np.tile(owner, K), weight, np.tile(each, K), sizes)


def _build_cell_urns(family: Joint, part: Cells) -> Urns:
    """Return an urn for each class, whose kinds are the cells of the joint table."""
    logs = sum(math.log(v) for v in family.solve(part).level_counts)
    n_cells = math.exp(min(logs, math.log(MAX_JOINT_CELLS)))
    return Urns.of_one_alpha(part.count.ravel(), part.count.sum(axis=1), n_cells)


def _build_rates(family: Poisson, part: Counts | Tallies) -> Rates:
    """Return the sums of each class and feature that has rows, of features with any count."""
    counts = to_dense(part)
    weight = np.broadcast_to(counts.weight, counts.total.shape)
    mean = np.broadcast_to(divide(counts.total.sum(axis=0), weight.sum(axis=0)), weight.shape)
    known = (weight > 0) & (mean > 0)
    return Rates(counts.total[known], weight[known], mean[known])


COMPOUND_LIKELIHOODS: dict[type, Callable[[Any, Any], CompoundLikelihood | None]] = {
    Bernoulli: _build_flag_urns,
    Multinomial: _build_word_urns,
    Complement: _build_urns_of_others,
    Categorical: _build_level_urns,
    Joint: _build_cell_urns,
    Poisson: _build_rates,
    Text: lambda family, part: compound_likelihood(family.event_family, family.select_words(part).counted),
}
"""The marginal likelihood of each family that has a pseudo-count."""


def best_alpha(family: Family, part: Any) -> Alpha | None:
    """Return the pseudo-count of highest marginal likelihood, to three digits; None where the family has none.

    Levels have one for each feature.

    >>> best_alpha(Bernoulli(), Counts(np.array([[9.0, 1.0, 5.0]]), np.array([[10.0]])))
    1.09
    """
    likelihood = compound_likelihood(family, part)
    if likelihood is None:
        return None
    if isinstance(family, Categorical):
        return _maximise(likelihood, np.full(part.n_features, MIN_ALPHA))
    cells = float(likelihood.levels[0]) if isinstance(family, Joint) and isinstance(likelihood, Urns) else 1.0
    return float(_maximise(likelihood, np.array([min(MIN_ALPHA, 1 / cells)]))[0])


def _maximise(likelihood: CompoundLikelihood, lowest: Array) -> Array:
    """Return each α of highest likelihood from `lowest` to MAX_ALPHA; FALLBACK_ALPHA where it is constant."""
    steps = np.geomspace(lowest, np.full(len(lowest), MAX_ALPHA), GRID_POINTS)
    height = np.array([likelihood.log_marginal_likelihood(alpha) for alpha in steps])
    top, each = height.argmax(axis=0), np.arange(len(lowest))
    low, high = np.log(steps[np.maximum(top - 1, 0), each]), np.log(steps[np.minimum(top + 1, GRID_POINTS - 1), each])
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        up = likelihood.derivative(np.exp(middle)) > 0
        low, high = np.where(up, middle, low), np.where(up, high, middle)
    flat = np.ptp(height, axis=0) <= FLAT_FRACTION * np.maximum(1.0, np.abs(height).max(axis=0))
    found = np.where(flat, FALLBACK_ALPHA, np.exp((low + high) / 2))
    return np.array([float(f"{alpha:.{SIGNIFICANT_DIGITS}g}") for alpha in found.tolist()])


def with_alpha(family: Any, alpha: Alpha | None) -> Any:
    """Return the family with another pseudo-count; None: unchanged."""
    return family if alpha is None else replace(family, alpha=alpha)
