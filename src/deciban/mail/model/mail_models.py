"""The models of mail: each turns the counts and fitted weights of a message's tokens into scores.

Models `evidence` and `bayes` add up the log-odds of the tokens' counts, each multiplied by a fitted weight:

    score_k = b_k + (c / n)^¾ Σ_j t_jk e_jk,   e_jk = ln (n_kj + α)/(N_k + 2α) − ln (n_¬kj + α)/(N_¬k + 2α)

over the n tokens j of the message that were learned before; c is the usual n. Counts are those of now, weights t
those of the last fit: what is learned counts at once. Of two labels there is one score, for the second of them; of
more, one for each label against all others.

Model `fisher` is Robinson's and Fisher's: each token has a probability, and two chi-square tests combine them. Its
parameters are those of Robinson 2003 as spambayes and bogofilter use them. It fits nothing, and has two labels only.
"""

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from typing import Any, Final, Self

import numpy as np

from deciban._typing import Array
from deciban.errors import InputError
from deciban.mail.store.store_arrays import MAX_WEIGHT
from deciban.mail.store.store_schema import ModelName
from deciban.scores.posterior import log_sum_exp

DEFAULT_MODEL: Final[ModelName] = "evidence"

ALPHA: Final = 0.3
"""Pseudo-count: messages that each side is assumed to have had with a token, and without it."""

LENGTH_POWER: Final = 0.75
"""Exponent of the length correction: at 0 long messages are surer than they should be, at 1 their few informative
words count too little."""

INITIAL_WEIGHT: Final = 0.05
"""Weight of all tokens before anything was fitted, from INITIAL_MESSAGES on; fits find more."""

INITIAL_MESSAGES: Final = 20

MIN_MESSAGES_TO_FIT: Final = 20
"""Messages that are needed for weights to be fitted."""

MIN_MESSAGES_PER_LABEL: Final = 5
"""Messages of every label that are needed for weights to be fitted, and for a verdict to be sure."""

POSITIVE_LABEL: Final = "spam"
"""The label that a single score stands for, where it is one of two."""

PRIOR_MESSAGES: Final = 0.45
"""Number of messages that Robinson's prior for a token is worth."""

PRIOR_PROBABILITY: Final = 0.5
"""Probability of spam that Robinson's prior assumes of a token that was never seen."""

MIN_DISTANCE: Final = 0.1
"""Distance of a token's probability from ½ below which it is ignored."""

MAX_COMBINED_TOKENS: Final = 150
"""Number of tokens that are combined, those farthest from ½; more only repeat them."""


def order_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Return the labels sorted by name, spam last: of two, the score stands for the last.

    >>> order_labels(["work", "spam", "family"])
    ('family', 'work', 'spam')
    """
    return tuple(sorted(labels, key=lambda label: (label == POSITIVE_LABEL, label)))


def log_odds(counts: Array, totals: Array, alpha: float = ALPHA) -> Array:
    """Compute the log-odds of each token for each score: counts are tokens × labels, totals those of all messages.

    >>> log_odds(np.array([[0.0, 4.0], [3.0, 3.0]]), np.array([4.0, 4.0])).round(2).tolist()
    [[2.66], [0.0]]
    """
    others, other_totals = counts.sum(axis=-1, keepdims=True) - counts, totals.sum(axis=-1, keepdims=True) - totals
    odds = np.log((counts + alpha) / (totals + 2 * alpha)) - np.log((others + alpha) / (other_totals + 2 * alpha))
    return odds[..., 1:] if odds.shape[-1] == 2 else odds


def length_factor(n_known: Any, usual: float, power: float = LENGTH_POWER) -> Any:
    """Compute (usual / n)^power, by which the tokens of a message with n known tokens are multiplied."""
    return (usual / np.maximum(n_known, 1)) ** power


@dataclass(frozen=True)
class WeightParameters:
    """The fitted parameters of a model: the bias of each score, the weight that all tokens share, the usual length.

    `alpha` and `power` are those it was fitted with, and is to be used with.
    """

    labels: tuple[str, ...]
    bias: tuple[float, ...]
    common: tuple[float, ...]
    usual: float
    messages: int = 0
    alpha: float = ALPHA
    power: float = LENGTH_POWER

    @classmethod
    def initial(cls, labels: Sequence[str], messages: int) -> Self:
        """Return the parameters before any fit: small weights, and no label more likely than another."""
        n = 1 if len(labels) == 2 else len(labels)
        weight = INITIAL_WEIGHT * min(1.0, messages / INITIAL_MESSAGES)
        return cls(tuple(labels), (0.0,) * n, (weight,) * n, 100.0, messages)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the parameters of a saved fit; ValueError, TypeError or KeyError if they are invalid."""
        found = cls(
            tuple(values["labels"]), tuple(map(float, values["bias"])), tuple(map(float, values["common"])),
            float(values["usual"]), int(values["messages"]), float(values.get("alpha", ALPHA)),
            float(values.get("power", LENGTH_POWER)),
        )  # fmt: skip
        n = 1 if len(found.labels) == 2 else len(found.labels)
        if (len(found.bias), len(found.common)) != (n, n):
            raise ValueError(f"{len(found.labels)} labels need {n} biases and {n} weights common to all tokens")
        if not all(abs(value) <= MAX_WEIGHT for value in found.bias + found.common):
            raise ValueError(f"biases and weights must be from -{MAX_WEIGHT:g} to {MAX_WEIGHT:g}")
        if not all(1 / MAX_WEIGHT <= value <= MAX_WEIGHT for value in (found.usual, found.alpha)):
            raise ValueError(f"usual and alpha must be from {1 / MAX_WEIGHT:g} to {MAX_WEIGHT:g}")
        if not 0 <= found.power <= 1:
            raise ValueError(f"power must be from 0 to 1, not {found.power!r}")
        return found


def logit(p: float) -> float:
    """Return ln p/(1 − p); infinite where p is 0 or 1."""
    if p <= 0.0 or p >= 1.0:
        return math.copysign(math.inf, p - 0.5)
    return math.log(p) - math.log1p(-p)


def compute_probabilities(scores: Sequence[float]) -> list[float]:
    """Compute the probabilities of the labels from the scores of one message.

    >>> compute_probabilities([0.0]), [round(p, 3) for p in compute_probabilities([-1.0, 0.0, 1.0])]
    ([0.5, 0.5], [0.09, 0.245, 0.665])
    """
    if len(scores) == 1:
        smaller = math.exp(-abs(scores[0])) / (1 + math.exp(-abs(scores[0])))
        return [smaller, 1 - smaller] if scores[0] > 0 else [1 - smaller, smaller]
    return np.exp(scores - log_sum_exp(np.array([scores]))[0]).tolist()


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


def score_messages(
    model: ModelName, counts: Array, totals: Array, parameters: WeightParameters, scores: Array, sizes: Sequence[int]
) -> MessageScores:
    """Compute the scores of messages from the counts and contributions of their tokens, message after message."""
    if model == "fisher":
        return _combine_messages(counts, totals, sizes)
    factors = length_factor(np.array(sizes), parameters.usual, parameters.power)
    return MessageScores(np.array([parameters.bias] * len(sizes)), scores * np.repeat(factors, sizes)[:, None], sizes)


def _combine_messages(counts: Array, totals: Array, sizes: Sequence[int]) -> MessageScores:
    """Compute the scores of model `fisher`; the bias is what the shares of tokens leave over."""
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
    """Compute Robinson's probability of spam given each token; counts are tokens × 2: the other label, spam."""
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
