"""Costs, thresholds, wishes and other priors on the command line."""

import csv
import io
import json
from collections import Counter

import pytest

import deciban
from deciban.cli.predict import _print_counts
from tests.cli.terminal import NEW, PATIENTS, call, done


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "patients.deciban"
    done("train", PATIENTS, "--target", "diagnosis", "--no-judge", "-o", path)
    return path


def predictions(*arguments):
    lines = csv.DictReader(io.StringIO(done("predict", *arguments).stdout))
    return [(line["prediction"], line["probability"]) for line in lines]


def test_costs_thresholds_and_priors_are_those_of_python(model):
    loaded = deciban.load(model)
    asked = {"costs": {("pneumonia", "cold"): 20.0}, "reject": 0.02, "thresholds": {"flu": 0.97}}
    expected = [label or "" for label in loaded.predict(NEW, **asked).read_all().column("diagnosis").to_pylist()]
    options = ["--cost", "pneumonia:cold=20", "--reject", "0.02", "--threshold", "flu=0.97"]
    printed_output = predictions(model, NEW, *options)
    assert [label for label, _ in printed_output] == expected
    assert "" in expected
    assert all((label == "") == (p == "") for label, p in printed_output)
    other = loaded.with_priors({"cold": 0.1, "flu": 0.1, "pneumonia": 0.8})
    proba = other.predict_proba(NEW).read_all().to_pydict()
    for i, (label, p) in enumerate(predictions(model, NEW, "--prior", "cold=0.1,flu=0.1,pneumonia=0.8")):
        assert float(p) == pytest.approx(proba[label][i], abs=1e-6)


def test_undecided_rows_are_null_and_counted(model, tmp_path):
    first = done("predict", model, NEW, "--reject", "-1", "--json").stdout.splitlines()[0]
    assert json.loads(first) == {"prediction": None, "probability": None}
    result = done("predict", model, NEW, "--reject", "0.02", "-o", tmp_path / "out.csv")
    assert "; undecided " in result.stderr
    result = done("predict", model, NEW, "--reject", "-1", "-o", tmp_path / "none.csv")
    assert result.stderr.rstrip().endswith("none.csv: undecided 6")


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([1], "1 row to out.csv: a 1\n"),
        ([0, 3, 0, 2, 0, 0, 0], "5 rows to out.csv: b 3, d 2\n"),
        ([6, 5, 4, 3, 2, 1, 0], "21 rows to out.csv: a 6, b 5, c 4, d 3, e 2 and 1 other class\n"),
        ([1] * 7, "7 rows to out.csv: a 1, b 1, c 1, d 1, e 1 and 2 other classes\n"),
    ],
    ids=["one", "two of seven", "six", "seven"],
)
def test_classes_that_were_not_predicted_are_not_counted(rows, text, capsys):
    _print_counts(Counter(dict(zip("abcdefg", rows))), "out.csv")
    assert capsys.readouterr().err == text


def test_a_report_has_what_was_asked_for():
    asked = [
        "--cost",
        "pneumonia:cold=20",
        "--reject",
        "0.3",
        "--want",
        "flu:recall=0.9",
        "--want",
        "cold:precision=0.99",
    ]
    printed_output = json.loads(done("evaluate", PATIENTS, "--target", "diagnosis", *asked, "--json").stdout)
    assert set(printed_output["decision"]) == {"cost", "cost_of_most_probable", "undecided", "accuracy"}
    assert [(w["label"], w["recall"] >= 0.9 or w["precision"] >= 0.99) for w in printed_output["wanted"]] == [
        ("flu", True),
        ("cold", True),
    ]
    assert {"roc_auc", "average_precision", "brier_parts", "reliability", "intervals", "f1"} <= set(printed_output)
    text = done("evaluate", PATIENTS, "--target", "diagnosis", *asked).stdout
    for words in ("balanced accuracy", "precision", "Decisions", "cost per row", "Thresholds", "from p"):
        assert words in text
    plain = json.loads(done("evaluate", PATIENTS, "--target", "diagnosis", "--json").stdout)
    assert "decision" not in plain
    assert "wanted" not in plain


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (["--cost", "flu=3"], 2, "TRUTH:CALLED=NUMBER"),
        (["--cost", "flu:cold"], 2, "--cost sick:healthy=20"),
        (["--cost", "flu:colt=3"], 1, "did you mean 'cold'"),
        (["--threshold", "flu"], 2, "--threshold spam=0.98"),
        (["--threshold", "flu=3"], 2, "'3' is more than 1"),
        (["--cost", "flu:cold=inf"], 2, "'inf' is not finite"),
        (["--reject", "nan"], 2, "'nan' is not a number"),
        (["--reject", "inf"], 2, "'inf' is not finite"),
    ],
)
def test_what_makes_no_rule_is_refused(model, options, code, says):
    for command in (["predict", model, NEW], ["evaluate", PATIENTS, "--target", "diagnosis"]):
        result = call(*command, *options)
        assert result.exit_code == code, result.output
        assert says in " ".join(result.stderr.replace("│", " ").split())


@pytest.mark.parametrize(
    ("want", "code", "says"),
    [
        ("flu=0.9", 2, "CLASS:precision=P or CLASS:recall=P"),
        ("flu:f1=0.9", 2, "CLASS:precision=P or CLASS:recall=P"),
        ("mumps:recall=0.9", 1, "none of the 3 classes"),
        ("flu:recall=2", 2, "'2' is more than 1"),
        ("flu:precision=0", 2, "'0' is not above 0"),
    ],
)
def test_a_wish_that_cannot_be_is_refused(want, code, says):
    result = call("evaluate", PATIENTS, "--target", "diagnosis", "--want", want)
    assert result.exit_code == code
    assert says in " ".join(result.stderr.replace("│", " ").split())


def test_rows_unlike_anything_learned_are_left_undecided(tmp_path):
    model, odd = tmp_path / "judged.deciban", tmp_path / "odd.csv"
    done("train", PATIENTS, "--target", "diagnosis", "-o", model)
    header, first, *_ = NEW.read_text().splitlines()
    cells = dict(zip(header.split(","), first.split(","))) | {"temperature": "61", "age": "400", "crp": "90000"}
    odd.write_text(f"{header}\n{first}\n{','.join(cells.values())}\n")
    usual, unknown = predictions(model, odd, "--reject-novel", "0.01")
    assert usual[0] != ""
    assert unknown == ("", "")
    result = call("predict", model, odd, "--reject-novel", "2")
    assert (result.exit_code, "--reject-novel" in result.stderr) == (2, True)
