"""A function run by a child process: whatever happens to the child, the process that called goes on."""

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
"""The first byte of an answer, and the last byte of a complete one."""

CHILD_SIGNALS: Final = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name)
)
"""Signals that end the child at once, however the parent handles them."""

OUT_OF_MEMORY: Final = "there is not enough memory to classify"

TIMEOUT_SECONDS: Final = 60.0
"""Time after which a verdict is of no use any more."""


class IsolatedError(DecibanError):
    """The function raised an error, or its process crashed or took too long."""


def run_isolated(function: Callable[[], bytes], debug: bool = False, seconds: float = TIMEOUT_SECONDS) -> bytes:
    """Return what `function` returns; its error, a crash or more than so many seconds are an IsolatedError here.

    Libraries end a process that has too little memory, systems kill it, and a lock that is waited for in C ignores
    signals: none of it happens to the process that calls. With `debug` the error has a traceback.

    >>> run_isolated(lambda: b"done")
    b'done'
    """
    if not hasattr(os, "fork"):
        return function()
    read_end, write_end = os.pipe()
    child, mask = _fork()
    if not child:
        _run_child(function, debug, write_end, mask)
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.close(write_end)
        answer = _read_answer(read_end, seconds)
    finally:
        os.close(read_end)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)  # it has answered, or is too late
        os.waitpid(child, 0)
    if not answer.endswith(END):
        raise IsolatedError("classifying was cut short. Hint: is there enough memory?")
    if answer.startswith(FAILED):
        raise IsolatedError(answer[1:-1].decode())
    return answer[1:-1]


def _fork() -> tuple[int, set[signal.Signals]]:
    """Fork with signals blocked, lest the child raise the errors that they are in the parent; return the old mask."""
    mask: set[Any] = signal.pthread_sigmask(signal.SIG_BLOCK, CHILD_SIGNALS)
    try:
        return os.fork(), mask
    except OSError:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        raise


def _run_child(function: Callable[[], bytes], debug: bool, write_end: int, mask: set[signal.Signals]) -> NoReturn:
    """Run the function in the child, which ends here lest it do what the parent has still to do."""
    try:
        for number in CHILD_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        answer = _try(function, debug) + END
        while answer:
            answer = answer[os.write(write_end, answer) :]
        sys.stderr.flush()
    finally:
        os._exit(0)


def _try(function: Callable[[], bytes], debug: bool) -> bytes:
    try:
        return DONE + function()
    except Exception as error:
        from traceback import format_exc

        from deciban.cli.error_handling import describe_error

        text = OUT_OF_MEMORY if isinstance(error, MemoryError) else describe_error(error)
        text = format_exc().rstrip() if debug else text
        return FAILED + text.encode("utf-8", "replace")


def _read_answer(read_end: int, seconds: float) -> bytes:
    read, until = b"", monotonic() + seconds
    while True:
        ready, _, _ = select.select([read_end], [], [], max(0.0, until - monotonic()))
        if not ready:
            raise IsolatedError(f"classifying took more than {seconds:g} seconds")
        piece = os.read(read_end, 1 << 16)
        if not piece:
            return read
        read += piece
