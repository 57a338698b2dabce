"""Text files as they occur in practice: read correctly, or an error with the line and a way out."""

import csv
import io

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deciban
from deciban.errors import InputError
from deciban.sources import records
from deciban.sources.source import FileOptions, open_source
from tests.timing import least_seconds

ROWS = "".join(f"{i * 0.7 % 3:.2f},{'ab'[i % 2]}\n" for i in range(150_000))


def train_model(path, content, **settings):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return deciban.train(path, target="y", judge=False, **settings)


@pytest.mark.parametrize(
    ("content", "columns", "rows"),
    [
        ('x,"a,b",y\n1,"p\nq",a\n2,"r ""s""",b\n3,"p\nq",a\n', ["x", "a,b"], 3),
        ("x,y\r\n1,a\r\n2,b\r\n3,a\r\n", ["x"], 3),
        ("x,y\r1,a\r2,b\r3,a\r", ["x"], 3),
        ("x,y\n1,a\n2,b\n3.5,a", ["x"], 3),
        ("x,y\n\n1,a\n\n2,b\n3,a\n\n", ["x"], 3),
        ("x;y\n1;a\n2;b\n", ["x"], 2),
        ("x\ty\n1\ta\n2\tb\n", ["x"], 2),
        ("x|y\n1|a\n2|b\n", ["x"], 2),
        ("\ufeffx,y\n1,a\n2,b\n", ["x"], 2),
        ("😀,-- x,y\n1,p,a\n2,q,b\n", ["😀", "-- x"], 2),
        (",x,y\n0,1,a\n1,2,b\n", ["column1", "x"], 2),
    ],
)
def test_what_a_file_states_is_read(content, columns, rows, tmp_path):
    model = train_model(tmp_path / "t.csv", content)
    assert [column.name for column in model.columns] == columns
    assert model.origin.rows_read == rows
    assert model.classes == ["a", "b"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        ("\n", "first line .* is empty"),
        ("x,y\n", "no rows, only a header"),
        ("x,y\n1,a\n2,b,3\n", "ragged: 3 cells in line 3 where the header has 2"),
        ("x,z,y\n1,2,a\n3,4\n", "ragged: 2 cells in line 3 where the header has 3"),
        ("x,x,y\n1,2,a\n3,4,b\n", "two columns named 'x'"),
        ('x,y\n1,"a\n2,b\n', "cannot be read in line 2"),
        (b"x,y\n1,caf\xe9\n2,b\n", r"not in UTF-8 in line 2. Hint: --encoding latin-1"),
        ("x,y\n1,a\n2,b\n".encode("utf-16-le"), r"Hint: .* --encoding utf-16"),
        (b"x,y\n1,a\0\n2,b\n", "is not a text file"),
        ("x,y\ninf,a\n2,b\n", r"'x' holds inf in row 1, which is not finite"),
        (f"x,y\n{ROWS}oops,a\n", r"'x' of .* holds 'oops' in line 150002, which is not a number. Hint: --as x=c"),
        (f"x,y\n{ROWS}1,a,2\n", "ragged: 3 cells in line 150002"),
        ("y\na\nb\n", "has no column to learn from besides 'y'"),
    ],
    ids=lambda value: None if isinstance(value, str) and len(value) < 99 else "long",
)
def test_what_cannot_be_read_is_refused_with_its_place(content, words, tmp_path):
    with pytest.raises(InputError, match=words):
        train_model(tmp_path / "t.csv", content)


def test_a_late_mark_for_a_missing_number_is_understood(tmp_path):
    model = train_model(tmp_path / "t.csv", f"x,y\n{ROWS}NA,a\n?,b\n1.5,a\n")
    assert model.origin.rows_read == 150_003
    assert model.ledger.parts[0].weight.sum() == 150_001


def test_marks_are_missing_in_a_category_unless_they_are_kept(tmp_path):
    content = "x,y\n" + "NA,a\nred,b\n?,a\n-,b\n" * 10
    kept = train_model(tmp_path / "t.csv", content, keep_markers=True)
    assert kept.ledger.schema.blocks[0].levels == (("-", "?", "NA", "red"),)
    assert train_model(tmp_path / "t.csv", content).ledger.schema.blocks[0].levels == (("-", "red"),)
    only = train_model(tmp_path / "t.csv", content, missing=["-"], roles={"x": "category"})
    assert only.ledger.schema.blocks[0].levels == (("red",),)


def test_other_encodings_are_read_when_they_are_named(tmp_path):
    content = "x,y\ncafé,a\nthé,b\n"
    for encoding in ("latin-1", "utf-16"):
        model = train_model(tmp_path / "t.csv", content.encode(encoding), encoding=encoding)
        assert model.ledger.schema.blocks[0].levels == (("café", "thé"),)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.csv.gz", b"no gzip", "cannot be read"),
        ("t.parquet", b"PAR1xxxx", "is not a Parquet file"),
        ("t.arrow", b"ARROW1\0\0", "is not an Arrow file"),
        ("t.jsonl", b'{"x":1,"y":"a"}\nbroken\n', "JSON lines: .*line"),
        ("t.jsonl", b"[1]\n", "not JSON objects"),
        ("t.csv", b"\x89PNG\r\n\x1a\n\0\0\0", "not a text file"),
    ],
)
def test_a_file_that_is_not_what_its_name_states_is_refused(name, content, words, tmp_path):
    with pytest.raises(InputError, match=words):
        train_model(tmp_path / name, content)


def test_a_truncated_parquet_file_is_refused(tmp_path):
    pq.write_table(pa.table({"x": range(1000), "y": ["a", "b"] * 500}), tmp_path / "t.parquet")
    whole = (tmp_path / "t.parquet").read_bytes()
    for cut in (10, len(whole) // 2, len(whole) - 5):
        with pytest.raises(InputError, match="Parquet"):
            train_model(tmp_path / "t.parquet", whole[:cut])


def test_paths_that_lead_nowhere_are_named(tmp_path):
    (tmp_path / "patients.csv").write_text("x,y\n1,a\n2,b\n")
    for path, words in (
        ("patient.csv", r"no file .*did you mean .*patients.csv"),
        ("*.tsv", "no file matches"),
        (".", "is a folder"),
    ):
        with pytest.raises(InputError, match=words):
            deciban.train(tmp_path / path, target="y")
    (tmp_path / "other.csv").write_text("z,y\n1,a\n2,b\n")
    with pytest.raises(InputError, match="other columns"):
        deciban.train(tmp_path / "*.csv", target="y")
    with pytest.raises(InputError, match="format 'xls' is not known"):
        deciban.train(tmp_path / "other.csv", target="y", format="xls")


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("name", ["a{}b", "{}"])
def test_a_line_break_in_the_name_of_a_column_does_not_hide_rows(name, line_break, line_end, tmp_path):
    header = name.format(line_break)
    lines = [f'"{header}",x,y', *(f'p{i},"{i}{line_break}",{"ab"[i % 2]}' for i in range(6))]
    content = line_end.join(lines) + line_end
    path = tmp_path / "t.csv"
    path.write_bytes(content.encode())
    source = open_source(path)
    table = pa.Table.from_batches(source.batches(dict.fromkeys(source.columns, "text")))
    assert list(source.columns) == [header if header.strip() else "column1", "x", "y"]
    expected = list(csv.reader(io.StringIO(content, newline="")))[1:]
    trimmed = [[cell.strip() for cell in row] for row in expected]
    assert [list(row) for row in zip(*(column.to_pylist() for column in table.columns))] == trimmed


def test_files_with_line_breaks_in_names_that_end_lines_differently_are_refused_together(tmp_path):
    for name, line_end in (("1.csv", "\n"), ("2.csv", "\r\n")):
        (tmp_path / name).write_bytes(line_end.join(['"x\nz",y', "1,a", "2,b", ""]).encode())
        assert open_source(tmp_path / name).head(9).num_rows == 2
    with pytest.raises(InputError, match=r"differ in how lines end. Hint: rename"):
        open_source(tmp_path / "*.csv")
    for name, line_end in (("1.csv", "\n"), ("2.csv", "\r\n")):
        (tmp_path / name).write_bytes(line_end.join(["x,y", "1,a", "2,b", ""]).encode())
    assert open_source(tmp_path / "*.csv").head(9).num_rows == 4


CARRIAGE_RETURNS = "\r" * 900_000


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            f'x,y\n1,a\n2,"b"{CARRIAGE_RETURNS}\n3,a\n',
            r"in line 3: it ends with '\\r', and the first line with '\\n'",
        ),
        (f"x,y\n1,a\n2,b{CARRIAGE_RETURNS}\n3,a\n", r"in line 3: it ends with '\\r', and the first line with '\\n'"),
        (f"x,y\r\n1,a\r\n2,b{CARRIAGE_RETURNS}\r\n3,a\r\n", r"in line 3: it ends with '\\r', .* with '\\r\\n'"),
        ("x,y\n" + '"1' * 450_000, "in line 2: a quote is not closed"),
        ("x,y\n" + ('1,"' + "\n" * 900_000), "in line 2: a quote is not closed"),
        ("x,y\n" + "," * 900_000 + "1", "ragged: 900 001 cells in line 2"),
        ("x,y\n" + " " * 900_000 + "\n", "ragged: 1 cell in line 2"),
    ],
    ids=["after a quote", "LF", "CRLF", "quotes", "line breaks in quotes", "delimiters", "spaces"],
)
def test_the_fault_of_a_long_line_is_found_in_a_second(content, words, tmp_path):
    (tmp_path / "t.csv").write_bytes(content.encode())
    source = open_source(tmp_path / "t.csv")
    list(open_source({"x": [1]}).batches({"x": "text"}))  # imports are not counted

    def refuse():
        with pytest.raises(InputError, match=words) as refused:
            list(source.batches(dict.fromkeys(source.columns, "text")))
        assert len(str(refused.value).splitlines()) == 1

    assert least_seconds(refuse, 1.0) <= 1.0  # 4 s by DuckDB's table of rejected lines


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("fault", ["1,é,2,3", "é,x,b"])
def test_faults_are_found_in_the_second_file_after_blank_lines_and_cells_of_several_lines(
    fault, line_end, encoding, tmp_path
):
    lines = ["n,t,y", "1,p,a", "", '2,"p\r\n\nq""",b', "NA,p,a", ' 3, "p,\nq" ,b', '4,x"y,b']
    for name, more in (("1.csv", []), ("2.csv", ["5,q,a", "", fault])):
        (tmp_path / name).write_bytes(line_end.join([*lines, *more, "6,q,b", ""]).encode(encoding))
    source = open_source(tmp_path / "*.csv", options=FileOptions(encoding=encoding.removesuffix("-sig")))
    found = "2.csv' is ragged: 4 cells in line 10" if fault[0] == "1" else "2.csv' holds 'é' in line 10, which is no"
    with pytest.raises(InputError, match=found):
        list(source.batches({"n": "number", "t": "text", "y": "text"}))


@pytest.mark.parametrize("line", ["", "1,a,", "1,a,,", '1, "a" '])
def test_a_good_line_of_another_file_is_not_blamed(line, tmp_path):
    (tmp_path / "1.csv").write_text(f"x,y\n1,a\n{line}\n2,b\n")
    (tmp_path / "2.csv").write_text("x,y\n1,a\n1,b,c\n2,b\n")
    assert open_source(tmp_path / "1.csv").head(9).num_rows == 2 + bool(line)
    with pytest.raises(InputError, match=r"2.csv' is ragged: 3 cells in line 3 where the header has 2"):
        open_source(tmp_path / "*.csv").head(9)


@pytest.mark.parametrize("at_once", [1, 2, 3, 5, 7, 1000])
def test_records_do_not_depend_on_the_chunks_that_are_read(at_once, tmp_path, monkeypatch):
    content = 'a,b\r\n"x\r\n""y""",1\r\n\r\n"",\r\nz\r1,"2"\n"p,\n",q\r\n"open,\r\n'
    (tmp_path / "t.csv").write_bytes(content.encode())
    monkeypatch.setattr(records, "RECORD_CHUNK_BYTES", at_once)
    assert list(records.read_records(str(tmp_path / "t.csv"), ",")) == [
        (b"a,b", "\r\n"), (b'"x\r\n""y""",1', "\r\n"), (b"", "\r\n"), (b'"",', "\r\n"), (b"z", "\r"),
        (b'1,"2"', "\n"), (b'"p,\n",q', "\r\n"), (b'"open,\r\n', ""),
    ]  # fmt: skip


def table_without_columns():
    return pa.table({"x": [1, 2, 3]}).select([])


def arrow_file(path):
    with pa.ipc.new_file(str(path), pa.schema([])) as writer:
        writer.write_table(table_without_columns())
    return path


def arrow_stream(path):
    with pa.ipc.new_stream(str(path), pa.schema([])) as writer:
        writer.write_table(table_without_columns())
    return path


def parquet_file(path):
    pq.write_table(table_without_columns(), path)
    return path


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: arrow_file(folder / "t.arrow"),
        lambda folder: arrow_stream(folder / "t.arrow"),
        lambda folder: parquet_file(folder / "t.parquet"),
        lambda _: table_without_columns(),
        lambda _: table_without_columns().to_reader(),
        lambda _: pd.DataFrame(index=[0, 1, 2]),
        lambda _: {},
    ],
    ids=["Arrow file", "Arrow stream", "Parquet", "table", "reader", "data frame", "mapping"],
)
def test_a_table_without_columns_is_refused(make, tmp_path):
    model = train_model(tmp_path / "t.csv", "x,y\n1,a\n2,b\n")
    for use in (
        lambda source: model.predict_proba(source, allow_missing_columns=True).read_all(),
        lambda source: deciban.train(source, target="y"),
    ):
        with pytest.raises(InputError, match=r"has no columns. Hint: "):
            use(make(tmp_path))
