"""SQLite files: tables and views, cells of any type, and a file that is never changed."""

import contextlib
import sqlite3

import pyarrow as pa
import pytest

import deciban
from deciban.errors import InputError
from deciban.sources import sqlite_files
from deciban.sources.source import open_source
from deciban.sources.typed_cells import join_parts
from tests.cli.terminal import done, program

N = 60


def write(path, *statements, rows=(), table="t"):
    with contextlib.closing(sqlite3.connect(path)) as con:
        for statement in statements:
            con.execute(statement)
        if rows:
            con.executemany(f"insert into {table} values ({', '.join('?' * len(rows[0]))})", rows)
        con.commit()
    return path


ROWS = [
    (i * 7 % 23 + 0.5 * (i % 2), ["dry", "wet"][i % 2], f"2024-{1 + i % 12:02}-03", i % 3, "ab"[i % 2])
    for i in range(N)
]
TABLE = "create table t (age real, cough text, seen date, n integer, y text)"


@pytest.mark.parametrize("name", ["t.db", "t.sqlite", "t.sqlite3", "t.db3", "t", "t.bin"])
def test_a_file_is_known_by_its_name_or_its_first_bytes(name, tmp_path):
    path = write(tmp_path / name, TABLE, rows=ROWS)
    model = deciban.train(path, target="y")
    assert (model.roles["cough"], model.roles["seen"]) == ("category", "date")
    assert model.predict(path).read_all().num_rows == N
    assert deciban.evaluate(path, model=model).rows == N


def test_cells_have_types_of_their_own(tmp_path):
    """As the shell's .import writes a table: numbers as texts, and empty texts where there is no value."""
    rows = [(str(age), f" {cough} ", seen, "" if i == 3 else n, y) for i, (age, cough, seen, n, y) in enumerate(ROWS)]
    rows[5] = ("NA", "?", None, 2.0, "a")
    path = write(tmp_path / "t.db", "create table t (age, cough, seen, n, y)", rows=rows)
    model = deciban.train(path, target="y", numbers="number")
    assert model.roles["age"] == model.roles["n"] == "number"
    assert model.origin.markers == {"age": {"NA": 1}, "cough": {"?": 1}}
    typed = deciban.train(write(tmp_path / "u.db", TABLE, rows=ROWS), target="y", numbers="number")
    assert model.predict(tmp_path / "u.db").read_all() == typed.predict(tmp_path / "u.db").read_all()
    rows[9] = ("old", *rows[9][1:])
    path = write(tmp_path / "v.db", "create table t (age, cough, seen, n, y)", rows=rows)
    with pytest.raises(InputError, match=r"column 'age' of .*v.db' holds 'old' in row 10, which is not a number"):
        model.predict(path).read_all()
    rows[9] = ("1,5", *rows[9][1:])
    path = write(tmp_path / "w.db", "create table t (age, cough, seen, n, y)", rows=rows)
    with pytest.raises(
        InputError, match=r"holds '1,5' in row 10, .* Hint: write it as the others are, such as 1000\.5"
    ):
        model.predict(path).read_all()


def test_a_table_is_chosen_by_name_or_is_the_only_one(tmp_path):
    path = write(
        tmp_path / "t.db", TABLE, "create table other (x, y)", "create view v as select age, y from t", rows=ROWS
    )
    with pytest.raises(
        InputError, match=r"has 3 tables. Hint: --table NAME \(table='NAME'\) reads one of t, other, v"
    ):
        deciban.train(path, target="y")
    with pytest.raises(InputError, match=r"has no table 'othr'; did you mean 'other'\?"):
        deciban.train(path, target="y", table="othr")
    assert set(deciban.train(path, target="y", table="v").roles) == {"age"}
    out = done("train", path, "--table", "t", "--target", "y", "-o", tmp_path / "m.deciban").stdout
    assert f"learned from {N} rows" in out
    lines = done("predict", tmp_path / "m.deciban", path, "--table", "t", "--keep", "age").stdout.splitlines()
    assert lines[1].startswith("0")
    assert len(lines) == N + 1
    with pytest.raises(InputError, match="has no tables with rows"):
        open_source(write(tmp_path / "empty.db", "create table t (a)", "drop table t"))
    with pytest.raises(InputError, match="no rows"):
        deciban.train(write(tmp_path / "blank.db", TABLE), target="y")


def test_names_that_need_quotes_and_many_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite_files, "CELLS_PER_BATCH", 11)
    create = 'create table "a ""table"" of [it]" ("the ""age""" real, "co,ugh" text, "seen?" date, n, y)'
    path = write(tmp_path / "a b%20?#.db", create, rows=ROWS, table='"a ""table"" of [it]"')
    model = deciban.train(path, target="y")
    assert list(model.roles) == ['the "age"', "co,ugh", "seen?", "n"]
    monkeypatch.undo()
    assert deciban.train(path, target="y").ledger == model.ledger


def test_several_files_with_the_same_table(tmp_path):
    write(tmp_path / "1.db", TABLE, rows=ROWS[:20])
    write(tmp_path / "2.db", TABLE, rows=ROWS[20:])
    whole = deciban.train(write(tmp_path / "whole.db", TABLE, rows=ROWS), target="y")
    assert deciban.train(str(tmp_path / "[12].db"), target="y").ledger == whole.ledger
    write(tmp_path / "2.db", "drop table t", "create table t (a, b)")
    with pytest.raises(InputError, match="has another table or other columns than"):
        open_source(str(tmp_path / "[12].db"))


def test_blobs_are_skipped_and_whole_numbers_stay_exact(tmp_path):
    rows = [(b"\xff\x00" * i, 2**53 + i, i % 5, "ab"[i % 2]) for i in range(N)]
    path = write(tmp_path / "t.db", "create table t (picture blob, big, x, y)", rows=rows)
    model = deciban.train(path, target="y")
    assert "binary" in next(c.reason for c in model.columns if c.name == "picture")
    assert open_source(path).head(2)["big"].to_pylist() == [2**53, 2**53 + 1]
    assert open_source(path).head(2).schema.field("picture").type == pa.large_binary()


def test_large_whole_numbers_among_fractions_are_doubles(tmp_path):
    path = write(tmp_path / "t.db", "create table t (x, y)", rows=[(2**53 + 1, "a"), (0.5, "b"), (None, "b")])
    assert open_source(path).head(3)["x"].to_pylist() == [2.0**53, 0.5, None]
    (batch,) = open_source(path).batches({"x": "number"})
    assert batch.column("x").to_pylist() == [2.0**53, 0.5, None]
    assert join_parts([pa.array([2**53 + 1]), pa.array([0.5])]).to_pylist() == [2.0**53, 0.5]


def test_reading_changes_nothing(tmp_path):
    path = write(tmp_path / "t.db", TABLE, rows=ROWS)
    before, files = path.read_bytes(), sorted(tmp_path.iterdir())
    path.chmod(0o444)
    deciban.train(path, target="y")
    assert path.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == files


def damage(raw):
    return {
        "cut off": raw[:5000],
        "zeros": raw[:4096] + b"\0" * (len(raw) - 4096),
        "no database": b"SQLite format 3\0" + b"\1" * 5000,
    }


@pytest.mark.parametrize("kind", ["cut off", "zeros", "no database"])
def test_damaged_files_are_refused_in_one_line(kind, tmp_path):
    path = write(tmp_path / "t.db", TABLE, rows=ROWS * 40)
    path.write_bytes(damage(path.read_bytes())[kind])
    with pytest.raises(InputError, match=r"t\.db") as refused:
        deciban.train(path, target="y")
    assert "\n" not in str(refused.value)


def test_other_files_of_that_name_are_refused(tmp_path):
    for content in (b"", b"age,y\n1,a\n"):
        (tmp_path / "t.db").write_bytes(content)
        with pytest.raises(InputError, match="is not a SQLite file"):
            open_source(tmp_path / "t.db")
    (tmp_path / "t.db.gz").write_bytes(b"\x1f\x8b")
    with pytest.raises(InputError, match="compressed"):
        open_source(tmp_path / "t.db.gz")


def test_texts_that_are_not_utf8_are_refused(tmp_path):
    path = write(tmp_path / "t.db", TABLE, "insert into t values (1, cast(x'ff41' as text), '', 1, 'a')", rows=ROWS)
    with pytest.raises(InputError, match=r"t\.db' cannot be read as a SQLite file: could not decode"):
        deciban.train(path, target="y")


def test_a_database_comes_from_standard_input(tmp_path):
    with write(tmp_path / "t.db", TABLE, rows=ROWS).open("rb") as rows:
        ran = program("train", "-", "--target", "y", "-o", tmp_path / "m.deciban", stdin=rows)
    assert f"learned from {N} rows" in ran.stdout


def test_the_target_may_hold_numbers(tmp_path):
    rows = [(i * 7 % 23, i % 2, 0.5 + i % 2) for i in range(N)]
    path = write(tmp_path / "t.db", "create table t (x, y integer, z real)", rows=rows)
    for target, labels in (("y", {0, 1}), ("z", {0.5, 1.5})):
        model = deciban.train(path, target=target)
        assert set(model.predict(path).read_all().column(0).to_pylist()) <= labels
