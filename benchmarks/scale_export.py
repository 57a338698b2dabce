"""Benchmark of exported models: SQL that scores a Parquet file in DuckDB, against `Model.predict` on the file."""

import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import deciban

from . import machine, table_data
from .case import Line, format_seconds
from .timing import alternate

ROUNDS = 3
MAX_SQL_RATIO = 2.0
"""The largest ratio of DuckDB's time with our SQL to that of `Model.predict`."""


def score(sql: str, path: Path, columns: str = "prediction") -> list[Any]:
    """Run the SQL in DuckDB over a Parquet file, with as many threads as this process may use; return the batches."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute(f"SET threads = {machine.count_cores()}")
        connection.execute(f"CREATE VIEW data AS SELECT * FROM read_parquet('{path}')")
        return list(connection.sql(f"SELECT {columns} FROM ({sql})").to_arrow_reader())


def count_labels(batches: list[Any]) -> dict[str, int]:
    """Return the number of rows of each predicted class."""
    import pyarrow as pa

    counted = pa.Table.from_batches(batches).column(0).value_counts()
    return {pair["values"]: pair["counts"] for pair in counted.to_pylist()}


def compare_scoring(scale: float) -> Iterator[Line]:
    """Compare the predictions of all rows of a file by SQL and by the model itself, warm and alternating."""
    path = table_data.find_parquet(scale)
    model = deciban.train(str(path), target=table_data.TARGET, judge=False)
    sql = str(deciban.export_model(model, "sql"))

    def by_model() -> list[Any]:
        return list(model.predict(str(path)))

    same = count_labels(by_model()) == count_labels(score(sql, path))
    times = alternate(lambda: score(sql, path), by_model, ROUNDS)
    ours, peer = (statistics.median(side) for side in times)
    agreement = "same" if same else "NOT THE SAME"
    note = f"median of {len(times[0])}; ours: exported SQL in DuckDB; peer: Model.predict; {agreement} predictions"
    yield Line(
        "speed",
        "score Parquet 10⁷×12 by SQL in DuckDB, against Model.predict",
        format_seconds(ours),
        format_seconds(peer),
        peer / ours,
        f"≤ {MAX_SQL_RATIO:g}× peer",
        same and ours <= MAX_SQL_RATIO * peer,
        note,
        goal=1 / MAX_SQL_RATIO,
    )
