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
from deciban.cli.mail.mail_inputs import format_counts, handle_signals, open_to_learn, refuse_same_source, store_path
from deciban.formatting import to_one_line

if TYPE_CHECKING:
    from deciban.mail.filter import MailFilter
    from deciban.mail.moves import MoveJournal
    from deciban.mail.watch import Watcher

FOLDER: Final = "a Maildir, or imaps://user@host/Folder."

SPAMD_ADDRESS: Final = "127.0.0.1:1783"
"""Where `serve` listens unless another address is given: only this machine reaches it (spamd has port 783)."""


@a.command(
    a.list_option("--ham", "FOLDER", f"Where wanted mail is: {FOLDER}", required=True),
    a.list_option("--junk", "FOLDER", f"Where spam is moved to: {FOLDER}", required=True),
    a.number("--every", "SECONDS", "Time from one look to the next.", minimum=0.1, kind=float, default=30.0),
    a.flag("--once", "Look once and end, as for cron."),
    a.flag("--move", "Move spam that arrives in an IMAP folder to Junk; deciban mail undo moves it back."),
    a.STORE, a.NO_FIT, a.DEBUG,
    examples=[
        "deciban mail watch --ham ~/Maildir --junk ~/Maildir/.Junk",
        "deciban mail watch --ham imaps://joe@example.org/INBOX --junk imaps://joe@example.org/Junk --move",
    ],
)  # fmt: skip
def watch(
    ham: list[str], junk: list[str], every: float, once: bool, move: bool, store: str | None, no_fit: bool,
    debug: bool,
) -> None:  # fmt: skip
    """Learn what is moved to Junk as spam, and what is moved back as ham. Nothing is deleted or marked.

    Nothing is moved either, unless --move is given. Messages that are in the folders at the first look are neither
    learned nor moved: deciban mail learn is for them.
    """
    stop, learned = Event(), Counter[str]()
    with handle_errors(debug):
        refuse_same_source({"wanted mail": ham, "spam": junk})
    with (
        handle_errors(debug, interrupted=KEPT),
        handle_signals(lambda number, frame: stop.set(), "SIGINT", "SIGTERM"),  # a look is finished first
        open_to_learn(store, create=True) as mail,
    ):
        from deciban.mail.moves import MoveJournal

        journal = MoveJournal(mail.store)
        with _make_watcher(mail, ham, junk, learned, journal, move) as watcher:
            while True:
                watcher.look()
                _report(mail, learned, journal, no_fit, with_time=not once)
                if once or stop.wait(every):
                    return


def _make_watcher(
    mail: MailFilter, ham: list[str], junk: list[str], learned: Counter[str], journal: MoveJournal, move: bool
) -> Watcher:
    """Return a watcher that learns by a filter, counts in `learned`, and keeps its state in the store."""
    from deciban.mail.watch import Watcher

    def learn(raw: bytes, label: str) -> None:
        mail.learn(raw, label)
        learned[label] += 1

    return Watcher(
        {**dict.fromkeys(ham, "ham"), **dict.fromkeys(junk, "spam")},
        learn,
        known=mail.store.find_label,
        filed=lambda raw: has_spam_header(raw) or journal.has(raw),
        load=lambda: mail.store.setting("watched"),
        save=mail.store.save_watched,
        problems=lambda problem: print_stderr(f"warning: {problem}"),
        journal=journal if move else None,
        is_spam=lambda raw: mail.classify(raw, clues=0).label == "spam",
    )


def has_spam_header(raw: bytes) -> bool:
    """Return whether the filter itself put a message into Junk, which its header states, and no reader did.

    >>> has_spam_header(b"X-Deciban: spam; p=0.99\\n\\n"), has_spam_header(b"X-Deciban: ham; p=0.01\\n\\n")
    (True, False)
    """
    from deciban.mail.message.message import read_message

    return any(name == "x-deciban" and value.startswith("spam") for name, value in read_message(raw).headers)


def _report(mail: MailFilter, learned: Counter[str], journal: MoveJournal, no_fit: bool, with_time: bool) -> None:
    """Report what was learned and moved, if anything, clear the counts, and refit where that is due."""
    parts = ["learned " + ", ".join(f"{n} as {label}" for label, n in sorted(learned.items()))] if learned else []
    parts += [f"moved {journal.n_moved} to Junk; deciban mail undo moves back"] if journal.n_moved else []
    for part in parts:
        print_stderr((time.strftime("%Y-%m-%d %H:%M:%S ") if with_time else "") + part)
    if learned and not no_fit and mail.refit():
        print_stderr(f"{mail.model}: refitted")
    learned.clear()
    journal.n_moved = 0


@a.command(
    a.flag("--all", "Undo all moves of the journal, not only those of the last look that moved anything."),
    a.flag("--dry-run", "Show what would be moved back, and move nothing."),
    a.STORE, a.DEBUG,
    examples=["deciban mail undo --dry-run", "deciban mail undo"],
)  # fmt: skip
def undo(all: bool, dry_run: bool, store: str | None, debug: bool) -> None:
    """Move messages that deciban mail watch --move moved to Junk back to where they were.

    They are learned as ham at the next look of deciban mail watch, as if you had moved them back yourself.
    """
    with handle_errors(debug, interrupted="what was moved back before stays there"), open_to_learn(store) as mail:
        from deciban.mail.moves import MoveJournal

        journal = MoveJournal(mail.store)
        if not dry_run:
            journal.recover()
        moves = journal.moves
        wanted = moves if all else [move for move in moves if move.look == moves[-1].look]
        earlier = {"earlier in the journal (--all)": len(moves) - len(wanted)}
        if dry_run:
            for move in wanted:
                when = time.strftime("%Y-%m-%d %H:%M", time.localtime(move.look))
                print(to_one_line(f"{when}  {move.target};uid={move.moved_uid or '?'} to {move.source}"), flush=True)
            print_stderr(format_counts({"to move back": len(wanted)}, earlier))
            return
        missing = journal.undo(wanted)
        counts = {"moved back": len(wanted) - len(missing)}
        print_stderr(format_counts(counts, {"not in Junk any more": len(missing), **earlier}))


@a.command(
    a.option(
        "--spamd", "ADDRESS", "Where spamc finds it: 127.0.0.1:1783, [::1]:1783 or unix:/path.", default=SPAMD_ADDRESS
    ),
    a.STORE,
    a.flag("--no-learn", "Refuse to learn or forget messages."),
    a.flag("--anyone", "Let other machines reach it too: whoever does may teach it."),
    a.number("--connections", "NUMBER", "Clients that are served at once.", minimum=1, default=100),
    a.number("--seconds", "SECONDS", "Time that a request may take.", minimum=0.1, kind=float, default=30.0),
    a.number("--longest", "MIB", "MiB of the longest message that is accepted.", minimum=1, default=16),
    a.DEBUG,
    examples=[
        "deciban mail serve", "deciban mail serve --spamd unix:$XDG_RUNTIME_DIR/deciban.sock"
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
