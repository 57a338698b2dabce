"""All messages of the example mailbox: wanted mail in the inbox, spam in .Junk, and some new messages."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from docs.make_mailbox import ham, spam
from docs.make_mailbox.drafts import Draft, encode_message
from docs.make_mailbox.draw import Draw

SEED, NEW_MESSAGES_SEED = 11, 54
HAM_COUNT, SPAM_COUNT = 212, 158
NEW_MESSAGE_WRITERS = (
    ham.friend, ham.colleague, spam.offer, ham.newsletter, spam.imitation, ham.on_list, spam.borrowed_name,
    ham.stranger, spam.offer, ham.friend,
)  # fmt: skip
"""The functions that write the messages in `new`, in order of arrival."""

DAMAGED_SPAM_FRACTION = 0.08
JUNK = ".Junk"
FIRST_DAY = datetime(2026, 3, 2, 5, 0, tzinfo=UTC)
DAYS = 120


class StoredMessage(NamedTuple):
    """A message in the mailbox."""

    time: datetime
    folder: str
    """Empty for the inbox, or .Junk."""
    is_new: bool
    flags: str
    raw: bytes


def mailbox() -> list[StoredMessage]:
    """Return all messages, the new ones last; every call returns equal messages."""
    draw = Draw(SEED)
    messages = [_deliver(draw, ham.write_ham, "") for _ in range(HAM_COUNT)]
    messages += [_deliver(draw, spam.write_spam, JUNK) for _ in range(SPAM_COUNT)]
    messages.sort(key=lambda message: message.time)
    return [*messages, *_new_messages(Draw(NEW_MESSAGES_SEED))]


def files() -> dict[str, bytes]:
    """Return the messages by their file names in a Maildir, which are those that delivery programs write."""
    return {_file_name(message, number): message.raw for number, message in enumerate(mailbox(), start=1)}


def _file_name(message: StoredMessage, number: int) -> str:
    name = f"{int(message.time.timestamp())}.M{number:03}.home"
    path = f"new/{name}" if message.is_new else f"cur/{name}:2,{message.flags}"
    return f"{message.folder}/{path}" if message.folder else path


def _new_messages(draw: Draw) -> list[StoredMessage]:
    found = []
    for n, write in enumerate(NEW_MESSAGE_WRITERS):
        time = FIRST_DAY + timedelta(days=DAYS, minutes=180 + 7 * n)
        found.append(StoredMessage(time, "", True, "", encode_message(write(draw, time))))
    return found


def _deliver(draw: Draw, write: Callable[[Draw, datetime], Draft], folder: str) -> StoredMessage:
    time = FIRST_DAY + timedelta(days=draw.randint(0, DAYS - 1), seconds=draw.randint(0, 60_000))
    raw = encode_message(write(draw, time))
    if folder and draw.bernoulli(DAMAGED_SPAM_FRACTION):
        raw = spam.damage(draw, raw)
    return StoredMessage(time, folder, False, "RS" if not folder and draw.bernoulli(0.2) else "S", raw)
