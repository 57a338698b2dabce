"""`learner="auto"`: the choice by inner folds, its evaluation without each fold, and the command."""

import json

import numpy as np
import pandas as pd
import pytest

import deciban
from deciban.errors import InputError
from deciban.training.learner_choice import CONSTANT_NAME, INNER_FOLDS, choose_learner
from deciban.training.table_pass import read_table
from deciban.training.task import plan
from tests.cli.terminal import call, done
from tests.tables.test_structure import TARGET, echoes


def crossed(n=300, seed=0):
    """The class is whether two categories are equal: columns that depend on each other, and nothing else, say it."""
    return echoes(n, seed)[["a", "b", TARGET]]


def choose(rows, **settings):
    task = plan(rows, target=TARGET, learner="auto", **settings)
    read = read_table(task, 1, None)
    return choose_learner(task, read.total.schema, read.sample)[0]


def test_the_learner_with_the_lowest_log_loss_is_trained_and_the_report_says_so():
    choice = choose(crossed())
    assert choice.log_loss[choice.name] == min(choice.log_loss.values())
    assert {CONSTANT_NAME, "naive Bayes", "tree (TAN)", "AODE", "logistic", "evidence", "boosted"} == set(
        choice.log_loss
    )
    assert choice.log_loss["tree (TAN)"] < choice.log_loss["logistic"] - 0.2
    model = deciban.train(crossed(), target=TARGET, learner="auto")
    same = deciban.train(crossed(), target=TARGET, **choice.arguments)
    assert model.learner == same.learner
    assert (np.asarray(model.predict_proba(crossed())) == np.asarray(same.predict_proba(crossed()))).all()
    assert f"{choice.name}, chosen in {INNER_FOLDS} inner folds" in model.held_out.measured


@pytest.mark.thorough(reason="trains many models, or large ones: seconds")
def test_evaluation_chooses_without_the_fold():
    rows = crossed()
    report = deciban.evaluate(rows, target=TARGET, learner="auto", folds=3, calibrate="none")
    names = []
    for fold in range(3):
        mine = report.folds == fold
        choice = choose(rows[~mine])
        names.append(choice.name)
        part = deciban.train(rows[~mine], target=TARGET, judge=False, **choice.arguments)
        if choice.name == "AODE":
            found = np.asarray(part.predict_log_proba(rows[mine]))
            np.testing.assert_allclose(report.log_proba[mine], found, rtol=1e-9, atol=1e-9)
    assert all(f"{name} ×{names.count(name)}" in report.measured for name in names)
    assert "AODE" in names


@pytest.mark.thorough(reason="trains many models, or large ones: seconds")
def test_labels_that_are_noise_are_not_predicted():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 20))).rename(columns=str).assign(kind=rng.choice(["p", "q"], 200))
    report = deciban.evaluate(table, target="kind", learner="auto", folds=4)
    assert report.accuracy < 0.6
    assert report.log_loss > np.log(2) - 0.02
    assert "the class shares" in report.measured


@pytest.mark.parametrize("learner", [None, "auto"])
def test_where_no_column_tells_anything_the_model_answers_the_shares(learner):
    kinds = ["p"] * 6 + ["q"] * 3
    table = {"x": [1.0, 2.0, 3.0] * 3, "y": ["u", "v", "w", "v", "w", "u", "w", "u", "v"], "kind": kinds}
    model = deciban.train(table, target="kind", learner=learner)
    assert model.calibration.map.t == 0
    np.testing.assert_allclose(np.asarray(model.predict_proba(table)), np.tile([2 / 3, 1 / 3], (9, 1)), atol=0.03)
    assert "no better than guessing" in str(model.calibration)


def test_slow_learners_are_left_out():
    choice = choose(crossed(), seconds=1e-9)
    assert list(choice.log_loss) == [CONSTANT_NAME, "naive Bayes"]
    assert any("left out, for lack of time" in note for note in choice.notes)


def test_what_makes_no_sense_is_refused():
    rows = crossed(60)
    model = deciban.train(rows, target=TARGET, judge=False)
    for given, message in (
        ({"structure": "tan"}, "is for naive Bayes"),
        ({"structure": "naive"}, "is for naive Bayes"),
        ({"like": model}, "not for a model of like="),
        ({"seconds": -1}, "seconds must be a number above 0"),
    ):
        with pytest.raises(InputError, match=message):
            deciban.train(rows, target=TARGET, learner="auto", **given)
    with pytest.raises(InputError, match="no class has rows in two"):
        deciban.train({"x": [1.0, 2.0], "k": ["p", "q"]}, target="k", learner="auto")
    with pytest.raises(InputError, match="'loo'"):
        deciban.evaluate(rows, target=TARGET, learner="auto", folds="loo")


def test_the_command(tmp_path):
    crossed().to_csv(tmp_path / "t.csv", index=False)
    asked = ["train", tmp_path / "t.csv", "--target", TARGET, "--learner", "auto", "--seconds", "1000", "--json"]
    found = json.loads(done(*asked, "-o", tmp_path / "m").stdout)
    assert "chosen in 5 inner folds" in found["held_out"]["measured"]
    assert call("train", tmp_path / "t.csv", "--target", TARGET, "--seconds", "0").exit_code == 2
