"""`deciban mail classify`: what messages are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from deciban.cli import arguments as a
from deciban.cli.codes import NO_VERDICT
from deciban.cli.mail import options as o
from deciban.cli.mail.drawing import Drawn, counting, refuse_absent
from deciban.cli.mail.one import CLUES, as_json, judge
from deciban.cli.mail.opening import judging
from deciban.cli.manners import manners

if TYPE_CHECKING:
    from deciban.mail.verdict import Verdict

EXAMPLE = a.example(
    "deciban mail classify < message.eml",
    "deciban mail classify ~/Maildir --json",
)
Top = Annotated[
    int, typer.Option("--top", metavar="NUMBER", min=0, help="How many clues to name, those that say most.")
]
AsLines = Annotated[bool, typer.Option("--json", help="Give a line of JSON for each message.")]


def command(
    paths: o.Messages = None, store: o.StoreFile = None, model: o.Model = None, top: Top = CLUES,
    subfolders: o.Subfolders = False, trashed: o.Trashed = False, json: AsLines = False, debug: a.Debug = False,
) -> None:  # fmt: skip
    """Say what messages are: the one on standard input, or all of the PATHs, a line each.

    Exit codes for one on standard input: 0 spam, 1 ham (or any other label), 2 unsure, 3 error. For PATHs: 0 done, 3
    error.
    """
    with manners(debug, NO_VERDICT, "nothing was changed"):
        if not paths:
            raise typer.Exit(judge(store, model, top, json, debug))
        refuse_absent(paths)
        with judging(store, model) as mail, counting("classifying") as tick:
            drawn = Drawn(paths, tick, subfolders, trashed)
            for name, verdict in mail.classify_all(drawn, clues=top):
                print(as_json(name, verdict) if json else as_line(name, verdict))
        drawn.end()


def as_line(name: str, verdict: Verdict) -> str:
    """A verdict in columns; the name stands last, as it may be long."""
    from deciban.cli.sheet import one_line

    return f"{verdict.label:<8} {verdict.probability:.4f} {verdict.decibans:+8.1f} dB  {one_line(name)}"
