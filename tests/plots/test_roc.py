"""Pictures of ROC curves: hits against false alarms, as scikit-learn has them."""

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.metrics import roc_auc_score, roc_curve

from deciban.errors import InputError
from deciban.metrics import Scorecard, report_of
from deciban.plots import roc
from tests.plots.readability import assert_readable
from tests.plots.reports import LONG, posteriors, report


def curves(ax):
    return [np.column_stack(line.get_data()) for line in ax.lines if line.get_gid() == "roc"]


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_curve_of_two_classes_is_scikit_learns():
    scores, truth = posteriors(400, 2)
    judged = report_of(scores, truth, None, None, ["ham", "spam"])
    ax = roc(judged)
    (curve,) = curves(ax)
    false, true, _ = roc_curve(truth, scores[:, 1], drop_intermediate=False)
    np.testing.assert_allclose(curve, np.column_stack([false, true]), atol=1e-12)
    low, high = judged.intervals["roc_auc"]
    area = roc_auc_score(truth, scores[:, 1])
    assert labels(ax)[0] == f"area {area:.3f} (95 % interval: {low:.3f} to {high:.3f})"


def test_the_point_where_the_more_probable_class_is_predicted_is_on_the_curve():
    ax = roc(report(300, 2))
    (curve,) = curves(ax)
    (false,), (true,) = next(line for line in ax.lines if line.get_gid() == "predicted").get_data()
    assert np.isclose(curve, [false, true]).all(axis=1).any()


def test_a_million_rows_become_a_curve_that_a_picture_can_hold():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 200_000)
    odds = rng.normal(size=200_000) + truth
    scores = -np.logaddexp(0, np.column_stack([odds, -odds]))
    (curve,) = curves(roc(report_of(scores, truth, None, None, "ab")))
    assert len(curve) < 5000
    whole = np.column_stack(roc_curve(truth, odds)[:2])
    assert np.abs(np.interp(whole[:, 0], curve[:, 0], curve[:, 1]) - whole[:, 1]).max() < 0.002
    assert curve[0].tolist() == [0, 0]
    assert curve[-1].tolist() == [1, 1]


def test_of_many_classes_the_hardest_are_named_and_the_others_counted():
    judged = report(2000, 26)
    ax = roc(judged)
    assert len(curves(ax)) == 26
    hardest = np.argsort(judged.roc_auc_by_class)[:4]
    assert [label.split(":")[0] for label in labels(ax)] == [*(f"class {k}" for k in hardest), "22 other classes"]
    assert "mean area" in ax.get_legend().get_title().get_text()


@pytest.mark.parametrize(("n", "K"), [(2, 2), (300, 2), (300, 3), (300, 6), (2000, 26)])
@pytest.mark.parametrize("name", ["c", LONG])
def test_no_text_touches_another(n, K, name):
    scores, _ = posteriors(n, K)
    judged = report_of(scores, np.arange(n) % K, None, None, [f"{name}{k}" for k in range(K)])
    assert_readable(roc(judged).figure)


def test_curves_that_cling_to_the_corner_are_shown_larger():
    scores, truth = posteriors(600, 3)
    sharp = scores.copy()
    sharp[np.arange(600), truth] += 4.5
    judged = report_of(sharp - np.log(np.exp(sharp).sum(axis=1, keepdims=True)), truth, None, None, "abc")
    assert 0.98 <= judged.roc_auc_by_class.min() < 1
    ax = roc(judged)
    (corner,) = ax.child_axes
    assert len(curves(corner)) == 3
    assert corner.get_xlim()[1] < 0.35
    assert_readable(ax.figure)


def test_a_class_without_rows_is_left_out():
    scores, truth = posteriors(90, 4)
    judged = report_of(scores, np.where(truth == 3, 0, truth), None, None, "abcd")
    assert len(curves(roc(judged))) == 3


def test_it_is_drawn_on_the_given_axes():
    _, ax = pyplot.subplots()
    assert roc(report(50, 2), ax=ax) is ax


def test_sums_alone_and_one_class_alone_are_refused():
    scores, truth = posteriors(50, 2)
    with pytest.raises(InputError, match="needs the evaluated rows"):
        roc(Scorecard.of(scores, truth).report("ab"))
    with pytest.raises(InputError, match="of others, and there are none"):
        roc(report_of(scores, np.zeros(50, dtype=int), None, None, "ab"))
