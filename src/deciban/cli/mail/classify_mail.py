"""`deciban mail classify`: the verdict on one message from standard input, or on each message of some paths."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from deciban.cli.error_handling import handle_errors
from deciban.cli.exit_codes import NO_VERDICT, NOT_SPAM, VERDICTS
from deciban.cli.mail import mail_parser as a
from deciban.cli.mail.classify_mail import OUT_OF_MEMORY, IsolatedError, run_isolated
from deciban.cli.mail.mail_inputs import MessageReader, check_paths, count_messages, open_to_classify, read_stdin
from deciban.cli.output import escape_for_terminal
from deciban.formatting import to_one_line

if TYPE_CHECKING:
    from deciban.mail.model.verdicts import Verdict

SHOWN_CLUES: Final = 5
"""Number of clues that are named unless `--top` is given."""


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
