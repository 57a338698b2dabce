"""Shares of levels that are shrunk to those of all classes: the formula, its parameter, and what follows."""

from fractions import Fraction
from math import lgamma

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import digamma

from deciban.families.binned import Binned
from deciban.families.level_families import Categorical
from deciban.families.pooled_shares import fit_pooling, pooled_pseudo_counts
from deciban.ledger import Grid, Levels

ONE = np.ones(1)
FAMILY = Categorical(1.0, holes="unseen", pooled=True)


def part_of(table):
    table = np.array(table, dtype=float)
    return Levels(table, np.array([0, table.shape[1]]))


def theta(table, family=FAMILY):
    return np.exp(family.solve(part_of(table)).log_theta)


def draw_table(seed, K=2, V=6, n=(400, 30)):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(V, 0.5), K)
    return np.array([rng.multinomial(n[k % len(n)], share) for k, share in enumerate(shares)]).astype(float)


def test_the_formula():
    table = [[300, 98, 2], [6, 14, 0]]
    m = Fraction(float(pooled_pseudo_counts(part_of(table), ONE)[2][0]))
    for k, rows in enumerate(table):
        N, N_k, K, V, a = 420, sum(rows), 2, 3, 1
        for v, n in enumerate(rows):
            p = (sum(row[v] for row in table) + a * K) / (N + a * K * V)
            pi = Fraction(N_k, N)
            expected = (n + a * K * pi + m * p) / (N_k + a * K * V * pi + m)
            assert theta(table)[k, v] == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_m_has_the_highest_marginal_likelihood(seed):
    table = draw_table(seed, K=3)
    part, N = part_of(table), table.sum(axis=1)
    p, weight = (table.sum(axis=0) + 3) / (table.sum() + 3 * 6), 1 - N / N.sum()

    def height(m):
        cells = [sum(lgamma(n + m * b) - lgamma(m * b) for n, b in zip(row, p)) for row in table]
        return sum(w * (lgamma(m) - lgamma(n + m) + cell) for w, n, cell in zip(weight, N, cells))

    found = float(fit_pooling(part, p, weight[:, None])[0])
    assert height(found) == pytest.approx(max(map(height, np.geomspace(1e-2, 1e6, 400))), abs=1e-2)
    assert height(found) >= max(height(found * 1.1), height(found / 1.1))


@pytest.mark.parametrize("seed", range(20))
def test_m_is_the_root_of_the_derivative_of_few_rows_with_weights_too(seed):
    rng = np.random.default_rng(seed)
    counts = [rng.uniform(0, 8, (3, v)) * np.vstack([np.ones(v), rng.random((2, v)) < 0.8]) for v in (7, 4)]
    part = Levels(np.hstack(counts), np.array([0, 7, 11]))
    pooled = np.concatenate([table.sum(axis=0) / table.sum() for table in counts])
    weight = np.column_stack([1 - table.sum(axis=1) / table.sum() for table in counts])
    for j, (table, found) in enumerate(zip(counts, fit_pooling(part, pooled, weight))):
        p = table.sum(axis=0) / table.sum()

        def slope(log_m, table=table, p=p, w=weight[:, j]):
            m = np.exp(log_m)
            levels = (p * (digamma(table + m * p) - digamma(m * p))).sum(axis=1)
            return w @ (levels - digamma(m + table.sum(axis=1)) + digamma(m))

        low, high = np.log(1e-2), np.log(1e6)
        expected = brentq(slope, low, high, xtol=1e-12) if slope(low) > 0 > slope(high) else high
        assert np.log(found) == pytest.approx(expected, abs=1e-5)


@given(st.integers(0, 10_000), st.sampled_from([(400, 30), (50, 50), (5, 2000)]))
def test_evidence_has_the_sign_of_the_difference_of_shares_and_lies_between_theirs_and_none(seed, n):
    table = draw_table(seed, n=n)
    shares, found = table / table.sum(axis=1, keepdims=True), theta(table)
    seen = table.any(axis=0)
    with np.errstate(divide="ignore"):
        raw, evidence = np.log(shares[0]) - np.log(shares[1]), np.log(found[0]) - np.log(found[1])
    assert (np.abs(evidence[seen]) <= np.abs(raw[seen]) + 1e-12).all()
    assert (evidence[seen] * np.sign(raw[seen]) >= -1e-12).all()
    np.testing.assert_allclose(found[:, seen].sum(axis=1), 1)


def test_a_level_seen_once_in_the_common_class_does_not_speak_for_the_rare_one():
    table = np.vstack([np.append(np.full(50, 199.0), 1.0), np.append(np.full(50, 1.0), 0.0)])
    rare = theta(table)[1, -1] / theta(table)[0, -1]
    assert 0.9 < rare <= 1
    assert theta(table, Categorical())[1, -1] / theta(table, Categorical())[0, -1] > 30  # Laplace


def test_a_level_never_seen_is_alike_in_all_classes_where_it_is_smoothed():
    form = Categorical(1.0, unseen="smooth", holes="unseen", pooled=True).solve(part_of(draw_table(1)))
    assert form.unseen[0, 0] == pytest.approx(form.unseen[1, 0], rel=1e-12)
    np.testing.assert_allclose(np.exp(form.log_theta).sum(axis=1) + np.exp(form.unseen[:, 0]), 1)


def test_names_of_classes_classes_without_rows_and_rows_twice_change_what_they_should():
    table = draw_table(3, K=3)
    np.testing.assert_allclose(theta(table[::-1])[::-1], theta(table), rtol=1e-9)
    np.testing.assert_allclose(theta(np.vstack([table, np.zeros(6)]))[:3], theta(table), rtol=1e-9)
    twice = Levels.of(np.repeat([[0], [1], [1]], 2, axis=0), np.repeat([0, 0, 1], 2).astype(np.int32), None, 2)
    weighted = Levels.of(np.array([[0], [1], [1]]), np.array([0, 0, 1], np.int32), np.full(3, 2.0), 2)
    np.testing.assert_array_equal(FAMILY.solve(twice).log_theta, FAMILY.solve(weighted).log_theta)


def test_a_level_split_in_two_at_random_keeps_its_evidence():
    table = np.array([[900.0, 800, 700], [60.0, 20, 90]])
    halves = np.column_stack([table[:, :1] / 2, table[:, :1] / 2, table[:, 1:]])
    whole, parts = (np.log(found[0, 0] / found[1, 0]) for found in (theta(table), theta(halves)))
    assert parts == pytest.approx(whole, abs=0.02)


def test_classes_that_are_alike_have_the_pooled_shares():
    table = np.array([[700.0, 200, 100], [7.0, 2, 1]])
    np.testing.assert_allclose(theta(table)[0], theta(table)[1], rtol=1e-3)


def test_bins_follow_the_same_law():
    rng = np.random.default_rng(0)
    y = (np.arange(400) % 4 == 0).astype(np.int32)
    grid = Grid.of(rng.normal(2.0 * y, 1.0)[:, None], y, None, 2)
    family = Binned(1.0, pooled=True)
    counts = family.bins(grid).counts(grid)
    np.testing.assert_array_equal(family.solve(grid).log_theta, Categorical(1.0, pooled=True).solve(counts).log_theta)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "table",
    [[[5.0], [0.0]], [[5.0, 2.0]], [[5.0, 0.0], [0.0, 0.0]], [[1e290, 2.0], [4.0, 4.0]], [[0.0, 0.0]]],
    ids=str,
)
def test_columns_that_say_nothing_are_solved(table):
    assert np.isfinite(FAMILY.solve(part_of(table)).log_theta).all()
