"""The arguments of commands: their declarations, argparse parsers made from them, and help texts."""

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Final, NamedTuple, NoReturn

from deciban.cli.command_groups import HELP_ENTRY, format_examples, format_paragraph, format_table
from deciban.errors import UsageError, did_you_mean
from deciban.option_values import NumberRange


class Argument(NamedTuple):
    """An option or a positional argument, in the terms of `ArgumentParser.add_argument`.

    `section` is its section of the help text, `limits` describes the values that are allowed, and `former_names` are
    still understood but not shown.
    """

    names: tuple[str, ...]
    settings: dict[str, Any]
    section: str = "Options"
    limits: str = ""
    former_names: tuple[str, ...] = ()

    @property
    def is_option(self) -> bool:
        """Return whether the argument is named, and not found by its position."""
        return self.names[0].startswith("-")

    @property
    def is_flag(self) -> bool:
        """Return whether the argument takes no value."""
        return self.settings.get("action") in ("store_true", argparse.BooleanOptionalAction)

    @property
    def destination(self) -> str:
        """Return the name of the function's parameter that receives the value."""
        name: str = self.settings.get("dest") or self.names[-1].removeprefix("--")
        return name.replace("-", "_")

    @property
    def spellings(self) -> tuple[str, ...]:
        """Return the names of the option; those of a switch both ways."""
        if self.settings.get("action") is argparse.BooleanOptionalAction:
            return (self.names[0], self.names[0].replace("--", "--no-", 1))
        return self.names

    @property
    def help_entry(self) -> tuple[str, str]:
        """Return the two columns of the argument's line in a help text."""
        settings, default = self.settings, self.settings.get("default")
        name = ", ".join(self.spellings) if self.is_option else settings["metavar"]
        if self.is_option and not self.is_flag:
            name += f" {settings['metavar']}"
        notes = ["required"] if settings.get("required") else [] if default in (None, ()) else [f"default: {default}"]
        if default is True:
            notes = [f"default: {self.destination}"]
        notes += [self.limits] if self.limits else []
        return name, settings["help"] + (f"  [{'; '.join(notes)}]" if notes else "")


def argument(*names: str, **settings: Any) -> Argument:
    """Declare an option, or a positional argument, with settings of `ArgumentParser.add_argument`."""
    return Argument(names, settings)


def option(names: str, metavar: str, help: str, **settings: Any) -> Argument:
    """Declare an option with a value; `names` may be several, between blanks."""
    return argument(*names.split(), metavar=metavar, help=help, **settings)


def list_option(name: str, metavar: str, help: str, **settings: Any) -> Argument:
    """Declare an option that may be given several times, for a list of values."""
    return option(name, metavar, f"{help} May be repeated.", action="append", **settings)


def choice(name: str, choices: str, help: str, **settings: Any) -> Argument:
    """Declare an option that takes one of some words, which are given between bars."""
    words = [word.strip("'") for word in choices.split("|")]
    return argument(name, **{"metavar": choices, "help": help, "choices": words, **settings})


def flag(name: str, help: str, **settings: Any) -> Argument:
    """Declare an option without a value."""
    return argument(name, action="store_true", help=help, **settings)


def switch(name: str, help: str, default: bool | None = True) -> Argument:
    """Declare an option without a value that --no-NAME turns off; it is on by default, or as the command decides."""
    return argument(name, action=argparse.BooleanOptionalAction, default=default, help=help)


def number(
    names: str, metavar: str, help: str, minimum: float = -inf, maximum: float = inf, kind: type = int,
    word: str | None = None, excluded: tuple[float, ...] = (-inf, inf), **settings: Any,
) -> Argument:  # fmt: skip
    """Declare an option that takes a number, or a word; see `NumberRange`."""
    allowed = NumberRange(kind, minimum, maximum, excluded, word)
    return option(names, metavar, help, type=allowed.parse, **settings)._replace(limits=str(allowed))


def in_section(title: str, *arguments: Argument) -> tuple[Argument, ...]:
    """Return these arguments, moved to the section of the help text with this title."""
    return tuple(each._replace(section=title) for each in arguments)


def without(arguments: Iterable[Argument], *destinations: str) -> tuple[Argument, ...]:
    """Return these arguments except those with one of these destinations."""
    return tuple(each for each in arguments if each.destination not in destinations)


DEBUG: Final = flag("--debug", "Show where an error happened.")
JSON: Final = flag("--json", "Print the figures as JSON on stdout.")


@dataclass(frozen=True)
class Command:
    """A command: its function, whose docstring is its help text, its arguments and examples of its use."""

    function: Callable[..., int | None]
    arguments: tuple[Argument, ...]
    examples: tuple[str, ...]

    def parse(self, name: str, words: Sequence[str]) -> dict[str, Any]:
        """Return the values of all arguments by name, from the words of a command line.

        `name` is how the command is called: deciban train. With -h among the words, help is printed and SystemExit is
        raised; wrong words raise a UsageError.
        """
        parser = _Parser(add_help=False, allow_abbrev=False, usage=self.format_usage(name))
        for each in self.arguments:  # without help texts, in which argparse would expand percent signs
            settings = {name: value for name, value in each.settings.items() if name != "help"}
            parser.add_argument(*each.names, *each.former_names, **settings)
        if "-h" in words or "--help" in words:
            print(self.format_help(name), flush=True)
            raise SystemExit(0)
        parse = parser.parse_known_args if "--" in words else parser.parse_known_intermixed_args
        values, unknown = parse(list(self._attach_values(words)))
        if unknown and unknown != ["--"]:
            if not unknown[0].startswith("-"):
                raise UsageError(f"Got unexpected extra argument(s) ({' '.join(unknown)})")
            raise UsageError(f"No such option: {unknown[0]}{did_you_mean(unknown[0], self.option_names)}")
        return vars(values)

    def _attach_values(self, words: Iterable[str]) -> Iterator[str]:
        """Write an option and its value as one word, --ngrams=2: argparse would take a value -2 for an option.

        An option that takes several values is separated from its first value, since argparse would take no other.
        """
        options = [each for each in self.arguments if each.is_option and not each.is_flag]
        one_value = [each for each in options if "nargs" not in each.settings]
        single = {name for each in one_value for name in each.names + each.former_names}
        several = tuple(f"{each.names[0]}=" for each in options if "nargs" in each.settings)
        left = iter(words)
        for word in left:
            if word == "--":
                yield from (word, *left)
            elif word in single:
                value = next(left, None)
                yield word if value is None else f"{word}={value}"
            elif word.startswith(several):
                yield from word.split("=", 1)
            else:
                yield word

    @property
    def option_names(self) -> list[str]:
        """All names of options."""
        return [name for each in self.arguments if each.is_option for name in each.spellings]

    def format_usage(self, name: str) -> str:
        """Return the line that shows how the command is called."""
        words = [f"Usage: {name} [OPTIONS]"]
        for settings in (each.settings for each in self.arguments if not each.is_option):
            word, nargs = settings["metavar"], settings.get("nargs")
            words.append((f"[{word}]" if nargs in ("*", "?") else word) + ("..." if nargs in ("*", "+") else ""))
        return " ".join(words)

    def format_help(self, name: str) -> str:
        """Return the help text."""
        paragraphs = (self.function.__doc__ or "").strip().split("\n\n")
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for each in self.arguments:
            sections.setdefault(each.section if each.is_option else "Arguments", []).append(each.help_entry)
        sections["Options"].append(HELP_ENTRY)
        described = [format_paragraph(" ".join(paragraph.split())) for paragraph in paragraphs]
        tables = [format_table(title, entries) for title, entries in sections.items() if entries]
        return "\n\n".join([self.format_usage(name), *described, *tables, format_examples(*self.examples)])


def command(*arguments: Argument, examples: Sequence[str]) -> Callable[[Callable[..., int | None]], Command]:
    """Declare the function below as a command: it is called with the values of these arguments, by name."""
    return lambda function: Command(function, arguments, tuple(examples))


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        if message.startswith("argument -"):
            message = message.replace("argument", "option", 1)
        raise UsageError(f"{message[:1].upper()}{message[1:]}.")
