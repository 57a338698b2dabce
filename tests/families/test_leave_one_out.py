"""Leave-one-out losses of single columns, against fitting again without each row."""

import numpy as np
import pytest

from deciban.families.binned import Binned
from deciban.families.column_losses import binned_loss, gaussian_loss, poisson_loss
from deciban.families.count_families import Poisson
from deciban.families.gaussian import Gaussian
from deciban.ledger import Counts, Grid, Moments


def gaussian_or_binned(moments, grid, alpha, prior_rows):
    return gaussian_loss(moments, grid, prior_rows), binned_loss(grid, alpha)


def rows(n=60, K=3):
    """Two columns, some missing, and a class without rows."""
    rng = np.random.default_rng(4)
    y = rng.integers(0, K, n).astype(np.int32)
    x = np.stack([rng.normal(y, 1.0, n), rng.lognormal(0, 0.2 + y, n)], axis=1)
    x[rng.random(x.shape) < 0.1] = np.nan
    return x, y


def brute(x, y, K, joint):
    """The mean of −ln p(y|x) over rows; `joint(x, y, row)` are the scores of the row by a model of x and y."""
    total, n = 0.0, 0
    for i in range(len(x)):
        others = np.delete(np.arange(len(x)), i)
        counts = np.bincount(y[others], minlength=K)
        if counts[y[i]]:
            with np.errstate(divide="ignore"):
                score = np.log(counts) + joint(x[others], y[others], x[i])
            total -= score[y[i]] - np.logaddexp.reduce(score)
            n += 1
    return total / n


def column(x, y, j):
    have = ~np.isnan(x[:, j])
    return x[have][:, [j]], y[have]


def test_gaussians_are_those_fitted_without_the_row():
    x, y = rows()

    def joint(x, y, row):
        form = Gaussian().solve(Moments.of(x, y, None, 4))
        return -0.5 * (np.log(form.variance[:, 0]) + (row[0] - form.mean[:, 0]) ** 2 / form.variance[:, 0])

    loss = gaussian_loss(Moments.of(x, y, None, 4), Grid.of(x, y, None, 4), 0.0)
    expected = [brute(*column(x, y, j), 4, joint) for j in range(2)]
    np.testing.assert_allclose(loss, expected, rtol=1e-9)


def test_imagined_rows_have_the_variance_of_all_rows():
    x, y = rows(n=300)
    pooled = Moments.of(x, y, None, 3)

    def joint(x, y, row):
        form = Gaussian(prior_rows=2.0, bounded=True).solve(Moments.of(x, y, None, 3))
        return form.log_likelihoods(row[None])[0]

    loss = gaussian_loss(pooled, Grid.of(x, y, None, 3), 2.0)
    expected = [brute(*column(x, y, j), 3, joint) for j in range(2)]
    np.testing.assert_allclose(loss, expected, rtol=1e-3)


@pytest.mark.parametrize("alpha", [1.0, 0.3])
def test_bins_are_counted_without_the_row(alpha):
    x, y = rows(n=200)
    grid = Grid.of(x, y, None, 4)
    form = Binned(alpha).solve(grid)
    assert len(form.cuts)
    bins = form.bins(x)

    def joint(j):
        B = form.start[j + 1] - form.start[j] + 1

        def score(b, y, row):
            n = np.array([[((y == k) & (b[:, 0] == v)).sum() for v in range(B)] for k in range(4)])
            return np.log((n + alpha) / (n.sum(axis=1, keepdims=True) + alpha * B))[:, int(row[0])]

        return score

    expected = [brute(*column(np.where(bins < 0, np.nan, bins), y, j), 4, joint(j)) for j in range(2)]
    np.testing.assert_allclose(binned_loss(grid, alpha), expected, rtol=1e-12)


def test_rates_are_those_fitted_without_the_row():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 50).astype(np.int32)
    x = rng.poisson(2.0 + 3 * y)[:, None].astype(float)
    mean = x.mean()

    def joint(x, y, row):
        part = Counts.of(x, y, None, 2)
        rate = (part.total + mean) / (part.weight + 1)
        return (row * np.log(rate) - rate)[:, 0]

    loss = poisson_loss(Counts.of(x, y, None, 2), Grid.of(x, y, None, 2), 1.0)
    np.testing.assert_allclose(loss, [brute(x, y, 2, joint)], rtol=1e-12)
    assert Poisson().rates(Counts.of(x, y, None, 2)).shape == (2, 1)


def test_gaussians_win_on_gaussian_data_and_bins_on_other_shapes():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 4000).astype(np.int32)
    normal = rng.normal(y, 1.0)
    humps = np.where(y == 0, rng.normal(0, 1, 4000), rng.choice([-3.0, 3.0], 4000) + rng.normal(0, 1, 4000))
    rings = np.where(y == 0, rng.lognormal(0, 2, 4000), rng.lognormal(1.5, 0.5, 4000))
    x = np.stack([normal, humps, rings], axis=1)
    gaussians, bins = gaussian_or_binned(Moments.of(x, y, None, 2), Grid.of(x, y, None, 2), 1.0, 1.0)
    assert gaussians[0] < bins[0]
    assert bins[2] < gaussians[2]
    assert (gaussians < np.log(2) + 0.3).all()


def test_a_class_that_is_constant_is_no_trouble_however_coarse_its_cell():
    """Where a column has many values, the middle of a cell is far from a mean that is known exactly."""
    rng = np.random.default_rng(4)
    y = np.repeat([0, 1], 5000).astype(np.int32)
    x = np.where(y == 0, 2001.0001, rng.choice([1990.0, 2003.0, 2010.0], 10_000) + rng.random(10_000))[:, None]
    grid = Grid.of(x, y, None, 2)
    assert grid.bits[0] < 20
    gaussians, _ = gaussian_or_binned(Moments.of(x, y, None, 2), grid, 1.0, 1.0)
    assert gaussians[0] < 0.7


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (np.full((4, 1), np.nan), [0, 0, 1, 1]),
        (np.array([[1.0], [2.0]]), [0, 1]),
        (np.zeros((0, 1)), []),
    ],
    ids=["missing", "one row a class", "no rows"],
)
def test_without_anything_to_predict_both_losses_are_zero(x, y):
    codes = np.array(y, dtype=np.int32)
    gaussians, bins = gaussian_or_binned(Moments.of(x, codes, None, 2), Grid.of(x, codes, None, 2), 1.0, 1.0)
    assert (gaussians.tolist(), bins.tolist()) == ([0.0], [0.0])


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("prior_rows", [0.0, 1.0])
def test_losses_are_never_nan(alpha, prior_rows):
    y = np.array([0, 0, 1, 1, 1, 2], np.int32)
    x = np.array([[1, 5, 1e100], [1, 5, -1e100], [7, 5, 0], [7, 5, 1e-300], [7, 6, 3], [9, 5, 4.0]])
    losses = gaussian_or_binned(Moments.of(x, y, None, 4), Grid.of(x, y, None, 4), alpha, prior_rows)
    assert not np.isnan(losses).any()
