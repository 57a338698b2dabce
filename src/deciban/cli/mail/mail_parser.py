"""The arguments that several mail commands share, and the call of a command with the words of a command line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NoReturn

from deciban.cli.exit_codes import WRONG_USAGE
from deciban.cli.mail.commands import GROUP
from deciban.cli.parser import DEBUG as DEBUG
from deciban.cli.parser import JSON as JSON
from deciban.cli.parser import Command
from deciban.cli.parser import argument as argument
from deciban.cli.parser import command as command
from deciban.cli.parser import flag as flag
from deciban.cli.parser import list_option as list_option
from deciban.cli.parser import number as number
from deciban.cli.parser import option as option

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


def load(name: str, words: Sequence[str]) -> Callable[[], int | None]:
    """Return the call of a command with the arguments that the words of a command line give."""
    if name in ("", "-h", "--help"):
        return partial(_print_list, 0 if name else WRONG_USAGE)
    found = GROUP.find(name)
    assert isinstance(found, Command)
    return partial(found.function, **found.parse(f"{GROUP.name} {name}", _expand_patterns(words)))


def _print_list(exit_code: int) -> NoReturn:
    print(GROUP.format_help())
    raise SystemExit(exit_code)


def _expand_patterns(words: Sequence[str]) -> Sequence[str]:
    """Replace patterns such as *.eml by the files that match them, on Windows, where shells do not."""
    if sys.platform != "win32":
        return words
    from glob import glob

    return [path for word in words for path in glob(word) or [word]]
