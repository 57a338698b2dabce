"""The evidence of tokens: the log-odds of their counts, each multiplied by a fitted weight.

    score_k = b_k + (c / n)^¾ Σ_j t_jk e_jk,   e_jk = ln (n_kj + α)/(N_k + 2α) − ln (n_¬kj + α)/(N_¬k + 2α)

over the n tokens j of the message that were learned before; c is the usual n. Counts are those of now, weights t
those of the last fit: what is learned counts at once. Of two labels there is one score, for the second of them; of
more, one for each label against all others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Self

import numpy as np

from deciban._typing import Array
from deciban.mail.store.store_arrays import MAX_WEIGHT
from deciban.scores.posterior import log_sum_exp

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
    rest, rest_totals = counts.sum(axis=-1, keepdims=True) - counts, totals.sum(axis=-1, keepdims=True) - totals
    odds = np.log((counts + alpha) / (totals + 2 * alpha)) - np.log((rest + alpha) / (rest_totals + 2 * alpha))
    return odds[..., 1:] if odds.shape[-1] == 2 else odds


def length_factor(n_known: Any, usual: float, power: float = LENGTH_POWER) -> Any:
    """Compute the factor of each of a message's tokens, by how many of them are known."""
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

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters as JSON has them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the parameters that `to_dict` wrote; ValueError for values that give no finite score."""
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


def compute_probabilities(scores: Sequence[float]) -> list[float]:
    """Compute the probabilities of the labels from the scores of one message.

    >>> compute_probabilities([0.0]), [round(p, 3) for p in compute_probabilities([-1.0, 0.0, 1.0])]
    ([0.5, 0.5], [0.09, 0.245, 0.665])
    """
    if len(scores) == 1:
        smaller = math.exp(-abs(scores[0])) / (1 + math.exp(-abs(scores[0])))
        return [smaller, 1 - smaller] if scores[0] > 0 else [1 - smaller, smaller]
    return np.exp(scores - log_sum_exp(np.array([scores]))[0]).tolist()
