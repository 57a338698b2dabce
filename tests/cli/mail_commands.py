"""Mailboxes on disk, a store that has learned them, and `deciban mail` called with bytes."""

import mailbox
import os
import signal
import subprocess
import sys

from tests.cli.terminal import call
from tests.mail.spamds import make_message

EACH = 30
"""Messages of each label: enough for sure verdicts."""


def mbox(path, label, numbers):
    """An mbox as mail programs write it."""
    path.write_bytes(
        b"".join(b"From me Mon Jan  1 10:00:00 2024\n" + make_message(label, n) + b"\n" for n in numbers)
    )
    return path


def maildir(path, label, numbers):
    """A Maildir, half of it read."""
    box = mailbox.Maildir(path, create=True)
    for n in numbers:
        message = mailbox.MaildirMessage(make_message(label, n))
        if n % 2:
            message.set_subdir("cur")
            message.set_flags("S")
        box.add(message)
    return path


def make_store(folder):
    """A store that has learned messages of both labels."""
    store = folder / "mail.db"
    ham, spam = mbox(folder / "ham.mbox", "ham", range(EACH)), maildir(folder / "Junk", "spam", range(EACH))
    result = mail("learn", "--ham", ham, "--spam", spam, "--store", store)
    assert result.exit_code == 0, result.stderr
    return store


def mail(*arguments, stdin=None):
    """`deciban mail` within this process: quick."""
    return call("mail", *arguments, stdin=stdin)


def command(*arguments):
    return [sys.executable, "-m", "deciban.cli.main", "mail", *map(str, arguments)]


def program(*arguments, stdin=b"", **environment):
    """`deciban mail` as a process of its own, with bytes in and out."""
    env = {**os.environ, **{name: str(value) for name, value in environment.items()}}
    return subprocess.run(command(*arguments), input=stdin, capture_output=True, env=env, timeout=120, check=False)


def start_program(*arguments, **how):
    """Start `deciban mail` as a process; signals have their effect however the tests were started."""

    def prepare():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command(*arguments), preexec_fn=prepare, **{**pipes, **how})


def has_verdict_header(raw, insert_header):
    """Return whether `stamped` is the message with our header before all others, and nothing else changed."""
    first, _, rest = insert_header.partition(b"\n")
    return first.startswith(b"X-Deciban: ") and rest == raw
