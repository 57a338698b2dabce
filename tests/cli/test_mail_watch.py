"""`deciban mail watch` and `serve`: programs that stay, learn and end when they are figures."""

import imaplib
import os
import signal
import socket
import subprocess
import time

import pytest

from deciban.mail.store.store import Store
from tests.cli.mail_commands import mail, program, start_program
from tests.mail import dovecot
from tests.mail.mail_readers import ImapReader, MaildirReader
from tests.mail.spamds import ABSENT, make_message


def learned(store):
    with Store(store, create=False) as held:
        return {label: n for label, (n, _) in held.totals().items() if n}


@pytest.fixture
def reader(tmp_path):
    return MaildirReader(tmp_path)


@pytest.fixture
def watching(reader, tmp_path):
    return ["watch", "--ham", reader.inbox, "--junk", reader.junk, "--store", tmp_path / "mail.db"]


def look(watching):
    result = mail(*watching, "--once")
    assert result.exit_code == 0, result.stderr
    return result.stderr


def test_what_is_moved_to_junk_is_learned_as_spam_and_what_is_moved_back_as_ham(reader, watching, tmp_path):
    reader.deliver("win")
    assert look(watching) == ""
    reader.move("win", "INBOX", "Junk")
    assert "learned 1 as spam" in look(watching)
    assert learned(tmp_path / "mail.db") == {"spam": 1}
    assert look(watching) == ""
    reader.move("win", "Junk", "INBOX")
    assert "learned 1 as ham" in look(watching)
    assert learned(tmp_path / "mail.db") == {"ham": 1}


def test_a_message_whose_file_name_is_not_utf_8_is_watched(reader, watching, tmp_path):
    assert look(watching) == ""
    with open(os.fsencode(reader.junk / "new") + b"/1.\xff.host", "wb") as message:
        message.write(make_message("spam", 1))
    assert "learned 1 as spam" in look(watching)
    assert look(watching) == ""
    assert learned(tmp_path / "mail.db") == {"spam": 1}


def test_what_the_filter_itself_put_into_junk_states_nothing(reader, watching, tmp_path):
    look(watching)
    reader.boxes["Junk"].add(b"X-Deciban: spam; p=0.9990; evidence=+30.0dB; top=-\n" + make_message("spam", 1))
    reader.boxes["Junk"].add(b"X-Deciban: unsure; p=0.5000; evidence=+0.0dB; top=-\n" + make_message("spam", 2))
    assert "learned 1 as spam" in look(watching)
    assert learned(tmp_path / "mail.db") == {"spam": 1}


def test_watching_changes_nothing_in_the_folders(reader, watching):
    reader.deliver("a")
    reader.deliver("b")
    look(watching)
    reader.move("a", "INBOX", "Junk")
    before = reader.marks()
    look(watching)
    assert reader.marks() == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_watching_goes_on_until_it_is_asked_to_end(reader, watching, tmp_path, number):
    process = start_program(*watching, "--every", "0.2", stdin=subprocess.DEVNULL)
    wait_for(lambda: (tmp_path / "mail.db").exists() and seen(tmp_path / "mail.db"))
    reader.deliver("win", "Junk")
    wait_for(lambda: learned(tmp_path / "mail.db") == {"spam": 1})
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert b"learned 1 as spam" in err


def seen(store):
    with Store(store, create=False) as held:
        return held.setting("watched") is not None


def wait_for(what):
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            if what():
                return
        except OSError:  # the store is being made
            pass
        time.sleep(0.1)
    raise AssertionError("it did not come")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--ham", "none", "--junk", "none"], 1, "none"),
        (["--ham", "IN"], 2, "--junk"),
        (["--ham", "IN", "--junk", "JUNK", "--every", "0"], 2, "--every"),
        (["--ham", "imaps://a:secret@b/c", "--junk", "JUNK"], 1, "password"),
        (["--ham", "IN", "--junk", "JUNK", "--junk", "IN/"], 2, "given both for wanted mail and for spam"),
        (["--ham", "imaps://a@b/c", "--junk", "imaps://a@b:993/c"], 2, "given both for wanted mail and for spam"),
        (["--ham", "imaps://a@b/INBOX", "--junk", "imaps://a@b/inbox"], 2, "given both for wanted mail and for spam"),
    ],
    ids=range(7),
)
def test_what_cannot_be_watched_is_refused(reader, tmp_path, arguments, code, words):
    places = {"IN": str(reader.inbox), "IN/": f"{reader.inbox}/./", "JUNK": str(reader.junk)}
    given = [places.get(word, word) for word in arguments]
    result = mail("watch", *given, "--once", "--store", tmp_path / "mail.db")
    assert result.exit_code == code
    assert words in result.stderr
    assert "secret" not in result.stderr


@pytest.mark.skipif(dovecot.ABSENT is not None, reason=str(dovecot.ABSENT))
def test_folders_on_a_server_are_learned_from_classified_and_watched(tmp_path, monkeypatch):
    monkeypatch.setitem(imaplib.Commands, "MOVE", ("SELECTED",))
    monkeypatch.setenv("DECIBAN_IMAP_PASSWORD", dovecot.PASSWORD)
    store = ["--store", tmp_path / "mail.db"]
    with dovecot.running() as server, server.reader() as line:
        reader = ImapReader(server, line, 1)
        for about in ("a", "b", "c"):
            reader.deliver(about)
        watching = ["watch", "--ham", reader.inbox, "--junk", reader.junk, *store]
        look(watching)
        reader.move("a", "INBOX", "Junk")
        before = reader.marks()
        assert "learned 1 as spam" in look(watching)
        assert "ham: 2 new" in mail("learn", "--ham", reader.inbox, *store).stderr
        assert len(mail("classify", reader.inbox, *store).stdout.splitlines()) == 2
        assert reader.marks() == before
        monkeypatch.setenv("DECIBAN_IMAP_PASSWORD", "wrong-secret")
        refused = mail("learn", "--ham", reader.inbox, *store)
    assert refused.exit_code == 1
    assert "secret" not in refused.stderr
    assert learned(tmp_path / "mail.db") == {"spam": 1, "ham": 2}


@pytest.mark.skipif(ABSENT is not None, reason=str(ABSENT))
def test_a_server_answers_spamc_learns_and_ends_when_it_is_asked_to(tmp_path):
    store = tmp_path / "mail.db"
    process = start_program("serve", "--spamd", f"unix:{tmp_path}/s", "--store", store, stdin=subprocess.DEVNULL)
    assert process.stderr.readline().startswith(f"listening at unix:{tmp_path}/s".encode())
    figures = subprocess.run(
        ["spamc", "-U", f"{tmp_path}/s", "-L", "spam"],
        input=make_message("spam", 1),
        capture_output=True,
        check=False,
    )
    assert b"successfully" in figures.stdout
    classified = subprocess.run(
        ["spamc", "-U", f"{tmp_path}/s", "--headers"], input=make_message("spam", 2), capture_output=True, check=False
    )
    assert b"X-Deciban: unsure" in classified.stdout
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    assert learned(store) == {"spam": 1}


def test_a_server_listens_on_this_machine_unless_told_otherwise(tmp_path):
    process = start_program("serve", "--store", tmp_path / "mail.db", stdin=subprocess.DEVNULL)
    try:
        line = process.stderr.readline()
        if b"in use" in line:
            pytest.skip("another program listens at port 1783")
        assert line.startswith(b"listening at 127.0.0.1:1783, with ")
        with socket.create_connection(("127.0.0.1", 1783), timeout=20) as client:
            client.sendall(b"PING SPAMC/1.5\r\n\r\n")
            assert client.makefile("rb").readline() == b"SPAMD/1.5 0 PONG\r\n"
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)


@pytest.mark.parametrize(
    ("address", "words"),
    [("0.0.0.0:1783", b"--anyone"), ("nowhere", b"Hint: 127.0.0.1:1783"), ("127.0.0.1:99999", b"a port is a number")],
)
def test_an_address_that_cannot_be_listened_at_is_refused(tmp_path, address, words):
    result = program("serve", "--spamd", address, "--store", tmp_path / "mail.db")
    assert result.returncode == 1
    assert words in result.stderr
