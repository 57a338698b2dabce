"""`deciban example`: a small table or mailbox that comes with deciban, to try things on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import manners, say

EXAMPLE = a.example(
    "deciban example patients > patients.csv",
    "deciban example messages > messages.csv",
    "deciban example mailbox --folder Maildir",
)
FOLDER = Path(__file__).parent / "examples"
MAILBOX = "mailbox"
Name = Annotated[
    Literal["patients", "new-patients", "messages", "new-messages", "mailbox"],
    typer.Argument(
        help="patients: 400 with a diagnosis. new-patients: 6 without. messages: 400 texts with a topic. "
        "new-messages: 6 without. mailbox: a Maildir of 222 letters and 158 of junk.",
        show_default=False,
    ),
]
Folder = Annotated[
    Path | None,
    typer.Option(
        "--folder", metavar="FOLDER", show_default=False,
        help=f"Where to write the mailbox: a folder that is new or empty; {MAILBOX} unless given.",
    ),
]  # fmt: skip


def command(name: Name, folder: Folder = None, debug: a.Debug = False) -> None:
    """Write a bundled table to stdout as CSV, or a mailbox to a folder. Patients, messages and mail are made up."""
    if folder is not None and name != MAILBOX:
        raise typer.BadParameter(f"--folder is for {MAILBOX}; a table goes to stdout: deciban example {name} > FILE")
    with manners(debug):
        if name == MAILBOX:
            _mailbox(Path(MAILBOX) if folder is None else folder.expanduser())
        else:
            sys.stdout.buffer.write((FOLDER / f"{name}.csv").read_bytes())


def _mailbox(folder: Path) -> None:
    from deciban.cli.output_folder import HINT, check_writable
    from deciban.errors import InputError

    check_writable(folder)
    if folder.exists() and any(folder.iterdir()):
        raise InputError(
            f"the folder {str(folder)!r} is not empty; a mailbox is only written where nothing is. {HINT}"
        )
    from deciban.cli.examples.mailbox.maildir import JUNK, write_mailbox

    try:
        made = write_mailbox(folder)
    except OSError as error:
        raise InputError(f"cannot write to the folder {str(folder)!r}: {error.strerror}. {HINT}") from None
    new, junk = sum(one.is_new for one in made), sum(one.folder == JUNK for one in made)
    say(f"{folder}: {len(made) - new - junk} letters, {new} new ones, and {junk} of junk in {JUNK}")
