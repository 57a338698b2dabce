"""Attributes of public results that were renamed keep their old names, with a warning."""

import pytest

import deciban
from deciban.metrics.choice import Setting

TABLE = {"x": [i % 7 + 3 * (i % 2) for i in range(120)], "odd": [i % 2 for i in range(120)]}


def old_name(value, name):
    with pytest.warns(DeprecationWarning, match=f"{name} is now called"):
        return getattr(value, name)


def test_results_of_choose_and_compare_keep_their_old_names():
    choice = deciban.choose(TABLE, target="odd", folds=3, prior="uniform")
    assert old_name(choice, "judged") is choice.results
    assert old_name(choice, "chosen") is choice.recommendation
    assert old_name(Setting({"alpha": 1.0}), "told") == {"alpha": 1.0}
    found = deciban.compare(TABLE, target="odd", learners=["bayes"], folds=3, curve=False)
    assert old_name(found.best, "told") == {}


def test_reports_keep_their_old_names():
    report = deciban.evaluate(TABLE, target="odd", folds=3)
    assert old_name(report, "strangers") is report.unknown_confusion
    assert old_name(report, "ranks") is report.score_sample
    threshold = report.threshold(report.classes[1], recall=0.5)
    assert old_name(threshold, "shown") == threshold.probability_text
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = report.nothing
