"""The picture of a comparison: differences with their intervals on the left, learning curves on the right."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib import pyplot

from deciban.errors import InputError
from deciban.metrics.comparison import CandidateScores, compare_candidates
from deciban.metrics.learning_curves import LearningCurves
from deciban.plots import comparison
from tests.plots.readability import assert_readable
from tests.plots.reports import posteriors

SHAPES = ["full", "tied", "diagonal", "tied diagonal", "spherical", "tied spherical", "identity"]
EVERY = ["naive Bayes", *(f"Gaussian {shape}" for shape in SHAPES), "logistic", "evidence", "boosted"]


def made(names=EVERY, K=3, n=200, sizes=(10, 20, 40, 80, 160), curves=True):
    """Learners that claim too much or too little, by different amounts."""
    _, truth = posteriors(n, K)
    candidates = []
    for i, name in enumerate(names):
        claimed, _ = posteriors(n, K)
        noise = np.random.default_rng(i).normal(size=claimed.shape) * (0.2 + 0.3 * (i % 4))
        scores = (1 + 0.5 * i) * claimed + noise
        lp = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        candidates.append(CandidateScores(name, {}, lp, 0.1, 10))
    found = compare_candidates(
        "y", candidates, truth, None, np.ones((n, K), dtype=bool), [f"c{k}" for k in range(K)], ""
    )
    if not curves:
        return found
    steps = np.linspace(0.5, 0.9, len(sizes))
    rng = np.random.default_rng(0)
    slope = np.linspace(0.05, -0.05, len(sizes))
    means = [steps + (slope if i else -slope * 0) + 0.01 * i for i in range(len(names))]
    accuracy = np.array(means)[:, None, :] + 0.01 * rng.normal(size=(len(names), 5, len(sizes)))
    return replace(found, growth=LearningCurves(tuple(found.names), sizes, accuracy, 1.2 - accuracy, 40))


def drawn(panel, gid):
    return [line for line in panel.lines if line.get_gid() == gid]


@pytest.mark.parametrize("figure", ["accuracy", "log_loss"])
def test_dots_and_points_are_those_of_the_comparison(figure):
    found = made(["naive Bayes", "logistic", "evidence"])
    left, right = comparison(found, figure=figure).axes
    gaps = [each.loss.mean if figure == "log_loss" else each.misses.mean for each in found]
    shown = {round(line.get_ydata()[0]): line.get_xdata()[0] for line in drawn(left, "difference")}
    assert [shown[i] for i in range(3)] == pytest.approx(gaps)
    lines = drawn(right, "learning")
    assert len(lines) == 3
    for line, mean in zip(lines, found.growth.mean(figure)):
        np.testing.assert_allclose(line.get_ydata(), mean)


def test_a_dot_is_hollow_where_no_difference_is_shown():
    found = made(["naive Bayes", "logistic", "evidence"], curves=False)
    ax = comparison(found, figure="log_loss")
    for line in drawn(ax, "difference"):
        each = found.rows[round(line.get_ydata()[0])]
        hollow = line.get_markerfacecolor() == "#ffffff"
        assert hollow == (each in found.level)


@pytest.mark.parametrize("figure", ["accuracy", "log_loss"])
@pytest.mark.parametrize("names", [EVERY, EVERY[:1], EVERY[:2], [*EVERY[:2], EVERY[-3]]], ids=len)
@pytest.mark.parametrize("curves", [True, False], ids=["curves", "no curves"])
def test_it_can_be_read(figure, names, curves):
    drawn_ = comparison(made(names, curves=curves), figure=figure)
    assert_readable(drawn_ if curves else drawn_.figure)
    pyplot.close("all")


def test_many_sizes_and_large_ones_can_be_read():
    assert_readable(comparison(made(sizes=tuple(10 << i for i in range(14)))))
    pyplot.close("all")


def test_curves_are_distinct_without_colour_and_of_gaussians_the_best_has_one():
    found = made()
    _, right = comparison(found).axes
    lines = drawn(right, "learning")
    assert len({line.get_marker() for line in lines}) == len({str(line._dash_pattern) for line in lines}) == 5
    gaussians = [line.get_label() for line in lines if line.get_label().startswith("Gaussian")]
    best = min((each for each in found if each.name.startswith("Gaussian")), key=lambda each: each.loss.mean)
    assert gaussians == [best.name]


def test_the_crossing_is_where_the_curves_cross():
    found = made(["naive Bayes", "logistic"])
    steps = np.array([[0.8, 0.84, 0.86, 0.87, 0.87], [0.7, 0.8, 0.9, 0.92, 0.93]])
    accuracy = np.repeat(steps[:, None], 5, axis=1) + 1e-3 * np.random.default_rng(0).normal(size=(2, 5, 5))
    found = replace(found, growth=replace(found.growth, accuracy=accuracy))
    assert found.overtaken_at is not None
    _, right = comparison(found).axes
    (line,) = drawn(right, "crossing")
    assert line.get_xdata()[0] == found.overtaken_at
    assert_readable(right.figure)


def test_into_axes_of_ones_own_go_the_curves():
    _, ax = pyplot.subplots()
    assert comparison(made(["naive Bayes", "logistic"]), ax=ax) is ax
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["naive Bayes", "logistic"]
    pyplot.close("all")


def test_another_figure_is_refused():
    with pytest.raises(InputError, match="figure must be"):
        comparison(made(["naive Bayes"]), figure="brier")
