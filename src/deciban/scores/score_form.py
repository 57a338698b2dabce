"""The base class of score forms, and linear and quadratic decision boundaries."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import UndefinedError
from deciban.scores.explanation import Pieces

CHUNK_NUMBERS = 1 << 16
"""Largest number of terms of a score, rows × classes × features, that are held at a time."""


class ScoreForm(ABC):
    """The function ln p(x|k) of x with solved parameters: all that is needed to predict."""

    class_array: ClassVar[str]
    """The name of an array with a row for each class."""

    not_linear: ClassVar[str] = ""
    """The reason why the score is not linear in x, with a hint."""

    @property
    def n_classes(self) -> int:
        """K."""
        return len(getattr(self, self.class_array))

    @abstractmethod
    def log_likelihoods(self, X: Any) -> Array:
        """Return ln p(x|k) for every row and class, n×K; a missing value (NaN, or a negative code) adds nothing."""

    @abstractmethod
    def pieces(self, X: Any, k: NDArray[np.intp], l: NDArray[np.intp]) -> Pieces:
        """Return ln p(x|k) − ln p(x|l) by feature, for the pair of classes k[i], l[i] of each row i."""

    def linear(self) -> "Boundary":
        """Return weights and bias, where the score is linear in x up to terms that all classes share."""
        raise UndefinedError(self.not_linear)

    def quadratic(self) -> "Conic":
        """Return the quadratic form of the score, up to terms that all classes share."""
        line = self.linear()
        return Conic(np.zeros_like(line.weights), line.weights, line.bias)


def log(x: Array) -> Array:
    """Return ln x, −∞ at 0, without a warning."""
    with np.errstate(divide="ignore"):
        return np.log(x)


def row_chunks(n: int, size: int) -> list[slice]:
    """Return slices of n rows, each so short that rows × `size` terms are few."""
    step = max(1, CHUNK_NUMBERS // max(1, size))
    return [slice(start, start + step) for start in range(0, n, step)]


def has_valid_numbers(form: Any) -> bool:
    """Return whether no number of a score form is NaN or +∞, as overflowing sums leave them."""
    values = (getattr(form, field.name) for field in fields(form))
    numbers = (value for value in values if isinstance(value, np.ndarray) and value.dtype.kind == "f")
    return all(bool(array.max(initial=-np.inf) < np.inf) for array in numbers)


@dataclass(frozen=True, slots=True, eq=False)
class Boundary:
    """A linear score weights_k · x + bias_k. For two classes the log-odds of the second are w · x + b."""

    weights: Array
    bias: Array

    @property
    def w(self) -> Array:
        """Log-odds weights of the second class against the first."""
        return self._contrast(self.weights)

    @property
    def b(self) -> float:
        """Log-odds of the second class against the first at x = 0."""
        return float(self._contrast(self.bias))

    def _contrast(self, by_class: Array) -> Any:
        """Return the second row minus the first; refuse any other number of classes than two."""
        if len(by_class) != 2:
            raise UndefinedError(
                f"w and b are the log-odds of two classes; this model has {len(by_class)}. "
                f"Hint: weights[k] - weights[l] and bias[k] - bias[l] compare classes k and l."
            )
        return by_class[1] - by_class[0]


@dataclass(frozen=True, slots=True, eq=False)
class Conic:
    """A quadratic score xᵀ A_k x + weights_k · x + bias_k; A is K×d×d, or K×d where it is diagonal."""

    A: Array
    weights: Array
    bias: Array


def centred_conic(A: Array, mean: Array, constant: Array) -> Conic:
    """Return the score (x − μ_k)ᵀ A_k (x − μ_k) + c_k, multiplied out."""
    if A.ndim == 2:
        return Conic(A, -2 * A * mean, (A * mean**2).sum(axis=1) + constant)
    products = np.einsum("kij,kj->ki", A, mean)
    return Conic(A, -2 * products, (products * mean).sum(axis=1) + constant)
