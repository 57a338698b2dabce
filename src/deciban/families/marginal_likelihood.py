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
from dataclasses import replace
from typing import Any

import numpy as np

from deciban._typing import Array
from deciban.families.bernoulli import Bernoulli
from deciban.families.binned import Binned
from deciban.families.categorical import Categorical
from deciban.families.complement import Complement
from deciban.families.compound_likelihoods import Drawn, Rates, Urns
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


def drawn(family: Family, part: Any) -> Drawn | None:
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


COMPOUND_LIKELIHOODS: dict[type, Callable[[Any, Any], Drawn]] = {
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
    told = drawn(family, part)
    if told is None:
        return None
    if isinstance(family, (Categorical, Binned)):
        least = LEAST_OF_BINS if isinstance(family, Binned) else LEAST
        return _highest(told, np.full(part.n_features, least))
    cells = float(told.levels[0]) if isinstance(family, Joint) and isinstance(told, Urns) else 1.0
    return float(_highest(told, np.array([min(LEAST, 1 / cells)]))[0])


def _highest(told: Drawn, least: Array) -> Array:
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
