"""Workers: processes that read messages, each fed by a thread so that it never waits for the one who asked."""

from __future__ import annotations

import gc
import json
import marshal
import os
import subprocess
import sys
from collections import deque
from contextlib import suppress
from dataclasses import asdict
from queue import SimpleQueue
from threading import Thread
from typing import IO, Final

from deciban.mail.numbering import Numbering, Said
from deciban.mail.reading import Reading

RARELY: Final = 50_000
"""So many new objects are made before a worker looks for rubbish: a message leaves none behind."""

PIPE_BYTES: Final = 1 << 20
"""Room in a pipe, where the system gives it, for an answer that nobody reads yet."""

PROGRAM: Final = "import sys; sys.path[:] = {path!r}; from deciban.mail.workers import serve; serve()"


class Worker:
    """A process that reads messages; should it die, they are read here."""

    def __init__(self, reading: Reading, digests: bool) -> None:
        self._reading, self._digests = reading, digests
        command = [sys.executable, "-c", PROGRAM.format(path=sys.path)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the one who asks: a worker would say where it was interrupted
        )  # fmt: skip
        assert self.process.stdin
        assert self.process.stdout
        self._to, self._fro = self.process.stdin, self.process.stdout
        _widen(self._fro)
        self._asked: deque[list[bytes]] = deque()
        self._here: Numbering | None = None
        self._waiting: SimpleQueue[bytes | None] = SimpleQueue()
        self._feeder = Thread(target=self._feed, daemon=True)
        try:
            self._feeder.start()
        except RuntimeError:  # the system has no thread for us
            self.process.kill()
            self.process.communicate()
            raise
        self._waiting.put(json.dumps([asdict(reading), digests]).encode())

    def ask(self, raws: list[bytes]) -> None:
        """Have some messages read."""
        self._asked.append(raws)
        self._waiting.put(marshal.dumps(raws))

    def answer(self) -> Said:
        """What the first of them hold that were not answered yet."""
        raws = self._asked.popleft()
        if self._here is None:
            try:
                said: Said = marshal.loads(_frame(self._fro))
                return said
            except (OSError, EOFError, ValueError):
                self._here = Numbering(self._reading)
        return self._here.said(raws, self._digests)

    def _feed(self) -> None:
        with suppress(OSError):  # it is gone: its next answer will not come either
            while (data := self._waiting.get()) is not None:
                _write_frame(self._to, data)

    def stop(self) -> None:
        """Ends the process, whatever it is doing: nothing of it is kept."""
        self.process.kill()
        self.process.wait()
        self._waiting.put(None)
        self._feeder.join()
        self._fro.close()
        with suppress(OSError):  # what was still to be written is of no use to anybody
            self._to.close()


def started(n: int, reading: Reading, digests: bool) -> list[Worker]:
    """So many workers, or as many as the system lets us have."""
    workers: list[Worker] = []
    with suppress(OSError, RuntimeError):
        workers.extend(Worker(reading, digests) for _ in range(n))  # those that were started stay
    return workers


def serve() -> None:
    """The work of a worker: messages in, numbers out, until nobody asks any more."""
    to, fro = sys.stdout.buffer, sys.stdin.buffer
    gc.set_threshold(RARELY)
    try:
        reading, digests = json.loads(_frame(fro))
        numbering = Numbering(Reading(**reading))
        while True:
            _write_frame(to, marshal.dumps(numbering.said(marshal.loads(_frame(fro)), digests)))
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        return


def _widen(pipe: IO[bytes]) -> None:
    with suppress(ImportError, AttributeError, OSError):
        from fcntl import F_SETPIPE_SZ, fcntl

        fcntl(pipe.fileno(), F_SETPIPE_SZ, PIPE_BYTES)


def _write_frame(to: IO[bytes], data: bytes) -> None:
    """All in one call to the system where it can be: it goes on while other threads are busy."""
    to.flush()
    rest = memoryview(len(data).to_bytes(8, "big") + data)
    while rest:
        rest = rest[os.write(to.fileno(), rest) :]


def _frame(fro: IO[bytes]) -> bytes:
    size = int.from_bytes(_exactly(fro, 8), "big")
    return _exactly(fro, size)


def _exactly(fro: IO[bytes], size: int) -> bytes:
    data = fro.read(size)
    if len(data) < size:
        raise EOFError
    return data
