"""Bags of words for the tests: from a count matrix, rows of documents."""

import numpy as np

from deciban.ledger import Bags, Counts, Tallies


def bags(X, y, n_classes, weight=None, presence=False):
    """Return the bags of these documents, as a reader would count them."""
    X, y, w = np.asarray(X, float), np.asarray(y, np.int32), None if weight is None else np.asarray(weight, float)
    documents = Tallies.from_counts(Counts.of((X > 0).astype(float), y, w, n_classes))
    if presence:
        return Bags(documents, documents)
    return Bags(Tallies.from_counts(Counts.of(X, y, w, n_classes)), documents)


def corpus(n=60, V=30, K=4, seed=0, longest=3.0):
    """Documents of uneven words and classes; some words are rare, the last is in every document."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(K), rng.integers(0, K, n - K)])
    rate = rng.gamma(0.3, 1.0, (K, V)) * longest / np.arange(1, V + 1)
    X = rng.poisson(rate[y]).astype(float)
    X[:, V - 1] = 1
    return X, y.astype(np.int32)
