"""Completion of commands, options and their values by a shell, and the scripts that shells need for it.

A script runs deciban with the environment variable `_DECIBAN_COMPLETE` and the words of the command line up to the
cursor as arguments; where nothing is printed, the shell completes file names. Names of columns are those of the table
that the line names as DATA, or else of its model.
"""

import os
import shlex
import sys
import warnings
from argparse import ArgumentTypeError
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from deciban.cli.app import GROUP
from deciban.cli.command_groups import HELP_COMMAND, Group
from deciban.cli.parser import Argument, Command
from deciban.errors import UsageError
from deciban.option_values import join_list


class Shell(NamedTuple):
    """The script that makes a shell complete, and the file in the home folder that it is appended to."""

    script: str
    file: str


SHELLS: Final = {
    "bash": Shell(
        """\
_deciban_completion() {
    local IFS=$'\\n'
    COMPREPLY=( $( _DECIBAN_COMPLETE=1 "$1" "${COMP_WORDS[@]:1:COMP_CWORD}" |
        while read -r word; do printf '%q\\n' "$word"; done ) )
}
complete -o default -F _deciban_completion deciban""",
        ".bashrc",
    ),
    "zsh": Shell(
        """\
_deciban_completion() {
    local found=("${(@f)$(_DECIBAN_COMPLETE=1 deciban "${(@)words[2,CURRENT]}")}")
    if [[ -n "$found" ]]; then compadd -- $found; else _files; fi
}
(( $+functions[compdef] )) || { autoload -U compinit && compinit }
compdef _deciban_completion deciban""",
        ".zshrc",
    ),
    "fish": Shell(
        "complete --command deciban --arguments "
        "'(_DECIBAN_COMPLETE=1 deciban (commandline --tokenize --cut-at-cursor)[2..] (commandline --current-token))'",
        ".config/fish/completions/deciban.fish",
    ),
    "powershell": Shell(
        """\
Register-ArgumentCompleter -Native -CommandName deciban -ScriptBlock {
    param($word, $command, $position)
    $env:_DECIBAN_COMPLETE = '1'
    $before = @($command.CommandElements | Where-Object { $_.Extent.EndOffset -lt $position } | Select-Object -Skip 1)
    deciban @($before | ForEach-Object { "$_" }) "$word"
    Remove-Item Env:_DECIBAN_COMPLETE
}""",
        "Documents/PowerShell/Microsoft.PowerShell_profile.ps1",
    ),
}


def complete(words: Sequence[str]) -> list[str]:
    """Return the commands, options or values that the last word of a command line can be completed to.

    >>> complete(["ev"]), complete(["plot", "den"]), complete(["train", "--numbers", ""])
    (['evaluate'], ['densities'], ['number', 'binned', 'auto'])
    """
    *before, last = _join_at_equals(list(words) or [""])
    group = GROUP
    while before and before[0] in (*group.commands, HELP_COMMAND[0]):
        name = before.pop(0)
        found = group if name == HELP_COMMAND[0] else group.find(name)
        if not isinstance(found, Group):
            known = _complete_argument(found, before, last)
            break
        group = found
    else:
        known = [] if before else _list_commands(group)
    start = last.rpartition("=")[0] + "=" if "=" in words else ""  # bash completes what follows the sign
    matching = [word for word in known if word.startswith(last) and word.startswith("-") == last.startswith("-")]
    return [word.removeprefix(start) for word in matching]


def _join_at_equals(words: Sequence[str]) -> list[str]:
    """Return the words without quotes; those that bash has split at an equals sign, --as age = number, are joined."""
    joined: list[str] = []
    for i, word in enumerate(words):
        if joined and (word == "=" or words[i - 1] == "="):
            joined[-1] += _unquote(word)
        else:
            joined.append(_unquote(word))
    return joined


def _unquote(word: str) -> str:
    """Return a word without quotes and escapes; an unfinished one only without the quotes at its start."""
    try:
        return "".join(shlex.split(word)) if set(word) & set("'\"\\") else word
    except ValueError:
        return word.lstrip("'\"")


def _list_commands(group: Group) -> list[str]:
    """Return the options and the commands of a group."""
    options = [word.rstrip(",") for name, _ in group.options for word in name.split() if word.startswith("-")]
    return [*options, "--help", *group.commands, HELP_COMMAND[0]]


def _complete_argument(command: Command, before: Sequence[str], last: str) -> list[str]:
    """Return the words that can follow those of a command: the values of an option, or the names of all options."""
    line = CommandLine(command, before)
    name, equals, start = last.partition("=")
    if line.waiting is not None:
        return line.list_values(line.waiting, last)
    if equals and (option := line.options.get(name)) is not None:
        return [f"{name}={value}" for value in line.list_values(option, start)]
    return [*command.option_names, "--help"]


class CommandLine:
    """The words of an unfinished command line: the values of its arguments, and the option that waits for one."""

    def __init__(self, command: Command, words: Iterable[str]) -> None:
        self.options = {name: each for each in command.arguments for name in (*each.names, *each.former_names)}
        self.values = {each.destination: each.settings.get("default") for each in command.arguments}
        self.waiting: Argument | None = None
        self._positional = [each for each in command.arguments if not each.is_option]
        for word in words:
            self._read(word)

    def _read(self, word: str) -> None:
        """Read the next word: an option, its value, or a positional argument."""
        name, equals, value = word.partition("=")
        if self.waiting is not None:
            self._set(self.waiting, word)
            self.waiting = None
        elif name in self.options:
            option = self.options[name]
            if equals or option.is_flag:
                self._set(option, value)
            else:
                self.waiting = option
        elif self._positional and not word.startswith("--"):
            several = "nargs" in self._positional[0].settings
            self._set(self._positional[0] if several else self._positional.pop(0), word)

    def _set(self, argument: Argument, text: str) -> None:
        """Set the value of an argument, or add one to those it has; a value that it does not take is left out."""
        settings, name = argument.settings, argument.destination
        try:
            value = True if argument.is_flag else settings.get("type", str)(text)
        except (ArgumentTypeError, UsageError, ValueError):
            return
        if settings.get("action") == "append" or "nargs" in settings:
            value = [*(self.values[name] or ()), value]
        self.values[name] = value

    def list_values(self, option: Argument, start: str) -> list[str]:
        """Return the values that an option can have, as far as they are known: choices, columns, COL=ROLE.

        `start` is what is typed of the value: in a list of columns those before the last comma are kept.
        """
        if "choices" in option.settings:
            return list(option.settings["choices"])
        form: str = option.settings.get("metavar", "")
        if not form.startswith("COL"):
            return []
        columns = [name for name in self.read_columns() if name.isprintable()]
        if form.startswith("COL,"):
            chosen = start[: start.rfind(",") + 1]
            return [chosen + join_list([name]) for name in columns if name not in chosen.split(",")]
        return _list_roles(columns, start) if form == "COL=ROLE" else columns

    def read_columns(self) -> list[str]:
        """Return the names of the columns of DATA, or of the model; none where they cannot be read.

        Standard input and pipes are not read: what is taken from them is lost to the command itself. Nor is a
        database, whose server may take long to answer; and Spark, which is slow to start, is not used.
        """
        from deciban.cli.inputs import open_table
        from deciban.load_model import open_model

        paths = [os.path.expanduser(path) for path in self.values.get("data") or ()]
        warnings.simplefilter("ignore")
        try:
            if any(
                path == "-" or "://" in path or (os.path.exists(path) and not os.path.isfile(path)) for path in paths
            ):
                return []
            if paths:
                with open_table({**self.values, "data": paths, "spark": None}) as table:
                    return list(table.open().columns)
            model: Any = self.values["model"]
            return [column.name for column in open_model(model).columns]
        except Exception:  # whatever is wrong with the line or the file, the command itself will say it
            return []


def _list_roles(columns: Sequence[str], start: str) -> list[str]:
    """Return COL= of every column; of the only one that begins with `start`, or that it names, COL=ROLE."""
    from deciban.model.columns import ROLES

    matching = [name for name in columns if name.startswith(start) or start.startswith(f"{name}=")]
    return [f"{name}={role}" for name in matching for role in (ROLES if len(matching) == 1 else [""])]


def install_script(name: str | None) -> str:
    """Append the script for a shell to its start-up file, unless it is there already; return a message."""
    shell = find_shell(name)
    path = Path.home() / shell.file
    path.parent.mkdir(parents=True, exist_ok=True)
    known, script = path.read_bytes() if path.exists() else b"", shell.script.encode()
    if script not in known:
        with path.open("ab") as file:  # whatever its encoding
            file.write((b"\n\n" if known else b"") + script + b"\n")
    return f"{path}: completion is installed; it works in a new shell"


def find_shell(name: str | None) -> Shell:
    """Return the shell of this name, or the user's own shell for None; raise a UsageError for an unknown one."""
    found = name or Path(os.environ.get("SHELL", "")).name or ("powershell" if sys.platform == "win32" else "bash")
    if found not in SHELLS:
        raise UsageError(f"{found!r} is not a shell that can complete; use one of {', '.join(SHELLS)}")
    return SHELLS[found]
