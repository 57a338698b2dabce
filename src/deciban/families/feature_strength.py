"""The strength of a feature: its average evidence for the class of a row against another class.

    Σ_k π_k Σ_{l≠k} π_l/(1−π_k) KL(p_kj ‖ p_lj),   KL(p ‖ q) = E_p[ln p − ln q], in nats.

It is a closed form of the parameters. Parameters are drawn from their posterior distribution (Dirichlet shares,
normal means, inverse-χ² variances, Gamma rates): the spread of the strengths is given as an interval. A class
without the feature, or without prior, is left out of its strength.

A text is one feature: its words count together, in a document of the class's mean length. The strength of numbers
with a full covariance is that of the block:

    KL = ½[tr(Σ_l⁻¹ Σ_k) + (μ_k−μ_l)ᵀ Σ_l⁻¹ (μ_k−μ_l) − d + ln|Σ_l| − ln|Σ_k|],

with covariances drawn from the inverse Wishart distribution, means from the normal one.

Where the densities of numbers are bounded, ln p is max(ln p, ln τ), whose expectation is still a closed form.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from deciban._typing import Array
from deciban.errors import InputError, UndefinedError
from deciban.families.binned import TINY, Binned
from deciban.families.count_families import MAX_DEVIANCE, Poisson
from deciban.families.family import log, to_dense
from deciban.families.gaussian import Gaussian
from deciban.families.level_families import Categorical
from deciban.families.text_family import Text, mean_length
from deciban.ledger import Bags, Counts, Levels, Moments, Scatter, Tallies
from deciban.ledger.grid import RUN_CELLS
from deciban.ledger.levels import feature_runs
from deciban.ledger.statistic import divide
from deciban.scores import BoundedDiagonal, Diagonal, Full, LimitedFull
from deciban.scores.bounded_forms import MAX_FEATURE_EVIDENCE
from deciban.scores.gaussian_forms import NO_COVARIANCE

DRAWS = 200
"""Number of parameter sets drawn for an interval."""

MAX_FEATURE_NUMBERS = 1 << 21
"""Largest amount of numbers drawn for a feature: with very many levels and classes fewer tables are drawn."""

MAX_TABLE_NUMBERS = 1 << 23
"""Largest amount of numbers drawn for a block, so that a hundred columns of many levels take a second, not ten."""

MAX_BLOCK_NUMBERS = 1 << 22
"""Numbers held at a time for the strength of a block: with very many classes and columns draws are fewer."""

MIN_DRAWS = 20
"""Smallest number of parameter sets drawn for an interval."""

INTERVAL_QUANTILES = (0.05, 0.5, 0.95)
"""Quantiles of the ends and the middle of a 90 % interval."""

ERF = np.frompyfunc(math.erf, 1, 1)
"""The error function of each number of an array."""

MIN_SCIPY_VALUES = 1 << 20
"""The number of values from which importing scipy.special, 50 ms, pays."""


class Strengths(NamedTuple):
    """The strength of each feature in nats, and a 90 % interval."""

    value: Array
    low: Array
    high: Array


def strengths(family: Any, part: Any, prior: Array, rng: np.random.Generator) -> Strengths:
    """Return the strength of each feature of a block, a text being one; UndefinedError if the family gives none.

    >>> flags = Levels.of(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 0, 1, 1], np.int32), None, 2)
    >>> strengths(Categorical(), flags, np.array([0.5, 0.5]), np.random.default_rng(0)).value.round(3).tolist()
    [0.549, 0.0]
    """
    if isinstance(family, Gaussian):
        return _gaussian_strengths(family, part, prior, rng)
    if isinstance(family, Poisson):
        return _rate_strengths(family, to_dense(part), prior, rng)
    if isinstance(family, Binned):
        return _table_strengths(family.levels, family.bins(part).counts(part), prior, rng)
    if isinstance(family, Categorical):
        return _table_strengths(family, family.separate_levels(family.full(part)).counts, prior, rng)
    if isinstance(family, Text) and family.probabilistic:
        return _text_strength(family, part, prior, rng)
    raise UndefinedError(
        f"{type(family).__name__} has no strength of single features. "
        f"Hint: Gaussian, Poisson, Categorical and Binned have, and Text unless it is a complement."
    )


def table_strength(theta: Array, prior: Array) -> Array:
    """Return the strength of shares (… K×V) with class priors (K, or … K)."""
    pi = prior[..., None]
    log_theta = np.where(pi == 0, 0.0, log(theta))
    with np.errstate(invalid="ignore"):  # a level that is impossible for a class adds nothing
        gap = log_theta - _mean_of_others(log_theta, pi)
    return np.maximum(np.where(theta == 0, 0.0, pi * theta * gap).sum(axis=(-2, -1)), 0.0)


def gaussian_strength(mean: Array, variance: Array, pi: Array) -> Array:
    """Return the strength of means and variances (… K×d) with priors (K×d).

    KL = ½[(σ_k² + (μ_k−μ_l)²)/σ_l² − 1 + ln σ_l²/σ_k²].
    """
    mean = mean - (pi * mean).sum(axis=-2, keepdims=True)  # so that no digits are lost far from zero
    precision, log_variance = 1 / variance, np.log(variance)
    squares = (variance + mean**2) * _mean_of_others(precision, pi)
    squares += _mean_of_others(mean**2 * precision, pi) - 2 * mean * _mean_of_others(mean * precision, pi)
    kl = 0.5 * (squares - 1 + _mean_of_others(log_variance, pi) - log_variance)
    return _average_over_classes(kl, pi)


def bounded_strength(mean: Array, variance: Array, log_tail: Array, pi: Array) -> Array:
    """Return the strength of Gaussians whose log-densities are bounded by `log_tail` (d), as `gaussian_strength`.

    E_k[max(ln p_l, ln τ)] = peak_l − ½ E_k[min((x − μ_l)²/σ_l², c_l)], the peak being the log-density at the mean
    and c_l twice its distance from the bound.
    """
    peak = np.maximum(-0.5 * np.log(2 * np.pi * variance), log_tail)
    own, others = np.zeros_like(mean), np.zeros_like(mean)
    K = mean.shape[-2]
    cdf = _choose_normal_cdf(2 * K * mean.size)
    for l in range(K):
        at = (..., slice(l, l + 1), slice(None))
        squares = _mean_bounded_squares(mean - mean[at], variance, variance[at], 2 * (peak[at] - log_tail), cdf)
        score = peak[at] - 0.5 * squares
        own[at], share = score[at], np.broadcast_to(pi[l], mean.shape).copy()
        share[at] = 0.0
        others += share * score
    return _average_over_classes(own - divide(others, np.broadcast_to(1 - pi, mean.shape)), pi)


def _mean_bounded_squares(
    gap: Array, variance: Array, other: Array, most: Array, cdf: Callable[[Array], Array]
) -> Array:
    """Return E[min((x + gap)²/other, most)] of normal x with mean 0 and this variance; `cdf` is Φ."""
    deviation, reach = np.sqrt(variance), np.sqrt(most * other)
    a, b = (-reach - gap) / deviation, (reach - gap) / deviation
    density_a, density_b = (np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi) for z in (a, b))
    inside = cdf(b) - cdf(a)
    second = inside + a * density_a - b * density_b
    squares = variance * second + 2 * deviation * gap * (density_a - density_b) + gap**2 * inside
    return squares / other + most * (1 - inside)


def _choose_normal_cdf(n_values: int) -> Callable[[Array], Array]:
    """Return the function Φ; for few values in all without scipy.special, which takes longer to import."""
    if n_values < MIN_SCIPY_VALUES:
        return lambda z: 0.5 + 0.5 * np.asarray(ERF(z / math.sqrt(2)), dtype=np.float64)
    from scipy.special import ndtr

    return lambda z: np.asarray(ndtr(z))


def rate_strength(rate: Array, pi: Array) -> Array:
    """Return the strength of Poisson rates (… K×d) with priors (K×d): KL = λ_k ln(λ_k/λ_l) − λ_k + λ_l."""
    log_rate = np.where(pi == 0, 0.0, log(rate))
    with np.errstate(invalid="ignore"):
        gap = np.where(rate == 0, 0.0, rate * (log_rate - _mean_of_others(log_rate, pi)))
    return _average_over_classes(gap - rate + _mean_of_others(rate, pi), pi)


def _mean_of_others(f: Array, pi: Array) -> Array:
    """Return Σ_{l≠k} π_l f_l / (1 − π_k), the mean of f over the other classes; the class axis is −2."""
    weighted = pi * f
    return divide(weighted.sum(axis=-2, keepdims=True) - weighted, np.broadcast_to(1 - pi, f.shape))


def _average_over_classes(kl: Array, pi: Array) -> Array:
    """Return Σ_k π_k KL_k; 0 where there is no other class."""
    alone = pi.max(axis=-2, initial=0.0) >= 1
    return np.where(alone, 0.0, np.maximum((pi * np.where(pi == 0, 0.0, kl)).sum(axis=-2), 0.0))


def _normalise_prior(prior: Array, weight: Array) -> Array:
    """Return π_kj normalised over the classes that have feature j (K×d)."""
    pi = np.where(weight > 0, prior[:, None], 0.0)
    return divide(pi, np.broadcast_to(pi.sum(axis=0, keepdims=True), pi.shape))


def _interval_about(value: Array, draws: Array) -> Strengths:
    """Return the value with the spread of the draws about their median: draws are biased upwards by noise."""
    low, middle, high = np.quantile(draws, INTERVAL_QUANTILES, axis=0)
    return Strengths(value, np.maximum(value + low - middle, 0.0), value + high - middle)


def _gaussian_strengths(
    family: Gaussian, part: Moments | Scatter, prior: Array, rng: np.random.Generator
) -> Strengths:
    """Return the strength of each number by itself, also where the family has covariances."""
    form = family.solve(part)
    assert isinstance(form, (Diagonal, Full))
    own = form.variance if isinstance(form, Diagonal) else np.diagonal(form.covariance, axis1=1, axis2=2)
    mean, (K, d) = form.mean, form.mean.shape
    variance = np.broadcast_to(own, (K, d))
    n = np.broadcast_to((part.moments if isinstance(part, Scatter) else part).weight, (K, d))
    pi = _normalise_prior(prior, n)
    degrees_of_freedom = np.maximum(n + family.prior_rows - 1, 1.0)
    strength, times = gaussian_strength, DRAWS
    if isinstance(form, BoundedDiagonal) and np.isfinite(form.log_tail).all():
        strength = partial(bounded_strength, log_tail=form.log_tail)
        times = int(np.clip(MAX_BLOCK_NUMBERS // (K * K * d), MIN_DRAWS, DRAWS))
    spread = variance * degrees_of_freedom / np.maximum(rng.chisquare(degrees_of_freedom, (times, K, d)), TINY)
    centre = mean + rng.standard_normal((times, K, d)) * np.sqrt(spread / np.maximum(n, 1.0))
    return _interval_about(strength(mean, variance, pi=pi), strength(centre, spread, pi=pi))


def _rate_strengths(family: Poisson, part: Counts, prior: Array, rng: np.random.Generator) -> Strengths:
    """Return the strength of each count, bounded as the scores of the family are."""
    n = np.broadcast_to(part.weight, part.total.shape)
    pi, rate = _normalise_prior(prior, n), family.rates(part)
    total = n + family.alpha
    drawn = np.maximum(rng.standard_gamma(rate * total, (DRAWS, *rate.shape)), TINY) / np.where(total > 0, total, 1.0)
    silent = (rate == 0).all(axis=0)  # a column without counts carries no evidence
    most = MAX_DEVIANCE if family.bounded and np.all(np.asarray(family.alpha) > 0) else np.inf
    value, draws = np.minimum(rate_strength(rate, pi), most), np.minimum(rate_strength(drawn, pi), most)
    return _interval_about(value, np.where(silent, 0.0, draws))


def _table_strengths(family: Categorical, counts: Levels, prior: Array, rng: np.random.Generator) -> Strengths:
    """Return the strength of each feature by its levels or bins; 0 with fewer than two of these, or two classes."""
    pi, (added, unseen, _) = _normalise_prior(prior, counts.weight), family.pseudo_counts(counts)
    most = MAX_TABLE_NUMBERS // max(1, counts.table.size)
    tables, found = replace(counts, table=counts.table + added).tables(), np.zeros((3, counts.n_features))
    for a, b in feature_runs(counts.offset, RUN_CELLS // (DRAWS * max(1, counts.n_classes))):
        alike: dict[tuple[int, ...], list[tuple[int, Array, Array, Array]]] = {}
        for j in range(a, b):
            live = pi[:, j] > 0
            smoothed = tables[j][live]
            if family.unseen == "smooth":
                smoothed = np.column_stack([smoothed, unseen[live, j]])
            if min(smoothed.shape) >= 2:
                n = int(np.clip(min(MAX_FEATURE_NUMBERS // smoothed.size, most), MIN_DRAWS, DRAWS))
                drawn = np.maximum(rng.standard_gamma(smoothed, (n, *smoothed.shape)), TINY)
                alike.setdefault(drawn.shape, []).append((j, pi[live, j], smoothed, drawn))
        for features in alike.values():
            index, priors, smoothed, drawn = (np.array(each) for each in zip(*features))
            value = table_strength(smoothed / smoothed.sum(axis=-1, keepdims=True), priors)
            draws = table_strength(drawn / drawn.sum(axis=-1, keepdims=True), priors[:, None])
            found[:, index] = _interval_about(value, draws.T)
    return Strengths(*found)


def _text_strength(family: Text, part: Bags, prior: Array, rng: np.random.Generator) -> Strengths:
    """Return one strength for all words together; the counts of each class's words are drawn for the interval."""
    counted, pi = family.select_words(part).counted, _normalise_prior(prior, part.weight)[:, 0]
    live = np.flatnonzero(pi > 0)
    counted, pi = counted.take_classes(live), pi[live]
    value = document_strength(family, counted, pi)
    if not np.isfinite(value):
        return Strengths(*np.full((3, 1), value))
    draws = int(np.clip(MAX_FEATURE_NUMBERS // max(1, len(counted.total)), MIN_DRAWS, DRAWS))
    drawn = [document_strength(family, _draw_totals(family, counted, rng), pi) for _ in range(draws)]
    return _interval_about(np.array([value]), np.array(drawn)[:, None])


def document_strength(family: Text, counted: Tallies, pi: Array) -> float:
    """Return the strength of the kept words' counts with priors: E_k[score_k − score_l], the score being linear.

    A document of class k has word v r_k(n_kv + α) times on average, so words that a class lacks need no visit.
    Without pseudo-counts these words make the strength ∞.
    """
    K, V, alpha = counted.n_classes, counted.n_features, family.alpha
    if K < 2 or not V:
        return 0.0
    form = family.solve_kept(counted)
    if form.hard is not None and len(counted.total) < K * V:
        return float("inf")
    own = counted.per_class(counted.total) + alpha * V
    times = mean_length(counted) / own if family.event == "multinomial" else 1 / (counted.weight[:, 0] + 2 * alpha)
    mean_delta = counted.per_feature(pi[counted.class_code] * form.delta)
    gap = counted.per_class((counted.total + alpha) * form.delta - counted.total * mean_delta[counted.feature])
    gap += own * (form.slope - pi @ form.slope) - alpha * mean_delta.sum()
    return max(0.0, float(np.sum(pi / (1 - pi) * (form.bias - pi @ form.bias + times * gap))))


def _draw_totals(family: Text, counted: Tallies, rng: np.random.Generator) -> Tallies:
    """Draw totals of the words: Gamma, or a Beta share of the documents."""
    n = counted.total
    if family.event == "multinomial":
        return replace(counted, total=np.maximum(rng.standard_gamma(n), TINY))
    rows = counted.weight[counted.class_code, 0]
    share = rng.beta(n, np.maximum(rows - n, TINY))
    return replace(counted, total=np.clip(share, TINY, 1.0) * rows)


def block_strength(family: Gaussian, part: Scatter, prior: Array, rng: np.random.Generator) -> Strengths:
    """Return the strength of a block of numbers, all together; each field is an array of length one.

    >>> codes = np.repeat([0, 1], 4).astype(np.int32)
    >>> square = np.array([[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [2.0, 2.0]])
    >>> part = Scatter.of(np.concatenate([square, square + 3.0]), codes, None, 2)
    >>> block_strength(Gaussian("full"), part, np.array([0.5, 0.5]), np.random.default_rng(0)).value.tolist()
    [9.0]
    """
    form = family.solve(part)
    assert isinstance(form, Full)
    n = part.moments.weight.max(axis=1)
    pi = _normalise_prior(prior, n[:, None])[:, 0]
    K, d = form.mean.shape
    covariance = np.broadcast_to(form.covariance, (K, d, d))
    times = int(np.clip(MAX_BLOCK_NUMBERS // (K * K * d * d), MIN_DRAWS, DRAWS))
    try:
        drawn = [
            _full_strength(*_draw_gaussians(form.mean, covariance, n + family.prior_rows, rng), pi)
            for _ in range(times)
        ]
        value = _full_strength(form.mean, covariance, pi)
    except np.linalg.LinAlgError:
        raise InputError(NO_COVARIANCE) from None
    most = MAX_FEATURE_EVIDENCE * d if isinstance(form, LimitedFull) else np.inf
    return _interval_about(np.clip([value], 0.0, most), np.minimum(drawn, most)[:, None])


def _draw_gaussians(mean: Array, covariance: Array, n: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw means and covariances from their posterior, by Bartlett's decomposition."""
    K, d = mean.shape
    degrees_of_freedom = np.maximum(n - 1, d)
    A = np.tril(rng.standard_normal((K, d, d)), -1)
    A[:, np.arange(d), np.arange(d)] = np.sqrt(rng.chisquare(degrees_of_freedom[:, None] - np.arange(d)))
    lower = np.linalg.cholesky(covariance) @ np.swapaxes(np.linalg.inv(A), 1, 2)
    lower = lower * np.sqrt(degrees_of_freedom)[:, None, None]
    noise = rng.standard_normal((K, d, 1))
    shift = (lower @ noise)[:, :, 0] / np.sqrt(np.maximum(n, 1.0))[:, None]
    return mean + shift, np.asarray(lower @ np.swapaxes(lower, 1, 2), dtype=np.float64)


def _full_strength(mean: Array, covariance: Array, pi: Array) -> float:
    """Return Σ_k π_k Σ_{l≠k} π_l/(1−π_k) KL(k ‖ l) of Gaussians, in nats."""
    precision, log_det = np.linalg.inv(covariance), np.linalg.slogdet(covariance)[1]
    gap = mean[:, None] - mean[None]
    squares = np.einsum("kli,lij,klj->kl", gap, precision, gap)
    squares += np.einsum("lij,kij->kl", precision, covariance) - mean.shape[1]
    kl = 0.5 * (squares + log_det[None] - log_det[:, None])
    weight = divide(pi[:, None] * pi[None], np.broadcast_to(1 - pi[:, None], kl.shape))
    np.fill_diagonal(weight, 0.0)
    return float(np.where(weight > 0, weight * kl, 0.0).sum())
