"""Messages as a source of mail gives them: read or still in their files; and the problems that a source reports."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass

from deciban.errors import DecibanWarning


@dataclass(frozen=True, slots=True)
class RawMessage:
    """A message as it was found: its bytes, unchanged.

    `name` is its place ("box.mbox:17", "Maildir/cur/123:2,S", "imaps://user@host/Junk;uid=5"), `time` its arrival as
    far as its source knows (seconds since 1970); `is_trashed` tells whether its reader marked it as trashed.
    """

    name: str
    raw: bytes
    time: float | None = None
    is_trashed: bool = False


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that a source had to omit while it went on with the rest."""

    name: str
    reason: str
    messages: int = 1

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


ProblemHandler = Callable[[Problem], None]
"""A function that receives each problem."""


def warn_of_problem(problem: Problem) -> None:
    """Issue a problem as a warning: the handler of callers that give none."""
    warnings.warn(str(problem), DecibanWarning, stacklevel=2)


@dataclass(frozen=True, slots=True)
class MessageFile:
    """A file of a folder that is not read yet: it may be opened by another process.

    It holds one message or, unless `is_single`, perhaps an mbox. `is_trashed` and `time` are those that the folder
    tells; `size` (in bytes) is known for small files only; `trashed` tells whether trashed messages count.
    """

    path: str
    is_trashed: bool = False
    time: float | None = None
    is_single: bool = True
    size: int = 0
    trashed: bool = False
    problems: ProblemHandler = warn_of_problem

    @property
    def name(self) -> str:
        """The path, which is the name of its message."""
        return self.path

    @property
    def key(self) -> str:
        """The part of a Maildir's file name that stays when flags are set or it moves from `new` to `cur`."""
        return re.split("[:;!,]", os.path.basename(self.path), maxsplit=1)[0]


MessageInput = tuple[str, bytes] | RawMessage | MessageFile
"""A named message, a message as it was found (learned as of its arrival), or a file to read."""


def name_and_content(message: MessageInput) -> tuple[str, bytes | MessageFile]:
    """Return the name of a message, and its bytes or its file."""
    if isinstance(message, MessageFile):
        return message.name, message
    return (message.name, message.raw) if isinstance(message, RawMessage) else message


def max_read_bytes() -> int:
    """Return the number of bytes read of a message: one more than is parsed, so that the parser knows it was cut."""
    from deciban.mail.message.message import MAX_MESSAGE_BYTES

    return MAX_MESSAGE_BYTES + 1


def report_trashed(name: str, messages: int, problems: ProblemHandler) -> None:
    """Report how many messages were omitted because they are marked as trashed."""
    if messages:
        those = "message that is" if messages == 1 else "messages that are"
        problems(Problem(name, f"{messages} {those} marked as trashed: left out", messages))
