"""Benchmark cases of estimators on arrays: naive models, Gaussians with full covariance, sparse word counts."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import coo_array, csr_matrix
from sklearn import naive_bayes
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

import deciban

from .case import Case, Data, scale_rows

K = 10
BLOCK_ROWS = 20_000
MEAN_ROW_TOKENS = 62
"""The mean number of words per row; with repeats added, about 56 stored entries."""
CLASS_WORD_SHARE = 0.04
"""The share of words drawn from the class's own ranking of the vocabulary."""


def make_numbers(scale: float, dtype: DTypeLike = np.float64) -> Data:
    """Draw 10⁶×50 normal columns; classes differ in means and spreads, so that some rows are hard."""
    rng = np.random.default_rng(1)
    n, d = scale_rows(1_000_000, scale), 50
    y = rng.integers(K, size=n)
    mean, spread = rng.normal(size=(K, d)) * 0.3, rng.uniform(0.7, 1.4, size=(K, d))
    X = np.empty((n, d), dtype=dtype)
    for start in range(0, n, BLOCK_ROWS):
        block = y[start : start + BLOCK_ROWS]
        X[start : start + BLOCK_ROWS] = rng.normal(size=(len(block), d)) * spread[block] + mean[block]
    return X, y


def make_flags(scale: float) -> Data:
    """Draw 200 000×784 bytes, 0 or 1, like thresholded images."""
    rng = np.random.default_rng(2)
    n, d = scale_rows(200_000, scale), 784
    y = rng.integers(K, size=n)
    chance = (rng.beta(0.5, 1.5, size=(1, d)) * 0.9 + rng.uniform(0, 0.1, size=(K, d))).astype(np.float32)
    X = np.empty((n, d), dtype=np.uint8)
    for start in range(0, n, BLOCK_ROWS):
        block = y[start : start + BLOCK_ROWS]
        X[start : start + BLOCK_ROWS] = rng.random((len(block), d), dtype=np.float32) < chance[block]
    return X, y


def make_categories(scale: float) -> Data:
    """Draw 10⁶×20 columns of 20 levels; each class has its own distribution of levels."""
    rng = np.random.default_rng(3)
    n, d, levels = scale_rows(1_000_000, scale), 20, 20
    y = rng.integers(K, size=n)
    X = np.empty((n, d), dtype=np.int64)
    for j in range(d):
        cumulative = np.cumsum(rng.dirichlet(np.full(levels, 5.0), size=K), axis=1)
        draw = rng.random(n)
        for k in range(K):
            X[y == k, j] = np.searchsorted(cumulative[k, :-1], draw[y == k])
    return X, y


def make_single_row_data(n: int = 200_000) -> tuple[Any, Any]:
    """Draw rows of 100 numbers, for measuring the prediction of a single one."""
    rng = np.random.default_rng(4)
    y = rng.integers(K, size=n)
    return rng.normal(size=(n, 100)) + 0.2 * rng.normal(size=(K, 100))[y], y


def make_word_counts(scale: float, classes: int) -> Data:
    """Draw 100 000×100 000 counts; a word has probability ∝ 1/(rank + 2), some words with ranks of the class."""
    rng = np.random.default_rng(5)
    n, d = scale_rows(100_000, scale), scale_rows(100_000, scale)
    y = rng.integers(classes, size=n)
    row = np.repeat(np.arange(n), rng.poisson(MEAN_ROW_TOKENS, size=n))
    cumulative = np.cumsum(1 / (np.arange(d) + 2.0))
    rank = np.searchsorted(cumulative, rng.random(len(row)) * cumulative[-1])
    shift = rng.integers(d, size=classes)[y[row]]
    word = np.where(rng.random(len(row)) < CLASS_WORD_SHARE, (rank + shift) % d, rank)
    pair = (row.astype(np.int32), word.astype(np.int32))
    return csr_matrix(coo_array((np.ones(len(row)), pair), shape=(n, d))), y


def make_correlated_numbers(scale: float) -> Data:
    """Draw 2·10⁵×100 numbers; each class has its own mean and its own mixing of 100 normal sources."""
    rng = np.random.default_rng(6)
    n, d = scale_rows(200_000, scale), 100
    y = rng.permutation(np.arange(n) % K)
    X = np.empty((n, d))
    shared = 0.5 * rng.normal(size=(d, d)) / np.sqrt(d)
    for k in range(K):
        mixing = np.eye(d) + shared + 0.1 * rng.normal(size=(d, d)) / np.sqrt(d)
        of_class = y == k
        X[of_class] = rng.normal(size=(int(of_class.sum()), d)) @ mixing + 0.2 * rng.normal(size=d)
    return X, y


CASES = (
    Case(
        "GaussianNB 10⁶×50 float64, K=10",
        make_numbers,
        lambda: deciban.GaussianNB(),
        naive_bayes.GaussianNB,
        {"fit": 15, "predict_proba": 12},
        memory_operations=("fit", "predict", "predict_proba"),
    ),
    Case(
        "GaussianNB 10⁶×50 float32, K=10",
        lambda scale: make_numbers(scale, np.float32),
        lambda: deciban.GaussianNB(),
        naive_bayes.GaussianNB,
        {"fit": 15, "predict_proba": 12},
        memory_operations=("fit", "predict", "predict_proba"),
    ),
    Case(
        "BernoulliNB 200 000×784 uint8, K=10",
        make_flags,
        lambda: deciban.BernoulliNB(),
        naive_bayes.BernoulliNB,
        {"fit": 100, "predict": 5},
    ),
    Case(
        "CategoricalNB 10⁶×20 int64, 20 levels, K=10",
        make_categories,
        lambda: deciban.CategoricalNB(),
        naive_bayes.CategoricalNB,
        {"fit": 20, "predict": 3},
    ),
    Case(
        "MultinomialNB CSR 100 000×100 000, K=20",
        lambda scale: make_word_counts(scale, 20),
        lambda: deciban.MultinomialNB(),
        naive_bayes.MultinomialNB,
        {"fit": 2, "predict": 1},
        peak_mib=None,
    ),
    Case(
        "MultinomialNB CSR 100 000×100 000, K=1000",
        lambda scale: make_word_counts(scale, 1000),
        lambda: deciban.MultinomialNB(),
        naive_bayes.MultinomialNB,
        {"fit": 75, "predict": 3},
        rounds=3,
        peak_mib=None,
        peak_share=0.1,
    ),
    Case(
        "GaussianBayes tied 2·10⁵×100, K=10",
        make_correlated_numbers,
        lambda: deciban.GaussianBayes(covariance="tied"),
        LinearDiscriminantAnalysis,
        {"fit": 8, "predict": None},
    ),
    Case(
        "GaussianBayes full 2·10⁵×100, K=10",
        make_correlated_numbers,
        lambda: deciban.GaussianBayes(covariance="full"),
        QuadraticDiscriminantAnalysis,
        {"fit": 4, "predict": 2},
    ),
)
"""All cases, in the order of the report."""


def find_case(name: str) -> Case:
    """Return the case of this name."""
    return next(case for case in CASES if case.name == name)
