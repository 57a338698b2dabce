"""Tokens of headers: who writes to whom, by which machines and programs, about what; which headers tell nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from deciban.mail.message.digest import CHANGING
from deciban.mail.message.links import MAIL
from deciban.mail.message.received import hop_tokens
from deciban.mail.tokens.header_tokenizers import LONGEST_ADDRESSES, TAKERS, Taker, mailing_list, nothing, other
from deciban.mail.tokens.token_options import TokenOptions

MOST_NAMES = 1000
LONGEST_NAME = 40
MOST_VALUES = 4096
"""Values of headers that are remembered with their tokens."""

READ_ANYHOW = ("received", "authentication-results", "received-spf")
COLLECTED = (
    "x-original-date url x-url x-apparently-to x-egroups-return x-delivery-agent x-return-path x-rcpt-to x-recipient "
    "apparently-to x-mail-from resent-date x-pop3-rcpt replied forwarded x-gnus-mail-source x-from-line "
    "x-mail-format-warning x-mime-autoconverted x-antiabuse"
)
"""Headers that say how or when the mail was gathered: they would tell collections apart, not spam from ham.

What stores, machines and filters write, which does not count in a digest either, is left out too.
"""
NAMES = f"{' '.join(CHANGING.values())} {COLLECTED}".split()
LEFT_OUT = frozenset(name for name in NAMES if name[-1] != "*" and name not in READ_ANYHOW)
LEFT_OUT_STARTS = tuple(name[:-1] for name in NAMES if name[-1] == "*")
LISTS = re.compile(
    "list-.*|mailing-list|precedence|x-mailing-list|x-beenthere|x-mailman-version|x-loop|errors-to|x-list.*|"
    "mail-followup-to|x-unsubscription-info|x-ml-.*|feedback-id|x-campaign.*|x-precedence-ref|x-acceptable-languages"
)
LIST_VALUES = frozenset(
    ["list-id", "mailing-list", "precedence", "x-mailing-list", "x-beenthere", "x-loop", "errors-to"]
)
EACH_ITS_OWN = frozenset(["subject", "message-id", "date", "dkim-signature"])
"""Headers whose values hardly ever come again."""
EXPECTED = ("from", "to", "subject", "date", "message-id")


def header_tokens(headers: Sequence[tuple[str, str]], reading: TokenOptions) -> list[str]:
    """The tokens of all headers, in their order; one may come more than once."""
    tokens: list[str] = []
    hops: list[str] = []
    takers = _takers(reading)
    for name, value in headers:
        if name == "received":
            hops.append(value)
            continue
        taker = takers[name]
        if taker is not None:
            tokens += taker(name, value)
    if reading.received and hops:
        tokens += hop_tokens(hops)
    given = dict(reversed(headers))
    if reading.names:
        tokens += [f"no:{name}" for name in EXPECTED if name not in given]
    if reading.sender and "reply-to" in given:
        tokens += _reply_tokens(given["reply-to"], given.get("from", ""))
    return tokens


Ready = Callable[[str, str], list[str]]
"""From the name and the value of a header to its tokens, in one way of reading."""


class Takers(dict[str, Ready | None]):
    """For each name of a header what takes tokens of it; None for those that are left out."""

    def __init__(self, reading: TokenOptions) -> None:
        super().__init__()
        self.reading = reading
        self._remembering = lru_cache(MOST_VALUES)(self._taken)

    def _taken(self, name: str, value: str) -> list[str]:
        """The tokens of one header."""
        taker = self._taker(name)
        assert taker is not None
        tokens = taker(name, value, self.reading)
        return [f"header:{name}", *tokens] if self.reading.names else tokens

    def __missing__(self, name: str) -> Ready | None:
        if len(name) > LONGEST_NAME:
            return None
        if len(self) > MOST_NAMES:
            self.clear()
        taken = self._taken if name in EACH_ITS_OWN else self._remembering
        self[name] = ready = None if self._taker(name) is None else taken
        return ready

    def _taker(self, name: str) -> Taker | None:
        if name == "sender" and not self.reading.lists:
            return None  # lists write it, hardly anybody else
        if name in TAKERS:
            return TAKERS[name]
        if name in LEFT_OUT or name.startswith(LEFT_OUT_STARTS):
            return None
        if LISTS.fullmatch(name):
            return (mailing_list if name in LIST_VALUES else nothing) if self.reading.lists else None
        return other if self.reading.others else nothing


@lru_cache(8)
def _takers(reading: TokenOptions) -> Takers:
    return Takers(reading)


def _reply_tokens(answer: str, writer: str) -> list[str]:
    """Whether answers go to the sender, to another at the same host, or elsewhere."""
    one, other = MAIL.search(answer[:LONGEST_ADDRESSES].lower()), MAIL.search(writer[:LONGEST_ADDRESSES].lower())
    if not one or not other:
        return []
    return ["reply:same" if one[0] == other[0] else "reply:host" if one[2] == other[2] else "reply:other"]
