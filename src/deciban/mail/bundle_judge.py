"""Many messages judged together, by what a store holds at one moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from deciban.mail.bulk import Bundle, Words
from deciban.mail.judging import Judge, told, unheard_of
from deciban.mail.models import Weighed, combined_or_added
from deciban.mail.numbering import newest
from deciban.mail.packing import Numbers
from deciban.mail.verdict import Verdict
from deciban.mail.weighing import strength

MANY, MOST_LOADED = 50, 1_000_000
"""For so many messages all tokens of a store are loaded, if they are not more than that: some 200 MB."""


class BundleJudge:
    """Verdicts on bundles of messages, each by the store as it was at one moment.

    Once all tokens are loaded, what is learned meanwhile does not count; before, it counts from the next bundle on.
    """

    def __init__(self, judge: Judge, words: Words) -> None:
        self._judge, self._words, self._times = judge, words, words.times
        self._begin()

    def _begin(self) -> None:
        with self._judge.reading():
            self._moment, self._version = self._judge.moment(), self._judge.version()
        self._forget_words()

    def _forget_words(self) -> None:
        self._times = self._words.times
        self._spelled: list[str] = []
        self._rows = np.empty(0, dtype=np.int64)

    def verdicts(self, bundle: Bundle, clues: int) -> Iterator[Verdict]:
        """What each of its messages is."""
        with self._judge.reading():
            self._look_up(len(bundle.sizes))
        moment = self._moment
        if len(moment.learned.labels) < 2:
            for i in range(len(bundle.sizes)):
                yield unheard_of(moment.learned, moment.model, bundle.cut.get(i, ()))
            return
        rows = self._rows[bundle.which]
        known = rows >= 0
        message = np.repeat(np.arange(len(bundle.sizes)), bundle.sizes)[known]
        rows, places = rows[known], bundle.which[known]
        n = np.bincount(message, minlength=len(bundle.sizes))
        trust = moment.trust
        z = strength(n, trust.usual, trust.power)
        pieces = moment.said[rows] * z[message, None]
        counts = moment.counts[rows]
        bias, end = np.array(trust.bias), 0
        for i, size in enumerate(n.tolist()):
            begin, end = end, end + size
            mine = slice(begin, end)
            tokens = _Spelled(self._spelled, places[mine])
            found = Weighed(bias, pieces[mine])
            if moment.model == "fisher":
                found = combined_or_added("fisher", counts[mine], moment.totals, trust, pieces[mine])
            yield told(
                found, tokens, counts[mine], moment.learned, moment.model, moment.thresholds,
                bundle.cut.get(i, ()), clues,
            )  # fmt: skip

    def _look_up(self, messages: int) -> None:
        """Find those words that came since, for so many messages."""
        anew = self._times != self._words.times
        if not self._moment.is_loaded and (anew or self._version != self._judge.version()):
            self._begin()  # words that come later would have counts of another moment, or of too many messages
        elif anew:
            self._forget_words()
        if messages >= MANY and not self._moment.is_loaded:
            self._moment.load(MOST_LOADED)
            self._forget_words()  # what was met before stands elsewhere now
        new = newest(self._words, len(self._words) - len(self._spelled))
        if new:
            self._moment.look_up(new)
            self._spelled += new
            self._rows = np.concatenate([self._rows, self._moment.rows(new)])


class _Spelled(Sequence[str]):
    """Words by their places: only those that are told are looked at."""

    def __init__(self, words: list[str], places: Numbers) -> None:
        self._words, self._places = words, places

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, i: Any) -> Any:
        return self._words[self._places[i]]
