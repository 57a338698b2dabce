"""Hints of errors in the words of the command line; those of the library also say what helps in Python."""

import re
from contextlib import AbstractContextManager

from deciban.errors import change_errors

PYTHON_HINT = re.compile(
    r" \((?:or |in Python: |train\(…, )?(?:"
    r"(?:roles|missing|allow_missing_columns|classes|format|encoding|hive|like|weights|unseen|words|learner|folds|target"
    r"|header|names|quote|decimal|dates|bad_cells)="
    r"|(?:with_priors|deciban\.load)\()[^()]*\)+"
)
"""The part of a hint, in brackets, that only helps in Python."""

COMMAND_WORDING = {"column= one of": "--column, one of", "describe() summarises": "deciban inspect summarises"}
"""Words of hints for Python, and what replaces them on the command line."""

PRIORS_HINT = re.compile(r"with_priors\('(\w+)'\) first")
"""A hint that only Python can follow: no command changes the priors of a model."""


def adapt_hint(message: str) -> str:
    """Adapt the hint of a message, which may be for Python, to the command line.

    >>> adapt_hint("not read. Hint: --encoding latin-1 (or encoding='latin-1')")
    'not read. Hint: --encoding latin-1'
    >>> adapt_hint("Hint: with_priors('empirical') first")
    'Hint: train with --prior empirical'
    """
    what, hint, advice = message.partition("Hint: ")
    for python, command in COMMAND_WORDING.items():
        advice = advice.replace(python, command)
    return what + hint + PRIORS_HINT.sub(r"train with --prior \1", PYTHON_HINT.sub("", advice))


def direct_role_hints_to_training() -> AbstractContextManager[None]:
    """Make hints on roles in errors of the block refer to training: a trained model has its roles already."""

    def change(message: str) -> str:
        fault, hint, advice = message.partition("Hint: ")
        return fault + hint + advice.replace("--as ", "in training --as ", 1)

    return change_errors(change)
