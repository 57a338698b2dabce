"""Gaussians whose features are correlated: shared and own covariance, against discriminant analysis."""

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

import deciban

from .case import Case, Data, rows

K = 10


def correlated(scale: float) -> Data:
    """2·10⁵×100 numbers; each class has its own mean and its own mixing of 100 normal sources."""
    rng = np.random.default_rng(6)
    n, d = rows(200_000, scale), 100
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
        "GaussianBayes tied 2·10⁵×100, K=10",
        correlated,
        lambda: deciban.GaussianBayes(covariance="tied"),
        LinearDiscriminantAnalysis,
        {"fit": 8, "predict": None},
    ),
    Case(
        "GaussianBayes full 2·10⁵×100, K=10",
        correlated,
        lambda: deciban.GaussianBayes(covariance="full"),
        QuadraticDiscriminantAnalysis,
        {"fit": 4, "predict": 2},
    ),
)
