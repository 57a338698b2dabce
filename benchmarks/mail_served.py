"""Messages through `deciban mail serve`, asked as spamc asks: one after the other, then many at once."""

import random
import shutil
import socket
import statistics
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from .case import Line, format_seconds

MAX_MEDIAN_SECONDS = 0.005
"""Most seconds for a message through the server, at the median."""
CLIENTS, LOAD_SECONDS = 16, 60.0


def measure_server(program: Sequence[str], store: Path, raws: Sequence[bytes], scale: float) -> Iterator[Line]:
    """Yield three lines: one message at a time, by Debian's spamc, and many at once."""
    with run_server(program, store) as port:
        send_request(port, raws[0])
        yield format_times("one after the other", [time_request(port, raw) for raw in raws[:500]], MAX_MEDIAN_SECONDS)
        if shutil.which("spamc"):
            yield format_times(
                "by Debian's spamc, a process a message", [time_spamc(port, raw) for raw in raws[:50]], None
            )
        yield measure_load(port, raws, LOAD_SECONDS * min(1.0, scale))


def format_times(name: str, took: Sequence[float], most: float | None) -> Line:
    """Format the times of messages through the server."""
    middle = statistics.median(took)
    note = f"{len(took)} messages; 99 % within {format_seconds(float(np.quantile(took, 0.99)))}"
    limit = "no target" if most is None else f"≤ {format_seconds(most)} at the median"
    met = None if most is None else middle <= most
    return Line("speed", f"spamd, {name}", format_seconds(middle), "–", None, limit, met, note)


@contextmanager
def run_server(program: Sequence[str], store: Path) -> Iterator[int]:
    """Run a server in another process; give its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [*program, "serve", "--spamd", f"127.0.0.1:{port}", "--store", str(store)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as server:
        try:
            assert server.stderr is not None
            if b"listening" not in server.stderr.readline():
                raise RuntimeError("the server does not listen")
            yield port
        finally:
            server.terminate()


def send_request(port: int, raw: bytes) -> bytes:
    """Send a message and return the response with its header."""
    with socket.create_connection(("127.0.0.1", port)) as line:
        line.sendall(f"PROCESS SPAMC/1.5\r\nContent-length: {len(raw)}\r\n\r\n".encode() + raw)
        line.shutdown(socket.SHUT_WR)
        pieces = []
        while piece := line.recv(1 << 16):
            pieces.append(piece)
    answer = b"".join(pieces)
    if not answer.startswith(b"SPAMD/1.1 0 EX_OK") or b"X-Deciban" not in answer:
        raise RuntimeError(f"the server answers {answer[:60]!r}")
    return answer


def time_request(port: int, raw: bytes) -> float:
    """Return the seconds of one request."""
    started = time.perf_counter()
    send_request(port, raw)
    return time.perf_counter() - started


def time_spamc(port: int, raw: bytes) -> float:
    """Return the seconds of a message through Debian's spamc."""
    started = time.perf_counter()
    subprocess.run(["spamc", "-x", "-d", "127.0.0.1", "-p", str(port)], input=raw, capture_output=True, check=True)
    return time.perf_counter() - started


def measure_load(port: int, raws: Sequence[bytes], seconds: float) -> Line:
    """Run many clients at once, and check that all are answered."""
    took: list[float] = []
    wrong: list[str] = []
    end = time.monotonic() + seconds

    def client(number: int) -> None:
        draw = random.Random(number)
        while time.monotonic() < end:
            try:
                took.append(time_request(port, draw.choice(raws)))
            except (OSError, RuntimeError) as error:
                wrong.append(str(error))

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    middle = format_seconds(statistics.median(took))
    note = f"{len(took)} messages in {seconds:.0f} s; median {middle}; {len(wrong)} errors"
    name = f"spamd, {CLIENTS} at once for {seconds:.0f} s"
    return Line("speed", name, f"{len(took) / seconds:.0f}/s", "–", None, "no error", not wrong, note)
