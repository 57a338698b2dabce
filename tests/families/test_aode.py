"""Averaged one-dependence estimators, against sums over rows."""

import itertools

import numpy as np
import pytest

from deciban.engines import apply, part_of_work
from deciban.errors import UndefinedError
from deciban.families.pair_families import PRIOR_ROWS, Aode, Tree
from deciban.kernels.execution import MIN_KERNEL_STEPS
from deciban.ledger import Needs, Pairs
from deciban.scores import AveragedEdges
from tests.families.test_tree import K, V, rows


def expected_score(X, y, row, k):
    """ln mean_i Π_j p(x_j|x_i,k)/p(x_j|k), by sums over the rows of the class."""
    mine, d = X[y == k], X.shape[1]
    present = [j for j in range(d) if row[j] >= 0]
    products = []
    for i in present:
        product = 1.0
        for j in present:
            if i != j:
                theta = ((mine[:, j] == row[j]).sum() + 1) / ((mine[:, j] >= 0).sum() + V)
                both = ((mine[:, i] == row[i]) & (mine[:, j] == row[j])).sum()
                given = ((mine[:, i] == row[i]) & (mine[:, j] >= 0)).sum()
                product *= (both + PRIOR_ROWS * theta) / (given + PRIOR_ROWS) / theta
        products.append(product)
    return np.log(np.mean(products)) if products else 0.0


def test_the_score_is_the_mean_over_parents_by_hand():
    X, y = rows()
    X[5] = -1
    score = Aode(V).solve(Pairs.of(X, y, None, K, V)).log_likelihoods(X)
    for row, k in itertools.product([5, *range(0, len(X), 37)], range(K)):
        assert score[row, k] == pytest.approx(expected_score(X, y, X[row], k), abs=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1e-9, 300.0])
def test_the_evidence_of_features_adds_up_to_the_difference_of_scores(scale):
    rng = np.random.default_rng(0)
    d, n, n_classes = 5, 200, 3
    log_ratio = scale * rng.normal(size=(n_classes, d, V, d, V))
    for i in range(d):
        log_ratio[:, i, :, i] = 0.0
    form, X = AveragedEdges(log_ratio), rng.integers(-1, V, (n, d))
    k, l = rng.integers(0, n_classes, (2, n))
    score = form.log_likelihoods(X)
    pieces = form.pieces(X, k, l).features
    expected = score[np.arange(n), k] - score[np.arange(n), l]
    np.testing.assert_allclose(pieces.sum(axis=1), expected, rtol=1e-11, atol=1e-12 * max(1.0, scale))
    assert (pieces[X < 0] == 0).all()


def test_two_features_are_a_tree():
    """With two features the mean is over x_1 → x_2 and x_2 → x_1, which differ in their pseudo-observations alone."""
    X, y = rows(4000, 2, missing=0.0)
    part = Pairs.of(X, y, None, K, V)
    tree, averaged = Tree(V).solve(part), Aode(V).solve(part)
    np.testing.assert_allclose(averaged.log_likelihoods(X), tree.log_likelihoods(X), atol=0.02)


def test_the_kernel_scores_as_the_definition_does():
    X, y = rows(2000, 6)
    family = Aode(V)
    form = family.solve(Pairs.of(X, y, None, K, V))
    with part_of_work(MIN_KERNEL_STEPS):
        found = apply((form,), (X,), (family.needs(),), np.zeros(K), "joint", 1)
    np.testing.assert_allclose(found, form.log_likelihoods(X), rtol=1e-12, atol=1e-12)


def test_what_it_cannot_answer_is_refused():
    part = Pairs.of(*rows(), None, K, V)
    assert Aode(V).needs() == Needs("pairs", cells=V)
    with pytest.raises(UndefinedError, match="depend on each other"):
        Aode(V).sample(part, np.zeros(1, int), np.random.default_rng(0))
    with pytest.raises(UndefinedError, match="does not follow"):
        Aode(V).log_likelihood(part, part)
