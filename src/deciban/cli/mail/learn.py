"""`deciban mail learn`: what is ham, what is spam, and what is anything else."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from deciban.cli import arguments as a
from deciban.cli.mail import options as o
from deciban.cli.mail.drawing import Drawn, counting, refuse_absent
from deciban.cli.mail.opening import learning, store_path
from deciban.cli.manners import manners
from deciban.spelling import spaced

if TYPE_CHECKING:
    from deciban.mail.filter import MailFilter

EXAMPLE = a.example(
    "deciban mail learn --ham ~/Maildir --spam ~/Maildir/.Junk",
    "deciban mail learn --ham kept.mbox letters/*.eml --spam junk.mbox.gz",
)
NAMED = ("--ham", "--spam", "--label")
"""Options that take several paths after them."""

Ham = Annotated[
    list[str] | None,
    typer.Option(
        "--ham", metavar="PATH...", help=f"Mail that is wanted. Each path {o.PATHS}; -: standard input.",
        show_default=False,
    ),
]  # fmt: skip
Spam = Annotated[
    list[str] | None, typer.Option("--spam", metavar="PATH...", help="Mail that is not wanted.", show_default=False)
]
Labelled = Annotated[
    list[str] | None,
    typer.Option(
        "--label", metavar="NAME=PATH...", help="Mail of another kind, such as work=PATH. May be repeated.",
        show_default=False,
    ),
]  # fmt: skip


class Spread(TyperCommand):
    """Takes several paths after an option, as shells make of a pattern."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """What there is after the command."""
        return super().parse_args(ctx, spread(args))


SPOKEN = Spread


def spread(args: Sequence[str]) -> list[str]:
    """An option before each path; of a label, the name too.

    >>> spread(["--ham", "a", "b", "--label", "work=c", "d", "--json"])
    ['--ham', 'a', '--ham', 'b', '--label', 'work=c', '--label', 'work=d', '--json']
    """
    made: list[str] = []
    option, name, first = "", "", False
    for argument in args:
        if argument.startswith("-") and argument != "-":
            option, equals, value = argument.partition("=")
            option = option if option in NAMED else ""
            name, first = (f"{value.partition('=')[0]}=" if equals and option == "--label" else ""), not equals
        elif option and first:
            name, first = f"{argument.partition('=')[0]}=" if option == "--label" else "", False
        elif option:
            made.append(option)
            argument = name + argument
        made.append(argument)
    return made


def by_label(ham: list[str] | None, spam: list[str] | None, labelled: list[str] | None) -> dict[str, list[str]]:
    """The paths of each label."""
    asked = {"ham": list(ham or ()), "spam": list(spam or ())}
    for pair in labelled or ():
        name, equals, path = pair.partition("=")
        if not equals or not name or not path:
            raise typer.BadParameter(f"{pair!r} is not NAME=PATH, as in --label work=~/Maildir/.Work")
        asked.setdefault(name, []).append(path)
    asked = {name: paths for name, paths in asked.items() if paths}
    if not asked:
        raise typer.BadParameter("nothing to learn from: --ham PATH, --spam PATH or --label NAME=PATH is wanted")
    return asked


def command(
    ham: Ham = None, spam: Spam = None, label: Labelled = None, store: o.StoreFile = None,
    subfolders: o.Subfolders = False, trashed: o.Trashed = False, no_fit: o.NoFit = False, json: a.AsJson = False,
    debug: a.Debug = False,
) -> None:  # fmt: skip
    """Learn messages by what they are; one that is known is not learned twice, and one that was something else moves.

    Then words' trusts are fitted anew, if so much was learned that it is due.
    """
    with manners(debug, interrupted=o.KEPT):
        from deciban.mail.entry import Learned

        asked = by_label(ham, spam, label)
        refuse_absent([path for paths in asked.values() for path in paths])
        with learning(store, create=True) as mail:
            begun = perf_counter()
            with counting("learning") as tick:
                drawn = {name: Drawn(paths, tick, subfolders, trashed) for name, paths in asked.items()}
                came = mail.learn_each((name, found) for name, some in drawn.items() for found in some)
            learned = {name: came.get(name, Learned(0, 0, 0)) for name in asked}
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
            typer.echo(f"{name}: {', '.join(filter(None, parts))}", err=True)
        if sys.stderr.isatty():
            n = sum(sum(counts) for counts in learned.values())
            typer.echo(
                f"{spaced(n)} messages in {seconds:.1f} s, {spaced(n / max(seconds, 1e-3))} a second", err=True
            )
    done = settle(mail, store, no_fit, json)
    if json:
        from deciban.cli.output import print_json

        print_json({
            "store": str(mail.store.path), "learned": {name: counts._asdict() for name, counts in learned.items()},
            "seconds": seconds, **done,
        })  # fmt: skip


def settle(mail: MailFilter, store: str | None, no_fit: bool, quiet: bool = False) -> dict[str, Any]:
    """Tidy and fit anew where that is due; what was done. `store` is how the user named it."""
    from deciban.cli.manners import status

    tidied = mail.store.tidy().unlearned if mail.store.status().tidy_due else 0
    fitted, due = False, mail.is_fit_due()
    if due and not no_fit:
        with status("fitting how far words are trusted …"):
            fitted = mail.refit()
    messages = {name: n for name, (n, _) in mail.store.totals().items() if n}
    if not quiet:
        if tidied:
            typer.echo(f"tidied: the {spaced(tidied)} oldest messages were unlearned, to keep the bound", err=True)
        if fitted:
            typer.echo(f"{mail.model}: fitted anew to {spaced(sum(messages.values()))} messages", err=True)
        elif due:
            typer.echo(f"{mail.model}: to be fitted anew, by {again('fit', store)}", err=True)
        held = ", ".join(f"{spaced(n)} {name}" for name, n in messages.items()) or "nothing"
        typer.echo(f"{store_path(store)}: {held}", err=True)
    return {"tidied": tidied, "fitted": fitted, "messages": messages}


def again(command: str, store: str | None) -> str:
    """A command for the same store, to copy."""
    return f"deciban mail {command}" + (f" --store {shlex.quote(store)}" if store else "")
