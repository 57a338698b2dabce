"""The contract of a family, and the two ways families fill what was never seen."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError
from deciban.ledger import Counts, Needs, Tallies
from deciban.ledger.statistic import divide
from deciban.scores import ScoreForm

Alpha = float | Array
"""A pseudo-count: one for all features, or one each."""

NO_LIKELIHOOD = (
    "complement naive Bayes scores a class by the words of all other classes, which is no probability of x given "
    "the class, so it has no {what}. Hint: MultinomialNB has."
)
"""Why a complement model has no such quantity."""

MAX_DRAWN_RATE = 1e18
"""Largest mean of counts that are drawn: they are whole numbers of 64 bits."""

SMALL_TOTALS = 4096
"""Whole numbers below this have their logarithms looked up."""

MANY_ENTRIES = 1 << 20
"""From so many entries on they are smoothed by a kernel."""


EnumeratedRows = tuple[NDArray[Any], Array]


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

    def enumerate_rows(self, part: Any) -> EnumeratedRows | None:
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
    together = divide(part.sum(axis=-2, keepdims=True), whole.sum(axis=-2, keepdims=True))
    return pool_empty(divide(part, whole), whole, together)


def draw_counts(rates: Array, rng: np.random.Generator) -> NDArray[np.int64]:
    """Poisson counts with these rates; refused where a rate is beyond whole numbers of 64 bits."""
    largest = rates.max(initial=0.0)
    if not largest <= MAX_DRAWN_RATE:
        raise InputError(f"a rate of {largest:g} is too large to draw counts from. Hint: rescale the column.")
    return rng.poisson(rates)


def broadcast_alpha(alpha: Alpha, n_features: int) -> Array:
    """The pseudo-count of each feature."""
    return np.broadcast_to(np.asarray(alpha, dtype=np.float64), (n_features,))


def log(x: Array) -> Array:
    """ln x, −∞ at 0, without a word."""
    with np.errstate(divide="ignore"):
        return np.log(x)


def dot(count: Array, log_theta: Array) -> float:
    """Σ count · ln θ, where what never happened adds nothing, even if it is impossible."""
    return float((count * np.where(count == 0, 0.0, log_theta)).sum())


def to_dense(part: Counts | Tallies) -> Counts:
    """Counts with their zeros."""
    return part.to_dense() if isinstance(part, Tallies) else part


def smooth_tallies(part: Tallies, alpha: float) -> tuple[Array, Array]:
    """Σ n_kv of each class, and ln(1 + n_kv/α) of each entry; most counts of words are small, and looked up."""
    if len(part.total) < MANY_ENTRIES:
        return part.per_class(part.total), np.log1p(part.total / alpha)
    from deciban.kernels.tallies import smooth_entries

    sums, delta = np.zeros(part.n_classes), np.empty(len(part.total))
    smooth_entries(part.klass, part.total, alpha, np.log1p(np.arange(SMALL_TOTALS) / alpha), sums, delta)
    return sums, delta
