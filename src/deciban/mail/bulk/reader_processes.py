"""Processes that read messages and extract their tokens, each fed by a thread so that it never waits for input.

They are new interpreters that load only what reads mail: nothing is forked, so an open store, threads and a script
without a main guard in the calling process are all safe.
"""

import gc
import marshal
import os
import subprocess
import sys
from array import array
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from itertools import chain, count, islice
from queue import SimpleQueue
from threading import Thread
from typing import IO, Any, Final, NamedTuple, Self
from weakref import finalize

from deciban.mail.sources.message_files import MessageFile, Problem
from deciban.mail.sources.message_sources import read_file_messages
from deciban.mail.tokens.token_options import DEFAULT_OPTIONS, TokenOptions

MIN_MESSAGES_FOR_PROCESSES: Final = 300
"""With fewer messages, the calling process has read them before another one would have started."""

MAX_PROCESSES: Final = 8

GC_THRESHOLD_OBJECTS: Final = 50_000
"""New objects after which a reader's garbage collector runs: a message leaves no garbage behind."""

PIPE_BYTES: Final = 1 << 20
"""Size of the pipe for answers, where the system permits it."""

PROGRAM: Final = "import sys; sys.path[:] = {path!r}; from deciban.mail.bulk.reader_processes import serve; serve()"

ChunkItem = bytes | tuple[str, bool, float | None, bool, bool]
"""A message, or the first fields of a `MessageFile`."""


class ChunkTokens(NamedTuple):
    """The tokens of some messages, as a process can send them to another."""

    words: str
    """The different tokens, one a line."""
    sizes: bytes
    """The number of tokens of each message, in four bytes."""
    indices: bytes
    """The index of each token among the words, in four bytes, message after message."""
    digests: list[bytes]
    """The digests of the messages, if they were wanted."""
    omissions: dict[int, tuple[str, ...]]
    """Descriptions of the parts of a message that limits left out, by the message's position."""
    opened: dict[int, list[tuple[str, float | None]]]
    """Name and time of each message in a file, by the file's position in the chunk."""
    problems: list[tuple[int, str, str, int, bool]]
    """Parts of files that could not be read: the file's position, and the fields of a `Problem`."""
    headings: list[tuple[str, str]]
    """Sender and subject of each message, unless digests were wanted."""


def read_chunk(items: Sequence[ChunkItem], options: TokenOptions, digests: bool) -> ChunkTokens:
    r"""Read messages and files and extract their tokens.

    >>> found = read_chunk([b"\ntea Tea or two"], TokenOptions(names=False), digests=False)
    >>> found.words.split("\n"), array("I", found.sizes).tolist(), array("I", found.indices).tolist()
    (['type:text/plain', 'tea', 'or', 'two'], [4], [0, 1, 2, 3])
    """
    from deciban.mail.message.message import compute_digest, read_message
    from deciban.mail.tokens.tokens import extract_tokens, list_omissions

    raws, opened, problems = _open_files(items)
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    sizes, indices = array("I"), array("I")
    omissions: dict[int, tuple[str, ...]] = {}
    headings: list[tuple[str, str]] = []
    for i, raw in enumerate(raws):
        message = read_message(raw)
        tokens = extract_tokens(message, options)
        sizes.append(len(tokens))
        indices.extend(map(numbers.__getitem__, tokens))
        if omitted := list_omissions(message, tokens):
            omissions[i] = omitted
        if not digests:
            headings.append(message.heading)
    wanted = [compute_digest(raw) for raw in raws] if digests else []
    words = "\n".join(numbers)
    return ChunkTokens(words, sizes.tobytes(), indices.tobytes(), wanted, omissions, opened, problems, headings)


def _open_files(
    items: Sequence[ChunkItem],
) -> tuple[list[bytes], dict[int, list[tuple[str, float | None]]], list[tuple[int, str, str, int, bool]]]:
    """Read the files among the items; return all messages, and `opened` and `problems` of `ChunkTokens`."""
    raws: list[bytes] = []
    opened: dict[int, list[tuple[str, float | None]]] = {}
    problems: list[tuple[int, str, str, int, bool]] = []
    for i, item in enumerate(items):
        if isinstance(item, bytes):
            raws.append(item)
            continue
        met: list[Problem] = []
        found = tuple(read_file_messages(MessageFile(*item, problems=met.append)))
        opened[i] = [(message.name, message.time) for message in found]
        raws += [message.raw for message in found]
        problems += [(i, *problem) for problem in met]
    return raws, opened, problems


class ReaderProcess:
    """A process that reads messages; should it die, the calling process reads them."""

    def __init__(self, options: TokenOptions, digests: bool) -> None:
        self._options, self._digests = options, digests
        command = [sys.executable, "-c", PROGRAM.format(path=sys.path)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the calling process: a reader would print a traceback
        )  # fmt: skip
        assert self.process.stdin
        assert self.process.stdout
        self._input, self._output = self.process.stdin, self.process.stdout
        with suppress(ImportError, AttributeError, OSError):
            from fcntl import F_SETPIPE_SZ, fcntl

            fcntl(self._output.fileno(), F_SETPIPE_SZ, PIPE_BYTES)
        self._requested: deque[Sequence[ChunkItem]] = deque()
        self._is_dead = False
        self._queue: SimpleQueue[bytes | None] = SimpleQueue()
        self._feeder = Thread(target=self._feed, daemon=True)
        try:
            self._feeder.start()
        except RuntimeError:  # the system has no thread for us
            self.process.kill()
            self.process.communicate()
            raise
        self._queue.put(marshal.dumps((asdict(options), digests)))

    def request(self, items: Sequence[ChunkItem]) -> None:
        """Ask for the tokens of a chunk, without waiting; `receive` returns them."""
        self._requested.append(items)
        self._queue.put(marshal.dumps(items))  # type: ignore[arg-type]  # tuples are marshalled too

    def receive(self) -> ChunkTokens:
        """Return the tokens of the first chunk that was requested and not received yet."""
        items = self._requested.popleft()
        if not self._is_dead:
            try:
                return ChunkTokens(*marshal.load(self._output))
            except (OSError, EOFError, ValueError, TypeError):
                self._is_dead = True
        return read_chunk(items, self._options, self._digests)

    def _feed(self) -> None:
        """Write queued input to the process until None is queued; the feeder thread runs this."""
        with suppress(OSError):  # the process is gone: its next answer will not come either
            while (data := self._queue.get()) is not None:
                _write_unbuffered(self._input, data)

    def stop(self) -> None:
        """Kill the process, whatever it is doing, end its feeder thread, and close its pipes."""
        self.process.kill()
        self.process.wait()
        self._queue.put(None)
        self._feeder.join()
        self._output.close()
        with suppress(OSError):  # input that was not sent is of no use to anybody
            self._input.close()


class ReaderPool:
    """Reader processes, if there are enough messages to be worth their start; they end with the block.

    A caller that has more to do before it needs the first message, such as loading a store, makes the pool first.
    n is the number of processes (None: one per core of the machine, at most `MAX_PROCESSES`). With 1, or with few
    messages, `workers` is empty, and the calling process is to read `messages` itself, by the `settings`.
    """

    def __init__(
        self, messages: Iterable[Any], n: int | None, options: TokenOptions = DEFAULT_OPTIONS, digests: bool = True
    ) -> None:
        n = min(os.cpu_count() or 1, MAX_PROCESSES) if n is None else n
        n = 0 if n == 1 else n
        messages = iter(messages)
        first = list(islice(messages, MIN_MESSAGES_FOR_PROCESSES if n else 0))
        self.messages, self.settings = chain(first, messages), (options, digests)
        self.workers: list[ReaderProcess] = []
        if len(first) == MIN_MESSAGES_FOR_PROCESSES:
            with suppress(OSError, RuntimeError):  # the system permits no more; those that were started stay
                self.workers.extend(ReaderProcess(options, digests) for _ in range(n))
        self._end = finalize(self, _stop_all, self.workers)  # also if nobody enters the block

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()


def _stop_all(workers: Sequence[ReaderProcess]) -> None:
    for worker in workers:
        worker.stop()


def serve() -> None:
    """Run a reader process: receive chunks and send their tokens until the input ends."""
    output, source = sys.stdout.buffer, sys.stdin.buffer
    gc.set_threshold(GC_THRESHOLD_OBJECTS)
    try:
        arguments, digests = marshal.load(source)
        options = TokenOptions(**arguments)
        while True:
            _write_unbuffered(output, marshal.dumps(tuple(read_chunk(marshal.load(source), options, digests))))
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        return


def _write_unbuffered(pipe: IO[bytes], data: bytes) -> None:
    """Write all data, bypassing the buffer of the pipe: in one system call, if possible.

    A system call goes on while other threads of this process are busy; between two calls this one would wait.
    """
    unsent = memoryview(data)
    while unsent:
        unsent = unsent[os.write(pipe.fileno(), unsent) :]
