"""Full disks and overwritten bytes: a clear word, and nothing half done."""

import errno
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import traceback
from contextlib import closing
from pathlib import Path

import pytest

from deciban.errors import DecibanError, StoreError
from deciban.mail.filter import MailFilter
from deciban.mail.status_figures import read_figures
from deciban.mail.store.store import Store
from tests.mail.spamds import learn_messages, make_message
from tests.mail.stores import entry, make_store


@pytest.fixture
def small_disk(tmp_path):
    """Two megabytes of a file system of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("no file system may be mounted here")
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_full_disk_is_reported_and_changes_nothing(small_disk):
    path = small_disk / "mail.db"
    with Store(path) as store:
        store.learn([entry(1)])
        before = list(store.export())
        for i in range(2, 8):
            store.learn([entry(i * 1000 + j, words=100) for j in range(20)])
            before = list(store.export())
        with pytest.raises(StoreError, match="full"):
            store.learn([entry(10**6 + j, words=100) for j in range(1000)])
        assert list(store.export()) == before
        assert store.check() == []
    with Store(path) as store:  # still full, and still answering
        assert list(store.export()) == before


def fill(path: Path) -> None:
    with open(path, "wb", buffering=0) as ballast:
        try:
            while ballast.write(b"x" * 4096):
                pass
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise


def test_a_disk_without_a_byte_left_can_still_be_classified_on(small_disk):
    path = make_store(small_disk / "mail.db")
    fill(small_disk / "ballast")
    for read_only in (True, False):
        with Store(path, create=False, read_only=read_only) as store:
            assert store.counts(["w1-0"]) == {"w1-0": (0.0, 1.0)}
            with pytest.raises(StoreError, match=r"full|opened for reading"):
                store.learn([entry(99)])


def test_a_file_that_may_not_grow_is_reported_and_changes_nothing(tmp_path):
    path = make_store(tmp_path / "mail.db")

    def task():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with Store(path) as store:
            before = list(store.export())
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
            with pytest.raises(StoreError, match="Nothing was changed"):
                store.learn([entry(1000 + i, words=300) for i in range(50)])
            assert list(store.export()) == before

    child = os.fork()
    if child == 0:  # pragma: no cover
        try:
            task()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    with Store(path) as store:
        assert store.check() == []
        assert store.totals() == {"ham": (5, 5.0), "spam": (5, 5.0)}


@pytest.mark.thorough(reason="learns and classifies many messages: seconds")
def test_bytes_overwritten_at_random_are_reported_or_harmless(tmp_path):
    """Nothing but StoreError comes out, whatever is asked or done."""
    whole = tmp_path / "whole.db"
    words = [f"w{i}" for i in range(200)]
    with Store(whole) as store:
        store.learn([entry(i)._replace(tokens=words[i % 100 : i % 100 + 30]) for i in range(100)])
    content, chance, reported = whole.read_bytes(), random.Random(3), 0
    part = tmp_path / "part.db"
    for _ in range(150):
        bad = bytearray(content)
        at, n = chance.randrange(len(bad)), chance.choice([1, 4, 100, 4096])
        bad[at : at + n] = chance.randbytes(len(bad[at : at + n]))
        for left in tmp_path.glob("part.db*"):
            left.unlink()
        part.write_bytes(bad)
        reported += sum(
            is_reported(part, ask)
            for ask in (Store.rows, Store.check, Store.is_tidy_due, Store.totals, count, learn, wipe)
        )
    assert reported > 50


def count(store: Store) -> None:
    assert all(isinstance(n, float) for by in store.counts([f"w{i}" for i in range(200)]).values() for n in by)
    list(store.export())


def learn(store: Store) -> None:
    store.learn([entry(10**6)])


def wipe(store: Store) -> None:
    store.unlearn([entry(i).digest for i in range(0, 100, 3)])


def is_reported(path: Path, ask) -> bool:
    try:
        with Store(path, create=False) as store:
            ask(store)
    except StoreError:
        return True
    return False


FORGED = [
    *(
        f"INSERT OR REPLACE INTO setting VALUES ('{key}', '{value}')"
        for key in ("half_life", "origin", "changes", "next_number", "last_learned", "reading", "most_messages")
        for value in ('"x"', "[1]", "[" * 100_000, "null")
    ),
    *(
        f"INSERT OR REPLACE INTO setting VALUES ('{key}', '{value}')"
        for key in ("model", "ham_at", "spam_at", "watched")
        for value in ('"x"', "[1]", "{", "7")
    ),
    "UPDATE message SET tokens = x'ffffffffffffffffffff7f'",
    "UPDATE message SET tokens = x'80'",
    "UPDATE message SET tokens = 'text'",
    "UPDATE message SET weight = 'heavy'",
    "UPDATE message SET time = 'late'",
    "UPDATE message SET label = 99",
    "UPDATE message SET digest = 'none' WHERE id = 1",
    "UPDATE label SET weight = 'heavy', messages = x'00'",
    "UPDATE label SET name = x'ff00' WHERE id = 1",
    "UPDATE token SET word = x'ff' WHERE number = 1",
    "UPDATE token SET label_1 = 'many'",
    "UPDATE token SET label_1 = 9e999",
    "DELETE FROM token",
    "DELETE FROM label",
    "DROP TABLE setting",
    "DROP TABLE fit",
    "ALTER TABLE token DROP COLUMN label_2",
    "UPDATE fit SET meta = '[]'",
    "UPDATE fit SET meta = '{}'",
    "UPDATE fit SET meta = '{'",
    "UPDATE fit SET meta = replace(meta, ':', ':\"x\"+')",
    "UPDATE fit SET scores = 99",
    "UPDATE fit SET changes = 'x'",
    "UPDATE fitted_1 SET score_1 = 'x'",
    "DROP TABLE fitted_1",
]

ASKED = {
    "status": read_figures,
    "totals": lambda mail: mail.store.totals(),
    "rows": lambda mail: mail.store.rows(),
    "check": lambda mail: mail.store.check(),
    "export": lambda mail: list(mail.store.export()),
    "journal": lambda mail: mail.store.journal(),
    "thresholds": lambda mail: mail.thresholds,
    "classify": lambda mail: mail.classify(make_message("spam", 900)),
    "classify_all": lambda mail: list(mail.classify_all([("a", make_message("spam", 901))])),
    "is_fit_due": lambda mail: mail.is_fit_due(),
    "learn": lambda mail: mail.learn(make_message("spam", 902), "spam"),
    "relabel": lambda mail: mail.relabel(make_message("spam", 1), "ham"),
    "unlearn": lambda mail: mail.unlearn(make_message("spam", 2)),
    "tidy": lambda mail: mail.store.tidy(now=True),
    "recount": lambda mail: mail.store.recount(),
    "age": lambda mail: mail.store.age(1000.0),
    "fit": lambda mail: mail.refit(force=True),
}


@pytest.fixture(scope="module")
def fitted_store(tmp_path_factory):
    path = tmp_path_factory.mktemp("forged") / "mail.db"
    learn_messages(path, 20)
    return path


def set_note(path, value):
    return f"UPDATE fit SET meta = json_set(meta, '$.{path}', {value})"


INVALID_NUMBERS = [
    *(f"UPDATE token SET label_{k} = {value}" for k in (1, 2) for value in ("-1", "1e308", "-9e999")),
    "UPDATE token SET label_1 = 1e308, label_2 = 1e308",
    *(f"UPDATE label SET weight = {value}" for value in ("-5", "1e308", "9e999", "'heavy'")),
    *(f"UPDATE label SET messages = {value}" for value in ("-1", "1e308", "'many'")),
    *(f"UPDATE fitted_1 SET score_1 = {value}" for value in ("1e308", "-1e308", "9e999")),
    *(set_note("bias[0]", value) for value in ("1e308", "json('9e999')", "'x'", "NULL")),
    *(set_note("common[0]", value) for value in ("1e308", "json('9e999')")),
    *(set_note("usual", value) for value in ("0", "-1", "json('9e999')")),
    *(set_note("alpha", value) for value in ("0", "-1", "5e-324", "1e308")),
    *(set_note("power", value) for value in ("-300", "300")),
    set_note("bias[#]", "1"),
    'UPDATE fit SET meta = replace(meta, \'"usual": \', \'"usual": NaN, "other": \')',
    *(f"UPDATE fit SET scores = {value}" for value in ("-1", "9223372036854775807")),
    *(
        f"INSERT OR REPLACE INTO setting VALUES ('{key}', '{value}')"
        for key, values in {
            "half_life": ("NaN", "0", "-1"),
            "origin": ("NaN", "1e999", '"x"'),
            "ham_at": ("NaN", "-1"),
            "spam_at": ("1e999",),
            "changes": ("-1", "0.5"),
        }.items()
        for value in values
    ),
]


@pytest.mark.parametrize("statement", INVALID_NUMBERS)
def test_numbers_that_no_store_holds_are_refused(fitted_store, tmp_path, statement):
    path = tmp_path / "mail.db"
    shutil.copy(fitted_store, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        assert db.execute(statement).rowcount > 0
    for classify in (
        lambda mail: mail.classify(make_message("spam", 900)),
        lambda mail: list(mail.classify_all([("a", make_message("spam", 901))])),
    ):
        with (
            pytest.raises(StoreError, match=r"^mail store '.*/mail.db' cannot be used: .*\. Hint: "),
            MailFilter(path) as mail,
        ):
            classify(mail)


@pytest.mark.parametrize("bound", ["-1", "0", "1e308"])
def test_an_invalid_bound_removes_no_message(fitted_store, tmp_path, bound):
    path = tmp_path / "mail.db"
    shutil.copy(fitted_store, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(f"INSERT OR REPLACE INTO setting VALUES ('most_messages', '{bound}')")
    with MailFilter(path) as mail:
        with pytest.raises(StoreError, match="cannot be used: setting 'most_messages'"):
            mail.store.tidy()
        assert sum(n for n, _ in mail.store.totals().values()) == 40


@pytest.mark.parametrize("statement", FORGED, ids=lambda statement: statement[:60].replace("/", "."))
def test_values_that_no_store_holds_are_reported_or_harmless(fitted_store, tmp_path, statement):
    """Whatever is asked, nothing but an error of ours comes out, in one line."""
    path, reported = tmp_path / "mail.db", []
    for ask in ASKED.values():
        shutil.copy(fitted_store, path)
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute(statement)
        try:
            with MailFilter(path) as mail:
                ask(mail)
        except DecibanError as error:
            reported.append(str(error))
        for left in tmp_path.glob("mail.db*"):
            left.unlink()
    assert not [text for text in reported if "\n" in text]
