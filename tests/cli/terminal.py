"""Calling deciban as a user does, and small tables to call it on."""

import io
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from deciban.cli.app import run

EXAMPLES = Path(__file__).parents[2] / "src" / "deciban" / "cli" / "examples"
PATIENTS, NEW = EXAMPLES / "patients.csv", EXAMPLES / "new-patients.csv"


@dataclass
class Result:
    """What a command printed, and how it ended."""

    stdout_bytes: bytes
    stderr: str
    output: str
    exit_code: int
    exception: BaseException | None

    @property
    def stdout(self):
        return self.stdout_bytes.decode()


class Copy(io.BytesIO):
    """A stream whose bytes are written to another too."""

    def __init__(self, other):
        super().__init__()
        self.other = other

    def write(self, data):
        self.other.write(data)
        return super().write(data)


def call(*arguments, stdin=None, env=None):
    """A command within this process: quick."""
    output = io.BytesIO()
    out, err = Copy(output), Copy(output)
    given = stdin if isinstance(stdin, bytes) else (stdin or "").encode()
    exception = None
    with (
        patch.dict(os.environ, env or {}),
        patch("sys.stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8")),
        patch("sys.stdout", io.TextIOWrapper(out, encoding="utf-8", write_through=True)),
        patch("sys.stderr", io.TextIOWrapper(err, encoding="utf-8", write_through=True, errors="backslashreplace")),
    ):
        try:
            exit_code = run([str(a) for a in arguments])
        except SystemExit as leaving:
            exit_code = leaving.code or 0
        except Exception as error:
            exit_code, exception = 1, error
        sys.stdout.flush()
        return Result(
            out.getvalue(), err.getvalue().decode(), output.getvalue().decode(errors="replace"), exit_code, exception
        )


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
