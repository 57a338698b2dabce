"""`--alpha auto` and `evaluate --choose` on the command line."""

import json

import pytest

import deciban
from tests.cli.terminal import PATIENTS, call, done

FEW = ["--numbers", "number", "--parameter-prior", "1", "--folds", "3"]


def test_settings_are_those_of_python():
    output = json.loads(done("evaluate", PATIENTS, "--target", "diagnosis", "--choose", *FEW, "--json").stdout)
    python = deciban.choose(PATIENTS, target="diagnosis", numbers="number", parameter_prior=1.0, folds=3)
    assert output == python.to_dict()


def test_a_person_sees_which_is_best_and_how_to_train_it():
    lines = done("evaluate", PATIENTS, "--target", "diagnosis", "--choose", *FEW).stdout.splitlines()
    assert "settings" in lines[0]
    assert sum("→" in line for line in lines) == 1
    assert lines[-1].startswith(f"  deciban train {PATIENTS} --target diagnosis --numbers number")
    assert lines[-1].endswith("--parameter-prior 1")
    assert all(len(line) <= 100 for line in lines[:-1])


@pytest.mark.parametrize(
    "more",
    [
        ["--order", "seen"],
        ["--folds", "loo"],
        ["--reject", "0.1"],
        ["--want", "flu:recall=0.9"],
        ["--model", PATIENTS],
    ],
    ids=lambda more: more[0],
)
def test_options_without_meaning_are_refused(more):
    result = call("evaluate", PATIENTS, "--target", "diagnosis", "--choose", *more)
    assert result.exit_code == 2
    assert "--choose" in result.stderr


def test_a_model_says_what_was_chosen(tmp_path):
    path = tmp_path / "auto.deciban"
    done("train", PATIENTS, "--target", "diagnosis", "--alpha", "auto", "--no-judge", "-o", path)
    output = json.loads(done("inspect", path, "--json").stdout)
    assert output["options"]["alpha"] == "auto"


@pytest.mark.parametrize("alpha", ["often", "-1", "nan"])
def test_other_pseudo_counts_are_refused(alpha, tmp_path):
    result = call("train", PATIENTS, "--target", "diagnosis", "--alpha", alpha, "-o", tmp_path / "m.deciban")
    assert result.exit_code != 0
    assert "alpha" in result.stderr
    assert not (tmp_path / "m.deciban").exists()
