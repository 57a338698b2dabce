"""Paths by what lies there: `--ham PATH… --spam PATH… --label NAME=PATH…`, as a command line gives them."""

from __future__ import annotations

from collections.abc import Sequence

NAMED = ("--ham", "--spam", "--label")
"""Options that take several paths after them."""


def spread(args: Sequence[str]) -> list[str]:
    """An option before each path; of a label, the name too.

    >>> spread(["--ham", "a", "b", "--label", "work=c", "d", "--json"])
    ['--ham', 'a', '--ham', 'b', '--label', 'work=c', '--label', 'work=d', '--json']
    """
    made: list[str] = []
    option, name, first = "", "", False
    for argument in args:
        if argument.startswith("-") and argument != "-":
            option, equals, value = argument.partition("=")
            option = option if option in NAMED else ""
            name, first = (f"{value.partition('=')[0]}=" if equals and option == "--label" else ""), not equals
        elif option and first:
            name, first = f"{argument.partition('=')[0]}=" if option == "--label" else "", False
        elif option:
            made.append(option)
            argument = name + argument
        made.append(argument)
    return made


def by_label(
    ham: Sequence[str] | None, spam: Sequence[str] | None, labelled: Sequence[str] | None
) -> dict[str, list[str]]:
    """The paths of each label; a ValueError says what is wrong with them."""
    asked = {"ham": list(ham or ()), "spam": list(spam or ())}
    for pair in labelled or ():
        name, equals, path = pair.partition("=")
        if not equals or not name or not path:
            raise ValueError(f"{pair!r} is not NAME=PATH, as in --label work=~/Maildir/.Work")
        asked.setdefault(name, []).append(path)
    asked = {name: paths for name, paths in asked.items() if paths}
    if not asked:
        raise ValueError("nothing to learn from: --ham PATH, --spam PATH or --label NAME=PATH is wanted")
    return asked
