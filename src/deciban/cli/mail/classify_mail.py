"""`deciban mail classify`: the verdict on one message from standard input, or on each message of some paths.

One message is classified by a child process: whatever happens to the child, the process that called goes on.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NoReturn

from deciban.cli.error_handling import describe_error, handle_errors
from deciban.cli.exit_codes import NO_VERDICT, NOT_SPAM, VERDICTS
from deciban.cli.files import escape_for_terminal
from deciban.cli.mail import mail_parser as a
from deciban.cli.mail.mail_inputs import MessageReader, check_paths, count_messages, open_to_classify, read_stdin
from deciban.errors import DecibanError
from deciban.formatting import to_one_line

if TYPE_CHECKING:
    from deciban.mail.model.verdicts import Verdict

SHOWN_CLUES: Final = 5
"""Number of clues that are named unless `--top` is given."""

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


@a.command(
    a.MESSAGES, a.STORE, a.MODEL,
    a.number("--top", "NUMBER", "How many clues to name, the strongest first.", minimum=0, default=SHOWN_CLUES),
    a.SUBFOLDERS, a.TRASHED, a.JSON_LINES, a.DEBUG,
    examples=["deciban mail classify < message.eml", "deciban mail classify ~/Maildir --json"],
)  # fmt: skip
def classify(
    paths: Sequence[str], store: str | None, model: str | None, top: int, subfolders: bool, trashed: bool,
    json: bool, debug: bool,
) -> int:  # fmt: skip
    """Classify messages: the one on standard input, or all of the PATHs, a line each.

    Exit codes for one on standard input: 0 spam, 1 ham (or any other label), 2 unsure, 3 error. For PATHs: 0 done, 3
    error.
    """
    with handle_errors(debug, NO_VERDICT, "nothing was changed"):
        if not paths:
            return classify_stdin(store, model, top, json, debug)
        from deciban.mail.bulk.reader_processes import ReaderPool

        check_paths(paths)
        with count_messages("classifying") as tick:
            reader = MessageReader(paths, tick, subfolders, trashed)
            with (
                ReaderPool(reader.iterate_unopened(), None, digests=False) as pool,
                open_to_classify(store, model) as mail,
            ):
                for name, verdict in mail.classify_all(pool.messages, pool, clues=top):
                    print(escape_for_terminal(format_json(name, verdict)) if json else format_line(name, verdict))
        reader.raise_error()
    return 0


def classify_stdin(store: str | None, model: str | None, top: int, json: bool, debug: bool) -> int:
    """Print the verdict on the message on standard input, and return the exit code that states it.

    A library that ends its process does so with 1, which would be a verdict: so another process classifies.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one message needs no threads, nor their memory
    raw = read_stdin()

    def classify_message() -> bytes:
        with open_to_classify(store, model) as mail:
            verdict = mail.classify(raw, clues=top)
        line = format_json("-", verdict) if json else verdict.header(top)
        return f"{VERDICTS.get(verdict.label, NOT_SPAM)} {line}".encode("utf-8", "surrogatepass")

    try:
        code, _, line = run_isolated(classify_message, debug).decode("utf-8", "surrogatepass").partition(" ")
    except MemoryError:
        raise IsolatedError(OUT_OF_MEMORY) from None
    print(escape_for_terminal(line))
    sys.stdout.flush()
    return int(code)


def format_json(name: str, verdict: Verdict) -> str:
    """Return a verdict as one line of JSON."""
    from deciban.plain_json import encode_plain, to_json

    figures = {"path": name, **verdict.to_dict()}
    try:
        return encode_plain(figures)
    except ValueError:  # a number that is not finite
        return to_json(figures)


def format_line(name: str, verdict: Verdict) -> str:
    """Return a verdict in columns; the name comes last, as it may be long."""
    return f"{verdict.label:<8} {verdict.probability:.4f} {verdict.decibans:+8.1f} dB  {to_one_line(name)}"


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
        try:
            answer = DONE + function() + END
        except Exception as error:
            text = OUT_OF_MEMORY if isinstance(error, MemoryError) else describe_error(error)
            if debug:
                from traceback import format_exc

                text = format_exc().rstrip()
            answer = FAILED + text.encode("utf-8", "replace") + END
        while answer:
            answer = answer[os.write(write_end, answer) :]
        sys.stderr.flush()
    finally:
        os._exit(0)


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
