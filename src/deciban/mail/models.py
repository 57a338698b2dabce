"""The models that weigh a message: each turns the counts and fitted weights of its tokens into scores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np

from deciban.errors import InputError
from deciban.mail.combining import combined, token_probabilities
from deciban.mail.weighing import Array, Trust, log_odds, strength

ModelName = Literal["evidence", "bayes", "logistic", "fisher"]
MODELS: Final = get_args(ModelName)
USUAL_MODEL: Final[ModelName] = "evidence"


@dataclass(frozen=True)
class Weighed:
    """Bias and pieces of evidence (tokens × scores), in nats."""

    bias: Array
    pieces: Array

    @property
    def scores(self) -> Array:
        """All of it together, the same in whatever order the tokens come."""
        return np.array([math.fsum((bias, *said)) for bias, said in zip(self.bias.tolist(), self.pieces.T.tolist())])


def said_by(model: ModelName, counts: Array, totals: Array, trust: Trust, own: Array) -> Array:
    """What tokens say under a model (tokens × scores) in a message of usual length; nothing where they are combined.

    `own` is what was fitted to each: trust beyond the common, or for logistic regression the weights themselves.
    """
    if model == "logistic":
        return own
    if model == "fisher":
        return np.zeros_like(own)
    return (own + np.array(trust.common)) * log_odds(counts, totals, trust.alpha)


def combined_or_added(model: ModelName, counts: Array, totals: Array, trust: Trust, said: Array) -> Weighed:
    """What the tokens of one message, and what each says, come to."""
    if model == "fisher":
        return _by_chi_square(counts, totals)
    return Weighed(np.array(trust.bias), said * float(strength(len(said), trust.usual, trust.power)))


def _by_chi_square(counts: Array, totals: Array) -> Weighed:
    if counts.shape[1] != 2:
        raise InputError(
            f"model 'fisher' tells two labels apart, not {counts.shape[1]}. Hint: model 'evidence' or 'bayes'"
        )
    total, shares = combined(token_probabilities(counts, totals))
    return Weighed(np.array([total - shares.sum()]), shares[:, None])


def checked_model(name: str) -> ModelName:
    """A model that there is."""
    if name not in MODELS:
        raise InputError(f"model {name!r} is not known. Hint: one of {', '.join(MODELS)}")
    return name  # type: ignore[return-value]
