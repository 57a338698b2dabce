"""SQL that scores: executed on real databases against `predict_proba`."""

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from deciban.export.portable import make_document
from deciban.export.sql import SqlOptions, write_sql
from tests.export.models import CASES, trained
from tests.export.test_json_models import posterior

pytestmark = pytest.mark.filterwarnings("ignore::deciban.errors.DecibanWarning")


def numbered(rows):
    return rows.append_column("row_number", pa.array(range(rows.num_rows)))


def run_duckdb(sql, rows):
    with duckdb.connect() as database:
        database.register("data", rows)
        return database.sql(f"select * from ({sql}) order by row_number").to_arrow_table()


def check(found, model, rows):
    K = len(model.classes)
    ours = np.column_stack([np.asarray(found.column(3 + k).to_pylist(), dtype=float) for k in range(K)])
    np.testing.assert_allclose(ours, posterior(model, rows), rtol=0, atol=1e-9)
    assert found.column("prediction").to_pylist() == model.predict(rows).to_pylist()


@pytest.mark.parametrize("name", CASES)
def test_duckdb_gives_the_posterior(name):
    model, rows = trained(name)
    sql = write_sql(make_document(model), SqlOptions("duckdb", keys=["row_number"]))
    check(run_duckdb(sql, numbered(rows)), model, rows)


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith(("maximum", "spherical"))])
def test_duckdb_gives_the_evidence_of_each_column(name):
    model, rows = trained(name)
    sql = write_sql(make_document(model), SqlOptions("duckdb", keys=["row_number"], evidence=True))
    found, expected = run_duckdb(sql, numbered(rows)), model.explain(rows)
    check(found, model, rows)
    finite = np.isfinite(expected.total)
    np.testing.assert_allclose(np.asarray(found["decibans"])[finite], expected.total[finite], rtol=1e-9, atol=1e-7)
    joined = {column.name: " & ".join(column.block) for column in model.columns if column.block}
    names = [column.removeprefix("evidence_") for column in found.column_names if column.startswith("evidence_")]
    for name in names:
        parts = [j for j, feature in enumerate(expected.features) if name in (feature, joined.get(feature))]
        total = sum(expected.evidence[:, j] for j in parts)
        if len(parts) > 1:
            total = total + expected.extras.get("shape", 0.0)
        np.testing.assert_allclose(np.asarray(found[f"evidence_{name}"]), total, rtol=1e-9, atol=1e-7)
