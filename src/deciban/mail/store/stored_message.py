"""StoredMessage: a message as a store holds it; and the counts of messages that were learned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from deciban.errors import InputError
from deciban.mail.store.ageing import check_time

DIGEST_BYTES: Final = 16
"""Length of a message's digest."""


class StoredMessage(NamedTuple):
    """The digest that identifies a message, its label, its tokens, and its time (None: now)."""

    digest: bytes
    label: str
    tokens: Sequence[str]
    time: float | None = None


class LearnCounts(NamedTuple):
    """The numbers of messages that were new, were known already, and were known under another label."""

    new: int
    known: int
    moved: int


def add_counts(counts: Iterable[LearnCounts]) -> LearnCounts:
    """Add up the counts of several batches or labels."""
    return LearnCounts(*(sum(column) for column in zip((0, 0, 0), *counts)))


def check_message(message: StoredMessage) -> StoredMessage:
    """Return a message with its time, if it can be learned."""
    check_digest(message.digest)
    if not isinstance(message.label, str):
        raise InputError(f"label {message.label!r}: a label must be a str")
    if isinstance(message.tokens, (str, bytes)):
        raise InputError(
            f"tokens {message.tokens[:20]!r}: a list of str is needed, not one text. Hint: extract_tokens(message)"
        )
    return message._replace(tokens=replace_surrogates(message.tokens), time=check_time(message.time))


def check_digest(digest: bytes) -> bytes:
    """Return a digest, if it has the right length."""
    if not isinstance(digest, bytes) or len(digest) != DIGEST_BYTES:
        raise InputError(f"digest {digest!r}: {DIGEST_BYTES} bytes are needed. Hint: compute_digest(raw)")
    return digest


def replace_surrogates(tokens: Sequence[str]) -> Sequence[str]:
    """Replace halves of surrogate pairs, which are no characters and cannot be stored, by "?"."""
    try:
        "".join(tokens).encode()
    except UnicodeEncodeError:
        return [token.encode("utf-8", "replace").decode() for token in tokens]
    except TypeError:
        wrong = next(token for token in tokens if not isinstance(token, str))
        raise InputError(f"token {wrong!r}: every token must be a str") from None
    return tokens
