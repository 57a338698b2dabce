"""A message passes through with its verdict in the header; no error keeps it from passing."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import Any, NoReturn, Self

from deciban.cli.error_handling import say
from deciban.cli.exit_codes import TRY_AGAIN
from deciban.cli.mail.classify_one import CLUES
from deciban.cli.mail.open_store import judging

ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGALRM") if hasattr(signal, name))
"""Signals that end a program: a message that is being judged passes first."""

LOOKED_AT, PIECE = 1 << 24, 1 << 16
"""Bytes that are judged, and of the pieces in which they are read: memory holds no more, however long it is."""


class EndedError(Exception):
    """The program is to end."""


def pass_judged(store: str | None, model: str | None, debug: bool = False) -> None:
    """Pass a message from standard input to standard output, with its verdict; on any error, as it came."""
    read: list[bytes] = []
    with Signals() as signals:
        try:
            _read(read)
            made = [_judged(b"".join(read), store, model, debug)] if read else read
            signals.heeded = False
        except Exception as error:
            signals.heeded = False
            made = read
            _say(error)
        _write(made)


def pass_on(why: str) -> None:
    """Pass the message as it comes, and say why."""
    say(f"error: {why} The message was passed on as it came.")
    _write([])


def _judged(head: bytes, store: str | None, model: str | None, debug: bool) -> bytes:
    from deciban.cli.mail.isolated import aside
    from deciban.mail.message.header_insertion import insert_header

    def said() -> bytes:
        with judging(store, model) as mail:
            return mail.classify(head, clues=CLUES).header().encode()

    return insert_header(head, aside(said, debug).decode())


def _say(error: Exception) -> None:
    with suppress(Exception):  # if nobody hears us, the message passes nevertheless
        said = str(error) or type(error).__name__
        say(f"error: {said}\nThe message was passed on as it came.")


def _read(into: list[bytes]) -> None:
    """As much of the message as is looked at, in pieces: what was read is there to pass on, whatever happens."""
    left = LOOKED_AT
    try:
        while left and (piece := sys.stdin.buffer.read(min(PIECE, left))):
            into.append(piece)
            left -= len(piece)
    except (OSError, AttributeError, EndedError) as error:
        _give_up(f"the message could not be read: {error}")


def _write(start: list[bytes]) -> None:
    """Pass on what was read, and then what still comes."""
    try:
        for piece in start:
            sys.stdout.buffer.write(piece)
        while piece := sys.stdin.buffer.read(PIECE):
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    except (OSError, AttributeError, MemoryError) as error:
        _give_up(f"the message could not be passed on: {error}")


def _give_up(why: str) -> NoReturn:
    """Leave at once: an orderly end would try to write what is left, and fail again."""
    with suppress(OSError):
        os.write(2, f"error: {why}\n".encode())
    os._exit(TRY_AGAIN)


class Signals:
    """Within the block a signal that ends programs is an error like others; later it is not heeded at all.

    What is half passed on would be worse than what is passed on late.
    """

    def __init__(self) -> None:
        self.heeded = True
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._end) for number in ENDING}
        return self

    def _end(self, number: int, frame: FrameType | None) -> None:
        if self.heeded:
            self.heeded = False
            raise EndedError(f"ended by {signal.Signals(number).name}")

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
