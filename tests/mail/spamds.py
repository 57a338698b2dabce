"""A spamd of our own for tests, letters for it to judge, and those who ask it: Debian's `spamc`, or bare sockets."""

from __future__ import annotations

import random
import shutil
import socket
import subprocess
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass

from deciban.mail.filter import MailFilter
from deciban.mail.spamd.spamd_server import serve

SPAMC = shutil.which("spamc")
ABSENT = None if SPAMC else "needs Debian's spamc"

WORDS = {
    "ham": "garden tea minutes draft agenda thursday lunch train drawings seminar thanks cousin harvest",
    "spam": "winner million claim cheap pills viagra casino offer urgent transfer refinance bonus click",
    "both": "the and you with for your have this will from that are our",
}


def make_message(label: str, number: int, newline: str = "\n") -> bytes:
    """Return a made-up message with many words of its label."""
    draw = random.Random(f"{label} {number}")
    words, both = WORDS[label].split(), WORDS["both"].split()
    text = " ".join(draw.choice(words if draw.random() < 0.5 else both) for _ in range(60))
    lines = [
        f"From: {draw.choice(words)}@{label}.example",
        "To: me@home.example",
        f"Subject: {draw.choice(words)} {draw.choice(words)} {number}",
        "",
        text,
        f"number {number}",
        "",
    ]
    return newline.join(lines).encode()


def learn_messages(path, each: int = 40) -> None:
    with MailFilter(path) as mail:
        for label in ("ham", "spam"):
            mail.learn_all(((f"{n}", make_message(label, n)) for n in range(each)), label, processes=1)
        mail.refit(force=True)


@dataclass
class Asked:
    code: int
    out: bytes


@dataclass
class Running:
    address: str

    def spamc(self, *options: str, message: bytes = b"") -> Asked:
        """Run Debian's client."""
        done = subprocess.run([SPAMC, *self.place, *options], input=message, capture_output=True, timeout=60)
        return Asked(done.returncode, done.stdout)

    @property
    def place(self) -> list[str]:
        if self.address.startswith("unix:"):
            return ["-U", self.address.removeprefix("unix:")]
        host, _, port = self.address.rpartition(":")
        return ["-d", host.strip("[]"), "-p", port]

    def connect(self) -> socket.socket:
        if self.address.startswith("unix:"):
            line = socket.socket(socket.AF_UNIX)
            line.connect(self.address.removeprefix("unix:"))
        else:
            host, _, port = self.address.rpartition(":")
            line = socket.create_connection((host.strip("[]"), int(port)))
        line.settimeout(30)
        return line

    def ask(self, sent: bytes, half_close: bool = True) -> bytes:
        """Return the answer to some bytes."""
        with self.connect() as line:
            line.sendall(sent)
            if half_close:
                line.shutdown(socket.SHUT_WR)
            return receive_all(line)

    def is_well(self) -> bool:
        return self.ask(b"PING SPAMC/1.5\r\n\r\n") == b"SPAMD/1.5 0 PONG\r\n"


def receive_all(line: socket.socket) -> bytes:
    received = b""
    while data := line.recv(1 << 16):
        received += data
    return received


def request(command: str, message: bytes, *headers: str, version: str = "1.5") -> bytes:
    lines = [f"{command} SPAMC/{version}", *headers, f"Content-length: {len(message)}", "", ""]
    return "\r\n".join(lines).encode() + message


def await_fit(store) -> None:
    """Wait for the process of a server to have fitted."""
    end = time.monotonic() + 60
    while store.fit("evidence") is None:
        assert time.monotonic() < end
        time.sleep(0.1)


@contextmanager
def run_server(store, address="127.0.0.1:0", **options):
    """A server in a thread of ours, ended as SIGTERM ends it."""
    stop, ready, where, failed = threading.Event(), threading.Event(), [], []

    def say(address):
        where.append(address)
        ready.set()

    def run():
        try:
            serve(address, store, ready=say, stop=stop, **options)
        except BaseException as error:
            failed.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=run)
    thread.start()
    assert ready.wait(60)
    if failed:
        raise failed[0]
    try:
        yield Running(where[0])
    finally:
        stop.set()
        thread.join(60)
        assert not thread.is_alive()
    assert not failed
