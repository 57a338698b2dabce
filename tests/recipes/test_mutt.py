"""mutt, by the keys that the document prints, pressed at a terminal."""

import os
import pty
import re
import select
import shutil
import signal
import struct
import termios
import time
from contextlib import suppress
from fcntl import ioctl

import pytest

from tests.mail.spamds import make_message
from tests.recipes.document import printed
from tests.recipes.homes import PROGRAM, environment, label, messages

MUTT = shutil.which("mutt")
pytestmark = pytest.mark.skipif(not MUTT, reason="needs mutt")
PATIENCE = 30


class Mutt:
    """mutt on the inbox of a home, at a terminal of 80 × 24."""

    def __init__(self, home, *more):
        (home / ".muttrc").write_text(printed("~/.muttrc"))
        self.child, self.screen = pty.fork()
        if not self.child:
            env = environment(home, TERM="vt100")
            options = ["-n", "-F", str(home / ".muttrc"), "-f", str(home / "Maildir"), "-e", "set delete=yes"]
            os.execve(MUTT, [MUTT, *options, *more], env)
        ioctl(self.screen, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.shown = b""

    def press(self, keys, awaited):
        """Press keys and wait until the screen has shown some words, however it places them."""
        os.write(self.screen, keys.encode())
        start, until = len(self.shown), time.monotonic() + PATIENCE
        while not re.search(awaited, self.words(start)):
            assert time.monotonic() < until, (awaited, self.words(start))
            if select.select([self.screen], [], [], 0.1)[0]:
                self.shown += os.read(self.screen, 1 << 16)
        return self.words(start)

    def words(self, start):
        return re.sub(r"\x1b[\[()][0-9;?]*[A-Za-z0-9]?|[\r\n\x0f]", " ", self.shown[start:].decode(errors="replace"))

    def end(self):
        """Quit; messages marked as deleted are removed, as the command line asks."""
        os.write(self.screen, b"q")
        until = time.monotonic() + PATIENCE
        while not os.waitpid(self.child, os.WNOHANG)[0]:
            if select.select([self.screen], [], [], 0.1)[0]:
                with suppress(OSError):  # it has ended
                    self.shown += os.read(self.screen, 1 << 16)
            if time.monotonic() > until:
                os.kill(self.child, signal.SIGKILL)
                raise AssertionError(self.words(-2000))
        os.close(self.screen)
        self.child = None


@pytest.fixture
def filled(own):
    """A home with two messages in the inbox: ham is the first."""
    for kind in ("ham", "spam"):
        (own / f"Maildir/new/{kind}.host").write_bytes(make_message(kind, 100))
    return own


@pytest.fixture
def begun(filled):
    going = []

    def begin(*more):
        going.append(Mutt(filled, *more))
        going[0].press("", r"cheap cheap 100.*Mutt: ~/Maildir")
        return going[0]

    yield begin
    if going[0].child:
        going[0].end()


def test_a_key_learns_spam_and_moves_it_to_junk(filled, begun):
    mutt = begun()
    mutt.press("2\n", "")
    mutt.press("S", r"spam: 1 new.*Del:1")
    mutt.end()
    assert label(filled, make_message("spam", 100)) == "spam"
    assert [
        raw.endswith(make_message("spam", 100).partition(b"\n\n")[2]) for raw in messages(filled / "Maildir/.Junk")
    ] == [True]
    assert messages(filled / "Maildir") == [make_message("ham", 100)]


def test_keys_learn_ham_and_explain_and_leave_the_message_where_it_is(filled, begun):
    mutt = begun()
    assert 'has "garden"' in mutt.press("X", "Press any key")
    mutt.press(" ", "Mutt: ~/Maildir")
    mutt.press("H", r"ham: 1 new.*Mutt: ~/Maildir")
    mutt.end()
    assert label(filled, make_message("ham", 100)) == "ham"
    assert sorted(messages(filled / "Maildir")) == sorted(make_message(kind, 100) for kind in ("ham", "spam"))


def test_all_tagged_messages_are_learned_each_by_itself(filled, begun):
    mutt = begun("-e", "set auto_tag")
    mutt.press("tt", r"Tag:2|\*.*\*")
    mutt.press("S", r"spam: 1 new.*spam: 1 new.*Saving tagged.*Del")
    mutt.end()
    assert [label(filled, make_message(kind, 100)) for kind in ("ham", "spam")] == ["spam", "spam"]
    assert len(messages(filled / "Maildir/.Junk")) == 2


def test_what_keeps_it_from_learning_can_be_read_and_the_message_is_kept(filled, begun):
    (filled / PROGRAM).write_text("#!/bin/sh\necho 'error: no room'\nexit 1\n")
    mutt = begun()
    assert "error: no room" in mutt.press("S", "Press any key")
    mutt.press(" ", "Del:1")
    mutt.end()
    assert len(messages(filled / "Maildir")) + len(messages(filled / "Maildir/.Junk")) == 2
