"""Agreement with scikit-learn on random data, to 1e-9 relative, and correct values where it loses digits."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn import naive_bayes as theirs

import deciban
from tests import oracle

SHAPES = st.tuples(st.integers(2, 30), st.integers(1, 5))
ALPHAS = st.sampled_from([1.0, 0.5, 1e-3, 10.0])


@st.composite
def data_sets(draw, elements):
    """X, labels of up to four classes, and integer weights (or none)."""
    n, d = draw(SHAPES)
    X = draw(arrays(np.float64, (n, d), elements=elements))
    y = draw(arrays(np.int64, n, elements=st.integers(0, 3)))
    w = draw(st.none() | arrays(np.int64, n, elements=st.integers(1, 4)))
    return X, y, w


def assert_close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-9)


def assert_same_answers(ours, peer, X):
    assert_close(ours.predict_joint_log_proba(X), peer.predict_joint_log_proba(X))
    assert_close(ours.predict_log_proba(X), peer.predict_log_proba(X))
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(ours.classes_, peer.classes_)
    confident = (
        np.ptp(np.sort(peer.predict_proba(X), axis=1)[:, -2:], axis=1) > 1e-9
        if len(peer.classes_) > 1
        else slice(None)
    )
    np.testing.assert_array_equal(ours.predict(X)[confident], peer.predict(X)[confident])


COUNT_MODELS = [
    ("BernoulliNB", {}),
    ("BernoulliNB", {"binarize": 2.0, "fit_prior": False}),
    ("MultinomialNB", {}),
    ("ComplementNB", {}),
    ("ComplementNB", {"norm": True}),
]


@pytest.mark.parametrize(("name", "parameters"), COUNT_MODELS)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.csr_array])
@settings(deadline=None, max_examples=25)
@given(table=data_sets(st.integers(0, 6).map(float)), alpha=ALPHAS)
def test_count_models_agree_dense_and_sparse(name, parameters, container, table, alpha):
    X, y, w = table
    assume(X.shape[1] > 1 or not parameters.get("norm"))  # theirs divides 0 by 0 where there is one word only
    ours = getattr(deciban, name)(alpha=alpha, **parameters).fit(container(X), y, sample_weight=w)
    peer = getattr(theirs, name)(alpha=alpha, **parameters).fit(X, y, sample_weight=w)
    np.testing.assert_array_equal(ours.class_count_, peer.class_count_)
    np.testing.assert_array_equal(ours.feature_count_, peer.feature_count_)
    assert_close(ours.class_log_prior_, peer.class_log_prior_)
    assert_close(ours.feature_log_prob_, peer.feature_log_prob_)
    assert_close(ours.predict_joint_log_proba(container(X)), peer.predict_joint_log_proba(X))
    assert_same_answers(ours, peer, X)


@settings(deadline=None, max_examples=40)
@given(table=data_sets(st.integers(0, 4).map(float)), alpha=ALPHAS, at_least=st.none() | st.just(6))
def test_categorical_agrees_and_takes_sparse(table, alpha, at_least):
    X, y, w = table
    ours = deciban.CategoricalNB(alpha=alpha, min_categories=at_least).fit(X, y, sample_weight=w)
    peer = theirs.CategoricalNB(alpha=alpha, min_categories=at_least).fit(X, y, sample_weight=w)
    np.testing.assert_array_equal(ours.n_categories_, peer.n_categories_)
    for j in range(X.shape[1]):
        np.testing.assert_array_equal(ours.category_count_[j], peer.category_count_[j])
        assert_close(ours.feature_log_prob_[j], peer.feature_log_prob_[j])
    assert_same_answers(ours, peer, X)
    wide = deciban.CategoricalNB(alpha=alpha, min_categories=at_least).fit(sparse.csr_matrix(X), y, sample_weight=w)
    np.testing.assert_array_equal(wide.predict_proba(sparse.csr_matrix(X)), ours.predict_proba(X))


def drop_ill_conditioned_columns(X, y):
    """Return the columns whose variance, in all and in every class, is above 1e-6·mean²."""
    groups = [X, *(X[y == k] for k in np.unique(y))]
    return X[:, np.all([g.var(0) > 1e-6 * g.mean(0) ** 2 for g in groups], axis=0)]


@settings(deadline=None, max_examples=80)
@given(
    table=data_sets(st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda v: round(v, 4))),
    var_smoothing=st.sampled_from([1e-9, 1e-3, 0.5]),
)
def test_gaussian_agrees_on_well_conditioned_columns(table, var_smoothing):
    X, y, w = table
    X = drop_ill_conditioned_columns(X, y)
    assume(X.shape[1])
    ours = deciban.GaussianNB(var_smoothing=var_smoothing).fit(X, y, sample_weight=w)
    peer = theirs.GaussianNB(var_smoothing=var_smoothing).fit(X, y)
    if w is not None:  # theirs smooths by the unweighted variance, so repeat the rows instead
        peer.fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(ours.theta_, peer.theta_, rtol=1e-9, atol=1e-9 * np.abs(X).max())
    np.testing.assert_allclose(ours.var_, peer.var_, rtol=1e-9)
    np.testing.assert_allclose(ours.epsilon_, peer.epsilon_, rtol=1e-9)
    np.testing.assert_allclose(ours.class_prior_, peer.class_prior_, rtol=1e-12)
    assert_same_answers(ours, peer, X)


@pytest.mark.parametrize("model", [deciban.GaussianNB(), deciban.GaussianBayes(), deciban.PoissonNB()], ids=str)
def test_sparse_input_is_taken_where_scikit_learn_refuses_it(model):
    rng = np.random.default_rng(5)
    X = rng.poisson(1.0, (50, 4)).astype(float)
    y = np.arange(50) % 3
    dense = model.fit(X, y).predict_log_proba(X)
    wide = model.fit(sparse.csr_matrix(X), y).predict_log_proba(sparse.csr_matrix(X))
    np.testing.assert_allclose(wide, dense, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("chunks", [1, 7])
@pytest.mark.parametrize("name", ["GaussianNB", "GaussianBayes"])
def test_a_mean_of_1e8_with_sd_1_keeps_nine_digits_of_the_variance(name, chunks):
    """Centred moments keep digits where sums of squares would keep none (MATHS)."""
    rng = np.random.default_rng(11)
    X = 1e8 + rng.normal(size=(400, 1))
    y = np.arange(400) % 2
    model = deciban.GaussianNB(var_smoothing=0) if name == "GaussianNB" else deciban.GaussianBayes()
    for rows in np.array_split(np.arange(400), chunks):
        model.partial_fit(X[rows], y[rows], classes=[0, 1])
    expected = [float(var) for ((_, var),) in oracle.gaussian(X.tolist(), y.tolist(), [0, 1])]
    variance = -0.5 / np.ravel(model.quadratic_form().A)
    np.testing.assert_allclose(variance, expected, rtol=1e-9)


@pytest.mark.parametrize("name", ["BernoulliNB", "MultinomialNB", "ComplementNB", "CategoricalNB", "GaussianNB"])
def test_constructor_arguments_of_scikit_learn_keep_their_names_and_defaults(name):
    ours, peer = getattr(deciban, name)().get_params(), getattr(theirs, name)().get_params()
    assert {key: ours[key] for key in peer} == peer
