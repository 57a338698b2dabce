"""Pictures of confusion: a cell is a number of rows, its shade their share of the true class."""

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.colors import rgb_to_hsv

from deciban.errors import InputError
from deciban.metrics import Scorecard, report_of
from deciban.plots import confusion
from deciban.plots.heat_map import make_colour_map
from tests.plots.readability import assert_readable
from tests.plots.reports import LONG, posteriors, report


def cells(ax):
    """The number in each cell that has one."""
    return {tuple(map(int, text.get_position()[::-1])): text.get_text() for text in ax.texts}


def test_cells_hold_the_numbers_and_shares_of_the_confusion():
    evaluated = report(300, 3)
    shown = cells(confusion(evaluated))
    for k, line in enumerate(evaluated.confusion):
        for l, n in enumerate(line):
            assert shown[k, l] == f"{n:.0f}\n{100 * n / line.sum():.0f} %"


def test_shades_are_shares_of_the_true_class():
    evaluated = report(300, 4)
    shares = evaluated.confusion / evaluated.confusion.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(confusion(evaluated).images[0].get_array(), shares)


def test_precision_and_recall_are_along_the_sides():
    evaluated = report(200, 3)
    ax = confusion(evaluated)
    right, top = ax.child_axes
    assert [t.get_text() for t in right.get_yticklabels()] == [f"{100 * share:.0f}" for share in evaluated.recall]
    assert [t.get_text() for t in top.get_xticklabels()] == [f"{100 * share:.0f}" for share in evaluated.precision]


@pytest.mark.parametrize(
    ("K", "names"), [*((K, "long") for K in (1, 2, 3, 8, 9, 26, 40)), *((K, "short") for K in (2, 9, 26))]
)
def test_no_text_touches_another(K, names):
    called = [f"{LONG}{k}" if names == "long" else chr(65 + k) for k in range(K)]
    assert_readable(confusion(report(20 * K, K, called)).figure)


def test_large_numbers_are_shortened_until_they_fit():
    scores, truth = posteriors(500, 26)
    heavy = report_of(scores, truth, np.full(500, 12_345.0), None, list(range(26)))
    assert_readable(confusion(heavy).figure)


@pytest.mark.parametrize("K", [60, 300])
def test_hundreds_of_classes_are_shades_with_some_of_the_names(K):
    ax = confusion(report(10 * K, K))
    assert not ax.texts
    assert 20 <= len(ax.get_yticklabels()) <= 70
    assert_readable(ax.figure)


def test_one_row_and_a_class_without_rows():
    ax = confusion(report_of(np.log([[0.7, 0.2, 0.1]]), np.array([1]), None, None, "abc"))
    assert cells(ax)[1, 0] == "1\n100 %"
    assert [t.get_text() for t in ax.child_axes[0].get_yticklabels()] == ["–", "0", "–"]
    assert_readable(ax.figure)


def test_rows_of_classes_that_were_not_learned_are_counted_beneath():
    evaluated = report_of(np.log([[0.7, 0.3], [0.6, 0.4], [0.5, 0.5]]), np.array([0, -1, -1]), None, None, "ab")
    assert "2 rows are of a class that was not learned" in confusion(evaluated).get_xlabel()


def test_shades_keep_their_order_in_grey():
    luminance = make_colour_map()(np.linspace(0, 1, 64))[:, :3] @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(luminance) < 0).all()
    assert rgb_to_hsv(make_colour_map()(0.6)[:3])[2] > 0.5


def test_it_is_drawn_on_the_given_axes_and_needs_no_rows():
    _, ax = pyplot.subplots(figsize=(3, 3))
    scores, truth = posteriors(50, 5)
    drawn = confusion(Scorecard.of(scores, truth).report(list("abcde")), ax=ax)
    assert drawn is ax
    assert isinstance(drawn, Axes)


def test_thousands_of_classes_are_refused():
    with pytest.raises(InputError, match="1 to 400 classes, not 401"):
        confusion(report(401, 401))
