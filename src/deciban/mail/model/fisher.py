"""Robinson's and Fisher's way: each token a probability, all of them combined by two chi-square tests.

The parameters are those of Robinson 2003 as spambayes and bogofilter use them. No trust is fitted; two labels only.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from deciban._typing import Array

STRENGTH, ASSUMED = 0.45, 0.5
"""What is assumed of a token that was never met, and how many messages that is worth."""

LEAST_TOLD: Final = 0.1
"""A token nearer to ½ says nothing."""

MOST_TOKENS: Final = 150
"""The tokens that say most; more only repeat them."""


def token_probabilities(counts: Array, totals: Array) -> Array:
    """Of spam, given each token (tokens × 2: the others, spam)."""
    shares = counts / np.maximum(totals, np.finfo(float).tiny)
    whole = shares.sum(axis=1)
    p = np.where(whole > 0, shares[:, 1] / np.where(whole > 0, whole, 1.0), ASSUMED)
    n = counts.sum(axis=1)
    return np.asarray((STRENGTH * ASSUMED + n * p) / (STRENGTH + n))


def combined(p: Array) -> tuple[float, Array]:
    """The log-odds of spam from the tokens' probabilities, and each token's share of it."""
    told = np.abs(p - 0.5)
    use = np.flatnonzero(told >= LEAST_TOLD)
    use = use[np.argsort(-told[use], kind="stable")[:MOST_TOKENS]]
    shares = np.zeros(len(p))
    if not len(use):
        return 0.0, shares
    spam = log_chi2_tail(-2 * np.log(p[use]).sum(), len(use))
    ham = log_chi2_tail(-2 * np.log1p(-p[use]).sum(), len(use))
    total = spam - ham
    said = np.log(p[use]) - np.log1p(-p[use])
    whole = float(said.sum())
    shares[use] = said * (total / whole) if whole * total > 0 else 0.0
    return float(total), shares


def log_chi2_tail(x: float, n: int) -> float:
    """ln P(χ² of 2n degrees of freedom > x), in full where P itself would be 0.

    >>> round(log_chi2_tail(2.0, 1), 6), round(log_chi2_tail(3000.0, 2), 3)
    (-1.0, -1492.686)
    """
    half = x / 2
    logs = [k * math.log(half) - math.lgamma(k + 1) if half > 0 else (0.0 if k == 0 else -math.inf) for k in range(n)]
    top = max(logs)
    return min(0.0, -half + top + math.log(sum(math.exp(value - top) for value in logs)))
