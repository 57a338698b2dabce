"""The arguments of mail commands: their declarations, argparse parsers made from them, and their help texts."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, Final, NamedTuple, NoReturn

from deciban.cli.mail.commands import COMMANDS, DESCRIPTION, WRONG_USAGE, UsageError

MAX_HELP_COLUMNS: Final = 80


class Argument(NamedTuple):
    """An option or a positional argument, in the terms of `ArgumentParser.add_argument`."""

    names: tuple[str, ...]
    settings: dict[str, Any]

    @property
    def is_option(self) -> bool:
        """Return whether the argument is named, and not found by its position."""
        return self.names[0].startswith("-")

    @property
    def is_flag(self) -> bool:
        """Return whether the argument takes no value."""
        return self.settings.get("action") in ("store_true", "help")

    @property
    def help_entry(self) -> tuple[str, str]:
        """Return the two columns of the argument's line in a help text."""
        settings = self.settings
        name = ", ".join(self.names) if self.is_option else settings["metavar"]
        if self.is_option and not self.is_flag:
            name += f" {settings['metavar']}"
        text = settings["help"]
        if settings.get("required"):
            text += "  [required]"
        elif settings.get("default") is not None:
            text += f"  [default: {settings['default']}]"
        return name, text


def argument(*names: str, **settings: Any) -> Argument:
    """Declare an argument."""
    return Argument(names, settings)


def flag(name: str, help: str) -> Argument:
    """Declare an option without a value."""
    return argument(name, action="store_true", help=help)


def number(name: str, metavar: str, help: str, minimum: float, kind: type = int, **settings: Any) -> Argument:
    """Declare an option that takes a number of at least `minimum`."""

    def convert(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            whole = "whole " if kind is int else ""
            raise argparse.ArgumentTypeError(f"{text!r} is not a {whole}number") from None
        if not value >= minimum:
            raise argparse.ArgumentTypeError(f"{text} is less than {minimum:g}")
        return value

    return argument(name, metavar=metavar, help=help, type=convert, **settings)


DEBUG: Final = flag("--debug", "Show where an error happened.")
JSON: Final = flag("--json", "Print the figures as JSON on stdout.")
JSON_LINES: Final = flag("--json", "Print a line of JSON for each message.")
STORE: Final = argument(
    "--store", metavar="FILE",
    help="The mail store: unless given DECIBAN_MAIL, or else deciban/mail.db in your data folder.",
)  # fmt: skip
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
MODEL: Final = argument(
    "--model", metavar="MODEL",
    help="The model: evidence, bayes, logistic or fisher; unless given, the one the store is set to.",
)  # fmt: skip
HELP: Final = argument("-h", "--help", action="help", help="Show this message and exit.")


@dataclass(frozen=True)
class Command:
    """A mail command: its function, whose docstring is its help text, its arguments and examples of its use."""

    function: Callable[..., int | None]
    arguments: tuple[Argument, ...]
    examples: tuple[str, ...]

    def parse(self, name: str, words: Sequence[str]) -> dict[str, Any]:
        """Return the values of all arguments by name, from the words of a command line."""
        parser = _Parser(add_help=False, allow_abbrev=False, usage=self.usage(name))
        for names, settings in self.arguments:
            parser.add_argument(*names, **settings)
        if "-h" in words or "--help" in words:
            print(self.help(name))
            raise SystemExit(0)
        parse = parser.parse_known_args if "--" in words else parser.parse_known_intermixed_args
        values, rest = parse(_split_lists(_expand_patterns(words)))
        if rest and rest != ["--"]:
            is_option = rest[0].startswith("-")
            raise UsageError(
                f"No such option: {rest[0]}" if is_option else f"Got unexpected extra argument(s) ({' '.join(rest)})"
            )
        return vars(values)

    def usage(self, name: str) -> str:
        """Return the line that shows how the command is called."""
        positional = "".join(_usage_word(a.settings) for a in self.arguments if not a.is_option)
        return f"Usage: deciban mail {name} [OPTIONS]{positional}"

    def help(self, name: str) -> str:
        """Return the help text."""
        paragraphs = (self.function.__doc__ or "").strip().split("\n\n")
        sections = [self.usage(name), *(_indent(" ".join(paragraph.split())) for paragraph in paragraphs)]
        if positional := [a.help_entry for a in self.arguments if not a.is_option]:
            sections.append(_table("Arguments", positional))
        sections.append(_table("Options", [a.help_entry for a in (*self.arguments, HELP) if a.is_option]))
        sections.append("\n".join(["  Example:", *(f"    {example}" for example in self.examples)]))
        return "\n\n".join(sections)


def command(*arguments: Argument, examples: Sequence[str]) -> Callable[[Callable[..., int | None]], Command]:
    """Declare the function below as a mail command: it is called with the values of these arguments, by name."""
    return lambda function: Command(function, arguments, tuple(examples))


def load(name: str, words: Sequence[str]) -> Callable[[], int | None]:
    """Return the call of a command with the arguments that the words of a command line give."""
    if name in ("", "-h", "--help"):
        return partial(_print_list, 0 if name else WRONG_USAGE)
    found = find(name)
    return partial(found.function, **found.parse(name, words))


def find(name: str) -> Command:
    """Return the command of this name."""
    if name not in COMMANDS:
        raise UsageError(f"No such option: {name}" if name.startswith("-") else f"No such command {name!r}.")
    entry = COMMANDS[name]
    found: Command = getattr(import_module(f"deciban.cli.mail.{entry.module}"), entry.function)
    return found


def usage(name: str) -> str:
    """Return the line that shows how a command is called, or how the list of commands is."""
    return find(name).usage(name) if name in COMMANDS else "Usage: deciban mail [OPTIONS] COMMAND [ARGS]..."


def _print_list(exit_code: int) -> NoReturn:
    options, commands = [HELP.help_entry], [(name, entry.summary) for name, entry in COMMANDS.items()]
    example = "  Example:\n    deciban mail learn --ham ~/Maildir --spam ~/Maildir/.Junk"
    sections = [usage(""), _indent(DESCRIPTION), _table("Options", options), _table("Commands", commands), example]
    print("\n\n".join(sections))
    raise SystemExit(exit_code)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message[:1].upper()}{message[1:]}.")


def _usage_word(settings: dict[str, Any]) -> str:
    word = f"[{settings['metavar']}]" if settings.get("nargs") in ("*", "?") else settings["metavar"]
    return f" {word}..." if settings.get("nargs") in ("*", "+") else f" {word}"


def _indent(text: str, first: str = "  ", rest: str = "  ") -> str:
    from shutil import get_terminal_size
    from textwrap import fill

    width = min(get_terminal_size().columns, MAX_HELP_COLUMNS) - 2
    return fill(
        text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )


def _table(title: str, entries: Iterable[tuple[str, str]]) -> str:
    rows = list(entries)
    left = max(len(name) for name, _ in rows)
    return "\n".join([f"{title}:", *(_indent(text, f"  {name:<{left}}  ", " " * (left + 4)) for name, text in rows)])


def _split_lists(words: Iterable[str]) -> list[str]:
    """Separate an option that takes several paths from its first path.

    >>> _split_lists(["--ham=a", "b", "--label=work=c"])
    ['--ham', 'a', 'b', '--label', 'work=c']
    """
    lists = ("--ham=", "--spam=", "--label=")
    return [part for word in words for part in (word.split("=", 1) if word.startswith(lists) else [word])]


def _expand_patterns(words: Sequence[str]) -> Sequence[str]:
    """Replace patterns such as *.eml by the files that match them, on Windows, where shells do not."""
    if sys.platform != "win32":
        return words
    from glob import glob

    return [path for word in words for path in glob(word) or [word]]
