"""What is learned, and what is due after it; nothing here knows how options are read."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from deciban.cli.error_handling import manners, say, status
from deciban.cli.mail.message_progress import Drawn, counting, refuse_absent
from deciban.cli.mail.open_store import learning, store_path
from deciban.formatting import spaced

if TYPE_CHECKING:
    from deciban.mail.filter import MailFilter

KEPT: Final = "what was learned before is kept; the same command again completes it"
"""What Ctrl-C leaves of learning."""


def learn(
    asked: Mapping[str, Sequence[str]], store: str | None, subfolders: bool = False, trashed: bool = False,
    no_fit: bool = False, json: bool = False, debug: bool = False,
) -> None:  # fmt: skip
    """Learn the messages of each label's paths, and say what came of it."""
    with manners(debug, interrupted=KEPT):
        from deciban.mail.bulk.reader_processes import ReaderPool
        from deciban.mail.store.store_entry import LearnCounts

        refuse_absent([path for paths in asked.values() for path in paths])
        begun = perf_counter()
        with ExitStack() as opened:
            with counting("learning") as tick:
                drawn = {name: Drawn(paths, tick, subfolders, trashed) for name, paths in asked.items()}
                each = ((name, found) for name, some in drawn.items() for found in some.many())
                crew = opened.enter_context(ReaderPool(each, None))
                mail = opened.enter_context(learning(store, create=True))
                came = mail.learn_each(crew.given, crew)
            learned = {name: came.get(name, LearnCounts(0, 0, 0)) for name in asked}
            tell_learned(mail, store, learned, perf_counter() - begun, no_fit, json)
        for some in drawn.values():
            some.end()


def tell_learned(
    mail: MailFilter, store: str | None, learned: dict[str, Any], seconds: float, no_fit: bool, json: bool
) -> None:
    """What came of it; what is due after learning is done now."""
    if not json:
        for name, (new, known, moved) in learned.items():
            parts = [f"{spaced(new)} new", f"{spaced(known)} known already" if known else ""]
            parts += [f"{spaced(moved)} moved here from another label" if moved else ""]
            say(f"{name}: {', '.join(filter(None, parts))}")
        if sys.stderr.isatty():
            n = sum(sum(counts) for counts in learned.values())
            say(f"{spaced(n)} messages in {seconds:.1f} s, {spaced(n / max(seconds, 1e-3))} a second")
    done = settle(mail, store, no_fit, json)
    if json:
        from deciban.cli.output import print_json

        print_json({
            "store": str(mail.store.path), "learned": {name: counts._asdict() for name, counts in learned.items()},
            "seconds": seconds, **done,
        })  # fmt: skip


def settle(mail: MailFilter, store: str | None, no_fit: bool, quiet: bool = False) -> dict[str, Any]:
    """Tidy and fit anew where that is due; what was done. `store` is how the user named it."""
    from deciban.mail.model.refit import RefitResult

    tidied = mail.store.tidy().unlearned if mail.store.status().tidy_due else 0
    fitted, due = RefitResult.NOT_DUE, mail.is_fit_due()
    if due and not no_fit:
        with status("fitting how far words are trusted …"):
            fitted = mail.refit()
    messages = {name: n for name, (n, _) in mail.store.totals().items() if n}
    if not quiet:
        if tidied:
            say(f"tidied: the {spaced(tidied)} oldest messages were unlearned, to keep the bound")
        if fitted:
            say(f"{mail.model}: fitted anew to {spaced(sum(messages.values()))} messages")
        elif due and no_fit:
            say(f"{mail.model}: to be fitted anew, by {again('fit', store)}")
        elif fitted is RefitResult.INSEPARABLE:
            say(no_difference(mail.model, messages))
        held = ", ".join(f"{spaced(n)} {name}" for name, n in messages.items()) or "nothing"
        say(f"{store_path(store)}: {held}")
    return {"tidied": tidied, "fitted": bool(fitted), "messages": messages}


def no_difference(model: str, messages: dict[str, int]) -> str:
    """Return the message for labels that the words of their messages do not separate."""
    held = " and ".join(f"{spaced(n)} {name}" for name, n in messages.items())
    return (
        f"{model}: nothing fitted to {held}: the words of these messages do not separate the labels. "
        "Hint: is each message learned under its right label? (deciban mail relabel)"
    )


def again(command: str, store: str | None) -> str:
    """A command for the same store, to copy."""
    return f"deciban mail {command}" + (f" --store {shlex.quote(store)}" if store else "")
