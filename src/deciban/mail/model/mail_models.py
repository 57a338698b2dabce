"""The models of mail: each turns the counts and fitted weights of a message's tokens into scores.

Models `evidence` and `bayes` add up the log-odds of the tokens' counts, each multiplied by a fitted weight:

    score_k = ln N_k/N_¬k + a_k (F_k − A_k),   a_k = 1 / (1 + λ min(F_k, A_k))
    F_k, A_k = Σ_j max(± x_jk, 0),             x_jk = min(1, (c / n)^¾) t_jk e_jk
    e_jk = ln (n_kj + α)/(N_k + 2α) − ln (n_¬kj + α)/(N_¬k + 2α)

over the tokens j of the message that were learned before; n is the number of all its tokens, c the usual n. F is the
evidence for the label, A that against it, and the agreement a falls where both are large. A message without a
known token has the score of the prior. Counts are those of now, weights t those of the last fit: what is learned
counts at once. Of two labels there is one score, for the second of them; of more, one for each label against all
others.

Fits of version 1 have a bias in place of the prior, no bound of the length factor, n known tokens only, and a = 1.

Model `fisher` is Robinson's and Fisher's: each token has a probability, and two chi-square tests combine them. Its
parameters are those of Robinson 2003 as spambayes and bogofilter use them. It fits nothing, and has two labels only.
"""

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

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

MAX_LENGTH_FACTOR: Final = 1.0
"""Bound of the length correction: without one, each token of a short message counts up to seven times."""

CONFLICT_DISCOUNT: Final = 0.3
"""The λ of the agreement, per nat of the weaker side. At 0 a ham with strong signs both ways may rank above all spam;
at 1 too many messages are unsure."""

FIT_VERSION: Final = 2
"""Version of the formula that weights are fitted for; a fit of version 1 is used by the formula of its time."""

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
    if counts.shape[-1] == 2:
        others, other_totals, counts, totals = counts[..., :1], totals[..., :1], counts[..., 1:], totals[..., 1:]
    else:
        others = counts.sum(axis=-1, keepdims=True) - counts
        other_totals = totals.sum(axis=-1, keepdims=True) - totals
    return np.log((counts + alpha) / (totals + 2 * alpha)) - np.log((others + alpha) / (other_totals + 2 * alpha))


def length_factor(n: Any, usual: float, power: float = LENGTH_POWER, cap: float = MAX_LENGTH_FACTOR) -> Any:
    """Compute min(cap, (usual / n)^power), by which the evidence of a message of n tokens is multiplied."""
    return np.minimum((usual / np.maximum(n, 1)) ** power, cap)


def prior_log_odds(totals: Array) -> Array:
    """Compute ln N_k/N_¬k of each score from the totals of the labels; finite where the messages have aged to zero.

    >>> prior_log_odds(np.array([20.0, 60.0])).round(3).tolist()
    [1.099]
    >>> prior_log_odds(np.zeros(2)).tolist()
    [0.0]
    """
    least = np.finfo(float).tiny
    odds = np.log(np.maximum(totals, least)) - np.log(np.maximum(totals.sum() - totals, least))
    return odds[1:] if len(odds) == 2 else odds


def agreement(for_label: Array, against: Array, discount: float = CONFLICT_DISCOUNT) -> Array:
    """Compute 1 / (1 + discount · min(F, A)), by which evidence in nats is multiplied: 1 where one side has none.

    >>> agreement(np.array([10.0, 10.0]), np.array([0.0, 10.0])).tolist()
    [1.0, 0.25]
    """
    return np.asarray(1.0 / (1.0 + discount * np.minimum(for_label, against)))


@dataclass(frozen=True)
class WeightParameters:
    """The fitted parameters of a model: the bias of each score, the weight that all tokens share, the usual length.

    `alpha`, `power`, `cap` and `conflict` are those it was fitted with, and is to be used with. `min_known` is the
    share of known tokens that all but the most unusual learned messages have; less is novel. In fits of version 1
    the bias is fitted, else it is the prior at the time of the fit, and that of now is used.
    """

    labels: tuple[str, ...]
    bias: tuple[float, ...]
    common: tuple[float, ...]
    usual: float
    messages: int = 0
    alpha: float = ALPHA
    power: float = LENGTH_POWER
    cap: float = MAX_LENGTH_FACTOR
    conflict: float = CONFLICT_DISCOUNT
    min_known: float = 0.0
    version: int = FIT_VERSION

    @classmethod
    def initial(cls, labels: Sequence[str], messages: int) -> Self:
        """Return the parameters before any fit: small weights, which grow with the messages."""
        n = 1 if len(labels) == 2 else len(labels)
        weight = INITIAL_WEIGHT * min(1.0, messages / INITIAL_MESSAGES)
        return cls(tuple(labels), (0.0,) * n, (weight,) * n, 100.0, messages)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the parameters of a saved fit; one of `INVALID_VALUE_ERRORS` is raised if they are invalid."""
        found = cls(
            tuple(values["labels"]), tuple(map(float, values["bias"])), tuple(map(float, values["common"])),
            float(values["usual"]), int(values["messages"]), float(values.get("alpha", ALPHA)),
            float(values.get("power", LENGTH_POWER)), float(values.get("cap", MAX_WEIGHT)),
            float(values.get("conflict", 0.0)), float(values.get("min_known", 0.0)), int(values.get("version", 1)),
        )  # fmt: skip
        n = 1 if len(found.labels) == 2 else len(found.labels)
        if (len(found.bias), len(found.common)) != (n, n):
            raise ValueError(f"{len(found.labels)} labels need {n} biases and {n} weights common to all tokens")
        if not all(abs(value) <= MAX_WEIGHT for value in found.bias + found.common):
            raise ValueError(f"biases and weights must be from -{MAX_WEIGHT:g} to {MAX_WEIGHT:g}")
        if not all(1 / MAX_WEIGHT <= value <= MAX_WEIGHT for value in (found.usual, found.alpha)):
            raise ValueError(f"usual and alpha must be from {1 / MAX_WEIGHT:g} to {MAX_WEIGHT:g}")
        if not (0 <= found.power <= 1 and 0 <= found.min_known <= 1):
            raise ValueError(f"power and min_known must be from 0 to 1, not {found.power!r} and {found.min_known!r}")
        if not (0 < found.cap <= MAX_WEIGHT and 0 <= found.conflict <= MAX_WEIGHT):
            raise ValueError(f"cap must be above 0 and conflict from 0, both up to {MAX_WEIGHT:g}")
        if found.version not in (1, FIT_VERSION):
            raise ValueError(f"version must be 1 or {FIT_VERSION}, not {found.version}")
        return found

    @property
    def has_prior(self) -> bool:
        """Return whether the bias is the prior, rather than a fitted number."""
        return self.version > 1


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

    The tokens of one message come after those of another; `sizes` are their numbers, `lengths` those of all
    tokens, known or not. `sides` are the evidence for and against each score (2 × messages × scores) before it
    is multiplied by `agreement`; the contributions are already multiplied by it. `prior` is the part of the
    bias that the numbers of learned messages make, and `novel` whether a message has fewer known tokens than
    nearly all learned ones.
    """

    bias: Array
    contributions: Array
    sizes: Sequence[int]
    lengths: Sequence[int]
    sides: Array
    agreement: Array
    prior: Array
    novel: NDArray[np.bool_]

    @property
    def totals(self) -> list[list[float]]:
        """Return the scores of each message, the same in whatever order its tokens come."""
        return np.asarray(self.bias + self.agreement * (self.sides[0] - self.sides[1])).tolist()

    @property
    def spam_scores(self) -> Array:
        """Return, of ham and spam, the scores that the threshold for spam is compared with; −∞ where novel.

        That most of the learned messages are spam never makes one spam: a prior above 0 is left out.
        """
        found = np.array(self.totals).reshape(self.prior.shape)[:, 0] - np.maximum(self.prior[:, 0], 0.0)
        return np.where(self.novel, -np.inf, found)


def sum_sides(contributions: Array, sizes: Sequence[int]) -> Array:
    """Sum the positive and the negative contributions of each message, rounded once: 2 × messages × scores.

    >>> sum_sides(np.array([[1.0], [-2.0], [4.0]]), [2, 1]).tolist()
    [[[1.0], [4.0]], [[2.0], [0.0]]]
    """
    sides = np.empty((2, len(sizes), contributions.shape[1]))
    ends = np.cumsum(sizes, dtype=np.int64)
    for side, signed in zip(sides, (contributions, -contributions)):
        for k, column in enumerate(signed.T):
            kept = column > 0.0
            before = np.concatenate([[0], np.cumsum(kept)])
            values = array("d", column[kept].tobytes())  # a list takes twice as long
            side[:, k] = [math.fsum(values[begin:end]) for begin, end in pairwise([0, *before[ends].tolist()])]
    return sides


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
    model: ModelName, counts: Array, totals: Array, parameters: WeightParameters, scores: Array, sizes: Sequence[int],
    lengths: Sequence[int],
) -> MessageScores:  # fmt: skip
    """Compute the scores of messages from the counts and contributions of their tokens, message after message.

    `scores` are those of `token_scores`, `sizes` the numbers of known tokens, `lengths` those of all tokens.
    """
    if model == "fisher":
        bias, contributions = _combine_messages(counts, totals, sizes)
        sides = sum_sides(contributions, sizes)
        same, none = np.ones_like(bias), np.zeros_like(bias)
        return MessageScores(bias, contributions, sizes, lengths, sides, same, none, np.zeros(len(sizes), dtype=bool))
    n = lengths if parameters.has_prior else sizes
    factors = length_factor(np.array(n), parameters.usual, parameters.power, parameters.cap)
    contributions = scores * np.repeat(factors, sizes)[:, None]
    sides = sum_sides(contributions, sizes)
    agreed = agreement(sides[0], sides[1], parameters.conflict)
    contributions *= np.repeat(agreed, sizes, axis=0)
    each = prior_log_odds(totals) if parameters.has_prior else np.array(parameters.bias)
    bias = np.tile(each, (len(sizes), 1))
    prior = bias if parameters.has_prior else np.zeros_like(bias)
    novel = np.array(sizes) < parameters.min_known * np.array(lengths)
    return MessageScores(bias, contributions, sizes, lengths, sides, agreed, prior, novel)


def _combine_messages(counts: Array, totals: Array, sizes: Sequence[int]) -> tuple[Array, Array]:
    """Compute bias and contributions by `fisher`; the bias is what shares leave over. InputError for three labels."""
    if counts.shape[1] != 2:
        raise InputError(
            f"model 'fisher' separates two labels, not {counts.shape[1]}. Hint: model 'evidence' or 'bayes'"
        )
    bias, contributions = np.empty((len(sizes), 1)), np.empty((len(counts), 1))
    p = token_probabilities(counts, totals)
    for i, (begin, end) in enumerate(pairwise(accumulate(sizes, initial=0))):
        total, shares = combine_probabilities(p[begin:end])
        bias[i], contributions[begin:end, 0] = total - shares.sum(), shares
    return bias, contributions


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
    return min(0.0, float(log_sum_exp(np.array([logs]))[0]) - half)
