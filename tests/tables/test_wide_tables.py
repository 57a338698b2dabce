"""Tables that are small but wide, or malformed: their cost, and that no columns are mixed up."""

import csv
import json
import os
import subprocess
import sys

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import deciban
from deciban.errors import InputError
from deciban.sources import csv_files as delimited
from deciban.sources.source import open_source
from tests.timing import assert_growth, clock_of_children, least_seconds

ROWS = 50


def run_command(*arguments):
    """Run a command of deciban as a process of its own."""
    command = [sys.executable, "-m", "deciban.cli.main", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=dict(os.environ))


def assert_soon(call, limit):
    """Assert that a call, which runs commands, takes at most `limit` seconds of CPU time."""
    assert least_seconds(call, limit, clock=clock_of_children) <= limit


def wide(path, d, kind, n=ROWS):
    """A CSV of d columns of numbers or categories and a class, of few rows."""
    rng = np.random.default_rng(3)
    values = rng.normal(size=(n, d)).round(4) if kind == "number" else rng.choice(["red", "green", "blue"], (n, d))
    lines = [",".join([*map(str, row), "ab"[i % 2]]) for i, row in enumerate(values.tolist())]
    path.write_text("\n".join([",".join([*(f"x{j}" for j in range(d)), "y"]), *lines]) + "\n")
    return path


@pytest.fixture(scope="module")
def start_up(tmp_path_factory):
    """The CPU time of a command that refuses a small table."""
    path = tmp_path_factory.mktemp("start") / "t.csv"
    path.write_text("x,y\n1,a\n")
    return least_seconds(lambda: run_command("train", path, "--target", "none"), 0.0, 2, clock_of_children)


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("quote.csv", '"' + "\n" * 200_000, "opens a quote that is not closed"),
        ("quotes.csv", '"' * 100_001, "opens a quote that is not closed"),
        ("quoted-lines.csv", '"a\n' + "x\n" * 60_000 + '",y\n1,2\n', "no column 'none'"),
        ("delimiters.csv", "," * 99_999, "no column 'none'"),
        ("newlines.csv", "\n" * 500_000, "is empty"),
        ("keys.jsonl", json.dumps({f"k{i}": i for i in range(20_000)}), "no column 'none'"),
        ("cases.jsonl", json.dumps({f"{k}{i}": i for i in range(20_000) for k in "kK"}), "differ only in case"),
    ],
)
def test_small_files_are_refused_soon(tmp_path, start_up, name, text, wanted):
    path = tmp_path / name
    path.write_text(text)

    def refuse():
        ended = run_command("train", path, "--target", "none")
        assert ended.returncode == 1
        assert wanted in ended.stderr
        assert len(ended.stderr) < 2100

    assert_soon(refuse, start_up + 4.0)  # far less on a quiet machine


def test_the_names_of_many_keys_are_not_searched_for_each(tmp_path, start_up):
    path = tmp_path / "keys.jsonl"
    path.write_text(json.dumps({f"k{i}": i for i in range(20_000)}))

    def refuse():
        ended = run_command("train", path, "--target", "k0", "-o", tmp_path / "m.deciban")
        assert "no column is left to learn from" in ended.stderr  # one row: every column is constant

    assert_soon(refuse, start_up + 8.0)  # 0.9 on a quiet machine; 26 by a search of all names for each


@pytest.mark.thorough(reason="trains many models, or large ones: seconds")
@pytest.mark.parametrize("kind", ["number", "category"])
def test_the_time_of_training_is_linear_in_the_columns(tmp_path, kind):
    data = {d: wide(tmp_path / f"{d}.csv", d, kind) for d in (500, 4000)}

    def train(d):
        ended = run_command("train", data[d], "--target", "y", "-o", tmp_path / "m.deciban")
        assert ended.returncode == 0, ended.stderr

    # 4 on a quiet machine; 64 were each column compared with all
    assert_growth(train, 500, 4000, most=16, clock=clock_of_children)


@pytest.mark.parametrize("keys", [150, 250, 1500])
def test_lines_of_json_with_many_keys_are_a_table(tmp_path, keys):
    """DuckDB takes objects of more than 200 keys of one type for maps."""
    rows = [{**{f"k{j}": i * j % 7 for j in range(keys)}, "y": i % 2} for i in range(20)]
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    source = open_source(path)
    assert list(source.columns) == list(rows[0])
    assert source.head(99).to_pylist() == rows
    assert pa.Table.from_batches(source.batches({"y": "number", "k3": "number"})).to_pylist() == [
        {"y": row["y"], "k3": row["k3"]} for row in rows
    ]


def test_lines_of_json_lack_keys_and_objects(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"json": 1, "a": {"b": [1, "x"]}}\n{"c\'d": true}\nnull\n')
    assert open_source(path).head(9).to_pylist() == [
        {"json": 1, "a": '{"b":[1,"x"]}', "c'd": None},
        {"json": None, "a": None, "c'd": True},
        {"json": None, "a": None, "c'd": None},
    ]
    path.write_text("[1, 2]\n[3]\n")
    with pytest.raises(InputError, match="holds lines that are not JSON objects"):
        open_source(path)


@pytest.mark.thorough(reason="trains many models, or large ones: seconds")
@pytest.mark.parametrize("n", [40, 2500])
def test_cells_of_a_wide_file_are_what_python_reads(tmp_path, monkeypatch, n):
    """Marks for missing numbers, spaces around numbers, and texts; columns in another order; several batches."""
    monkeypatch.setattr(delimited, "TEXT_BATCH_CELLS", 1)
    rng = np.random.default_rng(5)
    d = 301
    special = np.array(["NA", "", " 7.25 ", " - ", "1e-3", "nan", "inf", "+4", "-.5E2", "00012"])
    cells = np.where(
        rng.random((n, d)) < 0.02, rng.choice(special, (n, d)), rng.normal(size=(n, d)).round(3).astype(str)
    )
    path = tmp_path / "t.csv"
    path.write_text("\n".join([",".join(f"x{j}" for j in range(d)), *map(",".join, cells.tolist())]) + "\n")
    wanted = {f"x{j}": "text" if j % 4 == 0 else "number" for j in reversed(range(d))}
    found = pa.Table.from_batches(open_source(path).batches(wanted))
    assert found.column_names == list(wanted)
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    for name, column in zip(header, zip(*rows, strict=True), strict=True):
        if wanted[name] == "text":
            assert found[name].to_pylist() == [cell.strip() or None for cell in column]
        else:
            missing = [cell.strip() in ("NA", "", "-", "nan") for cell in column]
            assert found[name].is_null(nan_is_null=True).to_pylist() == missing
            assert [x for x in found[name].to_pylist() if x is not None and x == x] == [
                float(c) for c, m in zip(column, missing, strict=True) if not m
            ]


def test_decimal_commas_and_marks_for_missing_numbers_in_one_file(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b;c\n1,5;NA;u\n-2,25; 3 ;NA\n ? ;4,5;\n")
    (batch,) = open_source(path).batches({"c": "text", "b": "number", "a": "number"})
    assert batch.to_pydict() == {"c": ["u", "NA", None], "b": [None, 3.0, 4.5], "a": [1.5, -2.25, None]}


@pytest.mark.thorough(reason="trains many models, or large ones: seconds")
@pytest.mark.parametrize("cell", ["NA", "oops"])
def test_the_time_of_reading_cells_that_are_no_numbers_is_linear_in_the_columns(tmp_path, cell):
    """One row: the time is that of DuckDB's plan, whose expressions took 8 s for 4000 columns and 0.7 for 1000."""
    for d in (1000, 4000):
        (tmp_path / f"{d}.csv").write_text(",".join(f"x{j}" for j in range(d)) + "\n" + ",".join([cell] * d) + "\n")

    def read(d):
        source = open_source(tmp_path / f"{d}.csv")
        if cell == "NA":
            (batch,) = source.batches(dict.fromkeys(source.columns, "number"))
            assert all(column.to_pylist() == [None] for column in batch.columns)
        else:
            with pytest.raises(InputError, match=r"column 'x0' .* holds 'oops' in line 2"):
                list(source.batches(dict.fromkeys(source.columns, "number")))

    assert_growth(read, 1000, 4000, most=8)  # 4 on a quiet machine


@pytest.mark.parametrize("cells", [["NA"], ["NA", "?", " - "]])
def test_marks_of_missing_numbers_in_a_wide_file_cause_no_second_reading(tmp_path, monkeypatch, cells):
    """Each reading of many columns is planned by DuckDB, and one that fails may cost far more than that."""
    d = 300
    path = wide(tmp_path / "t.csv", d, "number")
    lines = [line.split(",") for line in path.read_text().splitlines()]
    for row, cell in enumerate(cells, 5):
        lines[row][d // 2 + row] = cell
    path.write_text("\n".join(map(",".join, lines)) + "\n")
    source = open_source(path)
    calls = []
    relation = type(source)._relation
    monkeypatch.setattr(type(source), "_relation", lambda *given: calls.append(1) or relation(*given))
    batches = list(source.batches(dict.fromkeys(source.columns[:-1], "number")))
    assert len(calls) == 1
    assert sum(column.null_count for batch in batches for column in batch.columns) == len(cells)


def test_a_conversion_error_without_columns_of_numbers_is_raised_once(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,a\n")
    source = open_source(path)
    calls = []

    def fail(*_arguments, **_options):
        calls.append(1)
        assert len(calls) < 5
        raise duckdb.ConversionException("Conversion Error: of a text")

    monkeypatch.setattr(type(source), "_read", fail)
    with pytest.raises(InputError, match="cannot be read: Conversion Error"):
        list(source.batches({"x": "text"}))


def test_a_text_in_a_wide_column_of_numbers_names_its_line(tmp_path):
    d = 1000
    header, row = ",".join(f"x{j}" for j in range(d)), ",".join(["1.5"] * d)
    path = tmp_path / "t.csv"
    path.write_text("\n".join([header, row, row.replace("1.5", "oops", 1), row]) + "\n")
    source = open_source(path)
    source.head(20_480)
    with pytest.raises(InputError, match=r"column 'x0' .* holds 'oops' in line 3"):
        list(source.batches(dict.fromkeys(source.columns, "number")))


@pytest.mark.parametrize("missing", [False, True])
def test_columns_counted_together_are_those_counted_alone(missing):
    """Numbers, counts and categories of few rows, some missing: the ledger of many columns is that of each."""
    rng = np.random.default_rng(11)
    n, d = 60, 30
    X = np.where(np.arange(d) % 2, rng.poisson(3.0, (n, d)), rng.normal(size=(n, d)))
    if missing:
        X[rng.random((n, d)) < 0.1] = np.nan
    table = {f"x{j}": X[:, j] for j in range(d)} | {"c": rng.choice(["u", "v"], n), "y": np.arange(n) % 3}
    together = deciban.train(table, target="y", numbers="auto", judge=False)
    for j in range(d):
        alone = deciban.train({name: table[name] for name in (f"x{j}", "y")}, target="y", numbers="auto", judge=False)
        column = next(c for c in together.columns if c.name == f"x{j}")
        assert column == alone.columns[0]
        (part,) = alone.ledger.parts
        kind = together._layout.block_index(alone._layout.blocks[0].kind)
        place = [f.column for f in together._layout.blocks[kind].features].index(f"x{j}")
        mine = together.ledger.parts[kind].take_features(np.array([place]))
        for name, array in part.arrays().items():
            np.testing.assert_allclose(np.broadcast_to(mine.arrays()[name], array.shape), array, 1e-12, 1e-14)
