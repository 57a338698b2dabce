"""How many numbers each assumption must learn (MATHS 2, parameter counts; the lecture's figures)."""

import numpy as np
import pytest

import deciban
from deciban import parameter_count
from deciban.errors import InputError

LECTURE_FIGURES = [
    # 30 Boolean features, two classes: the joint table against naive Bayes
    ("joint", {"features": 30, "classes": 2, "levels": 2}, 2 * (2**30 - 1)),
    ("bernoulli", {"features": 30, "classes": 2}, 60),
    # 256×256 pixels, ten classes, a full covariance each: 21.5 billion
    (
        "gaussian",
        {"features": 256 * 256, "classes": 10, "covariance": "full"},
        655_360 + 10 * 65_536 * 65_537 // 2,
    ),
]


@pytest.mark.parametrize(("family", "shape", "conditional"), LECTURE_FIGURES)
def test_the_lecture_figures_are_reproduced(family, shape, conditional):
    count = parameter_count(family, **shape)
    assert count.conditional == conditional
    assert count.total == conditional + shape["classes"] - 1


def test_the_joint_table_of_thirty_flags_needs_over_two_billion_numbers():
    assert parameter_count("joint", features=30, classes=2, levels=2).conditional == 2_147_483_646


def test_ten_classes_of_pictures_with_full_covariance_need_twenty_one_and_a_half_billion_numbers():
    full = parameter_count("gaussian", features=256**2, classes=10, covariance="full")
    assert round(full.conditional / 1e9, 1) == 21.5


@pytest.mark.parametrize("d", [1, 2, 5, 64, 200])
def test_with_the_prior_two_classes_need_two_to_the_d_plus_one_minus_one_against_two_d_plus_one(d):
    assert parameter_count("joint", features=d, classes=2, levels=2).total == 2 ** (d + 1) - 1
    assert parameter_count("bernoulli", features=d, classes=2).total == 2 * d + 1


K, D = 3, 4
COVARIANCES = {
    "full": K * D + K * D * (D + 1) // 2,
    "tied": K * D + D * (D + 1) // 2,
    "diagonal": 2 * K * D,
    "tied_diagonal": K * D + D,
    "spherical": K * D + K,
    "tied_spherical": K * D + 1,
    "identity": K * D,
}


@pytest.mark.parametrize(("covariance", "conditional"), COVARIANCES.items())
def test_every_gaussian_covariance_counts_as_tabled(covariance, conditional):
    count = parameter_count("gaussian", features=D, classes=K, covariance=covariance)
    assert (count.conditional, count.prior, count.total) == (conditional, K - 1, conditional + K - 1)


LEVELS = [2, 3, 5]
DISCRETE = [
    ("joint", {"features": 3, "levels": LEVELS}, K * (2 * 3 * 5 - 1)),
    ("categorical", {"features": 3, "levels": LEVELS}, K * (1 + 2 + 4)),
    ("bernoulli", {"features": 3}, K * 3),
    ("multinomial", {"features": 3}, K * 2),
    ("poisson", {"features": 3}, K * 3),
]


@pytest.mark.parametrize(("family", "shape", "conditional"), DISCRETE)
def test_every_discrete_family_counts_as_tabled(family, shape, conditional):
    count = parameter_count(family, classes=K, **shape)
    assert (count.conditional, count.prior, count.total) == (conditional, K - 1, conditional + K - 1)


@pytest.mark.parametrize("family", ["joint", "bernoulli", "categorical", "multinomial", "poisson", "gaussian"])
def test_counts_are_plain_python_integers(family):
    extra = {"covariance": "full"} if family == "gaussian" else {"levels": 2}
    extra = extra if family in ("joint", "categorical", "gaussian") else {}
    count = parameter_count(family, features=3, classes=2, **extra)
    assert [type(n) for n in (count.conditional, count.prior, count.total)] == [int, int, int]


@pytest.mark.parametrize(
    "shape", [{"features": np.nan}, {"features": None}, {"features": 2.5}, {"features": 2, "levels": 2.5}]
)
def test_numbers_that_are_not_whole_are_refused(shape):
    with pytest.raises(InputError, match="must be a whole number of at least"):
        parameter_count("joint", **shape)


def test_an_unknown_family_is_refused_by_name():
    with pytest.raises(ValueError, match="cauchy"):
        parameter_count("cauchy", features=3, classes=2)


codes = np.array([[0, 0, 0], [1, 2, 4], [0, 1, 3], [1, 0, 2], [1, 2, 1], [0, 1, 0]])
y = np.array([0, 1, 2, 0, 1, 2])
FITTED = [
    (deciban.BernoulliNB(), 3 * 3 + 2),
    (deciban.MultinomialNB(), 3 * 2 + 2),
    (deciban.PoissonNB(), 3 * 3 + 2),
    (deciban.CategoricalNB(), 3 * (1 + 2 + 4) + 2),
    (deciban.JointBayes(), 3 * (30 - 1) + 2),
    (deciban.GaussianNB(), 2 * 3 * 3 + 2),
    (deciban.GaussianBayes(covariance="tied"), 3 * 3 + 6 + 2),
]


@pytest.mark.parametrize(("model", "total"), FITTED, ids=lambda v: str(v))
def test_a_fitted_model_counts_its_own_parameters_with_the_prior(model, total):
    assert model.fit(codes, y).n_parameters_ == total
