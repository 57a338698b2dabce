"""Values that Python refuses or counts as missing, and hostile names, in every exported form."""

import contextlib
import sqlite3

import duckdb
import numpy as np
import pyarrow as pa
import pytest
import sqlglot

import deciban
from deciban.cli.example import FOLDER
from deciban.errors import InputError
from deciban.export import export_model
from deciban.export.portable import make_document
from deciban.export.sql import SqlOptions, write_sql
from deciban.export.sql_expressions import DIALECTS
from deciban.spellings import spell_level
from deciban.text.words import count_words
from tests.export.databases import numbered, quote, run_duckdb, run_postgres, run_spark, run_sqlite
from tests.export.models import (
    HOSTILE_NAMES,
    ROLES,
    SPELLINGS,
    THREE,
    flagged,
    new_rows,
    patients,
    posterior,
    trained,
)
from tests.export.test_sql import check

pytestmark = pytest.mark.filterwarnings("ignore::deciban.errors.DecibanWarning")

NAMES = dict(zip(ROLES, HOSTILE_NAMES))
"""Hostile names of the columns of the table of patients."""


@pytest.fixture(
    params=["duckdb", "sqlite", "postgres", pytest.param("spark", marks=pytest.mark.thorough(reason="starts Spark"))]
)
def database(request):
    """The name of a dialect, and a function that runs a query on tables there."""
    if request.param in ("duckdb", "sqlite"):
        return request.param, {"duckdb": run_duckdb, "sqlite": run_sqlite}[request.param]
    server, run = (
        request.getfixturevalue(request.param),
        {"postgres": run_postgres, "spark": run_spark}[request.param],
    )
    return request.param, lambda sql, tables: run(server, sql, tables)


def hostile(**options):
    table = patients(THREE, names=NAMES)
    roles = {NAMES[name]: role for name, role in ROLES.items()}
    return deciban.train(table, target="diagnosis", roles=roles, judge=False, **options), new_rows(table)


def test_names_with_quotes_newlines_and_commands_are_names(database):
    dialect, run = database
    model, rows = hostile()
    table = 'x"; drop table data; --' if dialect != "spark" else "odd `name"
    key = "row_number"
    sql = write_sql(make_document(model), SqlOptions(dialect, table=table, keys=[key], evidence=dialect != "spark"))
    if dialect == "spark":
        sql = sql.replace("`odd ``name`", "data")
        table = "data"
    check(run(sql, {table: numbered(rows)}), model, rows)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_parses_its_own_sql_as_one_select(dialect):
    model, _ = hostile(calibrate="isotonic")
    sql = write_sql(make_document(model), SqlOptions(dialect, table='a"; drop table b', keys=["id"], evidence=True))
    (tree,) = sqlglot.parse(sql, dialect=dialect)
    assert isinstance(tree, sqlglot.exp.Select)
    columns = {column.name for column in tree.find_all(sqlglot.exp.Column)}
    assert set(NAMES.values()) <= columns
    literals = {literal.this for literal in tree.find_all(sqlglot.exp.Literal) if literal.is_string}
    assert {"b'b", "c\\c", "d\n", "é"} <= literals


def test_classes_of_any_text_are_predicted(database):
    dialect, run = database
    classes = ("it's", 'a "b"', 'A "B"', "; drop table data", "x" * 200, "x" * 199 + "y", "tab\t\\n", "ß")
    table = patients(classes)
    model = deciban.train(table, target="diagnosis", roles=ROLES, judge=False)
    rows = new_rows(table)
    sql = write_sql(make_document(model), SqlOptions(dialect, keys=["row_number"]))
    found = run(sql, {"data": numbered(rows)})
    assert len({name.lower() for name in found.column_names}) == len(found.column_names)
    check(found, model, rows)


@pytest.mark.parametrize("labels", [[3, -1, 7], [True, False], [0.5, 1.5]])
def test_labels_keep_their_type(labels):
    table = patients(THREE)
    target = pa.array([labels[i % len(labels)] for i in range(table.num_rows)])
    table = table.set_column(table.num_columns - 1, "diagnosis", target)
    model = deciban.train(table, target="diagnosis", roles=ROLES, judge=False)
    rows = new_rows(table)
    sql = write_sql(make_document(model), SqlOptions("duckdb", keys=["row_number"]))
    check(run_duckdb(sql, {"data": numbered(rows)}), model, rows)


def test_missing_nan_and_infinite_numbers(database):
    """NaN is missing; an infinite number, which Python refuses, gives no result for its row."""
    dialect, run = database
    model, rows = trained("three classes")
    cells = rows.slice(0, 6).to_pylist()
    cells[1]["age"], cells[2]["dose"], cells[3]["height"] = float("nan"), float("inf"), float("-inf")
    cells[4]["visits"] = -1
    strange = pa.Table.from_pylist(cells, schema=rows.schema)
    sql = write_sql(make_document(model), SqlOptions(dialect, keys=["row_number"]))
    found = run(sql, {"data": numbered(strange)})
    refused = [2, 3, 4]
    for i in refused:
        with pytest.raises(InputError, match=r"not finite|negative"):
            model.predict(strange.slice(i, 1))
        assert all(found.column(name)[i].as_py() is None for name in found.column_names[1:])
    kept = [i for i in range(6) if i not in refused]
    check(found.take(kept), model, strange.take(kept))


def test_texts_among_numbers_are_refused_by_sqlite_and_not_zero():
    model, rows = trained("two classes")
    sql = write_sql(make_document(model), SqlOptions("sqlite", keys=["row_number"]))
    cells = rows.slice(0, 2).to_pylist()
    cells[0]["age"] = "abc"
    table = pa.table({name: [str(row[name]) if name == "age" else row[name] for row in cells] for name in cells[0]})
    assert run_sqlite(sql, {"data": numbered(table)})["prediction"].to_pylist() == [None, None]


def test_unseen_levels_are_refused_where_the_model_refuses_them(database):
    dialect, run = database
    table = patients()
    model = deciban.train(table, target="diagnosis", roles=ROLES, unseen="error", judge=False)
    rows = new_rows(table)
    sql = write_sql(make_document(model), SqlOptions(dialect, keys=["row_number"]))
    found = run(sql, {"data": numbered(rows)})
    assert found["prediction"].to_pylist()[-3:] == [None] * 3
    check(found.slice(0, 60), model, rows.slice(0, 60))


def test_markers_are_missing(database):
    dialect, run = database
    table = patients()
    cells = ["?" if i % 7 == 0 else cell for i, cell in enumerate(table["ward"].to_pylist())]
    table = table.set_column(table.schema.get_field_index("ward"), "ward", pa.array(cells))
    model = deciban.train(table, target="diagnosis", roles=ROLES, unseen="smooth", judge=False)
    rows = table.drop_columns(["diagnosis"]).slice(0, 30)
    sql = write_sql(make_document(model), SqlOptions(dialect, keys=["row_number"]))
    check(run(sql, {"data": numbered(rows)}), model, rows)


def test_columns_without_a_value(database):
    dialect, run = database
    table = patients()
    for name in ("age", "ward"):
        place, kind = table.schema.get_field_index(name), table.schema.field(name).type
        table = table.set_column(place, name, pa.nulls(table.num_rows, kind))
    model = deciban.train(table, target="diagnosis", roles=ROLES, judge=False)
    rows = new_rows(patients())
    sql = write_sql(make_document(model), SqlOptions(dialect, keys=["row_number"]))
    check(run(sql, {"data": numbered(rows)}), model, rows)


@pytest.mark.parametrize(
    "n", [60, pytest.param(2000, marks=pytest.mark.thorough(reason="two thousand columns: seconds"))]
)
def test_many_columns(n):
    """With 2000 columns SQLite, which has no more, gives the results too."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 2, 60)
    table = {f"x{j}": (rng.normal(size=60) + kinds).tolist() for j in range(n // 2)}
    table |= {f"c{j}": rng.choice(["a", "b"], 60).tolist() for j in range(n // 2)}
    model = deciban.train({**table, "kind": kinds.tolist()}, target="kind", numbers="number", judge=False)
    rows, document = pa.table(table), make_document(model)
    sql = write_sql(document, SqlOptions("duckdb", keys=["row_number"]))
    check(run_duckdb(sql, {"data": numbered(rows)}), model, rows)
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"create table data ({', '.join(map(quote, rows.column_names))})")
        database.executemany(f"insert into data values ({', '.join('?' * n)})", list(zip(*table.values())))
        found = {row[0]: row[2] for row in database.execute(write_sql(document, SqlOptions("sqlite", keys=["x0"])))}
    best = posterior(model, rows).max(axis=1)
    np.testing.assert_allclose([found[x] for x in table["x0"]], best, atol=1e-9)


def test_names_that_differ_in_case_alone_are_refused_where_the_database_takes_them_for_one():
    rows = {"a": ["x", "y"] * 6, "A": ["u", "v"] * 6, "kind": ["p", "q"] * 6}
    document = make_document(deciban.train(rows, target="kind", judge=False))
    with pytest.raises(InputError, match="'a' and 'A'"):
        write_sql(document, SqlOptions("duckdb"))
    assert "SELECT" in write_sql(document, SqlOptions("postgres"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"to": "xml"}, "sql, onnx, js, json"),
        ({"to": "sql", "dialect": "oracle"}, "dialect must be one of"),
        ({"to": "sql", "keys": ["prediction"]}, "rename the key"),
        ({"to": "sql", "table": "a\0b"}, "zero byte"),
        ({"to": "sql", "table": ""}, "empty"),
        ({"to": "sql", "evidence": True, "classes": ("ill", "dead")}, "none of the 2 classes"),
        ({"to": "sql", "evidence": True, "classes": ("ill", "ill")}, "two different classes"),
        ({"to": "sql", "evidence": True, "classes": ("ill",)}, "must name two classes"),
    ],
)
def test_impossible_wishes_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        export_model(trained("two classes")[0], **options)


def test_estimators_are_refused():
    with pytest.raises(InputError, match="GaussianNB has no named columns"):
        export_model(deciban.GaussianNB(), "sql")


def texts(words=None, learner="bayes", n=90):
    rng = np.random.default_rng(0)
    kinds = rng.choice(["x", "y", "z"], n)
    cells = [" ".join(rng.choice([*"abcdef", "it's", *([k * 2] * 3)], 8)) for k in kinds]
    table = pa.table({"note": cells, "size": rng.normal(size=n), "kind": kinds})
    settings = {"tokens": "whitespace", **(words or {})}
    model = deciban.train(table, target="kind", roles={"note": "text"}, words=settings, learner=learner, judge=False)
    rows = pa.table({"note": [*cells[:20], None, "", "unknown words"], "size": [0.5] * 22 + [None]})
    return model, rows


def token_table(model, rows):
    """The table of (row, token, count) that SQL reads."""
    words = deciban.Words.from_dict({**model.options.words.to_dict(), "values": "counts", "length": None})
    found = [
        (i, token, int(n))
        for i, text in enumerate(rows["note"].to_pylist())
        for token, n in count_words(words, text or "").items()
    ]
    row, token, count = zip(*found)
    return pa.table({"row": row, "token": token, "count": count})


@pytest.mark.parametrize("learner", ["bayes", "logistic", "evidence"])
@pytest.mark.parametrize("words", [{}, {"values": "presence"}, {"values": "log", "length": "l2"}, {"length": "l1"}])
def test_texts_are_scored_from_a_table_of_tokens(words, learner, database):
    dialect, run = database
    model, rows = texts(words, learner)
    sql = write_sql(make_document(model), SqlOptions(dialect, keys=["row_number"], tokens={"note": "words"}))
    found = run(sql, {"data": numbered(rows), "words": token_table(model, rows)})
    check(found, model, rows)


def test_texts_need_a_key_and_words_that_are_kept():
    model, _ = texts()
    with pytest.raises(InputError, match="needs a key"):
        export_model(model, "sql")
    hashed, _ = texts({"hashed": 8})
    with pytest.raises(InputError, match="hashes"):
        export_model(hashed, "sql", keys=["id"])


def test_a_csv_file_is_scored_by_duckdb_as_by_python():
    """DuckDB reads yes and no as Booleans, months as dates, and empty cells as NULL."""
    path = FOLDER / "patients.csv"
    model = deciban.train(path, target="diagnosis", roles={"patient": "skip"}, judge=False)
    sql = write_sql(make_document(model), SqlOptions("duckdb", table=str(path), keys=["patient"]))
    found = {row[0]: row[3:6] for row in duckdb.sql(sql).fetchall()}
    names = duckdb.sql(f"select patient from '{path}'").fetchall()
    expected = model.predict_proba(path).read_all()
    p = np.column_stack([np.asarray(column) for column in expected.columns])
    np.testing.assert_allclose([found[name] for (name,) in names], p, atol=1e-9)


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("learned", SPELLINGS)
def test_every_spelling_of_a_boolean_is_read(learned, spelling):
    model, rows = flagged(learned)
    sql = write_sql(make_document(model), SqlOptions("duckdb", keys=["row_number"]))
    check(run_duckdb(sql, {"data": numbered(flagged(spelling)[1])}), model, rows)


def test_spellings_that_are_levels_themselves_mean_no_other_level():
    levels = ["TRUE", "True", "yes", "no"]
    assert [spell_level(level, levels) for level in levels[:3]] == [["TRUE"], ["True"], ["yes"]]
    assert set(spell_level("no", levels)) >= {"no", "false", "FALSE", "0"}


def test_decimals_and_timestamps_with_zones_are_numbers_and_dates():
    model, rows = trained("two classes")
    sql = write_sql(make_document(model), SqlOptions("duckdb", keys=["row_number"]))
    with duckdb.connect() as base:
        base.execute("set timezone='UTC'")
        base.register("plain", numbered(rows.slice(0, 60)))
        base.execute(
            "create table data as select * replace (age::decimal(18, 9) as age, visits::hugeint as visits, "
            "seen at time zone 'UTC' as seen) from plain"
        )
        found = base.sql(f"select * from ({sql}) order by row_number").to_arrow_table()
    np.testing.assert_allclose(np.asarray(found.column(3)), posterior(model, rows.slice(0, 60))[:, 0], atol=1e-7)
