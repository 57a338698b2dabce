"""SQL that scores: executed on real databases against `predict_proba`."""

import numpy as np
import pytest

from deciban.export.portable import make_document
from deciban.export.sql import SqlOptions, write_sql
from tests.export.databases import numbered, run_duckdb, run_postgres, run_spark, run_sqlite
from tests.export.models import CASES, posterior, trained

pytestmark = pytest.mark.filterwarnings("ignore::deciban.errors.DecibanWarning")


def check(found, model, rows):
    K = len(model.classes)
    ours = np.column_stack([np.asarray(found.column(3 + k).to_pylist(), dtype=float) for k in range(K)])
    np.testing.assert_allclose(ours, posterior(model, rows), rtol=0, atol=1e-9)
    assert found.column("prediction").to_pylist() == model.predict(rows).to_pylist()
    np.testing.assert_allclose(np.asarray(found["probability"]), ours.max(axis=1), rtol=1e-12)


def scored(name, dialect, run, **options):
    model, rows = trained(name)
    sql = write_sql(make_document(model), SqlOptions(dialect, keys=["row_number"], **options))
    return model, rows, run(sql, {"data": numbered(rows)})


@pytest.mark.parametrize("name", CASES)
def test_duckdb_gives_the_posterior(name):
    model, rows, found = scored(name, "duckdb", run_duckdb)
    check(found, model, rows)


@pytest.mark.parametrize("name", CASES)
def test_sqlite_gives_the_posterior(name):
    model, rows, found = scored(name, "sqlite", run_sqlite)
    check(found, model, rows)


@pytest.mark.parametrize("name", CASES)
def test_postgresql_gives_the_posterior(name, postgres):
    model, rows, found = scored(name, "postgres", lambda *query: run_postgres(postgres, *query))
    check(found, model, rows)


@pytest.mark.thorough(reason="starts Spark")
@pytest.mark.parametrize("name", CASES)
def test_spark_gives_the_posterior(name, spark):
    model, rows, found = scored(name, "spark", lambda *query: run_spark(spark, *query))
    check(found, model, rows)


@pytest.mark.parametrize("name", CASES)
def test_duckdb_gives_the_evidence_of_each_column(name):
    model, rows, found = scored(name, "duckdb", run_duckdb, evidence=True)
    expected = model.explain(rows)
    check(found, model, rows)
    finite = np.isfinite(expected.total)
    assert finite.sum() > len(rows) / 2
    np.testing.assert_allclose(np.asarray(found["decibans"])[finite], expected.total[finite], rtol=1e-9, atol=1e-7)
    joined = {column.name: " & ".join(column.block) for column in model.columns if column.block}
    names = [column.removeprefix("evidence_") for column in found.column_names if column.startswith("evidence_")]
    for name in names:
        parts = [j for j, feature in enumerate(expected.features) if name in (feature, joined.get(feature))]
        total = sum(expected.evidence[:, j] for j in parts)
        if len(parts) > 1:
            total = total + expected.extras.get("shape", 0.0)
        ours = np.asarray(found[f"evidence_{name}"].to_pylist(), dtype=float)
        shown = ~np.isnan(ours)  # it is NULL in rows with a value that is impossible in a class
        assert shown.sum() > len(rows) / 4
        np.testing.assert_allclose(ours[shown], total[shown], rtol=1e-9, atol=1e-7)
