"""Trees, averaged one-dependence, mixed covariances and calibrations: in files, exports and databases, or refused."""

import shutil
from functools import cache

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import deciban
from deciban.errors import InputError
from deciban.export.portable import make_document
from deciban.export.sql import SqlOptions, write_sql
from tests.export.databases import numbered, run_duckdb
from tests.export.models import posterior
from tests.export.test_javascript import run_node, to_cells
from tests.export.test_onnx import run, to_inputs

pytestmark = pytest.mark.filterwarnings("ignore::deciban.errors.DecibanWarning")

MODELS = {
    "tree": {"structure": "tan"},
    "tree of pairs": {"structure": "blocks"},
    "averaged one-dependence": {"learner": "aode"},
    "mixed covariance": {
        "covariance": "mixed", "blocks": [["x", "y"]], "roles": {"x": "number", "y": "number"}, "structure": "naive",
    },
    "tree, isotonic": {"structure": "tan", "calibrate": "isotonic"},
    "default": {},
}  # fmt: skip


def rows_of_dependent_columns(n=600):
    """A table in which y nearly repeats x, and `again` nearly repeats `level`; a few cells are missing."""
    rng = np.random.default_rng(0)
    k, level = rng.integers(0, 2, n), rng.integers(0, 5, n)
    x = rng.normal(size=n) + k
    again = np.where(rng.random(n) < 0.2, rng.integers(0, 5, n), level + k) % 5
    columns = {
        "level": [f"l{v}" for v in level],
        "again": [f"a{v}" for v in again],
        "x": x.tolist(),
        "y": (x + 0.3 * rng.normal(size=n)).tolist(),
    }
    cells = {name: [None if rng.random() < 0.03 else v for v in values] for name, values in columns.items()}
    return pa.table({**cells, "kind": [f"c{v}" for v in k]})


ROWS = rows_of_dependent_columns()
NEW_ROWS = ROWS.drop_columns(["kind"]).slice(0, 80)


@cache
def train_here(name):
    """Train a model of the table in memory."""
    return deciban.train(ROWS, target="kind", **MODELS[name])


def by_file(model, rows, folder):
    model.save(folder / "m.deciban")
    return posterior(deciban.load(folder / "m.deciban"), rows)


def by_json(model, rows, folder):
    model.export("json", folder / "m.json")
    return posterior(deciban.load(folder / "m.json"), rows)


def by_sql(model, rows, folder):
    found = run_duckdb(write_sql(make_document(model), SqlOptions(keys=["row_number"])), {"data": numbered(rows)})
    return np.column_stack([np.asarray(found.column(3 + k), dtype=float) for k in range(len(model.classes))])


def by_onnx(model, rows, folder):
    pytest.importorskip("onnxruntime")
    document = make_document(model)
    return run(document, to_inputs(document, rows))[2]


def by_javascript(model, rows, folder):
    if shutil.which("node") is None:
        pytest.skip("Node is not installed")
    return np.array([row["probabilities"] for row in run_node(folder, model, to_cells(rows))["rows"]], dtype=float)


PLACES = {"file": by_file, "json": by_json, "sql": by_sql, "onnx": by_onnx, "javascript": by_javascript}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", MODELS)
def test_a_model_gives_its_posterior_elsewhere_or_is_refused(name, place, tmp_path):
    model, rows = train_here(name), NEW_ROWS
    assert model.structure or "tree" not in name
    assert ("isotonic" in name) <= (model.calibration is not None)
    if name == "averaged one-dependence" and place != "file":
        with pytest.raises(
            InputError, match=r"learner='aode'\) cannot be exported.*Hint: train with --structure tan"
        ):
            PLACES[place](model, rows, tmp_path)
        return
    np.testing.assert_allclose(PLACES[place](model, rows, tmp_path), posterior(model, rows), rtol=0, atol=1e-9)


@pytest.mark.parametrize("n_levels", [40, 200])
@pytest.mark.parametrize("place", PLACES)
def test_an_unseen_level_is_no_level_of_the_rare_ones(place, n_levels, tmp_path):
    """Rare levels have one cell together, whose dependence says nothing of a level that no row has."""
    rng = np.random.default_rng(0)
    k, shop = rng.integers(0, 2, 4000), rng.zipf(1.3, 4000) % n_levels
    town = (np.where(rng.random(4000) < 0.3, rng.integers(0, n_levels, 4000), shop) + k) % n_levels
    names = {"shop": [f"s{v}" for v in shop], "town": [f"t{v}" for v in town]}
    model = deciban.train(
        pa.table({**names, "kind": [f"c{v}" for v in k]}), target="kind", structure="tan", judge=False
    )
    assert model.structure
    cells = [None, "new", "s0", f"s{n_levels - 1}"]
    rows = pa.table({"shop": cells * 3, "town": sorted([f"t{n_levels - 1}", "t1", None] * 4, key=str)})
    expected = posterior(model, rows)
    np.testing.assert_allclose(expected[1::4], expected[0::4], rtol=0, atol=1e-12)
    np.testing.assert_allclose(PLACES[place](model, rows, tmp_path), expected, rtol=0, atol=1e-9)


def train_in_duckdb(**settings):
    with duckdb.connect() as database:
        database.register("given", ROWS)
        database.execute("create table t as select * from given")
        return deciban.train(database, table="t", target="kind", **settings)


@pytest.mark.parametrize("name", MODELS)
def test_a_table_of_a_database_gives_the_same_model(name):
    """Pairs of columns are not counted by a database: its rows are read where they are asked for, and only there."""
    model = train_in_duckdb(**MODELS[name])
    local = deciban.train(ROWS, target="kind", structure="naive") if name == "default" else train_here(name)
    assert model.structure == local.structure
    np.testing.assert_allclose(posterior(model, NEW_ROWS), posterior(local, NEW_ROWS), rtol=0, atol=1e-9)
    method = model.held_out.measured
    assert ("columns taken as independent, because a tree of them" in method) == (name == "default")
    assert ("all rows were read" in method) == ("tree" in name or "averaged" in name)


@pytest.mark.parametrize("name", ["tree", "tree of pairs", "averaged one-dependence"])
def test_pairs_are_counted_in_a_database_whose_columns_all_have_a_role(name):
    roles = {"level": "category", "again": "category", "x": "number", "y": "binned"}
    model = train_in_duckdb(roles=roles, judge=False, **MODELS[name])
    local = deciban.train(ROWS, target="kind", roles=roles, judge=False, **MODELS[name])
    assert [column.cells for column in model.columns] == [column.cells for column in local.columns]
    assert all(column.cells for column in model.columns)
    np.testing.assert_allclose(posterior(model, NEW_ROWS), posterior(local, NEW_ROWS), rtol=0, atol=1e-9)


@pytest.mark.parametrize("learner", ["logistic", "boosted"])
def test_a_learner_that_needs_the_rows_of_a_database_says_that_it_read_them(learner):
    assert "all rows were read" in train_in_duckdb(learner=learner).held_out.measured
