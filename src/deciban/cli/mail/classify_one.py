"""One message on standard input: what it is, said in a line and by an exit code."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from deciban.cli.exit_codes import NOT_SPAM, VERDICTS
from deciban.cli.mail.isolated import aside
from deciban.cli.mail.open_store import judging
from deciban.cli.output import for_stdout

if TYPE_CHECKING:
    from deciban.mail.model.verdict import Verdict

CLUES: Final = 5
"""So many clues are named unless more are asked for."""


def judge(store: str | None, model: str | None, top: int = CLUES, json: bool = False, debug: bool = False) -> int:
    """Say what the message on standard input is; the exit code that says it too.

    A library that ends the process does so with 1, which would be a verdict: so another process judges.
    """
    raw = standing_input()

    def said() -> bytes:
        with judging(store, model) as mail:
            verdict = mail.classify(raw, clues=top)
        line = as_json("-", verdict) if json else verdict.header(top)
        return f"{VERDICTS.get(verdict.label, NOT_SPAM)} {line}".encode("utf-8", "surrogatepass")

    code, _, line = aside(said, debug).decode("utf-8", "surrogatepass").partition(" ")
    print(for_stdout(line))
    sys.stdout.flush()
    return int(code)


def standing_input() -> bytes:
    """The message on standard input, as far as it is looked at; it is read to its end, lest its writer break off."""
    from deciban.mail.sources.message_sources import one_message

    if sys.stdin.isatty():
        print("reading a message from standard input, to its end (Ctrl-D) …", file=sys.stderr)
    raw = one_message(sys.stdin.buffer)
    while sys.stdin.buffer.read(1 << 20):
        pass
    return raw


def as_json(name: str, verdict: Verdict) -> str:
    """A verdict in one line of JSON."""
    from deciban.plain_json import json_text, plain_text

    told = {"path": name, **verdict.to_dict()}
    try:
        return plain_text(told)
    except ValueError:  # a number that is not finite
        return json_text(told)
