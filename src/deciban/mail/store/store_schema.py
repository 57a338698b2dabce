"""The schema of a mail store: its tables, and the marks that identify its file.

    label     a label: its name, how many messages were learned under it, and their weight
    token     a word and its place ("subject:free"), its number, and the weight of the messages of each
              label that have it, in a column each (label_1, label_2 …, by the label's id); words that no message
              has any more are gone
    message   a message: its digest, label, time and weight, and the numbers of its tokens (see packing.py)
    fit       the fits of models, by name: when, after how many changes, and their parameters (JSON);
              the weights of tokens are in fitted_1, fitted_2 … (by the fit's id): score_1, score_2 … by number
    setting   settings and counters, in JSON
    journal   the changes of the store, newest last; of bounded length

Counts are always sums of weights over `message`: they can be recomputed at any time.
"""

from __future__ import annotations

import sqlite3
from typing import Final

APPLICATION_ID: Final = 0x44624D6C
"""SQLite's application id in the header of the file, which identifies a store: "DbMl"."""

SCHEMA_VERSION: Final = 1
"""Version of the tables below, in the header as well; a store of a later version is refused."""

TOKEN_INDEX: Final = "CREATE UNIQUE INDEX token_word ON token (word)"
"""The statement that makes the index of words; a batch of mostly new words rebuilds it."""

DEFAULT_MAX_MESSAGES: Final = 100_000
"""Messages that are kept unless the setting most_messages is another: some 300 MB."""

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
    """Make an empty database a store, inside a transaction."""
    for table in TABLES:
        db.execute(table)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def column(label: int) -> str:
    """Return the column of `token` that holds a label's counts."""
    return f"label_{label:d}"


def columns(labels: list[int]) -> str:
    """Return the columns of some labels, each after a comma, for a SELECT."""
    return "".join(f", {column(label)}" for label in labels)


def read_header(db: sqlite3.Connection) -> tuple[int, int, bool]:
    """Return application id, schema version, and whether the database is empty, all of one state."""
    begins = not db.in_transaction
    if begins:  # or else a store that is made between two queries has tables and no application id
        db.execute("BEGIN")
    try:
        application = db.execute("PRAGMA application_id").fetchone()[0]
        version = db.execute("PRAGMA user_version").fetchone()[0]
        is_empty = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    finally:
        if begins and db.in_transaction:
            db.execute("ROLLBACK")
    return application, version, is_empty
