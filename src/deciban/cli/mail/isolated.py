"""Work done by a process of its own: whatever happens to it, whoever asked for it goes on."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any, Final, NoReturn

from deciban.errors import DecibanError

DONE, FAILED, END = b"+", b"-", b"\n"
"""What an answer begins with, and ends with if it is whole."""

ENDING: Final = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name))
"""Signals that end the one who works at once, whatever they are to the one who asked."""

NO_MEMORY: Final = "there is not enough memory to judge"


LONGEST_WAIT: Final = 60.0
"""Seconds after which a verdict is of no use any more."""


class AsideError(DecibanError):
    """What was asked for did not come, and why."""


def aside(work: Callable[[], bytes], debug: bool = False, seconds: float = LONGEST_WAIT) -> bytes:
    """What `work` returns; an error of it, a crash or more than so many seconds are an AsideError here.

    Libraries end a process that has too little memory, systems kill it, and a lock that is waited for in C hears no
    signal: none of it happens to the process that asks. With `debug` the error says where it happened.

    >>> aside(lambda: b"done")
    b'done'
    """
    if not hasattr(os, "fork"):
        return work()
    reads, writes = os.pipe()
    child, held = _forked()
    if not child:
        _work(work, debug, writes, held)
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
        os.close(writes)
        answer = _answer(reads, seconds)
    finally:
        os.close(reads)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)  # it has answered, or is too late
        os.waitpid(child, 0)
    if not answer.endswith(END):
        raise AsideError("judging broke off. Hint: is there enough memory?")
    if answer.startswith(FAILED):
        raise AsideError(answer[1:-1].decode())
    return answer[1:-1]


def _forked() -> tuple[int, set[signal.Signals]]:
    """The other process, or 0 in it; signals wait meanwhile, lest it begin with the errors they are for the other."""
    held: set[Any] = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        return os.fork(), held
    except OSError:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
        raise


def _work(work: Callable[[], bytes], debug: bool, writes: int, held: set[signal.Signals]) -> NoReturn:
    """The life of the other process: it ends here, lest it do what is still to be done by the one who asked."""
    try:
        for number in ENDING:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
        answer = _tried(work, debug) + END
        while answer:
            answer = answer[os.write(writes, answer) :]
        sys.stderr.flush()
    finally:
        os._exit(0)


def _tried(work: Callable[[], bytes], debug: bool) -> bytes:
    try:
        return DONE + work()
    except Exception as error:
        from deciban.cli.error_handling import in_words, traceback

        said = traceback() if debug else NO_MEMORY if isinstance(error, MemoryError) else in_words(error)
        return FAILED + said.encode("utf-8", "replace")


def _answer(reads: int, seconds: float) -> bytes:
    read, until = b"", monotonic() + seconds
    while True:
        ready, _, _ = select.select([reads], [], [], max(0.0, until - monotonic()))
        if not ready:
            raise AsideError(f"judging took more than {seconds:g} seconds")
        piece = os.read(reads, 1 << 16)
        if not piece:
            return read
        read += piece
