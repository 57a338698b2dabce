"""Learners on the command line: trained, judged and drawn as curves; and every command knows their models."""

import json

import pytest
from tests.cli.terminal import PATIENTS, call, done

import deciban

ASKED = (PATIENTS, "--target", "diagnosis")


@pytest.mark.parametrize("learner", ["logistic", "evidence", "boosted"])
def test_every_command_knows_the_models_of_a_learner(learner, tmp_path):
    path = tmp_path / "m.deciban"
    out = done("train", *ASKED, "--learner", learner, "-o", path).output
    assert "chosen by cross-validation" in out or "by boosting" in out
    assert ("trust" in out) == (learner == "evidence")
    assert "learner" in done("inspect", path).output
    assert json.loads(done("inspect", path, "--json").output)["account"]["learner"] == learner
    assert len(done("predict", path, PATIENTS).output.splitlines()) == 401
    assert "dB" in done("explain", path, PATIENTS, "--rows", 1).output
    assert "accuracy" in done("evaluate", PATIENTS, "--model", path).output
    for words in (["add", path, PATIENTS], ["forget", path, PATIENTS], ["sample", path]):
        refused = call(*words)
        assert refused.exit_code == 1
        assert "Hint" in refused.stderr
    assert call("merge", path, path, "-o", tmp_path / "x.deciban").exit_code == 1


def test_two_learners_differ(tmp_path):
    for learner in ("bayes", "logistic"):
        done("train", *ASKED, "--learner", learner, "--no-judge", "-o", tmp_path / learner)
    assert "learner" in done("diff", tmp_path / "bayes", tmp_path / "logistic").output


def test_the_command_judges_and_measures_curves_by_a_learner():
    asked = (*ASKED, "--learner", "logistic", "--C", "0.5", "--json")
    expected = deciban.evaluate(str(PATIENTS), target="diagnosis", learner="logistic", C=0.5)
    assert json.loads(done("evaluate", *asked).output)["log_loss"] == pytest.approx(expected.log_loss)
    assert json.loads(done("learning", *asked, "--sizes", "50,200").output)


def test_a_penalty_without_a_learner_that_has_one_is_refused():
    refused = call("train", *ASKED, "--C", "1")
    assert refused.exit_code == 1
    assert "penalty" in refused.stderr
    assert call("train", *ASKED, "--learner", "logistic", "--C", "much").exit_code == 2


def test_all_numbers_are_joined_under_a_shape_of_covariance(tmp_path):
    path = tmp_path / "m.deciban"
    done("train", *ASKED, "--join", "numbers", "--covariance", "tied", "--no-judge", "-o", path)
    assert "covariance" in done("inspect", path).output
    refused = call("train", *ASKED, "--covariance", "tied", "--no-judge", "-o", path)
    assert refused.exit_code == 1
    assert "numbers" in refused.stderr
