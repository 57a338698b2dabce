"""Shared by the tests of boosting: its algorithms, and random rows."""

import pytest
from sklearn.datasets import make_classification

ALGORITHMS = ["SAMME", "SAMME.R", "logistic"]
ADDITIVE = ["SAMME.R", "logistic"]
every_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS)
additive = pytest.mark.parametrize("algorithm", ADDITIVE)


def random_rows(K=3, n=600, seed=0):
    return make_classification(n, 8, n_informative=6, n_redundant=1, n_classes=K, random_state=seed)
