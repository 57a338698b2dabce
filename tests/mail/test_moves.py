"""Spam is moved to Junk by the server's MOVE, one journalled message at a time, and back by one command."""

import imaplib
import os
import signal
import subprocess
import sys
import time

import pytest

from deciban.errors import InputError
from deciban.mail.moves import MoveJournal
from deciban.mail.sources.imap import ImapFolder
from deciban.mail.sources.imap_connection import Address
from deciban.mail.store.store import Store
from tests.cli.mail_commands import mail
from tests.mail import dovecot
from tests.mail.mail_readers import MaildirReader
from tests.mail.spamds import learn_messages, make_message

pytestmark = pytest.mark.skipif(dovecot.ABSENT is not None, reason=str(dovecot.ABSENT))
HAM, SPAM = make_message("ham", 900), make_message("spam", 900)


@pytest.fixture(scope="module")
def server():
    with dovecot.running() as running:
        yield running


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    store = tmp_path_factory.mktemp("trained") / "mail.db"
    learn_messages(store)
    return store


class Account:
    """An inbox and a Junk of their own on a server, and a store that has learned some mail."""

    def __init__(self, server, line, store):
        number = time.time_ns()
        self.line, self.store = line, store
        self.names = {"INBOX": f"In{number}", "Junk": f"Unrat & {number}"}
        for name in self.names.values():
            assert line.create(f'"{name.replace("&", "&-")}"')[0] == "OK"
        self.inbox, self.junk = (
            server.address(name.replace("&", "%26").replace(" ", "%20")) for name in self.names.values()
        )

    def deliver(self, raw, folder="INBOX"):
        assert self.line.append(self._quoted(folder), "", None, raw.replace(b"\n", b"\r\n"))[0] == "OK"

    def _quoted(self, folder):
        return f'"{self.names[folder].replace("&", "&-")}"'

    def subjects(self, folder):
        assert self.line.select(self._quoted(folder), readonly=True)[0] == "OK"
        numbers = self.line.search(None, "ALL")[1][0].split()
        found = [self.line.fetch(n, "(FLAGS BODY.PEEK[HEADER.FIELDS (SUBJECT)])")[1] for n in numbers]
        assert not any(b"\\Deleted" in part[0][0] or b"\\Seen" in part[0][0] for part in found)
        return sorted(part[0][1].split()[-1].decode() for part in found)

    def places(self):
        return self.subjects("INBOX"), self.subjects("Junk")

    def watch(self, *more):
        return mail("watch", "--ham", self.inbox, "--junk", self.junk, "--store", self.store, "--once", *more)

    def look(self, *more):
        result = self.watch("--move", *more)
        assert result.exit_code == 0, result.stderr
        return result.stderr

    def undo(self, *more):
        result = mail("undo", "--store", self.store, *more)
        assert result.exit_code == 0, result.stderr
        return result

    def journal(self):
        with Store(self.store, create=False) as store:
            return MoveJournal(store).moves

    def learned(self):
        with Store(self.store, create=False) as store:
            return {label: n for label, (n, _) in store.totals().items()}

    def move_by_hand(self, subject, source, target):
        self.line.select(self._quoted(source))
        number = self.line.search(None, "SUBJECT", f'"{subject}"')[1][0].split()[-1].decode()
        assert self.line._simple_command("MOVE", number, self._quoted(target))[0] == "OK"


@pytest.fixture
def account(server, trained, tmp_path, monkeypatch):
    monkeypatch.setitem(imaplib.Commands, "MOVE", ("SELECTED",))
    monkeypatch.setenv("DECIBAN_IMAP_PASSWORD", dovecot.PASSWORD)
    store = tmp_path / "mail.db"
    store.write_bytes(trained.read_bytes())
    with server.reader() as line:
        made = Account(server, line, store)
        made.deliver(make_message("spam", 800))
        assert made.look() == ""
        yield made


def test_spam_that_arrives_is_moved_and_all_else_stays(account):
    before = account.learned()
    for raw in (HAM, SPAM, b"Subject: either 7\n\nthe and you\n"):
        account.deliver(raw)
    assert "moved 1 to Junk; deciban mail undo moves back" in account.look()
    assert account.places() == (["7", "800", "900"], ["900"])
    (move,) = account.journal()
    assert (move.is_done, move.moved_uid) == (True, 1)
    assert account.look() == ""
    assert account.learned() == before


def test_nothing_is_moved_without_the_option(account):
    account.deliver(SPAM)
    assert account.watch().stderr == ""
    assert account.places() == (["800", "900"], [])
    assert account.journal() == []
    assert account.look() == ""
    assert account.places() == (["800", "900"], [])


def test_what_is_moved_back_by_hand_is_learned_as_ham_and_stays(account):
    account.deliver(SPAM)
    account.look()
    account.move_by_hand("900", "Junk", "INBOX")
    assert "learned 1 as ham" in account.look()
    assert account.look() == ""
    assert account.places() == (["800", "900"], [])


def test_one_command_moves_back_what_the_last_look_moved(account):
    for number in (901, 902):
        account.deliver(make_message("spam", number))
        account.deliver(make_message("spam", number + 100))
        assert "moved 2 to Junk" in account.look()
    planned = account.undo("--dry-run")
    assert len(planned.stdout.splitlines()) == 2
    assert "2 to move back, 2 earlier in the journal (--all)" in planned.stderr
    assert "2 moved back, 2 earlier in the journal (--all)" in account.undo().stderr
    assert account.places() == (["1002", "800", "902"], ["1001", "901"])
    assert "learned 2 as ham" in account.look()
    assert "2 moved back" in account.undo("--all").stderr
    assert account.places() == (["1001", "1002", "800", "901", "902"], [])
    assert account.journal() == []
    assert "0 moved back" in account.undo().stderr


def test_a_message_that_left_junk_is_reported_and_forgotten(account):
    account.deliver(SPAM)
    account.look()
    account.move_by_hand("900", "Junk", "INBOX")
    assert "0 moved back, 1 not in Junk any more" in account.undo().stderr
    assert account.journal() == []


@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_around_a_move_it_finds_out_what_happened(account, monkeypatch, when):
    account.deliver(SPAM)
    move = ImapFolder.move

    def killed(self, uid, target):
        if when == "after":
            move(self, uid, target)
        raise SystemExit("killed")

    before = account.learned()
    monkeypatch.setattr(ImapFolder, "move", killed)
    account.watch("--move")
    assert [entry.is_done for entry in account.journal()] == [False]
    monkeypatch.setattr(ImapFolder, "move", move)
    assert ("moved 1" in account.look()) is (when == "before")
    assert account.places() == (["800"], ["900"])
    assert [entry.is_done for entry in account.journal()] == [True]
    assert account.learned() == before
    assert "1 moved back" in account.undo().stderr
    assert account.places() == (["800", "900"], [])


def test_a_process_that_dies_between_a_move_and_its_journal_loses_nothing(account):
    account.deliver(SPAM)
    code = (
        "import os, signal, sys\nfrom deciban.mail.moves import MoveJournal\nfrom deciban.cli.main import main\n"
        "replace = MoveJournal.replace\n"
        "def die(self, old, new=None):\n"
        "    os.kill(os.getpid(), signal.SIGKILL) if old else replace(self, old, new)\n"
        "MoveJournal.replace = die\nsys.argv[0] = 'deciban'\nmain()\n"
    )
    words = [
        "mail",
        "watch",
        "--ham",
        account.inbox,
        "--junk",
        account.junk,
        "--store",
        account.store,
        "--once",
        "--move",
    ]
    done = subprocess.run([sys.executable, "-c", code, *map(str, words)], check=False, env=os.environ)
    assert done.returncode == -signal.SIGKILL
    assert account.places() == (["800"], ["900"])
    assert "1 moved back" in account.undo().stderr
    assert account.places() == (["800", "900"], [])


def test_a_server_that_refuses_a_move_keeps_the_message_and_is_asked_again(account, monkeypatch):
    account.deliver(SPAM)
    uid = imaplib.IMAP4.uid

    def refused(self, command, *words):
        return ("NO", [b"quota"]) if command == "MOVE" else uid(self, command, *words)

    monkeypatch.setattr(imaplib.IMAP4, "uid", refused)
    assert "was not moved" in account.look()
    assert account.places() == (["800", "900"], [])
    assert account.journal() == []
    monkeypatch.setattr(imaplib.IMAP4, "uid", uid)
    assert "moved 1 to Junk" in account.look()


@pytest.mark.thorough(reason="learns and classifies many messages: seconds")
def test_without_move_on_the_server_nothing_is_copied_or_deleted(trained, tmp_path, monkeypatch):
    monkeypatch.setitem(imaplib.Commands, "MOVE", ("SELECTED",))
    monkeypatch.setenv("DECIBAN_IMAP_PASSWORD", dovecot.PASSWORD)
    store = tmp_path / "mail.db"
    store.write_bytes(trained.read_bytes())
    capability = "imap_capability = IMAP4rev1 SASL-IR LITERAL+ UIDPLUS\n"
    with dovecot.running(more=capability) as server, server.reader() as line:
        account = Account(server, line, store)
        account.look()
        account.deliver(SPAM)
        assert "does not offer MOVE (RFC 6851)" in account.look()
        assert account.places() == (["900"], [])
        assert account.journal() == []


def test_a_maildir_or_another_account_is_refused_before_anything_is_read(account, tmp_path):
    reader = MaildirReader(tmp_path)
    other = account.junk.replace("joe%40", "ann%40")
    for ham, junk in ((reader.inbox, reader.junk), (account.inbox, reader.junk), (account.inbox, other)):
        result = mail("watch", "--ham", ham, "--junk", junk, "--store", account.store, "--once", "--move")
        assert result.exit_code == 1
        assert "spam can be moved within an account on an IMAP server" in result.stderr


def test_a_journal_that_makes_no_sense_is_empty(tmp_path):
    with Store(tmp_path / "mail.db") as store:
        for value in (3, {"a": 1}, [3, {"uid": 1}], [{"digest": "a", "uid": "1 2\r\n"}]):
            with store.write_transaction():
                store.put("moves", value)
            assert MoveJournal(store).moves == []


def test_a_folder_whose_uids_were_assigned_again_is_left_alone(account):
    account.deliver(SPAM)
    folder = ImapFolder(Address.parse(account.inbox), dovecot.PASSWORD)
    junk = ImapFolder(Address.parse(account.junk), dovecot.PASSWORD)
    folder.validity += 1
    with pytest.raises(InputError, match="assigned again"):
        folder.move(2, junk)
    folder.close()
    junk.close()
    assert account.places() == (["800", "900"], [])
