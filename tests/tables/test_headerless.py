"""Tables without a header: their columns are numbered or named, and a first line that is data is asked about."""

import numpy as np
import pandas as pd
import pytest

import deciban
from deciban.errors import InputError
from deciban.sources.source import FileOptions, open_source
from tests.cli.terminal import call, done

IRIS = [
    "5.1,3.5,1.4,0.2,Iris-setosa", "4.9,3.0,1.4,0.2,Iris-setosa", "4.7,3.2,1.3,0.2,Iris-setosa",
    "7.0,3.2,4.7,1.4,Iris-versicolor", "6.4,3.2,4.5,1.5,Iris-versicolor", "6.9,3.1,4.9,1.5,Iris-versicolor",
    "6.3,3.3,6.0,2.5,Iris-virginica", "5.8,2.7,5.1,1.9,Iris-virginica", "7.1,3.0,5.9,2.1,Iris-virginica",
]  # fmt: skip
NAMES = ["sepal_length", "sepal_width", "petal_length", "petal_width", "species"]


@pytest.fixture
def iris(tmp_path):
    path = tmp_path / "iris.data"
    path.write_text("\n".join(IRIS * 5) + "\n")
    return path


def rows_as_text(source):
    (batch,) = source.batches(dict.fromkeys(source.columns, "text"))
    return [",".join(row.values()) for row in batch.to_pylist()]


@pytest.mark.parametrize("target", ["5", "-1", 5, -1, "column5"])
def test_the_first_line_is_a_row_and_the_target_is_given_by_its_number(iris, target):
    model = deciban.train(iris, target=target, header=False, judge=False)
    assert model.target == "column5"
    assert model.origin.rows_read == 45
    assert [column.name for column in model.columns] == ["column1", "column2", "column3", "column4"]
    assert rows_as_text(open_source(iris, options=FileOptions(header=False))) == IRIS * 5


def test_names_are_given_and_the_model_is_that_of_the_file_with_a_header(iris, tmp_path):
    named = deciban.train(iris, target="species", names=NAMES, judge=False)
    (tmp_path / "headed.csv").write_text(",".join(NAMES) + "\n" + iris.read_text())
    headed = deciban.train(tmp_path / "headed.csv", target=5, judge=False)
    assert named.ledger == headed.ledger
    predicted = named.predict_proba(iris, names=NAMES).read_all()
    assert predicted.equals(headed.predict_proba(tmp_path / "headed.csv").read_all())
    renamed = deciban.train(tmp_path / "headed.csv", target="e", header=True, names=list("abcde"), judge=False)
    assert [column.name for column in renamed.columns] == list("abcd")
    assert renamed.origin.rows_read == 45


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("train", ["-o", "m.deciban"]),
        ("evaluate", []),
        ("dependence", []),
        ("learning", ["--sizes", "20"]),
        ("plot confusion", ["-o", "confusion.png"]),
    ],
)
def test_every_command_that_trains_reads_a_table_without_a_header(command, more, iris, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done(*command.split(), iris, "--no-header", "--target", "-1", *more)
    done(*command.split(), iris, "--names", ",".join(NAMES), "--target", "species", *more)


def test_commands_that_use_a_model_read_a_table_without_a_header(iris, tmp_path):
    model = tmp_path / "m.deciban"
    shown = done("train", iris, "--no-header", "--target", "5", "-o", model).stdout
    assert "of column5" in shown
    assert len(done("predict", model, iris, "--no-header", "--all").stdout.splitlines()) == 46
    assert "Row 1" in done("explain", model, iris, "--no-header").stdout
    assert "accuracy" in done("evaluate", iris, "--model", model, "--no-header").stdout
    assert "45 before and 90 now" in done("add", model, iris, "--no-header").stderr
    assert "Hint: --no-header reads it as a row" in call("predict", model, iris).stderr


HEADERLESS = {
    "adult": ["39, State-gov, 77516, Bachelors, <=50K", "50, Private, 83311, Bachelors, <=50K",
              "38, Private, 215646, HS-grad, <=50K", "52, State-gov, 209642, HS-grad, >50K"],
    "mushroom": ["p,x,s,n,t", "e,x,s,y,t", "e,b,s,w,t", "p,x,y,w,t"],
    "wine": ["1,14.23,1.71,2.43,15.6", "1,13.2,1.78,2.14,11.2", "1,13.16,2.36,2.67,18.6", "2,14.37,1.5,2.5,16.8"],
    "votes": ["republican,n,y,n,y,?", "republican,n,y,n,y,y", "democrat,?,y,y,?,y"],
    "counts": ["5,1,1,1,2", "5,4,4,5,7", "3,1,1,1,2", "6,8,8,1,3"],
    "semicolons": ["5,1;3,5;setosa", "4,9;3,0;setosa", "7,0;3,2;virginica", "5,5;3,7;virginica"],
}  # fmt: skip


@pytest.mark.parametrize("name", HEADERLESS)
def test_a_first_line_that_looks_like_data_is_asked_about(name, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(HEADERLESS[name]) + "\n")
    with pytest.raises(InputError, match=r"looks like a row of data.*--no-header \(header=False\).*--header \(head"):
        open_source(path)
    assert open_source(path, options=FileOptions(header=False)).head(9).num_rows == len(HEADERLESS[name])
    if name not in ("mushroom", "votes", "counts", "wine"):  # these have two equal cells in the first line
        assert open_source(path, options=FileOptions(header=True)).head(9).num_rows == len(HEADERLESS[name]) - 1


HEADED = {
    "years": ["1990,1991,target", "1.5,2.5,a", "1995,1990.5,b", "7,1991,a"],
    "years and codes": ["1990,1995,2000,2001,y", "1990,1996,2001,2000,1", "1995,1994,1999,2003,0"],
    "pandas without names": ["0,1,2,3", "0,1,0,1", "1,1,2,3", "0,2,2,4"],
    "pandas with an index": [",0,1,y", "0,5,1,a", "1,0,0,b", "2,1,1,a"],
    "wavelengths": ["400.5,401.0,401.5,402.0,y", "400.5,402.0,401.5,402.0,a", "400.1,400.9,401.6,403.0,b"],
    "texts": ["text,topic", "where is my parcel,delivery", "text,billing", "refund please,billing"],
    "categories": ["outlook,windy,play", "sunny,no,yes", "rain,no,no", "sunny,yes,yes"],
    "one row": ["cough,smoker", "dry,no"],
    "numbers alone": ["x,y", "1,2", "3,4"],
    "dates": ["day,place", "2024-01-01,here", "2024-01-02,there", "2024-01-02,here"],
}  # fmt: skip


@pytest.mark.parametrize("name", HEADED)
def test_a_header_is_no_false_alarm(name, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(HEADED[name]) + "\n")
    expected = [cell or f"column{i}" for i, cell in enumerate(HEADED[name][0].split(","), 1)]
    assert list(open_source(path).columns) == expected


def test_names_for_a_file_that_has_a_header_are_asked_about(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("age,ill\n30,no\n40,yes\n50,no\n")
    with pytest.raises(InputError, match=r"looks like a header: 'age,ill'. Hint: --header \(header=True\) replaces"):
        open_source(path, options=FileOptions(names=("a", "b")))
    assert open_source(path, options=FileOptions(names=("a", "b"), header=True)).head(9).num_rows == 3
    assert open_source(path, options=FileOptions(names=("a", "b"), header=False)).head(9).num_rows == 4


def test_names_that_do_not_fit_are_refused(iris):
    for names, words in ((["a", "b"], "2 names are given, and the first line of .* has 5 cells"),
                         (["a", "a", "b", "c", "d"], "two columns named 'a'"),
                         (["a", " ", "b", "c", "d"], "names must be texts")):  # fmt: skip
        with pytest.raises(InputError, match=words):
            deciban.train(iris, target="a", names=names)
    with pytest.raises(InputError, match="header must be True, False or None, not 'no'"):
        deciban.train(iris, target="a", header="no")


def test_files_without_a_header_are_read_together(tmp_path):
    for name in ("1.csv", "2.csv"):
        (tmp_path / name).write_text("\n".join(IRIS) + "\n")
    assert deciban.train(tmp_path / "*.csv", target=-1, header=False, judge=False).origin.rows_read == 18
    (tmp_path / "2.csv").write_text("1,2,a\n")
    with pytest.raises(InputError, match=r"2.csv' has other columns"):
        deciban.train(tmp_path / "*.csv", target=-1, header=False)


def test_faults_name_their_lines_in_a_file_without_a_header(iris):
    iris.write_text("\n".join([*IRIS, "1,2,3", *IRIS]))
    with pytest.raises(InputError, match="3 cells in line 10 where the first line has 5"):
        deciban.train(iris, target=5, header=False)
    iris.write_text("\n".join([*IRIS * 5, "x,3.5,1.4,0.2,Iris-setosa", *IRIS]))
    model = deciban.train(iris, target=5, header=False, roles={"column1": "category"}, judge=False)
    assert model.origin.rows_read == 55
    with pytest.raises(InputError, match="holds 'x' in line 46, which is not a number"):
        list(open_source(iris, options=FileOptions(header=False)).batches({"column1": "number"}))


def test_a_column_of_that_name_comes_before_the_number():
    table = {"2": [1, 0] * 20, "1": ["a", "b"] * 20}
    assert deciban.train(table, target="2", judge=False).target == "2"
    assert deciban.train(table, target=2, judge=False).target == "2"
    frame = pd.DataFrame({"x": np.arange(40) % 3, "y": ["a", "b"] * 20})
    assert deciban.train(frame, target=2, judge=False).target == "y"
    for target in ("3", "-3", "0"):
        with pytest.raises(InputError, match=f"has no column '{target}' for the target"):
            deciban.train(frame, target=target)
    with pytest.raises(InputError, match=r"target names a column by a text or by its number, not by 1.5"):
        deciban.train(frame, target=1.5)


@pytest.mark.parametrize("options", [{"header": False}, {"names": ["a", "b"]}, {"quote": "none"}, {"decimal": ","}])
def test_options_of_csv_files_are_refused_for_other_tables(options, tmp_path):
    (tmp_path / "t.jsonl").write_text('{"x": 1, "y": "a"}\n{"x": 2, "y": "b"}\n')
    for source in (tmp_path / "t.jsonl", {"x": [1, 2], "y": ["a", "b"]}):
        with pytest.raises(InputError, match=rf"{next(iter(options))}=.* is for CSV and TSV files"):
            deciban.train(source, target="y", **options)
