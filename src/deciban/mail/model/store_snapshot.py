"""StoreSnapshot: from the tokens of messages to verdicts, by the counts and weights of a store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from time import monotonic
from typing import Final

import numpy as np

from deciban.mail.model.mail_models import WeightParameters, order_labels, score_messages, token_scores
from deciban.mail.model.verdicts import LabelTotals, TokenRows, Verdict, VerdictBuilder
from deciban.mail.store.sqlite_errors import FIT_HINT, INVALID_VALUE_ERRORS, invalid_value
from deciban.mail.store.store import Store
from deciban.mail.store.store_arrays import StoredTokens
from deciban.mail.store.store_schema import ModelName
from deciban.mail.store.stored_messages import Numbers

MAX_SNAPSHOT_SECONDS: Final = 60.0
"""Age of a cached snapshot where messages age: their weights are those of the time at which it was made."""


class StoreSnapshot:
    """A cache of what a store holds of some tokens, complete as long as nothing is learned."""

    def __init__(self, store: Store, model: ModelName, thresholds: tuple[float, float]) -> None:
        self.model, self._store, self._made_at = model, store, monotonic()
        with store.reading():
            self.changes, self.unit, self._version = store.changes(), store.unit(), store.version()
            self.label_totals = _read_label_totals(store)
            fit = None if model == "fisher" else store.fit(model)
        labels, messages = self.label_totals.labels, sum(self.label_totals.messages)
        self.is_fitted = fit is not None and tuple(fit.meta["labels"]) == labels
        self.parameters = WeightParameters.initial(labels, messages)
        if fit is not None and self.is_fitted:
            try:
                self.parameters = WeightParameters.from_dict(fit.meta)
            except INVALID_VALUE_ERRORS as error:
                rule = f"the fit of model {model!r} is invalid ({type(error).__name__}: {error})"
                raise invalid_value(store.path, rule, FIT_HINT) from error
        self.totals = np.array(self.label_totals.weights) / self.unit
        self._builder = VerdictBuilder(self.label_totals, model, thresholds)
        self._requested: set[str] = set()
        self.is_loaded = False
        """Whether all tokens of the store are here."""
        self._clear()

    def _clear(self) -> None:
        self._row_of: dict[str, int] = {}
        self._words: list[str] = []
        self._counts = np.empty((0, len(self.label_totals.labels)))
        self._scores = np.empty((0, len(self.parameters.bias)))

    def is_valid(self) -> bool:
        """Return whether the store is as it was and, where messages age, their weights are those of now."""
        too_old = self._store.ageing.half_life is not None and monotonic() - self._made_at > MAX_SNAPSHOT_SECONDS
        return not too_old and self._version == self._store.version()

    def __len__(self) -> int:
        """Return how many tokens were looked up."""
        return len(self._requested)

    def look_up(self, tokens: Iterable[str]) -> None:
        """Read those tokens from the store that were not looked up yet."""
        if self.is_loaded:
            return
        new = [token for token in tokens if token not in self._requested]
        self._requested.update(new)
        if new and len(self.label_totals.labels) > 1:
            self._add(self._store.tokens(new, self.model if self.is_fitted else None))

    def load(self, max_tokens: int) -> None:
        """Read all tokens at once, if the store is unchanged and has at most so many."""
        if self.is_loaded:
            return
        with self._store.reading():
            if self._store.changes() != self.changes or self._store.n_tokens() > max_tokens:
                return
            every = self._store.tokens(None, self.model if self.is_fitted else None)
        self._clear()
        self._add(every)
        self.is_loaded = True

    def _add(self, found: StoredTokens) -> None:
        n = len(self._row_of)
        self._row_of.update(zip(found.words, range(n, n + len(found.words))))
        self._words += found.words
        counts = found.counts[:, list(self.label_totals.columns)] / self.unit
        weights = found.scores if self.is_fitted else np.zeros((len(counts), len(self.parameters.bias)))
        scores = token_scores(self.model, counts, self.totals, self.parameters, weights)
        self._counts = np.concatenate([self._counts, counts])
        self._scores = np.concatenate([self._scores, scores])

    def rows(self, tokens: Sequence[str]) -> Numbers:
        """Return the rows of tokens that were looked up; -1 for those that the store does not have."""
        return np.fromiter(map(self._row_of.get, tokens, repeat(-1)), dtype=np.int64, count=len(tokens))

    def verdict(self, tokens: Sequence[str], cut: tuple[str, ...], clues: int) -> Verdict:
        """Classify a message of these tokens, which were looked up before."""
        return next(self.verdicts(self.rows(tokens), np.array([len(tokens)]), {0: cut}, clues))

    def verdicts(
        self, rows: Numbers, sizes: Numbers, cut: Mapping[int, tuple[str, ...]], clues: int
    ) -> Iterator[Verdict]:
        """Classify many messages, of which the first has the first sizes[0] of these rows."""
        if len(self.label_totals.labels) < 2:
            return (self._builder.build_unsure(cut.get(i, ())) for i in range(len(sizes)))
        found_before = np.concatenate([[0], np.cumsum(rows >= 0)])
        n = np.diff(found_before[np.cumsum(sizes)], prepend=0).tolist()
        rows = rows[rows >= 0]
        counts, scores = self._counts.take(rows, axis=0), self._scores.take(rows, axis=0)  # quicker than [rows]
        found = score_messages(self.model, counts, self.totals, self.parameters, scores, n)
        return self._builder.build(found, TokenRows(rows, self._words, self._counts), cut, clues)


def _read_label_totals(store: Store) -> LabelTotals:
    totals = store.totals()
    names = list(totals)
    labels = order_labels(name for name in names if totals[name][0])
    messages, weights = zip(*(totals[label] for label in labels)) if labels else ((), ())
    return LabelTotals(labels, tuple(map(names.index, labels)), messages, weights)
