"""Trust in words: naive Bayes where it is 1, scikit-learn's optimum of the same features, nothing counted twice."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array, hstack
from scipy.special import logsumexp, softmax
from sklearn import linear_model

from deciban import EvidenceRegression, MultinomialNB, TextClassifier
from deciban.discriminative.evidence import Rows, Settings, balanced, evidence_of, trusted
from deciban.discriminative.span_search import search
from deciban.discriminative.spans import Span
from deciban.kernels import loaded

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
    said = np.log(n / n.sum(axis=1, keepdims=True)).T
    return said[:, 1:] - said[:, :1] if K == 2 else said - said.mean(axis=1, keepdims=True)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_trust_1_and_the_prior_for_a_bias_is_naive_bayes(K, kind):
    X, y = bags(K=K)
    model = MultinomialNB().fit(kind(X), y)
    said = X @ evidence_of(model._belief.solved.forms[0])
    if K == 2:
        said = np.column_stack([np.zeros(len(X)), said])
    np.testing.assert_allclose(
        softmax(said + np.log(np.bincount(y) / len(y)), axis=1), model.predict_proba(X), rtol=1e-11, atol=1e-15
    )


def test_the_evidence_of_words_is_that_of_the_naive_model_of_documents():
    texts = ["a good good film", "a bad film", "good acting", "bad bad acting"]
    model = TextClassifier().fit(texts, [1, 0, 1, 0])
    log_theta = model.feature_log_prob_
    np.testing.assert_allclose(evidence_of(model._belief.solved.forms[0])[:, 0], log_theta[1] - log_theta[0])


def fit_of(X, y, K, common, C=0.7, weight=None, **settings):
    E = naive_evidence(X, y, K)
    rows = Rows(csr_array(X), csr_array(X), y, weight, K)
    return E, trusted(rows, E, Settings(common=common, **{**TIGHT, **settings}), C)


@pytest.mark.parametrize("common", [None, 0.1])
@pytest.mark.parametrize("weighted", [False, True])
def test_two_classes_reach_scikit_learns_optimum_of_the_same_features(common, weighted):
    X, y = bags()
    w = np.random.default_rng(1).random(len(y)) + 0.5 if weighted else None
    E, found = fit_of(X, y, 2, common, weight=w)
    features = csr_array(X * E[:, 0])
    if common is not None:  # the common trust is a column of its own
        features = hstack([features, csr_array((X @ E) / np.sqrt(common * X.shape[1]))]).tocsr()
    peer = linear_model.LogisticRegression(C=0.7, tol=1e-10, max_iter=10_000).fit(features, y, w)
    t = peer.coef_[0]
    expected = t if common is None else t[:-1] + t[-1] / np.sqrt(common * X.shape[1])
    np.testing.assert_allclose(found.trust[:, 0], expected, atol=1e-5)
    np.testing.assert_allclose(found.fit.bias, peer.intercept_, atol=1e-5)


def plain_objective(theta, X, y, E, common, C):
    """F of trust (V×K), bias and common trust, and nothing but its definition."""
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
    np.testing.assert_allclose(found.trust, best.x[: E.size].reshape(E.shape) + best.x[-1], atol=1e-4)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("common", [None, 0.1])
def test_weights_of_words_and_sums_of_rows_find_the_same(K, common, monkeypatch):
    X, y = bags(n=80, V=20, K=K)
    _, found = fit_of(X, y, K, common)
    monkeypatch.setattr("deciban.discriminative.evidence.MOST_NUMBERS", 0)
    _, other = fit_of(X, y, K, common)
    assert other.fit.objective == pytest.approx(found.fit.objective, rel=1e-7)
    np.testing.assert_allclose(other.trust, found.trust, atol=2e-3)


def test_evidence_told_twice_is_counted_once():
    X, y = bags(n=200, V=12, seed=3)

    def ask(rows):
        return EvidenceRegression(length=False, common=None, C=100.0, **TIGHT).fit(rows, y)

    once, twice = ask(X), ask(np.hstack([X, X]))
    ten_times = ask(np.hstack([X] * 10))
    naive = [
        MultinomialNB().fit(rows, y).predict_log_proba(rows)
        for rows in ((X > 0) * 1.0, np.hstack([X > 0] * 10) * 1.0)
    ]
    surer = [np.abs(said[:, 1] - said[:, 0]).mean() for said in naive]
    assert surer[1] > 9 * surer[0]
    said = np.abs(once.decision_function(X)).mean()
    assert np.abs(twice.decision_function(np.hstack([X, X]))).mean() == pytest.approx(said, rel=0.02)
    assert np.abs(ten_times.decision_function(np.hstack([X] * 10))).mean() == pytest.approx(said, rel=0.05)


def random_span(n=50, V=400, M=3, seed=0):
    rng = np.random.default_rng(seed)
    X = csr_array(rng.poisson(0.02, (n, V)) * rng.random((n, V)))
    return Span(X, rng.normal(size=(V, M)), 0.01), rng.normal(size=(n, M))


def test_what_rows_share_is_the_product_of_their_features():
    span, a = random_span()
    X, e = span.X.toarray(), span.evidence
    together = X @ e
    expected = np.stack([X @ (e[:, k] ** 2 * (X.T @ a[:, k])) for k in range(3)], axis=1)
    expected += together * 0.01 * (together * a).sum()
    np.testing.assert_allclose(span.applied(a), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(X @ (span.trust(a) * e), expected, rtol=1e-12, atol=1e-12)
    w = np.arange(len(X)) + 1.0
    diagonal = [np.diag(X @ np.diag(e[:, k] ** 2) @ X.T) @ w / w.sum() for k in range(3)]
    assert span.loudness(w) == pytest.approx(np.mean(diagonal))


def test_the_kernel_does_what_the_definition_does_and_threads_change_nothing(monkeypatch):
    span, a = random_span(n=300, V=3000)
    monkeypatch.setattr(loaded, "_loaded", {})
    plain = span.applied(a)
    monkeypatch.setattr(loaded, "LARGE", 1)
    np.testing.assert_allclose(span.applied(a, 1), plain, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(span.applied(a, 1), span.applied(a, 3))


def test_a_search_that_starts_where_another_ended_has_nothing_to_do():
    X, y = bags(K=3)
    span = Span(csr_array(X), naive_evidence(X, y, 3), 0.1)
    first = search(span, y, None, 1.0, **TIGHT)
    again = search(span, y, None, 1.0, start=first, **TIGHT)
    assert first.converged
    assert again.n_iter <= 1
    assert again.objective == pytest.approx(first.objective, rel=1e-12)


def test_words_without_evidence_and_empty_rows_do_no_harm():
    X, y = np.zeros((6, 4)), np.array([0, 0, 0, 0, 1, 1], dtype=np.int32)
    _, found = fit_of(X, y, 2, 0.1)
    np.testing.assert_array_equal(found.trust, 0.0)
    assert found.fit.bias[0] == pytest.approx(np.log(2 / 4), abs=1e-6)


@pytest.mark.parametrize("K", [2, 4])
def test_balanced_biases_expect_as_much_of_every_class_as_there_is(K):
    rng = np.random.default_rng(2)
    y = (np.arange(100) % K).astype(np.int32)
    y[:30] = 0
    w, s = rng.random(100), rng.normal(size=(100, 1 if K == 2 else K)) * 3
    said = s + balanced(s, np.zeros(s.shape[1]), y, w)
    p = softmax(np.column_stack([np.zeros(100), said]) if K == 2 else said, axis=1)
    np.testing.assert_allclose(w @ p, np.bincount(y, weights=w), rtol=1e-8)
