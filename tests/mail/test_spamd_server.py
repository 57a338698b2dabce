"""The server as a process: signals, memory, sockets left behind, fitting beside it, and where it listens."""

import os
import signal
import socket
import stat
import subprocess
import sys
import time
import zlib
from concurrent.futures import Future
from contextlib import contextmanager

import pytest

from deciban.errors import InputError, StoreError
from deciban.mail.filter import CachingMailFilter, MailFilter
from deciban.mail.spamd import spamd_server as spamd
from deciban.mail.spamd.connections import Limits, parse_address
from deciban.mail.spamd.spamd_server import serve
from deciban.mail.spamd.worker_pool import FilterWorker, JobQueue, QueuedJob, _is_maintenance_due, maintain
from deciban.mail.store.store import Store
from tests.mail.spamds import Running, await_fit, learn_messages, make_message, receive_all, request, run_server

PROGRAM = """
import sys
from deciban.mail.spamd.spamd_server import serve
serve(sys.argv[1], sys.argv[2], ready=lambda address: print(address, flush=True))
"""


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "mail.db"
    learn_messages(path, 10)
    return path


@contextmanager
def process(store, address="127.0.0.1:0"):
    command = [sys.executable, "-c", PROGRAM, address, str(store)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as running:
        try:
            yield running, Running(running.stdout.readline().strip())
        finally:
            running.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_request_that_has_begun_is_finished_before_the_end(store, number):
    message = make_message("spam", 900)
    sent = request("PROCESS", message)
    with process(store) as (running, server), server.connect() as line:
        line.sendall(sent[:100])
        assert server.is_well()  # so the other is let in too
        running.send_signal(number)
        time.sleep(0.3)
        line.sendall(sent[100:])
        assert receive_all(line).endswith(message)
        assert running.wait(20) == 0
        with pytest.raises(OSError):
            server.connect()


@pytest.mark.thorough(reason="waits for time-outs, or serves for seconds")
def test_nobody_can_keep_the_server_from_ending(store):
    with process(store) as (running, server), server.connect() as line:
        line.sendall(b"CHECK SPAMC/1.5\r\n")
        assert server.is_well()
        running.terminate()
        assert running.wait(20) == 0


@pytest.mark.thorough(reason="waits for time-outs, or serves for seconds")
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="memory is read from /proc")
def test_memory_stays_bounded_whatever_is_sent(store):
    bomb = request("PROCESS", zlib.compress(bytes(200_000_000)), "Compress: zlib")
    big = request("CHECK", b"Subject: x\n\n" + b"word " * 3_000_000)
    with process(store) as (running, server):
        for _ in range(20):
            assert server.ask(bomb).startswith(b"SPAMD/1.1 98 ")
            server.ask(b"CHECK SPAMC/1.5\r\nContent-length: 16000000\r\n\r\n" + b"x" * 1_000_000)
        for _ in range(4):
            assert server.ask(big).startswith(b"SPAMD/1.1 0 ")
        with open(f"/proc/{running.pid}/status") as file:
            most = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
    assert most < 400_000  # KiB


def test_a_socket_left_behind_by_a_killed_server_is_taken_over(store, tmp_path):
    place = tmp_path / "s.sock"
    with process(store, f"unix:{place}") as (first, server):
        assert server.is_well()
        first.kill()
        first.wait()
    assert stat.S_ISSOCK(place.stat().st_mode)
    with run_server(store, f"unix:{place}") as server:
        assert server.is_well()


def test_a_socket_that_is_answered_at_is_left_alone(store, tmp_path):
    with run_server(store, f"unix:{tmp_path}/s.sock") as server:
        with pytest.raises(InputError, match="another server answers there"):
            serve(f"unix:{tmp_path}/s.sock", store)
        assert server.is_well()


def test_a_file_is_not_taken_for_a_socket(store, tmp_path):
    (tmp_path / "notes").write_text("keep")
    with pytest.raises(InputError, match="not a socket"):
        serve(f"unix:{tmp_path}/notes", store)
    assert (tmp_path / "notes").read_text() == "keep"


def test_an_address_that_is_taken_is_reported(store):
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(InputError, match="cannot listen at"):
        serve(f"127.0.0.1:{other.getsockname()[1]}", store)


@pytest.mark.parametrize("address", ["0.0.0.0:1783", "[::]:1783", "192.0.2.1:1783"])
def test_other_machines_are_not_served_unless_it_is_permitted(store, address):
    with pytest.raises(InputError, match="--anyone"):
        serve(address, store)


def test_anyone_may_be_served_if_it_is_permitted(store):
    with run_server(store, "0.0.0.0:0", anyone=True) as server:
        assert server.is_well()


@pytest.mark.parametrize(
    "text", ["", "1783", "example.org:1783", "127.0.0.1:", "127.0.0.1:99999", "unix:", "unix:" + "x" * 200]
)
def test_addresses_that_are_none_are_refused(text):
    with pytest.raises(InputError, match="Hint"):
        parse_address(text)


@pytest.mark.parametrize("limit", ["message", "seconds", "connections", "held"])
def test_limits_must_allow_something(limit):
    with pytest.raises(InputError, match=limit):
        Limits(**{limit: 0})


def test_a_file_that_is_no_store_is_reported_at_once(tmp_path):
    (tmp_path / "no.db").write_text("not a database at all, but long enough to be looked at")
    with pytest.raises(StoreError):
        serve("127.0.0.1:0", tmp_path / "no.db")


def test_a_server_starts_without_a_store_and_learns_its_first_messages(tmp_path):
    with run_server(tmp_path / "new.db") as server:
        assert b"Spam: False" in server.ask(request("CHECK", make_message("spam", 1)))
        assert b"DidSet: local" in server.ask(
            request("TELL", make_message("spam", 1), "Message-class: spam", "Set: local")
        )
        assert b"1 spam learned" in server.ask(request("REPORT", make_message("spam", 2)))
        assert b"DidRemove: local" in server.ask(request("TELL", make_message("spam", 1), "Remove: local"))


def tell(number):
    return request("TELL", make_message("spam", number), "Message-class: spam", "Set: local")


def delete(path):
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()


def move(path):
    path.rename(path.with_name("moved.db"))


def empty(path):
    delete(path)
    path.touch()


@pytest.mark.parametrize("vanish", [delete, move, empty])
def test_a_store_that_vanished_is_a_temporary_failure_and_none_is_made_in_its_place(store, vanish):
    with Store(store) as opened:
        opened.backup(store.with_name("copy.db"))
    with run_server(store) as server:
        assert b"DidSet: local" in server.ask(tell(900))
        vanish(store)
        left = [path.name for path in store.parent.glob("mail.db*") if path.stat().st_size]
        for asked in (
            tell(901),
            request("CHECK", make_message("spam", 902)),
            request("REPORT", make_message("spam", 902)),
        ):
            assert server.ask(asked).startswith(b"SPAMD/1.1 75 EX_TEMPFAIL")
        assert make_message("spam", 903) in server.ask(request("PROCESS", make_message("spam", 903)))
        assert not store.exists() or store.stat().st_size == 0
        assert [path.name for path in store.parent.glob("mail.db*") if path.stat().st_size] in ([], left)
        delete(store)
        store.with_name("copy.db").rename(store)
        assert b"DidSet: local" in server.ask(tell(901))
        assert b"Spam: True" in server.ask(request("CHECK", make_message("spam", 902)))
    with MailFilter(store) as mail:
        assert (mail.known(make_message("spam", 900)), mail.known(make_message("spam", 901))) == (None, "spam")
        assert mail.store.check() == []


def test_a_store_that_is_replaced_while_it_is_opened_is_opened_again(store, monkeypatch):
    copy = store.with_name("copy.db")
    with Store(store) as opened:
        opened.backup(copy)
    begin = CachingMailFilter.__init__

    def begin_and_replace(self, *arguments, **options):
        begin(self, *arguments, **options)
        if copy.exists():
            delete(store)
            copy.rename(store)

    monkeypatch.setattr(CachingMailFilter, "__init__", begin_and_replace)
    jobs = JobQueue()
    queued = QueuedJob(0.0, 0, lambda mail: str(mail.learn(make_message("spam", 904), "spam").new).encode(), Future())
    jobs.put(queued)
    jobs.put(QueuedJob(1.0, 1, None, Future()))
    FilterWorker(store).work(jobs)
    assert queued.result.result() == b"1"
    with MailFilter(store) as mail:
        assert mail.known(make_message("spam", 904)) == "spam"


def test_nothing_is_confirmed_that_went_into_a_file_which_is_no_longer_the_store(store, monkeypatch):
    learn = MailFilter.learn

    def learn_and_lose(mail, raw, label, time=None):
        learned = learn(mail, raw, label, time)
        delete(store)
        return learned

    with run_server(store) as server:
        assert b"DidSet: local" in server.ask(tell(900))
        monkeypatch.setattr(MailFilter, "learn", learn_and_lose)
        assert server.ask(tell(901)).startswith(b"SPAMD/1.1 75 EX_TEMPFAIL")
    assert not store.exists()


def test_the_process_that_fits_for_the_server_makes_no_store(tmp_path):
    with pytest.raises(SystemExit, match="there is no mail store"):
        maintain(str(tmp_path / "mail.db"))
    assert list(tmp_path.iterdir()) == []


def test_what_was_learned_is_fitted_by_another_process(tmp_path, monkeypatch):
    monkeypatch.setattr(spamd, "MAINTENANCE_DELAY_SECONDS", 0.05)
    path = tmp_path / "mail.db"
    with run_server(path) as server:
        for number in range(20):
            for label in ("ham", "spam"):
                sent = request("TELL", make_message(label, number), f"Message-class: {label}", "Set: local")
                assert b"DidSet: local" in server.ask(sent)
        with Store(path) as store:
            await_fit(store)
        with MailFilter(path) as mail:
            assert mail.classify(make_message("spam", 900)).header().encode() in server.ask(
                request("PROCESS", make_message("spam", 900))
            )


def test_a_fit_that_is_due_when_the_server_starts_is_made(tmp_path, monkeypatch):
    monkeypatch.setattr(spamd, "MAINTENANCE_DELAY_SECONDS", 0.05)
    path = tmp_path / "mail.db"
    with MailFilter(path) as mail:
        for label in ("ham", "spam"):
            mail.learn_all(((f"{n}", make_message(label, n)) for n in range(20)), label, processes=1)
    with Store(path) as store, run_server(path):
        await_fit(store)


@pytest.mark.parametrize("model", ["fisher", "evidence"])
def test_a_store_without_a_fit_is_tidied_by_another_process(tmp_path, monkeypatch, model):
    monkeypatch.setattr(spamd, "MAINTENANCE_DELAY_SECONDS", 0.05)
    path = tmp_path / "mail.db"
    with MailFilter(path) as mail:
        mail.store.set("model", model)
        mail.store.set("most_messages", 8)
        for number in range(12):
            mail.learn(make_message("ham", number), "ham")
    with run_server(path) as server, Store(path) as store:
        assert b"DidSet: local" in server.ask(tell(900))
        end = time.monotonic() + 60
        while sum(n for n, _ in store.totals().values()) > 8:
            assert time.monotonic() < end
            time.sleep(0.1)


def test_a_store_at_its_limit_is_not_tidied_after_each_message(tmp_path):
    """A process for each message would cost more than the message."""
    with MailFilter(tmp_path / "mail.db") as mail:
        mail.store.set("model", "fisher")
        mail.store.set("most_messages", 40)
        due = []
        for number in range(43):
            mail.learn(make_message("ham", number), "ham")
            due.append(_is_maintenance_due(mail))
        assert due == [False] * 42 + [True]  # the first above 105 % of the limit
        maintain(str(tmp_path / "mail.db"))
        assert mail.store.totals()["ham"][0] == 40


def test_learning_waits_for_other_writers_and_classifying_does_not(store):
    with run_server(store, limits=Limits(seconds=20)) as server, Store(store) as other:
        with other.write_transaction(), server.connect() as line:
            line.sendall(request("TELL", make_message("spam", 901), "Message-class: spam", "Set: local"))
            begun = time.monotonic()
            assert b"Spam: True" in server.ask(request("CHECK", make_message("spam", 902)))
            assert time.monotonic() - begun < 5
            other.set("kept", 1)
            time.sleep(0.2)
            line.setblocking(False)
            with pytest.raises(BlockingIOError):
                line.recv(1)
            waiting = line.dup()
        with waiting:
            waiting.settimeout(20)
            assert b"DidSet: local" in receive_all(waiting)


def test_learning_that_has_to_wait_too_long_is_reported(store):
    with run_server(store, limits=Limits(seconds=0.5)) as server, Store(store) as other, other.write_transaction():
        answer = server.ask(request("TELL", make_message("spam", 903), "Message-class: spam", "Set: local"))
        assert answer.startswith(b"SPAMD/1.1 79 EX_TIMEOUT")
