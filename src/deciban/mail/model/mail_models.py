"""The models of mail: each turns the counts and fitted weights of a message's tokens into scores.

Model `fisher` is Robinson's and Fisher's: each token has a probability, and two chi-square tests combine them. Its
parameters are those of Robinson 2003 as spambayes and bogofilter use them. It fits nothing, and has two labels only.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from typing import Final

import numpy as np

from deciban._typing import Array
from deciban.errors import InputError
from deciban.mail.model.token_weights import WeightParameters, length_factor, log_odds
from deciban.mail.store.store_schema import ModelName

DEFAULT_MODEL: Final[ModelName] = "evidence"

PRIOR_MESSAGES: Final = 0.45
"""Number of messages that Robinson's prior for a token is worth."""

PRIOR_PROBABILITY: Final = 0.5
"""Probability of spam that Robinson's prior assumes of a token that was never seen."""

MIN_DISTANCE: Final = 0.1
"""Distance of a token's probability from ½ below which it is ignored."""

MAX_COMBINED_TOKENS: Final = 150
"""Number of tokens that are combined, those farthest from ½; more only repeat them."""


@dataclass(frozen=True)
class MessageScores:
    """The scores of some messages in nats: a bias per message, and the contribution of each token, by score.

    The tokens of one message come after those of another; `sizes` are their numbers.
    """

    bias: Array
    contributions: Array
    sizes: Sequence[int]

    @property
    def totals(self) -> list[list[float]]:
        """Return the scores of each message, the same in whatever order its tokens come."""
        columns = [array("d", each.tobytes()) for each in self.contributions.T]  # a list takes twice as long
        return [
            [math.fsum(chain(column[begin:end], (bias,))) for bias, column in zip(biases, columns)]
            for biases, (begin, end) in zip(self.bias.tolist(), spans(self.sizes))
        ]

    @property
    def is_zero(self) -> list[bool]:
        """Return for each message whether its bias and all contributions are 0."""
        return [
            not (bias.any() or self.contributions[begin:end].any())
            for bias, (begin, end) in zip(self.bias, spans(self.sizes))
        ]

    def of_scores(self, score: Sequence[int]) -> Array:
        """Return the contributions to one score of each message."""
        if self.contributions.shape[1] == 1:
            return self.contributions[:, 0]
        return self.contributions[np.arange(len(self.contributions)), np.repeat(score, self.sizes)]


def spans(sizes: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield where each of several parts begins and ends that come one after the other.

    >>> list(spans([2, 0, 3]))
    [(0, 2), (2, 2), (2, 5)]
    """
    return pairwise(accumulate(sizes, initial=0))


def token_scores(
    model: ModelName, counts: Array, totals: Array, parameters: WeightParameters, weights: Array
) -> Array:
    """Compute the contributions of tokens (tokens × scores) in a message of usual length; 0 for model `fisher`.

    `weights` are fitted to each token: its weight beyond the common one, or for logistic regression its coefficient.
    """
    if model == "logistic":
        return weights
    if model == "fisher":
        return np.zeros_like(weights)
    return (weights + np.array(parameters.common)) * log_odds(counts, totals, parameters.alpha)


def score_message(
    model: ModelName, counts: Array, totals: Array, parameters: WeightParameters, scores: Array
) -> MessageScores:
    """Compute the scores of one message from the counts and contributions of its tokens."""
    if model == "fisher":
        return _combine_messages(counts, totals, [len(scores)])
    factor = float(length_factor(len(scores), parameters.usual, parameters.power))
    return MessageScores(np.array([parameters.bias]), scores * factor, [len(scores)])


def score_messages(
    model: ModelName, counts: Array, totals: Array, parameters: WeightParameters, scores: Array, sizes: Sequence[int]
) -> MessageScores:
    """Compute the scores of many messages; their last bits may differ from those of one, as powers of arrays do."""
    if model == "fisher":
        return _combine_messages(counts, totals, sizes)
    factors = length_factor(np.array(sizes), parameters.usual, parameters.power)
    return MessageScores(np.array([parameters.bias] * len(sizes)), scores * np.repeat(factors, sizes)[:, None], sizes)


def _combine_messages(counts: Array, totals: Array, sizes: Sequence[int]) -> MessageScores:
    if counts.shape[1] != 2:
        raise InputError(
            f"model 'fisher' separates two labels, not {counts.shape[1]}. Hint: model 'evidence' or 'bayes'"
        )
    bias, contributions = np.empty((len(sizes), 1)), np.empty((len(counts), 1))
    p = token_probabilities(counts, totals)
    for i, (begin, end) in enumerate(spans(sizes)):
        total, shares = combine_probabilities(p[begin:end])
        bias[i], contributions[begin:end, 0] = total - shares.sum(), shares
    return MessageScores(bias, contributions, sizes)


def token_probabilities(counts: Array, totals: Array) -> Array:
    """Compute Robinson's probability of spam given each token (tokens × 2: the others, spam)."""
    shares = counts / np.maximum(totals, np.finfo(float).tiny)
    both = shares.sum(axis=1)
    p = np.where(both > 0, shares[:, 1] / np.where(both > 0, both, 1.0), PRIOR_PROBABILITY)
    n = counts.sum(axis=1)
    return np.asarray((PRIOR_MESSAGES * PRIOR_PROBABILITY + n * p) / (PRIOR_MESSAGES + n))


def combine_probabilities(p: Array) -> tuple[float, Array]:
    """Compute the log-odds of spam from the tokens' probabilities by Fisher's method, and each token's share."""
    distance = np.abs(p - 0.5)
    used = np.flatnonzero(distance >= MIN_DISTANCE)
    used = used[np.argsort(-distance[used], kind="stable")[:MAX_COMBINED_TOKENS]]
    shares = np.zeros(len(p))
    if not len(used):
        return 0.0, shares
    spam = log_chi2_tail(-2 * np.log(p[used]).sum(), len(used))
    ham = log_chi2_tail(-2 * np.log1p(-p[used]).sum(), len(used))
    total = spam - ham
    logits = np.log(p[used]) - np.log1p(-p[used])
    both = float(logits.sum())
    shares[used] = logits * (total / both) if both * total > 0 else 0.0
    return float(total), shares


def log_chi2_tail(x: float, n: int) -> float:
    """Compute ln P(χ² of 2n degrees of freedom > x), also where P itself would be 0.

    >>> round(log_chi2_tail(2.0, 1), 6), round(log_chi2_tail(3000.0, 2), 3)
    (-1.0, -1492.686)
    """
    half = x / 2
    logs = [k * math.log(half) - math.lgamma(k + 1) if half > 0 else (0.0 if k == 0 else -math.inf) for k in range(n)]
    top = max(logs)
    return min(0.0, -half + top + math.log(sum(math.exp(value - top) for value in logs)))
