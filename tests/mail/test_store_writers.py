"""Many at once, and killed at any moment: nothing is lost, nothing is half done, readers never wait."""

import multiprocessing
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from deciban.errors import StoreError
from deciban.mail.store.store import Store
from deciban.mail.store.store_schema import APPLICATION_ID, SCHEMA_VERSION, read_header
from deciban.mail.store.stored_messages import StoredMessage


def entry(i: int, words: int = 40) -> StoredMessage:
    common = [f"c{(i * 7 + j) % 50}" for j in range(words // 2)]
    return StoredMessage(
        i.to_bytes(16, "little"), ("ham", "spam")[i % 2], [*common, *(f"w{i}-{j}" for j in range(words // 2))], i
    )


def learn_some(path: str, begin: int, end: int, start) -> None:
    start.wait()
    with Store(path, wait=120) as store:
        for i in range(begin, end):
            store.learn([entry(i)])


def messages_of(store):
    """What is exported, but for the first line: the order of its labels is that of who came first."""
    return sorted(list(store.export())[1:])


@pytest.mark.parametrize("writers", [2, 8])
def test_writers_wait_for_each_other_and_none_is_lost(tmp_path, writers):
    """They make the store at the same moment, too."""
    path, each = tmp_path / "mail.db", 120 // writers
    fork = multiprocessing.get_context("fork")
    start = fork.Event()
    tasks = [fork.Process(target=learn_some, args=(path, k * each, (k + 1) * each, start)) for k in range(writers)]
    for task in tasks:
        task.start()
    start.set()
    for task in tasks:
        task.join(200)
        assert task.exitcode == 0
    with Store(path) as store, Store(tmp_path / "alone.db") as alone:
        alone.learn([entry(i) for i in range(120)])
        assert messages_of(store) == messages_of(alone)
        assert {k: store.totals()[k] for k in ("ham", "spam")} == alone.totals()
        assert store.check() == []


def test_readers_are_never_kept_waiting(tmp_path):
    path = tmp_path / "mail.db"
    with Store(path) as store:
        store.learn([entry(i) for i in range(50)])
    waited: list[float] = []
    done = threading.Event()

    def read() -> None:
        with Store(path, wait=0) as reader:
            while not done.is_set():
                begun = time.monotonic()
                with reader.read_transaction():
                    weight = sum(weight for _, weight in reader.totals().values())
                    assert weight % 50 == 0  # whole batches only
                    assert sum(map(sum, reader.counts(["c0"]).values())) <= weight
                waited.append(time.monotonic() - begun)

    thread = threading.Thread(target=read)
    thread.start()
    with Store(path) as store:
        for batch in range(1, 20):
            with store.write_transaction():  # held open for a while
                store.learn([entry(i) for i in range(batch * 50, batch * 50 + 50)])
                time.sleep(0.01)
    done.set()
    thread.join()
    assert len(waited) > 20
    assert max(waited) < 5.0  # a second writer would have been refused at once: it waits for nothing


def test_a_block_of_reading_sees_one_moment(tmp_path):
    with Store(tmp_path / "mail.db") as writer, Store(tmp_path / "mail.db") as reader:
        writer.learn([entry(1)])
        with reader.read_transaction():
            before = reader.totals()
            writer.learn([entry(2)])
            writer.unlearn([entry(1).digest])
            assert reader.totals() == before
            assert reader.find_label(entry(1).digest) == "spam"
            with pytest.raises(StoreError, match="is being read"):
                reader.learn([entry(3)])
        assert reader.find_label(entry(1).digest) is None


def test_a_writer_that_waits_in_vain_says_so(tmp_path):
    with Store(tmp_path / "mail.db") as first, Store(tmp_path / "mail.db", wait=0.1) as second:
        with first.write_transaction():
            first.learn([entry(1)])
            with pytest.raises(StoreError, match="being written by another program"):
                second.learn([entry(2)])
        second.learn([entry(2)])
        assert first.find_label(entry(2).digest) == "ham"


def test_a_block_of_writing_that_fails_changes_nothing(tmp_path):
    with Store(tmp_path / "mail.db") as store:
        store.learn([entry(1)])
        before = list(store.export())

        def fail() -> None:
            with store.write_transaction():
                store.learn([entry(2)._replace(label="new label")])
                store.unlearn([entry(1).digest])
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            fail()
        assert list(store.export()) == before
        store.learn([entry(2)])


BATCHES = """
import sys
from tests.mail.test_store_writers import learn_in_batches
learn_in_batches(sys.argv[1])
"""


def learn_in_batches(path: str) -> None:
    """What a command that learns a mailbox does, with moves and unlearning among it."""
    with Store(path) as store:
        print("begun", flush=True)
        store.set("most_messages", 1000)
        for at in range(0, 300, 20):
            store.learn([entry(i) for i in range(at, at + 20)])
            store.learn([entry(i)._replace(label="work") for i in range(at, at + 20, 10)])
        store.learn([entry(i)._replace(label="work") for i in range(0, 300, 10)])
        store.unlearn([entry(i).digest for i in range(5, 300, 50)])
        store.tidy()


def everything(path: Path) -> list[object]:
    """All that a store holds, and its counts."""
    with Store(path, create=False) as store:
        assert store.check() == []
        words = store.tokens(None, None).words
        return [list(store.export()), store.totals(), sorted(store.counts(words).items())]


@pytest.mark.parametrize(
    "at_least",
    [20, pytest.param(200, marks=pytest.mark.thorough(reason="kills processes, each of which takes a second"))],
    ids=["20 kills", "200 kills"],
)
def test_killed_at_any_moment_it_is_completed_by_running_it_again(tmp_path, at_least):
    """Relearned messages are undone and done again as their label says; the end is always the same."""
    learn_in_batches(str(tmp_path / "undisturbed.db"))
    truth = everything(tmp_path / "undisturbed.db")
    chance = random.Random(7)
    kills, stores, span = 0, 0, 0.15
    while kills < at_least:
        stores += 1
        path = tmp_path / f"store{stores}.db"
        for _ in range(chance.randint(5, 25)):
            kills += kill_at_a_random_moment(path, chance.uniform(0, span))
        with Store(path) as store:
            assert store.check() == []
        learn_in_batches(str(path))
        assert everything(path) == truth
        for left in tmp_path.glob(f"store{stores}.db*"):
            left.unlink()


def kill_at_a_random_moment(path: Path, after: float) -> int:
    """Fork, let it learn, kill it; 1 if it was still at it."""
    child = os.fork()
    if child == 0:  # pragma: no cover
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            learn_in_batches(str(path))
        finally:
            os._exit(0)
    time.sleep(after)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return int(os.WIFSIGNALED(status))


def test_a_killed_command_of_its_own_process_is_completed_too(tmp_path):
    learn_in_batches(str(tmp_path / "undisturbed.db"))
    path = tmp_path / "mail.db"
    for wait in (0.0, 0.02, 0.1):
        task = subprocess.Popen(
            [sys.executable, "-c", BATCHES, path], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
        )
        assert task.stdout is not None
        task.stdout.readline()
        time.sleep(wait)
        task.kill()
        task.communicate()
    learn_in_batches(str(path))
    assert everything(path) == everything(tmp_path / "undisturbed.db")


def test_a_file_that_was_only_begun_is_finished(tmp_path):
    """Killed between making the file and its tables."""
    for i, statements in enumerate([[], ["PRAGMA journal_mode = WAL"]]):
        path = tmp_path / f"{i}.db"
        db = sqlite3.connect(path)
        for statement in statements:
            db.execute(statement)
        db.close()
        path.touch()
        with Store(path) as store:
            store.learn([entry(1)])
            assert store.check() == []


class Asked:
    """A connection that lets something happen after its first question."""

    def __init__(self, db, then):
        self._db, self._then = db, then

    @property
    def in_transaction(self):
        return self._db.in_transaction

    def execute(self, question):
        answer = self._db.execute(question)
        if question.startswith("PRAGMA"):
            rows, then, self._then = answer.fetchall(), self._then, lambda: None
            then()
            return iter_of(rows)
        return answer


def iter_of(rows):
    return type("Rows", (), {"fetchone": lambda self: rows[0]})()


def test_a_store_that_is_made_while_another_looks_is_not_taken_for_a_strange_one(tmp_path):
    """Half of the answer from before and half from after would be tables of nobody's."""
    path = tmp_path / "mail.db"
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    assert read_header(Asked(db, lambda: Store(path).close())) == (0, 0, True)
    assert read_header(db) == (APPLICATION_ID, SCHEMA_VERSION, False)
    db.close()


def test_who_makes_a_store_waits_for_those_who_make_it_too(tmp_path):
    """However slow they are: SQLite itself does not wait where a file gets its form."""
    path = tmp_path / "mail.db"
    slow = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    slow.execute("BEGIN IMMEDIATE")
    slow.execute("PRAGMA user_version = 0")
    later = threading.Timer(1.5, lambda: slow.execute("ROLLBACK"))
    later.start()
    with Store(path, wait=60) as store:
        store.learn([entry(1)])
    later.join()
    slow.close()


def test_a_store_whose_end_is_missing_is_refused_unless_its_log_holds_it(tmp_path):
    """Pages that the file lacks may be in the log: SQLite alone can tell."""
    path = tmp_path / "mail.db"
    with Store(path) as store:
        store.learn([entry(i) for i in range(200)])
        log = Path(f"{path}-wal").read_bytes()
    whole = path.read_bytes()
    path.write_bytes(whole[:4096])
    with pytest.raises(StoreError, match="damaged: a part of it is missing"):
        Store(path, create=False)
    Path(f"{path}-wal").write_bytes(log)
    with Store(path, create=False) as store:
        assert store.totals()["ham"][0] == 100
        assert store.check() == []
