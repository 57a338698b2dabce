"""Tables in every database, the comparison of their ledgers with local ones, and a log of the statements."""

import sqlite3
from contextlib import contextmanager
from unittest.mock import patch

import duckdb
import numpy as np
import pyarrow as pa

import deciban
from deciban.sources.databases import driver, postgres

PG_TYPES = {
    "bool": "boolean", "int64": "bigint", "int32": "integer", "double": "double precision", "float": "real",
    "string": "text", "date32[day]": "date", "timestamp[us]": "timestamp", "timestamp[us, tz=UTC]": "timestamptz",
    "time64[us]": "time",
}  # fmt: skip


def quote(name):
    return '"' + name.replace('"', '""') + '"'


def into_postgres(server, table, name, types=None):
    """Write an Arrow table to PostgreSQL."""
    types = types or {}
    kinds = [types.get(f.name) or PG_TYPES[str(f.type)] for f in table.schema]
    with server.connect() as con:
        con.execute(f"drop table if exists {quote(name)}")
        columns = ", ".join(f"{quote(n)} {kind}" for n, kind in zip(table.column_names, kinds))
        con.execute(f"create table {quote(name)} ({columns})")
        with con.cursor() as cursor, cursor.copy(f"copy {quote(name)} from stdin") as copy:
            for row in table.to_pylist():
                copy.write_row(list(row.values()))
    return server.url


def into_duckdb(table, name):
    """Return a connection to a DuckDB database in memory with an Arrow table."""
    con = duckdb.connect()
    con.register("given", table)
    con.execute(f"create table {quote(name)} as select * from given")
    con.unregister("given")
    return con


def into_sqlite(table, name):
    """Return a connection to a SQLite database in memory with an Arrow table."""
    con = sqlite3.connect(":memory:")
    con.execute(f"create table {quote(name)} ({', '.join(map(quote, table.column_names))})")
    rows = [[str(v) if hasattr(v, "year") else v for v in row.values()] for row in table.to_pylist()]
    con.executemany(f"insert into {quote(name)} values ({', '.join('?' * table.num_columns)})", rows)
    con.commit()
    return con


KINDS = ("duckdb", "sqlite", "postgres")


def put(kind, table, request, name="t"):
    """Write an Arrow table to a database of a kind, and return the source."""
    if kind == "postgres":
        return into_postgres(request.getfixturevalue("postgres"), table, name)
    return (into_duckdb if kind == "duckdb" else into_sqlite)(table, name)


def train_local(source, **settings):
    """Train a model of independent columns, as a database counts them."""
    return deciban.train(source, structure="naive", **settings)


def assert_same_model(local, model, rtol=1e-12):
    """Compare two models: counts exactly, moments to `rtol` of the scale of their column, and all of the origin."""
    a, b = local.ledger, model.ledger
    assert a.schema == b.schema
    np.testing.assert_array_equal(a.rows, b.rows)
    for x, y in zip(a.parts, b.parts, strict=True):
        assert type(x) is type(y)
        if not hasattr(x, "mean"):
            assert x == y
            continue
        n = np.broadcast_to(x.weight, x.mean.shape)
        np.testing.assert_array_equal(n, np.broadcast_to(y.weight, y.mean.shape))
        squares = getattr(x, x.square_array), getattr(y, y.square_array)
        np.testing.assert_allclose(squares[1], squares[0], rtol=rtol)
        if squares[0].shape == x.mean.shape:
            scale = np.sqrt(x.mean**2 + squares[0] / np.maximum(n, 1))
            assert (np.abs((y.mean - x.mean) + (y.rest - x.rest)) <= rtol * scale).all()
    assert local.roles == model.roles
    assert local.origin.rows_read == model.origin.rows_read
    assert local.origin.rows_without_class == model.origin.rows_without_class
    assert local.origin.markers == model.origin.markers
    old, new = local.origin.extremes, model.origin.extremes.reorder(local.origin.extremes.names)
    for name in ("value", "rows", "limit"):
        np.testing.assert_array_equal(getattr(new, name), getattr(old, name), err_msg=name)


@contextmanager
def statements():
    """Yield a list of the statements that are run in the block, each with the number of rows that it returned."""
    log = []

    def logged(read):
        def run(self, *arguments):
            found = read(self, *arguments)
            log.append((self.to_sql(arguments[-1]), found.num_rows))
            return found

        return run

    def streamed(stream):
        def run(self, statement):
            for batch in stream(self, statement):
                log.append((self.to_sql(statement), batch.num_rows))
                yield batch

        return run

    kinds = (driver.DuckDbDriver, "read"), (driver.SqliteDriver, "read"), (postgres.PostgresDriver, "_read")
    patches = [patch.object(kind, name, logged(getattr(kind, name))) for kind, name in kinds]
    patches += [patch.object(kind, "stream", streamed(kind.stream)) for kind, _ in kinds]
    for each in patches:
        each.start()
    try:
        yield log
    finally:
        for each in patches:
            each.stop()


def mixed_table(n=3000, seed=1):
    """Numbers of every kind, NaN, markers, missing cells, few and many values, a weight, and two classes."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    missing = rng.random((8, n)) < 0.1

    def holed(values, j):
        return [None if gone else value for value, gone in zip(values.tolist(), missing[j])]

    return pa.table({
        "far": 1e8 + rng.normal(y, 1),
        "skewed": holed(np.exp(rng.normal(y, 2, n)) * np.where(rng.random(n) < 0.1, -1, 1), 0),
        "zeros": holed(np.where(rng.random(n) < 0.7, 0.0, rng.normal(300, 200, n)), 1),
        "year": holed(rng.integers(1890, 2030, n), 2),
        "visits": holed(rng.poisson(2 + y), 3),
        "cough": holed(np.where(rng.random(n) < 0.02, "?", rng.choice(["dry", "wet", "née", "it's"], n)), 4),
        "grade": holed(rng.integers(0, 3, n), 5),
        "constant in a class": np.where(y, rng.normal(size=n), 0.1),
        "w": pa.array(rng.integers(0, 4, n).astype(float)),
        "y": holed(np.where(rng.random(n) < 0.01, "NA", np.where(y, "ill", "well")), 6),
    })  # fmt: skip
