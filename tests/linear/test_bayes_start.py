"""start="bayes": the search begins at the weights of naive Bayes and ends where any other search ends."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import log_softmax

from deciban import GaussianBayes, LogisticRegression, MultinomialNB
from deciban.linear.numeric_regression import NumberRows, find_bayes_start

TIGHT = {"tol": 1e-9, "max_iter": 5000}


def gaussian_rows(n=400, d=6, K=3, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, K, n).astype(np.int32)
    return rng.normal(size=(n, d)) + spread * rng.normal(size=(K, d))[codes], codes


def words(n=300, d=40, K=3, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, K, n).astype(np.int32)
    return sparse.csr_matrix(rng.poisson(rng.gamma(0.3, 2.0, (K, d))[codes]).astype(float)), codes


def objective(X, codes, weights, bias, l2):
    """Σ −ln p(y|x) + ½ l2 Σ w², written out with the score of every class."""
    scores = np.asarray(X @ weights.T) + bias
    scores = np.column_stack([np.zeros(len(codes)), scores]) if scores.shape[1] == 1 else scores
    log_p = log_softmax(scores, axis=1)[np.arange(len(codes)), codes]
    return -log_p.sum() + 0.5 * l2 * (weights**2).sum()


@pytest.mark.parametrize("draw", [gaussian_rows, words])
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("r", [0.0, 0.5])
def test_every_start_ends_in_the_same_place(draw, K, r):
    X, y = draw(K=K)
    zero, bayes = (LogisticRegression(start=start, l1_ratio=r, **TIGHT).fit(X, y) for start in ("zero", "bayes"))
    np.testing.assert_allclose(zero.objective_, bayes.objective_, rtol=1e-9)
    np.testing.assert_allclose(zero.coef_, bayes.coef_, atol=1e-3)


@pytest.mark.parametrize("K", [2, 3])
def test_the_start_lies_in_the_direction_of_the_naive_weights(K):
    X, codes = gaussian_rows(K=K)
    weights, _ = find_bayes_start(NumberRows(X, codes, None, K), 1.0, 0.0, True)
    naive = GaussianBayes(covariance="tied_diagonal").fit(X, codes).linear_form().weights
    naive = naive[1:] - naive[:1] if K == 2 else naive - naive.mean(axis=0)
    ratio = weights / naive
    np.testing.assert_allclose(ratio, ratio[0, 0])
    assert 0.3 < ratio[0, 0] < 1.5  # these features are independent, so that the naive length is about right


@pytest.mark.parametrize("K", [2, 3])
def test_words_start_from_the_multinomial(K):
    X, codes = words(K=K)
    weights, _ = find_bayes_start(NumberRows(X, codes, None, K), 1.0, 0.0, True)
    naive = MultinomialNB().fit(X, codes).feature_log_prob_
    naive = naive[1:] - naive[:1] if K == 2 else naive - naive.mean(axis=0)
    ratio = weights / naive
    np.testing.assert_allclose(ratio, ratio[0, 0])


@pytest.mark.parametrize("copies", [1, 20])
@pytest.mark.parametrize("l2", [0.0, 1.0, 1000.0])
def test_the_start_is_never_worse_than_none_however_often_evidence_repeats(copies, l2):
    X, codes = gaussian_rows(K=3, spread=2.0)
    X = np.hstack([X] * copies)
    weights, bias = find_bayes_start(NumberRows(X, codes, None, 3), l2, 0.0, True)
    log_prior = np.log(np.bincount(codes) / len(codes))
    nothing = objective(X, codes, np.zeros_like(weights), log_prior, l2)
    assert objective(X, codes, weights, bias, l2) <= nothing * (1 + 1e-3)


def test_weights_of_rows_count_at_the_start():
    X, codes = gaussian_rows(K=2)
    times = np.arange(len(codes)) % 3
    weighted = find_bayes_start(NumberRows(X, codes, times.astype(float), 2), 1.0, 0.0, True)
    repeated = np.repeat(X, times, axis=0), np.repeat(codes, times)
    again = find_bayes_start(NumberRows(*repeated, None, 2), 1.0, 0.0, True)
    np.testing.assert_allclose(weighted[0], again[0], rtol=1e-2)


def test_a_column_that_never_varies_within_a_class_does_not_spoil_the_start():
    codes = np.repeat(np.arange(3, dtype=np.int32), 20)
    X = np.column_stack([codes * 10.0 + np.linspace(0, 1, 60), np.cos(codes)])
    weights, bias = find_bayes_start(NumberRows(X, codes, None, 3), 1.0, 0.0, True)
    nothing = objective(X, codes, np.zeros_like(weights), np.zeros(3), 1.0)
    assert objective(X, codes, weights, bias, 1.0) < 0.7 * nothing


def test_values_too_large_to_have_squares_start_from_zero():
    X, codes = gaussian_rows(K=2)
    assert find_bayes_start(NumberRows(X * 1e200, codes, None, 2), 1.0, 0.0, True) is None


def test_without_an_intercept_there_is_none_at_the_start():
    X, codes = gaussian_rows(K=3)
    _, bias = find_bayes_start(NumberRows(X, codes, None, 3), 1.0, 0.0, False)
    np.testing.assert_array_equal(bias, 0.0)


def test_negative_sparse_values_are_numbers_and_not_words():
    X, codes = gaussian_rows(K=2)
    dense, stored = (
        find_bayes_start(NumberRows(rows, codes, None, 2), 1.0, 0.0, True) for rows in (X, sparse.csr_matrix(X))
    )
    np.testing.assert_allclose(stored[0], dense[0], rtol=1e-6)
