"""Rooms for mail systems: a folder and a view of all files of their own, where users of theirs can run `deciban`."""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.recipes.homes import PACKAGES, program

NOBODY = 65534
"""Whom mail systems run programs as, if root runs the tests: none of them does so as root."""


@dataclass
class Room:
    path: Path
    within: tuple[str, ...] = ()
    """What a command is begun with, to be run in here."""

    @property
    def program(self):
        return self.path / "bin/deciban"

    def run(self, *command, message=b"", **options):
        return subprocess.run(
            [*self.within, *command], input=message, capture_output=True, timeout=60, check=False, **options
        )


@contextmanager
def room(binds=None):
    """A room with the tree's program; `binds` are folders in it and where they are to be seen instead of others.

    Whoever runs the tests may have Python where nobody else can reach it: it is seen within the room too. What is
    mounted vanishes with the process that keeps the room, and was never there for others.
    """
    path = Path(tempfile.mkdtemp(prefix="room-"))  # not in pytest's folders, that are for one user alone
    path.chmod(0o755)
    packages = [*map(Path, PACKAGES), *(Path(sysconfig.get_path(name)) for name in ("purelib", "platlib"))]
    seen = {path / f"packages{n}": found for n, found in enumerate(dict.fromkeys(packages))}
    python = path / "python"
    keeper = None
    try:
        if os.geteuid() == 0:
            program(path / "bin/deciban", python / "bin" / Path(sys.executable).resolve().name, seen)
            keeper = _keeper(
                {**seen, python: sys.base_prefix}, {path / name: at for name, at in (binds or {}).items()}
            )
            yield Room(path, ("nsenter", "-t", str(keeper.pid), "-m", "--"))
        else:
            program(path / "bin/deciban")
            yield Room(path)
    finally:
        if keeper:
            keeper.kill()
            keeper.wait(20)
            keeper.stdout.close()
        shutil.rmtree(path, ignore_errors=True)


def _keeper(read, written):
    """A process that keeps mounts: folders that may be read, and those that may be written to."""
    lines = ["set -e"]
    for at, what in read.items():
        at.mkdir()
        lines.append(f"mount -o bind,ro {shlex.quote(str(what))} {shlex.quote(str(at))}")
    for what, at in written.items():
        what.mkdir()
        lines.append(f"mount -o bind {shlex.quote(str(what))} {shlex.quote(str(at))}")
    lines += ["echo ready", "exec sleep infinity"]
    keeper = subprocess.Popen(["unshare", "-m", "sh", "-c", "\n".join(lines)], stdout=subprocess.PIPE)
    if keeper.stdout.readline() != b"ready\n":
        keeper.wait(20)
        keeper.stdout.close()
        pytest.skip("root may not mount here")
    return keeper


def theirs(path):
    """Give a folder and all in it to whom mail systems run programs as."""
    if os.geteuid() == 0:
        for found in (path, *path.rglob("*")):
            os.chown(found, NOBODY, NOBODY)
