"""The bytes of a mail store: a damaged one is refused, or its counts follow from the messages it holds."""

from __future__ import annotations

import random
import sqlite3
import tempfile
from pathlib import Path
from unittest.mock import patch

from deciban.mail.filter import MailFilter
from deciban.mail.status_figures import read_figures
from tests.fuzz.import_text import recount
from tests.fuzz.mutation import mutate_bytes, write_input
from tests.mail.spamds import learn_messages, make_message

TABLES = ("label", "token", "message", "fit", "setting", "journal", "fitted_1")
VALUES = ("NULL", "-1", "0", "1e308", "'x'", "''", "x'ff'", "zeroblob(100)", "'{}'", "'[1, 2]'", "'5'", "'nan'",
          "9223372036854775807", "x'80808080'", "char(27)", "'\"evidence\"'", "zeroblob(40000)")  # fmt: skip


def seeds() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder, patch("time.time", return_value=1.1e9):  # the same bytes always
        path = Path(folder, "mail.db")
        learn_messages(path, 20)  # enough for a fit
        return [path.read_bytes()]


def mutate(raw: bytes, rng: random.Random) -> bytes:
    match rng.randrange(4):
        case 0:
            return mutate_bytes(raw, rng, most=rng.choice([1, 2, 6]))
        case 1:  # whole pages
            page = 4096
            at, there = (page * rng.randrange(1 + len(raw) // page) for _ in range(2))
            piece = rng.choice([bytes(page), rng.randbytes(page), raw[there : there + page]])
            return raw[:at] + piece + raw[at + page :]
        case 2:  # the header
            at = rng.randrange(100)
            return raw[:at] + mutate_bytes(raw[at:100], rng, most=1)[: 100 - at].ljust(100 - at, b"\0") + raw[100:]
    with sqlite3.connect(":memory:") as db:  # values that no store would write, in a sound database
        db.deserialize(raw[:18] + b"\1\1" + raw[20:])
        for _ in range(rng.randint(1, 3)):
            table = rng.choice(TABLES)
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")] or ["x"]
            column, some = rng.choice(columns), rng.choice(["1", f"rowid % 3 = {rng.randrange(3)}"])
            statement = rng.choice([
                f"UPDATE {table} SET {column} = {rng.choice(VALUES)} WHERE {some}",
                f"UPDATE {table} SET {column} = {rng.choice(VALUES)} WHERE {some}",
                f"UPDATE {table} SET {column} = {column} || {rng.choice(VALUES)} WHERE {some}",
                f"DELETE FROM {table} WHERE {some}", f"DROP TABLE {table}",
                f"ALTER TABLE {table} DROP COLUMN {column}",
                f"PRAGMA user_version = {rng.choice([-1, 0, 2])}",
            ])  # fmt: skip
            try:
                db.execute(statement)
            except sqlite3.Error:
                continue
        db.commit()
        changed = db.serialize()
    return changed[:18] + raw[18:20] + changed[20:]


def check(raw: bytes) -> None:
    path = Path(tempfile.gettempdir(), "mail.db")
    for old in path.parent.glob("mail.db*"):
        old.unlink()
    write_input("mail.db", raw)
    with MailFilter(path, read_only=len(raw) % 2 == 1) as mail:
        problems = mail.store.check()
        verdict = mail.classify(make_message("spam", 900))
        assert 0 <= verdict.probability <= 1, f"probability {verdict.probability}"
        read_figures(mail)
        mail.store.journal()
        list(mail.store.export())
        if not problems:
            recount(mail.store)
        if mail.store.writable:
            mail.learn(make_message("spam", 901), "spam")
            label = mail.known(make_message("spam", 901))
            assert problems or label == "spam"  # rows out of order, which `check` reports, are not found
            mail.unlearn(make_message("spam", 901))
            mail.store.tidy()
            mail.store.recount()
            mail.is_fit_due()
