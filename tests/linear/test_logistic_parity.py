"""LogisticRegression finds what scikit-learn's finds: the same objective, the same weights, the same answers."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.preprocessing import StandardScaler

from deciban import LogisticRegression

TIGHT = {"tol": 1e-10, "max_iter": 20_000}


def two_classes():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X)[::2, :8], np.array(["benign", "malignant"])[y[::2]]


def three_classes():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X)[:, :6], y


DATA = {"two": two_classes(), "three": three_classes()}
every_data = pytest.mark.parametrize("data", DATA)


def objective(X, y, classes, coef, intercept, C, r, weight):
    """Σ w ℓ + (1−r)/2C Σ w² + r/C Σ |w|, spelt out."""
    s = X @ coef.T + intercept
    if len(classes) == 2:
        s = np.column_stack([np.zeros(len(s)), s])
    top = s.max(axis=1, keepdims=True)
    log_p = s - top - np.log(np.exp(s - top).sum(axis=1, keepdims=True))
    loss = -(weight * log_p[np.arange(len(y)), np.searchsorted(classes, y)]).sum()
    return loss + (1 - r) / (2 * C) * (coef**2).sum() + r / C * np.abs(coef).sum()


def theirs(C, r, **settings):
    solver = "lbfgs" if r == 0 else "saga"
    return linear_model.LogisticRegression(C=C, l1_ratio=r, solver=solver, **{**TIGHT, **settings})


def fit_quietly(model, *data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(*data)


@every_data
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
def test_the_weights_held_back_by_squares_are_scikit_learns(data, C, fit_intercept):
    X, y = DATA[data]
    ours = LogisticRegression(C=C, fit_intercept=fit_intercept, **TIGHT).fit(X, y)
    peer = fit_quietly(theirs(C, 0.0, fit_intercept=fit_intercept), X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-5)
    if data == "two":
        np.testing.assert_allclose(ours.intercept_, peer.intercept_, atol=1e-5)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(ours.classes_, peer.classes_)
    assert ours.coef_.shape == peer.coef_.shape
    assert ours.intercept_.shape == peer.intercept_.shape


@every_data
@pytest.mark.parametrize("r", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("C", [0.05, 1.0])
def test_the_objective_is_no_worse_than_scikit_learns_for_every_penalty(data, r, C):
    X, y = DATA[data]
    ours = LogisticRegression(C=C, l1_ratio=r, **TIGHT).fit(X, y)
    peer = fit_quietly(theirs(C, r), X, y)
    w = np.ones(len(y))
    reached, known = (objective(X, y, ours.classes_, m.coef_, m.intercept_, C, r, w) for m in (ours, peer))
    assert reached <= known * (1 + 1e-8)
    assert known <= reached * (1 + 1e-5)  # saga stops earlier
    np.testing.assert_allclose(ours.objective_, reached, rtol=1e-9)
    np.testing.assert_allclose(ours.loss_, objective(X, y, ours.classes_, ours.coef_, ours.intercept_, 1e300, 0, w))


@every_data
def test_a_penalty_on_sizes_leaves_exact_zeros_where_scikit_learn_has_them(data):
    X, y = DATA[data]
    ours = LogisticRegression(C=0.05, l1_ratio=1.0, **TIGHT).fit(X, y)
    peer = fit_quietly(theirs(0.05, 1.0), X, y)
    assert (ours.coef_ == 0).any()
    np.testing.assert_array_equal(ours.coef_ == 0, np.abs(peer.coef_) < 1e-7)


@every_data
@pytest.mark.parametrize("class_weight", ["balanced", "given"])
@pytest.mark.parametrize("weighted", [False, True])
def test_weights_of_classes_and_rows_multiply_as_in_scikit_learn(data, class_weight, weighted):
    X, y = DATA[data]
    given = dict(zip(np.unique(y).tolist(), [0.5, 3.0, 1.0])) if class_weight == "given" else class_weight
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float) if weighted else None
    ours = LogisticRegression(class_weight=given, **TIGHT).fit(X, y, weight)
    peer = fit_quietly(theirs(1.0, 0.0, class_weight=given), X, y, weight)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-6)


@every_data
def test_a_weight_of_two_is_the_row_twice_and_of_none_no_row(data):
    X, y = DATA[data]
    times = np.arange(len(y)) % 3
    ours = LogisticRegression(**TIGHT).fit(X, y, times)
    repeated = LogisticRegression(**TIGHT).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(ours.coef_, repeated.coef_, atol=1e-7)


@every_data
def test_sparse_rows_and_single_precision_give_the_same_weights(data):
    X, y = DATA[data]
    X = np.where(np.abs(X) < 0.5, 0.0, X).astype(np.float32)
    exact = LogisticRegression(**TIGHT).fit(X.astype(float), y)
    for kind in (X, sparse.csr_matrix(X), sparse.csr_array(X.astype(float)), sparse.coo_matrix(X)):
        model = LogisticRegression(**TIGHT).fit(kind, y)
        np.testing.assert_allclose(model.coef_, exact.coef_, atol=1e-5)
        np.testing.assert_allclose(model.predict_proba(kind), exact.predict_proba(X.astype(float)), atol=1e-5)


@every_data
def test_the_decision_function_and_the_linear_form_are_the_weights_themselves(data):
    X, y = DATA[data]
    model = LogisticRegression().fit(X, y)
    score = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), score[:, 0] if data == "two" else score, atol=1e-10)
    line = model.linear_form()
    if data == "two":
        np.testing.assert_allclose(line.w, model.coef_[0])
        np.testing.assert_allclose(line.b, model.intercept_[0])
    else:
        np.testing.assert_allclose(line.weights, model.coef_)
        np.testing.assert_allclose(line.bias, model.intercept_)


OLDER = {"l1": 1.0, "l2": 0.0, "elasticnet": 0.3}


@pytest.mark.parametrize("penalty", OLDER)
def test_the_older_names_of_penalties_mean_what_they_meant(penalty):
    X, y = DATA["two"]
    r = OLDER[penalty]
    named = LogisticRegression(penalty, l1_ratio=r, **TIGHT).fit(X, y)
    np.testing.assert_array_equal(named.coef_, LogisticRegression(l1_ratio=r, **TIGHT).fit(X, y).coef_)


def test_no_penalty_is_an_infinite_C():
    X, y = DATA["two"]
    named = LogisticRegression(None, **TIGHT).fit(X[:, :3], y)
    assert np.inf == named.C_
    peer = fit_quietly(theirs(np.inf, 0.0), X[:, :3], y)
    np.testing.assert_allclose(named.coef_, peer.coef_, rtol=1e-4)


@pytest.mark.parametrize("solver", ["lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"])
def test_the_solver_named_changes_nothing(solver):
    X, y = DATA["three"]
    model = LogisticRegression(solver=solver, random_state=1, dual=True, intercept_scaling=7, verbose=1).fit(X, y)
    np.testing.assert_array_equal(model.coef_, LogisticRegression().fit(X, y).coef_)


@pytest.mark.parametrize("start", ["zero", "bayes"])
@pytest.mark.parametrize("d", [300, 3000])
def test_many_sparse_counts_reach_the_objective_of_the_same_counts_dense(d, start):
    rng = np.random.default_rng(0)
    y = np.arange(300) % 5
    X = rng.poisson(rng.gamma(0.05, 1.0, (5, d))[y]).astype(float)
    stored = LogisticRegression(start=start, max_iter=1000).fit(sparse.csr_matrix(X), y)
    dense = LogisticRegression(max_iter=1000).fit(X, y)
    np.testing.assert_allclose(stored.objective_, dense.objective_, rtol=1e-6)
