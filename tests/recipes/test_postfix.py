"""Postfix's content filter, by the files that the document prints, with a configuration and a queue of its own."""

import os
import re
import shutil
import smtplib
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.mail.dovecot import free_port
from tests.mail.spamds import SPAMC, make_message
from tests.recipes.document import printed
from tests.recipes.homes import TROUBLES, environment, messages, program, spoil, wait_until
from tests.recipes.sandboxes import NOBODY, give_to_nobody, sandbox

POSTFIX = shutil.which("postfix", path="/usr/sbin:/usr/bin:/sbin")
DIST = Path("/usr/share/postfix/master.cf.dist")
real = pytest.mark.skipif(
    not (POSTFIX and DIST.exists() and os.geteuid() == 0), reason="needs Debian's postfix, and root to start it"
)
SCRIPT, UNIT = "/usr/local/bin/deciban-filter", "/etc/systemd/system/deciban-spamd.service"
MAIN = """
compatibility_level = 3.6
data_directory = {path}/data
maillog_file = {path}/log
maillog_file_prefixes = {path}
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
myhostname = mail.example
mydestination =
local_header_rewrite_clients =
virtual_mailbox_domains = home.example
virtual_mailbox_base = {path}/boxes
virtual_mailbox_maps = static:me/
virtual_alias_maps = inline:{{ us@home.example=me@home.example }}
virtual_uid_maps = static:{nobody}
virtual_gid_maps = static:{nobody}
"""


class System:
    """A Postfix that listens on loopback, and delivers to a Maildir."""

    def __init__(self, sandbox):
        self.sandbox, self.port = sandbox, free_port()
        self.store, self.box = sandbox.path / "store/mail.db", sandbox.path / "boxes/me"
        self.script, self.socket = sandbox.path / "deciban-filter", sandbox.path / "store/spamd.sock"

    def send(self, message, sender="ann@office.example", recipient="me@home.example"):
        with smtplib.SMTP("127.0.0.1", self.port, timeout=30) as line:
            line.sendmail(sender, recipient, message.replace(b"\n", b"\r\n"))
        (found,) = self.delivered()
        assert found.endswith(message)
        return found

    def delivered(self):
        wait_until(lambda: messages(self.box), self.sandbox.path / "log")
        return messages(self.box)


@pytest.fixture(scope="module")
def running():
    with sandbox({"etc": "/etc/postfix", "spool": "/var/spool/postfix"}) as here:
        system = System(here)
        prepare(system)
        with start_program([*here.within, POSTFIX, "start-fg"]):
            try:
                wait_until(lambda: answers(system.port), here.path / "log")
                yield system
            finally:  # it is a child of what was started, and outlives it
                here.run(POSTFIX, "abort")


def prepare(system):
    path = system.sandbox.path
    shutil.copytree("/etc/postfix", path / "etc", dirs_exist_ok=True, symlinks=True)
    (path / "etc/main.cf").write_text(MAIN.format(path=path, nobody=NOBODY))
    ours = {SCRIPT: system.script, "user=deciban": "user=nobody", "smtp      inet": f"127.0.0.1:{system.port} inet"}
    lines = [line for line in DIST.read_text().splitlines() if not line.startswith("smtp      inet")]
    (path / "etc/master.cf").write_text("\n".join(lines) + "\n" + printed("/etc/postfix/master.cf", ours))
    for name in ("data", "boxes", "store"):
        (path / name).mkdir()
    shutil.chown(path / "data", "postfix")
    give_to_nobody(path / "boxes")
    checked = system.sandbox.run(POSTFIX, "check")
    assert checked.returncode == 0, checked.stderr


@contextmanager
def start_program(command):
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)


def answers(port):
    try:
        with smtplib.SMTP("127.0.0.1", port, timeout=5):
            return True
    except OSError:
        return False


@pytest.fixture
def system(running, learned):
    """One Postfix for all tests, each with an empty box, the program, and a store."""
    shutil.rmtree(running.box, ignore_errors=True)
    shutil.copy(learned, running.store)
    give_to_nobody(running.store.parent)
    running.store.parent.chmod(0o700)
    ours = {"/var/lib/deciban/mail.db": running.store, "/usr/local/bin/deciban": running.sandbox.program}
    write_script(running.script, printed(SCRIPT, ours))
    return running


def write_script(path, text):
    path.write_text(text)
    path.chmod(0o755)


@real
@pytest.mark.parametrize("label", ["ham", "spam"])
def test_mail_is_classified_on_its_way(system, label):
    found = system.send(make_message(label, 100))
    assert f"\nX-Deciban: {label}; p=".encode() in found
    assert b"\nReturn-Path: <ann@office.example>" in b"\n" + found
    assert b"\nX-Original-To: me@home.example" in found


@real
def test_a_message_without_a_sender_stays_so_and_an_alias_is_followed_once(system):
    found = system.send(make_message("ham", 100), sender="", recipient="us@home.example")
    assert b"\nReturn-Path: <>" in b"\n" + found
    assert b"\nX-Original-To: us@home.example" in found
    assert b"X-Deciban: ham" in found


@real
@pytest.mark.parametrize("trouble", TROUBLES)
def test_mail_passes_as_it_came_whatever_is_wrong(system, trouble, tmp_path):
    kept = shutil.copy(system.sandbox.program, tmp_path)
    try:
        spoil(trouble, system.store, system.sandbox.program)
        found = system.send(make_message("spam", 100))
    finally:
        shutil.copy(kept, system.sandbox.program)
    assert b"X-Deciban" not in found


@real
@pytest.mark.skipif(not SPAMC, reason="needs Debian's spamc")
def test_the_server_is_asked_instead_and_mail_passes_if_it_is_not_there(system):
    change = {"/run/deciban/spamd.sock": system.socket}
    text = system.script.read_text()
    write_script(system.script, text.replace(function(text), printed("judge", change)))
    unit = printed(
        UNIT, {**change, "/usr/local/bin/deciban": system.sandbox.program, "/var/lib/deciban/mail.db": system.store}
    )
    (command,) = re.findall("^ExecStart=(.*)$", unit, flags=re.MULTILINE)
    own = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    with start_program([*system.sandbox.within, *own, *command.split()]):
        wait_until(system.socket.exists)
        assert b"\nX-Deciban: spam; p=" in system.send(make_message("spam", 100))
    shutil.rmtree(system.box)
    assert b"X-Deciban" not in system.send(make_message("spam", 100))


def function(text):
    """The function `judge` of a script."""
    return text[text.index("judge() {") : text.index("}\n") + 2]


@pytest.fixture
def alone(tmp_path, learned):
    """The script by itself, with a mail system that writes down what it gets, or is out of order."""
    (tmp_path / "sendmail").write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/said\ncat > {tmp_path}/got\n')
    (tmp_path / "sendmail").chmod(0o755)
    ours = {
        "/var/lib/deciban/mail.db": learned,
        "/usr/local/bin/deciban": program(tmp_path / "deciban"),
        "/usr/sbin/sendmail": tmp_path / "sendmail",
    }
    write_script(tmp_path / "script", printed(SCRIPT, ours))
    return tmp_path


def called(alone):
    arguments = ["-f", "ann@office.example", "--", "me@home.example", "us@home.example"]
    env = environment(alone, TMPDIR=str(alone / "scratch"))
    return subprocess.run(
        [alone / "script", *arguments], input=make_message("spam", 100), env=env, timeout=60, check=False
    ).returncode


def test_the_script_hands_on_the_message_with_its_envelope_and_leaves_nothing_behind(alone):
    (alone / "scratch").mkdir()
    assert called(alone) == 0
    assert (alone / "said").read_text() == "-G -i -f ann@office.example -- me@home.example us@home.example\n"
    assert (alone / "got").read_bytes().startswith(b"X-Deciban: spam; p=")
    assert (alone / "got").read_bytes().endswith(b"\n" + make_message("spam", 100))
    assert list((alone / "scratch").iterdir()) == []


def test_a_message_that_cannot_be_written_down_or_handed_on_is_tried_again_later(alone):
    assert called(alone) == 75  # no folder for temporary files
    (alone / "scratch").mkdir()
    (alone / "sendmail").write_text("#!/bin/sh\nexit 1\n")
    assert called(alone) == 75
    assert list((alone / "scratch").iterdir()) == []
