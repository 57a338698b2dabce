"""`deciban mail backup`, `merge`, `export` and `import`: copies of a store, and exchange between stores."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from deciban.cli.error_handling import handle_errors, print_stderr
from deciban.cli.mail import mail_parser as a
from deciban.cli.mail.learn_mail import KEPT, finish
from deciban.cli.mail.mail_inputs import open_to_classify, open_to_learn
from deciban.errors import InputError
from deciban.formatting import format_thousands

if TYPE_CHECKING:
    from deciban.mail.filter import MailFilter
    from deciban.mail.store.text_exchange import MergeCounts

MAX_SHOWN_DISPUTES: Final = 5
"""Number of messages with two labels that are reported one by one."""


@a.command(
    a.argument("file", metavar="FILE", type=Path, help="The copy to write."),
    a.STORE, a.DEBUG,
    examples=["deciban mail backup mail-copy.db"],
)  # fmt: skip
def backup(file: Path, store: str | None, debug: bool) -> None:
    """Copy a store as it is now, even while it is in use; an earlier copy of that name is replaced."""
    with handle_errors(debug), open_to_classify(store) as mail:
        mail.store.backup(file)
        print_stderr(f"{file}: {_count_messages(mail)} messages")


@a.command(
    a.argument("others", nargs="+", metavar="OTHER", type=Path, help="Other mail stores."),
    a.STORE, a.NO_FIT, a.JSON, a.DEBUG,
    examples=["deciban mail merge laptop.db"],
)  # fmt: skip
def merge(others: Sequence[Path], store: str | None, no_fit: bool, json: bool, debug: bool) -> None:
    """Learn the messages of other stores; those known here under another label stay as they are, and are reported."""
    with handle_errors(debug, interrupted=KEPT), open_to_learn(store, create=True) as mail:
        merged = [_report(str(other), mail.store.merge(other.expanduser()), json) for other in others]
        finish(mail, store, no_fit, json, merged=merged)


@a.command(
    a.argument(
        "file", nargs="?", metavar="FILE", default="-", help="The file to write; -: standard output."
    ),
    a.STORE, a.DEBUG,
    examples=["deciban mail export mail.jsonl", "deciban mail export | gzip > mail.jsonl.gz"],
)  # fmt: skip
def export(file: str, store: str | None, debug: bool) -> None:
    """Write a store as text: JSON, a line per message. Stores of equal content give equal text."""
    with handle_errors(debug), open_to_classify(store) as mail:
        lines = mail.store.export()
        if file == "-":
            for line in lines:
                sys.stdout.buffer.write(line.encode())
            sys.stdout.buffer.flush()
            return
        from deciban.cli.output import atomic_file, check_output

        _refuse_own_file(mail.store.path, file)
        check_output(file)
        with atomic_file(file, 0o600) as unfinished, unfinished.open("wb") as written:
            written.writelines(line.encode() for line in lines)
        print_stderr(f"{file}: {_count_messages(mail)} messages")


@a.command(
    a.argument("file", metavar="FILE", help="The text; -: standard input."),
    a.STORE, a.NO_FIT, a.JSON, a.DEBUG,
    examples=["deciban mail import mail.jsonl", "deciban mail import - < mail.jsonl"],
)  # fmt: skip
def import_text(file: str, store: str | None, no_fit: bool, json: bool, debug: bool) -> None:
    """Learn the messages of a store's text; an empty store takes over its labels and settings too."""
    with handle_errors(debug, interrupted="nothing was learned"), open_to_learn(store, create=True) as mail:
        if file == "-":
            merged = mail.store.absorb_text(line.decode("utf-8", "replace") for line in sys.stdin.buffer)
        else:
            _refuse_own_file(mail.store.path, file)
            with Path(file).expanduser().open(encoding="utf-8", errors="replace", newline="\n") as lines:
                merged = mail.store.absorb_text(lines)
        finish(mail, store, no_fit, json, merged=[_report(file, merged, json)])


def _count_messages(mail: MailFilter) -> str:
    return format_thousands(sum(n for n, _ in mail.store.totals().values()))


def _refuse_own_file(store: Path, file: str) -> None:
    """Refuse to read or replace the store itself, or a file that SQLite keeps next to it."""
    from deciban.mail.store.live_files import companions, is_live

    path = Path(file).expanduser()
    if is_live(path) or path.resolve() in companions(store):
        raise InputError(f"{file!r} is the store itself, or a file of it. Hint: name another file")


def _report(name: str, merged: MergeCounts, quiet: bool) -> dict[str, Any]:
    """Report the messages of another store, and return the figures for JSON."""
    disputed = [{"digest": digest.hex(), "here": here, "there": there} for digest, here, there in merged.disputed]
    if not quiet:
        text = f"{name}: {format_thousands(merged.new)} new, {format_thousands(merged.known)} known already"
        print_stderr(
            text + (f", {format_thousands(len(disputed))} known here under another label" if disputed else "")
        )
        for message in disputed[:MAX_SHOWN_DISPUTES]:
            print_stderr(f"  {message['digest']}: {message['here']} here, {message['there']} there")
        if len(disputed) > MAX_SHOWN_DISPUTES:
            print_stderr(f"  … and {format_thousands(len(disputed) - MAX_SHOWN_DISPUTES)} more")
    return {"from": name, "new": merged.new, "known": merged.known, "disputed": disputed}
