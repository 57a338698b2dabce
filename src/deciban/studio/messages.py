"""Messages of errors and warnings as pages show them: dropped files by their names, hints for the pages."""

from __future__ import annotations

import re

from deciban.command_hints import adapt_hint
from deciban.server.problems import Problem, to_problem

DROPPED_PATH = re.compile(r"(?<![^\s'\"])[^\s'\"]*[/\\]dropped-\w+[/\\]")
"""The folder of a dropped file, of which the user knows the name only."""

ROLE_OPTION = re.compile(r",? --as [^\s=]+=\w+(?: or \w+)?")
FIRST_ROLE_OPTION = re.compile(r"^--as ([^\s=]+)=(\w+)")
"""Options of the command line that choose a role, which the page Open does."""


def adapt_message(message: str) -> str:
    """Return a message of the library for the pages.

    >>> adapt_message("no column is left. Hint: give one a role, --as COLUMN=ROLE (roles={'COLUMN': 'ROLE'})")
    'no column is left. Hint: give one a role on the page Open'
    >>> adapt_message("'/folder/dropped-x1/a.csv' is no text. Hint: --format names its format")
    "'a.csv' is no text. Hint: on the command line, --format names its format"
    """
    what, hint, advice = adapt_hint(DROPPED_PATH.sub("", message)).partition("Hint: ")
    advice = FIRST_ROLE_OPTION.sub(r"on the page Open, the role \2 of \1", advice)
    advice = ROLE_OPTION.sub(" on the page Open", advice)
    return what + hint + ("on the command line, " if re.search(r"(?:^|\s)--\w", advice) else "") + advice


def to_page_problem(error: Exception) -> Problem:
    """Return the problem that reports an error to pages; one that is of the studio itself stays as it is."""
    problem = to_problem(error)
    return problem if problem is error else Problem(problem.status, adapt_message(problem.detail), problem.headers)
