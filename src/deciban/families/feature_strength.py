"""Strength: how much evidence a feature gives, on average, for the class a row is of against another.

    Σ_k π_k Σ_{l≠k} π_l/(1−π_k) KL(p_kj ‖ p_lj),   KL(p ‖ q) = E_p[ln p − ln q], in nats.

A closed form of the parameters. They rest on a number of rows, so they are drawn anew from what those rows leave open
(Dirichlet shares, normal means, inverse-χ² variances, Gamma rates): the spread of the strength that comes out is
given as an interval about it. A class that never had a feature, or has no prior, is left out of its strength.

A text is one feature: its words speak together, in a document of the class's mean length.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from deciban._typing import Array
from deciban.errors import UndefinedError
from deciban.families.binned import Binned
from deciban.families.categorical import Categorical
from deciban.families.family import Alpha, broadcast_alpha, log, to_dense
from deciban.families.gaussian import Gaussian
from deciban.families.poisson import Poisson
from deciban.families.text_family import Text, mean_length
from deciban.ledger import Bags, Levels, Moments, Scatter, Tallies
from deciban.ledger.grid import RUN_CELLS
from deciban.ledger.levels import feature_runs
from deciban.ledger.statistic import divide
from deciban.scores import Diagonal, Full

DRAWS = 200
"""Parameters drawn for an interval."""

MOST_NUMBERS = 1 << 21
"""Numbers drawn for a feature at most: of very many levels and classes fewer tables are drawn."""

MOST_TOGETHER = 1 << 23
"""Numbers drawn for all features of a block: a hundred columns of many levels are to take a second, not ten."""

TAILS = (0.05, 0.5, 0.95)
"""The ends and the middle of a 90 % interval."""

TINY = np.finfo(np.float64).tiny


class Strengths(NamedTuple):
    """The strength of each feature in nats, and a 90 % interval."""

    value: Array
    low: Array
    high: Array


def strengths(family: Any, part: Any, prior: Array, rng: np.random.Generator) -> Strengths:
    """How strong each feature of a block is.

    >>> flags = Levels.of(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 0, 1, 1], np.int32), None, 2)
    >>> strengths(Categorical(), flags, np.array([0.5, 0.5]), np.random.default_rng(0)).value.round(3).tolist()
    [0.549, 0.0]
    """
    if isinstance(family, Gaussian):
        return _of_bells(family, part, prior, rng)
    if isinstance(family, Poisson):
        return _of_rates(family, to_dense(part), prior, rng)
    if isinstance(family, Binned):
        return _of_tables(family.bins(part).counts(part), family.alpha, prior, rng)
    if isinstance(family, Categorical):
        counts = family.separate_levels(family.full(part)).counts
        room = counts.sizes + (family.unseen == "smooth")
        return _of_tables(counts.widen(room), family.alpha, prior, rng)
    if isinstance(family, Text) and family.probabilistic:
        return _of_text(family, part, prior, rng)
    raise UndefinedError(
        f"{type(family).__name__} has no strength of single features. "
        f"Hint: Gaussian, Poisson, Categorical and Binned have, and Text unless it is a complement."
    )


def table_strength(theta: Array, prior: Array) -> Array:
    """From shares (… K×V) and class priors (K, or … K)."""
    pi = prior[..., None]
    log_theta = np.where(pi == 0, 0.0, log(theta))
    with np.errstate(invalid="ignore"):  # a level that a class cannot have says nothing for it
        gap = log_theta - _others(log_theta, pi)
    return np.maximum(np.where(theta == 0, 0.0, pi * theta * gap).sum(axis=(-2, -1)), 0.0)


def gaussian_strength(mean: Array, variance: Array, pi: Array) -> Array:
    """From means and variances (… K×d), and priors (K×d): KL = ½[(σ_k² + (μ_k−μ_l)²)/σ_l² − 1 + ln σ_l²/σ_k²]."""
    mean = mean - (pi * mean).sum(axis=-2, keepdims=True)  # so that no digits are lost far from zero
    precision, log_variance = 1 / variance, np.log(variance)
    squares = (variance + mean**2) * _others(precision, pi)
    squares += _others(mean**2 * precision, pi) - 2 * mean * _others(mean * precision, pi)
    kl = 0.5 * (squares - 1 + _others(log_variance, pi) - log_variance)
    return _over_classes(kl, pi)


def rate_strength(rate: Array, pi: Array) -> Array:
    """From Poisson rates (… K×d) and priors (K×d): KL = λ_k ln(λ_k/λ_l) − λ_k + λ_l."""
    log_rate = np.where(pi == 0, 0.0, log(rate))
    with np.errstate(invalid="ignore"):
        gap = np.where(rate == 0, 0.0, rate * (log_rate - _others(log_rate, pi)))
    return _over_classes(gap - rate + _others(rate, pi), pi)


def _others(f: Array, pi: Array) -> Array:
    """Σ_{l≠k} π_l f_l / (1 − π_k), what f is on average in the other classes; the class axis is the last but one."""
    weighted = pi * f
    return divide(weighted.sum(axis=-2, keepdims=True) - weighted, np.broadcast_to(1 - pi, f.shape))


def _over_classes(kl: Array, pi: Array) -> Array:
    """Σ_k π_k KL_k; nothing where there is no other class to tell from."""
    alone = pi.max(axis=-2, initial=0.0) >= 1
    return np.where(alone, 0.0, np.maximum((pi * np.where(pi == 0, 0.0, kl)).sum(axis=-2), 0.0))


def _live(prior: Array, weight: Array) -> Array:
    """π_kj among the classes that have feature j (K×d); one class alone has all of it."""
    pi = np.where(weight > 0, prior[:, None], 0.0)
    return divide(pi, np.broadcast_to(pi.sum(axis=0, keepdims=True), pi.shape))


def _about(value: Array, draws: Array) -> Strengths:
    """The value, with the spread of the draws: these lie higher, for noise is strength too."""
    low, middle, high = np.quantile(draws, TAILS, axis=0)
    return Strengths(value, np.maximum(value + low - middle, 0.0), value + high - middle)


def _of_bells(family: Gaussian, part: Moments | Scatter, prior: Array, rng: np.random.Generator) -> Strengths:
    form = family.solve(part)
    assert isinstance(form, (Diagonal, Full))
    own = form.variance if isinstance(form, Diagonal) else np.diagonal(form.covariance, axis1=1, axis2=2)
    mean, (K, d) = form.mean, form.mean.shape
    variance = np.broadcast_to(own, (K, d))
    n = np.broadcast_to((part.moments if isinstance(part, Scatter) else part).weight, (K, d))
    pi = _live(prior, n)
    free = np.maximum(n + family.prior_rows - 1, 1.0)
    spread = variance * free / np.maximum(rng.chisquare(free, (DRAWS, K, d)), TINY)
    centre = mean + rng.standard_normal((DRAWS, K, d)) * np.sqrt(spread / np.maximum(n, 1.0))
    return _about(gaussian_strength(mean, variance, pi), gaussian_strength(centre, spread, pi))


def _of_rates(family: Poisson, part: Any, prior: Array, rng: np.random.Generator) -> Strengths:
    n = np.broadcast_to(part.weight, part.total.shape)
    pi, rate = _live(prior, n), family.rates(part)
    whole = n + family.alpha
    drawn = np.maximum(rng.standard_gamma(rate * whole, (DRAWS, *rate.shape)), TINY) / np.where(whole > 0, whole, 1.0)
    silent = (rate == 0).all(axis=0)  # a column that never had a count carries no evidence
    return _about(rate_strength(rate, pi), np.where(silent, 0.0, rate_strength(drawn, pi)))


def _of_tables(counts: Levels, alpha: Alpha, prior: Array, rng: np.random.Generator) -> Strengths:
    pi, own = _live(prior, counts.weight), broadcast_alpha(alpha, counts.n_features)
    most = MOST_TOGETHER // max(1, counts.table.size)
    tables, found = counts.tables(), np.zeros((3, counts.n_features))
    for a, b in feature_runs(counts.offset, RUN_CELLS // (DRAWS * max(1, counts.n_classes))):
        alike: dict[tuple[int, ...], list[tuple[int, Array, Array, Array]]] = {}
        for j in range(a, b):
            live = pi[:, j] > 0
            smoothed = tables[j][live] + own[j]
            if min(smoothed.shape) >= 2:
                drawn = _drawn_tables(smoothed, rng, most)
                alike.setdefault(drawn.shape, []).append((j, pi[live, j], smoothed, drawn))
        for features in alike.values():
            index, priors, smoothed, drawn = (np.array(each) for each in zip(*features))
            value = table_strength(smoothed / smoothed.sum(axis=-1, keepdims=True), priors)
            draws = table_strength(drawn / drawn.sum(axis=-1, keepdims=True), priors[:, None])
            found[:, index] = _about(value, draws.T)
    return Strengths(*found)


def _drawn_tables(smoothed: Array, rng: np.random.Generator, most: int) -> Array:
    """Tables that one feature might have, from its counts with pseudo-counts (K×V): at most so many draws."""
    draws = int(np.clip(min(MOST_NUMBERS // smoothed.size, most), 20, DRAWS))
    return np.maximum(rng.standard_gamma(smoothed, (draws, *smoothed.shape)), TINY)


def _of_text(family: Text, part: Bags, prior: Array, rng: np.random.Generator) -> Strengths:
    """One value for all words together; the counts of words that a class has are drawn anew."""
    counted, pi = family.select_words(part).counted, _live(prior, part.weight)[:, 0]
    live = np.flatnonzero(pi > 0)
    counted, pi = counted.take(live), pi[live]
    value = document_strength(family, counted, pi)
    if not np.isfinite(value):
        return Strengths(*np.full((3, 1), value))
    draws = int(np.clip(MOST_NUMBERS // max(1, len(counted.total)), 20, DRAWS))
    drawn = [document_strength(family, _drawn_anew(family, counted, rng), pi) for _ in range(draws)]
    return _about(np.array([value]), np.array(drawn)[:, None])


def document_strength(family: Text, counted: Tallies, pi: Array) -> float:
    """From what is counted of the words that are kept, and priors: E_k[score_k − score_l], the score being linear.

    A document of class k has word v r_k(n_kv + α) times on average, so the words a class never had need no visit.
    """
    K, V, alpha = counted.n_classes, counted.n_features, family.alpha
    if K < 2 or not V:
        return 0.0
    form = family.solve_kept(counted)
    if form.hard is not None and len(counted.total) < K * V:
        return float("inf")
    own = counted.per_class(counted.total) + alpha * V
    times = mean_length(counted) / own if family.event == "multinomial" else 1 / (counted.weight[:, 0] + 2 * alpha)
    mean_delta = counted.per_feature(pi[counted.klass] * form.delta)
    gap = counted.per_class((counted.total + alpha) * form.delta - counted.total * mean_delta[counted.feature])
    gap += own * (form.slope - pi @ form.slope) - alpha * mean_delta.sum()
    return max(0.0, float(np.sum(pi / (1 - pi) * (form.bias - pi @ form.bias + times * gap))))


def _drawn_anew(family: Text, counted: Tallies, rng: np.random.Generator) -> Tallies:
    """What the words might have added up to: gammas, or a Beta's share of the documents."""
    n = counted.total
    if family.event == "multinomial":
        return replace(counted, total=np.maximum(rng.standard_gamma(n), TINY))
    rows = counted.weight[counted.klass, 0]
    share = rng.beta(n, np.maximum(rows - n, TINY))
    return replace(counted, total=np.clip(share, TINY, 1.0) * rows)
