"""The closed-form score of every class over one or two columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from deciban._typing import Array
from deciban.errors import InputError, UndefinedError
from deciban.scores import finish


@dataclass(frozen=True)
class Gap:
    """The difference of the scores of two classes: xᵀAx + w·x + b, zero on their boundary."""

    A: Array
    w: Array
    b: float

    def value(self, X: Array) -> Array:
        """Return the difference at each row."""
        return np.einsum("ni,ij,nj->n", X, self.A, X) + X @ self.w + self.b

    def gradient(self, X: Array) -> Array:
        """Return the gradient 2Ax + w at each row."""
        return 2 * X @ self.A + self.w


@dataclass(frozen=True)
class Surface:
    """The scores xᵀ A_k x + weights_k · x + bias_k of the classes, up to terms common to all; A is K×d×d."""

    A: Array
    weights: Array
    bias: Array

    @property
    def is_linear(self) -> bool:
        """Whether every boundary is a line."""
        return not self.A.any()

    @property
    def possible(self) -> list[int]:
        """The classes that can win: those whose prior is not zero."""
        return np.flatnonzero(np.isfinite(self.bias)).tolist()

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Every two classes that can win."""
        return [(k, l) for k in self.possible for l in self.possible if k < l]

    def scores(self, X: Array) -> Array:
        """Return the score of each row in each class, n×K."""
        return np.einsum("ni,kij,nj->nk", X, self.A, X) + X @ self.weights.T + self.bias

    def posterior(self, X: Array) -> Array:
        """Return p(k|x); terms common to all classes cancel."""
        return finish(self.scores(X), self.bias, "posterior")[0]

    def gap(self, k: int, l: int) -> Gap:
        """Return the score of k minus that of l."""
        return Gap(self.A[k] - self.A[l], self.weights[k] - self.weights[l], float(self.bias[k] - self.bias[l]))

    def lead(self, X: Array, k: int, l: int) -> Array:
        """Return by how much k and l exceed all other classes; ∞ if there are no others."""
        scores = self.scores(X)
        others = np.delete(scores, [k, l], axis=1).max(axis=1, initial=-np.inf)
        return np.minimum(scores[:, k], scores[:, l]) - others


def make_surface(model: Any) -> Surface:
    """Return the linear form of a fitted estimator or, if it has none, its quadratic form."""
    name = type(model).__name__
    if not (hasattr(model, "linear_form") and hasattr(model, "quadratic_form")):
        raise UndefinedError(
            f"a boundary is drawn from linear_form() or quadratic_form(), and {name} has neither. "
            "Hint: give a fitted deciban estimator, such as deciban.GaussianNB."
        )
    try:
        surface = _linear(model)
    except UndefinedError:
        surface = _quadratic(model, name)
    if not surface.possible:
        raise InputError(f"{name} gives every class the prior 0, so there is nothing to draw. Hint: fit it first.")
    return surface


def _linear(model: Any) -> Surface:
    line = model.linear_form()
    K, d = line.weights.shape
    return Surface(np.zeros((K, d, d)), line.weights, line.bias)


def _quadratic(model: Any, name: str) -> Surface:
    try:
        curve = model.quadratic_form()
    except UndefinedError as why:
        raise UndefinedError(f"{name} has no boundary in the plane: {why}") from None
    A = curve.A if curve.A.ndim == 3 else curve.A[:, :, None] * np.eye(curve.A.shape[1])
    return Surface(A, curve.weights, curve.bias)
