"""Corners where a formula alone gives no answer: each has a decided one."""

import warnings

import numpy as np
import pytest

from deciban.errors import DecibanError
from deciban.families.count_families import Bernoulli, Complement, Multinomial
from deciban.generative import Assumption, ClassPrior, GenerativeModel, summarise_rows
from deciban.ledger import Counts
from tests.engines.paths import Case, flags, words


def test_a_complement_of_no_words_at_all_says_nothing():
    form = Complement(alpha=0.0).solve(Counts(np.zeros((2, 3)), np.ones((2, 1))))
    assert form.log_likelihoods(np.ones((1, 3))).tolist() == [[0.0, 0.0]]


def test_a_multinomial_of_no_words_at_all_draws_empty_bags():
    counts = Counts(np.zeros((2, 3)), np.ones((2, 1)))
    drawn = Multinomial(alpha=0.0).sample(counts, np.array([0, 1]), np.random.default_rng(0))
    assert drawn.tolist() == [[0, 0, 0], [0, 0, 0]]


def test_a_multinomial_of_no_features_has_no_parameters():
    assert Multinomial().n_parameters(Counts(np.zeros((2, 0)), np.ones((2, 1)))) == 0


def test_sums_of_weights_that_round_apart_have_a_finite_likelihood():
    """All rows have the feature, but 0.1 + 0.2 > 0.3: the weight of rows without it must not be below zero."""
    part = Counts(np.array([[0.1 + 0.2]]), np.array([[0.3]]))
    assert Bernoulli(alpha=0.0).log_likelihood(part, part) == pytest.approx(0.0, abs=1e-12)


def test_flags_are_drawn_on_both_sides_of_a_negative_threshold():
    part, codes = Counts(np.array([[50.0]]), np.array([[100.0]])), np.zeros(100, np.intp)
    drawn = Bernoulli(threshold=-1.5).sample(part, codes, np.random.default_rng(0))
    assert 20 < (drawn > -1.5).sum() < 80


def test_a_part_of_an_impossible_absence_is_impossible():
    """Without a threshold x is a share: (1 − x) ln(1 − θ) = −∞ at θ = 1 for every x below one."""
    counts = Counts(np.array([[2.0], [1.0]]), np.array([[2.0], [2.0]]))
    scores = Bernoulli(alpha=0.0, threshold=None).solve(counts).log_likelihoods(np.array([[0.3], [1.0]]))
    np.testing.assert_allclose(scores, [[-np.inf, np.log(0.5)], [0.0, np.log(0.5)]])


@pytest.mark.filterwarnings("ignore::deciban.errors.DecibanWarning")
def test_an_impossible_row_is_explained_for_the_class_it_goes_to():
    case = Case("", Multinomial(alpha=0.0), words)
    model = case.model(np.array([[1.0, 0], [0, 1], [0, 1]]), np.array([0, 1, 1], np.int32), K=2)
    row = np.array([[1.0, 1.0]])
    explanation = model.explain([row], None, np.arange(2), 1)
    assert explanation.winner.tolist() == model.scores([row], "winner", 1).tolist() == [1]
    assert np.isnan(explanation.total).all()


def test_imagined_examples_of_a_class_the_model_has_not_are_refused():
    family = Bernoulli(alpha=0.0)
    X, _, _ = Case("", family, flags).rows(n=4)
    real, codes = Assumption((family,), ClassPrior()), np.array([0, 1, 0, 1], np.int32)
    imagined = summarise_rows(real, ["a", "b", "c"], [None], [X], np.array([0, 1, 2, 2], np.int32), None, 1)
    ledger = summarise_rows(real, ["a", "b"], [None], [X], codes, None, 1)
    with pytest.raises(DecibanError, match="'c'"):
        GenerativeModel(Assumption((family,), ClassPrior(), imagined), ledger).solved  # noqa: B018


def test_imagined_examples_smooth_and_move_the_prior():
    """One example a class with every feature present: θ = (n + 1)/(n_k + 1), π = (n_k + 1)/(n + K)."""
    family = Bernoulli(alpha=0.0)
    plain = Assumption((family,), ClassPrior())
    ones = summarise_rows(plain, range(2), [None], [np.ones((2, 3))], np.array([0, 1], np.int32), None, 1)
    X, codes = np.array([[1.0, 0, 0], [1, 1, 0], [0, 0, 0]]), np.array([0, 0, 1], np.int32)
    model = GenerativeModel(
        Assumption((family,), ClassPrior(), ones), summarise_rows(plain, range(2), [None], [X], codes, None, 1)
    )
    np.testing.assert_allclose(family.theta(model.complete.parts[0]), [[1, 2 / 3, 1 / 3], [1 / 2, 1 / 2, 1 / 2]])
    np.testing.assert_allclose(model.solved.prior, [3 / 5, 2 / 5])


def test_words_counted_in_billions_are_no_trouble():
    rng = np.random.default_rng(0)
    total = rng.integers(0, 2, (2, 9000)) * 3e9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        form = Multinomial().solve(Counts(total, np.ones((2, 1))))
    assert np.isfinite(form.weights).all()
