"""Mail commands that run until they are stopped.

`deciban mail watch` learns messages that a reader moves to Junk, or back; `deciban mail serve` is the filter as a
server for spamc, for mail systems with a hook for SpamAssassin.
"""

from __future__ import annotations

import time
from collections import Counter
from threading import Event
from typing import TYPE_CHECKING, Final

from deciban.cli.error_handling import handle_errors, print_stderr
from deciban.cli.mail import mail_inputs as a
from deciban.cli.mail.learn_mail import KEPT
from deciban.cli.mail.mail_inputs import handle_signals, open_to_learn, store_path

if TYPE_CHECKING:
    from deciban.mail.filter import MailFilter
    from deciban.mail.watch import Watcher

FOLDER: Final = "a Maildir, or imaps://user@host/Folder."


@a.command(
    a.list_option("--ham", "FOLDER", f"Where wanted mail is: {FOLDER}", required=True),
    a.list_option("--junk", "FOLDER", f"Where spam is moved to: {FOLDER}", required=True),
    a.number("--every", "SECONDS", "Time from one look to the next.", minimum=0.1, kind=float, default=30.0),
    a.flag("--once", "Look once and end, as for cron."),
    a.STORE, a.NO_FIT, a.DEBUG,
    examples=[
        "deciban mail watch --ham ~/Maildir --junk ~/Maildir/.Junk",
        "deciban mail watch --ham imaps://joe@example.org/INBOX --junk imaps://joe@example.org/Junk --once",
    ],
)  # fmt: skip
def watch(
    ham: list[str], junk: list[str], every: float, once: bool, store: str | None, no_fit: bool, debug: bool
) -> None:
    """Learn what is moved to Junk as spam, and what is moved back as ham. Nothing is deleted, moved or marked.

    Messages that are in the folders at the first look are not learned: deciban mail learn is for that.
    """
    stop, learned = Event(), Counter[str]()
    with (
        handle_errors(debug, interrupted=KEPT),
        handle_signals(lambda number, frame: stop.set(), "SIGINT", "SIGTERM"),  # a look is finished first
        open_to_learn(store, create=True) as mail,
        _make_watcher(mail, ham, junk, learned) as watcher,
    ):
        while True:
            watcher.look()
            _report(mail, learned, no_fit, with_time=not once)
            if once or stop.wait(every):
                return


def _make_watcher(mail: MailFilter, ham: list[str], junk: list[str], learned: Counter[str]) -> Watcher:
    """Return a watcher that learns by a filter, counts in `learned`, and keeps its state in the store."""
    from deciban.mail.watch import Watcher

    def learn(raw: bytes, label: str) -> None:
        mail.learn(raw, label)
        learned[label] += 1

    return Watcher(
        {**dict.fromkeys(ham, "ham"), **dict.fromkeys(junk, "spam")},
        learn,
        known=mail.store.find_label,
        filed=has_spam_header,
        load=lambda: mail.store.setting("watched"),
        save=mail.store.save_watched,
        problems=lambda problem: print_stderr(f"warning: {problem}"),
    )


def has_spam_header(raw: bytes) -> bool:
    """Return whether the filter itself put a message into Junk, which its header states, and no reader did.

    >>> has_spam_header(b"X-Deciban: spam; p=0.99\\n\\n"), has_spam_header(b"X-Deciban: ham; p=0.01\\n\\n")
    (True, False)
    """
    from deciban.mail.message.message import read_message

    return any(name == "x-deciban" and value.startswith("spam") for name, value in read_message(raw).headers)


def _report(mail: MailFilter, learned: Counter[str], no_fit: bool, with_time: bool) -> None:
    """Report what was learned, if anything, clear the counts, and refit where that is due."""
    if not learned:
        return
    counts = ", ".join(f"{n} as {label}" for label, n in sorted(learned.items()))
    print_stderr((time.strftime("%Y-%m-%d %H:%M:%S ") if with_time else "") + f"learned {counts}")
    learned.clear()
    if not no_fit and mail.refit():
        print_stderr(f"{mail.model}: refitted")


@a.command(
    a.option("--spamd", "ADDRESS", "Where spamc finds it: 127.0.0.1:1783, [::1]:1783 or unix:/path.", required=True),
    a.STORE,
    a.flag("--no-learn", "Refuse to learn or forget messages."),
    a.flag("--anyone", "Let other machines reach it too: whoever does may teach it."),
    a.number("--connections", "NUMBER", "Clients that are served at once.", minimum=1, default=100),
    a.number("--seconds", "SECONDS", "Time that a request may take.", minimum=0.1, kind=float, default=30.0),
    a.number("--longest", "MIB", "MiB of the longest message that is accepted.", minimum=1, default=16),
    a.DEBUG,
    examples=[
        "deciban mail serve --spamd 127.0.0.1:1783", "deciban mail serve --spamd unix:$XDG_RUNTIME_DIR/deciban.sock"
    ],
)  # fmt: skip
def serve(
    spamd: str, store: str | None, no_learn: bool, anyone: bool, connections: int, seconds: float, longest: int,
    debug: bool,
) -> None:  # fmt: skip
    """Answer spamc until Ctrl-C or SIGTERM; requests that are under way are finished first."""
    with handle_errors(debug, interrupted="what was learned before is kept"):
        import logging

        from deciban.mail.spamd.connections import Limits
        from deciban.mail.spamd.spamd_server import serve

        level = logging.INFO if debug else logging.WARNING
        logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(message)s")
        limits = Limits(message=longest << 20, seconds=seconds, connections=connections)
        path = store_path(store)
        serve(
            spamd, path, limits=limits, learns=not no_learn, anyone=anyone,
            ready=lambda where: print_stderr(f"listening at {where}, with {path}"),
        )  # fmt: skip
