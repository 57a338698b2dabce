"""A store for those who ask again and again: what was answered is remembered until anybody changes the store."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from deciban.mail.store import Store

MOST_REMEMBERED: Final = 100_000
"""Words that are remembered of each question; then it begins anew."""


class RememberingStore(Store):
    """The same answers as a store's, most of them without a look at the file. For a connection that does not write.

    Of a message's words, nine in ten were in messages before it: to judge one takes a third of the time.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        self._answers: dict[str, dict[str, tuple[float, ...] | None]] = {}
        self._version = -1

    def _found(self, question: str, tokens: Sequence[str]) -> dict[str, tuple[float, ...]]:
        # Another number than before says that some other connection changed something meanwhile.
        version = self._file.db.execute("PRAGMA data_version").fetchone()[0]
        if version != self._version:
            self._answers.clear()
            self._version = version
        known = self._answers.setdefault(question, {})
        if len(known) > MOST_REMEMBERED:
            known.clear()
        new = [token for token in tokens if token not in known]
        if new:
            found = super()._found(question, new)
            known.update((token, found.get(token)) for token in new)
        return {token: row for token in tokens if (row := known[token]) is not None}
