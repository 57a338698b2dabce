"""The shared matrix of tests: every estimator, with data of its kind and its properties."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

import deciban

CLASSES = np.array(["ant", "bee", "cat"])
COVARIANCES = ["full", "tied", "mixed", "diagonal", "tied_diagonal", "spherical", "tied_spherical", "identity"]


def flags(rng, k):
    return (rng.random((len(k), 4)) < np.array([[0.2, 0.7, 0.5, 0.4]]) + 0.1 * k[:, None]).astype(float)


def counts(rng, k):
    return rng.poisson(np.array([[1.0, 4.0, 2.0, 3.0], [2.0, 1.0, 5.0, 3.0], [4.0, 2.0, 1.0, 3.0]])[k]).astype(float)


def codes(rng, k):
    return (rng.integers(0, 3, (len(k), 4)) * (rng.random((len(k), 4)) < 0.5 + 0.2 * k[:, None])).astype(float)


def cells(rng, k):
    return codes(rng, k)[:, :2]


def numbers(rng, k):
    mixed = rng.normal(size=(len(k), 4)) @ np.array([[1, 0, 0, 0], [0.5, 1, 0, 0], [0, 0.3, 2, 0], [0, 0, 0.1, 10]])
    return mixed * (1 + 0.3 * k[:, None]) + np.array([[0, 0, 5, 100], [1, 2, 5, 80], [2, -1, 5, 90]])[k]


@dataclass(frozen=True)
class EstimatorExample:
    """One line of the matrix."""

    name: str
    make: Callable[..., Any]
    draw: Callable[[np.random.Generator, np.ndarray], np.ndarray]
    form: str = "linear"  # the score form: linear, quadratic or lookup
    likelihood: bool = True  # False: not a probability of x (complement)
    takes_nan: bool = True
    exact: bool = True  # counts, which must agree to the last bit; False: moments, to 1e-12
    traits: frozenset = field(default=frozenset())

    def data(self, n=60, seed=0):
        """n rows in which every class occurs, in mixed order."""
        rng = np.random.default_rng(seed)
        k = rng.permutation(np.arange(n) % 3)
        return self.draw(rng, k), CLASSES[k]

    def make_fitted(self, n=60, seed=0, **parameters):
        return self.make(**parameters).fit(*self.data(n, seed))

    @property
    def prior_argument(self):
        return "priors" if "Gaussian" in self.name else "class_prior"


def gaussian_bayes(covariance):
    form = "linear" if covariance.startswith("tied") or covariance == "identity" else "quadratic"
    make = partial(deciban.GaussianBayes, covariance=covariance)
    return EstimatorExample(f"GaussianBayes-{covariance}", make, numbers, form=form, exact=False)


EXAMPLES = [
    EstimatorExample("BernoulliNB", deciban.BernoulliNB, flags),
    EstimatorExample("MultinomialNB", deciban.MultinomialNB, counts, takes_nan=False),
    EstimatorExample("ComplementNB", deciban.ComplementNB, counts, takes_nan=False, likelihood=False),
    EstimatorExample("CategoricalNB", deciban.CategoricalNB, codes, form="lookup"),
    EstimatorExample("PoissonNB", deciban.PoissonNB, counts),
    EstimatorExample("GaussianNB", deciban.GaussianNB, numbers, form="quadratic", exact=False),
    *map(gaussian_bayes, COVARIANCES),
    EstimatorExample("JointBayes", partial(deciban.JointBayes, alpha=0.5), cells, form="lookup"),
]
IDS = {"ids": lambda value: getattr(value, "name", None)}
GENERATIVE = [f for f in EXAMPLES if f.likelihood]
LINEAR = [f for f in EXAMPLES if f.form == "linear"]
NAN_ACCEPTING = [f for f in EXAMPLES if f.takes_nan]
NAN_REFUSING = [f for f in EXAMPLES if not f.takes_nan]
