"""How long a message takes through the server: one after the other, with sixteen clients, and beside large ones."""

import asyncio
import itertools
import socket
import statistics
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import psutil
import pytest

from deciban.mail.spamd.connections import RECEIVE_BYTES, ByteBudget, Connection, Limits
from tests.mail import hostile, spamds
from tests.mail.spamds import Running, learn_messages, make_message, request, run_server
from tests.timing import least


@pytest.mark.thorough(reason="waits for time-outs, or serves for seconds")
def test_five_milliseconds_at_the_median(tmp_path):
    learn_messages(tmp_path / "mail.db")
    with run_server(tmp_path / "mail.db") as server:

        def measure():
            took = []
            for number in range(200):
                begun = time.perf_counter()
                assert b"X-Deciban: " in server.ask(
                    request("PROCESS", make_message(("spam", "ham")[number % 2], 3000 + number))
                )
                took.append(time.perf_counter() - begun)
            return statistics.median(took)

        assert least(measure, 0.005) <= 0.005


@pytest.mark.thorough(reason="waits for time-outs, or serves for seconds")
@pytest.mark.skipif(spamds.ABSENT is not None, reason=str(spamds.ABSENT))
def test_sixteen_at_once_for_twenty_seconds_without_an_error(tmp_path):
    learn_messages(tmp_path / "mail.db")
    end, wrong, right = time.monotonic() + 20, [], []

    def client(number):
        at = 10_000 * number
        while time.monotonic() < end:
            at += 1
            label = ("spam", "ham")[at % 2]
            message = make_message(label, at)
            asked = server.spamc("-E", "-x", message=message)
            good = asked.code == (label == "spam") and asked.out.endswith(message) and len(asked.out) > len(message)
            (right if good else wrong).append(at)
            if at % 50 == 0:
                assert server.spamc("-L", label, message=message).code == 0

    with run_server(tmp_path / "mail.db") as server:
        threads = [threading.Thread(target=client, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []
    assert len(right) > 1000


def test_connections_are_read_in_turns():
    """A request of many pieces that are all there does not keep the event loop until it is read."""
    finished = []

    async def read(name, sock):
        await Connection(sock, Limits(), ByteBudget(1 << 28)).read_request()
        finished.append(name)

    async def read_both():
        pairs = [socket.socketpair() for _ in range(2)]
        for (client, server), size in zip(pairs, (3 * RECEIVE_BYTES // 2, 100), strict=True):
            client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
            server.setblocking(False)
            client.sendall(request("CHECK", b"x" * size))
        await asyncio.gather(read("large", pairs[0][1]), read("small", pairs[1][1]))
        for sock in itertools.chain(*pairs):
            sock.close()

    asyncio.run(read_both())
    assert finished == ["small", "large"]


LARGE_CLIENTS = 14
SHAPES = ("enclosed messages without leaves", "many things at once")


@contextmanager
def served_by_a_process(store):
    """A server in a process of its own, as it is used: its threads do not share an interpreter with these clients."""
    code = (
        "import sys; from deciban.mail.spamd.spamd_server import serve; serve('127.0.0.1:0', sys.argv[1], ready=say)"
    )
    command = [sys.executable, "-c", f"say = lambda address: print(address, flush=True); {code}", str(store)]
    process = psutil.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield Running(process.stdout.readline().strip()), process
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


def longest_wait(server, process, large, headers=()):
    """While large messages are dealt with, the most CPU time that the server spends as a small one waits."""
    answers, command = [], "TELL" if headers else "CHECK"

    def send():
        answers.append(server.ask(request(command, large, *headers)))

    threads = [threading.Thread(target=send) for _ in range(LARGE_CLIENTS)]
    for thread in threads:
        thread.start()
    waits = []
    while any(thread.is_alive() for thread in threads):
        begun = sum(process.cpu_times()[:2])
        answers.append(server.ask(request(command, make_message("ham", 5000 + len(waits)), *headers)))
        waits.append(sum(process.cpu_times()[:2]) - begun)
    assert {answer[:17] for answer in answers} == {b"SPAMD/1.1 0 EX_OK"}
    return max(waits)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "headers",
    [
        pytest.param((), id="CHECK"),
        pytest.param(
            ("Message-class: ham", "Set: local"),
            id="TELL",
            marks=pytest.mark.thorough(reason="large messages for seconds"),
        ),
    ],
)
def test_large_messages_keep_no_other_connection_waiting(tmp_path, shape, headers):
    """A small message waits for at most a second, counted in the server's CPU time: other work adds nothing to it."""
    learn_messages(tmp_path / "mail.db", 10)
    large = next(raw for name, raw in hostile.largest() if name == shape)[: 16 << 20]
    with served_by_a_process(tmp_path / "mail.db") as (server, process):
        assert least(lambda: longest_wait(server, process, large, headers), 1.0, 3) <= 1
