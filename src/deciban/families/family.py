"""The contract of a family, and the two ways families fill what was never seen."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from deciban.ledger import Counts, Needs, Tallies
from deciban.ledger.statistic import Array, divide
from deciban.scores import ScoreForm

Alpha = float | Array
"""A pseudo-count: one for all features, or one each."""

SMALL_TOTALS = 4096
"""Whole numbers below this have their logarithms looked up."""


EveryRow = tuple[NDArray[np.int64], Array]


class Family(Protocol):
    """How a block of features is distributed given the class."""

    @property
    def probabilistic(self) -> bool:
        """Whether its score is the logarithm of a probability of x."""
        ...

    def needs(self) -> Needs:
        """The statistic to be remembered."""
        ...

    def solve(self, part: Any) -> ScoreForm:
        """The score form that this statistic gives."""
        ...

    def sample(self, part: Any, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[Any]:
        """A row for each class code, drawn from the solved model."""
        ...

    def every_row(self, part: Any) -> EveryRow | None:
        """Rows that between them stand for all there can be, each with the logarithm of how many; None: too many."""
        ...

    def log_likelihood(self, part: Any, solved: Any) -> float:
        """Σ ln p(x|y) of the data that `part` was learned from, with the parameters of `solved`.

        The two differ by the imagined examples.
        """
        ...

    def n_parameters(self, part: Any) -> int:
        """How many numbers describe p(x|k), for all classes together."""
        ...


def pool_empty(value: Array, weight: Array, pooled: Array) -> Array:
    """A class that never had a feature says of it what all classes together say."""
    return np.where(np.broadcast_to(weight, value.shape) == 0, pooled, value)


def share(part: Array, whole: Array) -> Array:
    """part / whole by class, all classes together where a class has nothing, and 0 where none has."""
    together = divide(part.sum(axis=0, keepdims=True), whole.sum(axis=0, keepdims=True))
    return pool_empty(divide(part, whole), whole, together)


def log(x: Array) -> Array:
    """ln x, −∞ at 0, without a word."""
    with np.errstate(divide="ignore"):
        return np.log(x)


def dot(count: Array, log_theta: Array) -> float:
    """Σ count · ln θ, where what never happened adds nothing, even if it is impossible."""
    return float((count * np.where(count == 0, 0.0, log_theta)).sum())


def written_out(part: Counts | Tallies) -> Counts:
    """Counts with their zeros."""
    return part.dense() if isinstance(part, Tallies) else part


def log1p_ratio(total: Array, alpha: Alpha) -> Array:
    """ln(1 + total/α); for whole totals, as counts of words are, from a table of the small ones."""
    whole = total.astype(np.int32) if np.ndim(alpha) == 0 and total.size > SMALL_TOTALS else None
    if whole is None or whole.max() >= SMALL_TOTALS or not (whole == total).all():
        return np.log1p(total / alpha)
    return np.log1p(np.arange(SMALL_TOTALS) / alpha)[whole]
