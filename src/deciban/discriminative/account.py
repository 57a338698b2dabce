"""Account: how weights were come by, as the model and its file tell it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

LearnerName = Literal["logistic", "evidence", "boosted"]

LEARNERS: tuple[LearnerName, ...] = ("logistic", "evidence", "boosted")
"""The ways in which forms are fitted."""

Setting = float | int | str | bool | None


@dataclass(frozen=True)
class Account:
    """Who fitted the forms, under which settings, and how far it came.

    `objective` is what was made small, the `loss` −Σ w ln p(y|x) and the penalty together. `separable`: without a
    penalty the loss has no least value, and the weights were stopped on their way to infinity.
    """

    learner: LearnerName
    settings: Mapping[str, Setting] = field(default_factory=dict)
    objective: float = float("nan")
    loss: float = float("nan")
    n_iter: int = 0
    converged: bool = True
    separable: bool = False
    n_parameters: int = 0
    trust: Mapping[str, float] | None = None
    """Of evidence regression: how much of each column's evidence is believed."""
