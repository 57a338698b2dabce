"""Pictures of reliability: a point is a bin of confidence, a whisker Wilson's interval, a bar a share of rows."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib import pyplot

from deciban.errors import InputError
from deciban.metrics import report_of
from deciban.metrics.intervals import wilson
from deciban.plots import reliability
from tests.plots.readability import assert_readable
from tests.plots.reports import LONG, posteriors, report


def points(ax):
    """Every point, from the least confidence up."""
    lines = [line for line in ax.lines if line.get_gid() in ("reliability", "vague")]
    return np.array(sorted(map(tuple, np.concatenate([np.column_stack(line.get_data()) for line in lines]))))


def by_hand(scores, truth, bins=15):
    """Confidence, share of hits and rows of each bin that has any."""
    sure, right = np.exp(scores.max(axis=1)), scores.argmax(axis=1) == truth
    place = np.clip(np.ceil(sure * bins).astype(int) - 1, 0, bins - 1)
    return np.array(
        [(sure[place == b].mean(), right[place == b].mean(), (place == b).sum()) for b in np.unique(place)]
    )


def test_points_whiskers_and_bars_are_those_of_the_rows():
    scores, truth = posteriors(400, 3, overconfident=2)
    expected = by_hand(scores, truth)
    ax = reliability(report_of(scores, truth, None, None, "abc"))
    np.testing.assert_allclose(points(ax), expected[:, :2])
    ends = np.sort([segment[:, 1] for line in ax.collections for segment in line.get_segments()], axis=0)
    np.testing.assert_allclose(ends, np.sort([wilson(hits, n) for _, hits, n in expected], axis=0))
    bars = ax.figure.axes[1].patches
    np.testing.assert_allclose([bar.get_height() for bar in bars], expected[:, 2] / 400)
    assert all(bar.get_x() <= mean <= bar.get_x() + bar.get_width() for bar, (mean, _, _) in zip(bars, expected))


def test_two_reports_are_distinct_without_colour():
    ax = reliability(report(300, 2, overconfident=3), report(300, 2), names=["before", "after"])
    lines = [line for line in ax.lines if line.get_gid() == "reliability"]
    assert len({line.get_marker() for line in lines}) == len({line.get_linestyle() for line in lines}) == 2
    assert len({bar.get_hatch() for bar in ax.figure.axes[1].patches}) == 2
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [label.split(":")[0] for label in labels] == ["before", "after"]
    assert_readable(ax.figure)


@pytest.mark.parametrize(("n", "K"), [(1, 2), (1, 26), (30, 2), (500, 3), (2000, 26)])
def test_no_text_touches_another(n, K):
    ax = reliability(report(n, K, overconfident=2), report(n, K), names=[LONG, LONG])
    assert_readable(ax.figure)
    low, high = ax.get_ylim()
    shown = points(ax)
    assert (shown[:, 1] >= low).all()
    assert (shown[:, 1] <= high).all()
    assert (shown[:, 0] >= ax.get_xlim()[0]).all()


def test_a_bin_of_few_rows_is_hollow_and_not_joined():
    ax = reliability(report(40, 3))
    vague = next(line for line in ax.lines if line.get_gid() == "vague")
    assert len(vague.get_xdata())
    assert vague.get_linestyle() == "None"


def test_an_impossible_truth_is_shown_as_infinite():
    evaluated = report_of(np.array([[0.0, -np.inf], [-0.7, -0.7]]), np.array([1, 0]), None, None, "ab")
    assert reliability(evaluated).get_legend().get_texts()[0].get_text().endswith("log-loss ∞")


def test_it_is_drawn_on_the_given_axes():
    _, (_, right) = pyplot.subplots(1, 2)
    assert reliability(report(50, 2), ax=right) is right
    by_hand_placed = pyplot.figure().add_axes([0.2, 0.4, 0.7, 0.5])
    assert reliability(report(50, 2), ax=by_hand_placed) is by_hand_placed


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(InputError, match="1 to 4 reports"):
        reliability()
    with pytest.raises(InputError, match="one name for each of the 2 reports"):
        reliability(report(9, 2), report(9, 2), names=["before"])
    open_before = pyplot.get_fignums()
    with pytest.raises(InputError, match="not kept how sure"):
        reliability(replace(report(9, 2), bins=None))
    assert pyplot.get_fignums() == open_before


def test_shares_of_rows_are_labelled_exactly():
    confidence = np.linspace(0.06, 0.99, 1500)
    p = np.tile(((1 - confidence) / 19)[:, None], 20)
    p[:, 0] = confidence
    truth, names = np.zeros(1500, dtype=int), [f"class {k}" for k in range(20)]
    below = reliability(report_of(np.log(p), truth, None, None, names)).figure.axes[1]
    below.set_ylim(0.0, 0.01)  # whose ticks are fractions of 1 %
    shown = [label.get_text().removesuffix(" %") for label in below.get_yticklabels()]
    assert any("." in text for text in shown)
    np.testing.assert_allclose([float(text) for text in shown], 100 * below.get_yticks(), atol=1e-6)
