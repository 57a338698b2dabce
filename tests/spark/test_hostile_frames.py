"""DataFrames as nobody wishes them: names, types, empty and uneven partitions; each is correct or a clear error."""

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pytest

import deciban
from deciban.errors import InputError
from tests.spark.compare import assert_same_ledger, in_partitions

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet")

NAMES = ["a.b", "`tick`", 'say "ah"', "line\nend", "'; drop table x; --", "select", "Größe", "c0", " "]


def numbers(n=300, seed=0, names=("x", "z")):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return pa.table({name: rng.normal(y, 1.0) for name in names} | {"y": np.array(["no", "yes"])[y]})


def test_any_name_of_a_column(spark):
    table = numbers(names=NAMES).rename_columns([*NAMES, "the `target`"])
    model = deciban.train(in_partitions(spark, table, 2), target="the `target`")
    assert_same_ledger(model.ledger, deciban.train(table, target="the `target`").ledger)
    found = model.predict(in_partitions(spark, table, 2))
    assert found.columns == [*table.column_names, "prediction", "probability", "decibans"]
    assert found.count() == 300


def test_two_columns_of_one_name_are_refused(spark):
    frame = in_partitions(spark, numbers(), 2)
    with pytest.raises(InputError, match="two columns named 'x'"):
        deciban.train(frame.toDF("x", "x", "y"), target="y")
    upper = frame.toDF("x", "X", "y")  # equal for Spark, two names for us
    assert set(deciban.train(upper, target="y").roles) == {"x", "X"}


def test_a_column_with_the_name_of_a_result_is_refused(spark):
    table = numbers(names=("x", "prediction"))
    model, frame = deciban.train(table, target="y"), in_partitions(spark, table, 2)
    with pytest.raises(InputError, match="'prediction', which is a name of the result"):
        model.predict(frame)
    assert model.predict(frame, keep=["y"]).columns == ["y", "prediction", "probability", "decibans"]
    with pytest.raises(InputError, match="no column 'q' to keep"):
        model.predict(frame, keep=["q"])


def test_a_class_of_one_partition_empty_partitions_and_few_rows(spark):
    table = numbers(200)
    rare = pa.table({"x": [9.0, 9.5], "z": [1.0, 2.0], "y": ["maybe", "maybe"]})
    frame = in_partitions(spark, table, 3).union(in_partitions(spark, rare, 1))
    model = deciban.train(frame.repartition(40), target="y")
    assert_same_ledger(model.ledger, deciban.train(pa.concat_tables([table, rare]), target="y").ledger)


def test_a_frame_without_rows_without_classes_or_without_weights(spark):
    frame = in_partitions(spark, numbers(), 2)
    with pytest.raises(InputError, match=r"no rows|no column is left"):
        deciban.train(frame.where("x > 1e9"), target="y", roles={"x": "number", "z": "number"})
    none = frame.selectExpr("x", "z", "cast(null as string) as y")
    with pytest.raises(InputError, match="none of the 300 rows has a value in 'y'"):
        deciban.train(none, target="y")
    with pytest.raises(InputError, match="every row has the weight 0"):
        deciban.train(frame.selectExpr("*", "0 as w"), target="y", weights="w")
    with pytest.raises(InputError, match="one class only, 'yes'"):
        deciban.train(frame.where("y = 'yes'"), target="y")


def test_missing_columns_decimals_zones_and_nested_values(spark):
    n, table = 120, numbers(120)
    zone = [datetime.datetime(2024, 1 + i % 12, 1, i % 24, tzinfo=datetime.UTC) for i in range(n)]
    more = {
        "nothing": pa.nulls(n, pa.float64()),
        "price": pa.array([decimal.Decimal(i) / 4 for i in range(n)], pa.decimal128(12, 2)),
        "when": pa.array(zone, pa.timestamp("us", "UTC")),
        "pair": pa.array([{"a": i, "b": "x"} for i in range(n)]),
        "many": pa.array([[1.0] * (i % 3) for i in range(n)]),
        "bits": pa.array([b"\x00\xff"] * n),
    }
    for name, column in more.items():
        table = table.append_column(name, column)
    frame = in_partitions(spark, table, 2)
    model = deciban.train(frame, target="y", roles={"price": "number", "when": "date"})
    local = deciban.train(table, target="y", roles={"price": "number", "when": "date"})
    assert model.roles == local.roles
    assert_same_ledger(model.ledger, local.ledger)
    kept = model.predict(frame).toArrow()
    assert kept.column("pair").to_pylist() == table.column("pair").to_pylist()
    assert kept.column("when").to_pylist() == table.column("when").to_pylist()
    with pytest.raises(InputError, match="'pair' is of type struct"):
        deciban.train(frame, target="pair")


def test_two_thousand_columns(spark):
    table = numbers(60, names=[f"x{j}" for j in range(2000)])
    model = deciban.train(in_partitions(spark, table, 1), target="y", numbers="number", judge=False)
    assert_same_ledger(model.ledger, deciban.train(table, target="y", numbers="number", judge=False).ledger)


def test_an_infinite_number_is_reported_with_its_partition(spark):
    table = numbers(5000)
    x = np.array(table.column("x").to_pylist())
    x[4999] = np.inf
    frame = in_partitions(spark, table.set_column(0, "x", pa.array(x)), 2)
    with pytest.raises(InputError, match=r"partition 1 of the DataFrame: column 'x' holds inf in row 2500"):
        deciban.train(frame, target="y", roles={"x": "number", "z": "number"})
    with pytest.warns(match="1 cell of the DataFrame counted as missing"):
        deciban.train(frame, target="y", roles={"x": "number", "z": "number"}, bad_cells="missing")


def test_a_plain_scan_of_files_says_that_its_path_would_be_faster(spark, tmp_path):
    in_partitions(spark, numbers(), 2).write.parquet(str(tmp_path / "rows"))
    scan = spark.read.parquet(str(tmp_path / "rows"))
    advice = "spark=session) reads faster"
    assert advice in deciban.train(scan.select("x", "y"), target="y").held_out.measured
    assert advice not in deciban.train(scan.where("x > 0"), target="y").held_out.measured
    by_path = deciban.train(str(tmp_path / "rows"), target="y", spark=spark)
    assert by_path.ledger.n_rows == 300
