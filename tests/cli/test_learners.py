"""Learners on the command line: trained, evaluated and drawn as curves; and every command knows their models."""

import json
import re

import pytest

import deciban
from tests.cli.terminal import PATIENTS, call, done
from tests.tables.reviews import reviews
from tests.thorough import thorough_beyond

ASKED = (PATIENTS, "--target", "diagnosis")


LEARNERS = ["logistic", "evidence", "boosted"]


@pytest.mark.parametrize("learner", thorough_beyond(1, LEARNERS, "runs every command: four seconds each"))
def test_every_command_knows_the_models_of_a_learner(learner, tmp_path):
    path = tmp_path / "m.deciban"
    out = done("train", *ASKED, "--learner", learner, "-o", path).output
    assert "chosen by cross-validation" in out or "by boosted naive Bayes: " in out
    assert bool(re.search("column +weight +evidence", out)) == (learner == "evidence")
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
    printed_output = done("diff", tmp_path / "bayes", tmp_path / "logistic").output
    assert re.search(r"learner +bayes +logistic, C [\d.]+", printed_output)


def test_a_model_like_another_has_its_learner(tmp_path):
    for path, asked in (("a", ("--learner", "logistic", "--C", "0.5")), ("b", ("--like", tmp_path / "a"))):
        done("train", *ASKED, *asked, "--no-judge", "-o", tmp_path / path)
    account = json.loads(done("inspect", tmp_path / "b", "--json").output)["account"]
    assert (account["learner"], account["settings"]["C"]) == ("logistic", 0.5)


def test_evidence_weights_are_shown_near_the_top(tmp_path):
    done("train", *ASKED, "--learner", "evidence", "--C", "1", "--no-judge", "-o", tmp_path / "m")
    printed_output = done("inspect", tmp_path / "m").output
    assert printed_output.index("evidence weights ") < printed_output.index("Classes")
    assert "\nevidence weights: " in str(deciban.load(tmp_path / "m").describe())[:400]


@pytest.mark.parametrize("learner", ["logistic", "evidence"])
def test_words_of_fitted_models_have_no_interval_and_come_by_what_they_say(learner, tmp_path):
    reviews().to_pandas().to_csv(tmp_path / "reviews.csv", index=False)
    asked = ("--target", "verdict", "--learner", learner, "--C", "1", "--no-judge", "-o", tmp_path / "m")
    done("train", tmp_path / "reviews.csv", *asked)
    printed_output = done("telltales", tmp_path / "m", "--column", "text").output
    assert "90 % interval" not in printed_output
    assert "nan" not in printed_output
    for telltales_of in json.loads(done("telltales", tmp_path / "m", "--column", "text", "--json").output):
        decibans = [word["decibans"] for word in telltales_of["words"]]
        assert decibans == sorted(decibans, reverse=True)
        assert {word["low"] for word in telltales_of["words"]} <= {None}


def test_refusals_are_sentences_that_name_options(tmp_path):
    done("train", *ASKED, "--learner", "logistic", "--C", "1", "--no-judge", "-o", tmp_path / "m")
    refused = call("merge", tmp_path / "m", tmp_path / "m", "-o", tmp_path / "x")
    assert refused.stderr.startswith("error: a fitted model cannot be added to another: ")
    assert "--learner bayes" in refused.stderr
    for words in (
        ["add", tmp_path / "m", PATIENTS],
        ["sample", tmp_path / "m"],
        ["merge", tmp_path / "m", tmp_path / "m", "-o", tmp_path / "x"],
    ):
        hint = call(*words).stderr.partition("Hint: ")[2]
        assert "--learner bayes" in hint
        assert "learner=" not in hint


def test_the_command_evaluates_and_measures_curves_by_a_learner():
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
