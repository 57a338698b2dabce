"""`deciban mail learn`, `unlearn` and `relabel`: messages are learned, and the maintenance that is due is done."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from deciban.cli.error_handling import handle_errors, print_stderr, show_spinner
from deciban.cli.files import print_json
from deciban.cli.mail import mail_inputs as a
from deciban.errors import ForgetError, UsageError
from deciban.formatting import format_count, format_thousands

if TYPE_CHECKING:
    from deciban.mail.filter import MailFilter

KEPT: Final = "what was learned before is kept; the same command again completes it"
"""The message of an interrupted command that learns."""


@a.command(
    a.HAM, a.SPAM,
    a.argument(
        "--label", nargs="+", action="append", metavar="NAME=PATH...",
        help="Mail of another kind, such as work=PATH. May be repeated.",
    ),
    a.STORE, a.SUBFOLDERS, a.TRASHED, a.NO_FIT, a.JSON, a.DEBUG,
    examples=[
        "deciban mail learn --ham ~/Maildir --spam ~/Maildir/.Junk",
        "deciban mail learn --ham kept.mbox letters/*.eml --spam junk.mbox.gz",
    ],
)  # fmt: skip
def learn(
    ham: Sequence[str] | None, spam: Sequence[str] | None, label: Sequence[Sequence[str]] | None, store: str | None,
    subfolders: bool, trashed: bool, no_fit: bool, json: bool, debug: bool,
) -> None:  # fmt: skip
    """Learn messages by label; a message that is known is not learned twice, and one with another label moves.

    Then the weights of tokens are refitted, if so much was learned that it is due.
    """
    paths_of = group_by_label(ham, spam, label)
    with handle_errors(debug, interrupted=KEPT):
        from deciban.mail.bulk.reader_processes import ReaderPool
        from deciban.mail.sources.message_sources import list_messages
        from deciban.mail.store.stored_messages import LearnCounts

        a.check_paths([path for paths in paths_of.values() for path in paths])
        a.refuse_same_source(paths_of)
        start = perf_counter()
        with ExitStack() as opened:
            with a.count_done("learning") as tick:
                readers = {name: a.MessageReader(paths, subfolders, trashed) for name, paths in paths_of.items()}
                messages = ((name, m) for name, reader in readers.items() for m in reader.iterate(list_messages))
                pool = opened.enter_context(ReaderPool(messages, None))
                mail = opened.enter_context(a.open_to_learn(store, create=True))
                counts = mail.learn_each(pool.messages, pool, progress=tick)
            learned = {name: counts.get(name, LearnCounts()) for name in paths_of}
            seconds = perf_counter() - start
            if not json:
                _report(learned, seconds)
            figures = {name: counts._asdict() for name, counts in learned.items()}
            maintain_and_report(mail, store, no_fit, json, learned=figures, seconds=seconds)
        for name, reader in readers.items():
            reader.report_problems(sum(learned[name]))


def group_by_label(
    ham: Sequence[str] | None, spam: Sequence[str] | None, labelled: Sequence[Sequence[str]] | None
) -> dict[str, list[str]]:
    """Return the paths of each label; all paths of one `--label` option have the label that the first one names.

    >>> group_by_label(["a", "b"], None, [["work=c", "d"]])
    {'ham': ['a', 'b'], 'work': ['c', 'd']}
    """
    paths_of = {"ham": list(ham or ()), "spam": list(spam or ())}
    for first, *others in labelled or ():
        name, equals, path = first.partition("=")
        if not equals or not name or not path:
            raise UsageError(f"{first!r} is not NAME=PATH, as in --label work=~/Maildir/.Work")
        paths_of.setdefault(name, []).extend([path, *others])
    paths_of = {name: paths for name, paths in paths_of.items() if paths}
    if not paths_of:
        raise UsageError("nothing to learn from: --ham PATH, --spam PATH or --label NAME=PATH is needed")
    return paths_of


@a.command(a.MESSAGES, a.STORE, a.NO_FIT, a.JSON, a.DEBUG, examples=["deciban mail unlearn message.eml"])
def unlearn(paths: Sequence[str], store: str | None, no_fit: bool, json: bool, debug: bool) -> None:
    """Forget messages: afterwards the store is as if they had never been learned."""
    with handle_errors(debug, interrupted="nothing was unlearned"), a.open_to_learn(store) as mail:
        digests = list(dict.fromkeys(_read_digests(paths)))
        gone = mail.store.unlearn(digests)
        if not json:
            print_stderr(a.format_counts({"unlearned": gone, "not known": len(digests) - gone}))
        maintain_and_report(mail, store, no_fit, json, unlearned=gone, unknown=len(digests) - gone)


@a.command(
    a.argument("--to", metavar="LABEL", required=True, help="The new label: ham, spam or any other."),
    a.MESSAGES, a.STORE, a.NO_FIT, a.JSON, a.DEBUG,
    examples=["deciban mail relabel --to ham message.eml"],
)  # fmt: skip
def relabel(to: str, paths: Sequence[str], store: str | None, no_fit: bool, json: bool, debug: bool) -> None:
    """Change the label of messages that were learned; their times stay."""
    with handle_errors(debug, interrupted="nothing was relabelled"), a.open_to_learn(store) as mail:
        from deciban.mail.filter import check_label

        check_label(to)
        labels = {digest: mail.store.find_label(digest) for digest in _read_digests(paths)}
        moved = [digest for digest, label in labels.items() if label not in (None, to)]
        unknown = sum(label is None for label in labels.values())
        if unknown == len(labels):
            raise ForgetError(
                f"never learned, so not relabelled: {format_count(unknown, 'message')}. "
                f"Hint: deciban mail learn --label {to}=PATH"
            )
        with mail.store.write_transaction():
            for digest in moved:
                mail.store.relabel(digest, to)
        if not json:
            others = {"there already": len(labels) - len(moved) - unknown, "not known, left out": unknown}
            print_stderr(a.format_counts({f"moved to {to}": len(moved)}, others))
        maintain_and_report(mail, store, no_fit, json, moved=len(moved), unknown=unknown)


def _read_digests(paths: Sequence[str]) -> list[bytes]:
    """Return the digests of all messages; an unreadable message is an error before anything is changed."""
    from deciban.mail.message.message import compute_digest

    return [compute_digest(raw) for _, raw in a.read_messages(paths, "-")]


def _report(learned: dict[str, Any], seconds: float) -> None:
    """Report what was learned and, on a terminal, how quickly."""
    for name, (new, known, moved) in learned.items():
        others = {"known already": known, "moved here from another label": moved}
        print_stderr(f"{name}: {a.format_counts({'new': new}, others)}")
    if sys.stderr.isatty():
        n = sum(sum(counts) for counts in learned.values())
        rate = format_thousands(n / max(seconds, 1e-3))
        print_stderr(f"{format_count(n, 'message')} in {seconds:.1f} s, {rate} a second")


def maintain_and_report(mail: MailFilter, store: str | None, no_fit: bool, json: bool, **figures: Any) -> None:
    """Do the maintenance that is due after a change and report it, or print it with all figures as JSON."""
    done = run_maintenance(mail, store, no_fit, quiet=json)
    if json:
        print_json({"store": str(mail.store.path), **figures, **done})


def run_maintenance(mail: MailFilter, store: str | None, no_fit: bool, quiet: bool = False) -> dict[str, Any]:
    """Tidy the store and refit its model where that is due; report it unless `quiet`, and return it as figures."""
    from deciban.mail.filter import RefitResult

    tidied = mail.store.tidy().unlearned if mail.store.is_tidy_due() else 0
    fitted, due = RefitResult.NOT_DUE, mail.is_fit_due()
    if due and not no_fit:
        with show_spinner("fitting the weights of tokens …"):
            fitted = mail.refit()
    messages = {name: n for name, (n, _) in mail.store.totals().items() if n}
    if not quiet:
        if tidied:
            print_stderr(f"tidied: {format_count(tidied, 'message')} unlearned, the oldest, to keep the size limit")
        if fitted:
            print_stderr(f"{mail.model}: refitted on {format_count(sum(messages.values()), 'message')}")
        elif due and no_fit:
            command = "deciban mail fit" + (f" --store {shlex.quote(store)}" if store else "")
            print_stderr(f"{mail.model}: a refit is due; run {command}")
        elif fitted is RefitResult.INSEPARABLE:
            print_stderr(format_inseparable(mail.model, messages))
        print_stderr(f"{a.store_path(store)}: {a.format_counts(messages)}")
    return {"tidied": tidied, "fitted": bool(fitted), "messages": messages}


def format_inseparable(model: str, messages: dict[str, int]) -> str:
    """Return the message for labels that the words of their messages do not separate."""
    held = a.format_counts(messages, separator=" and ")
    return (
        f"{model}: nothing fitted to {held}: the words of these messages do not separate the labels. "
        "Hint: is each message learned under its right label? (deciban mail relabel)"
    )
