"""The ledger that a database computes is that of its rows."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

import deciban
from deciban.ledger.grid import cell_numbers, edges
from deciban.sources.databases.tables import find_table
from tests.sql.databases import (
    KINDS,
    assert_same_model,
    into_duckdb,
    into_postgres,
    into_sqlite,
    mixed_table,
    put,
    statements,
    train_local,
)
from tests.tables.clinic import patients, sqlite


@pytest.mark.parametrize("kind", KINDS)
def test_every_statistic_equals_that_of_the_rows(kind, request):
    table = mixed_table()
    source = put(kind, table, request)
    model = deciban.train(source, table="t", target="y")
    assert_same_model(train_local(table, target="y"), model)
    assert {"binned", "count", "category"} <= set(model.roles.values())
    local = train_local(table, target="y", numbers="number", judge=False)
    assert_same_model(local, deciban.train(source, table="t", target="y", numbers="number", judge=False))


@pytest.mark.parametrize("kind", KINDS)
def test_weights_count_as_rows(kind, request):
    table = mixed_table(500)
    local = train_local(table, target="y", weights="w", judge=False)
    assert_same_model(
        local, deciban.train(put(kind, table, request), table="t", target="y", weights="w", judge=False)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_report_of_a_small_table_is_that_of_its_rows(kind, request):
    table = mixed_table(800)
    local, model = (train_local(source, table=name, target="y", calibrate="auto") for source, name in (
        (table, None), (put(kind, table, request), "t")))  # fmt: skip
    assert model.held_out.accuracy == local.held_out.accuracy
    assert model.held_out.log_loss == pytest.approx(local.held_out.log_loss, rel=1e-9)
    assert str(model.calibration) == str(local.calibration)


@pytest.mark.parametrize("kind", KINDS)
def test_a_condition_leaves_rows_out(kind, request):
    table = mixed_table(500)
    few = table.filter((np.asarray(table["far"]) > 1e8) & np.array([c == "it's" for c in table["cough"].to_pylist()]))
    local = train_local(few, target="y", numbers="number", judge=False, roles={"cough": "category"})
    model = deciban.train(
        put(kind, table, request), table="t", target="y", where="far > 100000000 and cough = 'it''s'",
        numbers="number", judge=False, roles={"cough": "category"},
    )  # fmt: skip
    assert_same_model(local, model)


@pytest.mark.parametrize("kind", KINDS)
def test_the_cells_of_the_grid_are_those_of_the_definition(kind, request):
    rng = np.random.default_rng(0)
    powers = 2.0 ** rng.integers(-40, 40, 200)
    edge = edges(cell_numbers(rng.normal(size=400) * np.concatenate([powers, powers])))
    near = np.concatenate([edge, np.nextafter(edge, np.inf), np.nextafter(edge, -np.inf)])
    whole = np.concatenate([np.arange(120, 140, 0.25), np.arange(4090, 4100, 0.25), np.arange(250, 260, 0.25)])
    tiny = np.array([5e-324, 1e-320, 2.2e-308, 2.3e-308, 1e-300, 1e289, 1.1e290, 1e300, 1.7e308])
    for values in (
        near,
        np.concatenate([whole, -whole]),
        np.concatenate([tiny, -tiny, [0.0]]),
        rng.normal(0, 30, 300),
    ):
        table = pa.table({"x": values, "y": np.where(np.arange(len(values)) % 3, "a", "b")})
        settings = {"target": "y", "roles": {"x": "binned"}, "judge": False}
        model = deciban.train(put(kind, table, request), table="t", **settings)
        assert_same_model(train_local(table, **settings), model)


@pytest.mark.parametrize("kind", ["duckdb", "postgres"])
def test_nan_is_missing_and_infinity_is_refused(kind, request):
    x = np.tile([1.0, np.nan, 3.0, -2.5], 30)
    table = pa.table({"x": x, "z": np.arange(120.0), "y": ["a", "b"] * 60})
    settings = {"target": "y", "roles": {"x": "number", "z": "binned"}, "judge": False}
    assert_same_model(train_local(table, **settings), deciban.train(put(kind, table, request), table="t", **settings))
    table = table.set_column(1, "z", pa.array(np.append(np.arange(119.0), np.inf)))
    with pytest.raises(
        deciban.errors.InputError, match=r"column 'z' holds a number that is not finite. Hint: --where"
    ):
        deciban.train(put(kind, table, request), table="t", **settings)


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_too_large_to_be_squared_are_named(kind, request):
    table = pa.table({"x": np.linspace(-1e200, 1e200, 60), "y": ["a", "b"] * 30})
    with pytest.raises(deciban.errors.InputError, match=r"column 'x' holds values as large as 1e\+200"):
        deciban.train(put(kind, table, request), table="t", target="y", roles={"x": "number"})


@pytest.mark.parametrize("kind", ["duckdb", "postgres"])
def test_dates_times_flags_and_joined_columns(kind, request):
    rng = np.random.default_rng(3)
    start = datetime.datetime(2023, 1, 1, tzinfo=datetime.UTC)
    when = [
        None if i % 17 == 0 else start + datetime.timedelta(hours=int(h))
        for i, h in enumerate(rng.integers(0, 9000, 400))
    ]
    table = pa.table({
        "zoned": pa.array(when, pa.timestamp("us", "UTC")),
        "local": pa.array([w and w.replace(tzinfo=None) for w in when], pa.timestamp("us")),
        "day": pa.array([w and w.date() for w in when]),
        "hour": pa.array([w and w.time() for w in when], pa.time64("us")),
        "flag": pa.array(rng.random(400) < 0.4),
        "a": rng.choice(["x", "y & z", "\\"], 400), "b": rng.integers(0, 3, 400),
        "p": rng.normal(size=400), "q": rng.normal(size=400),
        "y": rng.choice(["a", "b"], 400),
    })  # fmt: skip
    settings = {"target": "y", "blocks": [["a", "b"], ["p", "q"]], "roles": {"b": "category"}}
    model = deciban.train(put(kind, table, request), table="t", **settings)
    assert_same_model(train_local(table, **settings), model)
    assert model.roles["zoned"] == model.roles["hour"] == "date"
    reasons = {column.name: column.reason for column in model.columns}
    assert reasons["p"] == "joined with q; read row by row"  # a full covariance is not pushed down
    assert "row" not in reasons["zoned"] + reasons["a"]


@pytest.mark.parametrize("judge", [True, False])
def test_a_mixed_covariance_is_chosen_from_the_rows_of_a_sample(judge, request):
    rng = np.random.default_rng(5)
    y = rng.choice(["a", "b", "c"], 300)
    table = pa.table({"p": rng.normal(size=300) + (y == "a"), "q": rng.normal(size=300) * (1 + (y == "b")), "y": y})
    settings = {"target": "y", "blocks": "numbers", "covariance": "mixed", "judge": judge}
    local = train_local(table, **settings)
    model = deciban.train(put("duckdb", table, request), table="t", **settings)
    assert local.options.mixing is not None
    assert model.options == local.options
    assert_same_model(local, model)


def test_cells_of_sqlite_are_read_as_those_of_a_file(tmp_path):
    path = sqlite(patients(), tmp_path / "t.db")
    local = train_local(path, target="diagnosis")
    assert_same_model(local, deciban.train(f"sqlite:///{path}", table="patients", target="diagnosis"))


def test_texts_and_numbers_written_as_texts_are_streamed():
    rng = np.random.default_rng(2)
    words = [" ".join(rng.choice(["sun", "rain", "snow", "fog", "hail"], 8)) + f" day {i}" for i in range(300)]
    table = pa.table({
        "note": words, "price": [f"1.{i:03},50" for i in range(300)], "x": rng.normal(size=300),
        "kind": rng.choice(["p", "q"], 300), "y": rng.choice(["a", "b"], 300),
    })  # fmt: skip
    for source in (into_duckdb(table, "t"), into_sqlite(table, "t")):
        with statements() as log:
            model = deciban.train(source, table="t", target="y", roles={"note": "text"})
        assert_same_model(train_local(table, target="y", roles={"note": "text"}), model)
        reasons = {column.name: column.reason for column in model.columns}
        assert "read row by row" in reasons["note"]
        assert "read row by row" in reasons["price"]
        assert "read row by row" not in reasons["x"] + reasons["kind"]
        assert any("GROUP BY" in sql for sql, _ in log)


def test_cells_of_mixed_types_and_texts_with_spaces_in_sqlite():
    table = pa.table({"x": pa.nulls(0), "c": pa.nulls(0), "y": pa.nulls(0)})
    con = into_sqlite(table, "t")
    rows = [(i if i % 2 else float(i), [1, 1.0, " 1", "one", None, ""][i % 6], ["a", " a ", "b", "", None][i % 5])
            for i in range(300)]  # fmt: skip
    con.executemany("insert into t values (?, ?, ?)", rows)
    model = deciban.train(con, target="y", roles={"c": "category", "x": "number"})
    assert model.classes == ["a", "b"]
    assert model.ledger.schema.blocks[-1].levels == (("1", "one"),)
    assert model.origin.rows_without_class == 120
    mean = np.mean([row[0] for row in rows if row[2] and row[2].strip() == "a"])
    assert model.ledger.parts[0].mean[0, 0] == pytest.approx(mean, rel=1e-12)


def test_a_table_of_ibis_is_summarised_by_its_database():
    import ibis

    table = mixed_table(600)
    con = ibis.duckdb.connect()
    con.con.register("given", table)
    con.con.execute("create table t as select * from given")
    t = con.table("t")
    with statements() as log:
        model = deciban.train(t.filter(t.far > 1e8).select("far", "cough", "y"), target="y", judge=False)
    few = table.filter(np.asarray(table["far"]) > 1e8).select(["far", "cough", "y"])
    assert_same_model(train_local(few, target="y", judge=False), model)
    assert any("GROUP BY" in sql for sql, _ in log)
    with pytest.raises(deciban.errors.InputError, match="table of ibis already"):
        deciban.train(t, target="y", table="t")


def test_a_connection_of_psycopg_is_left_as_it_was(postgres):
    table = mixed_table(300)
    into_postgres(postgres, table, "theirs")
    with postgres.connect() as con:
        con.autocommit = False
        model = deciban.train(con, table="theirs", target="y")
        assert_same_model(train_local(table, target="y"), model)
        con.execute("create table written_after (a int)")
        con.rollback()


def test_all_statements_see_the_rows_of_one_moment(postgres):
    """Another connection deletes half of the rows after the classes have been counted."""
    from deciban.sql import summarise

    table = mixed_table(600)
    into_postgres(postgres, table, "moving")
    count = summarise.DatabaseSummariser.count_classes

    def count_and_delete(self):
        count(self)
        with postgres.connect() as con:
            con.execute("delete from moving where far > 100000000")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(summarise.DatabaseSummariser, "count_classes", count_and_delete)
        model = deciban.train(postgres.url, table="moving", target="y")
    assert_same_model(train_local(table, target="y"), model)


def test_more_rows_are_learned_and_forgotten_from_a_database():
    table = mixed_table(900)
    con = into_duckdb(table, "t")
    settings = {"target": "y", "numbers": "number"}
    model = deciban.train(con, table="t", where="year < 1960", **settings)
    model.add(con, table="t", where="year >= 1960 or year is null")
    whole = deciban.train(con, table="t", like=model, target="y")
    np.testing.assert_allclose(model.ledger.parts[0].m2, whole.ledger.parts[0].m2, rtol=1e-9)
    assert model.ledger.n_rows == whole.ledger.n_rows
    report = deciban.evaluate(con, model=model, table="t", where="year > 2000")
    assert 0 < report.rows < 300
    assert model.predict(con, table="t").read_all().num_rows == 900


def test_a_discriminative_learner_reads_the_rows():
    table = mixed_table(300)
    settings = {"target": "y", "learner": "logistic", "C": 1.0, "judge": False}
    local, model = train_local(table, **settings), deciban.train(into_duckdb(table, "t"), table="t", **settings)
    assert model.predict(table) == local.predict(table)


def test_a_name_of_a_table_is_found_before_that_of_a_schema():
    con = into_duckdb(pa.table({"x": [1]}), "main.t")
    con.execute("create table t as select 2 as z")
    from deciban.sources.databases.driver import DuckDbDriver

    assert find_table(DuckDbDriver(con), "main.t").parts[-1] == "main.t"
    assert find_table(DuckDbDriver(con), "t").parts[-1] == "t"
    assert find_table(DuckDbDriver(con), "memory.main.t").parts == ("memory", "main", "t")
