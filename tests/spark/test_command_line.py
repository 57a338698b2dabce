"""`deciban train`, `predict` and `evaluate` with --spark, as processes of their own."""

import json
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

import deciban
from tests.spark.compare import assert_same_ledger
from tests.spark.test_frames import mixed

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet")


def run(*words, folder):
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "deciban", *words], cwd=folder, capture_output=True, text=True
    )


@pytest.fixture
def table(tmp_path, needs_spark):
    rows = mixed(600)
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=100)
    return rows


@pytest.mark.thorough(reason="starts Spark")
def test_train_predict_and_evaluate(table, tmp_path):
    trained = run("train", "rows.parquet", "--target", "diagnosis", "--spark", "local[2]", folder=tmp_path)
    assert trained.returncode == 0, trained.stderr
    model = deciban.load(tmp_path / "rows.deciban")
    local = deciban.train(table, target="diagnosis")
    assert_same_ledger(model.ledger, local.ledger)
    words = ("predict", "rows.deciban", "rows.parquet", "--keep", "patient", "--proba", "--spark", "local[2]")
    predicted = run(*words, "-o", "answers.parquet", folder=tmp_path)
    assert predicted.returncode == 0, predicted.stderr
    answers = pq.read_table(tmp_path / "answers.parquet").sort_by("patient")
    assert answers.column("prediction").to_pylist() == model.predict(table).to_pylist()
    assert {"p(ill)", "p(well)", "decibans"} < set(answers.column_names)
    again = run(*words, "-o", "answers.parquet", folder=tmp_path)
    assert (again.returncode, "it is a folder" in again.stderr) == (1, True), again.stderr
    words = ("evaluate", "rows.parquet", "--target", "diagnosis", "--spark", "local[2]", "--json")
    evaluated = run(*words, folder=tmp_path)
    assert json.loads(evaluated.stdout)["rows"] == local.held_out.rows


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["predict", "rows.deciban", "rows.parquet", "--spark", "local[1]"], "-o names the folder"),
        (["train", "-", "--target", "y", "--spark", "local[1]"], "--spark reads files"),
        (["train", "--folders", ".", "--spark", "local[1]"], "--spark reads files"),
        (["train", "sqlite:///a.db", "--target", "y", "--spark", "local[1]"], "--spark reads files"),
        (["train", "rows.parquet", "--target", "diagnosis", "--spark", "nonsense"], "cannot be started"),
    ],
)
def test_what_spark_cannot_do_is_an_error(table, tmp_path, words, message):
    deciban.train(table, target="diagnosis", judge=False).save(tmp_path / "rows.deciban")
    refused = run(*words, folder=tmp_path)
    assert refused.returncode in (1, 2)
    assert message in refused.stderr
    assert "Traceback" not in refused.stderr
