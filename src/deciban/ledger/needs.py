"""What a family asks an engine to remember, in words both understand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["counts", "levels", "moments", "scatter", "cells", "grid", "bags"]


@dataclass(frozen=True, slots=True)
class Needs:
    """A kind of statistic and how a value is read before it is counted.

    `threshold` reads x as the indicator [x > threshold] (Bernoulli). `signed` is False where a negative
    value has no meaning (counts, level codes). `skips` is False where a missing value cannot simply be
    left out (a bag of words: skipping a word would mean that it did not occur). `unit`: values lie in [0, 1].
    `words` says in writing how a text is read (bags).
    """

    kind: Kind
    threshold: float | None = None
    signed: bool = True
    skips: bool = True
    unit: bool = False
    words: str = ""

    @property
    def reading(self) -> str:
        """How a value is read, in writing."""
        if self.kind == "bags":
            return self.words
        return "x" if self.threshold is None else f"[x > {self.threshold!r}]"
