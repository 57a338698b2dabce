"""Many messages, read by several processes, come out as if read one by one, in their order."""

import json
import os
import signal
import subprocess
import sys

import pytest

from deciban.errors import InputError
from deciban.mail.bulk import read_batches as bulk
from deciban.mail.bulk import reader_processes
from deciban.mail.bulk.reader_processes import MIN_MESSAGES_FOR_PROCESSES, ReaderPool, read_chunk
from deciban.mail.message.message import compute_digest, read_message
from deciban.mail.tokens.tokens import DEFAULT_OPTIONS, MAX_TOKENS, TokenOptions, extract_tokens
from tests.mail import hostile, made_up
from tests.mail.fuzzing import read_by_definition

LETTERS = [
    *made_up.BROKEN.values(),
    *(made_up.plain(name).as_bytes() for name in made_up.TEXTS),
    made_up.rich().as_bytes(),
]
MANY = [LETTERS[i % len(LETTERS)] + b"%d" % i for i in range(700)]
READING = TokenOptions(pairs=True)


def one_by_one(raws):
    return [(compute_digest(raw), sorted(extract_tokens(read_message(raw), READING))) for raw in raws]


def labelled(raws):
    return (("ham", (str(i), raw)) for i, raw in enumerate(raws))


def split_messages(batches):
    """Yield the digest and the tokens of each message."""
    for batch in batches:
        ends = batch.sizes.cumsum().tolist()
        for digest, begin, end in zip(batch.digests, [0, *ends], ends):
            yield digest, sorted(batch.words[i] for i in batch.indices[begin:end].tolist())


def read(raws, processes):
    return list(split_messages(bulk.read_batches(labelled(raws), processes, READING)))


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_messages_come_back_in_order_as_if_read_one_by_one(processes):
    assert read(iter(MANY), processes) == one_by_one(MANY)


@pytest.mark.parametrize(
    "n", [0, 1, MIN_MESSAGES_FOR_PROCESSES - 1, MIN_MESSAGES_FOR_PROCESSES, MIN_MESSAGES_FOR_PROCESSES + 1]
)
def test_few_messages_are_as_good_as_many(n):
    assert read(MANY[:n], 2) == one_by_one(MANY[:n])


def test_words_are_the_same_every_time():
    once, again = ([batch.words for batch in bulk.read_batches(labelled(MANY), 2, READING)] for _ in range(2))
    assert once == again


def test_omissions_are_listed():
    short, long = b"Subject: short\n\n", b"Subject: long\n\n" + b"word " * 100_000
    [batch] = bulk.read_batches(labelled([short, long]), 1, READING)
    assert batch.omissions == {1: read_message(long).cut}
    assert "text after" in batch.omissions[1][0]


def test_tokens_beyond_the_limit_are_the_same_as_alone():
    raw = b"\n" + " ".join(f"w{i}" for i in range(MAX_TOKENS + 5)).encode()
    [batch] = bulk.read_batches(labelled([raw]), 1, TokenOptions())
    assert set(batch.words) == set(extract_tokens(read_message(raw)))
    assert batch.omissions == {0: (f"tokens after the first {MAX_TOKENS}",)}


@pytest.mark.parametrize("chunk_messages", [1, 7, 100])
def test_the_size_of_chunks_does_not_matter(monkeypatch, chunk_messages):
    raws = [*made_up.example_mailbox()[:200], *made_up.BROKEN.values(), *dict(hostile.repeated(2000)).values()]
    monkeypatch.setattr(bulk, "MAX_CHUNK_MESSAGES", chunk_messages)
    found = split_messages(bulk.read_batches(labelled(raws), 1, DEFAULT_OPTIONS))
    assert list(found) == [(held.digest, held.tokens) for held in map(read_by_definition, raws)]


def test_an_empty_chunk_has_no_tokens_and_digests_are_left_out_unless_they_are_wanted():
    assert read_chunk([], DEFAULT_OPTIONS, digests=True)[:4] == ("", b"", b"", [])
    found = read_chunk([b"\ntea time"], TokenOptions(pairs=True), digests=False)
    assert found.digests == []
    assert "tea+time" in found.words.split("\n")


@pytest.fixture
def workers(monkeypatch):
    started = []

    class Noted(reader_processes.ReaderProcess):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            started.append(self.process)

    monkeypatch.setattr(reader_processes, "ReaderProcess", Noted)
    return started


def test_a_worker_that_dies_takes_no_message_with_it(workers):
    found = []
    for each in split_messages(bulk.read_batches(labelled(MANY), 2, READING)):
        if len(found) == 10:
            os.kill(workers[0].pid, signal.SIGKILL)
        found.append(each)
    assert found == one_by_one(MANY)


@pytest.mark.parametrize("there_are", [0, 1])
def test_a_system_that_has_no_more_processes_reads_with_those_it_has(monkeypatch, workers, there_are):
    def popen(*arguments, _popen=subprocess.Popen, **options):
        if len(workers) >= there_are:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        return _popen(*arguments, **options)

    monkeypatch.setattr(reader_processes.subprocess, "Popen", popen)
    assert read(iter(MANY), 2) == one_by_one(MANY)
    assert len(workers) == there_are


def test_a_system_that_has_no_more_threads_leaves_no_process_behind(monkeypatch):
    made = []

    def popen(*arguments, _popen=subprocess.Popen, **options):
        made.append(_popen(*arguments, **options))
        return made[-1]

    def start(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(reader_processes.subprocess, "Popen", popen)
    monkeypatch.setattr(reader_processes.Thread, "start", start)
    assert read(iter(MANY), 2) == one_by_one(MANY)
    assert [process.returncode for process in made] == [-signal.SIGKILL]


def test_ctrl_c_is_for_the_one_who_asks(workers):
    """A terminal sends it to all processes of a group; a worker would write where it was."""
    some = bulk.read_batches(labelled(MANY), 2)
    next(some)
    assert all(os.getpgid(process.pid) != os.getpgid(0) for process in workers)
    some.close()


def test_a_batch_ends_before_its_words_fill_the_memory(monkeypatch):
    monkeypatch.setattr(bulk, "MAX_BATCH_WORDS", 1000)
    raws = [b"\n" + b" ".join(b"w%d" % (200 * i + j) for j in range(200)) for i in range(500)]
    batches = list(bulk.gather_batches(labelled(raws), 1, READING, 10_000))
    assert len(batches) == 5
    assert [digest for batch in batches for digest in batch.digests] == [compute_digest(raw) for raw in raws]


def test_whoever_stops_early_leaves_no_process_behind(workers):
    some = bulk.read_batches(labelled(MANY), 2)
    next(some)
    some.close()
    assert len(workers) == 2
    assert all(process.poll() is not None for process in workers)


def test_readers_that_are_not_used_or_are_refused_leave_no_process_behind(workers):
    assert ReaderPool(iter(MANY), 2).workers
    with pytest.raises(InputError, match="another way"):
        next(bulk.read_batches(labelled(MANY), ReaderPool(iter(MANY), 2), READING))
    assert len(workers) == 4
    assert all(process.poll() is not None for process in workers)


def test_reading_mail_loads_nothing_heavy():
    code = "import deciban.mail.bulk.reader_processes, sys, json; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    )
    assert not {"numpy", "numba", "sklearn", "scipy", "pyarrow", "duckdb", "email", "html.parser"} & set(loaded)


def test_a_machine_of_one_core_reads_in_the_process_that_asks_unless_workers_are_wanted(monkeypatch, workers):
    monkeypatch.setattr(reader_processes.os, "cpu_count", lambda: 1)
    assert read(iter(MANY), None) == one_by_one(MANY)
    assert len(workers) == 0
    assert read(iter(MANY), 2) == one_by_one(MANY)
    assert len(workers) == 2
