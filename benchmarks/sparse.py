"""Word counts: a wide CSR matrix with Zipf-like word frequencies."""

import numpy as np
from scipy.sparse import coo_array, csr_matrix
from sklearn.naive_bayes import MultinomialNB

import deciban

from .case import Case, Data, rows

TOKENS = 62
"""Mean words a row; with repeats counted up, about 56 stored entries."""
TOPICAL = 0.04
"""The share of words drawn from the class's own ranking of the vocabulary."""


def words(scale: float, classes: int) -> Data:
    """100 000×100 000 counts; a word's chance falls as 1/(rank + 2), some words ranked anew by each class."""
    rng = np.random.default_rng(5)
    n, d = rows(100_000, scale), rows(100_000, scale)
    y = rng.integers(classes, size=n)
    row = np.repeat(np.arange(n), rng.poisson(TOKENS, size=n))
    reach = np.cumsum(1 / (np.arange(d) + 2.0))
    rank = np.searchsorted(reach, rng.random(len(row)) * reach[-1])
    shift = rng.integers(d, size=classes)[y[row]]
    word = np.where(rng.random(len(row)) < TOPICAL, (rank + shift) % d, rank)
    pair = (row.astype(np.int32), word.astype(np.int32))
    return csr_matrix(coo_array((np.ones(len(row)), pair), shape=(n, d))), y


CASES = (
    Case(
        "MultinomialNB CSR 100 000×100 000, K=20",
        lambda scale: words(scale, 20),
        lambda: deciban.MultinomialNB(),
        MultinomialNB,
        {"fit": 2, "predict": 1},
        peak_mib=None,
    ),
    Case(
        "MultinomialNB CSR 100 000×100 000, K=1000",
        lambda scale: words(scale, 1000),
        lambda: deciban.MultinomialNB(),
        MultinomialNB,
        {"fit": 75, "predict": 3},
        rounds=3,
        peak_mib=None,
        peak_share=0.1,
    ),
)
