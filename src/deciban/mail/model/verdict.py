"""Verdict: what a message is taken for, how surely, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

UNSURE = "unsure"
"""The verdict where no label is likely enough; no label may have this name."""

FEW_CLUES = 5
"""So many are shown in a header, unless more are asked for."""


@dataclass(frozen=True, slots=True)
class Clue:
    """A token, what it says in decibans, and in how many messages of each label it was met."""

    token: str
    decibans: float
    counts: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a message is taken for.

    `probability` is that of spam where labels are ham and spam, else that of the likeliest label; `decibans` is the
    evidence for it against all others: `prior` and all clues, of which `clues` are those that say most, and `others`
    the sum of the rest. `why` says why it is unsure; `cut` what bounds left unread.
    """

    label: str
    of: str
    probability: float
    decibans: float
    prior: float
    clues: tuple[Clue, ...]
    others: float
    learned: Mapping[str, int]
    model: str
    why: str = ""
    cut: tuple[str, ...] = ()
    probabilities: Mapping[str, float] | None = None

    @property
    def is_sure(self) -> bool:
        """Whether there is a verdict."""
        return self.label != UNSURE

    def header(self, most: int = FEW_CLUES) -> str:
        """The value of the header X-Deciban, in ASCII."""
        top = ",".join(f"{_plain(clue.token)}{clue.decibans:+.1f}" for clue in self.clues[:most])
        return f"{_plain(self.label)}; p={self.probability:.4f}; evidence={self.decibans:+.1f}dB; top={top or '-'}"

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        told: dict[str, Any] = {
            "verdict": self.label, "probability": self.probability, "decibans": self.decibans,
            "top": [{"token": c.token, "decibans": c.decibans, "counts": dict(c.counts)} for c in self.clues],
            "prior": self.prior, "others": self.others, "model": self.model, "learned": dict(self.learned),
        }  # fmt: skip
        if self.why:
            told["why"] = self.why
        if self.cut:
            told["cut"] = list(self.cut)
        if self.probabilities is not None:
            told["probabilities"] = dict(self.probabilities)
        return told


def _plain(text: str) -> str:
    """A token as a header can carry it: no spaces, no separators, nothing but ASCII."""
    kept = "".join(char if char.isascii() and char.isprintable() and char not in ' ,;="' else "?" for char in text)
    return kept[:40]
