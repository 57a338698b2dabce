"""The distribution of the data under generative models: log p(x), the likelihood, samples and the Bayes error."""

from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp

import deciban
from deciban.errors import InputError, UndefinedError
from tests.estimators.examples import CLASSES, GENERATIVE, IDS

generative = pytest.mark.parametrize("example", GENERATIVE, **IDS)


@generative
def test_log_p_of_x_sums_the_joint_over_the_classes(example):
    X, _ = example.data()
    model = example.make_fitted()
    expected = logsumexp(model.predict_joint_log_proba(X), axis=1)
    np.testing.assert_allclose(model.score_samples(X), expected, rtol=1e-12)


@generative
def test_the_log_likelihood_sums_each_rows_own_class(example):
    X, y = example.data()
    model = example.make_fitted()
    own = model.predict_joint_log_proba(X)[np.arange(60), np.searchsorted(CLASSES, y)]
    assert model.log_likelihood(X, y) == pytest.approx(own.sum(), rel=1e-10)


@generative
def test_the_training_likelihood_comes_from_the_ledger_alone(example):
    X, y = example.data()
    model = example.make_fitted()
    if example.name == "PoissonNB":  # the ledger keeps Σ x, not Σ ln x!
        with pytest.raises(UndefinedError, match="ln x!"):
            model.log_likelihood()
        return
    assert model.log_likelihood() == pytest.approx(model.log_likelihood(X, y), rel=1e-9)


@generative
def test_maximum_likelihood_is_not_beaten_by_smoothing(example):
    name, value = ("parameter_prior", 5.0) if "Gaussian" in example.name else ("alpha", 5.0)
    plain = {"alpha": 0.0} if name == "alpha" else {}
    X, y = example.data()
    best = example.make(**plain).fit(X, y).log_likelihood(X, y)
    assert best >= example.make(**{name: value}).fit(X, y).log_likelihood(X, y) - 1e-9


# the model, and the largest value a cell can (all but surely) take
PROPER = [
    (deciban.BernoulliNB(), 1),
    (deciban.CategoricalNB(), 2),
    (deciban.JointBayes(alpha=0.5), 2),
    (deciban.PoissonNB(), 24),
]


@pytest.mark.parametrize(("model", "top"), PROPER, ids=str)
def test_the_probabilities_of_all_possible_rows_sum_to_one(model, top):
    rows = np.random.default_rng(2).integers(0, min(top, 2) + 1, (40, 3))
    model.fit(rows, np.arange(40) % 2)
    cells = np.array(list(product(range(top + 1), repeat=3)))
    assert np.exp(model.score_samples(cells)).sum() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("model", [deciban.GaussianNB(), deciban.GaussianBayes()], ids=str)
def test_a_gaussian_density_integrates_to_one(model):
    model.fit(np.random.default_rng(3).normal(size=(40, 1)), np.arange(40) % 2)
    grid = np.linspace(-12, 12, 4001)
    assert np.trapezoid(np.exp(model.score_samples(grid[:, None])), grid) == pytest.approx(1, abs=1e-6)


@generative
def test_samples_repeat_with_the_seed_and_fit_the_input(example):
    model = example.make_fitted()
    X, y = model.sample(50, random_state=7)
    again, labels = model.sample(50, random_state=7)
    np.testing.assert_array_equal(X, again)
    np.testing.assert_array_equal(y, labels)
    assert X.shape == (50, example.data()[0].shape[1])
    assert set(y) <= set(CLASSES)
    example.make().fit(X, y)


@generative
def test_samples_follow_the_model(example):
    """Fitted again to its own samples, the model predicts nearly the same; class shares follow the prior."""
    model = example.make_fitted().with_priors([0.5, 0.3, 0.2])
    X, y = model.sample(30_000, random_state=0)
    shares = np.array([(y == k).mean() for k in CLASSES])
    np.testing.assert_allclose(shares, [0.5, 0.3, 0.2], atol=0.015)
    rows, _ = example.data()
    again = example.make()
    if getattr(again, "covariance", None) == "mixed":  # the covariances of the samples are mixed already
        again.set_params(mixing=0.0)
    gap = again.fit(X, y).predict_proba(rows) - model.predict_proba(rows)
    assert np.abs(gap).max() < 0.08


@generative
def test_the_bayes_error_is_the_error_on_the_models_own_samples(example):
    model = example.make_fitted()
    if example.name == "MultinomialNB":
        pytest.skip("depends on the length of the documents sampled")
    X, y = model.sample(20_000, random_state=1)
    assert model.bayes_error() == pytest.approx((model.predict(X) != y).mean(), abs=0.02)


def test_a_bayes_error_by_sampling_needs_a_row():
    model = deciban.GaussianNB().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    for n_draws in (0, 2.5, "x", None):
        with pytest.raises(InputError, match="n_draws must be a whole number"):
            model.bayes_error(n_draws)
