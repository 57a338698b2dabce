"""SQLite files: the cells are those that Python's sqlite3 reads, or the file is refused."""

from __future__ import annotations

import contextlib
import random
import sqlite3
import tempfile
from pathlib import Path

from tests.fuzz.mutation import mutate_bytes, write_input
from tests.fuzz.tables import rows_as_text, seed, use
from tests.tables import clinic

WORDS = (b"patients", b"CREATE TABLE", b"CREATE VIEW", b"sqlite_", b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x0d", b"\x05")


def seeds() -> list[bytes]:
    def write_mixed(path: Path) -> bytes:
        with contextlib.closing(sqlite3.connect(path)) as con:
            con.execute("create table t (a, b integer, diagnosis)")
            cells = (1, 2.5, "x", None, b"\xff", "7", "NA")
            rows = [(cells[i % 7], cells[i // 7 % 7], ("ill", "well")[i % 2]) for i in range(60)]
            con.executemany("insert into t values (?, ?, ?)", rows)
            con.commit()
        return path.read_bytes()

    with tempfile.TemporaryDirectory() as folder:
        return [seed(clinic.sqlite, "t.db"), write_mixed(Path(folder, "u.db"))]


def mutate(raw: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.6:  # not the header of the file, which is soon refused
        return raw[:100] + mutate_bytes(raw[100:], rng, WORDS, rng.choice([1, 1, 3]))[: len(raw) - 100]
    return mutate_bytes(raw, rng, WORDS, rng.choice([1, 2, 6]))


def check(raw: bytes) -> None:
    path = write_input("t.db", raw)
    columns, rows = rows_as_text(path)
    with contextlib.closing(sqlite3.connect(path)) as con:
        (table,) = con.execute("select name from sqlite_master where type in ('table', 'view') limit 1").fetchone()
        expected = con.execute('select * from "' + table.replace('"', '""') + '"').fetchall()
    assert len(rows) == len(expected), "not as many rows as sqlite3 reads"
    for row, cells in zip(rows, expected):
        for name, text, cell in zip(columns, row, cells):
            assert _equal(text, cell), f"a cell of {name[:20]!r} differs from that of sqlite3"
    assert path.read_bytes() == raw, "the file was changed"
    use(path)


def _equal(text: str | None, cell: object) -> bool:
    if isinstance(cell, str):
        return text == (cell.strip() or None)
    if cell is None or cell != cell or isinstance(cell, bytes):
        return text is None or isinstance(cell, bytes)
    return text is not None and float(text) == float(cell)
