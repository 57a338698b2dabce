"""Errors, warnings, interrupts and progress of commands.

Errors and warnings are messages of a line or two with a hint. Long work has a progress bar on a terminal: how many
rows, models or messages are done, their rate, and the time left.
"""

from __future__ import annotations

import errno
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any

from deciban.cli.command_groups import INTERRUPTED, REFUSED
from deciban.command_hints import adapt_hint
from deciban.errors import DecibanError, DecibanWarning, UsageError
from deciban.formatting import escape_controls

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput

REQUIRED_PACKAGES = {
    "sklearn": "scikit-learn",
    **{name: name for name in ["scipy", "numba", "pyarrow", "duckdb", "safetensors"]},
}
"""Modules of the packages that deciban requires for all but mail, and the names of the packages."""

interrupt_seen = threading.Event()
"""Whether Ctrl-C was pressed while a command ran."""


@contextmanager
def handle_errors(debug: bool, error_code: int = REFUSED, interrupted: str = "no file was written") -> Iterator[None]:
    """Print errors and warnings of the block on standard error; exit after an error or Ctrl-C.

    `error_code` is the exit code of errors, for commands where 1 means something else; `interrupted` is the message
    after Ctrl-C. With `debug` an error is raised or, with another code than 1, its traceback is printed. A
    BrokenPipeError or UsageError is raised, too.
    """
    try:
        with print_warnings(), record_interrupts():
            yield
            sys.stdout.flush()  # detects a full disk behind a pipe or a redirection here, not at exit
    except (BrokenPipeError, UsageError):  # the reader of our output is gone; or the caller shows the usage
        raise
    except (KeyboardInterrupt, Exception) as error:
        if isinstance(error, KeyboardInterrupt) or interrupt_seen.is_set():
            _try_print_stderr(f"interrupted: {interrupted}")
            raise SystemExit(INTERRUPTED) from None
        if debug and error_code == REFUSED:
            raise
        if debug:
            from traceback import format_exc

            _try_print_stderr(format_exc().rstrip())
        else:
            _try_print_stderr(f"error: {describe_error(error)}")
        raise SystemExit(error_code) from None
    finally:
        interrupt_seen.clear()


def print_stderr(message: str) -> None:
    """Print a message on standard error, with control characters escaped.

    >>> import contextlib
    >>> with contextlib.redirect_stderr(sys.stdout):
    ...     print_stderr("a\\x1b[2J.eml: not read")
    a\\u001b[2J.eml: not read
    """
    print(escape_controls(message, keep="\n\t"), file=sys.stderr, flush=True)


def _try_print_stderr(message: str) -> None:
    with suppress(OSError):  # the exit code still reports the error
        print_stderr(message)


def describe_error(error: Exception) -> str:
    """Return the message for an error of any type; a type that is not expected is named, with a hint at --debug."""
    if isinstance(error, DecibanError):
        return adapt_hint(str(error))
    if isinstance(error, OSError) and error.errno == errno.EBADF:
        return "standard input or standard output is closed. Hint: < /dev/null or > /dev/null if it is not needed"
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}"
    if isinstance(error, ModuleNotFoundError) and error.name and error.name.partition(".")[0] in REQUIRED_PACKAGES:
        package = REQUIRED_PACKAGES[error.name.partition(".")[0]]
        small = "a small installation is for deciban mail alone"
        return f"{package} is not installed, and this needs it. Hint: pip install deciban ({small})"
    if isinstance(error, MemoryError):
        return "not enough memory. Hint: use fewer columns, --as COLUMN=skip"
    return f"{type(error).__name__}: {error}\nHint: --debug shows where it happened."


@contextmanager
def record_interrupts() -> Iterator[None]:
    """Set `interrupt_seen` if Ctrl-C is pressed in the block, whatever a library does with the exception.

    DuckDB converts it to an error of its own, and an import within pyarrow suppresses it.
    """

    def record(number: int, frame: FrameType | None) -> None:
        interrupt_seen.set()
        raise KeyboardInterrupt

    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, record)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def stop_if_interrupted() -> None:
    """Raise an interrupt that a library has suppressed; called regularly, and before a file is written."""
    if interrupt_seen.is_set():
        raise KeyboardInterrupt


@contextmanager
def print_warnings() -> Iterator[None]:
    """Print each warning of deciban once, on a line of its own; warnings of other libraries are dropped."""
    printed: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        text = adapt_hint(str(message))
        if issubclass(category, DecibanWarning) and text not in printed:
            printed.add(text)
            print_stderr(f"warning: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", DecibanWarning)
        warnings.showwarning = show
        yield


def show_spinner(message: str) -> Any:
    """Return a context that shows a message with a spinner on a terminal during its block; nothing elsewhere."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True, highlight=False).status(message)


@contextmanager
def progress(table: TableInput, doing: str, again: str = "evaluating") -> Iterator[ProgressCounter]:
    """Yield a counter of the rows that are read; on a terminal a bar shows it.

    A number lower than the last one means that a second pass has begun, which `again` describes.
    """
    if not sys.stderr.isatty():
        yield ProgressCounter(None, again)
        return
    with make_progress_bar() as bar:
        bar.add_task(doing, total=table.estimate_rows(), rate="", things="rows")
        yield ProgressCounter(bar, again)


class ProgressCounter:
    """A function of how many things are done, first of rows that are read; it raises a suppressed Ctrl-C."""

    def __init__(self, bar: Any, again: str) -> None:
        self._bar, self._again, self._things, self._last = bar, again, "rows", 0

    def __call__(self, n: int) -> None:
        """Show that n things are done."""
        stop_if_interrupted()
        if self._bar is None:
            return
        (task,) = self._bar.tasks
        if n < self._last:
            self._bar.reset(task.id, description=self._again, total=self._last)
        self._last = n
        total = n if task.total is not None and n > task.total else task.total  # the total was an estimate
        self._bar.update(task.id, completed=n, total=total, rate=format_rate(task.speed, self._things))

    def begin(self, doing: str, things: str, total: int) -> None:
        """Begin work of other things than rows, of which there are `total`."""
        self._things, self._last = things, 0
        if self._bar is not None:
            self._bar.reset(self._bar.tasks[0].id, description=doing, total=total, rate="", things=things)


def make_progress_bar() -> Any:
    """Return a progress bar; tasks need the fields `things`, the name of what is counted, and `rate`, a text."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.completed:,.0f} {task.fields[things]}"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(compact=True),
        TextColumn("left"),
        console=Console(stderr=True),
        transient=True,
    )


def format_rate(speed: float | None, things: str) -> str:
    """Format the number of things per second; empty while it is unknown or zero."""
    return "" if not speed else f"{speed:{',.0f' if speed >= 10 else '.2g'}} {things}/s"
