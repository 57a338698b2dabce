"""deciban: classify by weighing evidence. Naive Bayes, Gaussian Bayes and their kin.

Letters, as in the lectures, everywhere in this package: k, l classes, K how many; j a feature, d how many;
v a level or word, V how many; n a count or weight, w a row's weight; π a class prior, θ a probability,
μ a mean, σ² a variance, Σ a covariance; x a row, z a row of word counts; α a pseudo-count.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from deciban.estimators import (
        BernoulliNB,
        CategoricalNB,
        ComplementNB,
        GaussianBayes,
        GaussianNB,
        JointBayes,
        MultinomialNB,
        PoissonNB,
    )
    from deciban.families import ParameterCount, parameter_count
    from deciban.ledger import Ledger
    from deciban.scores import Explanation

_HOMES = {
    "BernoulliNB": "deciban.estimators",
    "CategoricalNB": "deciban.estimators",
    "ComplementNB": "deciban.estimators",
    "GaussianBayes": "deciban.estimators",
    "GaussianNB": "deciban.estimators",
    "JointBayes": "deciban.estimators",
    "MultinomialNB": "deciban.estimators",
    "PoissonNB": "deciban.estimators",
    "Ledger": "deciban.ledger",
    "Explanation": "deciban.scores",
    "ParameterCount": "deciban.families",
    "parameter_count": "deciban.families",
}
"""Where each public name lives; its room is opened when the name is first used."""

__all__ = [
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "Explanation",
    "GaussianBayes",
    "GaussianNB",
    "JointBayes",
    "Ledger",
    "MultinomialNB",
    "ParameterCount",
    "PoissonNB",
    "__version__",
    "parameter_count",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'deciban' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
