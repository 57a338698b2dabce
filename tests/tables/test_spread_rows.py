"""Roles are inferred from rows of many places of a table: what its first 20 480 rows show does not decide."""

import sqlite3
import warnings
from contextlib import closing

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deciban
from deciban.errors import DecibanWarning
from deciban.sources.source import N_PLACES, open_source, read_spread
from deciban.training.column_roles import HEAD_ROWS

N = 60_000
LATE = np.arange(N) >= 25_000
RNG = np.random.default_rng(0)

COLUMNS = {
    "sensor": np.where(LATE, RNG.normal(size=N), np.nan),
    "version": np.where(LATE, RNG.integers(0, 50, N), RNG.integers(0, 2, N)),
    "rating": np.where(LATE, RNG.integers(1, 11, N), RNG.integers(1, 4, N)),
    "constant": np.where(LATE, RNG.normal(5, 2, N).round(2), 0.0),
    "level": np.where(LATE, np.char.add("k", RNG.integers(0, 9, N).astype(str)), "k0"),
    "note": np.where(LATE, RNG.choice(["A, B", 'C "D"'], N), RNG.choice(["E\nF", "G"], N)),
    "number": np.arange(N),
    "place": np.arange(N) * 3 + RNG.integers(0, 3, N),
}
"""Columns whose first rows mislead, and two that number the rows."""


def table(**columns):
    return pd.DataFrame({**columns, "y": RNG.choice(["a", "b"], N)})


def write(frame, path):
    """Write a frame in the format of a path; return what is read."""
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        frame.to_parquet(path, index=False, row_group_size=1000 if path.stem == "groups" else N)
    elif path.suffix == ".duckdb":
        path.unlink(missing_ok=True)
        with duckdb.connect(str(path)) as connection:
            connection.register("frame", frame)
            connection.execute("create table t as select * from frame")
        return f"duckdb:///{path}"
    elif path.suffix == ".db":
        with closing(sqlite3.connect(path)) as connection:
            frame.to_sql("t", connection, index=False, if_exists="replace")
        return f"sqlite:///{path}"
    return path if path.suffix else frame


@pytest.mark.parametrize("name", ["frame", "one.csv", "one.parquet", "groups.parquet", "one.duckdb", "one.db"])
def test_rows_in_order_have_the_roles_of_the_same_rows_shuffled(name, tmp_path):
    frame = table(**{key: values for key, values in COLUMNS.items() if key not in ("number", "place")})
    settings = {"target": "y", "judge": False, "structure": "naive"}
    model = deciban.train(write(frame, tmp_path / name), **settings)
    shuffled = deciban.train(write(frame.sample(frac=1, random_state=0), tmp_path / name), **settings)
    assert model.roles == shuffled.roles
    numbers = {name for name, role in model.roles.items() if role in ("number", "binned")}
    assert numbers == {"sensor", "version", "rating", "constant"}
    assert model.roles["level"] == model.roles["note"] == "category"


@pytest.mark.parametrize("name", ["frame", "one.csv", "one.parquet", "groups.parquet", "one.duckdb", "one.db"])
def test_what_numbers_the_rows_is_an_identifier(name, tmp_path):
    frame = table(number=COLUMNS["number"], place=COLUMNS["place"], x=RNG.normal(size=N))
    model = deciban.train(write(frame, tmp_path / name), target="y", judge=False)
    assert [name for name, role in model.roles.items() if role == "skip"] == ["number", "place"]


@pytest.mark.parametrize("quoted", [False, True])
def test_places_of_a_file_are_whole_lines(quoted, tmp_path):
    """Cells of several lines with quotes and commas in them are read as they are, or the first rows are."""
    cells = [f'say "{i}",\nthen {i}\n"and\n' if quoted and i % 50 < 20 else f"{i}, {i}" for i in range(N)]
    frame = pd.DataFrame({"cell": cells, "i": range(N)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    rows = read_spread(open_source(tmp_path / "t.csv"), HEAD_ROWS).to_pandas()
    numbers = rows["i"].astype(int).to_numpy()
    assert len(rows) == HEAD_ROWS == len(set(numbers))
    assert rows["cell"].str.strip().tolist() == [cells[i].strip() for i in numbers]
    assert quoted or np.ptp(numbers) > N * (1 - 2 / N_PLACES)


def test_values_of_a_column_that_seemed_empty_are_counted(tmp_path):
    frame = table(x=RNG.normal(size=N), rare=np.where(np.arange(N) == 1300, 1.0, np.nan))
    with pytest.warns(DecibanWarning, match=r"1 value of column 'rare' left out.*roles=\{'rare'"):
        model = deciban.train(frame, target="y", judge=False)
    assert model.roles["rare"] == "skip"
    given = deciban.train(frame, target="y", roles={"rare": "number"}, judge=False)
    assert given.roles["rare"] == "number"


def test_few_large_row_groups_are_read_from_their_beginnings(tmp_path):
    frame = pd.concat([table(x=COLUMNS["constant"])] * 4)
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "t.parquet", row_group_size=N)
    rows = read_spread(open_source(tmp_path / "t.parquet"), HEAD_ROWS)
    assert rows["x"].to_pylist() == COLUMNS["constant"][: HEAD_ROWS // 4].tolist() * 4


@pytest.mark.parametrize("n", [30_000, 60_000, 81_000])
def test_a_table_of_a_database_has_the_roles_of_a_frame(n):
    """A sensor that begins late, and a column without values."""
    x = np.random.default_rng(0).normal(size=n)
    late = np.where(np.arange(n) >= n * 3 // 4, x, np.nan)
    frame = pd.DataFrame({"x": x, "late": late, "empty": None, "y": np.where(x > 0, "p", "q")}).convert_dtypes()
    connection = duckdb.connect()
    connection.execute("create table t as select * from frame")
    for source, given in ((frame, {}), (connection, {"table": "t"})):
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # "0 values of column 'empty' left out"
            model = deciban.train(source, target="y", judge=False, numbers="number", **given)
        reasons = {column.name: column.reason for column in model.columns}
        assert model.roles == {"x": "number", "late": "number", "empty": "skip"}
        assert reasons["empty"].startswith("no value in")
