"""The options that several commands for mail share: one wording each."""

from __future__ import annotations

from typing import Annotated

import typer

StoreFile = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="FILE",
        help="The mail store: unless given DECIBAN_MAIL, or else deciban/mail.db in your data folder.",
        show_default=False,
    ),
]
PATHS = "an mbox (also .gz), a Maildir, an MH folder, a folder of messages, one message, or imaps://user@host/Folder"
Messages = Annotated[
    list[str] | None,
    typer.Argument(metavar="PATH", help=f"Each {PATHS}; - or nothing: standard input.", show_default=False),
]
Subfolders = Annotated[bool, typer.Option("--subfolders", help="Read the folders within a Maildir too.")]
Trashed = Annotated[bool, typer.Option("--trashed", help="Read messages too that are marked as trashed.")]
NoFit = Annotated[
    bool, typer.Option("--no-fit", help="Do not fit anew how far words are trusted, though it may be due.")
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="Who weighs: evidence, bayes, logistic or fisher; unless given, what the store is set to.",
        show_default=False,
    ),
]
