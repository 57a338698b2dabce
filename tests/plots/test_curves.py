"""The sigmoid with its rows, and the four losses."""

import math

import numpy as np
import pytest

from deciban.errors import InputError
from deciban.plots import losses, sigmoid
from deciban.plots.theory_pictures import LOSSES
from tests.plots.readability import assert_readable

DB = 10 / math.log(10)


def strewn(ax, gid):
    return next(part.get_offsets() for part in ax.collections if part.get_gid() == gid)


def test_the_curve_leads_from_decibans_to_probabilities():
    (line,) = sigmoid().lines[:1]
    x, p = line.get_data()
    np.testing.assert_allclose(10 * np.log10(p / (1 - p)), x, atol=1e-9)


def test_rows_of_the_class_stand_above_and_the_others_below():
    f = np.array([-3.0, -1.0, 0.5, 2.0, 9.0])
    hit = np.array([False, True, False, True, True])
    ax = sigmoid(f, hit, label="ill")
    above, below = strewn(ax, "hits"), strewn(ax, "others")
    np.testing.assert_allclose(above[:, 0], f[hit] * DB)
    np.testing.assert_allclose(below[:, 0], f[~hit] * DB)
    assert (above[:, 1] > 1).all()
    assert (below[:, 1] < 0).all()


def test_the_shares_are_those_of_the_rows_in_each_band():
    rng = np.random.default_rng(0)
    f = rng.normal(0, 3, 3000)
    hit = rng.random(3000) < 1 / (1 + np.exp(-f))
    ax = sigmoid(f, hit)
    found = [(line.get_xdata()[0], line.get_ydata()[0]) for line in ax.lines if line.get_gid() == "share"]
    reach = ax.lines[0].get_xdata()[-1]
    edges = np.linspace(-reach, reach, 12)
    assert len(found) >= 9
    for x, share in found[1:-1]:  # rows beyond the picture are in those at its edges
        low = edges[edges <= x].max()
        rows = (f * DB >= low) & (f * DB < low + edges[1] - edges[0])
        assert share == pytest.approx(hit[rows].mean())
        assert x == pytest.approx((f * DB)[rows].mean())
        assert share == pytest.approx(1 / (1 + math.exp(-x / DB)), abs=0.12)


def test_rows_that_are_surer_than_the_picture_is_wide_stand_at_its_edge():
    ax = sigmoid([-math.inf, 200.0, 1.0], [False, True, True])
    assert strewn(ax, "others")[0, 0] == -50
    assert strewn(ax, "hits")[:, 0].max() == 50
    assert "beyond" in ax.get_xlabel()


@pytest.mark.parametrize("n", [0, 1, 2, 2000])
def test_every_text_can_be_read(n):
    rng = np.random.default_rng(n)
    f = rng.normal(0, 20, n)
    assert_readable(sigmoid(f, rng.random(n) < 0.5, label="a class with a name far too long for a picture").figure)


@pytest.mark.parametrize(
    ("odds", "hits", "words"),
    [([1.0], [True, False], "for each row"), ([math.nan], [True], "NaN in row 0"), ([[1.0]], [[True]], "shapes")],
)
def test_rows_that_make_no_sense_are_refused(odds, hits, words):
    with pytest.raises(InputError, match=words):
        sigmoid(odds, hits)


MARGINS = [-2.0, -0.5, 0.0, 0.5, 1.0, 2.0]
BY_HAND = {
    "zero-one": [1, 1, 1, 0, 0, 0],
    "logistic": [math.log2(1 + math.exp(-m)) for m in MARGINS],
    "exponential": [math.exp(-m) for m in MARGINS],
    "hinge": [3, 1.5, 1, 0.5, 0, 0],
}


@pytest.mark.parametrize("name", list(LOSSES))
def test_each_loss_is_as_by_hand_and_bounds_the_zero_one_loss(name):
    line = next(line for line in losses().lines if line.get_gid() == name)
    m, loss = line.get_data()
    for margin, expected in zip(MARGINS, BY_HAND[name]):
        if margin or name != "zero-one":  # at 0 the step is upright
            assert np.interp(margin, m, loss) == pytest.approx(expected, abs=1e-4)
    assert (loss[m < 0] >= 1 - 1e-12).all()
    assert (loss >= 0).all()
    assert LOSSES[name][1](np.array([0.0]))[0] == pytest.approx(1)


def test_the_losses_can_be_read_and_distinct_without_colour():
    ax = losses()
    assert_readable(ax.figure)
    styles = [line.get_linestyle() + str(line._unscaled_dash_pattern) for line in ax.lines[:4]]
    assert len(set(styles)) == 4
