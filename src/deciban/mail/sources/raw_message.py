"""What a source of mail gives: messages as they lie there, and word of what it could not give."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

from deciban.errors import DecibanWarning


@dataclass(frozen=True, slots=True)
class RawMessage:
    """A message as it was found: its bytes, untouched by any reading.

    `name` says where it lies ("box.mbox:17", "Maildir/cur/123:2,S", "imaps://user@host/Junk;uid=5"), `time` when it
    came there as far as its source knows (seconds since 1970), and `flags` what its reader did to it, in Maildir's
    letters (S seen, R replied, F flagged, T trashed, D draft, P passed).

    >>> RawMessage("cur/1:2,S", b"Subject: hello", flags="S").flags
    'S'
    """

    name: str
    raw: bytes
    time: float | None = None
    flags: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that a source had to leave out while it went on with the rest."""

    name: str
    reason: str
    messages: int = 1

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


ProblemHandler = Callable[[Problem], None]
"""Who is told of what was left out."""


@dataclass(frozen=True, slots=True)
class UnreadFile:
    """A small file that nobody has opened yet, for one who reads many: it may be opened by another process.

    Its name, what its folder tells of it (see `folders.Entry`), its size, whether messages in it count that are
    marked as trashed, and who is told of what cannot be read.
    """

    name: str
    flags: str
    time: float | None
    alone: bool
    size: int
    trashed: bool
    problems: ProblemHandler


MessageInput = tuple[str, bytes] | RawMessage | UnreadFile
"""A message with its name, or as it was found: then it is learned as of when it came; or where it lies."""


def name_and_content(given: MessageInput) -> tuple[str, bytes | UnreadFile]:
    """Its name, and its bytes, or where they are."""
    if isinstance(given, UnreadFile):
        return given.name, given
    return (given.name, given.raw) if isinstance(given, RawMessage) else given


def warn_of_problem(problem: Problem) -> None:
    """ProblemHandler as warnings, for callers who did not say whom to tell."""
    warnings.warn(str(problem), DecibanWarning, stacklevel=2)


def max_read_bytes() -> int:
    """So many bytes of a message are read: one more than is looked at, so that its reader knows it was cut."""
    from deciban.mail.message.message import MAX_MESSAGE_BYTES

    return MAX_MESSAGE_BYTES + 1


def report_trashed(name: str, messages: int, problems: ProblemHandler) -> None:
    """Says how many messages were passed over because their reader had thrown them away."""
    if messages:
        those = "message that is" if messages == 1 else "messages that are"
        problems(Problem(name, f"{messages} {those} marked as trashed: left out", messages))
