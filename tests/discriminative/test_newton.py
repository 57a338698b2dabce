"""Newton's method for small predictors: the same least value as scikit-learn's and as the search by gradients."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from deciban.discriminative.designs import Dense, Shared, Sparse
from deciban.discriminative.logistic import fitted_parts
from deciban.discriminative.newton import Small, is_small, newton


def rows(K, n=200, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    codes = (X @ rng.normal(size=(d, K)) + rng.gumbel(size=(n, K))).argmax(axis=1).astype(np.int32)
    codes[:K] = np.arange(K)
    return X, codes, rng


def found(parts, codes, K, weight=None, start=None):
    return newton(Small(parts, codes, K), parts, weight, start, 1e-9, 100)


@pytest.mark.parametrize("K", [2, 3, 7])
def test_weights_are_those_of_scikit_learn(K):
    X, codes, rng = rows(K)
    weight = rng.uniform(0.5, 2.0, len(codes))
    fit = found([Dense(X, 2.0)], codes, K, weight)
    theirs = LogisticRegression(C=0.5, tol=1e-12, max_iter=10_000).fit(X, codes, sample_weight=weight)
    assert fit.converged
    assert fit.weights == pytest.approx(theirs.coef_, abs=1e-5)
    assert fit.bias - fit.bias.mean() * (K > 2) == pytest.approx(
        theirs.intercept_ - theirs.intercept_.mean() * (K > 2), abs=1e-5
    )


@pytest.mark.parametrize("K", [2, 4])
def test_every_kind_of_part_ends_where_the_search_by_gradients_does(K):
    X, codes, rng = rows(K)
    kinds = rng.integers(0, 5, len(codes))
    indicators = csr_array((np.ones(len(codes)), kinds, np.arange(len(codes) + 1)), shape=(len(codes), 5))
    parts = [Shared(rng.normal(size=(len(codes), 2, K)), 0.3), Dense(X, 1.0), Sparse(indicators, 2.0)]
    fit = found(parts, codes, K)
    other = fitted_parts(parts, codes, None, K, tol=1e-8, max_iter=1000)
    assert fit.objective == pytest.approx(other.objective, rel=1e-10)
    for mine, theirs in zip(fit.parts, other.parts):
        assert mine == pytest.approx(theirs, abs=1e-4)


def test_a_step_follows_the_slope_and_the_curvature_of_the_loss():
    X, codes, rng = rows(3, n=30)
    parts = [Dense(X, 0.0), Shared(rng.normal(size=(30, 2, 3)), 0.0)]
    small, w = Small(parts, codes, 3), rng.uniform(0.5, 2.0, 30)
    theta, h = rng.normal(size=len(small.held(parts))), 1e-6

    def slope(at):
        from deciban.discriminative.objective import residuals

        return small.slope(residuals(small.scores(at), codes) * w[:, None])

    H = small.curvature(small.scores(theta), w)
    P = small.own.shape[1]
    biases = np.ix_(range(0, 3 * P, P), range(0, 3 * P, P))
    H[biases] -= w.sum() / 9
    for j in range(len(theta)):
        step = np.eye(len(theta))[j] * h
        assert H[:, j] == pytest.approx((slope(theta + step) - slope(theta - step)) / (2 * h), abs=1e-5)


def test_starting_at_the_end_takes_no_more_than_a_step():
    X, codes, _ = rows(3)
    first = found([Dense(X, 1.0)], codes, 3)
    again = found([Dense(X, 1.0)], codes, 3, start=first)
    assert again.n_iter <= 1 < first.n_iter
    assert again.objective == pytest.approx(first.objective, rel=1e-12)


def test_rows_without_weight_are_absent():
    X, codes, _ = rows(3)
    weight = (np.arange(len(codes)) % 3 > 0).astype(float)
    some = weight > 0
    mine, theirs = found([Dense(X, 1.0)], codes, 3, weight), found([Dense(X[some], 1.0)], codes[some], 3)
    assert mine.weights == pytest.approx(theirs.weights, abs=1e-9)


def test_separable_rows_under_a_small_penalty_end_at_finite_weights():
    X = np.concatenate([np.linspace(-2, -1, 20), np.linspace(1, 2, 20)])[:, None]
    codes = np.repeat([0, 1], 20).astype(np.int32)
    fit = found([Dense(X, 1e-6)], codes, 2)
    assert fit.converged
    assert np.isfinite(fit.weights).all()
    assert fit.loss < 1e-3


def test_few_weights_are_small_and_words_are_not():
    X, _, _ = rows(2)
    part = Dense(X, 1.0)
    assert is_small([part], 200, 2)
    assert not is_small([part], 10**8, 2)
    assert not is_small([Dense(np.zeros((2, 5000)), 1.0)], 2, 2)
    assert not is_small([replace(part, l1=1.0)], 200, 2)
