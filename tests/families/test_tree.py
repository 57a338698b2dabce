"""The forest of dependent features, against sums over rows and the computations of scikit-learn and SciPy."""

import itertools

import numpy as np
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree
from sklearn.metrics import mutual_info_score

from deciban.engines import part_of_work, summarise
from deciban.families.pair_families import (
    MIN_GAIN_STANDARD_DEVIATIONS,
    PRIOR_ROWS,
    Tree,
    edge_gains,
    grow_forest,
    join_pairs,
)
from deciban.kernels.execution import MIN_KERNEL_STEPS
from deciban.ledger import Needs, Pairs

V, K = 3, 2


def rows(n=400, d=4, missing=0.1, seed=0):
    """Rows in which each feature repeats the one before with probability 0.7, in class 0 only."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n).astype(np.int32)
    X = rng.integers(0, V, (n, d))
    for j in range(1, d):
        same = (rng.random(n) < 0.7) & (y == 0)
        X[same, j] = X[same, j - 1]
    X[rng.random(X.shape) < missing] = -1
    return X, y


def test_a_gain_is_the_mutual_information_given_the_class_beyond_chance():
    X, y = rows()
    gain = edge_gains(Pairs.of(X, y, None, K, V))
    for i, j in itertools.combinations(range(X.shape[1]), 2):
        known = (X[:, i] >= 0) & (X[:, j] >= 0)
        own = [known & (y == k) for k in range(K)]
        information = sum(m.sum() * mutual_info_score(X[m, i], X[m, j]) for m in own)
        freedom = K * (V - 1) ** 2
        chance = freedom / 2 + MIN_GAIN_STANDARD_DEVIATIONS * np.sqrt(freedom / 2)
        assert gain[i, j] == gain[j, i] == pytest.approx(information - chance)


def test_independent_features_have_no_edge():
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, V, (2000, 5)), rng.integers(0, K, 2000).astype(np.int32)
    form = Tree(V).solve(Pairs.of(X, y, None, K, V))
    assert (form.parent == -1).all()
    assert (form.log_likelihoods(X) == 0).all()


def list_matchings(features):
    """Yield every way to join some of the features in pairs."""
    if not features:
        yield []
        return
    first, *others = features
    yield from list_matchings(others)
    for other in others:
        rest = [each for each in others if each != other]
        yield from ([(first, other), *more] for more in list_matchings(rest))


@pytest.mark.parametrize("seed", range(5))
def test_pairs_are_joined_once_and_gain_at_least_half_of_the_most_possible(seed):
    gain = np.random.default_rng(seed).normal(size=(7, 7))
    gain = np.triu(gain, 1) + np.triu(gain, 1).T
    pairs = [(int(p), j) for j, p in enumerate(join_pairs(gain)) if p >= 0]
    assert len({feature for pair in pairs for feature in pair}) == 2 * len(pairs)
    assert tuple(sorted(np.unravel_index(gain.argmax(), gain.shape))) in pairs
    most = max(sum(gain[pair] for pair in matching) for matching in list_matchings(range(7)))
    assert sum(gain[pair] for pair in pairs) >= most / 2
    left = sorted({*range(7)} - {feature for pair in pairs for feature in pair})
    assert all(gain[i, j] <= 0 for i, j in itertools.combinations(left, 2))


def test_a_pair_is_one_feature_of_the_combinations():
    X, y = rows(d=2, missing=0.0)
    part = Pairs.of(X, y, None, K, V)
    assert (Tree(V, pairs_only=True).solve(part).log_ratio == Tree(V).solve(part).log_ratio).all()
    X, y = rows(d=4)
    part = Pairs.of(X, y, None, K, V)
    assert (Tree(V, pairs_only=True).solve(part).parent >= 0).sum() == 2
    assert Tree(V, pairs_only=True).n_parameters(part) < Tree(V).n_parameters(part)


@pytest.mark.parametrize("seed", range(5))
def test_the_forest_has_the_largest_sum_of_positive_gains(seed):
    gain = np.random.default_rng(seed).normal(size=(7, 7))
    gain = np.triu(gain, 1) + np.triu(gain, 1).T
    parent = grow_forest(gain)
    found = sum(gain[j, p] for j, p in enumerate(parent) if p >= 0)
    best = -minimum_spanning_tree(np.where(gain > 0, -gain, 0.0)).sum()
    assert found == pytest.approx(best)
    for j in range(7):  # no feature depends on itself, by whatever way
        ancestors = []
        while parent[j] >= 0:
            j = int(parent[j])
            assert j not in ancestors
            ancestors.append(j)


def test_the_score_is_the_ratio_of_counts_by_hand():
    X, y = rows()
    part = Pairs.of(X, y, None, K, V)
    form = Tree(V).solve(part)
    assert form.parent.tolist().count(-1) == 1
    score = form.log_likelihoods(X)
    for row, k in itertools.product(range(0, len(X), 37), range(K)):
        expected = 0.0
        for j, p in enumerate(form.parent):
            a, b = X[row, p], X[row, j]
            if p < 0 or a < 0 or b < 0:
                continue
            mine = X[y == k]
            theta = ((mine[:, j] == b).sum() + 1) / ((mine[:, j] >= 0).sum() + V)
            both = ((mine[:, p] == a) & (mine[:, j] == b)).sum()
            given = ((mine[:, p] == a) & (mine[:, j] >= 0)).sum()
            expected += np.log((both + PRIOR_ROWS * theta) / (given + PRIOR_ROWS) / theta)
        assert score[row, k] == pytest.approx(expected, abs=1e-12)
    pieces = form.pieces(X, np.zeros(len(X), int), np.ones(len(X), int)).features
    np.testing.assert_allclose(pieces.sum(axis=1), score[:, 0] - score[:, 1], atol=1e-12)


def test_the_likelihood_of_the_rows_follows_from_the_counts():
    X, y = rows()
    part = Pairs.of(X, y, None, K, V)
    score = Tree(V).solve(part).log_likelihoods(X)
    assert Tree(V).log_likelihood(part, part) == pytest.approx(score[np.arange(len(y)), y].sum())


@pytest.mark.parametrize("weighted", [True, False])
def test_the_kernel_counts_as_the_definition_does(weighted):
    X, y = rows(3000, 7)
    weight = np.random.default_rng(2).integers(0, 4, len(X)).astype(float) if weighted else None
    with part_of_work(MIN_KERNEL_STEPS):
        found = summarise(Needs("pairs", cells=V), X, y, weight, K, 1)
    assert found == Pairs.of(X, y, weight, K, V)


def test_features_are_chosen_in_any_order():
    X, y = rows(d=5)
    order = np.array([3, 0, 4])
    assert Pairs.of(X, y, None, K, V).take_features(order) == Pairs.of(X[:, order], y, None, K, V)
