"""Newton's method for small predictors: the same least value as scikit-learn's and as the search by gradients."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression

from deciban.linear.design import Dense, Shared, Sparse
from deciban.linear.solvers import newton
from deciban.linear.solvers.logistic import (
    _build_initial_state,
    _scale_penalties,
    fit_parts,
    prepare_rows,
)
from tests.linear.fitting import fit_matrix


def rows(K, n=200, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    codes = (X @ rng.normal(size=(d, K)) + rng.gumbel(size=(n, K))).argmax(axis=1).astype(np.int32)
    codes[:K] = np.arange(K)
    return X, codes, rng


def is_applicable(parts, codes, K, intercept=True):
    ready = prepare_rows(parts, codes, None, K, intercept, 1)
    return newton.is_applicable(
        ready, _scale_penalties([part.l2 for part in parts], ready, 2), _build_initial_state(parts, ready, None)
    )


def fit_by_newton(parts, codes, K, weight=None, start=None, intercept=True, tol=1e-9):
    """Fit the parts, after checking that Newton's method is used."""
    assert is_applicable(parts, codes, K, intercept)
    start = None if start is None else (start.parts, start.bias)
    return fit_parts(parts, codes, weight, K, start=start, tol=tol, max_iter=100, intercept=intercept)


@pytest.fixture
def by_gradients(monkeypatch):
    """Fit by L-BFGS instead of Newton's method."""

    def fit(parts, codes, K, **how):
        with monkeypatch.context() as patch:
            patch.setattr(newton, "is_applicable", lambda *arguments: False)
            return fit_parts(parts, codes, None, K, tol=1e-8, max_iter=1000, **how)

    return fit


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("K", [2, 3, 7])
def test_weights_are_those_of_scikit_learn(K, intercept):
    X, codes, rng = rows(K)
    weight = rng.uniform(0.5, 2.0, len(codes))
    fit = fit_by_newton([Dense(X, 2.0)], codes, K, weight, intercept=intercept)
    theirs = LogisticRegression(C=0.5, tol=1e-12, max_iter=10_000, fit_intercept=intercept)
    theirs.fit(X, codes, sample_weight=weight)
    assert fit.converged
    assert fit.n_iter < 10
    assert fit.weights == pytest.approx(theirs.coef_, abs=1e-5)
    assert fit.bias == pytest.approx(theirs.intercept_ - theirs.intercept_.mean() * (K > 2), abs=1e-5)


@pytest.mark.parametrize("K", [2, 4])
def test_every_kind_of_part_ends_where_the_search_by_gradients_does(K, by_gradients):
    X, codes, rng = rows(K)
    kinds = rng.integers(0, 5, len(codes))
    indicators = csr_array((np.ones(len(codes)), kinds, np.arange(len(codes) + 1)), shape=(len(codes), 5))
    parts = [Shared(rng.normal(size=(len(codes), 2, K)), 0.3), Dense(X, 1.0), Sparse(indicators, 2.0)]
    fit, other = fit_by_newton(parts, codes, K), by_gradients(parts, codes, K)
    assert fit.objective == pytest.approx(other.objective, rel=1e-10)
    for mine, theirs in zip(fit.parts, other.parts):
        assert mine == pytest.approx(theirs, abs=1e-4)


def test_the_objective_is_the_sum_of_losses_and_penalties_written_out():
    X, codes, rng = rows(3)
    values, weight = rng.normal(size=(len(codes), 2, 3)), rng.uniform(0.5, 2.0, len(codes))
    fit = fit_by_newton([Dense(X, 1.0), Shared(values, 0.3)], codes, 3, weight)
    scores = X @ fit.parts[0].T + np.einsum("ijk,j->ik", values, fit.parts[1]) + fit.bias
    loss = -(weight * log_softmax(scores, axis=1)[np.arange(len(codes)), codes]).sum()
    assert fit.loss == pytest.approx(loss, rel=1e-12)
    assert fit.objective == pytest.approx(loss + (fit.parts[0] ** 2).sum() / 2 + 0.15 * (fit.parts[1] ** 2).sum())


def test_a_step_follows_the_curvature_of_the_loss():
    """Along ways on which the biases do not all rise together, which nothing but the others' sum could tell."""
    X, codes, rng = rows(3, n=30)
    values, w = rng.normal(size=(30, 2, 3)), rng.uniform(0.5, 2.0, 30)
    parts = [Dense(X, 1.0), Shared(values, 1.0)]
    small = newton.SmallPredictor(prepare_rows(parts, codes, w, 3, True, 1))
    centred = X - w @ X / w.sum()

    def slope(theta):  # Σ w (p − y) x, and of what is shared Σ w (p − y) Φ
        own, t = theta[:15].reshape(3, 5), theta[15:]
        p = softmax(own[:, 0] + centred @ own[:, 1:].T + np.einsum("ijk,j->ik", values, t), axis=1)
        wrong = w[:, None] * (p - np.eye(3)[codes])
        own_gradient = np.column_stack([wrong.sum(axis=0), wrong.T @ centred])
        return np.concatenate([own_gradient.ravel(), np.einsum("ijk,ik->j", values, wrong)]), p

    theta, h = rng.normal(size=17), 1e-6
    H = small.hessian(slope(theta)[1], w)
    for _ in range(20):
        way = rng.normal(size=17)
        way[[0, 5, 10]] -= way[[0, 5, 10]].mean()
        expected = (slope(theta + h * way)[0] - slope(theta - h * way)[0]) / (2 * h)
        assert H @ way == pytest.approx(expected, abs=1e-5)


def test_starting_at_the_end_takes_no_more_than_a_step():
    X, codes, _ = rows(3)
    first = fit_by_newton([Dense(X, 1.0)], codes, 3)
    again = fit_by_newton([Dense(X, 1.0)], codes, 3, start=first)
    assert again.n_iter <= 1 < first.n_iter
    assert again.objective == pytest.approx(first.objective, rel=1e-12)


def test_no_step_is_taken_where_none_is_allowed():
    X, codes, _ = rows(3)
    fit = fit_parts([Dense(X, 1.0)], codes, None, 3, max_iter=0)
    assert (fit.n_iter, fit.converged) == (0, False)
    assert not fit.weights.any()


@pytest.mark.parametrize("n", [200, 70_000])
def test_no_step_of_lbfgs_is_taken_where_none_is_allowed(monkeypatch, n):
    monkeypatch.setattr(newton, "is_applicable", lambda *arguments: False)
    monkeypatch.setattr("deciban.linear.solvers.dual_lbfgs.is_applicable", lambda *arguments: False)
    X, codes, _ = rows(3, n)
    fit = fit_parts([Dense(X, 1.0)], codes, None, 3, max_iter=0)
    assert (fit.n_iter, fit.converged) == (0, False)
    assert not fit.weights.any()
    assert fit_parts([Dense(X, 1.0)], codes, None, 3, max_iter=2).n_iter == 2


def test_rows_without_weight_are_absent():
    X, codes, _ = rows(3)
    weight = (np.arange(len(codes)) % 3 > 0).astype(float)
    some = weight > 0
    mine, theirs = (
        fit_by_newton([Dense(X, 1.0)], codes, 3, weight),
        fit_by_newton([Dense(X[some], 1.0)], codes[some], 3),
    )
    assert mine.weights == pytest.approx(theirs.weights, abs=1e-9)


def test_separable_rows_under_a_small_penalty_end_at_finite_weights():
    X = np.concatenate([np.linspace(-2, -1, 20), np.linspace(1, 2, 20)])[:, None]
    codes = np.repeat([0, 1], 20).astype(np.int32)
    fit = fit_by_newton([Dense(X, 1e-6)], codes, 2)
    assert fit.converged
    assert np.isfinite(fit.weights).all()
    assert fit.loss < 1e-3


def test_few_weights_are_small_and_words_are_not(monkeypatch):
    X, codes, _ = rows(2)
    part = Dense(X, 1.0)
    assert is_applicable([part], codes, 2)
    assert not is_applicable([Dense(np.zeros((200, 5000)), 1.0)], codes, 2)
    assert not is_applicable([replace(part, l2=0.0)], codes, 2)  # what nothing holds back may have no best
    assert not is_applicable([replace(part, scale=np.ones(4))], codes, 2)
    assert not is_applicable([Dense(X * 1e200, 1.0)], codes, 2)
    monkeypatch.setattr(newton, "MAX_NEWTON_ROWS", 199)
    assert not is_applicable([part], codes, 2)


@pytest.mark.parametrize("start", [-30.0, -60.0, -100.0, 1e4])
def test_a_start_so_far_out_that_the_loss_has_no_curvature_is_left_behind(start):
    random = np.random.default_rng(0)
    x = np.r_[random.normal(-1, 0.5, 40), random.normal(1, 0.5, 20)][:, None]
    y = np.r_[np.zeros(40), np.ones(20)].astype(np.int32)
    cold = fit_matrix(x, y, None, 2, l2=1.0)
    warm = fit_matrix(x, y, None, 2, l2=1.0, start=(np.array([[start]]), np.zeros(1)))
    assert warm.converged
    assert warm.objective == pytest.approx(cold.objective, rel=1e-7)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_fixed_bias_stays_and_the_weights_are_the_minimum_beside_it(sparse):
    X, codes, _ = rows(2)
    part = Sparse(csr_array(X), 1.0) if sparse else Dense(X, 1.0)
    found = fit_parts([part], codes, None, 2, fixed_bias=np.array([-0.7]), tol=1e-8, max_iter=500)
    assert found.bias.tolist() == pytest.approx([-0.7], abs=1e-12)
    p = 1 / (1 + np.exp(-(X @ found.weights[0] - 0.7)))
    assert np.abs(X.T @ (p - (codes == 1)) + found.weights[0]).max() < 1e-4
