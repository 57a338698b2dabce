"""Explanations: decibans that sum to the posterior log-odds (MATHS 1, 3.4)."""

import numpy as np
import pytest
from scipy import sparse

import deciban
from deciban.errors import UndefinedError
from tests.estimators.examples import CLASSES, EXAMPLES, GENERATIVE, IDS, LINEAR

every_estimator = pytest.mark.parametrize("example", EXAMPLES, **IDS)
DECIBAN = 10 / np.log(10)


def to_dense(evidence):
    return evidence.toarray() if sparse.issparse(evidence) else np.asarray(evidence)


def sum_entries(explanation, n):
    """Return the sum of the evidence of features, prior and named extras."""
    extras = sum((np.asarray(v) for v in explanation.extras.values()), np.zeros(n))
    return to_dense(explanation.evidence).sum(axis=1) + np.broadcast_to(explanation.prior, n) + extras


def rank_classes(model, X):
    """Return the labels of the winner and the runner-up, and the difference of their scores in decibans."""
    a = model.predict_joint_log_proba(X)
    order = np.argsort(-a, axis=1, kind="stable")
    top, next_ = (np.take_along_axis(a, order[:, [i]], axis=1)[:, 0] for i in (0, 1))
    return model.classes_[order[:, 0]], model.classes_[order[:, 1]], DECIBAN * (top - next_)


@every_estimator
def test_the_winner_is_weighed_against_the_runner_up_and_the_entries_sum_to_the_total(example):
    X, _ = example.data()
    model = example.make_fitted()
    explanation = model.explain(X)
    winner, runner_up, lead = rank_classes(model, X)
    np.testing.assert_array_equal(explanation.winner, winner)
    np.testing.assert_array_equal(explanation.winner, model.predict(X))
    np.testing.assert_array_equal(explanation.runner_up, runner_up)
    np.testing.assert_allclose(explanation.total, lead, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sum_entries(explanation, 60), lead, rtol=1e-9, atol=1e-8)
    assert explanation.evidence.shape == X.shape


@every_estimator
@pytest.mark.parametrize(("k", "rival"), [("ant", "cat"), ("cat", "ant"), ("bee", "ant")])
def test_any_two_classes_may_be_weighed_and_give_the_posterior_log_odds(example, k, rival):
    X, _ = example.data()
    model = example.make_fitted()
    a = model.predict_log_proba(X)
    i, j = np.searchsorted(CLASSES, [k, rival])
    odds = DECIBAN * (a[:, i] - a[:, j])
    explanation = model.explain(X, classes=(k, rival))
    np.testing.assert_allclose(explanation.total, odds, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sum_entries(explanation, 60), odds, rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("example", GENERATIVE, **IDS)
def test_the_prior_is_ten_times_the_log_ratio_of_the_class_priors(example):
    X, _ = example.data()
    model = example.make_fitted().with_priors([0.7, 0.2, 0.1])
    prior = model.explain(X, classes=("ant", "cat")).prior
    np.testing.assert_allclose(prior, 10 * np.log10(7), rtol=1e-9)


def test_the_complement_weighs_no_prior():
    example = next(f for f in EXAMPLES if not f.likelihood)
    explanation = example.make_fitted().explain(example.data()[0])
    assert not np.any(explanation.prior)


@every_estimator
def test_an_explanation_is_indexed_by_row(example):
    X, _ = example.data()
    explanation = example.make_fitted().explain(X)
    row = explanation[7]
    np.testing.assert_array_equal(row.winner, explanation.winner[7])
    np.testing.assert_array_equal(row.runner_up, explanation.runner_up[7])
    np.testing.assert_allclose(np.ravel(to_dense(row.evidence)), to_dense(explanation.evidence)[7])
    np.testing.assert_allclose(row.total, explanation.total[7])


@every_estimator
def test_a_row_is_explained_alone_as_in_a_batch(example):
    X, _ = example.data()
    model = example.make_fitted()
    together, alone = model.explain(X), model.explain(X[11:12])
    np.testing.assert_allclose(to_dense(alone.evidence)[0], to_dense(together.evidence)[11], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", ["MultinomialNB", "BernoulliNB", "PoissonNB"])
def test_evidence_of_sparse_rows_is_that_of_dense_rows(name):
    example = next(f for f in EXAMPLES if f.name == name)
    X, _ = example.data()
    model = example.make_fitted()
    wide = model.explain(sparse.csr_matrix(X), classes=("ant", "bee"))
    full = model.explain(X, classes=("ant", "bee"))
    np.testing.assert_allclose(sum_entries(wide, 60), sum_entries(full, 60), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(wide.total, full.total, rtol=1e-9, atol=1e-9)


def test_a_shared_covariance_weighs_the_distance_from_the_midpoint():
    """Evidence of feature j: w_j(x_j − m_j), m the midpoint of the two means."""
    example = next(f for f in EXAMPLES if f.name == "GaussianBayes-tied")
    X, y = example.data()
    model = example.make_fitted()
    form = model.linear_form()
    w = form.weights[0] - form.weights[1]
    midpoint = (X[y == "ant"].mean(0) + X[y == "bee"].mean(0)) / 2
    evidence = model.explain(X, classes=("ant", "bee")).evidence
    np.testing.assert_allclose(evidence, DECIBAN * w * (X - midpoint), rtol=1e-8, atol=1e-8)


def test_a_full_covariance_shares_cross_terms_and_names_the_shape():
    """Own square plus half of each cross term, and ½ ln of the determinant ratio as the entry `shape`."""
    example = next(f for f in EXAMPLES if f.name == "GaussianBayes-full")
    X, y = example.data()

    def terms(k):
        residual = X - X[y == k].mean(0)
        covariance = np.cov(X[y == k].T, bias=True)
        return -0.5 * residual * (residual @ np.linalg.inv(covariance)), -0.5 * np.linalg.slogdet(covariance)[1]

    explanation = example.make_fitted().explain(X, classes=("ant", "bee"))
    (own, shape), (other, other_shape) = terms("ant"), terms("bee")
    np.testing.assert_allclose(explanation.evidence, DECIBAN * (own - other), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(explanation.extras["shape"], DECIBAN * (shape - other_shape), rtol=1e-8)


@pytest.mark.parametrize("example", LINEAR, **IDS)
def test_a_linear_form_is_the_score_up_to_a_term_all_classes_share(example):
    X, _ = example.data()
    model = example.make_fitted()
    form = model.linear_form()
    assert form.weights.shape == (3, 4)
    assert form.bias.shape == (3,)
    gap = X @ np.asarray(form.weights).T + form.bias - model.predict_joint_log_proba(X)
    np.testing.assert_allclose(gap - gap[:, :1], 0, atol=1e-8)


@pytest.mark.parametrize("example", LINEAR, **IDS)
def test_w_and_b_of_two_classes_are_class_one_minus_class_zero(example):
    X, y = example.data()
    two = y != "cat"
    model = example.make().fit(X[two], y[two])
    form = model.linear_form()
    a = model.predict_joint_log_proba(X)
    np.testing.assert_allclose(X @ form.w + form.b, a[:, 1] - a[:, 0], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("example", [f for f in EXAMPLES if f.form != "linear"], **IDS)
def test_models_that_are_not_linear_refuse_a_linear_form(example):
    with pytest.raises(UndefinedError):
        example.make_fitted().linear_form()


def test_evidence_that_excludes_a_class_is_infinite():
    model = deciban.BernoulliNB(alpha=0.0).fit([[1, 0], [1, 1], [0, 1], [0, 0]], ["ant", "ant", "bee", "bee"])
    explanation = model.explain([[1, 1]])
    assert explanation.winner[0] == "ant"
    assert to_dense(explanation.evidence)[0].tolist() == [np.inf, 0]
    assert explanation.total[0] == np.inf
    assert "∞" in str(explanation[0])


def test_where_both_classes_are_excluded_the_total_is_undefined_and_says_why():
    rows, labels = [[1, 0], [1, 0], [0, 1], [0, 1]], ["ant", "ant", "bee", "bee"]
    model = deciban.BernoulliNB(alpha=0.0).fit(rows, labels)
    explanation = model.explain([[1, 1]], classes=("ant", "bee"))
    assert np.isnan(explanation.total[0])
    assert sorted(to_dense(explanation.evidence)[0]) == [-np.inf, np.inf]
    assert "undefined" in str(explanation[0])


@pytest.mark.parametrize("classes", [("ant", "wasp"), ("ant",), ("ant", "bee", "cat")], ids=str)
def test_classes_to_weigh_must_be_two_known_ones(classes):
    with pytest.raises(ValueError):
        EXAMPLES[0].make_fitted().explain(EXAMPLES[0].data()[0], classes=classes)
