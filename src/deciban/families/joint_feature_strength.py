"""The strength of numbers that stand under one bell: what they say together, not one by one.

    KL = ½[tr(Σ_l⁻¹ Σ_k) + (μ_k−μ_l)ᵀ Σ_l⁻¹ (μ_k−μ_l) − d + ln|Σ_l| − ln|Σ_k|]

averaged over pairs of classes as in `families/feature_strength.py`, with an interval: covariances drawn
from the inverse Wishart distribution about what was found, means from the normal one.
"""

from __future__ import annotations

import numpy as np

from deciban._typing import Array
from deciban.errors import InputError
from deciban.families.feature_strength import DRAWS, TAILS, Strengths
from deciban.families.gaussian import Gaussian
from deciban.ledger import Scatter
from deciban.ledger.statistic import divide
from deciban.scores import Full
from deciban.scores.full import NO_COVARIANCE

MOST_NUMBERS = 1 << 22
"""Numbers held at a time: of very many classes and columns fewer bells are drawn."""

FEWEST_DRAWS = 20


def block_strength(family: Gaussian, part: Scatter, prior: Array, rng: np.random.Generator) -> Strengths:
    """How strong a block of numbers is as a whole; each figure an array of one.

    >>> codes = np.repeat([0, 1], 4).astype(np.int32)
    >>> square = np.array([[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [2.0, 2.0]])
    >>> part = Scatter.of(np.concatenate([square, square + 3.0]), codes, None, 2)
    >>> block_strength(Gaussian("full"), part, np.array([0.5, 0.5]), np.random.default_rng(0)).value.tolist()
    [9.0]
    """
    form = family.solve(part)
    assert isinstance(form, Full)
    n = part.moments.weight.max(axis=1)
    pi = np.where(n > 0, prior, 0.0)
    pi = divide(pi, np.full_like(pi, pi.sum()))
    K, d = form.mean.shape
    covariance = np.broadcast_to(form.covariance, (K, d, d))
    times = int(np.clip(MOST_NUMBERS // (K * K * d * d), FEWEST_DRAWS, DRAWS))
    try:
        drawn = [_strength(*_drawn(form.mean, covariance, n + family.prior_rows, rng), pi) for _ in range(times)]
        value = _strength(form.mean, covariance, pi)
    except np.linalg.LinAlgError:
        raise InputError(NO_COVARIANCE) from None
    low, middle, high = np.quantile(drawn, TAILS)
    return Strengths(*(np.array([max(x, 0.0)]) for x in (value, value + low - middle, value + high - middle)))


def _drawn(mean: Array, covariance: Array, n: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Means and covariances that might as well have been: by Bartlett's decomposition."""
    K, d = mean.shape
    free = np.maximum(n - 1, d)
    A = np.tril(rng.standard_normal((K, d, d)), -1)
    A[:, np.arange(d), np.arange(d)] = np.sqrt(rng.chisquare(free[:, None] - np.arange(d)))
    lower = np.linalg.cholesky(covariance) @ np.swapaxes(np.linalg.inv(A), 1, 2) * np.sqrt(free)[:, None, None]
    noise = rng.standard_normal((K, d, 1))
    shift = (lower @ noise)[:, :, 0] / np.sqrt(np.maximum(n, 1.0))[:, None]
    return mean + shift, np.asarray(lower @ np.swapaxes(lower, 1, 2), dtype=np.float64)


def _strength(mean: Array, covariance: Array, pi: Array) -> float:
    """Σ_k π_k Σ_{l≠k} π_l/(1−π_k) KL(k ‖ l), in nats."""
    precision, log_det = np.linalg.inv(covariance), np.linalg.slogdet(covariance)[1]
    gap = mean[:, None] - mean[None]
    squares = np.einsum("kli,lij,klj->kl", gap, precision, gap)
    squares += np.einsum("lij,kij->kl", precision, covariance) - mean.shape[1]
    kl = 0.5 * (squares + log_det[None] - log_det[:, None])
    weight = divide(pi[:, None] * pi[None], np.broadcast_to(1 - pi[:, None], kl.shape))
    np.fill_diagonal(weight, 0.0)
    return float(np.where(weight > 0, weight * kl, 0.0).sum())
