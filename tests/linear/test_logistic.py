import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression

from deciban.linear.solvers.logistic import Dense, Shared, Sparse, fit_parts
from tests.linear.fitting import fit_matrix


def table(n, d, n_classes, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ (np.eye(d) + 0.4 * rng.normal(size=(d, d)) / np.sqrt(d))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    truth = rng.normal(size=(n_classes, d))
    return X, (X @ truth.T + noise * rng.gumbel(size=(n, n_classes))).argmax(axis=1).astype(np.int32)


def objective(X, y, weights, bias, l2=0.0, l1=0.0, weight=None):
    """The objective in its own words, sharing nothing with the library."""
    s = X @ weights.T + bias
    s = np.hstack([np.zeros_like(s), s]) if s.shape[1] == 1 else s
    rows = logsumexp(s, axis=1) - s[np.arange(len(y)), y]
    return (
        (rows if weight is None else weight * rows).sum() + l2 / 2 * (weights**2).sum() + l1 * np.abs(weights).sum()
    )


def peer(X, y, C, l1_ratio=0.0, weight=None, **kw):
    solver = "saga" if l1_ratio else "lbfgs"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegression(C=C, l1_ratio=l1_ratio, tol=1e-12, max_iter=20_000, solver=solver, **kw)
        return model.fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_l2_is_scikit_learns(n_classes, C, kind):
    X, y = table(600, 8, n_classes)
    theirs = peer(X, y, C)
    ours = fit_matrix(kind(X), y, None, n_classes, l2=1 / C, tol=1e-9, max_iter=500)
    least = objective(X, y, theirs.coef_, theirs.intercept_, 1 / C)
    assert ours.converged
    assert ours.objective == pytest.approx(objective(X, y, ours.weights, ours.bias, 1 / C), rel=1e-12)
    assert abs(ours.objective / least - 1) < 1e-8
    np.testing.assert_allclose(ours.weights, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.bias, theirs.intercept_, atol=1e-5)


@pytest.mark.parametrize("l1_ratio", [1.0, 0.4])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_l1_and_elastic_nets_are_scikit_learns(n_classes, l1_ratio):
    X, y = table(300, 8, n_classes, noise=3.0)
    C, l2, l1 = 0.05, (1 - l1_ratio) / 0.05, l1_ratio / 0.05
    theirs = peer(X, y, C, l1_ratio)
    ours = fit_matrix(X, y, None, n_classes, l2=l2, l1=l1, tol=1e-8, max_iter=1000)
    least = objective(X, y, theirs.coef_, theirs.intercept_, l2, l1)
    assert ours.objective <= least * (1 + 1e-8)
    assert ours.objective == pytest.approx(least, rel=1e-6)
    assert (ours.weights == 0).sum() > 0
    np.testing.assert_allclose(ours.weights, theirs.coef_, atol=1e-3)


def test_a_large_l1_leaves_the_classes_shares_alone():
    X, y = table(300, 5, 3)
    fit = fit_matrix(X, y, None, 3, l2=0.0, l1=1e4, tol=1e-8)
    assert not fit.weights.any()
    shares = np.exp(fit.bias - logsumexp(fit.bias))
    np.testing.assert_allclose(shares, np.bincount(y) / 300, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_sample_that_is_learned_first_changes_the_way_not_the_end(n_classes):
    X, y = table(80_000, 6, n_classes)
    fit = fit_matrix(X, y, None, n_classes, l2=1.0, tol=1e-8, threads=2)
    theirs = peer(X, y, 1.0)
    assert fit.objective == pytest.approx(objective(X, y, theirs.coef_, theirs.intercept_, 1.0), rel=1e-9)
    rough = fit_matrix(X, y, None, n_classes, l2=1.0)
    assert rough.objective == pytest.approx(fit.objective, rel=1e-6)


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("intercept", [True, False])
def test_wide_sparse_rows_end_where_dense_ones_do(n_classes, intercept):
    rng = np.random.default_rng(1)
    X = sp.random_array((150, 1200), density=0.05, format="csr", rng=2)
    y = rng.integers(n_classes, size=150).astype(np.int32)
    scale = rng.normal(size=(1 if n_classes == 2 else n_classes, 1200))
    for s in (None, scale):
        wide = fit_matrix(X, y, None, n_classes, l2=0.5, tol=1e-8, scale=s, intercept=intercept, max_iter=500)
        dense = fit_matrix(
            X.toarray(), y, None, n_classes, l2=0.5, tol=1e-8, scale=s, intercept=intercept, max_iter=500
        )
        assert wide.converged
        assert wide.objective == pytest.approx(dense.objective, rel=1e-9)
        np.testing.assert_allclose(wide.weights, dense.weights, atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_a_start_changes_the_way_not_the_end(n_classes, kind):
    X, y = table(100, 150, n_classes)
    cold = fit_matrix(kind(X), y, None, n_classes, l2=1.0, tol=1e-9, max_iter=500)
    there = fit_matrix(kind(X), y, None, n_classes, l2=1.0, start=(cold.weights, cold.bias))
    assert there.n_iter <= 1
    rng = np.random.default_rng(2)
    away = (rng.normal(size=cold.weights.shape), rng.normal(size=cold.bias.shape))
    back = fit_matrix(kind(X), y, None, n_classes, l2=1.0, start=away, tol=1e-9, max_iter=500)
    np.testing.assert_allclose(back.weights, cold.weights, atol=1e-5)
    np.testing.assert_allclose(back.bias, cold.bias, atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_are_repeated_rows_and_no_weight_is_no_row(n_classes):
    X, y = table(200, 4, n_classes)
    times = np.random.default_rng(3).integers(0, 4, size=200)
    weighted = fit_matrix(X, y, times.astype(float), n_classes, l2=1.0, tol=1e-9)
    repeated = fit_matrix(np.repeat(X, times, axis=0), np.repeat(y, times), None, n_classes, l2=1.0, tol=1e-9)
    np.testing.assert_allclose(weighted.weights, repeated.weights, atol=1e-6)
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-10)


def test_a_scale_is_a_change_of_features():
    X, y = table(300, 5, 3)
    scale = np.random.default_rng(4).uniform(0.2, 3.0, size=5)
    np.testing.assert_allclose(
        fit_matrix(X, y, None, 3, l2=1.0, tol=1e-9, scale=scale).weights,
        fit_matrix(X * scale, y, None, 3, l2=1.0, tol=1e-9).weights,
        atol=1e-6,
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_parts_side_by_side_are_one_matrix(n_classes):
    X, y = table(400, 9, n_classes)
    whole = fit_matrix(X, y, None, n_classes, l2=2.0, tol=1e-9)
    parts = [Dense(X[:, :4], 2.0), Sparse(sp.csr_array(X[:, 4:]), 2.0)]
    split = fit_parts(parts, y, None, n_classes, tol=1e-9, max_iter=500)
    np.testing.assert_allclose(np.hstack(split.parts), whole.weights, atol=1e-5)
    assert split.objective == pytest.approx(whole.objective, rel=1e-9)


def test_shared_features_of_two_classes_count_by_their_difference():
    rng = np.random.default_rng(5)
    values, y = rng.normal(size=(300, 4, 2)), rng.integers(2, size=300).astype(np.int32)
    shared = fit_parts([Shared(values, 1.0)], y, None, 2, tol=1e-9)
    plain = fit_matrix(values[:, :, 1] - values[:, :, 0], y, None, 2, l2=1.0, tol=1e-9)
    assert shared.weights.shape == (4,)
    np.testing.assert_allclose(shared.weights, plain.weights[0], atol=1e-7)


def test_shared_features_of_many_classes_are_at_their_least():
    rng = np.random.default_rng(6)
    values, y = rng.normal(size=(300, 4, 3)), rng.integers(3, size=300).astype(np.int32)
    fit = fit_parts([Shared(values, 1.0)], y, None, 3, tol=1e-9, max_iter=500)

    def at(t):
        s = np.einsum("ijk,j->ik", values, t) + fit.bias
        return (logsumexp(s, axis=1) - s[np.arange(300), y]).sum() + 0.5 * (t**2).sum()

    assert at(fit.weights) == pytest.approx(fit.objective, rel=1e-12)
    for j in range(4):
        step = np.eye(4)[j] * 1e-3
        assert at(fit.weights) < min(at(fit.weights + step), at(fit.weights - step))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("scaled", [False, True], ids=["plain", "scaled"])
def test_columns_that_ask_for_no_weight_are_left_out_without_harm(n_classes, scaled, monkeypatch):
    rng = np.random.default_rng(7)
    X = sp.random_array((200, 1500), density=0.05, format="csr", rng=8)
    y = rng.integers(n_classes, size=200).astype(np.int32)
    M = 1 if n_classes == 2 else n_classes
    settings = {"l2": 0.1, "l1": 0.5, "tol": 1e-8, "scale": rng.normal(size=(M, 1500)) if scaled else None}
    some = fit_matrix(X, y, None, n_classes, **settings)
    monkeypatch.setattr("deciban.linear.solvers.logistic.MIN_SCREENED_COLUMNS", 10**9)
    every = fit_matrix(X, y, None, n_classes, **settings)
    assert some.converged
    assert some.objective == pytest.approx(every.objective, rel=1e-9)
    np.testing.assert_allclose(some.weights, every.weights, atol=1e-4)
    assert 0 < (some.weights != 0).any(axis=0).sum() < 750


@pytest.mark.parametrize("max_iter", [0, 1, 4])
@pytest.mark.parametrize("n_columns", [20, 1500], ids=["all columns", "screened"])
def test_no_more_steps_are_taken_than_allowed_and_too_few_are_owned_up_to(max_iter, n_columns):
    X = sp.random_array((200, n_columns), density=0.2, format="csr", rng=8)
    y = np.random.default_rng(7).integers(3, size=200).astype(np.int32)
    for l1, steps in ((0.0, 1), (0.01, 10)):
        fit = fit_matrix(X, y, None, 3, l2=0.01, l1=l1, tol=1e-9, max_iter=max_iter)
        assert fit.n_iter <= max(steps * max_iter, 1)
        assert not fit.converged
    assert np.isfinite(fit.weights).all()


@pytest.mark.parametrize("n_classes", [2, 4])
def test_wide_rows_end_within_the_tolerance_wherever_they_start(n_classes):
    X = sp.random_array((300, 2000), density=0.02, format="csr", rng=3)
    rng = np.random.default_rng(4)
    y, M = rng.integers(n_classes, size=300).astype(np.int32), 1 if n_classes == 2 else n_classes
    best = fit_matrix(X, y, None, n_classes, l2=0.1, tol=1e-9, max_iter=2000).objective
    for start in (None, (rng.normal(size=(M, 2000)), rng.normal(size=M))):
        assert fit_matrix(X, y, None, n_classes, l2=0.1, start=start).objective <= best * (1 + 1e-8)
