"""Run the terminal sessions of the documents and write their output into them; fill in the tables of options.

    python docs/guides/make_guide.py           updates README.md, docs/cli.md and the guides

In a fenced block marked `console` every line after `$ ` is run by a shell, in one marked `pycon` every statement
after `>>> ` by Python, all of a document in one new folder. `$ export NAME=VALUE` holds for the commands after it. A
picture that a document shows and its sessions write is copied to the document's folder.
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
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DOCUMENTS = (
    "README.md",
    "docs/cli.md",
    "docs/guides/first-table.md",
    "docs/guides/by-hand.md",
    "docs/guides/text.md",
    "docs/guides/text-words.md",
    "docs/guides/text-folders.md",
    "docs/guides/text-python.md",
    "docs/guides/mail.md",
    "docs/guides/mail-care.md",
    "docs/guides/mail-corrections.md",
    "docs/guides/mail-clients.md",
    "docs/guides/trust.md",
    "docs/guides/report.md",
    "docs/guides/more-rows.md",
    "docs/guides/settings.md",
    "docs/guides/calibration.md",
    "docs/guides/decisions.md",
    "docs/guides/diagnostic-test.md",
    "docs/guides/updates.md",
    "docs/guides/dependence.md",
    "docs/guides/generative-or-discriminative.md",
    "docs/guides/serve.md",
    "docs/guides/export.md",
    "docs/guides/sql.md",
    "docs/tutorials/digits.md",
    "docs/coming-from/scikit-learn.md",
    "docs/coming-from/r.md",
    "docs/coming-from/weka.md",
)
OPTIONAL_DOCUMENTS = {
    "docs/guides/spark.md": "pyspark",
    "docs/coming-from/spark-mllib.md": "pyspark",
    "docs/coming-from/river.md": "river",
    "docs/coming-from/bogofilter-spamassassin.md": "bogofilter",
}
"""Documents whose sessions need a library or a program; without it they are left as they are."""

BLOCK = re.compile(r"^```(console|pycon)\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"!\[[^\]]*\]\(((?:[\w-]+/)?[\w.-]+)\)")
EXPORT = re.compile(r"export (\w+)=(\S+)\n")
OPTIONS = re.compile(r"<!-- options of ([\w ]+) -->\n.*?<!-- end -->", flags=re.DOTALL)


def update_document(text: str, home: Path | None = None, prepare: Callable[[Path], None] | None = None) -> str:
    """Return a document with the present output of its sessions and the present tables of options.

    The sessions run in a new folder, into which `prepare` writes the files that they need; the pictures of the
    document that they draw are copied to the folder `home`.
    """
    text = OPTIONS.sub(lambda found: _format_options_table(found[1]), text)
    variables: dict[str, Any] = {}
    exported: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if prepare is not None:
            prepare(folder)
        text = BLOCK.sub(
            lambda found: f"```{found[1]}\n{run_block(found[1], found[2], folder, variables, exported)}```", text
        )
        for picture in PICTURE.findall(text):
            drawn = folder / Path(picture).name
            if home is not None and drawn.exists():
                shutil.copyfile(drawn, home / picture)
    return text


def run_block(kind: str, session: str, folder: Path, variables: dict[str, Any], exported: dict[str, str]) -> str:
    """Return a `console` or `pycon` block with its present output; the variables that it sets are added to these."""
    if kind == "pycon":
        return _run_statements(session, folder, variables)
    commands = re.findall(r"^\$ ((?:.*\\\n)*.*\n)", session, flags=re.MULTILINE)
    return "".join(f"$ {command}{_run_command(command, folder, exported)}" for command in commands)


def _run_statements(session: str, folder: Path, variables: dict[str, Any]) -> str:
    """Run the Python statements of a session in a folder, and return each followed by its output."""
    lines = []
    with contextlib.chdir(folder):
        for example in doctest.DocTestParser().get_examples(session):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(example.source, "the guide", "single"), variables)
            first, *more = example.source.splitlines()
            lines += [f">>> {first}", *(f"... {line}".rstrip() for line in more), *printed.getvalue().splitlines()]
    return "".join(f"{line}\n" for line in lines)


def _run_command(command: str, folder: Path, exported: dict[str, str]) -> str:
    """Return the output of a command on a terminal of 80 columns; its mail store is in the folder by default.

    `export NAME=VALUE` is not run, but added to `exported`, the environment of the commands after it.
    """
    if export := EXPORT.fullmatch(command):
        exported[export[1]] = export[2]
        return ""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    env |= {"XDG_DATA_HOME": str(folder), **exported}
    printed = run_in_shell(command, folder, env)
    if "Traceback" in printed or "not found" in printed:
        raise SystemExit(f"{command}\n{printed}")
    return printed if printed.endswith("\n") or not printed else printed + "\n"


def run_in_shell(command: str, folder: Path, env: dict[str, str]) -> str:
    """Return the output and the errors of a command; the tests replace this function by a quicker one."""
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.run(["sh", "-c", command], cwd=folder, env=env, text=True, check=False, **both).stdout


def _format_options_table(command: str) -> str:
    """Return the table of the options of a command in Markdown, between the comments that mark its place."""
    lines = ["| option | what it does |", "|---|---|"]
    for option in find_options(command):
        names = ", ".join(f"`{name}`" for name in option.spellings)
        value = "" if option.is_flag else f" {_escape_bars(option.settings['metavar'])}"
        lines.append(f"| {names}{value} | {_escape_bars(option.settings['help'])} |")
    return "\n".join([f"<!-- options of {command} -->", *lines, "<!-- end -->"])


def find_options(command: str) -> list[Any]:
    """Return the options of a command, or of a command of a group: `plot telltales`."""
    from deciban.cli.app import GROUP

    found: Any = GROUP
    for name in command.split():
        found = found.find(name)
    return [each for each in getattr(found, "arguments", ()) if each.is_option]


def is_installed(needed: str) -> bool:
    """Return whether there is a library or a program of this name."""
    return bool(find_spec(needed) or shutil.which(needed))


def _escape_bars(text: str) -> str:
    """Escape vertical bars, which would end a cell of a table in Markdown."""
    return text.replace("|", "\\|")


if __name__ == "__main__":
    optional = [name for name, needed in OPTIONAL_DOCUMENTS.items() if is_installed(needed)]
    for name in (*DOCUMENTS, *optional):
        document = ROOT / name
        document.write_text(update_document(document.read_text(), document.parent))
