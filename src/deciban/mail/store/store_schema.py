"""What a mail store is made of: its tables, and how a file is known to be one.

    label     who is told from whom: its name, how many messages were learned as it, and their weight
    token     a word and where it stood ("subject:free"), its number, and the weight of the messages of each
              label that have it, in a column each (label_1, label_2 …, by the label's id); words that no message
              has any more are gone
    message   what was learned: its digest, label, time and weight, and the numbers of its tokens (see packing.py)
    fit       what models found out, by their names: when, after how many changes, and their own notes (JSON);
              the weights of tokens are in fitted_1, fitted_2 … (by the fit's id): score_1, score_2 … by number
    setting   choices and counters, in JSON
    journal   what was done to the store, newest last; of bounded length

Counts are sums of weights over `message`, always: nothing is in them that could not be counted again.
"""

from __future__ import annotations

import sqlite3
from typing import Final

APPLICATION: Final = 0x44624D6C
"""In the header of the file, so that `file` and we know it from other databases: "DbMl"."""

VERSION: Final = 1
"""Of the tables below, in the header as well; a store of a later one is left alone."""

TOKEN_INDEX: Final = "CREATE UNIQUE INDEX token_word ON token (word)"
"""By which words are found; a batch of mostly new words makes it anew."""

MOST_MESSAGES: Final = 100_000
"""Messages that are kept if the setting most_messages says nothing else: some 300 MB."""

TABLES: Final = (
    """CREATE TABLE label (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        messages INTEGER NOT NULL DEFAULT 0,
        weight REAL NOT NULL DEFAULT 0)""",
    """CREATE TABLE token (
        number INTEGER PRIMARY KEY,
        word TEXT NOT NULL)""",
    TOKEN_INDEX,
    """CREATE TABLE message (
        id INTEGER PRIMARY KEY,
        digest BLOB NOT NULL UNIQUE,
        label INTEGER NOT NULL REFERENCES label,
        time REAL NOT NULL,
        weight REAL NOT NULL,
        tokens BLOB NOT NULL)""",
    """CREATE TABLE fit (
        id INTEGER PRIMARY KEY,
        model TEXT NOT NULL UNIQUE,
        time REAL NOT NULL,
        changes INTEGER NOT NULL,
        scores INTEGER NOT NULL,
        meta TEXT NOT NULL)""",
    "CREATE TABLE setting (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE journal (id INTEGER PRIMARY KEY, time REAL NOT NULL, what TEXT NOT NULL)",
)


def create_tables(db: sqlite3.Connection) -> None:
    """Make an empty database a store; inside a transaction, so that it is one or is none."""
    for table in TABLES:
        db.execute(table)
    db.execute(f"PRAGMA application_id = {APPLICATION}")
    db.execute(f"PRAGMA user_version = {VERSION}")


def column(label: int) -> str:
    """The column of `token` that a label's counts are in."""
    return f"label_{label:d}"


def columns(labels: list[int]) -> str:
    """The columns of some labels, as SELECT wants them: each after a comma."""
    return "".join(f", {column(label)}" for label in labels)


def header(db: sqlite3.Connection) -> tuple[int, int, bool]:
    """(application id, schema version, whether there is nothing in it yet), all of one moment."""
    ours = not db.in_transaction
    if ours:  # or else a store that is made between two questions has tables and is nobody's
        db.execute("BEGIN")
    try:
        application = db.execute("PRAGMA application_id").fetchone()[0]
        version = db.execute("PRAGMA user_version").fetchone()[0]
        blank = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    finally:
        if ours and db.in_transaction:
            db.execute("ROLLBACK")
    return application, version, blank
