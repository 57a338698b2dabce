"""Requests to a spamd server on loopback: each has a response of the protocol, and acknowledgements are true."""

from __future__ import annotations

import random
import re
import tempfile
import zlib
from functools import cache
from pathlib import Path

from deciban.errors import InputError
from deciban.mail.message.message import compute_digest
from deciban.mail.spamd import connections as spamd_line
from deciban.mail.spamd.connections import Limits
from deciban.mail.store.store import Store
from tests.fuzz.mutation import mutate_bytes
from tests.mail.spamds import Running, learn_messages, make_message, request, run_server

COMMANDS = (
    "CHECK",
    "SYMBOLS",
    "REPORT",
    "REPORT_IFSPAM",
    "PROCESS",
    "HEADERS",
    "TELL",
    "PING",
    "SKIP",
    "EXPLODE",
    "GET /",
)
HEADERS = (
    "Content-length: 0", "Content-length: -1", "Content-length: 99999999999999999999", "Content-length: 5",
    "Content-Length: 1e3", "Content-length:", "User: x", "User: ../../etc", "Compress: zlib", "Compress: lzma",
    "Message-class: ham", "Message-class: spam", "Set: local", "Set: local, remote", "Remove: local", ": x",
    "no colon", "X" * 5000 + ": y", "A: " + "\0" * 9, " folded", "DidSet: local", "Spam: True", "A: \x1b[2J\xff",
)  # fmt: skip
WORDS = (
    b"\r\n",
    b"\n",
    b"\r",
    b"\r\n\r\n",
    b" ",
    b":",
    b"SPAMC/1.5",
    b"SPAMC/9.9",
    b"\0",
    b"\xff",
    b"Content-length: 3\r\n",
)


def seeds() -> list[bytes]:
    made = [request(command, make_message("spam", i)) for i, command in enumerate(COMMANDS[:6])]
    made += [
        request("TELL", make_message("ham", 50), f"Message-class: {label}", "Set: local") for label in ("ham", "spam")
    ]
    made += [request("TELL", make_message("ham", 50), "Message-class: ham", "Remove: local")]
    return [
        *made,
        request("PROCESS", zlib.compress(make_message("ham", 8)), "Compress: zlib"),
        b"PING SPAMC/1.5\r\n\r\n",
    ]


def mutate(raw: bytes, rng: random.Random) -> bytes:
    head, blank, body = raw.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    match rng.randrange(8):
        case 0:
            lines[0] = f"{rng.choice(COMMANDS)} SPAMC/{rng.choice(['1.5', '1.2', '0.9', '', '1', '99999999999'])}"
        case 1 | 2:
            for _ in range(rng.randint(1, 3)):
                lines.insert(rng.randint(1, len(lines)), rng.choice(HEADERS))
        case 3:
            lines += [f"H{i}: x" for i in range(rng.choice([10, 300, 5000]))]
        case 4:
            body = mutate_bytes(body, rng, WORDS)
            if rng.random() < 0.7:
                return request(lines[0].split()[0], body, *lines[1:-1])
        case 5:
            blank = rng.choice([b"", b"\n", b"\r\n", b"\n\n", b"\r\r"])
        case 6:
            return mutate_bytes(head + blank, rng, WORDS, 2) + body
        case 7:
            return mutate_bytes(raw, rng, WORDS, 3)
    return rng.choice(["\r\n", "\r\n", "\n"]).join(lines).encode("latin-1") + blank + body


@cache
def _server() -> tuple[Running, Path]:
    """A server that lasts as long as this process."""
    spamd_line.DRAIN_SECONDS = 0.1  # type: ignore[misc]  # seconds that a refused client is waited for
    path = Path(tempfile.gettempdir(), "mail.db")
    learn_messages(path, 10)
    server = run_server(path, limits=Limits(message=1 << 19, seconds=5, connections=12))
    _server.context = server  # type: ignore[attr-defined]  # or it would end here
    return server.__enter__(), path


def check(raw: bytes) -> None:
    server, path = _server()
    answer = server.ask(raw)
    assert answer == b"" or re.match(rb"SPAMD/1\.\d \d+ \S+", answer), f"no answer of the protocol: {answer[:40]!r}"
    assert b"EX_SOFTWARE" not in answer, f"an error of the server's own: {answer[:80]!r}"
    ok = answer.startswith(b"SPAMD/1.1 0 EX_OK")
    body = re.split(rb"\r?\n\r?\n", raw, maxsplit=1)[-1]
    if ok and raw.startswith(b"PROCESS ") and not re.search(rb"(?i)compress|x-deciban|^from |^>from ", raw):
        assert answer.endswith(body), "the message was changed"
    if ok and b"DidSet: local" in answer and not re.search(rb"(?i)compress", raw):
        with Store(path, create=False, read_only=True) as store:
            assert store.find_label(compute_digest(body)) is not None, "an acknowledged message is not in the store"
    assert server.is_well(), "the server does not answer a PING"
    if not (answer == b"" or ok or answer.endswith(b" PONG\r\n")):
        raise InputError(answer.decode("utf-8", "replace"))
