"""How a command fails: in a line or two with a way out."""

from __future__ import annotations

import errno
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from types import FrameType
from typing import Any

from deciban.cli.exit_codes import INTERRUPTED, REFUSED
from deciban.errors import DecibanError, DecibanWarning
from deciban.formatting import escape_controls

PYTHON = re.compile(
    r" \((?:or |train\(…, )?(?:"
    r"(?:roles|missing|allow_missing_columns|classes|format|encoding|hive|like|weights|unseen|words|learner|folds)="
    r"|with_priors\()[^()]*\)+"
)
"""How a hint says in brackets what the same is in Python: nothing for a command line."""

SPOKEN = {"column= one of": "--column, one of", "describe() tells": "deciban inspect tells"}
"""What Python calls something, and what a command calls it."""

PRIORS = re.compile(r"with_priors\('(\w+)'\) first")
"""A hint that only Python can follow: no command gives a model other priors."""


@contextmanager
def handle_errors(debug: bool, refused: int = REFUSED, interrupted: str = "no file was written") -> Iterator[None]:
    """Turn errors and warnings into words on stderr; with `debug` let errors through.

    `refused` is the exit code where 1 means something else, and `interrupted` says what Ctrl-C leaves.
    """
    interrupts = Interrupts()
    try:
        with print_warnings(), interrupts:
            yield
            sys.stdout.flush()  # a full disk behind a pipe or a redirection is noticed here, and not at exit
    except BrokenPipeError:  # whoever read our output has left: nothing to tell, and nobody to tell it to
        raise
    except (KeyboardInterrupt, Exception) as error:
        if _is_typers(error):
            if hasattr(error, "message"):  # may name columns or classes of a table
                error.message = escape_controls(error.message, keep="\n")
            raise
        if isinstance(error, KeyboardInterrupt) or interrupts.seen:
            _say(f"interrupted: {interrupted}")
            raise SystemExit(INTERRUPTED) from None
        if debug and refused == REFUSED:
            raise
        _say(traceback() if debug else f"error: {in_words(error)}")
        raise SystemExit(refused) from None


def _is_typers(error: BaseException) -> bool:
    """Whether typer is to deal with it; it is not loaded to ask that, as those who raise such errors have it."""
    typer = sys.modules.get("typer")
    return typer is not None and isinstance(error, (typer.Exit, typer.Abort, typer.BadParameter))


def print_stderr(what: str) -> None:
    """Print words on standard error; characters that a terminal would obey are escaped.

    >>> import contextlib
    >>> with contextlib.redirect_stderr(sys.stdout):
    ...     print_stderr("a\\x1b[2J.eml: not read")
    a\\u001b[2J.eml: not read
    """
    print(escape_controls(what, keep="\n\t"), file=sys.stderr, flush=True)


def _say(what: str) -> None:
    with suppress(OSError):  # if nobody hears us, the exit code still says it
        print_stderr(what)


def traceback() -> str:
    """Where the error happened that is being dealt with."""
    from traceback import format_exc

    return format_exc().rstrip()


def in_words(error: Exception) -> str:
    """What to say of an error."""
    if isinstance(error, DecibanError):
        return _commanding(str(error))
    if isinstance(error, OSError) and error.errno == errno.EBADF:
        return "standard input or standard output is closed. Hint: < /dev/null or > /dev/null if it is not needed"
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}"
    if isinstance(error, MemoryError):
        return "there is not enough memory. Hint: fewer columns, --as COLUMN=skip"
    return f"{type(error).__name__}: {error}\nHint: --debug shows where it happened."


def _commanding(message: str) -> str:
    what, hint, advice = message.partition("Hint: ")
    return what + hint + adapt_hint(advice)


def adapt_hint(advice: str) -> str:
    """A hint for those who do not write Python.

    >>> adapt_hint("--encoding latin-1 (or encoding='latin-1')"), adapt_hint("with_priors('empirical') first")
    ('--encoding latin-1', 'train with --prior empirical')
    """
    for python, command in SPOKEN.items():
        advice = advice.replace(python, command)
    return PRIORS.sub(r"train with --prior \1", PYTHON.sub("", advice))


class Interrupts:
    """Remembers that Ctrl-C was pressed, whatever a library makes of the exception.

    DuckDB turns it into an error of its own, and an import within pyarrow swallows it.
    """

    latest: Interrupts | None = None

    def __init__(self) -> None:
        self.seen = False
        self._before: Any = None
        Interrupts.latest = self

    def __enter__(self) -> None:
        ours = threading.current_thread() is threading.main_thread()
        if ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.seen = True
        raise KeyboardInterrupt

    def __exit__(self, *_: Any) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)


def stop_if_interrupted() -> None:
    """Raise the interrupt that a library has swallowed; to be asked now and then, and before a file is written."""
    if Interrupts.latest is not None and Interrupts.latest.seen:
        raise KeyboardInterrupt


@contextmanager
def print_warnings() -> Iterator[None]:
    """Each warning of ours once, on a line of its own; other libraries' are not the user's business."""
    told: set[str] = set()

    def tell(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        text = _commanding(str(message))
        if issubclass(category, DecibanWarning) and text not in told:
            told.add(text)
            print_stderr(f"warning: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", DecibanWarning)
        warnings.showwarning = tell
        yield


def status(words: str) -> Any:
    """A sign of life on a terminal while something takes its time; nothing elsewhere."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True, highlight=False).status(words)
