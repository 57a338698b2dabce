"""Cross-validation from one pass equals refits: every estimator, dense and sparse, with weights and NaN."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.estimators.examples import EXAMPLES, IDS, NAN_ACCEPTING, cells, codes, counts, flags
from tests.metrics.refits import assert_as_refitted

BY_NAME = {example.name: example for example in EXAMPLES}
HOW = pytest.mark.parametrize("folds", [4, "loo"])
WEIGHED = pytest.mark.parametrize("weighed", [False, True], ids=["unit", "weighed"])


def weights(n, weighed):
    return np.random.default_rng(7).uniform(0.1, 2.0, n) if weighed else None


@HOW
@WEIGHED
@pytest.mark.parametrize("example", EXAMPLES, **IDS)
def test_folds_are_scored_as_by_refits(example, folds, weighed):
    X, y = example.data(45)
    assert_as_refitted(example.make(), X, y, folds, weights(45, weighed), rows=slice(None))


@HOW
@WEIGHED
@pytest.mark.parametrize("example", NAN_ACCEPTING, **IDS)
def test_missing_values_are_left_out_as_in_refits(example, folds, weighed):
    X, y = example.data(90)
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
    assert_as_refitted(example.make(), X, y, folds, weights(90, weighed))


@HOW
@WEIGHED
@pytest.mark.parametrize("example", [f for f in EXAMPLES if f.draw in (flags, counts, codes, cells)], **IDS)
def test_sparse_rows_are_scored_as_by_refits(example, folds, weighed):
    X, y = example.data(45)
    assert_as_refitted(example.make(), csr_array(X), y, folds, weights(45, weighed))


@HOW
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("BernoulliNB", {"binarize": 2.0, "alpha": 0.3}),
        ("ComplementNB", {"norm": True, "alpha": [0.5, 1.0, 2.0, 0.1]}),
    ],
)
def test_sparse_counts_are_scored_as_by_refits_whatever_the_arguments(name, arguments, folds):
    X, y = BY_NAME["PoissonNB"].data(45)
    assert_as_refitted(BY_NAME[name].make(**arguments), csr_array(X), y, folds)


@HOW
@pytest.mark.parametrize("wanted", ["joint", "density"])
@pytest.mark.parametrize("example", [f for f in EXAMPLES if f.likelihood], **IDS)
def test_densities_are_those_of_refits(example, folds, wanted):
    X, y = example.data(45)
    assert_as_refitted(example.make(), X, y, folds, None, wanted)


@HOW
@pytest.mark.parametrize("example", EXAMPLES, **IDS)
def test_a_class_with_a_single_row_is_scored_as_by_refits_that_know_its_name(example, folds):
    X, y = example.data(40)
    y = y.copy()
    y[3] = "dog"
    assert_as_refitted(example.make(), X, y, folds, declared=True)


ARGUMENTS = [
    ("BernoulliNB", {"alpha": 0.0}),
    ("BernoulliNB", {"alpha": [0.5, 1.0, 2.0, 0.1]}),
    ("BernoulliNB", {"alpha": "auto"}),
    ("MultinomialNB", {"alpha": 0.0}),
    ("MultinomialNB", {"alpha": [0.5, 1.0, 2.0, 0.1], "class_prior": "smoothed"}),
    ("MultinomialNB", {"class_prior": [0.2, 0.3, 0.5]}),
    ("ComplementNB", {"norm": True}),
    ("ComplementNB", {"alpha": 0.01}),
    ("CategoricalNB", {"alpha": 0.0}),
    ("CategoricalNB", {"unseen": "smooth", "min_categories": 5}),
    ("CategoricalNB", {"class_prior": "uniform"}),
    ("PoissonNB", {"alpha": 0.0}),
    ("PoissonNB", {"alpha": 3.0}),
    ("GaussianNB", {"var_smoothing": 0.1}),
    ("GaussianNB", {"var_smoothing": 0.0}),
    ("GaussianNB", {"parameter_prior": 2.0}),
    ("GaussianNB", {"priors": [0.2, 0.3, 0.5]}),
    ("GaussianBayes-full", {"shrinkage": 0.3}),
    ("GaussianBayes-full", {"shrinkage": 0.3, "shrinkage_target": "spherical"}),
    ("GaussianBayes-full", {"shrinkage": "oas"}),
    ("GaussianBayes-full", {"n_components": 2}),
    ("GaussianBayes-tied_diagonal", {"n_components": 2}),
    ("GaussianBayes-mixed", {"mixing": 0.2, "shrinkage": 0.1}),
    ("GaussianBayes-mixed", {"mixing": 0.7, "shrinkage": 0.1, "shrinkage_target": "spherical", "priors": "uniform"}),
    ("GaussianBayes-mixed", {"mixing": 0.7, "parameter_prior": 3.0}),
    ("GaussianBayes-full", {"parameter_prior": 2.0}),
    ("GaussianBayes-tied", {"shrinkage": 0.2}),
    ("GaussianBayes-diagonal", {"shrinkage": "oas"}),
    ("GaussianBayes-spherical", {"parameter_prior": 1.0}),
    ("GaussianBayes-tied_spherical", {"priors": "uniform"}),
    ("JointBayes", {"alpha": 0.0}),
    ("JointBayes", {"unseen": "smooth"}),
    ("JointBayes", {"min_categories": 4}),
]


@HOW
@WEIGHED
@pytest.mark.parametrize(("name", "arguments"), ARGUMENTS, ids=[f"{name}-{args}" for name, args in ARGUMENTS])
def test_everything_is_solved_again_whatever_the_arguments(name, arguments, folds, weighed):
    X, y = BY_NAME[name].data(40)
    assert_as_refitted(BY_NAME[name].make(**arguments), X, y, folds, weights(40, weighed))


@HOW
@pytest.mark.parametrize("name", ["CategoricalNB", "JointBayes"])
@pytest.mark.parametrize("unseen", ["ignore", "smooth"])
def test_a_level_that_one_row_alone_has_is_unseen_without_it(name, folds, unseen):
    X, y = BY_NAME[name].data(40)
    X[7] = 9
    X[11, 0] = 5
    assert_as_refitted(BY_NAME[name].make(unseen=unseen), X, y, folds)


@HOW
def test_shares_of_presence_are_taken_away_as_they_were_counted(folds):
    X, y = np.random.default_rng(0).random((40, 3)), np.arange(40) % 2
    assert_as_refitted(BY_NAME["BernoulliNB"].make(binarize=None), X, y, folds)


@pytest.mark.parametrize("name", ["GaussianNB", "GaussianBayes-diagonal", "GaussianBayes-tied_spherical"])
def test_a_row_far_out_leaves_no_rounding_behind_in_models_without_it(name):
    X, y = BY_NAME[name].data(40)
    X[5] = 1e9
    others = np.arange(40) != 5  # the score of the outlier itself is a difference of numbers beyond 1e17
    assert_as_refitted(BY_NAME[name].make(), X, y, np.arange(40) // 10, rows=others)
    assert_as_refitted(BY_NAME[name].make(), X, y, "loo", rows=others)


@HOW
def test_a_shrunken_class_of_two_rows_is_no_worse(folds):
    X, y = BY_NAME["GaussianBayes-full"].data(40)
    y = np.where(np.arange(40) < 2, "dog", y)
    assert_as_refitted(BY_NAME["GaussianBayes-full"].make(shrinkage=0.3), X, y, folds)
