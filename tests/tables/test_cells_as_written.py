"""Cells are read as the file has them: nothing is guessed from the first rows, and errors are clear."""

import csv
import gzip
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deciban
from deciban.errors import InputError
from deciban.sources.database import measure_last_line
from deciban.sources.source import open_source

UNUSUAL = [
    "01/02", "02.01.2024", "2024-01-02", "12:30", "007", "1e5", "1_000", "0x10", "1,5", "true", "NA", "null", "None",
    "nan", "inf", "#comment", "say \"ah\"", "a\nb", "a,b", " spaced ", "'", "\\N", "\\",
    "123e4567-e89b-12d3-a456-426614174000", "[1]", '{"a": 1}', "é", "１",
]  # fmt: skip


@pytest.mark.parametrize("repeat", [1, 3000])
def test_csv_cells_are_what_pythons_reader_states(repeat, tmp_path):
    """Also where strange values come late, and where a file begins with one."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["x", "y"])
    lines = [[word, "a"] for word in ["1"] * repeat + UNUSUAL]
    writer.writerows(lines)
    (tmp_path / "t.csv").write_text(file.getvalue(), encoding="utf-8", newline="")
    batches = open_source(tmp_path / "t.csv").batches({"x": "text"})
    read = [cell for batch in batches for cell in batch.column("x").to_pylist()]
    assert read == [word.strip() for word, _ in lines]
    batches = open_source(tmp_path / "t.csv").batches({"x": "as it is"})
    assert [cell for batch in batches for cell in batch.column("x").to_pylist()] == [word for word, _ in lines]


@pytest.mark.parametrize("repeat", [1, 30_000])
def test_json_texts_stay_texts_and_late_values_set_the_type(repeat, tmp_path):
    cells = ["2024-01-02"] * repeat + UNUSUAL
    (tmp_path / "t.jsonl").write_text("".join(json.dumps({"x": cell}) + "\n" for cell in cells))
    batches = open_source(tmp_path / "t.jsonl").batches({"x": "text"})
    assert [cell for batch in batches for cell in batch.column("x").to_pylist()] == cells
    numbers = [*range(repeat), 0.5]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps({"x": cell}) + "\n" for cell in numbers))
    batches = open_source(tmp_path / "t.jsonl").batches({"x": "number"})
    assert [cell for batch in batches for cell in batch.column("x").to_pylist()] == numbers


def test_json_keys_that_first_appear_in_the_last_of_many_files_are_columns(tmp_path):
    """DuckDB infers types from 32 files by default, and leaves out columns of the others."""
    for i in range(40):
        row = {"x": i} if i < 39 else {"x": 0.5, "z": "new"}
        (tmp_path / f"{i:02}.jsonl").write_text(json.dumps(row) + "\n")
    source = open_source(str(tmp_path / "*.jsonl"))
    assert list(source.columns) == ["x", "z"]
    found = [row for batch in source.batches({"x": "number", "z": "text"}) for row in batch.to_pylist()]
    assert found == [{"x": i, "z": None} for i in range(39)] + [{"x": 0.5, "z": "new"}]


@pytest.mark.parametrize("n_lines", [1, 300])
def test_json_objects_with_many_keys_are_rows(n_lines, tmp_path):
    """DuckDB takes objects with many keys for maps, in one column."""
    lines = [{f"k{i}": i for i in range(300)}] if n_lines == 1 else [{f"k{i}": i} for i in range(n_lines)]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert list(open_source(tmp_path / "t.jsonl").columns) == [f"k{i}" for i in range(300)]


def test_a_json_column_may_be_named_json(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"json": 1}\n')
    assert list(open_source(tmp_path / "t.jsonl").columns) == ["json"]


def test_json_keys_that_differ_in_case_are_refused_wherever_they_are(tmp_path):
    """DuckDB takes them for one column, and what the second holds would be lost."""
    (tmp_path / "t.jsonl").write_text('{"a": 1}\n' * 100 + '{"A": 2}\n')
    with pytest.raises(InputError, match="differ only in case: 'A', 'a'"):
        open_source(tmp_path / "t.jsonl")
    (tmp_path / "t.jsonl").write_text('{"a": 1, "A_1": 2, "a_2": 3}\n')
    assert list(open_source(tmp_path / "t.jsonl").columns) == ["a", "A_1", "a_2"]


JSON_LINES = '{"x": 1.5, "y": "a"}\n{"x": 2.5, "y": "b"}\n'


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("5\n" + JSON_LINES, "not JSON objects"),
        (JSON_LINES + "5\n", "not JSON objects"),
        ("null\n", "not JSON objects"),
        ('"text"\n', "not JSON objects"),
        ("[1, 2]\n", "not JSON objects"),
        ("", "is empty"),
        ('{"x": ' + "[" * 5000 + "]" * 5000 + "}\n", "recursion depth"),
        ("[" * 500_000, "unexpected end"),
        (JSON_LINES + '{"x": ' + '{"a": ' * 5000 + "1" + "}" * 5001 + "\n", "recursion depth"),
        ('{"x": 1, "x": 2, "y": "a"}\n', "duplicate key"),
        (b'{"x": "\xff"}\n', "UTF-8"),
        ('{"x": 1', "unexpected end"),
    ],
)
def test_lines_that_are_no_json_objects_are_refused_in_one_line(content, words, tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=words) as refused:
        deciban.train(path, target="y")
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("x," + "y" * 200_000 + "\n1,2\n", "the first line of .* cannot be read: field larger"),
        ("x" * (1 << 21), "the first line of .* is longer than 1 048 576 bytes"),
        ("é" + ",x" * (1 << 20), "the first line of .* is longer than 1 048 576 bytes"),
        ("x,y\n1,a\n2,b\n" + '3,"a\n', "in line 4: a quote is not closed"),
        ("x,y\n1,a\n2,b\n" + "3," + "b" * 3_000_000 + "\n", "in line 4: the line is longer than"),
        ("x,y\n1,a\n2,b\n" + "3," + "b" * 9_000_000 + "\n", "in line 4: the line is longer than"),
        ("x,y\n1,a\n2,b\n" + "3," + "b" * 40_000_000 + "\n", "in line 4: the line is longer than"),
        ("x,y\n1,a\n2,b\n" + "3," + "b" * 40_000_000, "in line 4: the line is longer than"),
        ("x,y\n1,a\r2,b\r\n3,a\n", "cannot be read"),
    ],
)
def test_tables_that_break_the_rules_of_csv_are_refused_in_one_line(content, words, tmp_path):
    csv.field_size_limit(131_072)  # Python's own: another library in this process may have raised it
    (tmp_path / "t.csv").write_text(content, encoding="utf-8", newline="")
    with pytest.raises(InputError, match=words) as refused:
        deciban.train(tmp_path / "t.csv", target="y")
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize(("name", "kind"), [("t.csv.gz", "gzip"), ("t.csv.zst", "zstd")])
def test_a_long_last_line_of_a_compressed_file_is_refused(name, kind, tmp_path):
    """DuckDB leaves a last line out that is longer than its buffer."""
    with pa.output_stream(str(tmp_path / name), compression=kind) as file:
        file.write(b"x,y\n1,a\n2,b\n3," + b"b" * 40_000_000)
    with pytest.raises(InputError, match=f"{name}' cannot be read in line 4: the line is longer than"):
        deciban.train(tmp_path / name, target="y")


def test_a_long_last_line_before_many_blank_lines_is_refused(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"x,y\n1,a\n2,b\n3," + b"b" * 33_000_000 + b"\n" * (5 << 20))
    with pytest.raises(InputError, match=r"t\.csv' cannot be read in line 4: the line is longer than"):
        deciban.train(tmp_path / "t.csv", target="y")


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
@pytest.mark.parametrize(
    ("content", "n_bytes"),
    [
        (b"x,y\n1,a", 3),
        (b"x,y\r\n12,a\r\n\r\n", 4),
        (b"\n\n", 0),
        (b"xyz", 3),
        (b"x\r" + b"y" * (3 << 20), 3 << 20),
        (b"x" * ((1 << 20) - 1) + b"\nyz", 2),
        (b"x" * (1 << 20) + b"\nyz\n", 2),
        (b"xyz" + b"\n" * (1 << 21), 3),
        (b"x\n" + b"y" * (3 << 20) + b"\r\n" * (3 << 20), 3 << 20),
        (b"x\n" + b"y" * (3 << 20) + b"\n" * ((4 << 20) - 2), 3 << 20),
        (b"\n" * (9 << 20), 0),
    ],
)
def test_the_last_line_that_is_not_blank_is_measured(content, n_bytes, name, tmp_path):
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert measure_last_line(str(tmp_path / name)) == n_bytes


def test_many_blank_lines_at_the_end_are_not_a_long_line(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,a\n2,b\n" + "\n" * 2_100_000)
    assert deciban.train(tmp_path / "t.csv", target="y", judge=False).ledger.n_rows == 2


IMITATIONS = [
    "not utf-8",
    "Invalid unicode",
    "Expected Number of Columns: 2 Found: 99",
    "Could not convert string \"NA\" to 'DOUBLE'",
    'Error when converting column "c1". Could not convert string "?" to \'DOUBLE\'',
    "CSV Error on Line: 1",
    "a\nConversion Error: CSV Error on Line: 1\nOriginal Line: x\nb",
]
GOOD = "".join(f"{i % 7}.5,{'ab'[i % 2]}\n" for i in range(25_000))


@pytest.mark.parametrize("words", IMITATIONS)
def test_no_cell_can_imitate_the_message_of_another_error(words, tmp_path):
    """Each file has one fault, in line 25002, beside a cell that reads like the message of another."""
    cell = '"' + words.replace('"', '""') + '"'
    path = tmp_path / "t.csv"
    path.write_text(f"x,y\n{GOOD}word,{cell}\n")
    with pytest.raises(InputError, match=r"column 'x' of .*holds 'word' in line 25002, which is not a number"):
        deciban.train(path, target="y", judge=False)
    path.write_text(f"x,y\n{GOOD}{cell},a\n")
    with pytest.raises(InputError) as refused:
        deciban.train(path, target="y", judge=False)
    assert f"column 'x' of {str(path)!r} holds {words!r} in line 25002, which is not a number" in str(refused.value)
    path.write_text(f"x,y\n{GOOD}{cell},a,b\n")
    with pytest.raises(InputError, match="is ragged: 3 cells in line 25002 where the header has 2"):
        deciban.train(path, target="y", judge=False)


def test_the_file_that_has_the_fault_is_named(tmp_path):
    (tmp_path / "a.csv").write_text(f"x,y\n{GOOD}")
    (tmp_path / "b.csv").write_text(f"x,y\n{GOOD}1.5,a\nword,b\n")
    with pytest.raises(InputError, match=r"b.csv' holds 'word' in line 25003"):
        deciban.train(tmp_path / "*.csv", target="y", judge=False)


def test_marks_of_missing_numbers_before_a_word_do_not_hide_it(tmp_path):
    (tmp_path / "t.csv").write_text(f"x,y\n{GOOD}NA,a\n ? ,b\nword,b\n")
    with pytest.raises(InputError, match=r"holds 'word' in line 25004"):
        deciban.train(tmp_path / "t.csv", target="y", judge=False)


def arrow_file(table, path):
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=25)
    return path


def parquet_file(table, path):
    pq.write_table(table, path)
    return path


N = 60
TARGET = pa.array(["p", "q"] * (N // 2))
SECONDS = pa.array(np.arange(N) * 3 * 86400)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "+25:99"])
@pytest.mark.parametrize("write", [arrow_file, parquet_file])
def test_times_in_an_unknown_zone_are_refused_with_a_way_out(zone, write, tmp_path):
    when = SECONDS.cast(pa.timestamp("ms")).view(pa.timestamp("ms", zone))
    path = write(pa.table({"when": when, "x": np.arange(N) % 7, "y": TARGET}), tmp_path / "t.data")
    kind = "arrow" if write is arrow_file else "parquet"
    for roles in ({}, {"when": "date"}, {"when": "category"}):
        with pytest.raises(InputError) as refused:
            deciban.train(path, target="y", format=kind, roles=roles)
        assert len(str(refused.value).splitlines()) == 1
    assert deciban.train(path, target="y", format=kind, roles={"when": "skip"}).origin.rows_read == N


VALUES = {
    "texts": pa.array(["a", None, "b"]),
    "large texts": pa.array(["a", None, "b"], pa.large_string()),
    "views": pa.array(["a", None, "b"], pa.string_view()),
    "numbers": pa.array([1.5, None, 2.5]),
    "flags": pa.array([True, None, False]),
}


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("chunks", [N, 25])
def test_a_null_in_a_dictionary_is_a_missing_value(kind, chunks, tmp_path):
    """A column with its nulls where they usually are gives an equal ledger."""
    codes = pa.array(np.arange(N) % 3, pa.int32())
    inside = pa.DictionaryArray.from_arrays(codes, VALUES[kind])
    adjacent = pa.DictionaryArray.from_arrays(
        pa.array([None if i % 3 == 1 else i % 3 // 2 for i in range(N)], pa.int32()),
        pa.array([VALUES[kind][0].as_py(), VALUES[kind][2].as_py()], VALUES[kind].type),
    )
    models = []
    for column in (inside, adjacent):
        table = pa.table({"c": column, "y": TARGET})
        path = tmp_path / "t.arrow"
        with pa.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=chunks)
        models.append([deciban.train(source, target="y") for source in (path, table, table.to_reader(25))])
        assert deciban.evaluate(path, target="y", roles={"c": "category"}).accuracy >= 0
        ordered = pa.table({"c": column, "x": np.arange(N) % 7, "y": TARGET})
        assert deciban.evaluate(ordered, target="y", order="x").accuracy >= 0
    assert all(model.ledger == models[1][0].ledger for found in models for model in found)


@pytest.mark.parametrize("role", ["number", "binned", "count", "flag", "category", "date", "text"])
@pytest.mark.parametrize(
    "column",
    [
        pa.array([(1, 2, i) for i in range(N)], pa.month_day_nano_interval()),
        pa.array([[i] for i in range(N)]),
        pa.array([b"\xff%d" % i for i in range(N)]),
        pa.array(range(N), pa.time64("us")),
        pa.array([-(2**63) + 1, 2**63 - 1] * (N // 2)).view(pa.timestamp("s")),
        pa.RunEndEncodedArray.from_arrays(pa.array([20, N], pa.int32()), pa.array(["a", None])),
    ],
    ids=lambda column: str(column.type),
)
def test_columns_of_rare_types_are_read_or_refused_in_every_role(column, role, tmp_path):
    path = arrow_file(pa.table({"c": column, "x": np.arange(N) % 7, "y": TARGET}), tmp_path / "t.arrow")
    try:
        answer = deciban.train(path, target="y", roles={"c": role}).predict(path).read_all().num_rows
    except InputError as error:
        answer = str(error)
    assert answer == N or "\n" not in answer
