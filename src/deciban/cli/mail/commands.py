"""The group of commands for mail."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from deciban.cli.exit_codes import NO_VERDICT
from deciban.cli.lazy_commands import LazyCommand, group

COMMANDS = {
    "learn": LazyCommand("Learn what is ham and what is spam.", "deciban.cli.mail.learn"),
    "classify": LazyCommand("Say what messages are.", "deciban.cli.mail.classify"),
    "filter": LazyCommand("Write what a message is into its header.", "deciban.cli.mail.filter"),
    "explain": LazyCommand("Say why a message is taken for what it is.", "deciban.cli.mail.explain"),
    "unlearn": LazyCommand("Forget messages.", "deciban.cli.mail.unlearn", "unlearn", "UNLEARN"),
    "relabel": LazyCommand("Say that messages are something else.", "deciban.cli.mail.unlearn", "relabel", "RELABEL"),
    "evaluate": LazyCommand("Measure how good a filter is on mail you know.", "deciban.cli.mail.evaluate"),
    "status": LazyCommand("Show what was learned, and whether it is enough.", "deciban.cli.mail.status"),
    "set": LazyCommand("Choose a model, thresholds, ageing, a bound.", "deciban.cli.mail.settings"),
    "fit": LazyCommand("Fit anew how far words are to be trusted.", "deciban.cli.mail.maintenance", "fit", "FIT"),
    "tidy": LazyCommand("Keep a store within its bound.", "deciban.cli.mail.maintenance", "tidy", "TIDY"),
    "check": LazyCommand("See whether a store is as it should be.", "deciban.cli.mail.maintenance", "check", "CHECK"),
    "backup": LazyCommand("Copy a store, whoever learns meanwhile.", "deciban.cli.mail.exchange", "backup", "BACKUP"),
    "merge": LazyCommand("Learn what another store has learned.", "deciban.cli.mail.exchange", "merge", "MERGE"),
    "export": LazyCommand("Write a store as text.", "deciban.cli.mail.exchange", "export", "EXPORT"),
    "import": LazyCommand("Learn from a store's text.", "deciban.cli.mail.exchange", "take_in", "IMPORT"),
    "watch": LazyCommand("Learn from what is moved to Junk and back.", "deciban.cli.mail.watch"),
    "serve": LazyCommand("Answer spamc, in the place of SpamAssassin.", "deciban.cli.mail.serve"),
}
"""What there is, and what `deciban mail --help` says of it."""

WRONG_USAGE: Any = typer.BadParameter.__base__
"""What typer raises where a command is not called as it is to be."""


class Careful(TyperGroup):
    """Lets wrong usage be no verdict, and no reason to lose a message."""

    def invoke(self, ctx: Any) -> Any:
        """Call a command."""
        try:
            return super().invoke(ctx)
        except WRONG_USAGE as error:
            if ctx.invoked_subcommand == "classify":
                error.exit_code = NO_VERDICT
            elif ctx.invoked_subcommand == "filter":
                from deciban.cli.mail.filter_message import pass_on

                pass_on(error.format_message())
                raise typer.Exit from None
            raise


app = typer.Typer(
    name="mail",
    cls=group(COMMANDS, Careful),
    help="Tell spam from ham, by what you call so: a filter that learns from your own mailbox.",
    short_help="Tell spam from ham, by what you call so.",
    epilog="\b\nExample:\n  deciban mail learn --ham ~/Maildir --spam ~/Maildir/.Junk",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def mail() -> None:
    """Tell spam from ham, by what you call so: a filter that learns from your own mailbox."""
