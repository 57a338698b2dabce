"""Many messages, by several processes: the same as one by one, in their order."""

import os
import signal
import subprocess

import pytest

from deciban.errors import InputError
from deciban.mail.bulk import batches as gathering
from deciban.mail.bulk import read_batches as bulk
from deciban.mail.bulk import reader_processes as workers_module
from deciban.mail.bulk import token_numbers as numbering
from deciban.mail.bulk.read_batches import Words
from deciban.mail.bulk.reader_processes import FEW, ReaderPool
from deciban.mail.message.digest import compute_digest
from deciban.mail.message.message import read_message
from deciban.mail.tokens.tokens import MAX_TOKENS, TokenOptions, extract_tokens
from tests.mail import made_up

LETTERS = [
    *made_up.BROKEN.values(),
    *(made_up.plain(name).as_bytes() for name in made_up.TEXTS),
    made_up.rich().as_bytes(),
]
MANY = [LETTERS[i % len(LETTERS)] + b"%d" % i for i in range(700)]
READING = TokenOptions(pairs=True)


def one_by_one(raws):
    return [(compute_digest(raw), sorted(extract_tokens(read_message(raw), READING))) for raw in raws]


def replace_surrogates(bundles, words):
    """Digest and tokens of each message."""
    for bundle in bundles:
        known = list(words)
        ends = bundle.sizes.cumsum().tolist()
        for digest, begin, end in zip(bundle.digests, [0, *ends], ends):
            yield digest, sorted(known[place] for place in bundle.which[begin:end].tolist())


def read(raws, processes):
    words = Words()
    return list(replace_surrogates(bulk.read_batches(raws, words, processes, READING), words))


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_messages_come_back_in_order_as_if_read_one_by_one(processes):
    assert read(iter(MANY), processes) == one_by_one(MANY)


@pytest.mark.parametrize("n", [0, 1, FEW - 1, FEW, FEW + 1])
def test_few_messages_are_as_good_as_many(n):
    assert read(MANY[:n], 2) == one_by_one(MANY[:n])


def test_numbers_and_words_that_begin_anew_mean_the_same_tokens(monkeypatch):
    monkeypatch.setattr(numbering, "MOST_WORDS", 50)
    words, found = Words(), []
    for bundle in bulk.read_batches(MANY, words, 1, READING):
        found += replace_surrogates([bundle], words)
        words.begin_anew()
    assert found == one_by_one(MANY)


def test_words_that_are_forgotten_while_they_are_asked_for_are_asked_for_again():
    class Forgetful(Words):
        def places(self, words, messages):
            found = super().places(words, messages)
            if self.times < 3:
                self.begin_anew()
            return found

    words = Forgetful()
    assert list(replace_surrogates(bulk.read_batches(MANY, words, 1, READING), words)) == one_by_one(MANY)


def test_places_of_words_are_the_same_every_time():
    once, again = Words(), Words()
    for words in (once, again):
        assert list(bulk.read_batches(MANY, words, 2, READING))
    assert list(once) == list(again)


def test_what_was_cut_is_told():
    words = Words()
    short, long = b"Subject: short\n\n", b"Subject: long\n\n" + b"word " * 100_000
    [bundle] = bulk.read_batches([short, long], words, 1, READING)
    assert bundle.cut == {1: read_message(long).cut}
    assert "text after" in bundle.cut[1][0]


def test_tokens_beyond_the_bound_are_the_same_as_alone():
    raw = b"\n" + " ".join(f"w{i}" for i in range(MAX_TOKENS + 5)).encode()
    words = Words()
    [bundle] = bulk.read_batches([raw], words, 1, TokenOptions())
    known = list(words)
    assert {known[place] for place in bundle.which.tolist()} == set(extract_tokens(read_message(raw)))
    assert bundle.cut == {0: (f"tokens after the first {MAX_TOKENS}",)}


@pytest.fixture
def workers(monkeypatch):
    started = []

    class Noted(workers_module.Worker):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            started.append(self.process)

    monkeypatch.setattr(workers_module, "Worker", Noted)
    return started


def test_a_worker_that_dies_takes_no_message_with_it(workers):
    words, found = Words(), []
    for each in replace_surrogates(bulk.read_batches(MANY, words, 2, READING), words):
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

    monkeypatch.setattr(workers_module.subprocess, "Popen", popen)
    assert read(iter(MANY), 2) == one_by_one(MANY)
    assert len(workers) == there_are


def test_a_system_that_has_no_more_threads_leaves_no_process_behind(monkeypatch):
    made = []

    def popen(*arguments, _popen=subprocess.Popen, **options):
        made.append(_popen(*arguments, **options))
        return made[-1]

    def start(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(workers_module.subprocess, "Popen", popen)
    monkeypatch.setattr(workers_module.Thread, "start", start)
    assert read(iter(MANY), 2) == one_by_one(MANY)
    assert [process.returncode for process in made] == [-signal.SIGKILL]


def test_ctrl_c_is_for_the_one_who_asks(workers):
    """A terminal sends it to all processes of a group; a worker would write where it was."""
    some = bulk.read_batches(MANY, Words(), 2)
    next(some)
    assert all(os.getpgid(process.pid) != os.getpgid(0) for process in workers)
    some.close()


def test_words_that_all_become_the_same_are_not_remembered_for_ever(monkeypatch):
    monkeypatch.setattr(numbering, "MOST_WORDS", 300)
    here = numbering.TokenNumberer(TokenOptions())
    for i in range(50):
        here.said([b"\n" + b" ".join(b"%040d" % (100 * i + j) for j in range(100))])
        assert len(here._words) <= 400


def test_a_batch_ends_before_its_words_fill_the_memory(monkeypatch):
    monkeypatch.setattr(gathering, "MOST_WORDS", 1000)
    raws = [b"\n" + b" ".join(b"w%d" % (200 * i + j) for j in range(200)) for i in range(500)]
    batches = list(gathering.batches((("ham", (str(i), raw)) for i, raw in enumerate(raws)), 1, READING, 10_000))
    assert len(batches) == 5
    assert [head.digest for heads, _ in batches for head in heads] == [compute_digest(raw) for raw in raws]


def test_whoever_stops_early_leaves_no_process_behind(workers):
    some = bulk.read_batches(MANY, Words(), 2)
    next(some)
    some.close()
    assert len(workers) == 2
    assert all(process.poll() is not None for process in workers)


def test_readers_that_are_not_used_or_are_refused_leave_no_process_behind(workers):
    assert ReaderPool(iter(MANY), 2).workers
    with pytest.raises(InputError, match="another way"):
        next(bulk.read_batches(MANY, Words(), ReaderPool(iter(MANY), 2), READING))
    assert len(workers) == 4
    assert all(process.poll() is not None for process in workers)


def test_reading_mail_loads_nothing_heavy():
    import json
    import subprocess
    import sys

    code = "import deciban.mail.bulk.reader_processes, sys, json; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    )
    assert not {"numpy", "numba", "sklearn", "scipy", "pyarrow", "duckdb", "email", "html.parser"} & set(loaded)


def test_a_machine_of_one_core_reads_in_the_process_that_asks_unless_workers_are_wanted(monkeypatch, workers):
    monkeypatch.setattr(workers_module.os, "cpu_count", lambda: 1)
    assert read(iter(MANY), None) == one_by_one(MANY)
    assert len(workers) == 0
    assert read(iter(MANY), 2) == one_by_one(MANY)
    assert len(workers) == 2
