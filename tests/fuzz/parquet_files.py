"""Parquet files: the rows are those that DuckDB reads, or the file is refused."""

from __future__ import annotations

import random

import duckdb
import pyarrow as pa

from tests.fuzz.mutation import mutate_bytes, write_input
from tests.fuzz.tables import read_valid_batches, seed, use
from tests.tables import clinic


def seeds() -> list[bytes]:
    return [
        seed(clinic.parquet, "t.parquet", row_group_size=16),
        seed(clinic.parquet, "t.parquet", use_dictionary=False, compression="none"),
        seed(clinic.parquet, "t.parquet", compression="zstd", data_page_version="2.0"),
    ]


def mutate(raw: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.5:  # the data before the footer alone
        size = int.from_bytes(raw[-8:-4], "little") + 8
        return mutate_bytes(raw[:-size], rng, most=2)[: len(raw) - size].ljust(len(raw) - size, b"\0") + raw[-size:]
    return mutate_bytes(raw, rng, most=rng.choice([1, 1, 2, 6]))


def check(raw: bytes) -> None:
    path = write_input("t.parquet", raw)
    batches = read_valid_batches(path)
    try:
        rows = _texts(pa.Table.from_batches(batches)) if batches else []
        expected = _texts(duckdb.connect().execute("select * from read_parquet(?)", [str(path)]).to_arrow_table())
        assert rows == [column for column in expected if column], "rows differ from those that DuckDB reads"
    except (duckdb.Error, pa.ArrowException, UnicodeDecodeError):  # DuckDB refuses it, or no text stands for a value
        pass
    use(path)


def _texts(table: pa.Table) -> list[list[str | None]]:
    """Return the columns of a table as text: not every date is a date of Python."""
    return [column.cast(pa.string()).to_pylist() for column in table.columns]
