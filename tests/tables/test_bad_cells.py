"""A bad cell can be counted as missing: the count and the first examples are reported."""

import json
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import deciban
from deciban.errors import DecibanWarning, InputError
from deciban.sources.cell_conversion import BadCells
from tests.cli.terminal import NEW, PATIENTS, call, done

LENIENT = ("--bad-cells", "missing")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    model = tmp_path_factory.mktemp("model") / "patients.deciban"
    done("train", PATIENTS, "--target", "diagnosis", "-o", model)
    return model


@pytest.fixture
def bad(tmp_path):
    """The new patients with two words among temperatures, one among ages, and a date that is none."""
    lines = [line.split(",") for line in NEW.read_text().splitlines()]
    place = {name: i for i, name in enumerate(lines[0])}
    for row, column, cell in (
        (2, "temperature", "hot"),
        (4, "temperature", "n. a."),
        (3, "age", "old"),
        (5, "seen", "soon"),
    ):
        lines[row][place[column]] = cell
    good = [[("" if cell in ("hot", "n. a.", "old", "soon") else cell) for cell in line] for line in lines]
    for name, content in (("bad.csv", lines), ("good.csv", good)):
        (tmp_path / name).write_text("\n".join(map(",".join, content)) + "\n")
    return tmp_path / "bad.csv"


@pytest.mark.parametrize("keep", [[], ["--keep", "temperature"]])
def test_predictions_are_those_of_empty_cells(bad, trained, keep):
    result = done("predict", trained, bad, *LENIENT, *keep)
    good = done("predict", trained, bad.with_name("good.csv")).stdout.splitlines()
    cut = 1 if keep else 0
    assert [line.split(",", cut)[cut] if cut else line for line in result.stdout.splitlines()] == good
    (warning,) = result.stderr.splitlines()
    assert warning.startswith(f"warning: 4 cells of '{bad}' counted as missing: ")
    assert "column 'temperature' has 2 that are not a number ('hot' in row 2, 'n. a.' in row 4)" in warning
    assert "column 'age' has 1 that is not a number ('old' in row 3)" in warning
    assert "column 'seen' has 1 that is not a date ('soon' in row 5)" in warning
    assert call("predict", trained, bad, *keep).exit_code == 1


def test_other_commands_count_bad_cells_as_missing(bad, trained, tmp_path):
    explained = done("explain", trained, bad, *LENIENT, "--row", "2")
    assert explained.stdout == done("explain", trained, bad.with_name("good.csv"), "--row", "2").stdout
    assert "1 cell of" in explained.stderr
    assert "'hot' in row 2" in explained.stderr
    rows = PATIENTS.read_text()
    (tmp_path / "more.csv").write_text(rows.replace("37.1", "warm"))
    evaluated = done("evaluate", tmp_path / "more.csv", "--model", trained, *LENIENT, "--json")
    assert json.loads(evaluated.stdout)["rows"] == 397
    assert "'warm' in row" in evaluated.stderr
    n = rows.count("37.1")
    assert f"column 'temperature' has {n} that are not a number" in evaluated.stderr
    added = done("add", trained, tmp_path / "more.csv", *LENIENT, "-o", tmp_path / "sum.deciban")
    assert f"{n} cells of" in added.stderr
    crossed = done("evaluate", tmp_path / "more.csv", "--target", "diagnosis", *LENIENT)
    assert crossed.stderr.count(f"{n} cells of") == 1
    shown = done("train", tmp_path / "more.csv", "--target", "diagnosis", *LENIENT, "-o", tmp_path / "m.deciban")
    assert "temperature  number" in shown.stdout
    assert f"{n} cells of" in shown.stderr


def test_bad_cells_of_frames_are_missing_too(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=80), "n": rng.poisson(3, 80), "y": ["a", "b"] * 40})
    model = deciban.train(frame, target="y", roles={"n": "count", "x": "number"}, judge=False)
    bad = frame.assign(x=frame["x"].astype(object), n=frame["n"])
    bad.loc[3, "n"] = -1
    texts = bad.assign(x=[("?!" if i == 5 else str(x)) for i, x in enumerate(frame["x"])])
    infinite = bad.assign(x=frame["x"].where(frame.index != 5, np.inf))
    missing = frame.assign(x=frame["x"].where(frame.index != 5), n=frame["n"].astype(float).where(frame.index != 3))
    for table, word in ((texts, "'?!' in row 6"), (infinite, "inf in row 6")):
        with pytest.warns(DecibanWarning, match="2 cells of the table counted as missing") as caught:
            answers = model.predict_proba(table, bad_cells="missing")
        assert word in str(caught[0].message)
        assert "column 'n' has 1 that is not a count ≥ 0 (-1 in row 4)" in str(caught[0].message)
        assert answers.equals(model.predict_proba(missing))
        with pytest.raises(InputError):
            model.predict_proba(table)


def test_without_bad_cells_nothing_changes_and_nothing_is_reported(trained):
    strict = done("predict", trained, NEW)
    lenient = done("predict", trained, NEW, *LENIENT)
    assert (strict.stdout, strict.stderr) == (lenient.stdout, lenient.stderr)


def test_a_late_bad_cell_is_missing_in_training(tmp_path):
    path = tmp_path / "t.csv"
    rows = "".join(f"{i * 0.7 % 3:.2f},{'ab'[i % 2]}\n" for i in range(150_000))
    path.write_text(f"x,y\n{rows}oops,a\nNA,b\ninf,b\n")
    with pytest.warns(DecibanWarning, match="2 cells of .* not a number .'oops' in row 150001") as caught:
        model = deciban.train(path, target="y", judge=False, bad_cells="missing")
    assert len(caught) == 1
    assert model.origin.rows_read == 150_003
    assert model.ledger.parts[0].weight.sum() == 150_000


def test_a_column_with_few_bad_cells_is_one_of_numbers_and_with_many_is_not(tmp_path):
    path = tmp_path / "t.csv"
    for n_bad, role in ((3, "number"), (30, "category")):
        cells = ["x" if i < n_bad else f"{i * 0.37 % 7:.2f}" for i in range(100)]
        path.write_text("\n".join(["a,b,y", *(f"{c},{i % 5},{'pq'[i % 2]}" for i, c in enumerate(cells))]) + "\n")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = deciban.train(path, target="y", judge=False, bad_cells="missing", numbers="number").roles["a"]
        assert found == role
    with pytest.warns(DecibanWarning, match="30 cells .*'x' in row 1, 'x' in row 2, 'x' in row 3, …"):
        model = deciban.train(path, target="y", judge=False, bad_cells="missing", roles={"a": "number"})
    assert model.roles["a"] == "number"


def test_a_report_names_five_columns_and_counts_the_others():
    found = BadCells()
    for name in "abcdef":
        found.add(name, "a number", pa.array(["x", "1"]), np.array([True, False]))
    assert found.describe("t").endswith("column 'e' has 1 that is not a number ('x' in row 1); and 1 other column")
    found.add("g", "a number", pa.array(["x"]), np.array([True]))
    assert found.describe("t").endswith("; and 2 other columns")


def test_other_values_and_documents_are_refused(tmp_path):
    (tmp_path / "t.txt").write_text("a\n")
    with pytest.raises(InputError, match="bad_cells must be 'error' or 'missing', not 'drop'"):
        deciban.train({"x": [1, 2], "y": ["a", "b"]}, target="y", bad_cells="drop")
    with pytest.raises(InputError, match="bad_cells='missing' is for tables"):
        deciban.train(tmp_path / "t.txt", target="y", bad_cells="missing")
    assert call("predict", "m", "t.csv", "--bad-cells", "drop").exit_code == 2
