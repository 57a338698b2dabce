"""The inputs of mail commands: the arguments that several of them share, and the store and messages that these name.

A progress bar counts the messages on a terminal.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeVar

from deciban.cli.error_handling import print_stderr, stop_if_interrupted
from deciban.cli.mail.commands import GROUP
from deciban.cli.parser import DEBUG, JSON, Command, argument, command, flag, list_option, number, option
from deciban.errors import InputError, UsageError
from deciban.formatting import format_thousands
from deciban.mail.status_figures import format_counts

if TYPE_CHECKING:
    from deciban.mail.filter import MailFilter
    from deciban.mail.sources.message_files import Problem

__all__ = ["DEBUG", "JSON", "argument", "command", "flag", "format_counts", "list_option", "number", "option"]

Message = TypeVar("Message")

JSON_LINES: Final = flag("--json", "Print a line of JSON for each message.")
STORE: Final = option(
    "--store", "FILE", "The mail store: unless given DECIBAN_MAIL, or else deciban/mail.db in your data folder."
)
PATH_KINDS: Final = (
    "an mbox (also .gz), a Maildir, an MH folder, a folder of messages, one message, or imaps://user@host/Folder"
)
MESSAGES: Final = argument(
    "paths", nargs="*", metavar="PATH", help=f"Each {PATH_KINDS}; - or nothing: standard input."
)
HAM: Final = argument(
    "--ham", nargs="+", action="extend", metavar="PATH...",
    help=f"Mail that is wanted. Each path {PATH_KINDS}; -: standard input.",
)  # fmt: skip
SPAM: Final = argument("--spam", nargs="+", action="extend", metavar="PATH...", help="Mail that is not wanted.")
SUBFOLDERS: Final = flag("--subfolders", "Read the folders within a Maildir too.")
TRASHED: Final = flag("--trashed", "Read messages too that are marked as trashed.")
NO_FIT: Final = flag("--no-fit", "Do not refit the weights of tokens, though it may be due.")
MODEL_NAMES: Final = ("evidence", "bayes", "logistic", "fisher")
MODEL: Final = option(
    "--model", "MODEL", "The model: evidence, bayes, logistic or fisher; unless given, the one the store is set to."
)

READ_TIMEOUT_SECONDS: Final = 5.0
"""Time that classifying waits for a store that another program has locked; learning waits longer."""

MAX_SHOWN_FILES: Final = 3
"""Number of files that are not mail that are named."""

PROGRESS_SECONDS: Final = 0.1
"""Time between two updates of the progress bar."""


def load(name: str, words: Sequence[str]) -> Callable[[], int | None]:
    """Return the call of a command with the arguments that the words of a command line give."""
    found = GROUP.find(name)
    assert isinstance(found, Command)
    if sys.platform == "win32":  # where shells do not replace patterns such as *.eml by the files that match them
        from glob import glob

        words = [path for word in words for path in glob(word) or [word]]
    return partial(found.function, **found.parse(f"{GROUP.name} {name}", words))


def store_path(store: str | None) -> Path:
    """Return the path of the store that `--store` names, or of the default store."""
    from deciban.mail.filter import default_store

    return default_store() if store is None else Path(store).expanduser()


@contextmanager
def open_to_classify(store: str | None, model: str | None = None) -> Iterator[MailFilter]:
    """Open a store read-only, for the time of the block."""
    from deciban.mail.filter import MailFilter
    from deciban.mail.store.store import Store

    with (
        Store(store_path(store), create=False, wait=READ_TIMEOUT_SECONDS, read_only=True) as opened,
        MailFilter(opened, model=model) as mail,
    ):
        yield mail


def open_to_learn(store: str | None, create: bool = False) -> MailFilter:
    """Open a store for writing; with `create`, make one that does not exist."""
    from deciban.mail.filter import MailFilter

    return MailFilter(store_path(store), create=create)


def check_paths(paths: Sequence[str]) -> None:
    """Refuse a path that does not exist or is neither mail nor a valid address, before any message is read."""
    from deciban.mail.sources.message_sources import source_kind

    for path in paths:
        if source_kind(path) == "imap":
            from deciban.mail.sources.imap_connection import Address

            Address.parse(path)


def refuse_same_source(paths_of: Mapping[str, Sequence[str]]) -> None:
    """Raise UsageError for a source that is given for two kinds of mail, however it is written; all must exist."""
    if len(paths_of) < 2:
        return
    from deciban.mail.sources.message_sources import source_kind

    kinds: dict[str, str] = {}
    for kind, paths in paths_of.items():
        for path in paths:
            if source_kind(path) == "imap":
                from deciban.mail.sources.imap_connection import Address

                place = str(Address.parse(path))
            else:  # "./-" is a file
                place = path if path == "-" else str(Path(path).expanduser().resolve())
            if (other := kinds.setdefault(place, kind)) != kind:
                raise UsageError(f"{path} is given both for {other} and for {kind}")


class ProblemReporter:
    """The handler of problems of a command: files that are not mail are counted, all else is a warning at once."""

    def __init__(self) -> None:
        self._others: list[Problem] = []

    def __call__(self, problem: Problem) -> None:
        """Receive a problem."""
        from deciban.mail.sources.message_files import warn_of_problem

        if problem.is_mail:
            warn_of_problem(problem)
        else:
            self._others.append(problem)

    def report(self, n_messages: int) -> None:
        """Report how many files are not mail; raise an error if there is no message."""
        if not self._others:
            return
        n = len(self._others)
        count = f"{format_thousands(n)} file{' that is' if n == 1 else 's that are'} not mail"
        if not n_messages:
            raise InputError(f"there are no messages, but {count}. The first: {self._others[0]}")
        more = f" … and {format_thousands(n - MAX_SHOWN_FILES)} more" if n > MAX_SHOWN_FILES else ""
        names = ", ".join(problem.name for problem in self._others[:MAX_SHOWN_FILES])
        print_stderr(f"warning: left out {count}: {names}{more}")


class MessageReader:
    """The messages of some paths; after an error the remainder of a path is skipped, and the other paths are read."""

    def __init__(self, paths: Sequence[str], subfolders: bool = False, trashed: bool = False) -> None:
        self._paths, self._subfolders, self._trashed = paths, subfolders, trashed
        self._problems = ProblemReporter()
        self._error: InputError | OSError | None = None

    def iterate(self, source: Callable[..., Iterator[Message]]) -> Iterator[Message]:
        """Yield what `read_mail` finds in the paths, or `list_messages`, which does not open small files."""
        for path in self._paths:
            try:
                options = {"subfolders": self._subfolders, "trashed": self._trashed, "problems": self._problems}
                for message in source(path, **options):
                    stop_if_interrupted()
                    yield message
            except (InputError, OSError) as error:
                self._error = self._error or error

    def report_problems(self, n_messages: int) -> None:
        """Raise the first error once all paths are read, and report files that are not mail."""
        if self._error is not None:
            raise self._error
        self._problems.report(n_messages)


def read_messages(paths: Sequence[str], stdin_name: str) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the bytes of each message of the paths, or of the one on standard input without paths."""
    if not paths:
        yield stdin_name, read_stdin()
        return
    from deciban.mail.sources.message_sources import read_mail

    check_paths(paths)
    reader, n = MessageReader(paths), 0
    for n, message in enumerate(reader.iterate(read_mail), start=1):  # noqa: B007  n is their number at last
        yield message.name, message.raw
    reader.report_problems(n)


def read_stdin() -> bytes:
    """Return standard input as one message, cut at the size limit; all of it is read, so that its writer can end."""
    from deciban.mail.sources.message_files import max_read_bytes

    if sys.stdin.isatty():
        print("reading a message from standard input, to its end (Ctrl-D) …", file=sys.stderr)
    raw = sys.stdin.buffer.read(max_read_bytes())
    while sys.stdin.buffer.read(1 << 20):
        pass
    return raw


@contextmanager
def count_done(activity: str, things: str = "messages", total: int | None = None) -> Iterator[Callable[..., None]]:
    """Yield a function to call for each thing, or n of them, that is done; on a terminal it updates a bar.

    It raises on Ctrl-C. `things` is the name of what is counted, of which there are `total`.
    """
    if not sys.stderr.isatty():
        yield lambda more=1: stop_if_interrupted()
        return
    from deciban.cli.error_handling import format_rate, make_progress_bar

    with make_progress_bar() as bar:
        task = bar.add_task(activity, total=total, rate="", things=things)
        n, start = 0, monotonic()
        updated = start

        def tick(more: int = 1) -> None:
            nonlocal n, updated
            stop_if_interrupted()
            n += more
            now = monotonic()
            if now - updated >= PROGRESS_SECONDS:
                updated = now
                bar.update(task, completed=n, rate=format_rate(n / (now - start), things))

        yield tick


@contextmanager
def handle_signals(handle: Callable[[int, Any], None], *names: str) -> Iterator[None]:
    """Call a function with the number of each of these signals that comes, for the time of the block."""
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before: dict[int, Any] = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
