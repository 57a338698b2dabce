"""`deciban evaluate` in all kinds of folds, and `deciban learning`: the figures are those of Python."""

import csv
import json

import pytest

import deciban
from tests.cli.terminal import PATIENTS, call, done

TARGET = ("--target", "diagnosis")


@pytest.fixture
def patients(tmp_path):
    """Patients with a ward each."""
    with open(PATIENTS, newline="") as file:
        head, *rows = csv.reader(file)
    path = tmp_path / "patients.csv"
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows(
            [[*head, "ward"], *([*row, f"w{len(row[1]) * i % 13}"] for i, row in enumerate(rows))]
        )
    return path


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        (("--folds", "3"), {"folds": 3}),
        (("--folds", "4", "--groups", "ward"), {"folds": 4, "groups": "ward"}),
        (("--folds", "4", "--order", "seen"), {"folds": 4, "order": "seen"}),
        (
            ("--folds", "4", "--order", "seen", "--as", "seen=date"),
            {"folds": 4, "order": "seen", "roles": {"seen": "date"}},
        ),
    ],
)
def test_folds_are_those_of_python(patients, options, arguments):
    output = json.loads(done("evaluate", patients, *TARGET, *options, "--json").stdout)
    report = deciban.evaluate(patients, target="diagnosis", **arguments)
    assert output["log_loss"] == pytest.approx(report.log_loss, rel=1e-12)
    assert output["measured"] == report.measured


def test_each_row_may_be_left_out_alone(tmp_path):
    path = tmp_path / "few.csv"
    path.write_text("".join(PATIENTS.read_text().splitlines(keepends=True)[:31]))
    output = json.loads(done("evaluate", path, *TARGET, "--folds", "loo", "--json").stdout)
    assert output["log_loss"] == deciban.evaluate(path, target="diagnosis", folds="loo").log_loss
    assert output["rows"] <= 30


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--folds", "ten"), "neither a whole number nor loo"),
        (("--folds", "1"), "is less than 2"),
        (("--groups", "wart"), "did you mean 'ward'?"),
        (("--order", "seen", "--groups", "ward"), "not by both"),
        (("--folds", "loo", "--order", "seen"), "each row alone"),
    ],
)
def test_folds_that_make_no_sense_are_refused(patients, options, words):
    result = call("evaluate", patients, *TARGET, *options)
    assert result.exit_code in (1, 2)
    assert words in " ".join(result.stderr.split())


def test_a_model_is_evaluated_without_folds(patients, tmp_path):
    done("train", patients, *TARGET, "-o", tmp_path / "m.deciban")
    result = call("evaluate", patients, "--model", tmp_path / "m.deciban", "--groups", "ward")
    assert result.exit_code == 2
    assert "--groups is for training" in result.stderr


def test_the_learning_curve_is_that_of_python(patients):
    output = done("learning", patients, *TARGET, "--sizes", "30,0.5", "--flipped", "0,0.2", "--json")
    curve = deciban.learning_curve(patients, target="diagnosis", sizes=[30, 0.5], flipped=[0, 0.2])
    assert json.loads(output.stdout) == json.loads(json.dumps(curve.to_dict()))


def test_the_learning_curve_is_shown_as_a_table(patients):
    shown = done("learning", patients, *TARGET, "--numbers", "number").stdout.splitlines()
    curve = deciban.learning_curve(patients, target="diagnosis", numbers="number")
    assert shown[1].split() == ["rows", "accuracy", "95", "%", "interval", "log-loss"]
    assert [int(line.split()[0]) for line in shown[2 : 2 + len(curve.sizes)]] == list(curve.sizes)


@pytest.mark.parametrize("options", [("--sizes", "ten"), ("--sizes", "99999"), ("--flipped", "2"), ("--flipped", "")])
def test_curves_that_make_no_sense_are_refused(patients, options):
    result = call("learning", patients, *TARGET, *options)
    assert result.exit_code in (1, 2)
    assert result.stderr
    assert "Traceback" not in result.stderr
