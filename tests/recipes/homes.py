"""Homes to deliver mail to, each with the tree's `deciban` and a store that has learned; what may go wrong there."""

import os
import shutil
import sys
import time
from pathlib import Path

import deciban
from deciban.mail.message.digest import compute_digest
from deciban.mail.store.store import Store

STORE = Path(".local/share/deciban/mail.db")
PROGRAM = Path(".local/bin/deciban")
PACKAGES = (Path(deciban.__file__).parents[1], *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)))
"""Where Python finds what is tested."""


def program(path, python=sys.executable, packages=PACKAGES):
    """`deciban` as an executable file, that runs what is tested whatever the environment says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"#!/bin/sh\nexport PYTHONPATH='{os.pathsep.join(map(str, packages))}' PYTHONDONTWRITEBYTECODE=1\n"
        f"export LD_LIBRARY_PATH='{Path(python).parents[1]}/lib'\n"  # its own library, wherever it has been moved to
        f"exec '{python}' -P -m deciban.cli.main \"$@\"\n"
    )
    path.chmod(0o755)
    return path


def home(path, learned):
    """A home with a store, the program, and a Maildir with Junk in it."""
    (path / STORE).parent.mkdir(parents=True)
    shutil.copy(learned, path / STORE)
    program(path / PROGRAM)
    for folder in ("Maildir", "Maildir/.Junk"):
        for name in ("new", "cur", "tmp"):
            (path / folder / name).mkdir(parents=True)
    return path


TROUBLES = ("no store", "no database", "no program", "killed")


def spoil(trouble, store, program):
    """Have something go wrong at the next message."""
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
    """What a mail system or cron tells a program: little."""
    return {"HOME": str(path), "PATH": "/usr/bin:/bin:/usr/sbin", "LANG": "C.UTF-8", **more}


def label(home, message):
    """What a message was learned as."""
    with Store(home / STORE, create=False) as store:
        return store.known(compute_digest(message))


def messages(folder):
    """The messages in a Maildir, read or not."""
    return [path.read_bytes() for name in ("new", "cur") for path in sorted((folder / name).glob("*"))]


def wait_until(what, log=None):
    """Wait for something to become true; if it does not, a log may tell why."""
    until = time.monotonic() + 60
    while not what():
        assert time.monotonic() < until, log.read_text() if log and log.exists() else "it did not come"
        time.sleep(0.05)
