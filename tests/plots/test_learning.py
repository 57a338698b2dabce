"""Pictures of learning curves: a point is a model that learned so many rows, a whisker its 95 % interval."""

import numpy as np
import pytest
from matplotlib import pyplot

import deciban
from deciban.errors import InputError
from deciban.metrics import report_of
from deciban.metrics.learning_curves import LearningCurve
from deciban.plots import learning
from tests.plots.readability import assert_readable
from tests.plots.reports import LONG, posteriors, report

SIZES = (20, 40, 80, 160, 320)


def curve(sizes=SIZES, flipped=(0.0,), n=200, K=2, names=None):
    reports = tuple(
        tuple(report(n, K, names, overconfident=1 + share, seed=i) for i, _ in enumerate(sizes)) for share in flipped
    )
    return LearningCurve("y", tuple(sizes), tuple(flipped), reports, len(flipped) > 1)


def drawn(ax):
    return [np.column_stack(line.get_data()) for line in ax.lines if line.get_gid() == "learning"]


@pytest.mark.parametrize("figure", ["accuracy", "log_loss"])
def test_points_and_whiskers_are_those_of_the_reports(figure):
    made = curve()
    ax = learning(made, figure=figure)
    (points,) = drawn(ax)
    np.testing.assert_allclose(points, np.column_stack([SIZES, [getattr(r, figure) for r in made.reports[0]]]))
    whiskers = [segment[:, 1] for segment in ax.collections[0].get_segments()]
    np.testing.assert_allclose(whiskers, [r.intervals[figure] for r in made.reports[0]])
    low, high = ax.get_ylim()
    assert low < np.min(whiskers)
    assert high > np.max(whiskers)


def test_accuracies_are_labelled_exactly():
    ax = learning(curve())
    ax.set_ylim(0.7, 0.9)  # whose ticks are 2.5 % from each other
    shown = [label.get_text().removesuffix(" %") for label in ax.get_yticklabels()]
    assert any("." in text for text in shown)
    np.testing.assert_allclose([float(text) for text in shown], 100 * ax.get_yticks(), atol=1e-6)


def test_each_share_of_wrong_labels_has_a_curve_distinct_without_colour():
    ax = learning(curve(flipped=(0.0, 0.1, 0.25)))
    lines = [line for line in ax.lines if line.get_gid() == "learning"]
    assert len({line.get_marker() for line in lines}) == len({str(line._dash_pattern) for line in lines}) == 3
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels[:3] == ["labels as they are", "10 % of the labels wrong", "25 % of the labels wrong"]
    assert_readable(ax.figure)


def test_the_dotted_line_is_what_the_shares_of_the_classes_give():
    made = curve(K=3)
    last = made.reports[0][-1]
    shares = last.confusion.sum(axis=1) / last.confusion.sum()
    for figure, expected in (("accuracy", shares.max()), ("log_loss", -(shares * np.log(shares)).sum())):
        ax = learning(made, figure=figure)
        bare = next(line for line in ax.lines if line.get_gid() == "bare")
        assert bare.get_ydata()[0] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("sizes", "flipped", "n"),
    [((5,), (0.0,), 1), ((5, 6, 7), (0.0, 0.2), 3), (tuple(20 * 2**i for i in range(22)), (0.0,), 30)],
)
def test_no_text_touches_another(sizes, flipped, n):
    for figure in ("accuracy", "log_loss"):
        assert_readable(learning(curve(sizes, flipped, n, names=[LONG, "b"]), figure=figure).figure)


def test_an_infinite_log_loss_is_a_point_that_is_missing_with_a_note():
    scores, truth = posteriors(30, 2)
    scores[0] = [-np.inf, 0.0] if truth[0] == 0 else [0.0, -np.inf]
    worst, good = report_of(scores, truth, None, None, "ab"), report(30, 2)
    ax = learning(LearningCurve("y", (10, 20), (0.0,), ((worst, good),)), figure="log_loss")
    assert len(drawn(ax)[0]) == 1
    assert "∞" in ax.get_legend().get_title().get_text()
    assert_readable(ax.figure)


def test_a_model_of_one_class_has_no_point_of_log_loss():
    points = {"x": [i % 7 + 3.0 * (i % 2) for i in range(200)], "odd": [*"ab"] * 100}
    measured = deciban.learning_curve(points, target="odd", numbers="number", sizes=[1, 100])
    ax = learning(measured, figure="log_loss")
    assert len(drawn(ax)[0]) == 1
    assert ax.get_legend().get_title().get_text() == "a point is lacking where the model had met one class only"
    assert_readable(ax.figure)


def test_the_curve_that_the_library_measures_can_be_drawn():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 300)
    rows = {"x": rng.normal(size=300) + y, "y": y}
    measured = deciban.learning_curve(rows, target="y", flipped=[0, 0.2])
    ax = learning(measured)
    assert [len(points) for points in drawn(ax)] == [len(measured.sizes)] * 2
    assert_readable(ax.figure)


def test_it_is_drawn_on_the_given_axes_and_refuses_an_unknown_figure():
    _, ax = pyplot.subplots()
    assert learning(curve(), ax=ax) is ax
    with pytest.raises(InputError, match="'accuracy' or 'log_loss', not 'f1'"):
        learning(curve(), figure="f1")
