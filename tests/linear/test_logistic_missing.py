"""A missing cell counts for its column's mean: it is no evidence, when learning and when asked about."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.impute import SimpleImputer

from deciban import LogisticRegression
from deciban.errors import InputError
from deciban.linear.numeric_regression import compute_column_means

DECIBAN = 10 / np.log(10)


def with_missing(seed=0, n=200, d=5, K=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    X = rng.normal(size=(n, d)) + np.array([[3.0, 0, 1, 50, 0]])[:, :d] + 0.7 * y[:, None]
    X[rng.random((n, d)) < 0.2] = np.nan
    return X, y


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_learning_with_holes_is_learning_with_the_means_of_what_is_there(K, weighted):
    X, y = with_missing(K=K)
    w = np.random.default_rng(1).integers(0, 3, len(y)).astype(float) if weighted else np.ones(len(y))
    known = ~np.isnan(X)
    means = (np.where(known, X, 0.0) * w[:, None]).sum(axis=0) / (known * w[:, None]).sum(axis=0)
    full = np.where(known, X, means)
    ours = LogisticRegression(tol=1e-9, max_iter=1000).fit(X, y, w if weighted else None)
    plain = LogisticRegression(tol=1e-9, max_iter=1000).fit(full, y, w if weighted else None)
    np.testing.assert_allclose(ours.coef_, plain.coef_, atol=1e-7)
    np.testing.assert_allclose(ours.predict_proba(X), plain.predict_proba(full), atol=1e-7)


def test_it_is_scikit_learns_mean_imputation_before_logistic_regression():
    from sklearn import linear_model
    from sklearn.pipeline import make_pipeline

    X, y = with_missing()
    peer = make_pipeline(SimpleImputer(), linear_model.LogisticRegression(tol=1e-9, max_iter=1000)).fit(X, y)
    ours = LogisticRegression(tol=1e-9, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-5)


def test_a_missing_cell_is_no_evidence_and_an_empty_row_leaves_the_bias():
    X, y = with_missing()
    model = LogisticRegression().fit(X, y)
    explanation = model.explain(X, classes=(2, 0))
    assert (explanation.evidence[np.isnan(X)] == 0).all()
    assert (explanation.evidence[~np.isnan(X)] != 0).all()
    empty = model.explain(np.full((1, 5), np.nan), classes=(2, 0))
    means = np.nanmean(X, axis=0)
    at_means = model.intercept_ + model.coef_ @ means
    np.testing.assert_allclose(empty.total, DECIBAN * (at_means[2] - at_means[0]), rtol=1e-9)


@pytest.mark.parametrize("K", [2, 3])
def test_evidence_is_relative_to_the_mean_and_sums_to_the_log_odds(K):
    X, y = with_missing(K=K)
    model = LogisticRegression().fit(X, y)
    explanation = model.explain(X, classes=(1, 0))
    log_p = model.predict_log_proba(X)
    extras = sum(explanation.extras.values())
    odds = DECIBAN * (log_p[:, 1] - log_p[:, 0])
    np.testing.assert_allclose(explanation.evidence.sum(axis=1) + explanation.prior + extras, odds, atol=1e-8)
    np.testing.assert_allclose(explanation.total, odds, atol=1e-8)
    weights = model.coef_[0] if K == 2 else model.coef_[1] - model.coef_[0]
    piece = DECIBAN * weights * (X - np.nanmean(X, axis=0))
    np.testing.assert_allclose(explanation.evidence, np.nan_to_num(piece), atol=1e-8)


def test_a_hole_in_a_sparse_matrix_is_no_zero():
    X, y = with_missing()
    stored = sparse.csr_matrix(X)
    dense, ours = (LogisticRegression(tol=1e-9, max_iter=1000).fit(rows, y) for rows in (X, stored))
    np.testing.assert_allclose(ours.coef_, dense.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(stored), dense.predict_proba(X), atol=1e-6)
    assert np.isnan(stored.data).any()  # what was given stays as it is


def test_a_row_with_holes_is_answered_by_a_model_that_met_none():
    X, y = with_missing()
    full = np.nan_to_num(X)
    model = LogisticRegression().fit(full, y)
    means = full.mean(axis=0)
    np.testing.assert_allclose(
        model.predict_proba(X), model.predict_proba(np.where(np.isnan(X), means, X)), atol=1e-9
    )


def test_a_column_of_holes_has_no_weight():
    X, y = with_missing()
    X[:, 1] = np.nan
    model = LogisticRegression().fit(X, y)
    np.testing.assert_array_equal(model.coef_[:, 1], 0.0)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_missing_cells_are_refused_where_they_are_errors(kind):
    X, y = with_missing()
    strict = LogisticRegression(missing="error")
    with pytest.raises(InputError, match="contains NaN"):
        strict.fit(kind(X), y)
    assert not hasattr(strict, "classes_")
    strict.fit(kind(np.nan_to_num(X)), y)
    with pytest.raises(InputError, match="contains NaN"):
        strict.predict(kind(X))


def test_many_sparse_numbers_below_zero_have_a_mean():
    values = np.random.default_rng(0).normal(size=(3000, 400))
    assert np.allclose(compute_column_means(sparse.csr_array(values), None, True, 1), values.mean(axis=0), atol=1e-12)


def test_many_sparse_numbers_with_holes_have_a_mean():
    values = np.random.default_rng(0).normal(size=(3000, 400))
    values[::7, 3] = np.nan
    means = compute_column_means(sparse.csr_array(values), None, True, 1)
    assert np.allclose(means, np.nanmean(values, axis=0), atol=1e-12)
