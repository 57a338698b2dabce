"""Hostile names, types and conditions: a correct model, or a clear error."""

import numpy as np
import pyarrow as pa
import pytest

import deciban
from deciban.errors import InputError
from deciban.sources.databases.tables import parse_condition
from tests.sql.databases import (
    KINDS,
    assert_same_model,
    into_duckdb,
    into_postgres,
    into_sqlite,
    put,
    quote,
    statements,
    train_local,
)

NAMES = ['a"b', "a\nb", 'x"; drop table t; --', "select", "group", "k", "v0", "Ω é", "a.b", "%s %", "w", "n0", "r"]


def small(n=60, **more):
    rng = np.random.default_rng(0)
    return pa.table({"x": rng.normal(size=n), **more, "y": ["a", "b"] * (n // 2)})


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_quoted(kind, request):
    rng = np.random.default_rng(1)
    columns = {name: rng.normal(size=60) if i % 2 else rng.choice(["p", "q"], 60) for i, name in enumerate(NAMES)}
    table = pa.table({**columns, 'cl"ass': ["a", "b"] * 30})
    hostile = 'pa"t; drop table "x";\n--'
    source = put(kind, table, request, hostile)
    model = deciban.train(source, table=hostile, target='cl"ass')
    assert_same_model(train_local(table, target='cl"ass'), model)
    assert model.origin.rows_read == 60


def test_names_may_begin_with_a_schema_and_differ_in_case_only(postgres):
    table = small(X=[1.5, 2.5, 4.5] * 20)
    with postgres.connect() as con:
        con.execute('drop schema if exists "My.Schema" cascade')
        con.execute('create schema "My.Schema"')
    into_postgres(postgres, table, "cased")
    with postgres.connect() as con:
        con.execute('create table "My.Schema"."select" as select * from cased')
    model = deciban.train(postgres.url, table="My.Schema.select", target="y", numbers="number")
    assert_same_model(train_local(table, target="y", numbers="number"), model)
    with pytest.raises(
        InputError, match=r"has no table 'select'. Hint: --table NAME .* reads one of My.Schema.select"
    ):
        deciban.train(postgres.url, table="select", target="y")


def test_columns_of_a_view_that_differ_in_case_only():
    """SQLite, which cannot tell them apart, gives the second another name."""
    con = into_sqlite(small(), "t")
    con.execute("create view twice as select x, -x as X, y from t")
    con.commit()
    model = deciban.train(con, table="twice", target="y", numbers="number")
    assert list(model.roles) == ["x", "X:1"]
    a, b = model.ledger.parts[0].mean.T
    np.testing.assert_allclose(a, -b, rtol=1e-12)


@pytest.mark.thorough(reason="many rows, classes or draws: seconds")
@pytest.mark.parametrize(("kind", "n"), [("duckdb", 400), ("sqlite", 1999)])
def test_many_columns(kind, n, request):
    rng = np.random.default_rng(0)
    columns = {f"c{i}": rng.normal(size=40) for i in range(n)}
    table = pa.table({**columns, "y": ["a", "b"] * 20})
    roles = dict.fromkeys(columns, "number")
    model = deciban.train(put(kind, table, request), table="t", target="y", roles=roles, judge=False)
    assert_same_model(train_local(table, target="y", roles=roles, judge=False), model)


@pytest.mark.thorough(reason="many rows, classes or draws: seconds")
def test_many_columns_are_summed_by_several_statements():
    rng = np.random.default_rng(0)
    table = pa.table({**{f"c{i}": rng.normal(size=40) for i in range(150)}, "y": ["a", "b"] * 20})
    with statements() as log:
        model = deciban.train(into_duckdb(table, "t"), table="t", target="y", numbers="number", judge=False)
    assert_same_model(train_local(table, target="y", numbers="number", judge=False), model)
    sums = [sql for sql, _ in log if "VAR_POP" in sql]
    assert len(sums) > 1
    assert max(sql.split("FROM")[0].count(" AS ") for sql in sums) < 1664


@pytest.mark.parametrize("kind", KINDS)
def test_empty_columns_classes_and_tables(kind, request):
    table = small(nothing=pa.nulls(60, pa.float64()))
    source = put(kind, table, request)
    assert deciban.train(source, table="t", target="y").roles["nothing"] == "skip"
    model = deciban.train(source, table="t", target="y", roles={"nothing": "number"}, judge=False)
    assert model.roles["nothing"] == "number"
    with pytest.raises(InputError, match=r"no rows, only a header|the table has no rows"):
        deciban.train(source, table="t", target="y", where="x > 1000")
    with pytest.raises(InputError, match="one class only, 'a'"):
        deciban.train(source, table="t", target="y", where="y = 'a'")
    with pytest.raises(InputError, match="has no column 'z'"):
        deciban.train(source, table="t", target="z")
    with pytest.raises(InputError, match="has no table 'u'"):
        deciban.train(source, table="u", target="y")


def test_a_table_without_rows_or_with_identifiers_as_classes_is_refused_without_reading_rows(postgres):
    roles = {"x": "number", "i": "number"}
    into_postgres(postgres, small(i=np.arange(60)), "blank")
    with pytest.raises(InputError, match="the table has no rows"):
        deciban.train(postgres.url, table="blank", target="y", roles=roles, where="false", judge=False)
    with pytest.raises(InputError, match="60 different values in 60 rows, so it names no classes"):
        deciban.train(postgres.url, table="blank", target="i", roles={"x": "number", "y": "category"}, judge=False)


def test_types_that_are_not_read_are_skipped_with_their_names(postgres):
    into_postgres(postgres, small(), "typed")
    with postgres.connect() as con:
        con.execute("drop table if exists wild")
        con.execute("""create table wild as select *, '{"a": 1}'::jsonb as j, array[1, 2] as l, interval '1 day' as i,
            x::numeric(20, 6) as d, x::real as r, 'infinity'::timestamptz as forever, '\\x00'::bytea as raw,
            gen_random_uuid() as u, ('{1,2}'::int[])[1 + (x > 0)::int] as e from typed""")
    model = deciban.train(postgres.url, table="wild", target="y", numbers="number")
    reasons = {column.name: column.reason for column in model.columns}
    assert reasons["j"] == "of type jsonb, which is not read"
    assert reasons["l"] == "of type int4[], which is not read"
    assert reasons["i"] == "of type interval, which is not read"
    assert reasons["raw"] == "of type bytea, which is not read"
    assert model.roles["d"] == model.roles["r"] == "number"
    assert model.roles["forever"] == model.roles["u"] == "skip"
    with pytest.raises(InputError, match="values of type jsonb have no text"):
        deciban.train(postgres.url, table="wild", target="y", roles={"j": "category"})


def test_decimals_and_nested_types_of_duckdb():
    con = into_duckdb(small(), "t")
    con.execute("create table wild as select *, cast(x as decimal(18, 4)) as d, [x] as l, {'a': x} as s from t")
    model = deciban.train(con, table="wild", target="y", numbers="number")
    assert (model.roles["d"], model.roles["l"], model.roles["s"]) == ("number", "skip", "skip")
    local = train_local(con.sql("select * from wild"), target="y", numbers="number")
    assert_same_model(local, model)


def test_invalid_weights_are_refused():
    for bad in (-1.0, np.inf):
        con = into_duckdb(small(w=[bad, *[1.0] * 59]), "t")
        with pytest.raises(InputError, match="column 'w' holds weights that are negative or infinite, in 1 row;"):
            deciban.train(con, table="t", target="y", weights="w")
    con = into_duckdb(small(w=[np.nan, None, 0.0, *[1.0] * 57]), "t")
    assert deciban.train(con, table="t", target="y", weights="w").ledger.n_rows == 57


CONDITIONS = [
    ("x > 0; drop table t", "2 statements"),
    ("drop table t", "a statement"),
    ("select 1", "a statement"),
    ("", "empty"),
    ("x > 0) or (1 = 1", "no condition"),
    ("x >", "no condition"),
    ("(with d as (delete from t returning 1) select 1 from d) = 1", "contains DELETE"),
    ("x > ?", "a parameter"),
    ("(" * 3000 + "x" + ")" * 3000, "no condition"),
]


@pytest.mark.parametrize(("text", "why"), CONDITIONS)
def test_a_condition_is_one_expression_that_reads(text, why):
    with pytest.raises(InputError, match=why):
        parse_condition(text, "duckdb")


def test_comments_and_marks_within_a_condition_change_nothing():
    con = into_duckdb(small(), "t")
    model = deciban.train(con, table="t", target="y", where="y <> '; drop table t --' -- or 1 = 1", judge=False)
    assert model.ledger.n_rows == 60
    assert con.execute("select count(*) from t").fetchone() == (60,)
    with pytest.raises(InputError, match="is for tables of databases"):
        deciban.train(small(), target="y", where="x > 0")


def test_the_server_refuses_to_write(postgres):
    """Whatever a condition calls, the transaction only reads."""
    into_postgres(postgres, small(), "kept")
    with postgres.connect() as con:
        con.execute("create or replace function harm() returns boolean language plpgsql as "
                    "$$ begin delete from kept; return true; end $$")  # fmt: skip
    with pytest.raises(InputError, match="cannot execute DELETE in a read-only transaction"):
        deciban.train(postgres.url, table="kept", target="y", where="harm()")
    with postgres.connect() as con:
        assert con.execute(f"select count(*) from {quote('kept')}").fetchone() == (60,)
