"""Many messages at once: read by several processes, given back in their order.

The workers are fresh interpreters that know only how to read mail: nothing is forked, so an open store, threads and a
script without a main guard are all safe beside them.
"""

from __future__ import annotations

import gc
import json
import marshal
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from itertools import chain, islice
from queue import SimpleQueue
from typing import IO

from deciban.mail.message import digest_of, read_message
from deciban.mail.tokens import USUAL, Reading, tokens_of

Named = tuple[str, bytes]
Tokenised = tuple[str, bytes, list[str]]
Answer = list[tuple[bytes, str]]
"""Of each message its digest and its tokens, one a line."""

CHUNK = 100
CHUNK_BYTES = 1 << 20
"""Messages go to a worker by the hundred, or by the megabyte."""
FEW = 300
"""So many messages are read before a worker would have started."""

RARELY = 50_000
"""So many new objects are made before a worker looks for rubbish: a message leaves none behind."""

WORKER = "import sys; sys.path[:] = {path!r}; from deciban.mail.bulk import serve; serve()"


def tokens_in_bulk(raws: Iterable[Named], processes: int, reading: Reading = USUAL) -> Iterator[Tokenised]:
    r"""Name, digest and tokens of each message, in order, made by so many processes beside this one.

    >>> [(name, tokens[:1]) for name, _, tokens in tokens_in_bulk([("1", b"Subject: Hi\n\nYou")], processes=2)]
    [('1', ['header:subject'])]
    """
    raws = iter(raws)
    first = list(islice(raws, FEW if processes > 1 else 0))
    if len(first) < FEW:
        yield from _read_here(chain(first, raws), reading)
    else:
        yield from _read_beside(_chunks(chain(first, raws)), processes, reading)


def _read_here(raws: Iterable[Named], reading: Reading) -> Iterator[Tokenised]:
    for name, raw in raws:
        yield name, digest_of(raw), tokens_of(read_message(raw), reading)


def _chunks(raws: Iterable[Named]) -> Iterator[list[Named]]:
    chunk: list[Named] = []
    size = 0
    for each in raws:
        chunk.append(each)
        size += len(each[1])
        if len(chunk) >= CHUNK or size >= CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _read_beside(chunks: Iterator[list[Named]], processes: int, reading: Reading) -> Iterator[Tokenised]:
    idle: SimpleQueue[Worker] = SimpleQueue()
    workers = [Worker(reading) for _ in range(processes)]
    for worker in workers:
        idle.put(worker)
    waiting: deque[tuple[list[Named], Future[Answer]]] = deque()
    with ThreadPoolExecutor(processes) as threads:
        try:
            for chunk in chunks:
                waiting.append((chunk, threads.submit(_ask_one, idle, [raw for _, raw in chunk])))
                if len(waiting) > 2 * processes:
                    yield from _given(*waiting.popleft())
            while waiting:
                yield from _given(*waiting.popleft())
        finally:
            for _, future in waiting:
                future.cancel()
            for worker in workers:
                worker.stop()


def _given(chunk: list[Named], future: Future[Answer]) -> Iterator[Tokenised]:
    for (name, _), (digest, tokens) in zip(chunk, future.result()):
        yield name, digest, tokens.split("\n") if tokens else []


def _ask_one(idle: SimpleQueue[Worker], raws: list[bytes]) -> Answer:
    worker = idle.get()
    try:
        return worker.ask(raws)
    finally:
        idle.put(worker)


class Worker:
    """A process that reads messages; should it die, they are read here."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        command = [sys.executable, "-c", WORKER.format(path=sys.path)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdin
        assert self.process.stdout
        self.to, self.fro = self.process.stdin, self.process.stdout
        self._send(json.dumps(asdict(reading)).encode())

    def ask(self, raws: list[bytes]) -> Answer:
        """Digests and tokens of some messages."""
        try:
            self._send(marshal.dumps(raws))
            answer: Answer = marshal.loads(_frame(self.fro))
            return answer
        except (OSError, EOFError, ValueError):
            return _answer(raws, self.reading)

    def _send(self, data: bytes) -> None:
        try:
            _write_frame(self.to, data)
        except BrokenPipeError as gone:
            raise EOFError from gone

    def stop(self) -> None:
        """Ends the process, whatever it is doing: nothing of it is kept."""
        self.process.kill()
        self.process.wait()
        self.fro.close()
        with suppress(OSError):  # what was still to be written is of no use to anybody
            self.to.close()


def serve() -> None:
    """The work of a worker: messages in, tokens out, until nobody asks any more."""
    to, fro = sys.stdout.buffer, sys.stdin.buffer
    gc.set_threshold(RARELY)
    try:
        reading = Reading(**json.loads(_frame(fro)))
        while True:
            _write_frame(to, marshal.dumps(_answer(marshal.loads(_frame(fro)), reading)))
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        return


def _answer(raws: list[bytes], reading: Reading) -> Answer:
    return [(digest_of(raw), "\n".join(tokens_of(read_message(raw), reading))) for raw in raws]


def _write_frame(to: IO[bytes], data: bytes) -> None:
    to.write(len(data).to_bytes(8, "big"))
    to.write(data)
    to.flush()


def _frame(fro: IO[bytes]) -> bytes:
    size = int.from_bytes(_exactly(fro, 8), "big")
    return _exactly(fro, size)


def _exactly(fro: IO[bytes], size: int) -> bytes:
    data = fro.read(size)
    if len(data) < size:
        raise EOFError
    return data
