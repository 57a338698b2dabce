"""Chance that falls the same way every time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """Draws from a seed; only `Random.random` is used, which is the same in every version of Python.

    >>> Draw(1).one_of("abc"), Draw(1).between(10, 99), len(Draw(1).some(range(9), 3))
    ('a', 22, 3)
    """

    def __init__(self, seed: int) -> None:
        self._random = Random(seed).random

    def chance(self, share: float) -> bool:
        """Yes, in this share of all cases."""
        return self._random() < share

    def between(self, least: int, most: int) -> int:
        """A whole number, both ends included."""
        return least + int(self._random() * (most - least + 1))

    def one_of(self, things: Sequence[T]) -> T:
        """Any of them."""
        return things[self.between(0, len(things) - 1)]

    def some(self, things: Sequence[T], n: int) -> list[T]:
        """n different ones, or all there are, in any order."""
        left = list(things)
        return [left.pop(self.between(0, len(left) - 1)) for _ in range(min(n, len(left)))]

    def by_share(self, shares: Mapping[str, float]) -> str:
        """One of the names, each by its share of all."""
        rest = self._random() * sum(shares.values())
        for name, share in shares.items():
            rest -= share
            if rest < 0:
                return name
        return name  # of a rest that rounding left

    def digits(self, n: int, of: str = "0123456789abcdef") -> str:
        """n signs of some."""
        return "".join(self.one_of(of) for _ in range(n))
