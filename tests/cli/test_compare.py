"""`deciban compare` on the command line."""

import json
import re
import shlex

import pytest

import deciban
from tests.cli.terminal import PATIENTS, call, done

FEW = ["--learners", "bayes,tied,full", "--folds", "3", "--draws", "2", "--sizes", "20,80"]
ARGUMENTS = {"learners": ["bayes", "tied", "full"], "folds": 3, "draws": 2, "sizes": [20, 80]}


def test_the_figures_are_those_of_python():
    printed_output = json.loads(
        done("compare", PATIENTS, "--target", "diagnosis", *FEW, "--no-times", "--json").stdout
    )
    python = deciban.compare(PATIENTS, target="diagnosis", **ARGUMENTS).to_dict()
    assert [each.pop("seconds") > 0 for each in python["learners"]] == [True] * 3
    assert printed_output == python


def test_a_person_sees_a_table_the_curves_and_advice_on_80_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = done("compare", PATIENTS, "--target", "diagnosis", *FEW).stdout.splitlines()
    assert lines[0].startswith("diagnosis of ")
    assert sum("→" in line for line in lines) == 2  # the learner, and what the sign means
    assert "Advice" in lines
    assert any(line.split() == ["learner", "20", "80"] for line in lines)
    assert lines[-1].startswith(f"  deciban train {PATIENTS} --target diagnosis")
    assert all(len(line) <= 80 for line in lines[1:-1])


def test_the_number_of_rows_held_out_has_its_thousands_separated(tmp_path):
    rows = (f"{i * 37 % 100 + 30 * (i % 2)},{'ab'[i % 2]}\n" for i in range(6000))
    (tmp_path / "many.csv").write_text("x,k\n" + "".join(rows))
    options = ["--learners", "bayes", "--folds", "2", "--draws", "2", "--sizes", "100"]
    out = done("compare", tmp_path / "many.csv", "--target", "k", *options).stdout
    assert re.search(r"on 1 \d{3} rows held out, the mean of 2 draws", out)


def test_the_command_of_a_tree_names_its_structure():
    options = ["--learners", "tan", "--folds", "3", "--no-curve"]
    lines = done("compare", PATIENTS, "--target", "diagnosis", *options).stdout.splitlines()
    assert lines[0].endswith(", by 1 learner")
    assert lines[-1] == f"  deciban train {PATIENTS} --target diagnosis --structure tan"


def test_times_and_curves_can_be_left_out():
    text = done("compare", PATIENTS, "--target", "diagnosis", *FEW, "--no-times", "--no-curve").stdout
    assert " ms" not in text
    assert "rows learned" not in text


def test_the_command_that_is_recommended_trains_that_learner(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [(x := (i * 37 % 100) / 10, x + (i % 2) + (i * 13 % 7) / 40, "ab"[i % 2]) for i in range(200)]
    (tmp_path / "lines.csv").write_text("x,y,k\n" + "".join(f"{a},{b},{k}\n" for a, b, k in rows))
    options = ["--learners", "bayes,full,tied", "--folds", "3", "--no-curve"]
    lines = done("compare", "lines.csv", "--target", "k", *options).stdout.splitlines()
    printed_output = json.loads(done("compare", "lines.csv", "--target", "k", *options, "--json").stdout)
    assert printed_output["best"].startswith("Gaussian")
    assert (
        lines[-1]
        == f"  deciban train lines.csv --target k --join numbers --covariance {printed_output['told']['covariance']}"
    )
    done(*lines[-1].split()[1:], "-o", "lines.deciban")


BAYES = ["--learners", "bayes", "--folds", "3", "--no-curve"]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (["--alpha", "3", "--numbers", "binned"], "--numbers binned --alpha 3"),
        (["--C", "2", "--as", "seen=skip", "--as", "age=number"], "--as seen=skip --as age=number"),
        (["--join", "age,temperature", "--missing", "?"], "--join age,temperature --missing '?'"),
        (["--prior", "uniform", "--unseen", "smooth", "--presence"], "--prior uniform --unseen smooth --presence"),
        (["--encoding", "latin-1", "--format", "csv"], "--format csv --encoding latin-1"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_the_command_that_is_recommended_has_the_options_that_were_given(given, kept, tmp_path):
    lines = done("compare", PATIENTS, "--target", "diagnosis", *BAYES, *given).stdout.splitlines()
    assert lines[-1] == f"  deciban train {PATIENTS} --target diagnosis {kept}"
    done(*shlex.split(lines[-1])[1:], "--no-judge", "-o", tmp_path / "again.deciban")


def test_the_command_that_is_recommended_reads_the_same_data(tmp_path):
    query = f"select * from '{PATIENTS}' where age > 30"
    lines = done("compare", "--sql", query, "--target", "diagnosis", *BAYES).stdout.splitlines()
    assert shlex.split(lines[-1]) == ["deciban", "train", "--sql", query, "--target", "diagnosis"]
    lines = done("compare", "-", "--target", "diagnosis", *BAYES, stdin=PATIENTS.read_text()).stdout.splitlines()
    assert lines[-1] == "  deciban train - --target diagnosis"
    for kind in ("ham", "spam"):
        (tmp_path / "my mail" / kind).mkdir(parents=True)
        for i in range(9):
            (tmp_path / "my mail" / kind / f"{i}.txt").write_text(f"{kind} again {i}")
    lines = done("compare", "--folders", tmp_path / "my mail", *BAYES).stdout.splitlines()
    assert shlex.split(lines[-1])[1:] == ["train", "--folders", str(tmp_path / "my mail"), "--target", "class"]
    done(*shlex.split(lines[-1])[1:], "--no-judge", "-o", tmp_path / "mail.deciban")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--learners", "naive"], "no learner 'naive'"),
        (["--sizes", "many"], "--sizes: numbers between commas"),
        (["--sizes", "10,9999"], "sizes asks for 9999 rows"),
        (["--folds", "1"], "--folds"),
        (["--draws", "1"], "--draws"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_what_has_no_meaning_is_refused(more, words):
    result = call("compare", PATIENTS, "--target", "diagnosis", *more)
    assert result.exit_code in (1, 2)
    assert words in result.stderr
    assert "Traceback" not in result.output


def test_the_picture_is_written(tmp_path):
    path = tmp_path / "learners.png"
    message = done("plot", "comparison", PATIENTS, "--target", "diagnosis", *FEW, "-o", path).output
    assert "the accuracy of 3 learners, by 397 rows" in message
    assert path.stat().st_size > 5000
