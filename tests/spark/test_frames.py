"""A DataFrame of Spark is learned and predicted as the same rows are on one machine."""

import json
import math

import numpy as np
import pyarrow as pa
import pytest

import deciban
from deciban.sources.spark_frames import (
    BATCH_BYTES_SETTING,
    NO_BATCH_LIMIT,
    SparkFrame,
    count_partitions,
    suspend_batch_limit,
)
from tests.spark.compare import assert_same_ledger, in_partitions
from tests.tables.clinic import patients

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet")


def mixed(n=3000, seed=1):
    """A table with a column of every role, missing cells, weights and a text."""
    table, rng = patients(n, seed), np.random.default_rng(seed)
    words = np.array(["fever", "cough", "pain", "rest", "none", "tired", "chest", "sleep"])
    notes = [" ".join(rng.choice(words, rng.integers(0, 6))) or None for _ in range(n)]
    return table.append_column("note", pa.array(notes)).append_column("w", pa.array(rng.integers(0, 4, n)))


ROLES = {"dose": "binned", "visits": "count", "code": "category", "note": "text", "smoker": "flag", "age": "number"}


@pytest.mark.parametrize("limit", [None, "70000"])
def test_the_limit_of_batches_is_suspended_for_numbers_only(spark, limit):
    number = pa.table({"a": np.arange(300.0), "b": np.arange(300)})
    frame = in_partitions(spark, number, 2)
    texts = in_partitions(spark, mixed(300).select(["age", "note"]), 2)
    if limit is not None:
        spark.conf.set(BATCH_BYTES_SETTING, limit)
    try:
        with suspend_batch_limit(frame):
            assert spark.conf.get(BATCH_BYTES_SETTING, None) == (limit or NO_BATCH_LIMIT)
        with suspend_batch_limit(texts):
            assert spark.conf.get(BATCH_BYTES_SETTING, None) == limit
        assert spark.conf.get(BATCH_BYTES_SETTING, None) == limit
    finally:
        spark.conf.unset(BATCH_BYTES_SETTING)


@pytest.mark.parametrize("settings", [{"roles": ROLES, "weights": "w"}, {}])
def test_the_ledger_is_that_of_the_table(spark, settings):
    table = mixed()
    local = deciban.train(table, target="diagnosis", **settings)
    model = deciban.train(in_partitions(spark, table, 5), target="diagnosis", **settings)
    assert model.roles == local.roles
    assert_same_ledger(model.ledger, local.ledger)
    assert model.ranges == local.ranges
    assert model.origin.rows_read == local.origin.rows_read
    assert model.origin.rows_without_class == local.origin.rows_without_class
    assert model.origin.learned == local.origin.learned
    assert model.held_out.accuracy == pytest.approx(local.held_out.accuracy, abs=0.05)


def test_a_mixed_covariance_is_chosen_from_the_rows_of_a_sample(spark):
    table = mixed(600)
    settings = {"target": "diagnosis", "roles": {**ROLES, "dose": "number"}, "blocks": [["age", "dose"]]}
    local = deciban.train(table, **settings, covariance="mixed", judge=False)
    model = deciban.train(in_partitions(spark, table, 3), **settings, covariance="mixed", judge=False)
    assert (model.options.mixing, model.options.shrinkage) == (local.options.mixing, local.options.shrinkage)
    assert model.options.mixing is not None
    found, expected = (one.predict_proba(table) for one in (model, local))
    for label in local.classes:
        np.testing.assert_allclose(found.column(label), expected.column(label), rtol=1e-9)


def test_predictions_are_those_of_the_table(spark):
    table = mixed()
    model = deciban.train(table, target="diagnosis", roles=ROLES)
    frame = model.predict_proba(in_partitions(spark, table, 3))
    assert frame.columns == [*table.column_names, "prediction", "probability", "decibans", "p(ill)", "p(well)"]
    found = frame.toArrow().sort_by("patient")
    assert found.column("patient").equals(table.column("patient"))
    expected = model.predict_proba(table)
    for label in model.classes:
        np.testing.assert_allclose(found.column(f"p({label})"), expected.column(label), rtol=1e-9)
    assert found.column("prediction").to_pylist() == model.predict(table).to_pylist()
    odds = 10 * np.abs(np.log10(np.asarray(expected.column("ill")) / np.asarray(expected.column("well"))))
    np.testing.assert_allclose(found.column("decibans"), odds, rtol=1e-6)


def test_explanations_add_up(spark):
    table = mixed(400)
    model = deciban.train(table, target="diagnosis", roles=ROLES)
    found = model.explain(in_partitions(spark, table, 2)).toArrow().sort_by("patient").to_pylist()
    expected = model.explain(table)
    for i, row in enumerate(found):
        evidence = dict(row["evidence"])
        assert row["prediction"] == expected.winner[i]
        assert sum(evidence.values()) == pytest.approx(row["decibans"])
        assert evidence["age"] == pytest.approx(float(expected.evidence[i, list(expected.features).index("age")]))


def test_rows_are_added_and_forgotten(spark):
    table = mixed(900)
    whole = deciban.train(table, target="diagnosis", roles=ROLES, judge=False)
    model = deciban.train(table.slice(0, 500), target="diagnosis", roles=ROLES, judge=False)
    more = in_partitions(spark, table.slice(500), 3)
    assert_same_ledger(model.add(more).ledger, whole.ledger)
    assert model.origin.rows_read == 900
    first = deciban.train(table.slice(0, 500), target="diagnosis", roles=ROLES, judge=False)
    assert_same_ledger(model.forget(more).ledger, first.ledger, rtol=1e-9)


def test_a_task_uses_as_many_threads_as_it_has_cores(spark):
    """Each of the two tasks of local[2] has one core."""

    def count_threads(part, number):
        import threading

        from deciban.engines import thread_count
        from deciban.model.matrices import prefetch

        running = [threading.active_count() for batch in prefetch(part.batches({"id": "number"}))]
        return [thread_count(None), pa.cpu_count(), len(running), max(running)]

    def add(a, b):
        return [*map(max, a, b)]

    frame = SparkFrame(spark.range(0, 100, 1, 2))
    found = frame.reduce(count_threads, add, lambda state: json.dumps(state).encode(), json.loads, ["id"])
    assert found == [1, 1, 1, 1]


def test_partitions_are_counted_only_where_nothing_has_to_be_run(spark):
    frame = spark.range(0, 100, 1, 3)
    assert count_partitions(frame) == 3
    assert count_partitions(frame.repartition(3)) == math.inf


def test_ledgers_are_merged_in_a_tree(spark):
    """Of a frame that exchanges its rows first the number of partitions is not known, so every stage is there."""
    table = mixed(500)
    shuffled = in_partitions(spark, table, 2).repartition(12, "age")
    model = deciban.train(shuffled, target="diagnosis", roles=ROLES, judge=False)
    assert_same_ledger(model.ledger, deciban.train(table, target="diagnosis", roles=ROLES, judge=False).ledger)


def test_small_batches_are_gathered(spark):
    """Batches of three rows, an array of numbers with and without missing ones among the columns."""
    setting, table = "spark.sql.execution.arrow.maxRecordsPerBatch", mixed(500)
    local = deciban.train(table, target="diagnosis", judge=False)
    before = spark.conf.get(setting)
    spark.conf.set(setting, "3")
    try:
        model = deciban.train(in_partitions(spark, table, 2), target="diagnosis", judge=False)
    finally:
        spark.conf.set(setting, before)
    assert_same_ledger(model.ledger, local.ledger)
