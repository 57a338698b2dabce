"""`deciban mail classify`: what messages are."""

from __future__ import annotations

from typing import Annotated

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import manners
from deciban.cli.exit_codes import NO_VERDICT
from deciban.cli.mail import mail_options as o
from deciban.cli.mail.classify_many import judge_all
from deciban.cli.mail.classify_one import CLUES, judge

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
    if paths:
        judge_all(paths, store, model, top, subfolders, trashed, json, debug)
        return
    with manners(debug, NO_VERDICT, "nothing was changed"):
        raise typer.Exit(judge(store, model, top, json, debug))
