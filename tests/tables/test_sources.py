"""The ledger of a table is the same for every kind of source, bit for bit."""

import os
import threading

import duckdb
import numpy as np
import pytest

import deciban
from deciban.errors import InputError
from deciban.sources.source import FileOptions, open_source
from tests.tables import clinic


@pytest.fixture(scope="module")
def table():
    return clinic.patients()


@pytest.fixture(scope="module")
def reference(table):
    return deciban.train(table, target="diagnosis")


@pytest.mark.parametrize("name", clinic.SOURCES)
def test_every_source_gives_the_same_roles_and_the_same_ledger(name, table, reference, tmp_path):
    model = deciban.train(clinic.SOURCES[name](table, tmp_path), target="diagnosis")
    if name == "xlsx":
        reference = deciban.train(clinic.as_workbook(table), target="diagnosis")
    assert model.roles == reference.roles
    assert model.ledger == reference.ledger
    assert model.ledger.schema.fingerprint == reference.ledger.schema.fingerprint


def test_a_query_gives_the_same_ledger(table, reference, tmp_path):
    path = clinic.parquet(table, tmp_path / "t.parquet")
    assert deciban.train(sql=f"select * from '{path}'", target="diagnosis").ledger == reference.ledger
    con = duckdb.connect()
    con.register("patients", table)
    assert deciban.train(con, sql="from patients", target="diagnosis").ledger == reference.ledger


@pytest.mark.parametrize("name", clinic.SOURCES)
def test_every_source_is_predicted_alike(name, table, reference, tmp_path):
    answer = reference.predict_proba(clinic.SOURCES[name](table, tmp_path))
    expected = np.column_stack(reference.predict_proba(table).columns)
    np.testing.assert_array_equal(as_matrix(answer), expected)


def as_matrix(answer):
    if hasattr(answer, "read_all"):
        answer = answer.read_all()
    if hasattr(answer, "columns") and hasattr(answer, "num_rows"):
        return np.column_stack(answer.columns)
    return np.asarray(answer)


def test_labels_and_categories_are_what_the_file_states(table, tmp_path):
    path = clinic.csv(table, tmp_path / "t.csv")
    model = deciban.train(path, target="smoker", roles={"visits": "category"})
    assert model.classes == ["no", "yes"]
    levels = dict(zip(*next((b.names, b.levels) for b in model.ledger.schema.blocks if b.kind == "levels")))
    assert levels["code"] == ("007", "1e5", "2024-01", "née", 'say "ah"', "x,y")
    assert {"0", "1", "2", "3"} <= set(levels["visits"])


@pytest.mark.parametrize(
    "labels", [[1, 2, 2, 1], [True, False, True, False], [1.5, 2.5, 1.5, 2.5], ["a", "b", "a", "b"]]
)
def test_predictions_have_the_type_of_the_labels(labels):
    model = deciban.train({"x": np.array([1.0, 5.0, 1.5, 5.5]), "y": np.array(labels)}, target="y", judge=False)
    answer = model.predict({"x": np.array([1.0, 5.0])})
    assert type(answer.tolist()[0]) is type(labels[0])
    assert set(answer.tolist()) <= set(labels)


def test_predictions_come_back_in_the_users_own_kind_of_frame(table, reference, tmp_path):
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    frame = table.to_pandas().set_index("patient", drop=False)
    assert isinstance(reference.predict(frame), pd.Series)
    assert reference.predict(frame).index.equals(frame.index)
    assert list(reference.predict_proba(frame).columns) == ["ill", "well"]
    assert isinstance(reference.predict(pl.from_arrow(table)), pl.Series)
    assert isinstance(reference.predict_proba(pl.from_arrow(table)), pl.DataFrame)
    assert isinstance(reference.predict_proba(table), pa.Table)
    assert isinstance(reference.predict(clinic.csv(table, tmp_path / "t.csv")), pa.RecordBatchReader)
    assert isinstance(reference.predict(clinic.typed_arrays(table)), np.ndarray)


def test_rows_in_many_blocks_give_the_same_bits_from_every_source(monkeypatch, table, tmp_path):
    """Blocks are cut by row numbers, not by how a source happens to be stored."""
    from deciban.model import matrices

    monkeypatch.setattr(matrices, "MAX_BLOCK_ROWS", 64)
    monkeypatch.setattr(matrices, "MIN_BLOCK_ROWS", 64)
    models = [
        deciban.train(clinic.SOURCES[name](table, tmp_path), target="diagnosis")
        for name in ("pyarrow table", "batches", "csv", "parquet", "arrow stream")
    ]
    assert all(model.ledger == models[0].ledger for model in models)


def test_a_stream_can_be_learned_from_but_not_twice(table):
    stream = clinic.SOURCES["batches"](table, None)
    with pytest.raises(deciban.errors.InputError, match="read to its end"):
        deciban.evaluate(stream, target="diagnosis")


@pytest.mark.parametrize("ending", ["csv", "jsonl", "db", "arff", "xlsx", "txt"])
def test_a_file_of_a_list_that_is_not_there_is_named(ending, tmp_path):
    with pytest.raises(InputError, match=rf"b\.{ending}' .*[Nn]o such file"):
        open_source([tmp_path / f"b.{ending}"])


def test_a_pipe_is_named_as_it_was_given(tmp_path):
    path = tmp_path / "pipe.jsonl"
    os.mkfifo(path)
    threading.Thread(target=path.write_text, args=("[1, 2]\n",), daemon=True).start()
    with pytest.raises(InputError, match="not JSON objects") as refused:
        open_source(path)
    assert str(refused.value).startswith(repr(str(path)))


def test_texts_that_mean_missing_are_texts():
    for missing in (-99, [-99], ["NA", -99]):
        with pytest.raises(InputError, match=r"missing must be texts, not -99\. Hint: '-99'"):
            FileOptions.from_arguments({"missing": missing})
    assert FileOptions.from_arguments({"missing": "-99"}).missing == ("-99",)


def test_a_class_in_the_last_block_whose_rows_have_no_weight_is_left_out(monkeypatch):
    """The class is met when the block is read, and no row of the block is counted."""
    from deciban.model import matrices

    monkeypatch.setattr(matrices, "MAX_BLOCK_ROWS", 64)
    monkeypatch.setattr(matrices, "MIN_BLOCK_ROWS", 64)
    rows = {"x": [*range(64)] * 2, "w": [1.0] * 64 + [0.0] * 64, "y": ["a", "b"] * 32 + ["c"] * 64}
    model = deciban.train(rows, target="y", weights="w", roles={"x": "number"}, judge=False)
    assert model.classes == ["a", "b"]
    assert model.ledger.rows.tolist() == [32, 32]


@pytest.mark.parametrize(
    ("rows", "hint"),
    [
        (
            {"seen": "2025-01-06", "age": 40},
            r"0 dimensions; .* Hint: a list for each column, \{'seen': \['2025-01-06'\]\}$",
        ),
        ({"seen": [[1, 2], [3, 4]]}, r"2 dimensions; .* Hint: give each column its name$"),
        ([{"seen": "2025-01-06", "age": 40}], r"not list\. Hint: pandas\.DataFrame\(rows\), or pyarrow"),
        ([40], "not list$"),
    ],
)
def test_rows_in_place_of_columns_are_refused_with_the_form_that_is_read(rows, hint):
    with pytest.raises(InputError, match=hint):
        deciban.train(rows, target="age")
