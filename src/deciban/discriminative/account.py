"""Account: how weights were come by, as the model and its file tell it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

LearnerName = Literal["logistic", "evidence", "boosted"]

LEARNERS: tuple[LearnerName, ...] = ("logistic", "evidence", "boosted")
"""The ways in which forms are fitted."""

NAMES: Mapping[LearnerName, str] = {
    "logistic": "logistic regression",
    "evidence": "evidence regression",
    "boosted": "boosting",
}
"""What each is called in a sentence."""

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

    def __str__(self) -> str:
        """In a line: who, under which settings, how far.

        >>> str(Account("logistic", {"C": 10.0, "C_chosen": True, "rows": 303}, n_iter=9))
        'logistic regression: C = 10 (chosen by cross-validation), rows = 303, 9 iterations'
        """
        chosen = {name.removesuffix("_chosen") for name, value in self.settings.items() if value is True}
        told = [
            f"{name} = {_told(value)}{' (chosen by cross-validation)' if name in chosen else ''}"
            for name, value in self.settings.items()
            if not name.endswith("_chosen") and value is not None
        ]
        noun = "round" if self.learner == "boosted" else "iteration"
        told.append(f"{self.n_iter} {noun}{'' if self.n_iter == 1 else 's'}")
        return f"{NAMES[self.learner]}: {', '.join(told)}{'' if self.converged else '; not converged'}"


def _told(value: Setting) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
