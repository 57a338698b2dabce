"""Work done by a process of its own: whatever happens to it, whoever asked for it goes on."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import NoReturn

DONE, FAILED, END = b"+", b"-", b"\n"
"""What an answer begins with, and ends with if it is whole."""


class AsideError(Exception):
    """What was asked for did not come, and why."""


def aside(work: Callable[[], bytes], in_words: Callable[[Exception], str], seconds: float) -> bytes:
    """What `work` returns; an error of it, a crash or more than so many seconds are an AsideError here.

    Libraries end a process that has too little memory, systems kill it, and a lock that is waited for in C hears no
    signal: none of it happens to the process that asks.

    >>> aside(lambda: b"done", str, 10.0)
    b'done'
    """
    if not hasattr(os, "fork"):
        return work()
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        _work(work, in_words, writes)
    os.close(writes)
    try:
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


def _work(work: Callable[[], bytes], in_words: Callable[[Exception], str], writes: int) -> NoReturn:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    try:
        answer = DONE + work()
    except Exception as error:
        answer = FAILED + in_words(error).encode("utf-8", "replace")
    sys.stderr.flush()
    sent = 0
    while sent < len(answer) + len(END):
        sent += os.write(writes, (answer + END)[sent:])
    os._exit(0)


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
