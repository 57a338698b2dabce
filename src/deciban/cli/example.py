"""`deciban example`: a small table or mailbox that comes with deciban, to try commands on."""

import sys
from pathlib import Path

from deciban.cli.error_handling import print_stderr
from deciban.cli.files import check_folder, folder_error
from deciban.cli.parser import DEBUG, argument, command, option
from deciban.errors import UsageError

FOLDER = Path(__file__).parent / "examples"
MAILBOX = "mailbox"
JUNK = ".Junk"
FLAG_SEPARATOR = ":" if sys.platform != "win32" else "!"
"""The character before the flags in a file name of a Maildir; Windows allows no colon in file names."""


@command(
    argument(
        "name", metavar="NAME",
        choices=["patients", "new-patients", "messages", "new-messages", "tennis", "iris", MAILBOX],
        help="patients: 400 with a diagnosis. new-patients: 6 without. messages: 400 texts with a topic. "
        "new-messages: 6 without. tennis: the 14 days of textbooks. iris: Fisher's 150 flowers. "
        "mailbox: a Maildir of 222 messages and 158 of junk.",
    ),
    option(
        "--folder", "FOLDER", f"Where to write the mailbox: a new or empty folder; by default {MAILBOX}.", type=Path
    ),
    DEBUG,
    examples=[
        "deciban example patients > patients.csv",
        "deciban example messages > messages.csv",
        "deciban example mailbox --folder Maildir",
    ],
)  # fmt: skip
def example(name: str, folder: Path | None) -> None:
    """Write a bundled table to stdout as CSV, or a mailbox to a folder. Patients, messages and mail are synthetic."""
    if name == MAILBOX:
        _write_mailbox(Path(MAILBOX) if folder is None else folder.expanduser())
    elif folder is not None:
        raise UsageError(f"--folder is for {MAILBOX}; a table goes to stdout: deciban example {name} > FILE")
    else:
        sys.stdout.buffer.write((FOLDER / f"{name}.csv").read_bytes())


def _write_mailbox(folder: Path) -> None:
    """Write the mailbox and print how many messages it has; refuse a folder that is not empty."""
    check_folder(folder)
    if folder.exists() and any(folder.iterdir()):
        raise folder_error(folder, "it is not empty, and a mailbox is only written to an empty folder")
    try:
        names = unpack_mailbox(folder)
    except OSError as error:
        raise folder_error(folder, error.strerror) from None
    new, junk = sum(name.startswith("new/") for name in names), sum(name.startswith(JUNK) for name in names)
    print_stderr(f"{folder}: {len(names) - new - junk} messages, {new} new ones, and {junk} of junk in {JUNK}")


def unpack_mailbox(folder: Path) -> list[str]:
    """Write the messages of the packed mailbox into a new or empty folder, all or none; return their names."""
    import os
    import shutil
    import tarfile
    import tempfile

    folder.absolute().parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.absolute().parent))
    try:
        for subfolder in ("cur", "new", "tmp"):
            (unfinished / subfolder).mkdir()
            (unfinished / JUNK / subfolder).mkdir(parents=True)
        with tarfile.open(FOLDER / "mailbox.tar.xz") as archive:
            messages = {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]
        for name, raw in messages.items():
            (unfinished / name.replace(":", FLAG_SEPARATOR)).write_bytes(raw)
        if folder.exists():
            folder.rmdir()
        os.rename(unfinished, folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return list(messages)
