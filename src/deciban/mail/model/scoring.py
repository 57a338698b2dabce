"""Scorer: from the tokens of a message to a verdict, by what a store holds at this moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import repeat

import numpy as np

from deciban._typing import Array
from deciban.mail.model.mail_models import (
    USUAL_MODEL,
    ModelName,
    check_model,
    score_message,
    score_messages,
    token_scores,
)
from deciban.mail.model.store_rows import Tokens
from deciban.mail.model.token_weights import WeightParameters, order_labels
from deciban.mail.model.verdict import Verdict
from deciban.mail.model.verdicts import Known, LabelTotals, VerdictBuilder
from deciban.mail.store.packing import Numbers
from deciban.mail.store.sqlite_errors import FIT_HINT, INVALID_VALUE_ERRORS, invalid_value, report_damage
from deciban.mail.store.store_reader import StoreReader
from deciban.mail.store.store_settings import HAM_AT, SPAM_AT


class Scorer:
    """Weighs tokens by a store's counts and a model's fitted trusts."""

    def __init__(self, store: StoreReader, model: str | None = None) -> None:
        self._store = store
        self.model: ModelName = check_model(model or store.setting("model", USUAL_MODEL))

    @property
    def thresholds(self) -> tuple[float, float]:
        """Up to the first probability a message is ham, from the second it is spam."""
        return self._store.setting("ham_at", HAM_AT), self._store.setting("spam_at", SPAM_AT)

    def verdict(self, tokens: Sequence[str], cut: tuple[str, ...] = (), clues: int = 15) -> Verdict:
        """What a message of these tokens is."""
        with report_damage(self._store.path), self._store.reading():
            moment = StoreSnapshot(self._store, self.model, self.thresholds)
            moment.look_up(tokens)
        return moment.verdict(tokens, cut, clues)

    def reading(self) -> AbstractContextManager[None]:
        """A block in which the store stays as it is."""
        return self._store.reading()

    def version(self) -> tuple[int, int]:
        """Another one than before says that the store was changed meanwhile."""
        return self._store.version()

    def moment(self) -> StoreSnapshot:
        """The store as it is now, for many messages: what was looked up is remembered."""
        with report_damage(self._store.path):
            return StoreSnapshot(self._store, self.model, self.thresholds)


class StoreSnapshot:
    """What a store holds of some tokens; whole while nothing is learned, so made anew when something is."""

    def __init__(self, store: StoreReader, model: ModelName, thresholds: tuple[float, float]) -> None:
        self.model, self.thresholds, self._store = model, thresholds, store
        with store.reading():
            self.changes, self.unit = store.changes(), store.unit()
            self.learned = _learned(store)
            fit = None if model == "fisher" else store.fit_for([], model)
        self.is_fitted = fit is not None and tuple(fit.meta["labels"]) == self.learned.labels
        labels, messages = self.learned.labels, sum(self.learned.messages)
        self.trust = WeightParameters.initial(labels, messages)
        if fit is not None and self.is_fitted:
            try:
                self.trust = WeightParameters.from_dict(fit.meta)
            except INVALID_VALUE_ERRORS as error:
                rule = f"the fit of model {model!r} is invalid ({type(error).__name__}: {error})"
                raise invalid_value(store.path, rule, FIT_HINT) from error
        self.totals = np.array(self.learned.weights) / self.unit
        self._teller = VerdictBuilder(self.learned, model, thresholds)
        self._met: dict[str, int] = {}
        self._words: list[str] = []
        self._looked: set[str] = set()
        self.is_loaded = False
        """Whether all tokens are known that there are."""
        self._counts, self._said = GrowableArray(len(labels)), GrowableArray(len(self.trust.bias))

    @property
    def counts(self) -> Array:
        """Of each token that was met, by label."""
        return self._counts.rows

    @property
    def said(self) -> Array:
        """What each of them says, for each score."""
        return self._said.rows

    def __len__(self) -> int:
        """How many tokens were looked up."""
        return len(self._looked)

    def look_up(self, tokens: Iterable[str]) -> None:
        """Ask the store for those tokens that it was not asked for yet."""
        if self.is_loaded:
            return
        new = [token for token in tokens if token not in self._looked]
        self._looked.update(new)
        if new and len(self.learned.labels) > 1:
            self._meet(self._store.tokens(new, self.model if self.is_fitted else None))

    def load(self, most: int) -> None:
        """Ask for all tokens at once, if the store is as it was and they are not more than so many."""
        if self.is_loaded:
            return
        with self._store.reading():
            if self._store.changes() != self.changes or self._store.n_tokens() > most:
                return
            every = self._store.tokens(None, self.model if self.is_fitted else None)
        self._met, self._words = {}, []
        self._counts, self._said = GrowableArray(len(self.learned.labels)), GrowableArray(len(self.trust.bias))
        self._meet(every)
        self.is_loaded = True

    def _meet(self, found: Tokens) -> None:
        n = len(self._met)
        self._met.update(zip(found.words, range(n, n + len(found.words))))
        self._words += found.words
        counts = found.counts[:, list(self.learned.places)] / self.unit
        own = found.scores if self.is_fitted else np.zeros((len(counts), len(self.trust.bias)))
        self._counts.add(counts)
        self._said.add(token_scores(self.model, counts, self.totals, self.trust, own))

    def rows(self, tokens: Sequence[str]) -> Numbers:
        """Where tokens that were looked up stand among those that were met; -1 where nobody met them."""
        return np.fromiter(map(self._met.get, tokens, repeat(-1)), dtype=np.int64, count=len(tokens))

    def verdict(self, tokens: Sequence[str], cut: tuple[str, ...] = (), clues: int = 15) -> Verdict:
        """What a message of these tokens is; they were looked up before."""
        if len(self.learned.labels) < 2:
            return self._teller.unheard_of(cut)
        rows = self.rows(tokens)
        rows = rows[rows >= 0]
        found = score_message(self.model, self.counts[rows], self.totals, self.trust, self.said[rows])
        return next(self._teller.told(found, self._known(rows), {0: cut}, clues))

    def verdicts(
        self, rows: Numbers, sizes: Numbers, cut: Mapping[int, tuple[str, ...]], clues: int
    ) -> Iterator[Verdict]:
        """What each of many messages is, the first of which has the first sizes[0] of these rows."""
        if len(self.learned.labels) < 2:
            return (self._teller.unheard_of(cut.get(i, ())) for i in range(len(sizes)))
        met = np.concatenate([[0], np.cumsum(rows >= 0)])
        n = np.diff(met[np.cumsum(sizes)], prepend=0).tolist()
        rows = rows[rows >= 0]
        counts, said = self.counts.take(rows, axis=0), self.said.take(rows, axis=0)  # quicker than [rows]
        found = score_messages(self.model, counts, self.totals, self.trust, said, n)
        return self._teller.told(found, self._known(rows), cut, clues)

    def _known(self, rows: Numbers) -> Known:
        return Known(rows, self._words, self.counts)


class GrowableArray:
    """Rows of numbers to which others are added; there is room for as many again before they must be moved."""

    def __init__(self, width: int) -> None:
        self._room, self._n = np.empty((64, width)), 0

    @property
    def rows(self) -> Array:
        """Those that are there."""
        return self._room[: self._n]

    def add(self, rows: Array) -> None:
        """Put rows after them."""
        n = self._n + len(rows)
        if n > len(self._room):
            room = np.empty((2 * n, self._room.shape[1]))
            room[: self._n] = self.rows
            self._room = room
        self._room[self._n : n] = rows
        self._n = n


def _learned(store: StoreReader) -> LabelTotals:
    totals = store.totals()
    names = list(totals)
    labels = order_labels(name for name in names if totals[name][0])
    return LabelTotals(
        labels,
        tuple(names.index(label) for label in labels),
        tuple(totals[label][0] for label in labels),
        tuple(totals[label][1] for label in labels),
    )
