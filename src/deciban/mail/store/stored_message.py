"""What is learned of a message, and what came of learning it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from deciban.errors import InputError
from deciban.mail.store.ageing import check_time

DIGEST_BYTES: Final = 16
"""Of a message's digest."""


class Entry(NamedTuple):
    """A message as the store knows it: who it is, what it is, what it says, and when (None: now)."""

    digest: bytes
    label: str
    tokens: Sequence[str]
    time: float | None = None


class LearnCounts(NamedTuple):
    """How many messages were new, were known already, and were known under another label."""

    new: int
    known: int
    moved: int


def together(several: Iterable[LearnCounts]) -> LearnCounts:
    """What came of several."""
    return LearnCounts(*map(sum, zip(*several))) if (several := list(several)) else LearnCounts(0, 0, 0)


def checked(batch: Iterable[Entry]) -> list[Entry]:
    """The entries, each with its time, if all of them can be learned."""
    return [_checked(Entry(*entry)) for entry in batch]


def _checked(entry: Entry) -> Entry:
    check_digest(entry.digest)
    if not isinstance(entry.label, str):
        raise InputError(f"label {entry.label!r}: a label must be a str")
    if isinstance(entry.tokens, (str, bytes)):
        raise InputError(
            f"tokens {entry.tokens[:20]!r}: a list of str is needed, not one text. Hint: extract_tokens(message)"
        )
    return entry._replace(tokens=replace_surrogates(entry.tokens), time=check_time(entry.time))


def check_digest(digest: bytes) -> bytes:
    """A digest that can be one."""
    if not isinstance(digest, bytes) or len(digest) != DIGEST_BYTES:
        raise InputError(f"digest {digest!r}: {DIGEST_BYTES} bytes are needed. Hint: compute_digest(raw)")
    return digest


def replace_surrogates(tokens: Sequence[str]) -> Sequence[str]:
    """The tokens as a database can keep them: halves of surrogate pairs, which are no characters, become "?"."""
    try:
        "".join(tokens).encode()
    except UnicodeEncodeError:
        return [token.encode("utf-8", "replace").decode() for token in tokens]
    except TypeError:
        odd = next(token for token in tokens if not isinstance(token, str))
        raise InputError(f"token {odd!r}: every token must be a str") from None
    return tokens
