"""Dovecot and its Sieve, by the files of the document: classifying at delivery, learning when mail is moved."""

import imaplib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from deciban.cli.mail.classify_mail import TIMEOUT_SECONDS
from deciban.mail.store.store_file import LOCK_TIMEOUT_SECONDS
from tests.mail import dovecot
from tests.mail.spamds import make_message
from tests.recipes.document import FILES, printed
from tests.recipes.homes import STORE, TROUBLES, label, messages, spoil
from tests.recipes.sandboxes import give_to_nobody, sandbox

LDA = Path("/usr/lib/dovecot/dovecot-lda")
ABSENT = dovecot.ABSENT or (None if shutil.which("sievec") and LDA.exists() else "needs Debian's dovecot-sieve")
pytestmark = pytest.mark.skipif(ABSENT is not None, reason=str(ABSENT))
THERE = "/etc/dovecot/deciban"
SCRIPTS = [name for name in FILES if name.endswith(".sieve")]


class System:
    """A server with the recipe, and its one user."""

    def __init__(self, server, sandbox):
        self.server, self.sandbox = server, sandbox
        self.home = server.home / "mail"

    def deliver(self, message):
        done = self.sandbox.run(LDA, "-c", self.server.home / "dovecot.conf", "-d", dovecot.USER, message=message)
        assert done.returncode == 0, (done.stderr, self.log)
        return self

    @property
    def log(self):
        return (self.server.home / "log").read_text()

    def folder(self, name):
        return messages(self.home / "Maildir" / name)


@pytest.fixture(scope="module")
def running():
    with sandbox() as here:
        folder = here.path / "sieve"
        folder.mkdir()
        more = printed("/etc/dovecot/conf.d/99-deciban.conf", {THERE: folder})
        for name in SCRIPTS:
            (folder / Path(name).name).write_text(FILES[name])
        with dovecot.running(more=more, within=here.within) as server:
            ours = {
                THERE: folder,
                "/usr/local/bin/deciban": here.program,
                "sievec": f"sievec -c {server.home}/dovecot.conf",
            }
            subprocess.run(["sh", "-ec", printed(THERE, ours)], check=True)
            (server.home / "mail/Maildir").mkdir()
            yield System(server, here)


@pytest.fixture
def system(running, learned):
    """One server for all tests, each with a new home."""
    shutil.rmtree(running.home)
    (running.home / STORE).parent.mkdir(parents=True)
    shutil.copy(learned, running.home / STORE)
    give_to_nobody(running.home)
    return running


@pytest.fixture
def reader(system, monkeypatch):
    monkeypatch.setitem(imaplib.Commands, "MOVE", ("SELECTED",))
    with system.server.reader() as line:
        for folder in ("Junk", "Trash", "Letters"):
            line.create(folder)
        yield line


def move(line, source, target):
    """All messages, as a mail program moves them."""
    assert line.select(source)[0] == "OK"
    assert line._simple_command("MOVE", "1:*", target)[0] == "OK"


def in_lines(raw):
    return raw.replace(b"\r\n", b"\n")


def test_mail_is_classified_and_sorted(system):
    system.deliver(make_message("ham", 100)).deliver(make_message("spam", 100))
    (ham,), (spam,) = system.folder("."), system.folder(".Junk")
    for kind, found in (("ham", ham), ("spam", spam)):
        assert f"X-Deciban: {kind}; p=".encode() in found
        assert in_lines(found).endswith(make_message(kind, 100))


@pytest.mark.parametrize("trouble", TROUBLES)
def test_mail_passes_as_it_came_whatever_is_wrong(system, trouble, tmp_path):
    kept = shutil.copy(system.sandbox.program, tmp_path)
    try:
        spoil(trouble, system.home / STORE, system.sandbox.program)
        system.deliver(make_message("spam", 100))
    finally:
        shutil.copy(kept, system.sandbox.program)
    (found,) = system.folder(".")
    assert in_lines(found).endswith(make_message("spam", 100))
    assert b"X-Deciban" not in found


def test_dovecot_waits_for_longer_than_classifying_and_learning_ever_take():
    """Deliveries break off when it has waited long enough: a panic in 2.3.19."""
    settings = printed("/etc/dovecot/conf.d/99-deciban.conf")
    waits = {name: int(n) for name, n in re.findall(r"sieve_(\w+)_exec_timeout = (\d+)s", settings)}
    assert waits["filter"] > TIMEOUT_SECONDS
    assert waits["pipe"] > LOCK_TIMEOUT_SECONDS


def test_moving_to_junk_learns_spam_and_moving_back_learns_ham_instead(system, reader):
    message = make_message("ham", 100)
    system.deliver(message)
    assert label(system.home, message) is None
    move(reader, "INBOX", "Junk")
    assert label(system.home, message) == "spam", system.log
    move(reader, "Junk", "INBOX")
    assert label(system.home, message) == "ham", system.log
    assert len(system.folder(".")) == 1


def test_what_was_filed_wrongly_is_learned_as_ham_when_it_is_moved_out_but_not_when_it_is_thrown_away(system, reader):
    first, second = make_message("spam", 100), make_message("spam", 101)
    system.deliver(first)
    move(reader, "Junk", "Letters")
    assert label(system.home, first) == "ham", system.log
    system.deliver(second)
    move(reader, "Junk", "Trash")
    assert label(system.home, second) is None
    assert len(system.folder(".Trash")) == 1


def test_mail_that_is_put_into_junk_from_elsewhere_is_learned(system, reader):
    assert reader.append("Junk", "", None, make_message("spam", 102, "\r\n"))[0] == "OK"
    assert label(system.home, make_message("spam", 102)) == "spam"


@pytest.mark.thorough(reason="starts the programs of a system: seconds")
def test_mail_can_be_moved_though_nothing_can_be_learned(system, reader):
    system.deliver(make_message("ham", 100))
    (system.home / STORE).write_bytes(b"nonsense" * 1000)
    move(reader, "INBOX", "Junk")
    assert len(system.folder(".Junk")) == 1
    assert system.folder(".") == []
