"""Weight of evidence in decibans, and the sigmoid and softmax that turn it into probabilities (MATHS 1)."""

from math import log10

import numpy as np
import pytest

import deciban

# class 1 shows the first sign nine times in ten, class 0 once; the second sign is equally common in both
X = np.array([[1, 1]] * 5 + [[1, 0]] * 4 + [[0, 1]] + [[1, 1]] + [[0, 0]] * 4 + [[0, 1]] * 5)
Y = np.repeat([1, 0], 10)


def test_a_sign_nine_times_as_common_is_nine_and_a_half_decibans():
    model = deciban.BernoulliNB(alpha=0.0).fit(X, Y)
    row = model.explain([[1, 1]], classes=(1, 0))
    np.testing.assert_allclose(row.evidence, [[10 * log10(9), 0]], atol=1e-12)
    np.testing.assert_allclose(row.prior, 0, atol=1e-12)
    np.testing.assert_allclose(row.total, 10 * log10(9), rtol=1e-12)


def test_odds_of_ten_to_one_are_ten_decibans_and_the_prior_is_an_entry_of_its_own():
    model = deciban.BernoulliNB(alpha=0.0, class_prior=[1 / 11, 10 / 11]).fit(X, Y)
    row = model.explain([[0, 1]], classes=(1, 0))
    np.testing.assert_allclose(row.prior, 10, rtol=1e-12)
    np.testing.assert_allclose(row.evidence[0], [-10 * log10(9), 0], atol=1e-12)
    p0, p1 = model.predict_proba([[0, 1]])[0]
    np.testing.assert_allclose(row.total, 10 * log10(p1 / p0), rtol=1e-12)


def test_the_prior_is_weighed_once_and_not_once_per_feature():
    """The lecture's slip: the prior's log inside the sum over features."""
    wide = np.hstack([X] * 6)
    model = deciban.BernoulliNB(class_prior=[0.25, 0.75]).fit(wide, Y)
    np.testing.assert_allclose(model.explain(wide, classes=(1, 0)).prior, 10 * log10(3), rtol=1e-12)


@pytest.mark.parametrize("model", [deciban.BernoulliNB(), deciban.GaussianNB(), deciban.MultinomialNB()], ids=str)
def test_two_classes_are_the_sigmoid_of_the_log_odds(model):
    a = model.fit(X, Y).predict_joint_log_proba(X)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(a[:, 0] - a[:, 1])), rtol=1e-11)


@pytest.mark.parametrize("model", [deciban.BernoulliNB(), deciban.GaussianNB(), deciban.PoissonNB()], ids=str)
def test_many_classes_are_the_softmax_of_the_joint_scores(model):
    y = np.arange(len(X)) % 4
    a = model.fit(X, y).predict_joint_log_proba(X)
    softmax = np.exp(a - a.max(1, keepdims=True))
    softmax /= softmax.sum(1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), softmax, rtol=1e-11)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(softmax), rtol=1e-9, atol=1e-11)


def test_thousands_of_words_do_not_underflow():
    """Everything in logs: a product of 20 000 small probabilities still decides."""
    model = deciban.MultinomialNB().fit([[3, 1], [1, 3]], ["x", "y"])
    np.testing.assert_allclose(model.predict_proba([[20_000, 10_000]]), [[1, 0]])
    assert np.isfinite(model.predict_log_proba([[20_000, 10_000]])).all()
