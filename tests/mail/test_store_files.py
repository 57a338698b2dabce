"""Files that are not as one would wish: a clear word, nothing half done, and reading wherever reading is possible."""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

import pytest

import deciban.mail.store.store_arrays
import deciban.mail.store.store_updates
import deciban.mail.store.text_exchange  # noqa: F401  loaded here, since who has no rights may not even read Python's own files
from deciban.errors import StoreError
from deciban.mail.store.store import Store
from deciban.mail.store.store_schema import APPLICATION_ID
from tests.mail.stores import entry, make_store

NOBODY = 65534


def mode(path: Path | str) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.fixture
def open_folder():
    """A folder that every user may enter."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def without_rights(task) -> None:
    """Run a task in a process whose user owns nothing and may write nothing of ours."""
    child = os.fork()
    if child == 0:  # pragma: no cover
        try:
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            task()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


# Who may read


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_a_new_store_and_its_log_are_for_the_owner_alone_whatever_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        path = tmp_path / "mail.db"
        with Store(path) as store:
            store.learn([entry(1)])
            assert {mode(f"{path}{end}") for end in ("", "-wal", "-shm")} == {0o600}
            store.backup(tmp_path / "copy.db")
    finally:
        os.umask(before)
    assert mode(path) == 0o600
    assert mode(tmp_path / "copy.db") & 0o077 == 0


def test_folders_on_the_way_are_made_for_the_owner_alone(tmp_path):
    path = tmp_path / "a" / "b" / "mail.db"
    make_store(path)
    assert mode(path.parent) == 0o700


def test_a_link_goes_on_pointing_to_the_store(tmp_path):
    real = tmp_path / "real"
    real.mkdir()
    link = tmp_path / "mail.db"
    link.symlink_to(real / "mail.db")  # to nothing yet
    with Store(link) as store:
        store.learn([entry(1)])
        assert sorted(os.listdir(real)) == ["mail.db", "mail.db-shm", "mail.db-wal"]
        assert store.path == (real / "mail.db").resolve()
    assert link.is_symlink()
    with Store(link, create=False) as store:
        assert store.find_label(entry(1).digest) == "ham"


def test_names_with_odd_characters_are_names(tmp_path):
    path = tmp_path / "what? 100% #1&mode=ro é.db"
    make_store(path)
    assert path.exists()
    with Store(path, create=False) as store:
        assert store.totals() == {"ham": (5, 5.0), "spam": (5, 5.0)}


# TokenOptions without rights


def test_a_store_that_may_only_be_read_still_answers(open_folder):
    path = make_store(open_folder / "mail.db")
    path.chmod(0o444)
    open_folder.chmod(0o555)

    def task():
        with Store(path) as store:
            assert not store.writable
            assert store.counts(["w1-0"]) == {"w1-0": (0.0, 1.0)}
            assert len(store.rows().labels) == 10
            assert store.check() == []
            assert len(list(store.export())) == 11
            with pytest.raises(StoreError, match="cannot be written"):
                store.learn([entry(99)])

    without_rights(task)
    open_folder.chmod(0o755)
    assert sorted(os.listdir(open_folder)) == ["mail.db"]


def test_a_file_that_may_be_written_in_a_folder_that_may_not_is_only_read(open_folder):
    path = make_store(open_folder / "mail.db")
    path.chmod(0o666)
    open_folder.chmod(0o555)

    def task():
        with Store(path) as store:
            assert store.find_label(entry(1).digest) == "spam"
            with pytest.raises(StoreError, match="read-only"):
                store.unlearn([entry(1).digest])

    without_rights(task)
    open_folder.chmod(0o755)


def test_what_a_killed_writer_left_is_read_even_without_rights(open_folder):
    path = open_folder / "mail.db"
    code = f"""
import os, signal
from deciban.mail.store.stored_messages import StoredMessage
from deciban.mail.store.store import Store
store = Store({str(path)!r})
store.learn([StoredMessage(bytes(16), "ham", ["late"], 0.0)])
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", code], check=False)
    assert Path(f"{path}-wal").stat().st_size > 0
    Path(f"{path}-shm").unlink()
    for end in ("", "-wal"):
        os.chmod(f"{path}{end}", 0o444)
    open_folder.chmod(0o555)
    seen = set(os.listdir(tempfile.gettempdir()))

    def task():
        with Store(path) as store:
            assert store.counts(["late"]) == {"late": (1.0,)}
        assert not [name for name in set(os.listdir(tempfile.gettempdir())) - seen if name.startswith("deciban-mail")]

    without_rights(task)
    open_folder.chmod(0o755)


HOLD = """
import sys
from tests.mail.stores import entry
from deciban.mail.store.store import Store
with Store(sys.argv[1]) as writer:
    writer.learn([entry(50)])
    print("open", flush=True)
    sys.stdin.read()
"""


def test_readers_go_on_during_a_write_of_another_user(open_folder):
    path = make_store(open_folder / "mail.db")
    path.chmod(0o644)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", HOLD, path], cwd=Path(__file__).parents[2], **pipes) as writer:
        assert writer.stdout.readline() == b"open\n"

        def task():
            with Store(path) as reader:
                assert reader.find_label(entry(50).digest) == "ham"

        without_rights(task)
        writer.communicate(b"")


def test_a_file_that_may_not_be_read_says_so(open_folder):
    path = make_store(open_folder / "mail.db")

    def task():
        with pytest.raises(StoreError, match="owns"):
            Store(path)

    without_rights(task)


def test_a_folder_that_may_not_be_written_cannot_get_a_store(open_folder):
    open_folder.chmod(0o555)

    def task():
        with pytest.raises(StoreError, match="cannot be opened: Permission denied"):
            Store(open_folder / "new.db")

    without_rights(task)
    open_folder.chmod(0o755)
    assert os.listdir(open_folder) == []


def test_reading_can_be_asked_for(tmp_path):
    path = make_store(tmp_path / "mail.db")
    with Store(path, read_only=True) as store:
        assert store.totals()["ham"] == (5, 5.0)
        with pytest.raises(StoreError, match="opened for reading"):
            store.learn([entry(99)])
    with pytest.raises(StoreError, match="there is no mail store"):
        Store(tmp_path / "other.db", read_only=True)


# No stores


def test_a_store_that_is_not_there_is_not_made_unless_wanted(tmp_path):
    with pytest.raises(StoreError, match="there is no mail store"):
        Store(tmp_path / "mail.db", create=False)
    assert os.listdir(tmp_path) == []


def test_an_empty_file_becomes_a_store_only_if_wanted(tmp_path):
    path = tmp_path / "mail.db"
    path.touch()
    with pytest.raises(StoreError, match="an empty file"):
        Store(path, create=False)
    make_store(path)
    with Store(path, create=False) as store:
        assert store.check() == []


@pytest.mark.parametrize("content", [b"From someone\nSubject: x\n\n" * 50, b"\0" * 4096, b"SQLite format 3\0", b"x"])
def test_a_file_of_another_kind_is_left_alone(tmp_path, content):
    path = tmp_path / "mail.db"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"no mail store|not a mail store|damaged"):
        Store(path)
    assert path.read_bytes() == content


def test_another_programs_database_is_left_alone(tmp_path):
    path = tmp_path / "mail.db"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE token (a)")
    db.commit()
    db.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="a database of another program"):
        Store(path)
    assert path.read_bytes() == before


def test_a_folder_or_a_device_is_no_store(tmp_path):
    for path in (tmp_path, "/dev/null"):
        with pytest.raises(StoreError, match="not an ordinary file"):
            Store(path)


def test_a_store_of_a_later_schema_is_left_alone(tmp_path):
    path = make_store(tmp_path / "mail.db")
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 2")
    db.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"later deciban \(schema 2; this one knows up to 1\)"):
        Store(path)
    assert path.read_bytes() == before


def test_a_store_that_becomes_of_a_later_schema_while_open_is_not_written(tmp_path):
    path = make_store(tmp_path / "mail.db")
    with Store(path) as store:
        db = sqlite3.connect(path)
        db.execute("PRAGMA user_version = 2")
        db.close()
        with pytest.raises(StoreError, match="later deciban"):
            store.learn([entry(99)])


def test_the_file_says_what_it_is(tmp_path):
    path = make_store(tmp_path / "mail.db")
    assert path.read_bytes()[68:72] == APPLICATION_ID.to_bytes(4, "big") == b"DbMl"


def test_a_truncated_store_never_gives_anything_but_a_clear_error(tmp_path):
    path = tmp_path / "whole.db"
    with Store(path) as store:
        store.learn([entry(i, label=("ham", "spam")[i % 2], words=50) for i in range(100)])
    content = path.read_bytes()
    reported = 0
    for cut in range(1, len(content), 4099):
        part = tmp_path / f"cut{cut}.db"
        part.write_bytes(content[:cut])
        try:
            with Store(part, create=False) as store:
                store.counts([f"w{i}-3" for i in range(100)])
                store.rows()
                reported += bool(store.check())
        except StoreError as error:
            reported += "Hint" in str(error)
    assert reported == len(range(1, len(content), 4099))
