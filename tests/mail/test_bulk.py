"""Many messages, by several processes: the same as one by one, in their order."""

import os
import signal

import pytest
from tests.mail import made_up

from deciban.mail import bulk
from deciban.mail.digest import digest_of
from deciban.mail.message import read_message
from deciban.mail.tokens import Reading, tokens_of

LETTERS = [
    *made_up.BROKEN.values(),
    *(made_up.plain(name).as_bytes() for name in made_up.TEXTS),
    made_up.rich().as_bytes(),
]
MANY = [(f"box:{i}", LETTERS[i % len(LETTERS)] + b"%d" % i) for i in range(700)]
READING = Reading(pairs=True)


def one_by_one(raws, reading):
    return [(name, digest_of(raw), tokens_of(read_message(raw), reading)) for name, raw in raws]


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_messages_come_back_in_order_as_if_read_one_by_one(processes):
    assert list(bulk.tokens_in_bulk(iter(MANY), processes, READING)) == one_by_one(MANY, READING)


@pytest.mark.parametrize("n", [0, 1, bulk.FEW - 1, bulk.FEW, bulk.FEW + 1])
def test_few_messages_are_as_good_as_many(n):
    assert [name for name, _, _ in bulk.tokens_in_bulk(MANY[:n], 2)] == [name for name, _ in MANY[:n]]


def test_a_worker_that_dies_takes_no_message_with_it(monkeypatch):
    started = []

    class Mortal(bulk.Worker):
        def __init__(self, reading):
            super().__init__(reading)
            started.append(self.process.pid)

    monkeypatch.setattr(bulk, "Worker", Mortal)
    found = []
    for each in bulk.tokens_in_bulk(MANY, 2, READING):
        if len(found) == 10:
            os.kill(started[0], signal.SIGKILL)
        found.append(each)
    assert found == one_by_one(MANY, READING)


def test_whoever_stops_early_leaves_no_process_behind(monkeypatch):
    workers = []

    class Noted(bulk.Worker):
        def __init__(self, reading):
            super().__init__(reading)
            workers.append(self.process)

    monkeypatch.setattr(bulk, "Worker", Noted)
    some = bulk.tokens_in_bulk(MANY, 2)
    next(some)
    some.close()
    assert len(workers) == 2
    assert all(process.poll() is not None for process in workers)


def test_reading_mail_loads_nothing_heavy():
    import json
    import subprocess
    import sys

    code = "import deciban.mail.bulk, sys, json; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    )
    assert not {"numpy", "numba", "sklearn", "scipy", "pyarrow", "duckdb", "email", "html.parser"} & set(loaded)
