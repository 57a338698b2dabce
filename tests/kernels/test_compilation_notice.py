"""A notice on a terminal tells that kernels are compiled, the first time only."""

import os
import pty
import subprocess
import sys

SCRIPT = """
from deciban.kernels.double_double import two_sum
print(two_sum(1.0, 2.0), two_sum(1, 2))
"""
PRINTED = "(3.0, 0.0) (3, 0)\n"


def run_on_terminal(script, **environment):
    """What a Python script prints, and what it prints on a terminal as standard error."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=theirs, text=True,
        env={**os.environ, **environment},
    )  # fmt: skip
    printed, _ = process.communicate(timeout=120)
    os.set_blocking(ours, False)
    try:
        shown = os.read(ours, 1 << 16).decode()
    except BlockingIOError:
        shown = ""
    os.close(ours)
    os.close(theirs)
    assert process.returncode == 0, shown
    return printed, shown


def test_compiling_is_announced_once_and_machine_code_from_the_cache_is_not(tmp_path):
    first, again = (run_on_terminal(SCRIPT, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert first == (PRINTED, "deciban: compiling once (about 10 s) …\r\n")
    assert again == (PRINTED, "")


def test_nothing_is_said_where_standard_error_is_no_terminal(tmp_path):
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (PRINTED, "")
