"""The full joint table against its definition, cell by cell, and where it has more cells than any float can count."""

import math
import warnings
from itertools import product

import numpy as np
import pytest

from deciban import JointBayes
from deciban.families.level_families import Joint
from deciban.ledger import Cells
from deciban.scores import lookup as table

K, SIZES = 3, (2, 3, 4)
ALPHAS = [0.0, 0.5]
UNSEEN = ["ignore", "smooth"]
every_alpha = pytest.mark.parametrize("alpha", ALPHAS)
every_unseen = pytest.mark.parametrize("unseen", UNSEEN)


def count_cells(seed, n=12, classes=(0, 2), d=3):
    """Weighted rows of some classes; by default class 1 has none."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, SIZES[:d], (n, d))
    y = rng.choice(classes, n).astype(np.int32)
    w = rng.integers(1, 9, n) / 4
    return X, y, w, Cells.of(X, y, w, K)


def to_dense(X, y, w, alpha, unseen):
    """p(x|k) of every cell, one at a time; a level V_j stands for all never seen if they are smoothed."""
    cells = list(product(*(range(v + (unseen == "smooth")) for v in SIZES)))
    p = np.zeros((K, *(v + (unseen == "smooth") for v in SIZES)))
    for k in range(K):
        mine = (y == k) if alpha > 0 or (y == k).any() else np.ones(len(y), dtype=bool)
        for x in cells:
            count = w[mine & (x == X).all(axis=1)].sum()
            p[(k, *x)] = (count + alpha) / (w[mine].sum() + alpha * len(cells))
    return p


def sum_cells(p, row, unseen):
    """p(what the row has | k): summed over what is missing, or ignored."""
    where = [
        slice(None) if v < 0 or (v >= size and unseen == "ignore") else slice(min(v, size), min(v, size) + 1)
        for v, size in zip(row, SIZES)
    ]
    return p[(slice(None), *where)].sum(axis=(1, 2, 3))


@every_alpha
@every_unseen
@pytest.mark.parametrize("few", [0, table.MIN_GROUPED_ROWS, 10**9])
@pytest.mark.parametrize("seed", range(4))
def test_every_row_with_holes_and_unseen_levels_is_as_defined(alpha, unseen, few, seed, monkeypatch):
    monkeypatch.setattr(table, "MIN_GROUPED_ROWS", few)
    X, y, w, part = count_cells(seed)
    rows = np.array(list(product(*(range(-1, v + 2) for v in SIZES))))
    rows = np.random.default_rng(seed).permutation(np.concatenate([rows, rows, rows]))
    p = to_dense(X, y, w, alpha, unseen)
    with np.errstate(divide="ignore"):
        expected = np.log([sum_cells(p, row, unseen) for row in rows])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        actual = Joint(alpha, unseen, SIZES).solve(part).log_likelihoods(rows)
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)


def test_codes_beyond_a_byte_are_distinguished():
    """300 − 256 = 44, were levels kept in a byte."""
    part = Cells.of(np.array([[300, 0], [44, 0]]), np.array([0, 1], np.int32), None, 2)
    assert Joint().solve(part).log_likelihoods(np.array([[44, 0], [300, 0]])).tolist() == [
        [-np.inf, 0.0],
        [0.0, -np.inf],
    ]
    narrow = Joint(alpha=1.0, unseen="smooth").solve(
        Cells.of(np.array([[0], [1]]), np.array([0, 1], np.int32), None, 2)
    )
    np.testing.assert_allclose(narrow.log_likelihoods(np.array([[2], [256], [257]])), np.log(1 / 4), rtol=1e-12)


@every_alpha
@every_unseen
@pytest.mark.parametrize("n", [0, 1, 12, 200])
@pytest.mark.parametrize("least", [None, SIZES])
def test_the_probabilities_of_every_row_sum_to_one(alpha, unseen, n, least):
    *_, part = count_cells(0, n)
    family = Joint(alpha, unseen, least)
    rows, log_times = family.enumerate_rows(part)
    assert len(rows) == len(log_times) <= len(part.cell) + 1
    assert len(np.unique(rows, axis=0)) == len(rows)
    p = np.exp(family.solve(part).log_likelihoods(rows) + log_times[:, None])
    np.testing.assert_allclose(p.sum(axis=0), np.ones(K), rtol=1e-12)
    if alpha > 0 and least is not None:
        expected = math.prod(v + (unseen == "smooth") for v in SIZES)
        np.testing.assert_allclose(np.exp(log_times).sum(), expected, rtol=1e-12)


@every_alpha
@every_unseen
def test_more_cells_than_a_float_can_count(alpha, unseen):
    """2¹¹⁰⁰ overflows; its logarithm is 762."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (20, 1100)), np.arange(20) % 2
    part = Cells.of(X, y.astype(np.int32), None, 2)
    family = Joint(alpha, unseen)
    holes = np.where(rng.random(X.shape) < 0.5, -1, X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = [family.solve(part).log_likelihoods(rows) for rows in (X, holes, 1 - X, np.full_like(X, -1))]
        rows, log_times = family.enumerate_rows(part)
        p = np.exp(family.solve(part).log_likelihoods(rows) + log_times[:, None])
        draws = family.sample(part, y, rng)
        likelihood = family.log_likelihood(part, part)
        winners = JointBayes(alpha=alpha, unseen=unseen).fit(X, y).predict(X)
    assert not np.isnan(scores).any()
    assert not np.isposinf(scores).any()
    np.testing.assert_allclose(scores[-1], 0.0, atol=1e-12)
    np.testing.assert_allclose(p.sum(axis=0), 1.0, rtol=1e-10)
    assert draws.shape == X.shape
    levels = 2 + (unseen == "smooth")
    expected = 20 * (np.log(1.5) - 1100 * np.log(levels) - np.log(0.5)) if alpha > 0 else 20 * np.log(1 / 10)
    np.testing.assert_allclose(likelihood, expected, rtol=1e-12)
    assert winners.tolist() == y.tolist()


@every_alpha
@every_unseen
def test_a_table_nobody_filled_says_nothing_of_its_missing_columns(alpha, unseen):
    part = Cells.of(np.array([[0, -1], [1, -1]]), np.array([0, 1], np.int32), None, 2)
    family = Joint(alpha, unseen)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = family.solve(part).log_likelihoods(np.array([[0, 0], [-1, -1], [5, 1]]))
        draws = family.sample(part, np.array([0, 1, 1]), np.random.default_rng(0))
    assert scores.tolist() == np.zeros((3, 2)).tolist()
    assert draws.tolist() == np.zeros((3, 2)).tolist()
    assert family.n_parameters(part) == 0
    assert family.log_likelihood(part, part) == 0.0


@every_alpha
@every_unseen
def test_the_likelihood_is_that_of_the_rows_under_the_table_solved_with_imagined_ones(alpha, unseen):
    X, y, w, part = count_cells(1)
    family = Joint(alpha, unseen)
    *_, imagined = count_cells(2, classes=(0, 1, 2))
    for solved in (part, part + imagined):
        rows = family.solve(solved).log_likelihoods(X)[np.arange(len(y)), y]
        np.testing.assert_allclose(family.log_likelihood(part, solved), w @ rows, rtol=1e-12)


@every_alpha
@every_unseen
def test_rows_are_drawn_as_often_as_the_table_says(alpha, unseen):
    n = 60_000
    X, y, w, part = count_cells(3)
    codes = np.arange(n) % K
    draws = Joint(alpha, unseen, SIZES).sample(part, codes, np.random.default_rng(0))
    p = to_dense(X, y, w, alpha, unseen)
    share = np.zeros_like(p)
    np.add.at(share, (codes, *draws.T), K / n)
    error = np.sqrt(p * (1 - p) * K / n)
    assert (np.abs(share - p) <= 5 * error).all()


@every_alpha
@pytest.mark.parametrize("n", [0, 12])
def test_no_rows_are_drawn_and_scored_when_none_are_wanted(alpha, n):
    *_, part = count_cells(4, n)
    family = Joint(alpha)
    none = family.sample(part, np.zeros(0, dtype=np.intp), np.random.default_rng(0))
    assert none.shape == (0, 3)
    assert none.dtype == np.int64
    assert family.solve(part).log_likelihoods(none).shape == (0, K)


def test_a_hundred_thousand_rows_complete_or_with_holes_are_scored():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (100_000, 15))
    part = Cells.of(X, (np.arange(len(X)) % 2).astype(np.int32), None, 2)
    form = Joint(alpha=1.0).solve(part)
    known = form.log_likelihoods(X)
    holes = X.copy()
    holes[::2, 4] = -1
    filled = [np.where(holes < 0, v, holes) for v in (0, 1)]
    expected = np.logaddexp(*(form.log_likelihoods(rows) for rows in filled))
    np.testing.assert_allclose(form.log_likelihoods(holes)[::2], expected[::2], rtol=1e-12)
    assert (form.log_likelihoods(holes)[1::2] == known[1::2]).all()


@every_alpha
def test_the_bayes_error_where_every_row_has_holes_is_that_of_the_prior(alpha):
    X = np.array([[0, np.nan], [np.nan, 1], [np.nan, 1]])
    model = JointBayes(alpha=alpha, prior_alpha=0.0).fit(X, [0, 1, 1])
    error = model._check_fitted().bayes_error(10, np.random.default_rng(0), 1)
    np.testing.assert_allclose(error, 1 - model._check_fitted().solved.prior.max(), rtol=1e-12)
