"""Account: how weights were come by, as the model and its file tell it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from deciban.formatting import number

LearnerName = Literal["logistic", "evidence", "boosted"]

LEARNERS: tuple[LearnerName, ...] = ("logistic", "evidence", "boosted")
"""The ways in which forms are fitted."""

NAMES: Mapping[LearnerName, str] = {
    "logistic": "logistic regression",
    "evidence": "evidence regression",
    "boosted": "boosted naive Bayes",
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
        >>> str(Account("boosted", {"algorithm": "logistic", "rounds": 30, "rate": 0.3}, n_iter=12))
        'boosted naive Bayes: 12 rounds, rate 0.3'
        """
        if self.learner == "boosted":
            asked = self.settings.get("algorithm", "logistic")
            how = "" if asked == "logistic" else f", {asked}"
            return (
                f"{NAMES['boosted']}: {_so_many(self.n_iter, 'round')}, rate {_told(self.settings.get('rate'))}{how}"
            )
        chosen = {name.removesuffix("_chosen") for name, value in self.settings.items() if value is True}
        told = [
            f"{name} = {_told(value)}{' (chosen by cross-validation)' if name in chosen else ''}"
            for name, value in self.settings.items()
            if not name.endswith("_chosen") and value is not None
        ]
        told.append(_so_many(self.n_iter, "iteration"))
        return f"{NAMES[self.learner]}: {', '.join(told)}{'' if self.converged else '; not converged'}"

    @property
    def short(self) -> str:
        """In a few words: who, and what holds it back.

        >>> Account("evidence", {"C": 0.1, "C_chosen": True, "rows": 303}).short
        'evidence, C 0.1'
        """
        held = _so_many(self.n_iter, "round") if self.learner == "boosted" else f"C {_told(self.settings.get('C'))}"
        return f"{self.learner}, {held}"

    @property
    def trusted(self) -> str:
        """How much of each column is believed, the most first; nothing of other learners.

        >>> Account("evidence", trust={"age": 0.1, "hair": 1.25}).trusted
        'hair 1.25, age 0.10'
        """
        most = sorted((self.trust or {}).items(), key=lambda told: -told[1])
        return ", ".join(f"{name} {number(t, 2)}" for name, t in most)


def _so_many(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def _told(value: Setting) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
