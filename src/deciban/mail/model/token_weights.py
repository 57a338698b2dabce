"""What tokens say of a message: the log-odds of their counts, each trusted as much as it was found to deserve.

    score_k = b_k + (c / n)^¾ Σ_j t_jk e_jk,   e_jk = ln (n_kj + α)/(N_k + 2α) − ln (n_¬kj + α)/(N_¬k + 2α)

over the n tokens j of the message that were learned before; c is what n usually is. Counts are those of now, trusts
those of the last fit: what is learned counts at once. Of two labels there is one score, for the second of them; of
more, one for each label against all others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np

from deciban._typing import Array
from deciban.mail.store.stored_weights import MAX_WEIGHT
from deciban.scores.posterior import log_sum_exp

ALPHA: Final = 0.3
"""Messages that each side is imagined to have had with a token, and without it."""

POWER: Final = 0.75
"""How far long messages are held back: at 0 they are surer than they should be, at 1 their telling words drown."""

FIRST_TRUST, ENOUGH = 0.05, 20
"""Before anything was fitted, tokens are trusted this much: what fits find is more; of few messages less still."""

POSITIVE: Final = "spam"
"""The label that a single score speaks for, where it is one of two."""


def order_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """The labels by name, spam last: of two, the score speaks for the last.

    >>> order_labels(["work", "spam", "family"])
    ('family', 'work', 'spam')
    """
    return tuple(sorted(labels, key=lambda label: (label == POSITIVE, label)))


def log_odds(counts: Array, totals: Array, alpha: float = ALPHA) -> Array:
    """What each token says for each score: counts are tokens × labels, totals those of all messages.

    >>> log_odds(np.array([[0.0, 4.0], [3.0, 3.0]]), np.array([4.0, 4.0])).round(2).tolist()
    [[2.66], [0.0]]
    """
    own, of_own = counts, totals
    rest, of_rest = counts.sum(axis=-1, keepdims=True) - counts, totals.sum(axis=-1, keepdims=True) - totals
    said = np.log((own + alpha) / (of_own + 2 * alpha)) - np.log((rest + alpha) / (of_rest + 2 * alpha))
    return said[..., 1:] if said.shape[-1] == 2 else said


def strength(n_known: Any, usual: float, power: float = POWER) -> Any:
    """How much each of a message's tokens counts, by how many of them are known."""
    return (usual / np.maximum(n_known, 1)) ** power


@dataclass(frozen=True)
class WeightParameters:
    """What a model found: the bias of each score, the trust that all tokens share, and how many a message has.

    `alpha` and `power` are those it was found with, and is to be used with.
    """

    labels: tuple[str, ...]
    bias: tuple[float, ...]
    common: tuple[float, ...]
    usual: float
    messages: int = 0
    alpha: float = ALPHA
    power: float = POWER

    @classmethod
    def initial(cls, labels: Sequence[str], messages: int) -> Self:
        """What is trusted at first: little, and no label more likely than another."""
        n = 1 if len(labels) == 2 else len(labels)
        shy = FIRST_TRUST * min(1.0, messages / ENOUGH)
        return cls(tuple(labels), (0.0,) * n, (shy,) * n, 100.0, messages)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "labels": list(self.labels), "bias": list(self.bias), "common": list(self.common),
            "usual": self.usual, "messages": self.messages, "alpha": self.alpha, "power": self.power,
        }  # fmt: skip

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Self:
        """Return the trust of which `to_dict` gave the values; ValueError for values that give no finite score."""
        trust = cls(
            tuple(told["labels"]), tuple(map(float, told["bias"])), tuple(map(float, told["common"])),
            float(told["usual"]), int(told["messages"]), float(told.get("alpha", ALPHA)),
            float(told.get("power", POWER)),
        )  # fmt: skip
        n = 1 if len(trust.labels) == 2 else len(trust.labels)
        if (len(trust.bias), len(trust.common)) != (n, n):
            raise ValueError(f"{len(trust.labels)} labels need {n} biases and {n} weights common to all tokens")
        if not all(abs(value) <= MAX_WEIGHT for value in trust.bias + trust.common):
            raise ValueError(f"biases and weights must be from -{MAX_WEIGHT:g} to {MAX_WEIGHT:g}")
        if not all(1 / MAX_WEIGHT <= value <= MAX_WEIGHT for value in (trust.usual, trust.alpha)):
            raise ValueError(f"usual and alpha must be from {1 / MAX_WEIGHT:g} to {MAX_WEIGHT:g}")
        if not 0 <= trust.power <= 1:
            raise ValueError(f"power must be from 0 to 1, not {trust.power!r}")
        return trust


def probabilities(scores: Sequence[float]) -> list[float]:
    """Of the labels, from the scores of one message.

    >>> probabilities([0.0]), [round(p, 3) for p in probabilities([-1.0, 0.0, 1.0])]
    ([0.5, 0.5], [0.09, 0.245, 0.665])
    """
    if len(scores) == 1:
        smaller = math.exp(-abs(scores[0])) / (1 + math.exp(-abs(scores[0])))
        return [smaller, 1 - smaller] if scores[0] > 0 else [1 - smaller, smaller]
    return np.exp(scores - log_sum_exp(np.array([scores]))[0]).tolist()
