"""Text files as they are found in the world: read for what they say, or refused with the line and a way out."""

import pytest

import deciban
from deciban.errors import InputError

ROWS = "".join(f"{i * 0.7 % 3:.2f},{'ab'[i % 2]}\n" for i in range(150_000))


def trained(path, content, **settings):
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
def test_what_a_file_says_is_read(content, columns, rows, tmp_path):
    model = trained(tmp_path / "t.csv", content)
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
        ("x,y\n1,a\n2,b\n".encode("utf-16"), r"Hint: --encoding utf-16"),
        (b"x,y\n1,a\0\n2,b\n", "is no text file"),
        ("x,y\ninf,a\n2,b\n", r"'x' holds inf in row 1, which is not finite"),
        (f"x,y\n{ROWS}oops,a\n", r"'x' of .* holds 'oops' in line 150002, which is no number. Hint: --as x=category"),
        (f"x,y\n{ROWS}1,a,2\n", "ragged: 3 cells in line 150002"),
        ("y\na\nb\n", "the target is the only one"),
    ],
    ids=lambda value: None if isinstance(value, str) and len(value) < 99 else "long",
)
def test_what_cannot_be_read_is_refused_with_its_place(content, words, tmp_path):
    with pytest.raises(InputError, match=words):
        trained(tmp_path / "t.csv", content)


def test_a_late_mark_for_a_missing_number_is_understood(tmp_path):
    model = trained(tmp_path / "t.csv", f"x,y\n{ROWS}NA,a\n?,b\n1.5,a\n")
    assert model.origin.rows_read == 150_003
    assert model.ledger.parts[0].weight.sum() == 150_001


def test_marks_are_values_in_a_category_unless_they_are_said_to_be_missing(tmp_path):
    content = "x,y\n" + "NA,a\nred,b\n?,a\n" * 10
    assert trained(tmp_path / "t.csv", content).ledger.schema.blocks[0].levels == (("?", "NA", "red"),)
    only = trained(tmp_path / "t.csv", content, missing=["NA", "?"], roles={"x": "category"})
    assert only.ledger.schema.blocks[0].levels == (("red",),)


def test_other_encodings_are_read_when_they_are_named(tmp_path):
    content = "x,y\ncafé,a\nthé,b\n"
    for encoding in ("latin-1", "utf-16"):
        model = trained(tmp_path / "t.csv", content.encode(encoding), encoding=encoding)
        assert model.ledger.schema.blocks[0].levels == (("café", "thé"),)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.csv.gz", b"no gzip", "cannot be read"),
        ("t.parquet", b"PAR1xxxx", "is no Parquet file"),
        ("t.arrow", b"ARROW1\0\0", "is no Arrow file"),
        ("t.jsonl", b'{"x":1,"y":"a"}\nbroken\n', "JSON lines: .*line"),
        ("t.jsonl", b"[1]\n", "no JSON objects"),
        ("t.csv", b"\x89PNG\r\n\x1a\n\0\0\0", "no text file"),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_refused(name, content, words, tmp_path):
    with pytest.raises(InputError, match=words):
        trained(tmp_path / name, content)


def test_a_truncated_parquet_file_is_refused(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"x": range(1000), "y": ["a", "b"] * 500}), tmp_path / "t.parquet")
    whole = (tmp_path / "t.parquet").read_bytes()
    for cut in (10, len(whole) // 2, len(whole) - 5):
        with pytest.raises(InputError, match="Parquet"):
            trained(tmp_path / "t.parquet", whole[:cut])


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
