"""Dense tables under naive models: numbers, flags and categories."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from sklearn import naive_bayes

import deciban

from .case import Case, Data, rows

K = 10
BLOCK = 20_000


def numbers(scale: float, dtype: DTypeLike = np.float64) -> Data:
    """10⁶×50 normal columns; classes differ in means and spreads, so that some rows are hard."""
    rng = np.random.default_rng(1)
    n, d = rows(1_000_000, scale), 50
    y = rng.integers(K, size=n)
    mean, spread = rng.normal(size=(K, d)) * 0.3, rng.uniform(0.7, 1.4, size=(K, d))
    X = np.empty((n, d), dtype=dtype)
    for start in range(0, n, BLOCK):
        block = y[start : start + BLOCK]
        X[start : start + BLOCK] = rng.normal(size=(len(block), d)) * spread[block] + mean[block]
    return X, y


def numbers_in_single(scale: float) -> Data:
    """The same numbers as float32."""
    return numbers(scale, np.float32)


def flags(scale: float) -> Data:
    """200 000×784 bytes, 0 or 1, as a thresholded picture has."""
    rng = np.random.default_rng(2)
    n, d = rows(200_000, scale), 784
    y = rng.integers(K, size=n)
    chance = (rng.beta(0.5, 1.5, size=(1, d)) * 0.9 + rng.uniform(0, 0.1, size=(K, d))).astype(np.float32)
    X = np.empty((n, d), dtype=np.uint8)
    for start in range(0, n, BLOCK):
        block = y[start : start + BLOCK]
        X[start : start + BLOCK] = rng.random((len(block), d), dtype=np.float32) < chance[block]
    return X, y


def categories(scale: float) -> Data:
    """10⁶×20 columns of 20 levels; each class has its own favourite levels."""
    rng = np.random.default_rng(3)
    n, d, levels = rows(1_000_000, scale), 20, 20
    y = rng.integers(K, size=n)
    X = np.empty((n, d), dtype=np.int64)
    for j in range(d):
        reach = np.cumsum(rng.dirichlet(np.full(levels, 5.0), size=K), axis=1)
        draw = rng.random(n)
        for k in range(K):
            X[y == k, j] = np.searchsorted(reach[k, :-1], draw[y == k])
    return X, y


CASES = (
    Case(
        "GaussianNB 10⁶×50 float64, K=10",
        numbers,
        lambda: deciban.GaussianNB(),
        naive_bayes.GaussianNB,
        {"fit": 15, "predict_proba": 12},
        memory_operations=("fit", "predict", "predict_proba"),
    ),
    Case(
        "GaussianNB 10⁶×50 float32, K=10",
        numbers_in_single,
        lambda: deciban.GaussianNB(),
        naive_bayes.GaussianNB,
        {"fit": 15, "predict_proba": 12},
        memory_operations=("fit", "predict", "predict_proba"),
    ),
    Case(
        "BernoulliNB 200 000×784 uint8, K=10",
        flags,
        lambda: deciban.BernoulliNB(),
        naive_bayes.BernoulliNB,
        {"fit": 100, "predict": 5},
    ),
    Case(
        "CategoricalNB 10⁶×20 int64, 20 levels, K=10",
        categories,
        lambda: deciban.CategoricalNB(),
        naive_bayes.CategoricalNB,
        {"fit": 20, "predict": 3},
    ),
)


def one_row_data(n: int = 200_000) -> tuple[Any, Any]:
    """Rows of 100 numbers, for measuring the prediction of a single one."""
    rng = np.random.default_rng(4)
    y = rng.integers(K, size=n)
    return rng.normal(size=(n, 100)) + 0.2 * rng.normal(size=(K, 100))[y], y
