"""Reproducible random draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """Draws from a seed; only `Random.random` is used, which is the same in every version of Python.

    >>> Draw(1).choice("abc"), Draw(1).randint(10, 99), len(Draw(1).sample(range(9), 3))
    ('a', 22, 3)
    """

    def __init__(self, seed: int) -> None:
        self._random = Random(seed).random

    def bernoulli(self, share: float) -> bool:
        """Return True with this probability."""
        return self._random() < share

    def randint(self, least: int, most: int) -> int:
        """Return a whole number, both ends included."""
        return least + int(self._random() * (most - least + 1))

    def choice(self, values: Sequence[T]) -> T:
        """Return one of the values."""
        return values[self.randint(0, len(values) - 1)]

    def sample(self, values: Sequence[T], n: int) -> list[T]:
        """Return n different values, or all there are, in random order."""
        left = list(values)
        return [left.pop(self.randint(0, len(left) - 1)) for _ in range(min(n, len(left)))]

    def choice_by_share(self, shares: Mapping[str, float]) -> str:
        """Return one of the names, each with probability proportional to its share."""
        rest = self._random() * sum(shares.values())
        for name, share in shares.items():
            rest -= share
            if rest < 0:
                return name
        return name  # of a rest that rounding left

    def digits(self, n: int, of: str = "0123456789abcdef") -> str:
        """Return n random characters."""
        return "".join(self.choice(of) for _ in range(n))
