"""Completion of commands, options and their values by a shell, and the scripts that shells need for it.

A script runs deciban with the environment variable `_DECIBAN_COMPLETE` and the words of the command line up to the
cursor as arguments; where nothing is printed, the shell completes file names.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from deciban.cli.app import GROUP
from deciban.cli.command_groups import Group, UsageError


class Shell(NamedTuple):
    """The script that makes a shell complete, and the file in the home folder that it is appended to."""

    script: str
    file: str


SHELLS: Final = {
    "bash": Shell(
        """\
_deciban_completion() {
    local IFS=$'\\n'
    COMPREPLY=( $( _DECIBAN_COMPLETE=1 "$1" "${COMP_WORDS[@]:1:COMP_CWORD}" ) )
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
    *before, last = words or [""]
    group = GROUP
    while before and before[0] in group.commands:
        found = group.find(before.pop(0))
        if not isinstance(found, Group):
            known = found.complete(before[-1] if before else "")
            break
        group = found
    else:
        known = [] if before else [*(name.split()[0] for name, _ in group.options), "--help", *group.commands]
    return [word for word in known if word.startswith(last) and word.startswith("-") == last.startswith("-")]


def install_script(name: str | None) -> str:
    """Append the script for a shell to its start-up file, unless it is there already; return a message."""
    shell = find_shell(name)
    path = Path.home() / shell.file
    path.parent.mkdir(parents=True, exist_ok=True)
    known = path.read_text() if path.exists() else ""
    if shell.script not in known:
        path.write_text(f"{known.rstrip()}\n\n{shell.script}\n".lstrip())
    return f"{path}: completion is installed; it works in a new shell"


def find_shell(name: str | None) -> Shell:
    """Return the shell of this name, or the user's own shell for None; raise a UsageError for an unknown one."""
    found = name or Path(os.environ.get("SHELL", "")).name or ("powershell" if sys.platform == "win32" else "bash")
    if found not in SHELLS:
        raise UsageError(f"{found!r} is not a shell that can complete; use one of {', '.join(SHELLS)}")
    return SHELLS[found]
