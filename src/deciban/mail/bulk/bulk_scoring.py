"""Many messages judged together, by what a store holds at one moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from deciban.mail.bulk.read_batches import TokenBatch
from deciban.mail.model.scoring import Scorer
from deciban.mail.model.verdict import Verdict
from deciban.mail.store.packing import Numbers

MANY, MOST_LOADED = 50, 1_000_000
"""For so many messages all tokens of a store are loaded, if they are not more than that: some 200 MB."""

MOST_WORDS: Final = 1 << 20
"""Where they are more: different tokens of messages that are remembered; then all are forgotten."""


class BatchClassifier:
    """Verdicts on bundles of messages, each by the store as it was at one moment.

    It says where words stand (`Places`), and judges the bundle that is made of that before it is asked for others.
    Once all tokens are loaded, what is learned meanwhile does not count; before, it counts from the next bundle on.
    """

    def __init__(self, judge: Scorer) -> None:
        self._judge, self.times = judge, 0
        self._begin()

    def _begin(self) -> None:
        with self._judge.reading():
            self._moment, self._version = self._judge.moment(), self._judge.version()
        self.times += 1
        self._is_full = False

    def prepare(self) -> None:
        """Many messages will come: load all tokens."""
        if self._moment.is_loaded:
            return
        with self._judge.reading():
            self._renew()
            self._moment.load(MOST_LOADED)
        self.times += self._moment.is_loaded  # what was met before stands elsewhere now

    def places(self, words: Sequence[str], messages: int) -> Numbers:
        """The rows of words that so many messages have, -1 where nobody met them."""
        with self._judge.reading():
            self._renew()
            if messages >= MANY:
                self.prepare()
            self._moment.look_up(words)
        return self._moment.rows(words)

    def _renew(self) -> None:
        """Begin anew if words that come now had counts of another moment, or there are too many."""
        if not self._moment.is_loaded and (self._is_full or self._version != self._judge.version()):
            self._begin()

    def verdicts(self, bundle: TokenBatch, clues: int) -> Iterator[Verdict]:
        """What each of its messages is."""
        self._is_full = len(self._moment) > MOST_WORDS  # not sooner: a bundle may have more by itself
        return self._moment.verdicts(bundle.which, bundle.sizes, bundle.cut, clues)
