"""Levels with their own parameters: levels without weight, and all but the most frequent ones are pooled."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deciban.families.level_families import Categorical
from deciban.ledger import Levels

TABLE = np.array([[5.0, 0, 1, 0, 2, 1], [1.0, 0, 1, 0, 0, 3]])  # levels 1 and 3 have no weight; totals 6 0 2 0 2 4
PART = Levels(TABLE, np.array([0, 6]))
OTHERS = [
    Categorical(holes="unseen"),
    Categorical(holes="unseen", most=2),
    Categorical(holes="unseen", most=2, unseen="smooth"),
    Categorical(most=3),
    Categorical(holes="unseen", most=1, min_levels=(5,)),
    Categorical(alpha=0.0, holes="unseen", most=2),
]


def theta(family, code, part=PART):
    """θ of one code in each class, as the rows are scored."""
    return np.exp(family.solve(part).log_likelihoods(np.array([[code]]))[0])


def test_a_level_without_weight_is_unseen_if_that_is_asked_for():
    plain, holed = Categorical(), Categorical(holes="unseen")
    assert theta(plain, 0).tolist() == [float(Fraction(6, 15)), float(Fraction(2, 11))]
    np.testing.assert_allclose(theta(holed, 0), [6 / 13, 2 / 9])
    for code in (1, 3, 6, 99):
        assert theta(holed, code).tolist() == [1, 1]
    smooth = Categorical(holes="unseen", unseen="smooth")
    np.testing.assert_allclose(theta(smooth, 0), [6 / 14, 2 / 10])
    for code in (1, 3, 6, 99):
        np.testing.assert_allclose(theta(smooth, code), [1 / 14, 1 / 10])


def test_a_level_declared_is_known_without_weight_only_where_holes_are_levels():
    family = Categorical(min_levels=(8,))
    np.testing.assert_allclose(theta(family, 7), [1 / 17, 1 / 13])
    assert theta(replace(family, holes="unseen"), 7).tolist() == [1, 1]
    assert replace(family, holes="unseen").n_parameters(PART) == 2 * 3


def test_only_the_most_frequent_levels_are_separate():
    family = Categorical(holes="unseen", most=2)  # 0 and 5 apart; 2 and 4 together: 3 and 1 rows
    np.testing.assert_allclose(theta(family, 0), [6 / 12, 2 / 8])
    np.testing.assert_allclose(theta(family, 5), [2 / 12, 4 / 8])
    for code in (2, 4):
        np.testing.assert_allclose(theta(family, code), [4 / 12, 2 / 8])
    assert theta(family, 1).tolist() == [1, 1]
    assert family.n_parameters(PART) == 2 * 2


def test_of_equally_frequent_levels_the_lower_code_is_kept():
    family = Categorical(most=3)  # 0, 5, 2 apart; 1, 3, 4 together: 2 and 0 rows
    np.testing.assert_allclose(theta(family, 2), [2 / 13, 2 / 9])
    for code in (1, 3, 4):
        np.testing.assert_allclose(theta(family, code), [3 / 13, 1 / 9])


def test_separating_more_levels_than_there_are_changes_nothing():
    for family in (Categorical(), Categorical(holes="unseen", unseen="smooth")):
        capped = Categorical(holes=family.holes, unseen=family.unseen, most=6)
        np.testing.assert_array_equal(capped.solve(PART).log_theta, family.solve(PART).log_theta)


@given(data=st.data())
def test_every_feature_is_pooled_separately(data):
    sizes = data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=4))
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    family = Categorical(
        alpha=data.draw(st.sampled_from([0.5, 1.0])),
        unseen=data.draw(st.sampled_from(["ignore", "smooth"])),
        min_levels=data.draw(st.none() | st.just(tuple(rng.integers(1, 4, len(sizes)).tolist()))),
        holes=data.draw(st.sampled_from(["level", "unseen"])),
        most=data.draw(st.none() | st.integers(0, 4)),
    )
    part = Levels(rng.integers(0, 3, (2, sum(sizes))).astype(float), np.cumsum([0, *sizes])).trim()
    X = rng.integers(-1, 7, (20, len(sizes)))
    alone = 0
    for j in range(len(sizes)):
        least = None if family.min_levels is None else family.min_levels[j : j + 1]
        mine = Categorical(family.alpha, family.unseen, least, family.holes, family.most)
        alone = alone + brute(mine, part.tables()[j], X[:, j])
    np.testing.assert_allclose(family.solve(part).log_likelihoods(X), alone, rtol=1e-12, atol=1e-12)


def brute(family, table, codes):
    """The score of one feature, counted level by level."""
    least = 0 if family.min_levels is None else family.min_levels[0]
    count = {v: table[:, v] if v < table.shape[1] else np.zeros(2) for v in range(max(table.shape[1], least))}
    known = [v for v in count if family.holes == "level" or count[v].any()]
    known.sort(key=lambda v: (-count[v].sum(), v))
    cut = len(known) if family.most is None else family.most
    groups = [[v] for v in known[:cut]] + ([known[cut:]] if known[cut:] else [])
    whole = sum(count.values(), np.zeros(2)) + family.alpha * (len(groups) + (family.unseen == "smooth"))
    scores = {v: np.log((sum(count[u] for u in group) + family.alpha) / whole) for group in groups for v in group}
    unknown = np.log(family.alpha / whole) if family.unseen == "smooth" else np.zeros(2)
    return np.array([np.zeros(2) if v < 0 else scores.get(v, unknown) for v in codes.tolist()])


@pytest.mark.parametrize("family", OTHERS, ids=str)
def test_rows_stand_for_all_there_can_be(family):
    rows, log_times = family.enumerate_rows(PART)
    np.testing.assert_allclose(np.exp(family.solve(PART).log_likelihoods(rows) + log_times[:, None]).sum(axis=0), 1)


@pytest.mark.parametrize("family", OTHERS, ids=str)
def test_rows_drawn_have_the_levels_shares(family):
    k = np.repeat([0, 1], 40_000)
    draws = family.sample(PART, k, np.random.default_rng(0))[:, 0]
    form = family.solve(PART)
    rows, _ = family.enumerate_rows(PART)
    for code in rows[:, 0]:
        same = np.isclose(form.log_theta, form.log_likelihoods(np.array([[code]])).T).all(axis=0)
        group = np.flatnonzero(same) if code < 6 else np.array([6])
        for c in range(2):
            share = np.isin(draws[k == c], group).mean()
            assert share == pytest.approx(np.exp(form.log_likelihoods(np.array([[code]]))[0, c]), abs=0.01)
    if family.most == 2:  # levels 2 and 4 were seen equally often
        assert (draws == 2).sum() == pytest.approx((draws == 4).sum(), rel=0.1)


@pytest.mark.parametrize("family", OTHERS, ids=str)
def test_the_likelihood_of_the_rows_counted_is_the_sum_of_their_scores(family):
    scores = family.solve(PART).log_likelihoods(np.arange(6)[:, None])
    expected = (TABLE.T * np.where(TABLE.T == 0, 0, scores)).sum()
    assert family.log_likelihood(PART, PART) == pytest.approx(expected, rel=1e-12)
