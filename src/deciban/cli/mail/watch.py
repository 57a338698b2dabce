"""`deciban mail watch`: learns from what a reader moves to Junk and back."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import manners, say
from deciban.cli.mail import mail_options as o
from deciban.cli.mail.learn_messages import KEPT
from deciban.cli.mail.open_store import learning

if TYPE_CHECKING:
    from deciban.mail.filter import MailFilter
    from deciban.mail.watch import Watcher

EXAMPLE = a.example(
    "deciban mail watch --ham ~/Maildir --junk ~/Maildir/.Junk",
    "deciban mail watch --ham imaps://joe@example.org/INBOX --junk imaps://joe@example.org/Junk --once",
)
FOLDER = "a Maildir, or imaps://user@host/Folder. May be repeated."
Ham = Annotated[
    list[str],
    typer.Option("--ham", metavar="FOLDER", help=f"Where wanted mail is: {FOLDER}", show_default=False),
]
Junk = Annotated[
    list[str],
    typer.Option("--junk", metavar="FOLDER", help=f"Where spam is moved to: {FOLDER}", show_default=False),
]
Every = Annotated[float, typer.Option("--every", metavar="SECONDS", min=0.1, help="Time from one look to the next.")]
Once = Annotated[bool, typer.Option("--once", help="Look once and end, as for cron.")]


def command(
    ham: Ham, junk: Junk, every: Every = 30.0, once: Once = False, store: o.StoreFile = None,
    no_fit: o.NoFit = False, debug: a.Debug = False,
) -> None:  # fmt: skip
    """Learn what is moved to Junk as spam, and what is moved back as ham. Nothing is deleted, moved or marked.

    What lies in the folders at the first look states nothing: deciban mail learn is for that.
    """
    with manners(debug, interrupted=KEPT), _until_told() as stop, learning(store, create=True) as mail:
        learned: Counter[str] = Counter()
        with _watcher(mail, ham, junk, learned) as watcher:
            while True:
                watcher.look()
                _tell(mail, learned, no_fit, with_time=not once)
                if once or stop.wait(every):
                    return


def _watcher(mail: MailFilter, ham: list[str], junk: list[str], learned: Counter[str]) -> Watcher:
    from deciban.mail.watch import Watcher

    def learn(raw: bytes, label: str) -> None:
        mail.learn(raw, label)
        learned[label] += 1

    return Watcher(
        {**dict.fromkeys(ham, "ham"), **dict.fromkeys(junk, "spam")},
        learn,
        known=mail.store.known,
        filed=filed_by_us,
        load=lambda: mail.store.setting("watched"),
        save=mail.store.save_watched,
        problems=lambda problem: say(f"warning: {problem}"),
    )


def filed_by_us(raw: bytes) -> bool:
    """Whether the filter itself put a message into Junk: it says so in the header, and no reader did.

    >>> filed_by_us(b"X-Deciban: spam; p=0.99\\n\\n"), filed_by_us(b"X-Deciban: ham; p=0.01\\n\\n")
    (True, False)
    """
    from deciban.mail.message.message import read_message

    return any(name == "x-deciban" and value.startswith("spam") for name, value in read_message(raw).headers)


def _tell(mail: MailFilter, learned: Counter[str], no_fit: bool, with_time: bool) -> None:
    if not learned:
        return
    said = ", ".join(f"{n} as {label}" for label, n in sorted(learned.items()))
    typer.echo((time.strftime("%Y-%m-%d %H:%M:%S ") if with_time else "") + f"learned {said}", err=True)
    learned.clear()
    if not no_fit and mail.refit():
        typer.echo(f"{mail.model}: fitted anew", err=True)


@contextmanager
def _until_told() -> Iterator[Event]:
    """An event that Ctrl-C and SIGTERM set: the look that is under way is finished."""
    stop = Event()

    def end(number: int, frame: FrameType | None) -> None:
        stop.set()

    before: dict[int, Any] = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
