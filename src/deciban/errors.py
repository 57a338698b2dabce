"""The exceptions of deciban, as a tree; each is also the built-in exception that people already catch.

    DecibanError
    ├── InputError      (ValueError)   data or an argument breaks a rule
    │   └── RowError                   … in a row, which the message names by its number
    ├── SchemaError     (ValueError)   two ledgers or models count different things
    ├── ForgetError     (ValueError)   a subtraction of data that was never learned
    ├── ModelFileError  (ValueError)   a model file cannot be read or written; the message says why
    ├── StoreError      (OSError)      a mail store cannot be opened, read or written; the message says why
    ├── MissingExtraError (ImportError) an optional part needs a library that is not installed
    ├── DeviceMemoryError (MemoryError) the memory of a GPU does not suffice
    └── UndefinedError  (TypeError and AttributeError)  the model has no such quantity; the message says why

    UsageError          a command or a request with wrong arguments, whatever the data

    DecibanWarning      (UserWarning)  the result is valid, but the user should know something
    └── PrecisionWarning               a variance has lost digits; the message says which and how many are left

Every message names the thing, the rule, the value and the way out.
"""

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

MAX_NAME_LENGTH = 80
"""Characters of a name that a message shows; longer names are not compared with others."""

MAX_LISTED_NAMES = 20
"""The number of names that a message lists where an unknown one was given."""

MAX_MESSAGE_CHARACTERS = 2000
"""The greatest length of a message: a longer one quotes too much of an input, and its middle is left out."""


class DecibanError(Exception):
    """The base of all exceptions of deciban."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*(shorten(arg) if isinstance(arg, str) else arg for arg in args))


class InputError(DecibanError, ValueError):
    """The data or an argument breaks a rule."""


class RowError(InputError):
    """A row breaks a rule: `describe` words the message for the number of the row, which `renumber_rows` may change.

    Rows are numbered from 0 here and in messages about arrays, and from 1 in messages about tables.
    """

    def __init__(self, describe: str | Callable[[int], str], row: int = 0) -> None:
        self.describe, self.row = describe, row
        super().__init__(describe if isinstance(describe, str) else describe(row))

    def __reduce__(self) -> Any:
        return InputError, self.args  # another process gets the message


class SchemaError(DecibanError, ValueError):
    """Two ledgers or models do not count the same things."""


class ForgetError(DecibanError, ValueError):
    """A subtraction of data that was never learned."""


class ModelFileError(DecibanError, ValueError):
    """A model file cannot be written, or is not what was written."""


class StoreError(DecibanError, OSError):
    """A mail store cannot be opened, read or written; nothing of it was changed."""


class MissingExtraError(DecibanError, ImportError):
    """A library that an optional part needs is not installed."""


class DeviceMemoryError(DecibanError, MemoryError):
    """The memory of a GPU does not suffice; nothing was changed."""


class UndefinedError(DecibanError, TypeError, AttributeError):
    """The model has no such quantity."""


class UsageError(Exception):
    """A command or a request that was called with wrong arguments; the message states what is wrong."""


class DecibanWarning(UserWarning):
    """The result is valid, but something about it should be known."""


def warn_caller(message: str) -> None:
    """Warn at the line outside deciban that led here, through however many of its functions."""
    frame, depth = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "deciban":
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, DecibanWarning, stacklevel=depth)


class PrecisionWarning(DecibanWarning):
    """A variance has fewer exact digits than twelve, because the forgotten data were so much larger."""


def shorten(message: str) -> str:
    """Leave out the middle of a long message: its beginning says what is wrong, and its end is the hint.

    >>> len(shorten("x" * 10**6)) <= MAX_MESSAGE_CHARACTERS
    True
    """
    if len(message) <= MAX_MESSAGE_CHARACTERS:
        return message
    return f"{message[: MAX_MESSAGE_CHARACTERS // 2]} … {message[3 - MAX_MESSAGE_CHARACTERS // 2 :]}"


def list_names(names: Sequence[str], max_names: int = 12) -> str:
    """Join the first of these names by commas, long ones shortened; … at the end if there are more.

    Names that contain = are quoted, unless they are already: they could be taken for arguments.

    >>> list_names(["age", "x" * 200, "weight"], 2).replace("x" * 79, "x…x")
    'age, x…x… …'
    """
    shown = [
        name if len(name) <= MAX_NAME_LENGTH else name[: MAX_NAME_LENGTH - 1] + "…" for name in names[:max_names]
    ]
    shown = [repr(name) if "=" in name and name[0] not in "'\"" else name for name in shown]
    return ", ".join(shown) + (" …" if len(names) > max_names else "")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean NAME?" with the most similar of the known names; empty if none is similar."""
    from difflib import get_close_matches

    near = {known_name.lower(): known_name for known_name in known if len(known_name) <= MAX_NAME_LENGTH}
    close = get_close_matches(name[: MAX_NAME_LENGTH + 1].lower(), list(near), n=1, cutoff=0.6)
    return f"; did you mean {near[close[0]]!r}?" if close else ""


def unknown_class_error(label: Any, classes: Iterable[Any]) -> InputError:
    """Return the error for a label that is not one of the classes; it lists them, and a similar one if there is."""
    known = [str(name) for name in classes]
    shown = list_names(known, MAX_LISTED_NAMES)
    near = did_you_mean(label, known) if isinstance(label, str) else ""
    return InputError(f"{label!r} is none of the {len(known)} classes{near or '.'} Hint: one of {shown}")


@contextmanager
def renumber_rows(index: Any) -> Iterator[None]:
    """Raise errors about rows with their numbers in the table from which rows `index` were taken; None: all rows."""
    try:
        yield
    except RowError as error:
        if index is not None:
            RowError.__init__(error, error.describe, int(index[error.row]))
        raise


@contextmanager
def change_errors(change: Callable[[str], str]) -> Iterator[None]:
    """Replace the message of an error of deciban in the block by what `change` returns for it."""
    try:
        yield
    except DecibanError as error:
        raise type(error)(change(str(error))) from error
