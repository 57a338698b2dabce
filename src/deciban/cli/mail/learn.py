"""`deciban mail learn`: what is ham, what is spam, and what is anything else."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from deciban.cli import options as a
from deciban.cli.mail import mail_options as o
from deciban.cli.mail.label_paths import by_label, spread
from deciban.cli.mail.learn_messages import learn

EXAMPLE = a.example(
    "deciban mail learn --ham ~/Maildir --spam ~/Maildir/.Junk",
    "deciban mail learn --ham kept.mbox letters/*.eml --spam junk.mbox.gz",
)
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
LabelledPaths = Annotated[
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


def command(
    ham: Ham = None, spam: Spam = None, label: LabelledPaths = None, store: o.StoreFile = None,
    subfolders: o.Subfolders = False, trashed: o.Trashed = False, no_fit: o.NoFit = False, json: a.AsJson = False,
    debug: a.Debug = False,
) -> None:  # fmt: skip
    """Learn messages by what they are; one that is known is not learned twice, and one that was something else moves.

    Then words' trusts are fitted anew, if so much was learned that it is due.
    """
    try:
        asked = by_label(ham, spam, label)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    learn(asked, store, subfolders, trashed, no_fit, json, debug)
