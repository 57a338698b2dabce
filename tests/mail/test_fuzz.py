"""Whatever the bytes, a message is read: nothing raises, nothing hangs, memory is bounded."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.mail import fuzzing, made_up

from deciban.mail.message import read_message

ROOT = Path(__file__).parents[2]
PIECES = st.one_of(st.sampled_from([*fuzzing.WORDS, *made_up.BROKEN.values()]), st.binary(max_size=30))


@given(st.lists(PIECES, max_size=20).map(b"".join))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_a_message(raw):
    assert fuzzing.trouble_with(raw) == ""


@given(st.binary(max_size=400))
@settings(max_examples=200, deadline=None)
def test_reading_twice_gives_the_same(raw):
    assert read_message(raw) == read_message(raw)


def test_a_few_mutated_messages():
    own, chance = [made_up.rich().as_bytes(), made_up.forwarded().as_bytes()], random.Random(1)
    for _ in range(300):
        raw = fuzzing.mutated(chance.choice(own), own, chance)
        assert fuzzing.trouble_with(raw) == "", raw


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [0, 1])
def test_twelve_thousand_mutated_messages_each(seed):
    command = [sys.executable, "-m", "tests.mail.fuzzing", "12000", str(seed)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert told["troubles"] == []
    assert told["slowest"] < 1
    assert told["peak_mib"] < 256
