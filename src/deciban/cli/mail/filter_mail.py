"""`deciban mail filter`: a message is passed on with its verdict in the header, and passed on despite any error."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import Final, NoReturn

from deciban.cli.error_handling import print_stderr
from deciban.cli.exit_codes import TRY_AGAIN
from deciban.cli.mail import mail_parser as a
from deciban.cli.mail.classify_mail import SHOWN_CLUES, run_isolated
from deciban.cli.mail.mail_inputs import handle_signals, open_to_classify

ENDING_SIGNALS: Final = ("SIGTERM", "SIGINT", "SIGHUP", "SIGALRM")
"""Signals that end a program: a message that is being classified is passed on first."""

MAX_CLASSIFIED_BYTES: Final = 1 << 24
"""Bytes of a message that are held in memory and classified, however long it is."""

PIECE_BYTES: Final = 1 << 16
"""Bytes that are read at a time."""


class EndedError(Exception):
    """A signal asked the program to end."""


@a.command(a.STORE, a.MODEL, a.DEBUG, examples=["deciban mail filter < message.eml > classified.eml"])
def filter_message(store: str | None, model: str | None, debug: bool) -> None:
    """Pass a message from standard input to standard output, with the header X-Deciban in place of any that came.

    On any error (no store, a full disk, a signal) the message is passed on as it came, and the exit code is 0.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one message needs no threads, nor their memory
    read: list[bytes] = []
    is_ended = False

    def end(number: int, frame: object) -> None:
        """Raise an error once, and never after the verdict: a part of a message is worse than a late one."""
        nonlocal is_ended
        if not is_ended:
            is_ended = True
            raise EndedError(f"ended by {signal.Signals(number).name}")

    with handle_signals(end, *ENDING_SIGNALS):
        try:
            _read_head(read)
            start = [insert_verdict(b"".join(read), store, model, debug)] if read else read
            is_ended = True
        except Exception as error:
            is_ended = True
            start = read
            _report(error)
        _pass_on(start)


def pass_unchanged(reason: str) -> None:
    """Pass the message on as it came, and report the reason."""
    print_stderr(f"error: {reason} The message was passed on as it came.")
    _pass_on([])


def insert_verdict(head: bytes, store: str | None, model: str | None, debug: bool) -> bytes:
    """Return a message, or its first part, with the header of its verdict."""
    from deciban.mail.message.headers import insert_header

    def classify() -> bytes:
        with open_to_classify(store, model) as mail:
            return mail.classify(head, clues=SHOWN_CLUES).header().encode()

    return insert_header(head, run_isolated(classify, debug).decode())


def _report(error: Exception) -> None:
    with suppress(Exception):  # the message is passed on even where the error cannot be printed
        print_stderr(f"error: {str(error) or type(error).__name__}\nThe message was passed on as it came.")


def _read_head(into: list[bytes]) -> None:
    """Read the part of the message that is classified, in pieces that are there to pass on, whatever happens."""
    left = MAX_CLASSIFIED_BYTES
    try:
        while left and (piece := sys.stdin.buffer.read(min(PIECE_BYTES, left))):
            into.append(piece)
            left -= len(piece)
    except (OSError, AttributeError, EndedError) as error:
        _give_up(f"the message could not be read: {error}")


def _pass_on(start: list[bytes]) -> None:
    """Write these pieces, and then all that follows on standard input."""
    try:
        for piece in start:
            sys.stdout.buffer.write(piece)
        while piece := sys.stdin.buffer.read(PIECE_BYTES):
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    except (OSError, AttributeError, MemoryError) as error:
        _give_up(f"the message could not be passed on: {error}")


def _give_up(reason: str) -> NoReturn:
    """End at once: an orderly end would try to write once more, and fail again."""
    with suppress(OSError):
        os.write(2, f"error: {reason}\n".encode())
    os._exit(TRY_AGAIN)
