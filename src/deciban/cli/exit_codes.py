"""Exit codes.

All commands exit with 0 for success, 1 for an error (in the data, a file, or the request), 2 for wrong usage, 130 if
interrupted, and 141 if the reader of the output is gone (128 + SIGPIPE, as in shells).
"""

from __future__ import annotations

from typing import Final

REFUSED: Final = 1
WRONG_USAGE: Final = 2
INTERRUPTED: Final = 130
UNREAD: Final = 141

VERDICTS: Final = {"spam": 0, "unsure": 2}
"""The exit codes of `mail classify`, as in bogofilter; other labels have `NOT_SPAM`, and errors `NO_VERDICT`."""

NOT_SPAM: Final = 1
NO_VERDICT: Final = 3

TRY_AGAIN: Final = 75
"""The exit code of `mail filter` if the message was not passed on: the mail system keeps it (EX_TEMPFAIL)."""
