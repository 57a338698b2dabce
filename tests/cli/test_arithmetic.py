"""What a teacher asks for: parameters as a textbook prints them, the product written out, the classic tables."""

import csv
import io
import json
import math
import re

import pytest
from sklearn.datasets import load_iris

import deciban
from tests.cli.terminal import NEW, PATIENTS, call, done

DAY = "outlook,temperature,humidity,wind\nsunny,cool,high,strong\n"


@pytest.fixture(scope="module")
def tennis(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tennis")
    (folder / "tennis.csv").write_bytes(done("example", "tennis").stdout_bytes)
    (folder / "day.csv").write_text(DAY)
    for name, alpha in (("plain", "0"), ("smooth", "1")):
        how = ["--target", "play", "--alpha", alpha, "--calibrate", "none"]
        done("train", folder / "tennis.csv", *how, "-o", folder / f"{name}.deciban")
    return folder


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    model = tmp_path_factory.mktemp("clinic") / "patients.deciban"
    done("train", PATIENTS, "--target", "diagnosis", "-o", model)
    return model


def test_examples_of_textbooks():
    rows = list(csv.DictReader(io.StringIO(done("example", "iris").stdout)))
    data = load_iris()
    assert [[float(cell) for cell in list(row.values())[:4]] for row in rows] == data.data.tolist()
    assert [row["species"] for row in rows] == data.target_names[data.target].tolist()
    assert done("example", "tennis").stdout.splitlines()[1] == "sunny,hot,high,weak,no"


def test_the_work_is_that_of_the_book(tennis):
    shown = done("explain", tennis / "plain.deciban", tennis / "day.csv", "--work").stdout
    for words in (
        "outlook = sunny      3/5 = 0.6000   2/9 = 0.2222",
        "no: 5/14 · 3/5 · 1/5 · 4/5 · 3/5 = 0.02057",
        "yes: 9/14 · 2/9 · 3/9 · 3/9 · 3/9 = 0.005291",
        "sum: 0.02057 + 0.005291 = 0.02586",
        "p(no | x) = 0.02057 / 0.02586 = 0.7954",
        "p(yes | x) = 0.005291 / 0.02586 = 0.2046",
    ):
        assert words in shown
    assert "dB" not in shown


def test_the_work_as_json_is_what_is_predicted(tennis):
    (row,) = json.loads(done("explain", tennis / "smooth.deciban", tennis / "day.csv", "--work", "--json").stdout)
    model = deciban.load(tennis / "smooth.deciban")
    expected = model.predict_proba(str(tennis / "day.csv")).read_all().to_pylist()[0]
    work = row["work"]
    assert {each["class"]: each["probability"] for each in work["classes"]} == pytest.approx(expected)
    assert [factor["formula"] for factor in work["classes"][0]["factors"]] == ["5/14", "4/8", "2/8", "5/7", "4/7"]
    assert work["sum"] == pytest.approx(sum(each["product"] for each in work["classes"]))


def test_evidence_has_column_value_and_decibans(clinic):
    (row,) = json.loads(done("explain", clinic, NEW, "--row", "2", "--json").stdout)
    entries = {entry["what"]: entry for entry in row["evidence"]}
    assert {name: entries["temperature = 38.7"][name] for name in ("column", "value")} == {
        "column": "temperature", "value": 38.7,
    }  # fmt: skip
    assert entries["cough = productive"]["value"] == "productive"
    assert entries["seen.weekday = Sat"]["column"] == "seen.weekday"
    assert entries["prior"]["column"] is entries["prior"]["value"] is None
    assert sum(entry["decibans"] for entry in row["evidence"]) == pytest.approx(row["total"])


def test_densities_bins_and_rates_are_written_out(clinic):
    shown = done("explain", clinic, NEW, "--row", "2", "--work").stdout
    assert re.search(r"N\(38\.7; 37\.\d+, 0\.\d+\) = ", shown)
    assert re.search(r"Poisson\(3; \d\.\d+\) = ", shown)
    assert re.search(r"crp = 10 \(from", shown)
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_the_rest_is_one_factor(clinic):
    shown = done("explain", clinic, NEW, "--row", "2", "--work", "--most", "2").stdout
    n_evidence = len(json.loads(done("explain", clinic, NEW, "--row", "2", "--json").stdout)[0]["evidence"])
    assert f"{n_evidence - 3} more" in shown  # the prior and two columns are shown
    (row,) = json.loads(done("explain", clinic, NEW, "--row", "2", "--work", "--most", "2", "--json").stdout)
    work, slope = row["work"]["classes"], deciban.load(clinic).calibration.map.slope
    evidence = [math.prod(factor["factor"] for factor in each["factors"][1:]) ** slope for each in work]
    tempered = [each["factors"][0]["factor"] * p for each, p in zip(work, evidence)]
    assert [each["predicted"] for each in work] == pytest.approx([p / sum(tempered) for p in tempered])
    assert [each["product"] for each in work] == pytest.approx(
        [math.prod(factor["factor"] for factor in each["factors"]) for each in work]
    )


def test_long_texts_are_computed_by_logarithms(tmp_path):
    (tmp_path / "messages.csv").write_bytes(done("example", "messages").stdout_bytes)
    model = tmp_path / "m.deciban"
    done("train", tmp_path / "messages.csv", "--target", "topic", "-o", model)
    words = " ".join(deciban.load(model).table("message").to_frame("arrow")["value"].unique().to_pylist())
    (tmp_path / "new.csv").write_text(f"message\n{words}\n")
    shown = done("explain", model, tmp_path / "new.csv", "--work", "--allow-missing-columns").stdout
    shown = " ".join(shown.split())
    assert "their logarithms are added" in shown
    assert "ln billing: −" in shown


def test_work_is_for_all_classes(tennis):
    failed = call("explain", tennis / "plain.deciban", tennis / "day.csv", "--work", "--classes", "no,yes")
    assert failed.exit_code == 2
    assert "--work shows every class" in failed.stderr


def test_the_table_of_a_column(tennis, clinic):
    shown = done("inspect", tennis / "smooth.deciban", "--table", "outlook").stdout
    assert "outlook (category) in each class" in shown
    assert "sunny     3/5 = 0.6000  2/9 = 0.2222" in shown
    assert "sunny     4/8 = 0.5000  3/12 = 0.2500" in shown
    assert "5/14 = 0.3571" in done("inspect", tennis / "smooth.deciban", "--table", "play").stdout
    assert "mean μ" in done("inspect", clinic, "--table", "temperature").stdout
    assert "rate λ = Σx/n" in done("inspect", clinic, "--table", "days_ill").stdout
    assert "… and" in done("inspect", clinic, "--table", "cough", "--most", "1").stdout


def test_the_table_of_a_column_as_json(clinic):
    found = json.loads(done("inspect", clinic, "--table", "cough", "--json").stdout)
    model = deciban.load(clinic)
    assert found["rows"] == model.table("cough").to_frame("arrow").to_pylist()
    assert (found["column"], found["role"], found["alpha"]) == ("cough", "category", {"cough": 1.0})


def test_a_table_of_something_else_is_an_error(clinic, tmp_path):
    failed = call("inspect", clinic, "--table", "coughs")
    assert failed.exit_code == 1
    assert "did you mean 'cough'" in failed.stderr
    deciban.GaussianNB().fit([[1.0], [2.0]], [0, 1]).save(tmp_path / "g.deciban")
    failed = call("inspect", tmp_path / "g.deciban", "--table", "x0")
    assert failed.exit_code == 1
    assert "--table is for models of tables" in failed.stderr
