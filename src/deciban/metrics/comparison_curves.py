"""Learning curves side by side: several learners on the same draws of more and more rows, and where they cross."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from deciban._typing import Array
from deciban.errors import InputError, did_you_mean
from deciban.plain_json import plain

Figure = Literal["accuracy", "log_loss"]


class Crossing(NamedTuple):
    """Where one of two learners overtakes the other: the last size at which that one is ahead still and the first at
    which it is behind, both beyond chance, about where between them the mean curves meet, and who was ahead.
    """

    ahead_until: int
    behind_from: int
    at: float
    first_ahead: bool


@dataclass(frozen=True, eq=False)
class Growth:
    """How good learners are by how many rows they have learned; every draw of rows is the same for all of them.

    `accuracy` and `log_loss` (a truth called impossible costs 708 nats, so that means exist) are of rows held out, an
    entry for each learner, draw and size: L×R×S.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    accuracy: Array
    log_loss: Array
    held_out: int

    @property
    def draws(self) -> int:
        """How often rows were drawn."""
        return int(self.accuracy.shape[1])

    def place(self, name: str) -> int:
        """Where a learner stands."""
        if name not in self.names:
            raise InputError(f"no learner {name!r} was compared{did_you_mean(name, self.names)}")
        return self.names.index(name)

    def mean(self, figure: Figure) -> Array:
        """The mean over the draws of each learner and size, L×S."""
        values: Array = getattr(self, figure).mean(axis=1)
        return values

    def error(self, figure: Figure) -> Array:
        """Its standard error, by how much the draws differ; NaN of one draw."""
        return _error(np.moveaxis(getattr(self, figure), 1, 0))

    def gap(self, one: str, other: str, figure: Figure = "accuracy") -> tuple[Array, Array]:
        """By how much one learner is worse than another at each size, and the error of that; paired, draw by draw."""
        values = getattr(self, figure)
        each = values[self.place(one)] - values[self.place(other)]
        worse = -each if figure == "accuracy" else each
        return worse.mean(axis=0), _error(worse)

    def sides(self, one: str, other: str, figure: Figure = "accuracy") -> Array:
        """At each size −1 where `one` is better than `other` beyond chance, 1 where it is worse, else 0."""
        return sides(*self.gap(one, other, figure), self.beyond_chance)

    def crossings(self, one: str, other: str, figure: Figure = "accuracy") -> list[Crossing]:
        """Where `one` is overtaken by `other`, or the other way round; only what the draws can show."""
        return crossings(self.sizes, *self.gap(one, other, figure), self.beyond_chance)

    @cached_property
    def beyond_chance(self) -> float:
        """Standard errors that a difference must have to be told from chance, 95 % sure, by Student's t."""
        from scipy.special import stdtrit

        return float(stdtrit(self.draws - 1, 0.975)) if self.draws > 1 else np.inf

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON knows it: means over the draws, and their errors."""
        figures: tuple[Figure, ...] = ("accuracy", "log_loss")
        learners = {
            name: {
                key: plain(values[i])
                for figure in figures
                for key, values in ((figure, self.mean(figure)), (f"{figure}_error", self.error(figure)))
            }
            for i, name in enumerate(self.names)
        }
        return {"sizes": list(self.sizes), "draws": self.draws, "held_out": self.held_out, "learners": learners}


def _error(values: Array) -> Array:
    """The standard error of the mean along the first axis."""
    n = len(values)
    if n < 2:
        return np.full(values.shape[1:], np.nan)
    return np.asarray(values.std(axis=0, ddof=1) / np.sqrt(n))


def crossings(sizes: Any, gap: Array, error: Array, beyond: float) -> list[Crossing]:
    """Where a curve of differences goes from one side of zero to the other, each side beyond so many errors.

    Between the two sizes the mean is read as straight over ln n; where it changes its sign more than once there, the
    last time counts.

    >>> (found,) = crossings([10, 20, 40, 80], np.array([-3.0, -1.0, 1.0, 3.0]), np.full(4, 0.9), 2.0)
    >>> found.ahead_until, found.behind_from, round(found.at, 2)
    (10, 80, 28.28)
    """
    side = sides(gap, error, beyond)
    turns = [(i, j) for i, j in pairwise(np.flatnonzero(side).tolist()) if side[i] != side[j]]
    n = np.asarray(sizes, dtype=np.float64)
    return [Crossing(int(sizes[i]), int(sizes[j]), _zero(n, gap, i, j), bool(side[i] < 0)) for i, j in turns]


def sides(gap: Array, error: Array, beyond: float) -> Array:
    """On which side of zero each difference is beyond chance: −1, 0 or 1."""
    return np.where(np.abs(gap) > beyond * error, np.sign(gap), 0.0)


def _zero(sizes: Array, gap: Array, i: int, j: int) -> float:
    """The last place between two sizes where the straight line through the means over ln n is zero."""
    k = max(k for k in range(i, j) if gap[k] * gap[j] <= 0 and gap[k + 1] * gap[j] > 0)
    share = gap[k] / (gap[k] - gap[k + 1])
    return float(np.exp(np.log(sizes[k]) + share * np.log(sizes[k + 1] / sizes[k])))
