"""Exit codes: how a program tells another what came of it.

Of all commands: 0 done, 1 refused (the data, a file, or what was asked of them), 2 wrong usage, 130 interrupted, 141
if whoever reads our output leaves early (128 + SIGPIPE, as a shell says of other programs).
"""

from __future__ import annotations

from typing import Final

REFUSED: Final = 1
INTERRUPTED: Final = 130
UNREAD: Final = 141

VERDICTS: Final = {"spam": 0, "unsure": 2}
"""Of `mail classify`, as bogofilter has them; that of other labels is `NOT_SPAM`, and of an error `NO_VERDICT`."""

NOT_SPAM: Final = 1
NO_VERDICT: Final = 3

TRY_AGAIN: Final = 75
"""Of `mail filter`: the message was not passed on whole, and is still the mail system's (EX_TEMPFAIL)."""
