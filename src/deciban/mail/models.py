"""The models that weigh a message: each turns the counts and fitted weights of its tokens into scores."""

from __future__ import annotations

from collections.abc import Sequence
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
class Known:
    """The tokens of a message that were learned before: counts by label (tokens × labels), totals, fitted weights."""

    tokens: Sequence[str]
    counts: Array
    totals: Array
    trust: Trust
    own: Array
    """Tokens × scores: beyond the common trust, or for logistic regression the weights themselves."""


@dataclass(frozen=True)
class Weighed:
    """Bias and pieces of evidence (tokens × scores), in nats."""

    bias: Array
    pieces: Array

    @property
    def scores(self) -> Array:
        """All of it together."""
        return np.asarray(self.bias + self.pieces.sum(axis=0))


def weighed(model: ModelName, known: Known) -> Weighed:
    """What the tokens say under a model."""
    trust = known.trust
    if model == "fisher":
        return _by_chi_square(known)
    z = float(strength(len(known.tokens), trust.usual, trust.power))
    if model == "logistic":
        return Weighed(np.array(trust.bias), known.own * z)
    said = log_odds(known.counts, known.totals, trust.alpha)
    return Weighed(np.array(trust.bias), (known.own + np.array(trust.common)) * said * z)


def _by_chi_square(known: Known) -> Weighed:
    if known.counts.shape[1] != 2:
        raise InputError(
            f"model 'fisher' tells two labels apart, not {known.counts.shape[1]}. Hint: model 'evidence' or 'bayes'"
        )
    total, shares = combined(token_probabilities(known.counts, known.totals))
    return Weighed(np.array([total - shares.sum()]), shares[:, None])


def checked_model(name: str) -> ModelName:
    """A model that there is."""
    if name not in MODELS:
        raise InputError(f"model {name!r} is not known. Hint: one of {', '.join(MODELS)}")
    return name  # type: ignore[return-value]
