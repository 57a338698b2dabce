"""A small table of patients in every form that a table can have."""

import contextlib
import gzip
import json
import re
import sqlite3

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

N = 300


def patients(n=N, seed=0):
    """Numbers, counts, a flag, codes that look like numbers, dates, and some cells missing."""
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.4
    columns = {
        "patient": [f"P{i:05}" for i in range(n)],
        "age": np.round(rng.normal(50 + 10 * ill, 12), 1).tolist(),
        "dose": np.exp(rng.normal(ill, 1.0)).tolist(),
        "visits": rng.poisson(2 + 2 * ill).tolist(),
        "smoker": np.where(rng.random(n) < 0.3 + 0.3 * ill, "yes", "no").tolist(),
        "code": rng.choice(["007", "1e5", "2024-01", "x,y", 'say "ah"', "née"], n).tolist(),
        "admitted": [f"{2023 + d % 2}-{m:02}-{d:02}" for m, d in zip(rng.integers(1, 13, n), rng.integers(1, 29, n))],
        "ward": ["A"] * n,
        "diagnosis": np.where(ill, "ill", "well").tolist(),
    }
    for name, share in {
        "age": 0.1,
        "visits": 0.05,
        "smoker": 0.1,
        "code": 0.2,
        "admitted": 0.1,
        "diagnosis": 0.02,
    }.items():
        columns[name] = [None if gone else cell for cell, gone in zip(columns[name], rng.random(n) < share)]
    table = pa.table(columns)
    admitted = table.column("admitted").cast(pa.timestamp("s")).cast(pa.date32())
    return table.set_column(table.schema.get_field_index("admitted"), "admitted", admitted)


def as_text(table):
    """Return the table with the columns that a file without types has as text."""
    return table.set_column(
        table.schema.get_field_index("admitted"), "admitted", table.column("admitted").cast(pa.string())
    )


def csv(table, path, delimiter=","):
    options = pyarrow.csv.WriteOptions(delimiter=delimiter, quoting_style="needed")
    with pa.output_stream(str(path), compression="detect") as file:
        pyarrow.csv.write_csv(as_text(table), file, options)
    return str(path)


def json_lines(table, path):
    lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in as_text(table).to_pylist())
    (gzip.open if str(path).endswith(".gz") else open)(path, "wt", encoding="utf-8").write(lines)
    return str(path)


def parquet(table, path, **options):
    pyarrow.parquet.write_table(table, path, **options)
    return str(path)


def feather(table, path):
    pyarrow.feather.write_feather(table, str(path))
    return str(path)


def arrow_stream(table, path):
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=77)
    return str(path)


def two_files(table, folder):
    for i, part in enumerate((table.slice(0, 120), table.slice(120))):
        csv(part, folder / f"part{i}.csv")
    return str(folder / "part*.csv")


def arrays(table):
    return {name: np.array(table.column(name).to_pylist(), dtype=object) for name in table.column_names}


def typed_arrays(table):
    named = arrays(table)
    for name in ("age", "dose", "visits"):
        named[name] = np.array([np.nan if cell is None else cell for cell in named[name]], dtype=float)
    return named


def to_struct(table):
    named = typed_arrays(table)
    out = np.empty(table.num_rows, dtype=[(name, values.dtype) for name, values in named.items()])
    for name, values in named.items():
        out[name] = values
    return out


def dictionaries(table):
    coded = table
    for name in ("smoker", "code", "diagnosis"):
        place = coded.schema.get_field_index(name)
        coded = coded.set_column(place, name, coded.column(name).dictionary_encode())
    return coded


def large_strings(table):
    large = [f.with_type(pa.large_string()) if f.type == "string" else f for f in table.schema]
    return table.cast(pa.schema(large))


def relation(table, con):
    con.register("patients", table)
    return con.sql("select * from patients")


def as_workbook(table):
    """Return the table with the sixteen digits of a number that openpyxl writes."""
    doses = [float(f"{dose:.16g}") for dose in table.column("dose").to_pylist()]
    return table.set_column(table.schema.get_field_index("dose"), "dose", [doses])


def workbook(table, path):
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(table.column_names)
    for row in table.to_pylist():
        book.active.append(list(row.values()))
    book.save(path)
    return str(path)


def arff(table, path):
    kinds = {pa.string(): "string", pa.date32(): 'date "yyyy-MM-dd"'}
    lines = ["% patients", "@relation patients"]
    lines += [f"@attribute {field.name} {kinds.get(field.type, 'numeric')}" for field in table.schema]
    lines.append("@data")
    for row in as_text(table).to_pylist():
        lines.append(
            ",".join("?" if v is None else arff_quote(v) if isinstance(v, str) else repr(v) for v in row.values())
        )
    path.write_text("\n".join(lines))
    return str(path)


def arff_quote(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'" if re.search(r"[ ,'\"{}%]", text) else text


def sqlite(table, path):
    with contextlib.closing(sqlite3.connect(path)) as con:
        con.execute(f"create table patients ({', '.join(table.column_names)})")
        rows = as_text(table).to_pylist()
        con.executemany(
            f"insert into patients values ({', '.join('?' * len(rows[0]))})", [[*r.values()] for r in rows]
        )
        con.commit()
    return str(path)


def ibis_table(table):
    import ibis

    return ibis.memtable(table)


def pandas_nullable(table):
    return table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)


SOURCES = {
    "csv": lambda t, d: csv(t, d / "t.csv"),
    "semicolons": lambda t, d: csv(t, d / "t.csv", ";"),
    "tsv": lambda t, d: csv(t, d / "t.tsv", "\t"),
    "csv.gz": lambda t, d: csv(t, d / "t.csv.gz"),
    "csv.zst": lambda t, d: csv(t, d / "t.csv.zst"),
    "glob": lambda t, d: two_files(t, d),
    "list of paths": lambda t, d: [two_files(t, d).replace("*", "0"), str(d / "part1.csv")],
    "json lines": lambda t, d: json_lines(t, d / "t.jsonl"),
    "json lines.gz": lambda t, d: json_lines(t, d / "t.jsonl.gz"),
    "parquet": lambda t, d: parquet(t, d / "t.parquet", row_group_size=64),
    "parquet, plain": lambda t, d: parquet(t, d / "t.parquet", use_dictionary=False, compression="zstd"),
    "feather": lambda t, d: feather(t, d / "t.feather"),
    "arrow stream": lambda t, d: arrow_stream(t, d / "t.arrows"),
    "xlsx": lambda t, d: workbook(t, d / "t.xlsx"),
    "arff": lambda t, d: arff(t, d / "t.arff"),
    "sqlite": lambda t, d: sqlite(t, d / "t.db"),
    "pyarrow table": lambda t, d: t,
    "dictionaries": lambda t, d: dictionaries(t),
    "large strings": lambda t, d: large_strings(t),
    "decimals": lambda t, d: t.set_column(1, "age", t.column("age").cast(pa.decimal128(9, 1))),
    "batches": lambda t, d: pa.RecordBatchReader.from_batches(t.schema, t.to_batches(max_chunksize=41)),
    "pandas": lambda t, d: pandas_nullable(t),
    "pandas, plain": lambda t, d: t.to_pandas(),
    "polars": lambda t, d: pl.from_arrow(t),
    "polars, lazy": lambda t, d: pl.from_arrow(t).lazy(),
    "duckdb relation": lambda t, d: relation(t, duckdb.connect()),
    "ibis": lambda t, d: ibis_table(t),
    "mapping of arrays": lambda t, d: typed_arrays(t),
    "structured array": lambda t, d: to_struct(t),
}  # fmt: skip
"""Each makes its own kind of source from the Arrow table and a folder to write to."""
