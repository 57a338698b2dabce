"""No mutated input crashes, hangs, takes much memory, raises an untidy error or is read as something else."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz import runner
from tests.fuzz.runner import TARGETS
from tests.thorough import thorough_beyond

INPUTS = {"arrow_files": 50, "import_text": 50, "messages": 200, "spamd_requests": 200, "stores": 50}
"""Inputs of targets that `make test` tries, as many as a second or two allow."""


def fuzz(*arguments):
    command = [sys.executable, "-m", "tests.fuzz", *arguments]
    return subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("target", thorough_beyond(2, [*INPUTS], "starts a process: three seconds each"))
def test_a_few_inputs_of_some_targets(target):
    inputs = INPUTS[target]
    done = fuzz(target, "--seconds", "600", "--processes", "1", "--inputs", str(inputs))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{inputs} " in done.stdout


@pytest.mark.thorough(reason="a hundred inputs of each target: minutes in all")
@pytest.mark.parametrize("target", TARGETS)
def test_many_inputs_of_each_target(target):
    done = fuzz(target, "--seconds", "600", "--inputs", "100", "--processes", "1", "--seed", "thorough")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("target", thorough_beyond(5, [*TARGETS], "makes inputs twice: half a second each"))
def test_mutations_depend_on_the_seed_alone(target):
    module = runner.load(target)
    raw = module.seeds()[0]
    assert module.mutate(raw, random.Random(3)) == module.mutate(raw, random.Random(3))


PLANTED = """
import ctypes, os, time
import deciban.errors as errors

def check(raw):
    if raw == b"crash": ctypes.string_at(0)
    if raw == b"hang": sum(range(10**12))
    if raw == b"memory": bytearray(1 << 33)
    if raw == b"untidy": {}[raw]
    if raw == b"difference": assert False, "1 is not 2"
    if raw == b"exit": os._exit(3)
    if raw == b"rejected": raise errors.InputError("no")
"""
KINDS = {
    "crash": "crash", "hang": "hang", "memory": "untidy", "untidy": "untidy", "difference": "difference",
    "exit": "crash", "rejected": "rejected", "accepted": "accepted",
}  # fmt: skip


def test_every_kind_of_finding_is_found_and_the_next_input_is_checked(tmp_path):
    script = f"""
import sys, time, types
from tests.fuzz import runner
module = types.ModuleType("planted")
exec({PLANTED!r}, module.__dict__)
kinds = {list(KINDS)!r}
runner.drive(module, lambda i: kinds[i].encode(), b"", time.monotonic() + 100, len(kinds), lambda o: print(o.kind))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=Path(__file__).parents[2], capture_output=True, text=True
    )
    assert done.stdout.split() == list(KINDS.values()), done.stderr
