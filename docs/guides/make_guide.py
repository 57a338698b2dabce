"""Runs the terminal sessions of the documents and writes down what they print; fills in the tables of options.

    python docs/guides/make_guide.py           renews README.md, docs/cli.md and the guides

In a fenced block marked `console` every line after `$ ` is run by a shell, in one marked `pycon` every statement
after `>>> ` by Python, all of a document in one new folder. `$ export NAME=VALUE` holds for the commands after it. A
picture that a document shows and its sessions write is renewed too.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DOCUMENTS = (
    "README.md",
    "docs/cli.md",
    "docs/guides/first-table.md",
    "docs/guides/text.md",
    "docs/guides/mail.md",
    "docs/guides/trust.md",
    "docs/guides/dependence.md",
    "docs/guides/generative-or-discriminative.md",
)
BLOCK = re.compile(r"^```(console|pycon)\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"!\[[^\]]*\]\(((?:[\w-]+/)?[\w.-]+)\)")
EXPORT = re.compile(r"export (\w+)=(\S+)\n")
OPTIONS = re.compile(r"<!-- options of ([\w ]+) -->\n.*?<!-- end -->", flags=re.DOTALL)


def renewed(text: str, home: Path | None = None, prepare: Callable[[Path], None] | None = None) -> str:
    """A document with its sessions run and its tables of options filled in; its pictures go to `home`.

    `prepare` puts into the new folder what the sessions need.
    """
    text = OPTIONS.sub(lambda found: _options(found[1]), text)
    names: dict[str, Any] = {}
    exported: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if prepare is not None:
            prepare(folder)
        text = BLOCK.sub(
            lambda found: f"```{found[1]}\n{_block(found[1], found[2], folder, names, exported)}```", text
        )
        for picture in PICTURE.findall(text):
            drawn = folder / Path(picture).name
            if home is not None and drawn.exists():
                shutil.copyfile(drawn, home / picture)
    return text


def _block(kind: str, session: str, folder: Path, names: dict[str, Any], exported: dict[str, str]) -> str:
    return _run(session, folder, exported) if kind == "console" else _spoken(session, folder, names)


def _spoken(session: str, folder: Path, names: dict[str, Any]) -> str:
    """Statements of Python, each with what it prints."""
    written = []
    with contextlib.chdir(folder):
        for example in doctest.DocTestParser().get_examples(session):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(example.source, "the guide", "single"), names)
            first, *more = example.source.splitlines()
            written += [f">>> {first}", *(f"... {line}".rstrip() for line in more), *printed.getvalue().splitlines()]
    return "".join(f"{line}\n" for line in written)


def _run(session: str, folder: Path, exported: dict[str, str]) -> str:
    commands = re.findall(r"^\$ ((?:.*\\\n)*.*\n)", session, flags=re.MULTILINE)
    return "".join(f"$ {command}{_output(command, folder, exported)}" for command in commands)


def _output(command: str, folder: Path, exported: dict[str, str]) -> str:
    """Return the output of a command on a terminal of 80 columns; its mail store is in the folder by default."""
    if said := EXPORT.fullmatch(command):
        exported[said[1]] = said[2]
        return ""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    env |= {"XDG_DATA_HOME": str(folder), **exported}
    printed = ran(command, folder, env)
    if "Traceback" in printed or "not found" in printed:
        raise SystemExit(f"{command}\n{printed}")
    return printed if printed.endswith("\n") or not printed else printed + "\n"


def ran(command: str, folder: Path, env: dict[str, str]) -> str:
    """What a command prints when a shell runs it; the tests put something quicker here for most commands."""
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.run(["sh", "-c", command], cwd=folder, env=env, text=True, check=False, **both).stdout


def _options(command: str) -> str:
    lines = ["| option | what it does |", "|---|---|"]
    lines += [f"| {_spelling(option)} | {_escaped(option.settings['help'])} |" for option in options(command)]
    return "\n".join([f"<!-- options of {command} -->", *lines, "<!-- end -->"])


def options(command: str) -> list[Any]:
    """The options of a command, or of one within another: `plot telltales`."""
    from deciban.cli.app import GROUP

    found: Any = GROUP
    for name in command.split():
        found = found.find(name)
    return [each for each in getattr(found, "arguments", ()) if each.is_option]


def _spelling(option: Any) -> str:
    names = ", ".join(f"`{name}`" for name in option.spellings)
    return names if option.is_flag else f"{names} {_escaped(option.settings['metavar'])}"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    for name in DOCUMENTS:
        document = ROOT / name
        document.write_text(renewed(document.read_text(), document.parent))
