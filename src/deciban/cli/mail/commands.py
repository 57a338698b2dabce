"""The list of mail commands, and the function that runs one of them."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from deciban.cli.command_groups import (
    NO_VERDICT,
    TEMPORARY_FAILURE,
    WRONG_USAGE,
    CommandEntry,
    Group,
    format_examples,
    to_help_option,
)
from deciban.errors import UsageError

COPY_BUFFER_BYTES: Final = 1 << 13
"""Bytes that are copied at a time where there is too little memory for anything else."""

GROUP: Final = Group(
    "deciban mail",
    "Classify mail as spam or ham: a filter that learns from your own mailbox.",
    {
        "setup": CommandEntry("Set a filter up, step by step.", "setup_mail"),
        "learn": CommandEntry("Learn what is ham and what is spam.", "learn_mail"),
        "classify": CommandEntry("Classify messages.", "classify_mail"),
        "filter": CommandEntry("Write the verdict on a message into its header.", "classify_mail", "filter_message"),
        "explain": CommandEntry("Show why a message gets its verdict.", "classify_mail"),
        "unlearn": CommandEntry("Forget messages.", "learn_mail"),
        "relabel": CommandEntry("Change the label of messages that were learned.", "learn_mail"),
        "evaluate": CommandEntry("Measure how good a filter is on labelled mail.", "evaluate_mail"),
        "status": CommandEntry("Show what was learned, and whether it is enough.", "store_commands"),
        "set": CommandEntry("Choose a model, thresholds, ageing, a size limit.", "store_commands", "set_options"),
        "fit": CommandEntry("Refit the weights of tokens.", "store_commands"),
        "tidy": CommandEntry("Keep a store within its size limit.", "store_commands"),
        "check": CommandEntry("Check a store for damage.", "store_commands"),
        "backup": CommandEntry("Copy a store, even while it is in use.", "store_commands"),
        "merge": CommandEntry("Learn the messages of another store.", "store_commands"),
        "export": CommandEntry("Write a store as text.", "store_commands"),
        "import": CommandEntry("Learn the messages of a store's text.", "store_commands", "import_text"),
        "watch": CommandEntry("Learn from what is moved to Junk and back.", "background"),
        "undo": CommandEntry("Move back what watch --move moved to Junk.", "background"),
        "serve": CommandEntry("Answer spamc, in the place of SpamAssassin.", "background"),
    },
    format_examples("deciban mail learn --ham ~/Maildir --spam ~/Maildir/.Junk"),
)
"""The mail commands."""


def run(arguments: Sequence[str]) -> int:
    """Run the command that the arguments name and return its exit code.

    A message must not be lost, and no verdict invented, where memory is too short to load a command: `filter` then
    copies the message with nothing but system calls, and `classify` returns the exit code of an error.
    """
    name, *words = to_help_option(arguments)
    if name in ("", "-h", "--help"):
        print(GROUP.format_help(), file=sys.stdout if name else sys.stderr)
        raise SystemExit(0 if name else WRONG_USAGE)
    is_loaded = False
    try:
        from deciban.cli.mail.mail_inputs import load

        command = load(name, words)
        is_loaded = True
        return command() or 0
    except UsageError as error:
        if name == "filter":  # the message is passed on all the same
            from deciban.cli.mail.classify_mail import pass_unchanged

            pass_unchanged(str(error))
            return 0
        GROUP.print_usage_error(name, error)
        return NO_VERDICT if name == "classify" else WRONG_USAGE
    except BrokenPipeError:
        raise
    except (Exception, KeyboardInterrupt) as error:
        if name == "filter" and not is_loaded:
            return _copy_message()
        if name == "classify" and isinstance(error, Exception):
            with suppress(Exception):  # the exit code is enough where nothing can be printed
                print("error:", ascii(str(error) or type(error).__name__), file=sys.stderr, flush=True)
            return NO_VERDICT
        raise


def _copy_message() -> int:
    """Copy standard input to standard output with system calls only."""
    try:
        while piece := os.read(0, COPY_BUFFER_BYTES):
            while piece:
                piece = piece[os.write(1, piece) :]
    except Exception:
        return TEMPORARY_FAILURE
    return 0
