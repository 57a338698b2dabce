"""Hints of errors in the words of the command line; those of the library also say what helps in Python."""

import re
from contextlib import AbstractContextManager

from deciban.errors import change_errors

PYTHON_HINT = re.compile(
    r" \((?:or |in Python: |train\(…, )?(?:"
    r"(?:roles|missing|allow_missing_columns|classes|format|encoding|hive|like|weights|unseen|words|learner|folds|target"
    r"|header|names|quote|decimal|dates|bad_cells|structure|where)="
    r"|(?:with_priors|deciban\.load)\()[^()]*\)+"
)
"""The part of a hint, in brackets, that only helps in Python."""

ARGUMENT = re.compile(
    r"(?<![\w=])(?:'[^']*'|\"[^\"]*\")"
    r"|\b(alpha|blocks|C|calibrate|classes|covariance|flipped|folds|groups|learners?|most|n_jobs|numbers|order|reject|sizes|structure|where)"
    r"=(?:'([^']*)'|\[([^\[\]]*)\]|([-−]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|inf)\b))"
)
"""A quoted text; or an argument of Python that is also an option: its name, and its value (text, list or number)."""

CALL = re.compile(r"\b(train|evaluate|compare)\((?:…|\.\.\.), ([^()]*)\)")
"""A call of Python that is also a command, and its arguments."""

OPTION_NAMES = {"blocks": "join", "n_jobs": "jobs"}
"""The names of options that differ from those of the arguments."""

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
    >>> adapt_hint("structure='tan' has no curve. Hint: sizes=[2, 3], or evaluate(…, folds='loo')")
    '--structure tan has no curve. Hint: --sizes 2,3, or deciban evaluate --folds loo'
    >>> adapt_hint("column 'C=1' holds 'x'. Hint: --as order=text")
    "column 'C=1' holds 'x'. Hint: --as order=text"
    """
    what, hint, advice = message.partition("Hint: ")
    for python, command in COMMAND_WORDING.items():
        advice = advice.replace(python, command)
    advice = PRIORS_HINT.sub(r"train with --prior \1", PYTHON_HINT.sub("", advice))
    return ARGUMENT.sub(_format_option, CALL.sub(r"deciban \1 \2", what + hint + advice))


def _format_option(argument: re.Match[str]) -> str:
    """Return the option for an argument of Python, or a quoted text, perhaps the name of a column, as it is."""
    name, text, items, number = argument.groups()
    if name is None:
        return argument[0]
    value = text or number or (items or "").replace("'", "").replace(", ", ",")
    return f"--{OPTION_NAMES.get(name, name)} {value}"


def direct_role_hints_to_training() -> AbstractContextManager[None]:
    """Make hints on roles in errors of the block refer to training: a trained model has its roles already."""

    def change(message: str) -> str:
        fault, hint, advice = message.partition("Hint: ")
        return fault + hint + advice.replace("--as ", "in training --as ", 1)

    return change_errors(change)
