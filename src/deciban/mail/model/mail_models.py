"""The models that weigh a message: each turns the counts and fitted weights of its tokens into scores."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from typing import Final, Literal, get_args

import numpy as np

from deciban._typing import Array
from deciban.errors import InputError
from deciban.mail.model.fisher import combined, token_probabilities
from deciban.mail.model.token_weights import WeightParameters, log_odds, strength

ModelName = Literal["evidence", "bayes", "logistic", "fisher"]
MODELS: Final = get_args(ModelName)
USUAL_MODEL: Final[ModelName] = "evidence"


@dataclass(frozen=True)
class MessageScores:
    """Some messages: biases (messages × scores) and pieces of evidence (tokens × scores), in nats.

    The tokens of one message come after those of another; `sizes` says how many each has.
    """

    bias: Array
    pieces: Array
    sizes: Sequence[int]

    @property
    def scores(self) -> list[list[float]]:
        """All of it together, by message, the same in whatever order its tokens come."""
        columns = [array("d", said.tobytes()) for said in self.pieces.T]  # a list of so many takes twice as long
        return [
            [math.fsum(chain(said[begin:end], (bias,))) for bias, said in zip(biases, columns)]
            for biases, (begin, end) in zip(self.bias.tolist(), spans(self.sizes))
        ]

    @property
    def silent(self) -> list[bool]:
        """Of which messages nothing says anything."""
        return [
            not (bias.any() or self.pieces[begin:end].any())
            for bias, (begin, end) in zip(self.bias, spans(self.sizes))
        ]

    def of(self, score: Sequence[int]) -> Array:
        """The pieces for one score of each message."""
        if self.pieces.shape[1] == 1:
            return self.pieces[:, 0]
        return self.pieces[np.arange(len(self.pieces)), np.repeat(score, self.sizes)]


def spans(sizes: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Where each of several begins and ends that come one after the other.

    >>> list(spans([2, 0, 3]))
    [(0, 2), (2, 2), (2, 5)]
    """
    return pairwise(accumulate(sizes, initial=0))


def token_scores(model: ModelName, counts: Array, totals: Array, trust: WeightParameters, own: Array) -> Array:
    """What tokens say under a model (tokens × scores) in a message of usual length; nothing where they are combined.

    `own` is what was fitted to each: trust beyond the common, or for logistic regression the weights themselves.
    """
    if model == "logistic":
        return own
    if model == "fisher":
        return np.zeros_like(own)
    return (own + np.array(trust.common)) * log_odds(counts, totals, trust.alpha)


def score_message(
    model: ModelName, counts: Array, totals: Array, trust: WeightParameters, said: Array
) -> MessageScores:
    """What the tokens of one message, and what each says, come to."""
    if model == "fisher":
        return _by_chi_square(counts, totals, [len(said)])
    return _added(trust, said * float(strength(len(said), trust.usual, trust.power)), [len(said)])


def score_messages(
    model: ModelName, counts: Array, totals: Array, trust: WeightParameters, said: Array, sizes: Sequence[int]
) -> MessageScores:
    """The same of many messages; where powers are taken of many numbers at once, their last bits may be others."""
    if model == "fisher":
        return _by_chi_square(counts, totals, sizes)
    z = strength(np.array(sizes), trust.usual, trust.power)
    return _added(trust, said * np.repeat(z, sizes)[:, None], sizes)


def _added(trust: WeightParameters, pieces: Array, sizes: Sequence[int]) -> MessageScores:
    return MessageScores(np.array([trust.bias] * len(sizes)), pieces, sizes)


def _by_chi_square(counts: Array, totals: Array, sizes: Sequence[int]) -> MessageScores:
    if counts.shape[1] != 2:
        raise InputError(
            f"model 'fisher' tells two labels apart, not {counts.shape[1]}. Hint: model 'evidence' or 'bayes'"
        )
    bias, pieces = np.empty((len(sizes), 1)), np.empty((len(counts), 1))
    p = token_probabilities(counts, totals)
    for i, (begin, end) in enumerate(spans(sizes)):
        total, shares = combined(p[begin:end])
        bias[i], pieces[begin:end, 0] = total - shares.sum(), shares
    return MessageScores(bias, pieces, sizes)


def check_model(name: str) -> ModelName:
    """A model that there is."""
    if not isinstance(name, str) or name not in MODELS:
        raise InputError(f"model {name!r:.60} is not known. Hint: one of {', '.join(MODELS)}")
    return name  # type: ignore[return-value]
