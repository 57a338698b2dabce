"""Sandboxes for mail systems: a folder and a mount namespace of their own, where their users can run `deciban`."""

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
"""The user that mail systems run programs as if root runs the tests: none of them does so as root."""


@dataclass
class Sandbox:
    path: Path
    within: tuple[str, ...] = ()
    """The words before a command that run it in the sandbox."""

    @property
    def program(self):
        return self.path / "bin/deciban"

    def run(self, *command, message=b"", **options):
        return subprocess.run(
            [*self.within, *command], input=message, capture_output=True, timeout=60, check=False, **options
        )


@contextmanager
def sandbox(binds=None):
    """A sandbox with the program under test; `binds` are folders in it and the places where they are mounted.

    Python may be installed where other users cannot read it, so it is mounted in the sandbox too. The mounts end with
    the process that holds the namespace, and are invisible to others.
    """
    path = Path(tempfile.mkdtemp(prefix="sandbox-"))  # not in pytest's folders, that are for one user alone
    path.chmod(0o755)
    packages = [*map(Path, PACKAGES), *(Path(sysconfig.get_path(name)) for name in ("purelib", "platlib"))]
    seen = {path / f"packages{n}": found for n, found in enumerate(dict.fromkeys(packages))}
    python = path / "python"
    keeper = None
    try:
        if os.geteuid() == 0:
            program(path / "bin/deciban", python / "bin" / Path(sys.executable).resolve().name, seen)
            keeper = _hold_mounts(
                {**seen, python: sys.base_prefix}, {path / name: at for name, at in (binds or {}).items()}
            )
            yield Sandbox(path, ("nsenter", "-t", str(keeper.pid), "-m", "--"))
        else:
            program(path / "bin/deciban")
            yield Sandbox(path)
    finally:
        if keeper:
            keeper.kill()
            keeper.wait(20)
            keeper.stdout.close()
        shutil.rmtree(path, ignore_errors=True)


def _hold_mounts(read, written):
    """Start a process that holds mounts: folders to read, and folders to write to."""
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


def give_to_nobody(path):
    """Give a folder and all in it to the user that mail systems run programs as."""
    if os.geteuid() == 0:
        for found in (path, *path.rglob("*")):
            os.chown(found, NOBODY, NOBODY)
