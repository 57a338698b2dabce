"""Rows in real databases, and the results of queries there as Arrow tables in the order of `row_number`."""

import contextlib
import math
import sqlite3

import duckdb
import pyarrow as pa

POSTGRES_TYPES = {"double": "double precision", "int64": "bigint", "string": "text", "bool": "boolean"}


def quote(name):
    return '"' + name.replace('"', '""') + '"'


def numbered(rows):
    return rows.append_column("row_number", pa.array(range(rows.num_rows)))


def run_duckdb(sql, tables):
    with duckdb.connect() as database:
        for name, rows in tables.items():
            database.register(name, rows)
        return database.sql(f"select * from ({sql}) order by row_number").to_arrow_table()


def run_sqlite(sql, tables):
    def to_cell(value):
        if hasattr(value, "isoformat"):
            return value.isoformat(" ")
        return None if isinstance(value, float) and math.isnan(value) else value

    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        for name, rows in tables.items():
            database.execute(f"create table {quote(name)} ({', '.join(map(quote, rows.column_names))})")
            marks = ", ".join("?" * rows.num_columns)
            cells = [[to_cell(value) for value in row.values()] for row in rows.to_pylist()]
            database.executemany(f"insert into {quote(name)} values ({marks})", cells)
        return fetch(database.execute(f"select * from ({sql}) order by row_number"))


def run_postgres(server, sql, tables):
    with server.connect() as database, database.transaction(force_rollback=True):
        for name, rows in tables.items():
            columns = [f"{quote(field.name)} {postgres_type(field.type)}" for field in rows.schema]
            database.execute(f"create temporary table {quote(name)} ({', '.join(columns)})")
            with database.cursor().copy(f"copy {quote(name)} from stdin") as copy:
                for row in rows.to_pylist():
                    copy.write_row(list(row.values()))
        return fetch(database.execute(f"select * from ({sql}) as found order by row_number"))


def postgres_type(kind):
    return "timestamp" if pa.types.is_timestamp(kind) else POSTGRES_TYPES[str(kind)]


def fetch(cursor):
    names, rows = [column[0] for column in cursor.description], cursor.fetchall()
    return pa.table([[row[i] for row in rows] for i in range(len(names))], names=names)


def run_spark(spark, sql, tables):
    from pyspark.sql.types import DoubleType, LongType, StringType, StructField, StructType, TimestampNTZType

    types = {"double": DoubleType(), "int64": LongType(), "string": StringType()}
    for name, rows in tables.items():
        fields = [StructField(f.name, types.get(str(f.type)) or TimestampNTZType()) for f in rows.schema]
        cells = [tuple(row.values()) for row in rows.to_pylist()]
        spark.createDataFrame(cells, StructType(fields)).createOrReplaceTempView(name)
    frame = spark.sql(f"select * from ({sql}) order by row_number")
    return pa.table([list(column) for column in zip(*frame.collect())], names=frame.columns)
