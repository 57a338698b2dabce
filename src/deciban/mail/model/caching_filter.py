"""A filter that stands by: what it looked up for one message it knows for the next, until the store is changed."""

from __future__ import annotations

import os
from time import monotonic
from typing import Final

from deciban.mail.filter import CLUES, MailFilter
from deciban.mail.message.message import read_message
from deciban.mail.model.scoring import StoreSnapshot
from deciban.mail.model.verdict import Verdict
from deciban.mail.tokens.tokens import extract_tokens, list_omissions

MOST_KNOWN: Final = 50_000
"""Tokens that are known; then it begins anew."""

LONGEST: Final = 60.0
"""Seconds that anything is known: where messages age, what they weigh is that of now."""


class CachingMailFilter(MailFilter):
    """The verdicts of a filter, for a server that gives one after the other: most tokens of a message came before."""

    def __init__(self, store: str | os.PathLike[str], create: bool = True) -> None:
        super().__init__(store, create=create)
        self._moment: StoreSnapshot | None = None
        self._since = 0.0
        self._version = (-1, -1)

    def classify(self, raw: bytes, clues: int = CLUES) -> Verdict:
        """What a message is, and why."""
        message = read_message(raw)
        tokens = extract_tokens(message, self.reading)
        with self.store.reading():
            moment = self._now()
            moment.look_up(tokens)
        return moment.verdict(tokens, list_omissions(message, tokens), clues)

    def _now(self) -> StoreSnapshot:
        version = self.store.version()
        known = self._moment
        if known is not None and version == self._version and len(known) < MOST_KNOWN and not self._is_old():
            return known
        self._moment, self._version, self._since = self._judge.moment(), version, monotonic()
        return self._moment

    def _is_old(self) -> bool:
        return self.store.ageing.half_life is not None and monotonic() - self._since > LONGEST
