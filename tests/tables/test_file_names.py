"""A table holds the contents of its files: the names of files and folders change nothing by default."""

import gzip
import json
import socket

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deciban
from deciban.errors import InputError
from deciban.sources.database import open_query
from deciban.sources.remote_files import list_remote
from deciban.sources.source import FileOptions, open_source

ROWS = [{"temperature": 36 + (i * 7 % 40) / 10, "y": "ab"[i % 2]} for i in range(60)]


def csv_bytes():
    return ("temperature,y\n" + "".join(f"{row['temperature']},{row['y']}\n" for row in ROWS)).encode()


def json_bytes():
    return "".join(json.dumps(row) + "\n" for row in ROWS).encode()


def write_arrow(path):
    table = pa.Table.from_pylist(ROWS)
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)


FILES = {
    "csv": lambda path: path.write_bytes(csv_bytes()),
    "tsv": lambda path: path.write_bytes(csv_bytes().replace(b",", b"\t")),
    "csv.gz": lambda path: path.write_bytes(gzip.compress(csv_bytes())),
    "jsonl": lambda path: path.write_bytes(json_bytes()),
    "jsonl.gz": lambda path: path.write_bytes(gzip.compress(json_bytes())),
    "parquet": lambda path: pq.write_table(pa.Table.from_pylist(ROWS), path),
    "arrow": write_arrow,
}


def make_table(path, kind):
    path.parent.mkdir(parents=True, exist_ok=True)
    FILES[kind](path)
    return path


def rows(source):
    """All rows of a file, numbers as numbers."""
    wanted = {name: "number" if name == "temperature" else "text" for name in source.columns}
    return [row for batch in source.batches(wanted) for row in batch.to_pylist()]


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("folder", ["temperature=41.5", "ward=7/temperature=41.5/y=a", "plain"])
def test_a_folder_changes_no_cell(kind, folder, tmp_path):
    path = make_table(tmp_path / folder / f"n.{kind}", kind)
    source = open_source(path)
    assert list(source.columns) == ["temperature", "y"]
    assert rows(source) == ROWS
    assert rows(open_source(str(tmp_path / "**" / f"*.{kind}"))) == ROWS


@pytest.mark.parametrize("kind", FILES)
def test_hive_adds_the_values_of_folders_as_new_columns(kind, tmp_path):
    for ward, shift in (("7", "day"), ("caf%C3%A9", "__HIVE_DEFAULT_PARTITION__")):
        make_table(tmp_path / f"ward={ward}" / f"shift={shift}" / f"n.{kind}", kind)
    source = open_source(str(tmp_path / "**" / f"*.{kind}"), options=FileOptions(hive=True))
    expected = [
        {**row, "ward": ward, "shift": shift} for ward, shift in (("7", "day"), ("café", None)) for row in ROWS
    ]
    assert rows(source) == expected
    assert source.head(70).num_rows == 70
    assert source.head(70).column("ward").to_pylist() == ["7"] * 60 + ["café"] * 10
    assert [row["ward"] for batch in source.batches({"ward": "text"}) for row in batch.to_pylist()] == [
        row["ward"] for row in expected
    ]


def test_hive_keys_are_categories_unless_given_a_role_and_may_be_the_target(tmp_path):
    for year in (2023, 2024):
        make_table(tmp_path / f"year={year}" / "n.csv", "csv")
    data = tmp_path / "*" / "n.csv"
    assert deciban.train(data, target="y", hive=True).roles["year"] == "category"
    assert deciban.train(data, target="y", hive=True, roles={"year": "number"}).roles["year"] == "number"
    model = deciban.train(data, target="year", hive=True)
    assert model.classes == [2023, 2024]
    assert 0 <= deciban.evaluate(data, target="year", hive=True).accuracy <= 1
    assert model.predict(data, hive=True).read_all().num_rows == 120


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize(
    ("folder", "words"),
    [
        ("temperature=41.5", r"'temperature' is a column of .*named 'temperature=41.5'\. Hint: rename"),
        ("ward=1/ward=2", "two folders of .* are named ward="),
        ("plain", "no folder of .* is named KEY=VALUE"),
    ],
)
def test_hive_never_replaces_a_column_and_states_what_is_wrong(kind, folder, words, tmp_path):
    path = make_table(tmp_path / folder / f"n.{kind}", kind)
    with pytest.raises(InputError, match=words):
        deciban.train(path, target="y", hive=True)


def test_hive_is_for_files_of_tables_whose_folders_agree(tmp_path):
    make_table(tmp_path / "ward=1" / "n.csv", "csv")
    make_table(tmp_path / "shift=1" / "n.csv", "csv")
    (tmp_path / "ward=1" / "n.txt").write_text("a\n")
    for source, words in (
        (tmp_path / "*" / "n.csv", "files read together need the same KEY=VALUE folders"),
        (tmp_path / "ward=1" / "n.txt", "is for tables"),
        ({"temperature": np.arange(3), "y": ["a", "b", "a"]}, "is for files"),
    ):
        with pytest.raises(InputError, match=words):
            deciban.train(source, target="y", hive=True)
    with pytest.raises(InputError, match="is for files"):
        deciban.train(sql="select 1 as y", target="y", hive=True)


@pytest.mark.parametrize("name", ["a[1].{}", "a*.{}", "a?b.{}", "a'b.{}", "~.{}", "x=1.{}", "[ab].{}", "file:a.{}"])
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_characters_of_patterns_and_addresses_in_the_name_of_a_file_mean_themselves(
    name, kind, tmp_path, monkeypatch
):
    make_table(tmp_path / name.format(kind), kind)
    (tmp_path / f"a1.{kind}").write_bytes(b"other")
    (tmp_path / f"ab.{kind}").write_bytes(b"other")
    monkeypatch.chdir(tmp_path)
    assert rows(open_source(name.format(kind))) == ROWS


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_path_that_looks_like_an_address_is_a_path_and_no_network_is_used(kind, tmp_path, monkeypatch):
    make_table(tmp_path / "http:" / "host" / f"a.{kind}", kind)
    make_table(tmp_path / "~" / f"a.{kind}", kind)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(socket, "socket", None)
    assert rows(open_source(f"http://host/a.{kind}")) == ROWS
    assert rows(open_source(f"~/a.{kind}")) == ROWS
    with pytest.raises(InputError, match="there is no file"):
        open_source(f"https://example.org/a.{kind}")


@pytest.mark.parametrize("query", [
    "copy (select 1 as y) to '{path}'", "select 1 as y; copy (select 1) to '{path}'", "set threads = 1",
    "copy (pivot '{path}' on kept using count(*)) to '{path}'",
    "create table y as pivot '{path}' on kept using count(*)", "set threads = 1; select 1 as y",
    "with a as (copy (select 1 as z) to '{path}') select 1 as y",
    "select 1 as y); copy (select 1) to '{path}'; (select 2",
])  # fmt: skip
def test_a_query_writes_nothing(tmp_path, query):
    path = tmp_path / "victim.csv"
    path.write_text("kept")
    with pytest.raises(InputError, match="the query cannot be read"):
        deciban.train(sql=query.format(path=path), target="y")
    assert path.read_text() == "kept"


@pytest.mark.parametrize(
    "query",
    [
        "-- rows\nfrom '{path}'; -- all",
        "with a as (from '{path}') select *, 'it''s' as b from a",
        "describe '{path}';",
    ],
)
def test_a_query_is_any_statement_that_reads(tmp_path, query):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,a\n2,b\n")
    assert len(open_query(None, query.format(path=path)).columns) >= 2


@pytest.mark.parametrize("names", [("a", "a"), ("a", "A"), ("y", "y")])
def test_a_query_with_two_columns_of_a_name_is_refused(names):
    query = "select x as {}, x % 2 as {}, x % 3 as y from range(60) t(x)".format(*names)
    with pytest.raises(InputError, match=r"two columns named|differ only in case"):
        deciban.train(sql=query, target="y")


def test_a_query_installs_nothing_and_sees_no_variables_of_python():
    with pytest.raises(InputError, match="httpfs"):
        deciban.train(sql="select * from 'https://example.org/a.csv'", target="y")
    with pytest.raises(InputError, match="source does not exist"):
        deciban.train(sql="select * from source", target="y")


def test_the_ending_that_states_how_a_file_is_packed_is_read_in_capitals_too(tmp_path):
    (tmp_path / "N.CSV.GZ").write_bytes(gzip.compress(csv_bytes()))
    assert rows(open_source(tmp_path / "N.CSV.GZ")) == ROWS


def test_packed_and_plain_files_are_read_together(tmp_path):
    paths = [make_table(tmp_path / "a.csv", "csv"), make_table(tmp_path / "b.csv.gz", "csv.gz")]
    assert rows(open_source(paths)) == ROWS + ROWS


def test_two_stars_in_the_address_of_a_storage_service_cross_folders(tmp_path):
    for name in ("a.csv", "x/b.csv", "x/y/c.csv", "x/y/d.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(csv_bytes())
    expected = {"**/*.csv": ["a.csv", "x/b.csv", "x/y/c.csv"], "*.csv": ["a.csv"], "x/*/*.csv": ["x/y/c.csv"]}
    for pattern, names in expected.items():
        assert list_remote(f"file://{tmp_path}/{pattern}") == [f"file://{tmp_path}/{name}" for name in names]


@pytest.mark.parametrize("ending", ["deciban", "csv.gz", "json", "parquet", "txt", "xlsx", "db", "arrow", "arff"])
def test_a_model_file_is_no_table_whatever_its_name(ending, tmp_path):
    deciban.train(make_table(tmp_path / "n.csv", "csv"), target="y", judge=False).save(tmp_path / "m.deciban")
    content = (tmp_path / "m.deciban").read_bytes()
    path = tmp_path / f"m.{ending}"
    path.write_bytes(gzip.compress(content) if ending.endswith(".gz") else content)
    with pytest.raises(InputError, match=r"is a model file, not a table\. Hint: .*deciban\.load\(path\)"):
        deciban.train(path, target="y")
