"""Only SQLite opens the files of a store: closing a descriptor of our own would drop the process's locks."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from deciban.errors import InputError, StoreError
from deciban.mail.filter import MailFilter
from deciban.mail.sources.message_sources import read_mail
from deciban.mail.store.store import Store
from tests.cli.mail_commands import command, maildir, mbox
from tests.mail.spamds import Running, await_fit, make_message, request
from tests.mail.stores import entry, make_store

ROOT = Path(__file__).parents[2]

TWO_STORES = """
import os, subprocess, sys
from tests.mail.stores import deleted_files, entry
from deciban.mail.store.store import Store

other = "import sys; from tests.mail.stores import entry; from deciban.mail.store.store import Store\\n" \\
        "with Store(sys.argv[1]) as store: store.learn([entry(int(sys.argv[2]))])"
path = sys.argv[1]
with Store(path) as first:
    first.learn([entry(1)])
    with Store(path) as second:
        second.learn([entry(2)])
    subprocess.run([sys.executable, "-c", other, path, "3"], check=True)
    first.learn([entry(4)])
    print(deleted_files(os.getpid()), flush=True)
    os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs Linux's list of open files")
def test_two_stores_in_one_process_and_one_in_another_keep_the_log_and_all_messages(tmp_path):
    path = tmp_path / "mail.db"
    done = subprocess.run(
        [sys.executable, "-c", TWO_STORES, path], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
    with Store(path) as store:
        assert [i for i in (1, 2, 3, 4) if store.find_label(entry(i).digest)] == [1, 2, 3, 4]
        assert store.check() == []


# No descriptor of our own, whatever is done

SPY = """
import os, sys
log = os.open(os.environ["SPY_LOG"], os.O_WRONLY | os.O_APPEND)
ENDINGS = (".db", ".db-wal", ".db-shm", ".db-journal")

def note(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)) and os.fsdecode(arguments[0]).endswith(ENDINGS):
        os.write(log, f"{os.fsdecode(arguments[0])} by {sys.argv}\\n".encode())

sys.addaudithook(note)
"""


@pytest.fixture
def spied(tmp_path, monkeypatch):
    """Python tells of every store file that it opens, in this environment's processes and in their own children."""
    (tmp_path / "spy").mkdir()
    (tmp_path / "spy" / "sitecustomize.py").write_text(SPY)
    log = tmp_path / "spy.log"
    log.touch()
    monkeypatch.setenv("SPY_LOG", str(log))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "spy"), *filter(None, sys.path)]))
    return log


def run(*arguments, stdin=b"", codes=(0,)):
    done = subprocess.run(command(*arguments), input=stdin, capture_output=True, timeout=120, check=False)
    assert done.returncode in codes, done.stderr
    return done


def test_the_spy_tells_of_a_store_that_python_opens(spied, tmp_path):
    path = make_store(tmp_path / "mail.db")
    subprocess.run([sys.executable, "-c", f"open({str(path)!r}, 'rb').close()"], check=True)
    assert str(path) in spied.read_text()


@pytest.mark.thorough(reason="learns and classifies many messages: seconds")
def test_no_command_opens_a_store_without_sqlite(spied, tmp_path):
    store, other, text = tmp_path / "mail.db", tmp_path / "other.db", tmp_path / "mail.jsonl"
    ham, junk = mbox(tmp_path / "ham.mbox", "ham", range(310)), maildir(tmp_path / "Junk", "spam", range(310))
    new, here = make_message("spam", 900), ("--store", store)
    run("learn", "--ham", ham, "--spam", junk, *here)
    run("learn", "--ham", mbox(tmp_path / "more.mbox", "ham", range(400, 410)), "--store", other)
    run("classify", *here, stdin=new)
    run("classify", junk, *here)
    run("filter", *here, stdin=new)
    run("explain", *here, stdin=new)
    run("fit", *here)
    run("check", *here)
    run("check", "--mend", *here)
    run("status", *here)
    run("set", "--spam-at", "0.9", *here)
    run("tidy", *here)
    run("backup", tmp_path / "copy.db", *here)
    run("backup", tmp_path / "copy.db", *here)
    run("backup", junk, *here, codes=(1,))
    run("export", text, *here)
    run("import", text, "--store", tmp_path / "third.db")
    run("merge", other, *here)
    run("watch", "--ham", maildir(tmp_path / "Inbox", "ham", range(3)), "--junk", junk, "--once", *here)
    run("relabel", "--as", "spam", tmp_path / "more.mbox", *here, codes=(0, 1, 2))
    run("unlearn", ham, *here)
    run("import", store, *here, codes=(1,))
    assert spied.read_text() == ""


def test_a_server_that_learns_classifies_and_fits_does_not_open_its_store_beside_sqlite(spied, tmp_path):
    store, place = tmp_path / "mail.db", tmp_path / "s.sock"
    server = subprocess.Popen(
        command("serve", "--spamd", f"unix:{place}", "--store", store), stderr=subprocess.PIPE, text=True
    )
    try:
        assert "listening" in server.stderr.readline()
        for number in range(20):
            for label in ("ham", "spam"):
                asked = request("TELL", make_message(label, number), f"Message-class: {label}", "Set: local")
                assert b"DidSet: local" in Running(f"unix:{place}").ask(asked)
        assert b"SPAMD/1.1 0" in Running(f"unix:{place}").ask(request("PROCESS", make_message("spam", 900)))
        with Store(store) as opened:
            await_fit(opened)
    finally:
        server.terminate()
        server.communicate(timeout=30)
    assert server.returncode == 0
    assert spied.read_text() == ""


# Files that a user names


@pytest.mark.parametrize("ending", ["", "-wal", "-shm"])
def test_a_store_that_is_open_is_not_read_as_mail(tmp_path, ending):
    path = tmp_path / "mail.db"
    with MailFilter(path) as mail:
        mail.learn(make_message("ham", 1), "ham")
        (tmp_path / "link.eml").symlink_to(f"{path}{ending}")
        for named in (Path(f"{path}{ending}"), tmp_path / "link.eml"):
            with pytest.raises(InputError, match="the mail store that is in use"):
                list(read_mail(named))


def test_a_folder_that_holds_the_store_is_learned_without_it(tmp_path):
    (tmp_path / "a.eml").write_bytes(make_message("ham", 1))
    problems = []
    with MailFilter(tmp_path / "mail.db") as mail:
        mail.learn(make_message("ham", 2), "ham")
        found = [one.name for one in read_mail(tmp_path, problems=problems.append)]
    assert found == [str(tmp_path / "a.eml")]
    assert {Path(problem.name).name for problem in problems} <= {"mail.db", "mail.db-wal", "mail.db-shm"}
    assert "mail.db" in {Path(problem.name).name for problem in problems}


def test_a_backup_or_an_export_does_not_replace_a_file_of_the_store(tmp_path):
    path = make_store(tmp_path / "mail.db")
    with Store(path) as store:
        store.learn([entry(99)])
        for ending in ("-wal", "-shm", "-journal"):
            with pytest.raises(StoreError, match="a file of the store itself"):
                store.backup(f"{path}{ending}")
            assert run("export", f"{path}{ending}", "--store", path, codes=(1,)).stderr.startswith(b"error: ")
        assert store.find_label(entry(99).digest) == "ham"
        assert store.check() == []


def test_a_backup_replaces_no_store_whose_writer_was_killed_in_the_middle(tmp_path):
    """What SQLite left beside it would be applied to the new file."""
    store, copy = make_store(tmp_path / "mail.db"), tmp_path / "copy.db"
    with Store(store) as opened:
        opened.backup(copy)
    code = """
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA cache_size = 1")
db.execute("BEGIN IMMEDIATE")
db.execute("UPDATE token SET word = word || hex(randomblob(500))")
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", code, copy], check=False)
    assert Path(f"{copy}-journal").stat().st_size > 0
    with Store(store) as opened:
        opened.learn([entry(99)])
        opened.backup(copy)
        assert not Path(f"{copy}-journal").exists()
        with Store(copy) as again:
            assert list(again.export()) == list(opened.export())
            assert again.check() == []


# Forks


def in_a_child(task) -> int:
    child = os.fork()
    if child == 0:  # pragma: no cover
        try:
            task()
        except StoreError as error:
            os._exit(1 if "fork" in str(error) else 2)
        except BaseException:
            os._exit(3)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")
def test_a_store_that_was_open_at_a_fork_is_refused_in_the_child(tmp_path):
    path = tmp_path / "mail.db"
    with Store(path) as store:
        store.learn([entry(1)])
        assert in_a_child(lambda: store.learn([entry(2)])) == 1
        assert in_a_child(store.totals) == 1
        assert in_a_child(lambda: Store(path)) == 1
        assert in_a_child(store.close) == 0
        assert in_a_child(lambda: make_store(tmp_path / "other.db")) == 0
        store.learn([entry(3)])
    assert in_a_child(lambda: Store(path).learn([entry(4)])) == 0
    with Store(path) as store:
        assert [i for i in (1, 2, 3, 4) if store.find_label(entry(i).digest)] == [1, 3, 4]
        assert store.check() == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")
def test_a_store_can_be_opened_in_a_child_that_has_discarded_the_inherited_connection(tmp_path):
    """The inode of a deleted store may belong to a new file from then on."""
    path = tmp_path / "mail.db"
    opened = [Store(path)]
    opened[0].learn([entry(1)])

    def discard_and_learn():
        opened.clear()
        gc.collect()
        with Store(path) as store:
            store.learn([entry(2)])

    assert in_a_child(discard_and_learn) == 0
    opened[0].learn([entry(3)])
    assert [i for i in (1, 2, 3) if opened[0].find_label(entry(i).digest)] == [1, 2, 3]
    assert opened[0].check() == []
    opened[0].close()
