"""Files that the executors read by themselves give the ledger of one machine."""

import numpy as np
import pyarrow.parquet as pq
import pytest

import deciban
from deciban.errors import InputError
from deciban.sources import spark_files
from tests.spark.compare import assert_same_ledger
from tests.spark.test_frames import ROLES, mixed
from tests.tables import clinic

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet")


def parquet(table, folder):
    for i in range(3):
        pq.write_table(table.slice(i * 1000, 1000), folder / f"part{i}.parquet", row_group_size=170)
    return str(folder / "part*.parquet")


def csv(table, folder):
    return clinic.csv(table, folder / "rows.csv")


def json_lines(table, folder):
    return clinic.json_lines(table, folder / "rows.jsonl")


@pytest.mark.parametrize("write", [parquet, csv, json_lines])
def test_the_ledger_is_that_of_one_machine(spark, tmp_path, monkeypatch, write):
    path = write(mixed(), tmp_path)
    monkeypatch.setattr(spark_files, "MIN_SPLIT_BYTES", 20_000)
    monkeypatch.setattr(spark_files, "SPLIT_BYTES", 20_000)
    monkeypatch.setattr(spark_files, "PARQUET_SPLIT_BYTES", 8_000)
    given = {
        "target": "diagnosis",
        "roles": ROLES,
        "calibrate": "none",
    }  # the folds of a distributed table are others
    local = deciban.train(path, **given)
    model = deciban.train(path, **given, spark=spark)
    assert_same_ledger(model.ledger, local.ledger)
    assert model.origin.rows_read == 3000
    assert model.origin.learned == local.origin.learned
    answers = model.predict(path, spark=spark, keep=["patient"]).toArrow().sort_by("patient")
    assert answers.column_names == ["patient", "prediction", "probability", "decibans"]
    expected = local.predict(path).read_all()
    assert answers.column("prediction").to_pylist() == expected.column(0).to_pylist()


def test_cells_with_line_ends_are_read_as_they_are(spark, tmp_path, monkeypatch):
    lines = [f'"first\nsecond {i % 3}",{"ab"[i % 2]}' for i in range(4000)]
    (tmp_path / "notes.csv").write_text("\n".join(["note,label", *lines]))
    monkeypatch.setattr(spark_files, "MIN_SPLIT_BYTES", 10_007)
    monkeypatch.setattr(spark_files, "SPLIT_BYTES", 10_007)
    settings = {"target": "label", "roles": {"note": "category"}}
    local = deciban.train(str(tmp_path / "notes.csv"), **settings)
    model = deciban.train(str(tmp_path / "notes.csv"), **settings, spark=spark)
    assert_same_ledger(model.ledger, local.ledger)


@pytest.mark.parametrize("size", [1, 7, 50, 1000])
def test_every_line_is_in_one_range(tmp_path, size):
    lines = [b"a" * (i % 11) + b"\r\n" * (i % 2) for i in range(40)]
    content = b"\n".join(lines)
    (tmp_path / "lines.txt").write_bytes(content)
    found = []
    for start in range(0, len(content), size):
        with (
            spark_files._copy_range(str(tmp_path / "lines.txt"), start, start + size) as (copy, _),
            open(copy, "rb") as file,
        ):
            found.append(file.read())
    assert b"".join(found) == content
    assert all(part.endswith(b"\n") for part in found[:-1] if part) or len(found) == 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("rows.txt", "a\nb\n", "read on one machine only"),
        ("rows.csv", "a,b\né,ü\n".encode("latin-1"), "not in UTF-8|utf-8"),
    ],
)
def test_files_that_tasks_cannot_read_are_refused(spark, tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    reading = {"encoding": "latin-1"} if isinstance(content, bytes) else {"format": "lines"}
    with pytest.raises(InputError, match=message):
        deciban.train(str(tmp_path / name), target="b", spark=spark, **reading)


def test_a_faulty_cell_is_reported_with_its_file(spark, tmp_path):
    lines = ["x,label", *(f"{i},{'ab'[i % 2]}" for i in range(30_000)), "three,a"]
    (tmp_path / "cells.csv").write_text("\n".join(lines))
    with pytest.raises(InputError, match=r"cells.csv.*'three'") as caught:
        deciban.train(str(tmp_path / "cells.csv"), target="label", roles={"x": "number"}, spark=spark)
    assert "Traceback" not in str(caught.value)


def test_spark_reads_paths_alone(spark):
    with pytest.raises(InputError, match="spark= reads paths"):
        deciban.train({"a": np.arange(3)}, target="a", spark=spark)
    with pytest.raises(InputError, match="SparkSession, not str"):
        deciban.train("a.csv", target="a", spark="local[2]")
