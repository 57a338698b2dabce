"""Clients that are slow, wrong or hostile: each is refused in words, and the next one is served as if nothing was."""

import random
import socket
import struct
import threading
import time
import zlib
from contextlib import ExitStack

import pytest

from deciban.mail.spamd import connections as spamd_line
from deciban.mail.spamd import spamd_server as spamd
from deciban.mail.spamd.connections import Limits
from tests.mail.spamds import learn_messages, make_message, receive_all, request, run_server

SMALL = Limits(message=200_000, seconds=1.5, connections=12, held=2_000_000)
PATIENT = Limits(seconds=30, connections=12)

WRONG = [
    (b"", 76, b"ends within its headers"),
    (b"\r\n", 76, b"is not a request"),
    (b"\x00\xff\xfe garbage \x80\n", 76, b"is not a request"),
    (bytes(range(256)) * 8, 76, b"is not a request"),
    (b"x" * 40_000, 76, b"more than 16384 bytes"),
    (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 76, b"is not a request"),
    (b"EXPLODE SPAMC/1.5\r\n\r\n", 76, b"EXPLODE is not known"),
    (b"CHECK SPAMC/1.1\r\n\r\n", 76, b"too old"),
    (b"CHECK SPAMC/99999999999999999999.5\r\n\r\n", 76, b"is not a request"),
    (b"CHECK SPAMC/1.5\r\nno colon\r\n\r\n", 76, b"Name: value"),
    (b"CHECK SPAMC/1.5\r\n" + b"A: b\r\n" * 5_000 + b"\r\n", 76, b"more than 16384 bytes"),
    (b"CHECK SPAMC/1.5\r\nContent-length: -1\r\n\r\nx", 76, b"is not a number of bytes"),
    (b"CHECK SPAMC/1.5\r\nContent-length: 1e3\r\n\r\nx", 76, b"is not a number of bytes"),
    (b"CHECK SPAMC/1.5\r\nContent-length: " + b"9" * 500 + b"\r\n\r\nx", 76, b"is not a number of bytes"),
    (b"CHECK SPAMC/1.5\r\nContent-length: 99999999999\r\n\r\nx", 98, b"limit here"),
    (b"CHECK SPAMC/1.5\r\nContent-length: 100\r\n\r\ntruncated", 76, b"is 100 bytes, but 9 came"),
    (b"CHECK SPAMC/1.5\r\nContent-length: 3\r\n\r\ntoo much", 76, b"is 3 bytes, but 8 came"),
    (b"CHECK SPAMC/1.5\r\n\r\n" + b"x" * 300_000, 98, b"limit here"),
    (b"CHECK SPAMC/1.5\r\nCompress: lzma\r\nContent-length: 1\r\n\r\nx", 76, b"zlib is"),
    (b"CHECK SPAMC/1.5\r\nCompress: zlib\r\nContent-length: 7\r\n\r\ngarbage", 65, b"zlib data is not"),
    (request("CHECK", zlib.compress(b"x" * 5_000)[:-4], "Compress: zlib"), 65, b"end early"),
    (request("CHECK", zlib.compress(bytes(5_000_000)), "Compress: zlib"), 98, b"limit here"),
    (request("PROCESS", zlib.compress(bytes(5_000_000)), "Compress: zlib"), 98, b"limit here"),
    (request("TELL", b"x", "Set: local"), 64, b"class is needed"),
    (request("TELL", b"x", "Message-class: eggs", "Set: local"), 64, b"class is needed"),
    (request("TELL", b"x", "Message-class: ham", "Set: local", "Remove: local"), 64, b"not both"),
]  # fmt: skip
"""What is sent, the code that is answered, and what the reason says."""


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "mail.db"
    learn_messages(path, 10)
    return path


@pytest.fixture(scope="module")
def server(store):
    with run_server(store, limits=SMALL) as server:
        yield server


@pytest.fixture(autouse=True)
def still_serving(server):
    yield
    assert server.is_well()
    message = make_message("ham", 900)
    assert server.ask(request("PROCESS", message)).endswith(message)


@pytest.mark.parametrize(
    ("sent", "code", "reason"), WRONG, ids=[f"{n} {why.decode()}" for n, (_, _, why) in enumerate(WRONG)]
)
def test_what_is_wrong_is_reported(server, sent, code, reason):
    answer = server.ask(sent)
    assert answer.startswith(f"SPAMD/1.1 {code} EX_".encode())
    assert answer.count(b"\n") == 1
    assert reason in answer


def test_compressed_messages_are_classified_and_given_back(server):
    message = make_message("spam", 1)
    answer = server.ask(request("PROCESS", zlib.compress(message), "Compress: zlib"))
    assert answer.endswith(message)
    assert b"X-Deciban: spam" in answer


@pytest.mark.thorough(reason="waits for time-outs, or serves for seconds")
@pytest.mark.parametrize(
    "sent", [b"", b"CHE", b"CHECK SPAMC/1.5\r\nContent-length: 5\r\n\r\nab"], ids=["silent", "line", "body"]
)
def test_a_client_that_says_nothing_more_is_told_that_its_time_is_up(server, sent):
    begun = time.monotonic()
    assert server.ask(sent, half_close=False).startswith(b"SPAMD/1.1 79 EX_TIMEOUT: ")
    assert 1.2 < time.monotonic() - begun < 10


@pytest.mark.thorough(reason="waits for time-outs, or serves for seconds")
def test_a_client_that_sends_a_byte_at_a_time_has_no_more_time_than_others(server):
    begun = time.monotonic()
    with server.connect() as line:
        try:
            for byte in b"CHECK SPAMC/1.5\r\n" + b"A: b\r\n" * 1000:
                line.sendall(bytes([byte]))
                time.sleep(0.02)
        except OSError:
            pass
    assert time.monotonic() - begun < 5


def test_a_client_that_does_not_half_close_is_answered_by_the_length(server):
    assert server.ask(request("CHECK", make_message("spam", 2)), half_close=False).startswith(b"SPAMD/1.1 0 EX_OK")
    assert server.ask(b"PING SPAMC/1.2\r\n", half_close=False) == b"SPAMD/1.5 0 PONG\r\n"


def test_a_message_without_a_length_ends_with_the_stream(server):
    message = make_message("spam", 3)
    assert server.ask(b"PROCESS SPAMC/1.5\r\n\r\n" + message).endswith(message)


def test_skipping_is_not_answered(server):
    assert server.ask(b"SKIP SPAMC/1.5\r\n\r\n") == b""


def test_clients_that_leave_at_any_moment_are_no_loss(server):
    whole = request("PROCESS", make_message("spam", 4) + b"x" * 100_000)
    for cut in (0, 1, 10, 40, 60, 5_000, len(whole)):
        with server.connect() as line:
            line.sendall(whole[:cut])
            if cut % 2:  # with a reset instead of a farewell
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        assert b"PONG" in server.ask(b"PING SPAMC/1.5\r\n\r\n")


def test_clients_that_do_not_take_their_answers_hold_nobody_up(store):
    message = make_message("spam", 5) + b"x" * (8 << 20)  # more than the buffers of the system take at once
    with run_server(store, limits=PATIENT) as server, ExitStack() as lines:
        for _ in range(6):
            line = lines.enter_context(server.connect())
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            line.sendall(request("PROCESS", message))
            assert line.recv(1, socket.MSG_PEEK)  # the answer has begun
        begun = time.monotonic()
        assert server.is_well()
        assert time.monotonic() - begun < PATIENT.seconds / 2  # not even one of them was waited for


def test_a_crowd_that_keeps_silent_makes_room(store, monkeypatch):
    monkeypatch.setattr(spamd, "MAX_IDLE_SECONDS", 0.2)
    with run_server(store, limits=PATIENT) as server, ExitStack() as lines:
        begun = time.monotonic()
        for _ in range(40):
            lines.enter_context(server.connect())
        assert server.is_well()
        assert time.monotonic() - begun < PATIENT.seconds / 2  # before the time of any was up


def test_no_more_is_held_than_the_limit(server):
    lines = []
    for _ in range(11):
        line = server.connect()
        line.sendall(request("CHECK", bytes(199_999))[:-1])
        lines.append(line)
    time.sleep(0.5)  # the server reads them meanwhile
    answers = []
    for line in lines:
        line.shutdown(socket.SHUT_WR)
        answers.append(receive_all(line).split()[1])
        line.close()
    assert set(answers) <= {b"75", b"76", b"79"}
    assert b"75" in answers


def test_a_hundred_clients_at_once_wait_for_their_turn(server):
    answers = []

    def ask():
        answers.append(server.ask(request("CHECK", make_message("spam", 6)))[:17])

    threads = [threading.Thread(target=ask) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [b"SPAMD/1.1 0 EX_OK"] * 100


def test_mutilated_requests_get_an_answer_or_nothing(server, monkeypatch):
    monkeypatch.setattr(spamd_line, "DRAIN_SECONDS", 0.1)
    draw = random.Random(7)
    seeds = [
        request("PROCESS", make_message("spam", 7)),
        request("TELL", make_message("ham", 7), "Message-class: ham", "Remove: local"),
        request("REPORT", zlib.compress(make_message("ham", 8)), "Compress: zlib"),
        b"PING SPAMC/1.5\r\n\r\n",
    ]
    for _ in range(300):
        sent = bytearray(draw.choice(seeds))
        for _ in range(draw.randint(1, 6)):
            at = draw.randrange(min(len(sent), 120))
            sent[at : at + draw.randint(0, 3)] = bytes(draw.randrange(256) for _ in range(draw.randint(0, 3)))
        answer = server.ask(bytes(sent))
        assert answer == b"" or answer.startswith(b"SPAMD/1.")
        assert b"EX_SOFTWARE" not in answer
