"""`deciban mail backup`, `merge`, `export` and `import`: stores as copies, together, and as text."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import manners, say
from deciban.cli.mail import mail_options as o
from deciban.cli.mail.learn_messages import KEPT
from deciban.cli.mail.open_store import judging, learning
from deciban.errors import InputError
from deciban.formatting import spaced

if TYPE_CHECKING:
    from deciban.mail.filter import MailFilter
    from deciban.mail.store.text_exchange import Merged

BACKUP = a.example("deciban mail backup mail-copy.db")
MERGE = a.example("deciban mail merge laptop.db")
EXPORT = a.example("deciban mail export mail.jsonl", "deciban mail export | gzip > mail.jsonl.gz")
IMPORT = a.example("deciban mail import mail.jsonl", "deciban mail import - < mail.jsonl")
TOLD = 5
"""Messages with two labels that are told one by one."""

Copy = Annotated[Path, typer.Argument(metavar="FILE", help="The copy to write.", show_default=False)]
Others = Annotated[list[Path], typer.Argument(metavar="OTHER", help="Other mail stores.", show_default=False)]
Text = Annotated[str, typer.Argument(metavar="FILE", help="The file to write; -: standard output.")]
Given = Annotated[str, typer.Argument(metavar="FILE", help="The text; -: standard input.", show_default=False)]


def backup(file: Copy, store: o.StoreFile = None, debug: a.Debug = False) -> None:
    """Copy a store as it is now, whoever learns meanwhile; an earlier copy of that name is replaced."""
    with manners(debug), judging(store) as mail:
        mail.store.backup(file)
        say(f"{file}: {spaced(sum(n for n, _ in mail.store.totals().values()))} messages")


def merge(
    others: Others, store: o.StoreFile = None, no_fit: o.NoFit = False, json: a.AsJson = False,
    debug: a.Debug = False,
) -> None:  # fmt: skip
    """Learn the messages of other stores; those known here under another label stay as they are, and are told."""
    with manners(debug, interrupted=KEPT), learning(store, create=True) as mail:
        told = []
        for other in others:
            merged = mail.store.merge(other.expanduser())
            told.append(_told(str(other), merged, json))
        _settled(mail, store, told, no_fit, json)


def export(file: Text = "-", store: o.StoreFile = None, debug: a.Debug = False) -> None:
    """Write a store as text: JSON, a line a message. Stores that hold the same write the same."""
    with manners(debug), judging(store) as mail:
        lines = mail.store.export()
        if file == "-":
            for line in lines:
                sys.stdout.buffer.write(line.encode())
            sys.stdout.buffer.flush()
            return
        from deciban.cli.output import check_output, whole_file

        _refuse_own_file(mail.store.path, file)
        check_output(file)
        with whole_file(file, 0o600) as unfinished, unfinished.open("wb") as written:
            written.writelines(line.encode() for line in lines)
        say(f"{file}: {spaced(sum(n for n, _ in mail.store.totals().values()))} messages")


def take_in(
    file: Given, store: o.StoreFile = None, no_fit: o.NoFit = False, json: a.AsJson = False, debug: a.Debug = False
) -> None:
    """Learn the messages of a store's text; an empty store takes over its labels and settings too."""
    with manners(debug, interrupted="nothing was learned"), learning(store, create=True) as mail:
        if file == "-":
            merged = mail.store.absorb_text(line.decode("utf-8", "replace") for line in sys.stdin.buffer)
        else:
            _refuse_own_file(mail.store.path, file)
            with Path(file).expanduser().open(encoding="utf-8", errors="replace", newline="\n") as lines:
                merged = mail.store.absorb_text(lines)
        _settled(mail, store, [_told(file, merged, json)], no_fit, json)


def _refuse_own_file(store: Path, file: str) -> None:
    """Refuse to read or replace the store itself, or what SQLite keeps beside it."""
    from deciban.mail.store.live_files import companions, is_live

    path = Path(file).expanduser()
    if is_live(path) or path.resolve() in companions(store):
        raise InputError(f"{file!r} is the store itself, or a file of it. Hint: name another file")


def _told(name: str, merged: Merged, quiet: bool) -> dict[str, Any]:
    """What came of another store's messages."""
    disputed = [{"digest": digest.hex(), "here": here, "there": there} for digest, here, there in merged.disputed]
    if not quiet:
        said = f"{name}: {spaced(merged.new)} new, {spaced(merged.known)} known already"
        say(said + (f", {spaced(len(disputed))} known here under another label" if disputed else ""))
        for message in disputed[:TOLD]:
            typer.echo(f"  {message['digest']}: {message['here']} here, {message['there']} there", err=True)
        if len(disputed) > TOLD:
            typer.echo(f"  … and {spaced(len(disputed) - TOLD)} more", err=True)
    return {"from": name, "new": merged.new, "known": merged.known, "disputed": disputed}


def _settled(mail: MailFilter, store: str | None, told: list[dict[str, Any]], no_fit: bool, json: bool) -> None:
    from deciban.cli.mail.learn_messages import settle

    done = settle(mail, store, no_fit, json)
    if json:
        from deciban.cli.output import print_json

        print_json({"store": str(mail.store.path), "merged": told, **done})
