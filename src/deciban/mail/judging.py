"""Judge: from the tokens of a message to a verdict, by what a store holds at this moment."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from deciban.mail.fewest import OF_EACH
from deciban.mail.models import USUAL_MODEL, ModelName, Weighed, checked_model, combined_or_added, said_by
from deciban.mail.reader import StoreReader
from deciban.mail.rows import Tokens
from deciban.mail.verdict import UNSURE, Clue, Verdict
from deciban.mail.weighing import POSITIVE, Array, Trust, ordered, probabilities
from deciban.scores import DECIBAN

HAM_AT, SPAM_AT = 0.2, 0.95
"""Up to the first probability of spam a message is ham, from the second it is spam."""

NOT_FITTED = "model logistic knows nothing before it is fitted. Hint: deciban mail set --model logistic"


@dataclass(frozen=True)
class Learned:
    """A moment of the store: labels that have messages, in order, and where their counts stand."""

    labels: tuple[str, ...]
    places: tuple[int, ...]
    messages: tuple[int, ...]
    weights: tuple[float, ...]

    @property
    def too_few(self) -> bool:
        """Whether no verdict can be sure."""
        return len(self.labels) < 2 or min(self.messages) < OF_EACH

    def __str__(self) -> str:
        return ", ".join(f"{n} {label}" for label, n in zip(self.labels, self.messages)) or "nothing"


class Judge:
    """Weighs tokens by a store's counts and a model's fitted trusts."""

    def __init__(self, store: StoreReader, model: str | None = None) -> None:
        self._store = store
        self.model: ModelName = checked_model(model or store.setting("model", USUAL_MODEL))

    @property
    def thresholds(self) -> tuple[float, float]:
        """Up to the first probability a message is ham, from the second it is spam."""
        return self._store.setting("ham_at", HAM_AT), self._store.setting("spam_at", SPAM_AT)

    def verdict(self, tokens: Sequence[str], cut: tuple[str, ...] = (), clues: int = 15) -> Verdict:
        """What a message of these tokens is."""
        with self._store.reading():
            moment = Moment(self._store, self.model, self.thresholds)
            moment.look_up(tokens)
        return moment.verdict(tokens, cut, clues)

    def reading(self) -> AbstractContextManager[None]:
        """A block in which the store stays as it is."""
        return self._store.reading()

    def version(self) -> tuple[int, int]:
        """Another one than before says that the store was changed meanwhile."""
        return self._store.version()

    def moment(self) -> Moment:
        """The store as it is now, for many messages: what was looked up is remembered."""
        return Moment(self._store, self.model, self.thresholds)


class Moment:
    """What a store holds of some tokens; whole while nothing is learned, so made anew when something is."""

    def __init__(self, store: StoreReader, model: ModelName, thresholds: tuple[float, float]) -> None:
        self.model, self.thresholds, self._store = model, thresholds, store
        with store.reading():
            self.changes, self.unit = store.changes(), store.unit()
            self.learned = _learned(store)
            fit = None if model == "fisher" else store.fit_for([], model)
        self.is_fitted = fit is not None and tuple(fit.meta["labels"]) == self.learned.labels
        labels, messages = self.learned.labels, sum(self.learned.messages)
        self.trust = (
            Trust.from_dict(fit.meta)
            if fit is not None and self.is_fitted
            else Trust.before_any_fit(labels, messages)
        )
        self.totals = np.array(self.learned.weights) / self.unit
        self._met: dict[str, int] = {}
        self._looked: set[str] = set()
        self.is_loaded = False
        """Whether all tokens are known that there are."""
        self._counts, self._said = Growing(len(labels)), Growing(len(self.trust.bias))

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
        self._met, self._counts, self._said = {}, Growing(len(self.learned.labels)), Growing(len(self.trust.bias))
        self._meet(every)
        self.is_loaded = True

    def _meet(self, found: Tokens) -> None:
        n = len(self._met)
        self._met.update(zip(found.words, range(n, n + len(found.words))))
        counts = found.counts[:, list(self.learned.places)] / self.unit
        own = found.scores if self.is_fitted else np.zeros((len(counts), len(self.trust.bias)))
        self._counts.add(counts)
        self._said.add(said_by(self.model, counts, self.totals, self.trust, own))

    def rows(self, tokens: Sequence[str]) -> NDArray[np.int64]:
        """Where tokens that were looked up stand among those that were met; -1 where nobody met them."""
        return np.fromiter(map(self._met.get, tokens, repeat(-1)), dtype=np.int64, count=len(tokens))

    def verdict(self, tokens: Sequence[str], cut: tuple[str, ...] = (), clues: int = 15) -> Verdict:
        """What a message of these tokens is; they were looked up before."""
        learned = self.learned
        if len(learned.labels) < 2:
            return unheard_of(learned, self.model, cut)
        met = [token for token in tokens if token in self._met]
        rows = self.rows(met)
        found = combined_or_added(self.model, self.counts[rows], self.totals, self.trust, self.said[rows])
        return told(found, met, self.counts[rows], learned, self.model, self.thresholds, cut, clues)


class Growing:
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


def _learned(store: StoreReader) -> Learned:
    totals = store.totals()
    names = list(totals)
    labels = ordered(name for name in names if totals[name][0])
    return Learned(
        labels,
        tuple(names.index(label) for label in labels),
        tuple(totals[label][0] for label in labels),
        tuple(totals[label][1] for label in labels),
    )


def unheard_of(learned: Learned, model: str, cut: tuple[str, ...]) -> Verdict:
    """The verdict where there is nothing to tell apart."""
    why = f"{learned} learned; messages of two labels at least are needed"
    return Verdict(UNSURE, POSITIVE, 0.5, 0.0, 0.0, (), 0.0, _counted(learned), model, why, cut)


def _counted(learned: Learned) -> Mapping[str, int]:
    return dict(zip(learned.labels, learned.messages))


def told(
    found: Weighed, tokens: Sequence[str], counts: Array, learned: Learned, model: str,
    thresholds: tuple[float, float], cut: tuple[str, ...], clues: int,
) -> Verdict:  # fmt: skip
    """The verdict on what was weighed: tokens, how often each label had them, and what they say."""
    scores = found.scores
    p = probabilities(scores)
    two = len(learned.labels) == 2
    at = 1 if two else p.index(max(p))
    score = 0 if two else at
    pieces = found.pieces[:, score] * DECIBAN
    prior = float(found.bias[score]) * DECIBAN
    shown = tuple(
        Clue(tokens[j], float(pieces[j]), dict(zip(learned.labels, counts[j].tolist())))
        for j in _telling(pieces, tokens, clues)
    )
    total = float(scores[score]) * DECIBAN
    others = math.fsum((total, -prior, *(-clue.decibans for clue in shown))) if len(shown) < len(pieces) else 0.0
    label, why = _called(p, at, learned, thresholds)
    if model == "logistic" and not (learned.too_few or found.bias.any() or found.pieces.any()):
        why = NOT_FITTED
    return Verdict(
        label, learned.labels[at], p[at], total, prior, shown, others, _counted(learned), model, why, cut,
        dict(zip(learned.labels, p)),
    )  # fmt: skip


def _telling(pieces: Array, tokens: Sequence[str], most: int) -> list[int]:
    """Which pieces say most, in that order; of equals those whose tokens come first by name."""
    size = np.abs(pieces).round(6)  # the last bits of equals are the machine's
    least = np.partition(size, -most)[-most] if 0 < most < len(size) else 0.0
    several = np.flatnonzero(size >= least).tolist() if most > 0 else []
    return sorted(several, key=lambda j: (-size[j], tokens[j]))[:most]


def _called(p: Sequence[float], at: int, learned: Learned, thresholds: tuple[float, float]) -> tuple[str, str]:
    """The label, or unsure and why."""
    if learned.too_few:
        return UNSURE, f"{learned} learned; {OF_EACH} of each are the least to be sure by"
    ham_at, spam_at = thresholds
    if len(p) == 2:
        if p[1] >= spam_at:
            return learned.labels[1], ""
        if p[1] <= ham_at:
            return learned.labels[0], ""
        return UNSURE, f"p({learned.labels[1]}) = {p[1]:.4g} lies between {ham_at:g} and {spam_at:g}"
    least = max(1.0 - ham_at, 0.5)
    if p[at] >= least:
        return learned.labels[at], ""
    return UNSURE, f"the likeliest, {learned.labels[at]}, has p = {p[at]:.2f}, less than {least:g}"
