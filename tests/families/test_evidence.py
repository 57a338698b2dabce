"""The marginal likelihood of pseudo-counts, against products of predictive probabilities in exact fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import nbinom

from deciban.families.count_families import Bernoulli, Complement, Multinomial, Poisson
from deciban.families.gaussian import Gaussian
from deciban.families.level_families import Categorical, Joint
from deciban.families.marginal_likelihood import (
    MAX_ALPHA,
    MIN_ALPHA,
    best_alpha,
    compound_likelihood,
    log_rising,
    with_alpha,
)
from deciban.families.text_family import Text
from deciban.ledger import Bags, Cells, Counts, Levels, Moments, Tallies

ALPHAS = [Fraction(1, 50), Fraction(1), Fraction(7, 2)]
WORDS = np.array([[3.0, 0.0, 2.0, 1.0], [0.0, 5.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0]])
BAG = Counts(WORDS, np.array([[4.0], [3.0], [2.0]]))


def urn(counts, alpha, levels=None):
    """Draws from one urn, one after another, each with its probability given those before it."""
    levels, probability, seen = levels or len(counts), Fraction(1), [0] * len(counts)
    for v, n in enumerate(counts):
        for _ in range(int(n)):
            probability *= (seen[v] + alpha) / (sum(seen) + alpha * levels)
            seen[v] += 1
    return probability


def close(family, part, alpha, probabilities):
    """Whether ln p of the family, of every owner together, is the logarithm of the product."""
    likelihood = compound_likelihood(family, part)
    m = len(likelihood.levels) if hasattr(likelihood, "levels") else 1
    found = likelihood.log_marginal_likelihood(np.full(m, float(alpha))).sum()
    return found == pytest.approx(math.log(math.prod(probabilities)), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("alpha", ALPHAS, ids=str)
def test_words_are_drawn_from_an_urn(alpha):
    exact = [urn(row, alpha) for row in WORDS]
    assert close(Multinomial(), BAG, alpha, exact)
    assert close(Multinomial(), Tallies.from_counts(BAG), alpha, exact)


@pytest.mark.parametrize("alpha", ALPHAS, ids=str)
def test_a_complement_is_estimated_from_the_words_of_all_other_classes(alpha):
    exact = [urn(WORDS.sum(axis=0) - row, alpha) for row in WORDS]
    assert close(Complement(), BAG, alpha, exact)
    assert close(Complement(), Tallies.from_counts(BAG), alpha, exact)


@pytest.mark.parametrize("alpha", ALPHAS, ids=str)
def test_flags_are_urns_of_two_kinds(alpha):
    present = np.array([[2.0, 0.0, 4.0], [3.0, 1.0, 0.0]])
    counts = Counts(present, np.array([[4.0], [3.0]]))
    exact = [urn([n, w - n], alpha) for row, w in zip(present, (4, 3)) for n in row]
    assert close(Bernoulli(), counts, alpha, exact)
    assert close(Bernoulli(), Tallies.from_counts(counts), alpha, exact)


def test_flags_with_missing_cells_have_as_many_draws_as_they_have_rows():
    counts = Counts(np.array([[2.0, 1.0]]), np.array([[4.0, 1.0]]))
    assert close(Bernoulli(), counts, Fraction(1, 2), [urn([2, 2], Fraction(1, 2)), urn([1, 0], Fraction(1, 2))])


@pytest.mark.parametrize("alpha", ALPHAS, ids=str)
@pytest.mark.parametrize("unseen", ["ignore", "smooth"])
def test_levels_are_urns_of_their_feature(alpha, unseen):
    X = np.array([[0, 2], [1, 0], [1, 2], [0, -1], [1, 1]])
    part = Levels.of(X, np.array([0, 0, 1, 1, 1], np.int32), None, 2)
    more = int(unseen == "smooth")
    exact = [urn(row, alpha, len(row) + more) for table in part.tables() for row in table]
    assert close(Categorical(unseen=unseen), part, alpha, exact)


def test_pooled_levels_are_one_and_declared_ones_have_their_share():
    X = np.array([[0], [0], [1], [2], [0], [3]])
    part = Levels.of(X, np.array([0, 0, 0, 0, 1, 1], np.int32), None, 2)
    exact = [urn([2, 2], Fraction(1, 3)), urn([1, 1], Fraction(1, 3))]
    assert close(Categorical(most=1, holes="unseen"), part, Fraction(1, 3), exact)
    wide = [urn([2, 1, 1, 0, 0, 0], Fraction(1, 3)), urn([1, 0, 0, 1, 0, 0], Fraction(1, 3))]
    assert close(Categorical(min_levels=(6,)), part, Fraction(1, 3), wide)


@pytest.mark.parametrize("alpha", ALPHAS, ids=str)
def test_a_joint_table_is_an_urn_of_all_cells(alpha):
    X = np.array([[0, 1], [0, 1], [1, 2], [0, 0]])
    part = Cells.of(X, np.array([0, 0, 1, 1], np.int32), None, 2)
    exact = [urn(row, alpha, 6) for row in part.count]
    assert close(Joint(), part, alpha, exact)


def test_a_joint_table_beyond_all_doubles_still_has_a_best_pseudo_count():
    X = np.tile(np.arange(2)[:, None], (1, 1500))
    part = Cells.of(np.repeat(X, 5, axis=0), np.zeros(10, np.int32), None, 1)
    assert 0 < best_alpha(Joint(), part) <= MIN_ALPHA


@pytest.mark.parametrize("alpha", [0.1, 1.0, 12.0])
def test_rates_are_negative_binomial_one_after_another(alpha):
    x, y = np.array([[0.0], [3.0], [1.0], [4.0], [0.0]]), np.array([0, 0, 0, 1, 1])
    part = Counts.of(x, y.astype(np.int32), None, 2)
    found, mean, exact = compound_likelihood(Poisson(), part), x.mean(), 0.0
    for k in (0, 1):
        total, rows = 0.0, 0
        for value in x[y == k, 0]:
            exact += nbinom.logpmf(value, alpha * mean + total, (alpha + rows) / (alpha + rows + 1))
            exact += math.lgamma(value + 1)  # Σ ln x! is what α does not change
            total, rows = total + value, rows + 1
    assert found.log_marginal_likelihood(np.array([alpha]))[0] == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("event", ["multinomial", "bernoulli", "complement"])
def test_text_draws_what_its_event_draws_of_the_words_that_are_kept(event):
    few = Counts(np.minimum(WORDS, 1.0), BAG.weight)
    part = Bags(Tallies.from_counts(BAG), Tallies.from_counts(few))
    kept = WORDS[:, [0, 1, 2]] if event != "bernoulli" else few.total[:, [0, 1, 2]]
    family = {"multinomial": Multinomial(), "bernoulli": Bernoulli(), "complement": Complement()}[event]
    same = compound_likelihood(family, Counts(kept, BAG.weight))
    found = compound_likelihood(Text("words", event, least=2.0), part)
    at = np.array([0.3])
    assert found.log_marginal_likelihood(at) == pytest.approx(same.log_marginal_likelihood(at), rel=1e-12)


@pytest.mark.parametrize(
    ("family", "part"),
    [
        pytest.param(Multinomial(), BAG, id="multinomial"),
        pytest.param(Complement(), BAG, id="complement"),
        pytest.param(
            Bernoulli(), Counts(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[3.0], [3.0]])), id="bernoulli"
        ),
        pytest.param(Poisson(), BAG, id="poisson"),
        pytest.param(Joint(), Cells.of(np.array([[0], [1], [1], [3]]), np.zeros(4, np.int32), None, 1), id="joint"),
    ],
)
def test_the_best_pseudo_count_is_the_highest_of_a_fine_grid_and_its_slope_is_the_difference(family, part):
    likelihood = compound_likelihood(family, part)
    grid = np.geomspace(MIN_ALPHA, MAX_ALPHA, 6001)
    height = [likelihood.log_marginal_likelihood(np.array([alpha]))[0] for alpha in grid]
    assert best_alpha(family, part) == pytest.approx(grid[int(np.argmax(height))], rel=0.01)
    for alpha in (0.05, 1.0, 900.0, 3000.0):
        step = alpha * 1e-5
        up, down = (likelihood.log_marginal_likelihood(np.array([alpha + s]))[0] for s in (step, -step))
        assert likelihood.derivative(np.array([alpha]))[0] == pytest.approx(
            (up - down) / (2 * step), rel=2e-3, abs=1e-8
        )


def test_every_feature_of_levels_has_its_own_and_it_does_not_hear_of_the_others():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, [2, 5, 3], (80, 3)), rng.integers(0, 2, 80).astype(np.int32)
    X[:, 2] = np.where(y == 1, X[:, 2], 0)
    part = Levels.of(X, y, None, 2)
    alone = [best_alpha(Categorical(), part.take_features(np.array([j])))[0] for j in range(3)]
    assert best_alpha(Categorical(), part).tolist() == alone
    assert len(set(alone)) == 3


def test_counts_of_certain_columns_ask_for_little_and_even_ones_for_much():
    certain = Levels.of(np.repeat([[0], [1]], 50, axis=0), np.repeat([0, 1], 50).astype(np.int32), None, 2)
    even = Levels.of(np.tile([[0], [1]], (50, 1)), np.repeat([0, 1], 50).astype(np.int32), None, 2)
    assert best_alpha(Categorical(), certain)[0] < 0.1
    assert best_alpha(Categorical(), even)[0] == MAX_ALPHA


@pytest.mark.parametrize(
    ("family", "part", "expected"),
    [
        pytest.param(Categorical(), Levels.empty(2, 3), [1.0, 1.0, 1.0], id="no levels"),
        pytest.param(Multinomial(), Counts.empty(2, 3), 1.0, id="no words"),
        pytest.param(Multinomial(), Tallies.empty(2, 0), 1.0, id="no vocabulary"),
        pytest.param(Poisson(), Counts.empty(2, 3), 1.0, id="no counts"),
        pytest.param(Joint(), Cells.empty(2, 2), 1.0, id="no cells"),
        pytest.param(
            Categorical(), Levels.of(np.zeros((4, 1), int), np.zeros(4, np.int32), None, 1), [1.0], id="one level"
        ),
    ],
)
def test_where_nothing_was_counted_it_is_laplaces(family, part, expected):
    assert np.array_equal(best_alpha(family, part), expected)


def test_weights_count_as_so_many_draws():
    half = Counts(WORDS * 0.5, BAG.weight * 0.5)
    likelihood = compound_likelihood(Multinomial(), half).log_marginal_likelihood(np.array([0.7]))[0]
    exact = sum(
        sum(math.lgamma(n / 2 + 0.7) - math.lgamma(0.7) for n in row)
        + math.lgamma(2.8)
        - math.lgamma(row.sum() / 2 + 2.8)
        for row in WORDS
    )
    assert likelihood == pytest.approx(exact, rel=1e-12)


def test_rising_factorials_keep_their_digits_far_from_zero():
    exact = math.log(math.prod(10**12 + i for i in range(30)))
    assert log_rising(np.array([1e12]), np.array([30.0]))[0] == pytest.approx(exact, rel=1e-14)


def test_a_family_without_a_pseudo_count_stays_as_it_is():
    gaussian, part = Gaussian(), Moments.of(np.array([[1.0], [2.0]]), np.zeros(2, np.int32), None, 1)
    assert best_alpha(gaussian, part) is None
    assert with_alpha(gaussian, best_alpha(gaussian, part)) == gaussian
