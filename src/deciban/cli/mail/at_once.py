"""The usual calls of mail systems, one for each message: answered before anything is loaded that reads options."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from deciban.cli.codes import INTERRUPTED, NO_VERDICT, TRY_AGAIN, UNREAD

LITTLE = 1 << 13
"""Bytes that there is memory for if for anything."""

VALUED = ("--store", "--model")
FLAGS = {"classify": ("--json",), "filter": ()}
"""Commands that are known here, and their options without a value."""


def at_once(arguments: Sequence[str]) -> int | None:
    """The exit code of `classify` or `filter` of standard input; None for any other call, which is left to others."""
    command, *rest = arguments or [""]
    given = _options(rest, FLAGS[command]) if command in FLAGS else None
    if given is None:
        return None
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one message needs no threads, nor the memory that they take
    if command == "classify":
        return _classify(given.get("--store"), given.get("--model"), "--json" in given)
    return _filter(given.get("--store"), given.get("--model"))


def _options(arguments: Sequence[str], flags: Sequence[str]) -> dict[str, str] | None:
    """Options and their values, if there is nothing but those that are known here, each with its value.

    >>> _options(["--store", "a.db", "--model=bayes"], []), _options(["--json"], []), _options(["--store"], [])
    ({'--store': 'a.db', '--model': 'bayes'}, None, None)
    """
    given, left = {}, list(arguments)
    while left:
        name, equals, value = left.pop(0).partition("=")
        if name in flags and not equals:
            given[name] = ""
        elif name in VALUED and (equals or left):
            given[name] = value if equals else left.pop(0)
        else:
            return None
    return given


def _filter(store: str | None, model: str | None) -> int:
    try:
        from deciban.cli.mail.passing import pass_judged
    except (Exception, KeyboardInterrupt):  # there is not even the memory to load it
        return _passed()
    pass_judged(store, model)
    return 0


def _passed() -> int:
    """Pass the message as it comes, with nothing but the system's own calls."""
    try:
        while piece := os.read(0, LITTLE):
            while piece:
                piece = piece[os.write(1, piece) :]
    except Exception:
        return TRY_AGAIN
    return 0


def _classify(store: str | None, model: str | None, json: bool) -> int:
    try:
        from deciban.cli.mail.one import judge

        return judge(store, model, json=json)
    except BrokenPipeError:
        return UNREAD
    except KeyboardInterrupt:
        _say("interrupted: nothing was changed")
        return INTERRUPTED
    except Exception as error:
        _say(f"error: {_in_words(error)}")
        return NO_VERDICT


def _in_words(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "there is not enough memory to judge"
    try:
        from deciban.cli.manners import in_words

        return in_words(error)
    except Exception:  # what says it well could not be loaded
        return str(error) or type(error).__name__


def _say(what: str) -> None:
    with suppress(Exception):  # if nobody hears us, the exit code still says it
        print(what, file=sys.stderr, flush=True)
