"""Calling deciban as a user does, and small tables to call it on."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

from deciban.cli.main import app

EXAMPLES = Path(__file__).parents[2] / "src" / "deciban" / "cli" / "examples"
PATIENTS, NEW = EXAMPLES / "patients.csv", EXAMPLES / "new-patients.csv"


def call(*arguments, stdin=None):
    """A command within this process: quick."""
    return CliRunner().invoke(app, [str(a) for a in arguments], input=stdin)


def done(*arguments, stdin=None):
    """A command that must succeed."""
    result = call(*arguments, stdin=stdin)
    assert result.exit_code == 0, result.stderr or result.output
    return result


def program(*arguments, before=None, wait=True, stdin=subprocess.DEVNULL, **environment):
    """A command as a process of its own; `before` runs in it first. Ctrl-C works, however the tests were started."""

    def prepare():
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if before is not None:
            before()

    command = [sys.executable, "-m", "deciban.cli.main", *map(str, arguments)]
    env = {**os.environ, **environment}
    process = subprocess.Popen(
        command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, preexec_fn=prepare
    )
    if not wait:
        return process
    out, err = process.communicate(timeout=300)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def table(path, header, rows):
    """A CSV file as simple as can be."""
    lines = [header, *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path
