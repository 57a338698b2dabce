"""The ways rows can go through the house: stored dense or sparse, walked by the definition or by a kernel."""

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix

from deciban.engines import dense, kernel_dispatch, sparse, sparse_totals
from deciban.families.binned import Binned
from deciban.families.count_families import Bernoulli, Complement, Multinomial, Poisson
from deciban.families.family import ClassPrior
from deciban.families.gaussian import Gaussian
from deciban.families.level_families import Categorical, Joint
from deciban.generative import Assumption, GenerativeModel, summarise_rows
from deciban.kernels import execution

FINISHES = ["joint", "log_posterior", "posterior", "winner", "density"]


@contextmanager
def by_definition():
    """Use no kernel, however large the input."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_dispatch, "load_kernels", lambda name, work: None)
        yield


@contextmanager
def by_kernel():
    """Use kernels, however small the input."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execution, "MIN_KERNEL_STEPS", 0)
        patch.setattr(sparse_totals, "ENTRIES_PER_THREAD", 1)
        yield


@contextmanager
def many_blocks():
    """Use blocks so small that a few hundred rows are several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dense, "DENSE_BLOCK_BYTES", 1 << 11)
        patch.setattr(dense, "DENSE_BLOCK_SCORES", 1)
        patch.setattr(sparse, "SPARSE_BLOCK_SCORES", 1)
        yield


@contextmanager
def always_tallies():
    """Keep sparse counts sparse, however few."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse, "DENSE_CELLS", 0)
        yield


PATHS = {
    "dense, definition": (by_definition, np.asarray),
    "dense, kernel": (by_kernel, np.asarray),
    "csr_array, definition": (by_definition, csr_array),
    "csr_array, kernel": (by_kernel, csr_array),
    "csr_matrix, kernel": (by_kernel, csr_matrix),
}
IMPLEMENTATIONS = {"definition": by_definition, "kernel": by_kernel}


@dataclass(frozen=True)
class Case:
    """One line of the matrix: a family, a sampler of its rows, and whether it allows missing values."""

    name: str
    family: Any
    draw: Any
    holes: bool = True
    density: bool = True
    informative: bool = False
    finishes: list = field(default_factory=lambda: FINISHES)

    def rows(self, n=60, K=3, seed=0, holes=0.0, weights=False):
        rng = np.random.default_rng(seed)
        X = self.draw(rng, n)
        if holes and self.holes:
            X = np.where(rng.random(X.shape) < holes, np.nan, X)
        weight = rng.choice([0.5, 1.0, 3.0], n) if weights else None
        codes = rng.integers(0, K, n).astype(np.int32)
        if self.informative:  # the first columns differ between classes
            X = np.where(np.arange(X.shape[1]) < 4, X * (1.0 + codes[:, None]), X)
        return X, codes, weight

    @property
    def wanted(self):
        return FINISHES if self.density else FINISHES[:-1]

    def model(self, X, codes, weight=None, K=3, threads=1):
        assumption = Assumption((self.family,), ClassPrior("empirical"))
        return GenerativeModel(assumption, summarise_rows(assumption, range(K), [None], [X], codes, weight, threads))


def flags(rng, n):
    return rng.integers(0, 3, (n, 6)).astype(float)


def words(rng, n):
    return rng.poisson(0.7, (n, 6)).astype(float)


def codes(rng, n):
    return rng.integers(0, 4, (n, 6)).astype(float)


def measurements(rng, n):
    return rng.normal(3, 2, (n, 6)) * (rng.random((n, 6)) < 0.8)


def clustered_numbers(rng, n):
    """Numbers far from Gaussian: each near one of six values, some of them far away."""
    return rng.choice([-300.0, -2.0, 0.0, 0.5, 7.0, 4e5], (n, 6)) * rng.normal(1, 0.1, (n, 6))


CASES = [
    Case("bernoulli", Bernoulli(alpha=0.5), flags),
    Case("bernoulli, maximum likelihood", Bernoulli(alpha=0.0, threshold=1.0), flags),
    Case("multinomial", Multinomial(alpha=0.3), words, holes=False),
    Case("multinomial, maximum likelihood", Multinomial(alpha=0.0), words, holes=False),
    Case("multinomial, alpha each", Multinomial(alpha=np.arange(1.0, 7.0)), words, holes=False),
    Case("complement", Complement(alpha=0.3), words, holes=False, density=False),
    Case("complement, norm", Complement(alpha=0.3, norm=True), words, holes=False, density=False),
    Case("poisson", Poisson(alpha=0.5), words),
    Case("poisson, maximum likelihood", Poisson(alpha=0.0), words),
    Case("categorical", Categorical(alpha=0.5), codes),
    Case("categorical, smoothed", Categorical(alpha=0.5, unseen="smooth"), codes),
    Case("categorical, few distinguished", Categorical(alpha=0.5, holes="unseen", most=2), codes),
    Case("binned", Binned(alpha=0.5), clustered_numbers, informative=True),
    Case("binned, maximum likelihood", Binned(alpha=0.0), clustered_numbers, informative=True),
    Case("joint", Joint(alpha=0.5), lambda rng, n: codes(rng, n)[:, :2]),
    Case("gaussian", Gaussian(), measurements),
    Case("gaussian, spherical", Gaussian("spherical"), measurements),
    Case("gaussian, full", Gaussian("full"), measurements),
    Case("gaussian, tied", Gaussian("tied"), measurements),
]
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def near(actual, expected, rtol=1e-11):
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=1e-10)
