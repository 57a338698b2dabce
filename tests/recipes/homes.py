"""Home folders for mail delivery, each with the `deciban` under test and a trained store; and faults in them."""

import os
import shutil
import sys
import time
from pathlib import Path

import deciban
from deciban.mail.message.message import compute_digest
from deciban.mail.store.store import Store

STORE = Path(".local/share/deciban/mail.db")
PROGRAM = Path(".local/bin/deciban")
PACKAGES = (Path(deciban.__file__).parents[1], *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)))
"""The import path of the package under test."""


def program(path, python=sys.executable, packages=PACKAGES):
    """Write `deciban` as an executable file that runs the package under test in any environment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"#!/bin/sh\nexport PYTHONPATH='{os.pathsep.join(map(str, packages))}' PYTHONDONTWRITEBYTECODE=1\n"
        f"export LD_LIBRARY_PATH='{Path(python).parents[1]}/lib'\n"  # its own library, wherever it has been moved to
        f"exec '{python}' -P -m deciban.cli.main \"$@\"\n"
    )
    path.chmod(0o755)
    return path


def home(path, learned):
    """Make a home folder with a store, the program, and a Maildir with Junk in it."""
    (path / STORE).parent.mkdir(parents=True)
    shutil.copy(learned, path / STORE)
    program(path / PROGRAM)
    for folder in ("Maildir", "Maildir/.Junk"):
        for name in ("new", "cur", "tmp"):
            (path / folder / name).mkdir(parents=True)
    return path


TROUBLES = ("no store", "no database", "no program", "killed")


def spoil(trouble, store, program):
    """Cause a fault at the next message."""
    match trouble:
        case "no store":
            store.unlink()
        case "no database":
            store.write_bytes(b"nonsense" * 1000)
        case "no program":
            program.unlink()
        case "killed":  # half-way through the message
            program.write_text("#!/bin/sh\nhead -c 40\nkill -9 $$\n")


def environment(path, **more):
    """The small environment that a mail system or cron gives a program."""
    return {"HOME": str(path), "PATH": "/usr/bin:/bin:/usr/sbin", "LANG": "C.UTF-8", **more}


def label(home, message):
    """The label that a message was learned under."""
    with Store(home / STORE, create=False) as store:
        return store.find_label(compute_digest(message))


def messages(folder):
    """The messages in a Maildir, read or not."""
    return [path.read_bytes() for name in ("new", "cur") for path in sorted((folder / name).glob("*"))]


def wait_until(what, log=None):
    """Wait for a condition; if it stays false, the log may show why."""
    until = time.monotonic() + 60
    while not what():
        assert time.monotonic() < until, log.read_text() if log and log.exists() else "it did not come"
        time.sleep(0.05)
