"""Commands that documents show are run again, within this process where possible."""

import contextlib
import re
import shlex
import subprocess

from tests.cli.terminal import call

PLAIN = re.compile(r"deciban (?P<arguments>[^|<>;&()`$*?\[~]+)(?P<rest>[|>][^<;&(`$]*)?")
"""`deciban` with arguments that no shell would change, and perhaps where it prints to: `| head -n 3`, `> new.csv`."""


def quicker_than(by_shell):
    """As a shell runs a command of the documents, but `deciban` itself within this process where it stands alone."""

    def ran(command, folder, env):
        plain = PLAIN.fullmatch(command.replace("\\\n", " ").strip())
        if plain is None or " 2>" in command:
            return by_shell(command, folder, env)
        with contextlib.chdir(folder):
            result = call(*shlex.split(plain["arguments"]), env=env)
        if result.exception is not None:
            raise result.exception
        return (
            result.output
            if plain["rest"] is None
            else result.stderr + passed_on(result.stdout, plain["rest"], folder)
        )

    return ran


def passed_on(printed, rest, folder):
    """Return what is seen of it behind a pipe, or once it has gone to a file."""
    command = ["sh", "-c", f"cat {rest}"]
    return subprocess.run(command, input=printed, cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout
