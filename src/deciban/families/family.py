"""The base class of families, the class prior, the number of parameters, and functions that families share."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.docstrings import document
from deciban.errors import InputError, UndefinedError
from deciban.ledger import Counts, Needs, Tallies
from deciban.ledger.statistic import divide
from deciban.scores.score_form import ScoreForm
from deciban.scores.score_form import log as log

Alpha = float | Array
"""A pseudo-count: one for all features, or one each."""

NO_LIKELIHOOD = (
    "complement naive Bayes scores a class by the words of all other classes, which is not a probability of x given "
    "the class, so it has no {what}. Hint: MultinomialNB has."
)
"""The error message for a quantity that a complement model, the only one that is not probabilistic, does not have."""

PriorKind = Literal["empirical", "smoothed", "uniform", "given"]

EnumeratedRows = tuple[NDArray[Any], Array]
"""Rows, and for each the logarithm of the number of rows that it represents."""


class Family(ABC):
    """The distribution of a block of features given the class.

    `part` is always the statistic of the block, of the kind that `needs` names.
    """

    @property
    def probabilistic(self) -> bool:
        """Whether the score is the logarithm of a probability of x."""
        return True

    @abstractmethod
    def needs(self) -> Needs:
        """Return the statistic that the family needs."""

    @abstractmethod
    def solve(self, part: Any) -> ScoreForm:
        """Return the score form that this statistic gives."""

    def sample(self, part: Any, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[Any]:
        """Draw a row for each class code from the distribution that `part` gives; a complement model refuses."""
        raise UndefinedError(NO_LIKELIHOOD.format(what="rows to draw"))

    def enumerate_rows(self, part: Any) -> EnumeratedRows | None:
        """Return rows that represent all possible rows, with the logarithm of the number of each; None: too many."""
        return None

    def log_likelihood(self, part: Any, solved: Any) -> float:
        """Return Σ ln p(x|y) of the data from which `part` was computed, with the parameters that `solved` gives.

        Both are statistics, `solved` with pseudo-observations. A complement model has no likelihood and refuses, and
        so does a family whose statistic does not determine it: Poisson, a full covariance with missing values.
        """
        raise UndefinedError(NO_LIKELIHOOD.format(what="likelihood"))

    def n_parameters(self, part: Any) -> int:
        """Return how many numbers describe p(x|k), for all classes together: Kd, one per class and feature."""
        return int(part.n_classes * part.n_features)


@dataclass(frozen=True)
class ClassPrior:
    """The class prior: π_k = n_k/n, (n_k + α)/(n + αK), 1/K, or as given.

    Before any row is learned the empirical prior is uniform.

    >>> ClassPrior("smoothed", alpha=1.0).solve(np.array([3.0, 0.0])).tolist()
    [0.8, 0.2]
    """

    kind: PriorKind = "empirical"
    alpha: float = 1.0
    given: tuple[float, ...] | None = None

    @property
    def is_fixed(self) -> bool:
        """Whether it is the same whatever the rows are."""
        return self.kind in ("given", "uniform")

    def fixed_shares(self, K: int) -> Array | None:
        """Return π of K classes where it is fixed, else None."""
        return self.solve(np.zeros(K)) if self.is_fixed else None

    def solve(self, rows: Array) -> Array:
        """Return π from the weight of each class's rows."""
        if self.kind == "given":
            return np.array(self.given, dtype=np.float64)
        if self.kind == "smoothed":
            rows = rows + self.alpha
        if self.kind == "uniform" or rows.sum() == 0:
            rows = np.ones(len(rows))
        return rows / rows.sum()


def pool_empty(value: Array, weight: Array, pooled: Array) -> Array:
    """Return the values, with the pooled value of all classes where a class has no weight."""
    return np.where(np.broadcast_to(weight, value.shape) == 0, pooled, value)


def divide_or_pool(count: Array, total: Array) -> Array:
    """Return count / total of each class; where its total is 0, that of all classes pooled, or 0 if all are 0."""
    together = divide(count.sum(axis=-2, keepdims=True), total.sum(axis=-2, keepdims=True))
    return pool_empty(divide(count, total), total, together)


def broadcast_alpha(alpha: Alpha, n_features: int) -> Array:
    """Return the pseudo-count of each feature, in a read-only array; ValueError if their number does not fit."""
    return np.broadcast_to(np.asarray(alpha, dtype=np.float64), (n_features,))


def sum_count_log(count: Array, log_theta: Array) -> float:
    """Return Σ count · ln θ, where a count of 0 adds nothing, even if θ = 0."""
    return float((count * np.where(count == 0, 0.0, log_theta)).sum())


def to_dense(part: Counts | Tallies) -> Counts:
    """Convert tallies to dense counts."""
    return part.to_dense() if isinstance(part, Tallies) else part


FamilyName = Literal["joint", "bernoulli", "categorical", "multinomial", "poisson", "gaussian"]


@document()
class ParameterCount(NamedTuple):
    """The numbers of parameters that a model estimates; `parameter_count` returns it.

    Parameters
    ----------
    conditional : int
        Those of p(x|k), for all classes.
    prior : int
        Those of the class prior.
    total : int
        Both together.

    Examples
    --------
    >>> from deciban import parameter_count
    >>> count = parameter_count("bernoulli", features=30)
    >>> count.conditional, count.prior, count.total
    (60, 1, 61)
    """

    conditional: int
    prior: int
    total: int


GAUSSIAN_PARAMETERS: dict[str, Callable[[int, int], int]] = {
    "full": lambda K, d: K * d + K * d * (d + 1) // 2,
    "tied": lambda K, d: K * d + d * (d + 1) // 2,
    "mixed": lambda K, d: K * d + K * d * (d + 1) // 2,
    "diagonal": lambda K, d: 2 * K * d,
    "tied_diagonal": lambda K, d: K * d + d,
    "spherical": lambda K, d: K * d + K,
    "tied_spherical": lambda K, d: K * d + 1,
    "identity": lambda K, d: K * d,
}
"""The number of means and of free entries of the covariance, by its shape, for K classes and d features."""


@document()
def parameter_count(
    family: FamilyName,
    *,
    features: int,
    classes: int = 2,
    levels: int | Sequence[int] = 2,
    covariance: str = "diagonal",
) -> ParameterCount:
    """Count a model's parameters; no data are needed.

    Parameters
    ----------
    family : str
        'joint', 'bernoulli', 'categorical', 'multinomial', 'poisson' or 'gaussian'.
    features : int
        The number of features, or of words.
    classes : int
        The number of classes.
    levels : int or sequence of int
        The number of levels of each feature, for 'joint' and 'categorical'; one for all, or one each.
    covariance : str
        The shape of the covariance, for 'gaussian'; see `GaussianBayes`.

    Returns
    -------
    ParameterCount
        The parameters of p(x|k), of the class prior, and together.

    Examples
    --------
    >>> parameter_count("joint", features=30).conditional, parameter_count("bernoulli", features=30).conditional
    (2147483646, 60)
    """
    d, K = _check_integer("features", features, 0), _check_integer("classes", classes, 1)
    each: list[Any] = [levels] * d if isinstance(levels, Real) else list(levels)  # type: ignore[arg-type]
    if len(each) != d:
        raise InputError(f"levels has {len(each)} entries for {d} features. Hint: one number, or one per feature")
    V = [_check_integer("levels", v, 1) for v in each]
    if family == "gaussian" and covariance not in GAUSSIAN_PARAMETERS:
        raise InputError(f"covariance {covariance!r} is not known. Hint: one of {', '.join(GAUSSIAN_PARAMETERS)}")
    counts: dict[str, Callable[[], int]] = {
        "joint": lambda: K * (math.prod(V) - 1),
        "bernoulli": lambda: K * d,
        "categorical": lambda: K * sum(v - 1 for v in V),
        "multinomial": lambda: K * max(d - 1, 0),
        "poisson": lambda: K * d,
        "gaussian": lambda: GAUSSIAN_PARAMETERS[covariance](K, d),
    }
    if family not in counts:
        raise InputError(f"family {family!r} is not known. Hint: one of {', '.join(counts)}")
    conditional = counts[family]()
    return ParameterCount(conditional, K - 1, conditional + K - 1)


def _check_integer(name: str, value: Any, minimum: int) -> int:
    """Return the argument of this name as an int; refuse a fraction, or a number below the minimum."""
    is_number = isinstance(value, Real)
    if not is_number or not value >= minimum or value % 1:
        raise InputError(f"{name} must be a whole number of at least {minimum}, not {value!r}")
    return int(value)
