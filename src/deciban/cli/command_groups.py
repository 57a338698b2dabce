"""Groups of commands: `deciban` itself, `deciban plot` and `deciban mail`; and the exit codes of commands.

The module of a command is imported when it is called, so that one command does not load the others. All commands exit
with 0 for success, 1 for an error (in the data, a file, or the request), 2 for wrong usage, 130 if interrupted, and
141 if the reader of the output is gone (128 + SIGPIPE, as in shells).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple

from deciban.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from deciban.cli.parser import Command

REFUSED: Final = 1
WRONG_USAGE: Final = 2
INTERRUPTED: Final = 130
OUTPUT_CLOSED: Final = 141

VERDICTS: Final = {"spam": 0, "unsure": 2}
"""The exit codes of `mail classify`, as in bogofilter; other labels have `NOT_SPAM`, and errors `NO_VERDICT`."""

NOT_SPAM: Final = 1
NO_VERDICT: Final = 3

TEMPORARY_FAILURE: Final = 75
"""The exit code of `mail filter` if the message was not passed on: the mail system keeps it (EX_TEMPFAIL)."""

MAX_HELP_COLUMNS: Final = 80
HELP_ENTRY: Final = ("-h, --help", "Show this message and exit.")
HELP_COMMAND: Final = ("help", "Show the options of a command.")


class CommandEntry(NamedTuple):
    """A line of the list of commands, the module of the group's package that has the command, and its name there.

    The last two are the command's own name unless they are given.
    """

    summary: str
    module: str = ""
    function: str = ""


class Group(NamedTuple):
    """Commands by name, in the order of the group's help text."""

    name: str
    description: str
    commands: Mapping[str, CommandEntry]
    ending: str
    options: tuple[tuple[str, str], ...] = ()

    @property
    def usage(self) -> str:
        """The line that shows how the group is called."""
        return f"Usage: {self.name} [OPTIONS] COMMAND [ARGS]..."

    def find(self, name: str) -> Command | Group:
        """Import and return the command or group of commands of this name; raise a UsageError if there is none."""
        if name.startswith("-"):
            raise UsageError(f"No such option: {name}")
        if name not in self.commands:
            raise UsageError(f"No such command {name!r}{did_you_mean(name, self.commands) or '.'}")
        entry = self.commands[name]
        package = "deciban.cli" + self.name.removeprefix("deciban").replace(" ", ".")
        found: Command | Group = getattr(import_module(f"{package}.{entry.module or name}"), entry.function or name)
        return found

    def print_usage_error(self, name: str, error: UsageError) -> None:
        """Print what is wrong with the arguments of a command, and how it is called."""
        from deciban.cli.error_handling import print_stderr

        called, usage = self.name, self.usage
        if name in self.commands:
            called = f"{self.name} {name}"
            found = self.find(name)
            usage = found.usage if isinstance(found, Group) else found.format_usage(called)
        print_stderr(f"{usage}\nTry '{called} -h' for help.\n\nError: {error}")

    def format_help(self) -> str:
        """Return the help text."""
        commands = [*((name, entry.summary) for name, entry in self.commands.items()), HELP_COMMAND]
        options = format_table("Options", [*self.options, HELP_ENTRY])
        return "\n\n".join(
            [self.usage, format_paragraph(self.description), options, format_table("Commands", commands), self.ending]
        )


def to_help_option(words: Sequence[str]) -> Sequence[str]:
    """Return the words of a command line, `help COMMAND` as `COMMAND --help`; for none a single empty word.

    >>> to_help_option(["help", "train"]), to_help_option(["help", "help"]), to_help_option([])
    (['train', '--help'], ['--help'], [''])
    """
    if list(words[:1]) != ["help"]:
        return words or [""]
    return [*(word for word in words if word != "help"), "--help"]


def format_paragraph(text: str, first: str = "  ", others: str = "  ") -> str:
    """Wrap a text to the width of the terminal; `first` and `others` indent its first line and the others."""
    from shutil import get_terminal_size
    from textwrap import fill

    width = min(get_terminal_size().columns, MAX_HELP_COLUMNS) - 2
    return fill(
        text, width, initial_indent=first, subsequent_indent=others, break_long_words=False, break_on_hyphens=False
    )


def format_table(title: str, entries: Iterable[tuple[str, str]]) -> str:
    """Format names with their descriptions in two columns, below a title; a long name has its own line."""
    rows = list(entries)
    left = min(max(len(name) for name, _ in rows), 30)
    indent = " " * (left + 4)
    lines = []
    for name, text in rows:
        if len(name) > left:
            lines += [f"  {name}", format_paragraph(text, indent, indent)]
        else:
            lines.append(format_paragraph(text, f"  {name:<{left}}  ", indent))
    return "\n".join([f"{title}:", *lines])


def format_examples(*commands: str) -> str:
    """Format the end of a help text: commands that could be typed."""
    return "\n".join(["  Example:", *(f"    {command}" for command in commands)])
