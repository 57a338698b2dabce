"""The usual calls of mail systems, one for each message: answered before anything is loaded that reads options."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from deciban.cli.codes import INTERRUPTED, NO_VERDICT, UNREAD

VALUED = ("--store", "--model")
FLAGS = {"classify": ("--json",), "filter": ()}
"""Commands that are known here, and their options without a value."""


def at_once(arguments: Sequence[str]) -> int | None:
    """The exit code of `classify` or `filter` of standard input; None for any other call, which is left to others."""
    command, *rest = arguments or [""]
    given = _options(rest, FLAGS[command]) if command in FLAGS else None
    if given is None:
        return None
    if command == "classify":
        return _classify(given.get("--store"), given.get("--model"), "--json" in given)
    from deciban.cli.mail.passing import pass_judged

    pass_judged(given.get("--store"), given.get("--model"))
    return 0


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


def _classify(store: str | None, model: str | None, json: bool) -> int:
    from deciban.cli.mail.one import judge

    try:
        return judge(store, model, json=json)
    except BrokenPipeError:
        return UNREAD
    except KeyboardInterrupt:
        print("interrupted: nothing was changed", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        from deciban.cli.manners import in_words

        print(f"error: {in_words(error)}", file=sys.stderr)
        return NO_VERDICT
