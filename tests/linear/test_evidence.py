"""Evidence weights of words: naive Bayes where they are 1, the optimum of scikit-learn, nothing counted twice."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array, hstack
from scipy.special import logsumexp, softmax
from sklearn import linear_model

from deciban import EvidenceRegression, MultinomialNB, TextClassifier
from deciban.linear.evidence_weights_of_words import (
    EvidenceSettings,
    WordRows,
    balance_biases,
    extract_word_evidence,
    fit_word_weights,
)

TIGHT = {"tol": 1e-9, "max_iter": 2000}


def bags(n=60, V=25, K=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % K).astype(np.int32)
    X = rng.poisson(0.15 + 0.8 * rng.random((K, V))[y] ** 3).astype(float)
    X[0] = 0.0
    return X, y


def naive_evidence(X, y, K, alpha=1.0):
    """e from its definition, V×K, or V×1 for two classes."""
    n = np.stack([X[y == k].sum(axis=0) for k in range(K)]) + alpha
    scores = np.log(n / n.sum(axis=1, keepdims=True)).T
    return scores[:, 1:] - scores[:, :1] if K == 2 else scores - scores.mean(axis=1, keepdims=True)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_evidence_weight_1_and_the_prior_for_a_bias_is_naive_bayes(K, kind):
    X, y = bags(K=K)
    model = MultinomialNB().fit(kind(X), y)
    scores = X @ extract_word_evidence(model._scorer.solved.forms[0])
    if K == 2:
        scores = np.column_stack([np.zeros(len(X)), scores])
    np.testing.assert_allclose(
        softmax(scores + np.log(np.bincount(y) / len(y)), axis=1), model.predict_proba(X), rtol=1e-11, atol=1e-15
    )


def test_the_evidence_of_words_is_that_of_the_naive_model_of_documents():
    texts = ["a good good film", "a bad film", "good acting", "bad bad acting"]
    model = TextClassifier().fit(texts, [1, 0, 1, 0])
    log_theta = model.feature_log_prob_
    np.testing.assert_allclose(
        extract_word_evidence(model._scorer.solved.forms[0])[:, 0], log_theta[1] - log_theta[0]
    )


def fit_of(X, y, K, common, C=0.7, weight=None, **settings):
    E = naive_evidence(X, y, K)
    rows = WordRows(csr_array(X), csr_array(X), y, weight, K)
    return E, fit_word_weights(rows, E, EvidenceSettings(common=common, **{**TIGHT, **settings}), C)


@pytest.mark.parametrize("common", [None, 0.1])
@pytest.mark.parametrize("weighted", [False, True])
def test_two_classes_reach_scikit_learns_optimum_of_the_same_features(common, weighted):
    X, y = bags()
    w = np.random.default_rng(1).random(len(y)) + 0.5 if weighted else None
    E, found = fit_of(X, y, 2, common, weight=w)
    features = csr_array(X * E[:, 0])
    if common is not None:  # the common evidence weight is a column of its own
        features = hstack([features, csr_array((X @ E) / np.sqrt(common * X.shape[1]))]).tocsr()
    peer = linear_model.LogisticRegression(C=0.7, tol=1e-10, max_iter=10_000).fit(features, y, w)
    t = peer.coef_[0]
    expected = t if common is None else t[:-1] + t[-1] / np.sqrt(common * X.shape[1])
    np.testing.assert_allclose(found.weights[:, 0], expected, atol=1e-5)
    np.testing.assert_allclose(found.fit.bias, peer.intercept_, atol=1e-5)


def plain_objective(theta, X, y, E, common, C):
    """F of evidence weights (V×K), bias and common weight, and nothing but its definition."""
    V, K = E.shape
    t, b, shared = theta[: V * K].reshape(V, K), theta[V * K : -1], theta[-1]
    s = X @ ((t + shared) * E) + b
    loss = (logsumexp(s, axis=1) - s[np.arange(len(y)), y]).sum()
    return loss + (t**2).sum() / (2 * C) + common * V * shared**2 / (2 * C)


def test_more_classes_reach_the_optimum_of_the_definition():
    X, y = bags(n=40, V=6, K=3)
    E, found = fit_of(X, y, 3, 0.3)
    start = np.zeros(E.size + 4)
    best = minimize(plain_objective, start, args=(X, y, E, 0.3, 0.7), options={"gtol": 1e-7, "maxiter": 5000})
    assert found.fit.objective == pytest.approx(best.fun, rel=1e-8)
    assert found.common == pytest.approx(best.x[-1], abs=1e-4)
    np.testing.assert_allclose(found.weights, best.x[: E.size].reshape(E.shape) + best.x[-1], atol=1e-4)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("common", [None, 0.1])
def test_weights_of_words_and_sums_of_rows_find_the_same(K, common, monkeypatch):
    X, y = bags(n=60, V=150, K=K)
    _, found = fit_of(X, y, K, common)
    monkeypatch.setattr("deciban.linear.solvers.dual_lbfgs.is_applicable", lambda *arguments: False)
    _, other = fit_of(X, y, K, common)
    assert other.fit.objective == pytest.approx(found.fit.objective, rel=1e-8)
    np.testing.assert_allclose(other.weights, found.weights, atol=2e-3)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("heft", [1e-200, 1e200, 1e299])
def test_rows_that_weigh_more_than_a_square_can_hold_are_searched_as_others_are(K, heft):
    X, y = bags(n=60, V=150, K=K)
    w = np.random.default_rng(1).random(len(y)) + 0.5
    _, expected = fit_of(X, y, K, 0.1, weight=w / w.sum(), C=0.7)
    _, found = fit_of(X, y, K, 0.1, weight=w / w.sum() * heft, C=0.7 / heft)
    np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-6, atol=1e-9)


def test_repeated_evidence_is_counted_once():
    X, y = bags(n=200, V=12, seed=3)

    def ask(rows):
        return EvidenceRegression(length=False, common=None, C=100.0, **TIGHT).fit(rows, y)

    once, twice = ask(X), ask(np.hstack([X, X]))
    ten_times = ask(np.hstack([X] * 10))
    naive = [
        MultinomialNB().fit(rows, y).predict_log_proba(rows)
        for rows in ((X > 0) * 1.0, np.hstack([X > 0] * 10) * 1.0)
    ]
    surer = [np.abs(scores[:, 1] - scores[:, 0]).mean() for scores in naive]
    assert surer[1] > 9 * surer[0]
    size = np.abs(once.decision_function(X)).mean()
    assert np.abs(twice.decision_function(np.hstack([X, X]))).mean() == pytest.approx(size, rel=0.02)
    assert np.abs(ten_times.decision_function(np.hstack([X] * 10))).mean() == pytest.approx(size, rel=0.05)


@pytest.mark.parametrize("K", [2, 3])
def test_a_search_that_starts_where_another_ended_has_nothing_to_do(K):
    X, y = bags(n=40, V=300, K=K)
    E, first = fit_of(X, y, K, 0.1)
    rows = WordRows(csr_array(X), csr_array(X), y, None, K)
    again = fit_word_weights(rows, E, EvidenceSettings(common=0.1, **TIGHT), 0.7, first)
    assert first.fit.converged
    assert again.fit.n_iter <= 2
    assert again.fit.objective == pytest.approx(first.fit.objective, rel=1e-12)
    np.testing.assert_allclose(again.weights, first.weights, atol=1e-7)


def test_words_without_evidence_and_empty_rows_do_no_harm():
    X, y = np.zeros((6, 4)), np.array([0, 0, 0, 0, 1, 1], dtype=np.int32)
    _, found = fit_of(X, y, 2, 0.1)
    np.testing.assert_array_equal(found.weights, 0.0)
    assert found.fit.bias[0] == pytest.approx(np.log(2 / 4), abs=1e-6)


@pytest.mark.parametrize("K", [2, 4])
def test_balanced_biases_expect_as_much_of_every_class_as_there_is(K):
    rng = np.random.default_rng(2)
    y = (np.arange(100) % K).astype(np.int32)
    y[:30] = 0
    w, s = rng.random(100), rng.normal(size=(100, 1 if K == 2 else K)) * 3
    scores = s + balance_biases(s, np.zeros(s.shape[1]), y, w)
    p = softmax(np.column_stack([np.zeros(100), scores]) if K == 2 else scores, axis=1)
    np.testing.assert_allclose(w @ p, np.bincount(y, weights=w), rtol=1e-8)
