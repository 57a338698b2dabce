"""Workers: processes that read messages, each fed by a thread so that it never waits for the one who asked."""

from __future__ import annotations

import gc
import json
import marshal
import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from itertools import chain, islice
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import IO, TYPE_CHECKING, Final, Generic, Self, TypeVar
from weakref import finalize

from deciban.mail.sources.message_sources import read_file_messages
from deciban.mail.sources.raw_message import MessageFile, Problem
from deciban.mail.tokens.token_options import DEFAULT_OPTIONS, TokenOptions

if TYPE_CHECKING:
    from deciban.mail.bulk.token_numbers import Said, TokenNumberer

FEW: Final = 300
"""So many messages are read before a worker would have started."""

MOST_WORKERS: Final = 8

RARELY: Final = 50_000
"""So many new objects are made before a worker looks for rubbish: a message leaves none behind."""

PIPE_BYTES: Final = 1 << 20
"""Room in a pipe, where the system gives it, for an answer that nobody reads yet."""

PROGRAM: Final = "import sys; sys.path[:] = {path!r}; from deciban.mail.bulk.reader_processes import serve; serve()"

T = TypeVar("T")

Sent = bytes | tuple[str, str, float | None, bool, bool]
"""A message, or a file: its path, flags and time, whether it is one message, and whether what is trashed counts."""

Heads = list[tuple[str, float | None]]
"""Names of messages, and when they came."""

Answer = tuple["Said", dict[int, Heads], list[tuple[int, str, str, int]]]
"""What messages hold; which there are in files that were opened; and what could not be read of them, in words."""


class Worker:
    """A process that reads messages; should it die, they are read here."""

    def __init__(self, reading: TokenOptions, digests: bool) -> None:
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
        self._asked: deque[Sequence[Sent]] = deque()
        self._here: TokenNumberer | None = None
        self._waiting: SimpleQueue[bytes | None] = SimpleQueue()
        self._feeder = Thread(target=self._feed, daemon=True)
        try:
            self._feeder.start()
        except RuntimeError:  # the system has no thread for us
            self.process.kill()
            self.process.communicate()
            raise
        self._waiting.put(json.dumps([asdict(reading), digests]).encode())

    def ask(self, sent: Sequence[Sent]) -> None:
        """Have some messages read."""
        self._asked.append(sent)
        self._waiting.put(marshal.dumps(sent))  # type: ignore[arg-type]  # tuples are marshalled too

    def answer(self) -> Answer:
        """What the first of them hold that were not answered yet."""
        sent = self._asked.popleft()
        if self._here is None:
            try:
                answer: Answer = marshal.loads(_frame(self._fro))
                return answer
            except (OSError, EOFError, ValueError):
                self._here = _python_reader(self._reading)
        return answer_to(sent, self._here, self._digests)

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


class ReaderPool(Generic[T]):
    """Workers, if there is so much to be read that they are worth their start; they end with the block.

    Whoever has more to do before the first message is needed, such as to load what will judge it, starts them first.
    There are n of them (None: as many as the machine has cores); 1 is the process that asks, which needs no other.
    """

    def __init__(
        self, given: Iterable[T], n: int | None, reading: TokenOptions = DEFAULT_OPTIONS, digests: bool = True
    ) -> None:
        n = min(os.cpu_count() or 1, MOST_WORKERS) if n is None else n
        n = 0 if n == 1 else n
        given = iter(given)
        first = list(islice(given, FEW if n else 0))
        self.given, self.way = chain(first, given), (reading, digests)
        self.workers = started(n, reading, digests) if len(first) == FEW else []
        self._end = finalize(self, _stop, self.workers)  # also if nobody enters the block

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._end()


def _stop(workers: Sequence[Worker]) -> None:
    for worker in workers:
        worker.stop()


def started(n: int, reading: TokenOptions, digests: bool) -> list[Worker]:
    """So many workers, or as many as the system lets us have."""
    workers: list[Worker] = []
    with suppress(OSError, RuntimeError):
        workers.extend(Worker(reading, digests) for _ in range(n))  # those that were started stay
    return workers


def _python_reader(reading: TokenOptions) -> TokenNumberer:
    """What reads here; loaded where it is needed, as it takes as long as to start a worker."""
    from deciban.mail.bulk.token_numbers import TokenNumberer

    return TokenNumberer(reading)


def answer_to(sent: Sequence[Sent], numbering: TokenNumberer, digests: bool) -> Answer:
    """What messages and files hold."""
    raws: list[bytes] = []
    opened: dict[int, Heads] = {}
    problems: list[tuple[int, str, str, int]] = []
    for i, each in enumerate(sent):
        if isinstance(each, bytes):
            raws.append(each)
            continue
        path, flags, time, alone, trashed = each
        met: list[Problem] = []
        found = tuple(read_file_messages(MessageFile(path, flags, time, alone, trashed=trashed, problems=met.append)))
        opened[i] = [(one.name, one.time) for one in found]
        raws += [one.raw for one in found]
        problems += [(i, one.name, one.reason, one.messages) for one in met]
    return numbering.said(raws, digests), opened, problems


def serve() -> None:
    """The work of a worker: messages in, numbers out, until nobody asks any more."""
    to, fro = sys.stdout.buffer, sys.stdin.buffer
    gc.set_threshold(RARELY)
    try:
        reading, digests = json.loads(_frame(fro))
        from deciban.mail.bulk.token_numbers import TokenNumberer

        numbering = TokenNumberer(TokenOptions(**reading))
        while True:
            _write_frame(to, marshal.dumps(answer_to(marshal.loads(_frame(fro)), numbering, digests)))
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
