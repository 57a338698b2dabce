"""The usual calls for mail: answered before anything is loaded that reads options, which takes as long as they do."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from deciban.cli.exit_codes import INTERRUPTED, NO_VERDICT, TRY_AGAIN, UNREAD

LITTLE = 1 << 13
"""Bytes that there is memory for if for anything."""

VALUED = {
    "classify": ("--store", "--model", "--top"),
    "filter": ("--store", "--model"),
    "learn": ("--store", "--ham", "--spam", "--label"),
}
"""Commands that are known here, and their options with a value."""

FLAGS = {
    "classify": ("--json", "--subfolders", "--trashed"),
    "filter": (),
    "learn": ("--json", "--subfolders", "--trashed", "--no-fit"),
}
"""Their options without one."""

PATH = "PATH"
"""What stands for an option where there is none."""

Given = dict[str, list[str]]
"""Options, and the values of each in their order."""


def at_once(arguments: Sequence[str]) -> int | None:
    """The exit code of a call that is known here; None for any other, right or wrong, which is left to others."""
    command, *rest = arguments or [""]
    if command == "learn":
        from deciban.cli.mail.label_paths import spread

        rest = spread(rest)
    given = _given(rest, VALUED[command], FLAGS[command]) if command in VALUED else None
    if given is None or (PATH in given and command != "classify"):
        return None
    if command != "learn" and PATH not in given:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one message needs no threads, nor their memory
    elif os.name == "nt":
        return None  # what reads options makes paths of patterns there, as shells do elsewhere
    return {"classify": _classify, "filter": _filter, "learn": _learn}[command](given)


def _given(arguments: Sequence[str], valued: Sequence[str], flags: Sequence[str]) -> Given | None:
    """What is given, if there is nothing but what is known here, each with its value.

    >>> _given(["a.eml", "--store", "a.db", "--json"], ["--store"], ["--json"])
    {'PATH': ['a.eml'], '--store': ['a.db'], '--json': []}
    >>> [_given(wrong, ["--store"], []) for wrong in (["--store"], ["--store", "--json"], ["--json"], ["--", "a"])]
    [None, None, None, None]
    """
    given: Given = {}
    left = iter(arguments)
    for argument in left:
        name, equals, value = argument.partition("=")
        if argument in flags:
            given[argument] = []
            continue
        if name not in valued:
            name, value = PATH, argument
        elif not equals:
            value = next(left, "")
        if not value or (value.startswith("-") and value != "-"):
            return None
        given.setdefault(name, []).append(value)
    return given


def _last(given: Given, option: str) -> str | None:
    return given[option][-1] if option in given else None


def _learn(given: Given) -> int | None:
    from deciban.cli.mail.label_paths import by_label

    try:
        asked = by_label(given.get("--ham"), given.get("--spam"), given.get("--label"))
    except ValueError:
        return None
    from deciban.cli.mail.learn_messages import learn

    learn(
        asked, _last(given, "--store"), subfolders="--subfolders" in given, trashed="--trashed" in given,
        no_fit="--no-fit" in given, json="--json" in given,
    )  # fmt: skip
    return 0


def _classify(given: Given) -> int | None:
    store, model, top = (_last(given, option) for option in ("--store", "--model", "--top"))
    options: dict[str, Any] = {"json": "--json" in given}
    if top is not None:
        if not (top.isascii() and top.isdecimal() and len(top) < 6):
            return None
        options["top"] = int(top)
    if PATH not in given:
        return _judge(store, model, **options)
    from deciban.cli.mail.classify_many import judge_all

    options.update(subfolders="--subfolders" in given, trashed="--trashed" in given)
    judge_all(given[PATH], store, model, **options)
    return 0


def _filter(given: Given) -> int:
    try:
        from deciban.cli.mail.filter_message import pass_judged
    except (Exception, KeyboardInterrupt):  # there is not even the memory to load it
        return _passed()
    pass_judged(_last(given, "--store"), _last(given, "--model"))
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


def _judge(store: str | None, model: str | None, **options: Any) -> int:
    """One message; whatever happens is no verdict, even if there is no memory to say it well."""
    try:
        from deciban.cli.mail.classify_one import judge

        return judge(store, model, **options)
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
        from deciban.cli.error_handling import in_words

        return in_words(error)
    except Exception:  # what says it well could not be loaded
        return str(error) or type(error).__name__


def _say(what: str) -> None:
    with suppress(Exception):  # if nobody hears us, the exit code still says it
        try:
            from deciban.cli.error_handling import say
        except Exception:  # it could not be loaded: escape all that is not ASCII
            print(ascii(what)[1:-1], file=sys.stderr, flush=True)
        else:
            say(what)
