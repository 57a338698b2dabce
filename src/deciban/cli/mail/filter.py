"""`deciban mail filter`: what a message is, written into its header."""

from __future__ import annotations

from deciban.cli import options as a
from deciban.cli.mail import mail_options as o
from deciban.cli.mail.filter_message import pass_judged

EXAMPLE = a.example("deciban mail filter < message.eml > judged.eml")


def command(store: o.StoreFile = None, model: o.Model = None, debug: a.Debug = False) -> None:
    """Pass a message from standard input to standard output, with the header X-Deciban in place of any that came.

    On any error (no store, a full disk, a signal) the message passes as it came, and the exit code is 0.
    """
    pass_judged(store, model, debug)
