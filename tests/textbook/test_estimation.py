"""Maximum likelihood, Laplace, imagined examples, zero counts (MATHS 2 and 3.1), against fractions."""

import warnings
from fractions import Fraction as Q
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deciban
from deciban.errors import DecibanWarning
from tests import oracle

CLASSES = ["a", "b"]


def floats(fractions):
    return np.array(fractions, dtype=object).astype(float)


def with_nan(X):
    return np.array([[np.nan if v is None else v for v in row] for row in X], dtype=float)


@pytest.mark.parametrize(("alpha", "theta"), [(0, Q(3, 5)), (1, Q(4, 7))])
def test_a_coin_with_three_heads_in_five(alpha, theta):
    """Lecture: 3/5 by maximum likelihood, 4/7 by Laplace."""
    coin, y = [[1], [1], [1], [0], [0]], ["c"] * 5
    bernoulli = deciban.BernoulliNB(alpha=alpha).fit(coin, y)
    categorical = deciban.CategoricalNB(alpha=alpha).fit(coin, y)
    tosses = deciban.MultinomialNB(alpha=alpha).fit([[3, 2]], ["c"])
    heads = [
        bernoulli.feature_log_prob_[0, 0],
        categorical.feature_log_prob_[0][0, 1],
        tosses.feature_log_prob_[0, 0],
    ]
    np.testing.assert_allclose(np.exp(heads), float(theta), rtol=1e-14)


@st.composite
def tables(draw, top, missing):
    """A small table of codes 0…top, both classes present, integer weights, and perhaps missing cells."""
    cell = st.integers(0, top) | st.none() if missing else st.integers(0, top)
    d = draw(st.integers(1, 3))
    X = draw(st.lists(st.lists(cell, min_size=d, max_size=d), min_size=2, max_size=7))
    y = CLASSES + draw(st.lists(st.sampled_from(CLASSES), min_size=len(X) - 2, max_size=len(X) - 2))
    w = draw(st.lists(st.integers(1, 3), min_size=len(X), max_size=len(X)))
    return X, y, w


@settings(deadline=None, max_examples=40)
@given(tables(top=1, missing=True), st.integers(1, 3))
def test_bernoulli_with_weights_and_missing_cells_is_the_exact_one(table, alpha):
    X, y, w = table
    model = deciban.BernoulliNB(alpha=alpha).fit(with_nan(X), y, sample_weight=w)
    theta, pi = oracle.bernoulli(X, y, CLASSES, w, alpha), oracle.class_prior(y, CLASSES, w)
    posterior = [oracle.posterior(pi, [oracle.p_bernoulli(t, x) for t in theta]) for x in X]
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), floats(theta), rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(with_nan(X)), floats(posterior), rtol=1e-11)


@settings(deadline=None, max_examples=40)
@given(tables(top=2, missing=True), st.integers(1, 3))
def test_categorical_with_weights_and_missing_cells_is_the_exact_one(table, alpha):
    X, y, w = table
    V = [3] * len(X[0])
    model = deciban.CategoricalNB(alpha=alpha, min_categories=3).fit(with_nan(X), y, sample_weight=w)
    theta, pi = oracle.categorical(X, y, CLASSES, V, w, alpha), oracle.class_prior(y, CLASSES, w)
    posterior = [oracle.posterior(pi, [oracle.p_categorical(t, x) for t in theta]) for x in X]
    np.testing.assert_allclose(model.predict_proba(with_nan(X)), floats(posterior), rtol=1e-11)


@settings(deadline=None, max_examples=40)
@given(tables(top=4, missing=False), st.integers(1, 3))
def test_multinomial_and_complement_with_weights_are_the_exact_ones(table, alpha):
    X, y, w = table
    words = deciban.MultinomialNB(alpha=alpha).fit(X, y, sample_weight=w)
    theta, pi = oracle.multinomial(X, y, CLASSES, w, alpha), oracle.class_prior(y, CLASSES, w)
    posterior = [oracle.posterior(pi, [oracle.p_multinomial(t, z) for t in theta]) for z in X]
    np.testing.assert_allclose(np.exp(words.feature_log_prob_), floats(theta), rtol=1e-12)
    np.testing.assert_allclose(words.predict_proba(X), floats(posterior), rtol=1e-11)
    rest = deciban.ComplementNB(alpha=alpha).fit(X, y, sample_weight=w)
    expected = floats(oracle.complement(X, y, CLASSES, w, alpha))
    np.testing.assert_allclose(np.exp(-rest.feature_log_prob_), expected, rtol=1e-12)


@settings(deadline=None, max_examples=40)
@given(tables(top=4, missing=True), st.integers(1, 3))
def test_poisson_rates_with_weights_and_missing_cells_are_the_exact_ones(table, alpha):
    X, y, w = table
    rates = floats(oracle.poisson(X, y, CLASSES, w, alpha))
    live = (rates > 0).all(axis=0)
    form = deciban.PoissonNB(alpha=alpha).fit(with_nan(X), y, sample_weight=w).linear_form()
    expected = np.log(rates[1, live]) - np.log(rates[0, live])
    np.testing.assert_allclose(form.w[live], expected, rtol=1e-11, atol=1e-12)
    np.testing.assert_array_equal(form.w[~live], 0)


@settings(deadline=None, max_examples=40)
@given(tables(top=9, missing=False))
def test_gaussian_mean_and_variance_are_the_exact_ones(table):
    X, y, w = table
    model = deciban.GaussianNB(var_smoothing=0).fit(np.array(X, dtype=float), y, sample_weight=w)
    mu, var = np.moveaxis(floats(oracle.gaussian(X, y, CLASSES, w)), -1, 0)
    np.testing.assert_allclose(model.theta_, mu, rtol=1e-13)
    np.testing.assert_allclose(model.var_[var > 0], var[var > 0], rtol=1e-12)


@settings(deadline=None, max_examples=30)
@given(tables(top=1, missing=False), st.integers(1, 2))
def test_the_joint_table_is_the_exact_one(table, alpha):
    X, y, w = table
    X = [*X, [1] * len(X[0])]  # so that both levels of every column are known
    y, w = [*y, "a"], [*w, 1]
    model = deciban.JointBayes(alpha=alpha).fit(X, y, sample_weight=w)
    theta, pi = oracle.joint(X, y, CLASSES, [2] * len(X[0]), w, alpha), oracle.class_prior(y, CLASSES, w)
    posterior = [oracle.posterior(pi, [t[tuple(x)] for t in theta]) for x in X]
    np.testing.assert_allclose(model.predict_proba(X), floats(posterior), rtol=1e-11)


X = [[1, 0], [1, 1], [1, 0], [0, 0], [0, 1]]
y = ["a", "a", "a", "b", "b"]


def test_one_imagined_example_per_class_moves_the_prior_and_leaves_certainty_possible():
    """Lecture: one example of ones per class. θ = (n_kj1 + 1)/(n_k + 1), π = (n_k + 1)/(n + K)."""
    imagined = deciban.BernoulliNB().fit([[1, 1], [1, 1]], CLASSES).ledger_
    model = deciban.BernoulliNB(alpha=imagined).fit(X, y)
    expected = [[Q(4, 4), Q(2, 4)], [Q(1, 3), Q(2, 3)]]
    np.testing.assert_allclose(np.exp(model.feature_log_prob_), floats(expected), rtol=1e-14)
    np.testing.assert_allclose(np.exp(model.class_log_prior_), floats([Q(4, 7), Q(3, 7)]), rtol=1e-14)
    assert model.predict_proba([[0, 1]])[0, 0] == 0  # θ = 1 stayed possible, so its absence is impossible


@pytest.mark.parametrize(
    ("class_prior", "prior_alpha", "expected"),
    [
        ("empirical", 1.0, [Q(3, 5), Q(2, 5)]),
        ("smoothed", 1.0, [Q(4, 7), Q(3, 7)]),
        ("smoothed", 3.0, [Q(6, 11), Q(5, 11)]),
        ("uniform", 1.0, [Q(1, 2), Q(1, 2)]),
        ([0.25, 0.75], 1.0, [Q(1, 4), Q(3, 4)]),
    ],
)
@pytest.mark.parametrize("name", ["BernoulliNB", "CategoricalNB", "PoissonNB", "GaussianNB"])
def test_class_priors_are_counted_smoothed_uniform_or_given(name, class_prior, prior_alpha, expected):
    keyword = "priors" if name == "GaussianNB" else "class_prior"
    model = getattr(deciban, name)(**{keyword: class_prior}, prior_alpha=prior_alpha).fit(X, y)
    blank = np.full((1, 2), np.nan)  # nothing known of the row: the posterior is the prior
    np.testing.assert_allclose(model.predict_proba(blank)[0], floats(expected), rtol=1e-12)


def impossible_everywhere():
    unseen_word = deciban.MultinomialNB(alpha=0.0).fit([[2, 1, 0], [1, 3, 0], [0, 1, 0]], ["a", "a", "b"])
    unseen_flag = deciban.BernoulliNB(alpha=0.0).fit([[1, 0, 0], [1, 1, 0], [0, 1, 0]], ["a", "a", "b"])
    return [unseen_word, unseen_flag]


@pytest.mark.parametrize("model", impossible_everywhere(), ids=lambda m: type(m).__name__)
def test_where_every_class_is_impossible_the_posterior_is_the_prior_and_one_warning_is_given(model):
    """Lecture: a feature never seen in training makes every class zero."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        posterior = model.predict_proba([[1, 0, 1], [0, 0, 1]])
    np.testing.assert_allclose(posterior, [[2 / 3, 1 / 3]] * 2, rtol=1e-12)
    assert [w.category for w in caught] == [DecibanWarning]
    np.testing.assert_array_equal(model.score_samples([[1, 0, 1]]), [-np.inf])


@pytest.mark.parametrize("model", impossible_everywhere(), ids=lambda m: type(m).__name__)
def test_an_absent_impossible_word_costs_nothing(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        posterior = model.predict_proba([[1, 1, 0]])
    np.testing.assert_allclose(posterior, [[1, 0]])


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_the_log_likelihood_is_the_sum_over_rows_of_prior_and_feature_terms(alpha):
    """MATHS 2: L = Σ_n [ln π_y + Σ_j ln p(x_j|y)], from the data or from the ledger alone."""
    model = deciban.BernoulliNB(alpha=alpha).fit(X, y)
    theta, pi = oracle.bernoulli(X, y, CLASSES, alpha=alpha), oracle.class_prior(y, CLASSES)
    k = [CLASSES.index(label) for label in y]
    expected = sum(log(pi[i]) + log(oracle.p_bernoulli(theta[i], x)) for i, x in zip(k, X))
    assert model.log_likelihood(X, y) == pytest.approx(expected, rel=1e-12)
    assert model.log_likelihood() == pytest.approx(expected, rel=1e-12)


def test_the_gaussian_prior_works_on_each_columns_own_scale():
    """MATHS 2: σ²_kj = (ν₀ s²_j + M2_kj)/(ν₀ + n_kj), s²_j = Σ_k M2_kj/Σ_k n_kj."""
    numbers = np.array([[0.0, 0.0], [2.0, 2e6], [4.0, 1e6], [5.0, 5e6], [5.0, 7e6]])
    model = deciban.GaussianNB(var_smoothing=0, parameter_prior=3.0).fit(numbers, y)
    M2 = np.array([[8.0, 2e12], [0.0, 2e12]])
    expected = (3.0 * M2.sum(0) / 5 + M2) / (3.0 + np.array([[3], [2]]))
    np.testing.assert_allclose(model.var_, expected, rtol=1e-12)
