"""Judge: from the tokens of a message to a verdict, by what a store holds at this moment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from deciban.mail.fewest import OF_EACH
from deciban.mail.models import USUAL_MODEL, Known, ModelName, Weighed, checked_model, weighed
from deciban.mail.reader import StoreReader
from deciban.mail.verdict import UNSURE, Clue, Verdict
from deciban.mail.weighing import POSITIVE, Trust, ordered, probabilities
from deciban.scores import DECIBAN

HAM_AT, SPAM_AT = 0.2, 0.95
"""Up to the first probability of spam a message is ham, from the second it is spam."""


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
        self._met: dict[str, int] = {}
        self._looked: set[str] = set()
        self._counts = np.empty((0, len(labels)))
        self._own = np.empty((0, len(self.trust.bias)))

    def __len__(self) -> int:
        """How many tokens were looked up."""
        return len(self._looked)

    def look_up(self, tokens: Iterable[str]) -> None:
        """Ask the store for those tokens that it was not asked for yet."""
        new = [token for token in tokens if token not in self._looked]
        self._looked.update(new)
        if not new or len(self.learned.labels) < 2:
            return
        counts = self._store.counts(new)
        fit = self._store.fit_for(list(counts), self.model) if self.is_fitted else None
        own, none = {} if fit is None else fit.scores, (0.0,) * len(self.trust.bias)
        self._met.update(zip(counts, range(len(self._met), len(self._met) + len(counts))))
        places = list(self.learned.places)
        if counts:
            self._counts = np.concatenate([self._counts, np.array(list(counts.values()))[:, places] / self.unit])
            self._own = np.concatenate([self._own, np.array([own.get(token, none) for token in counts])])

    def verdict(self, tokens: Sequence[str], cut: tuple[str, ...] = (), clues: int = 15) -> Verdict:
        """What a message of these tokens is; they were looked up before."""
        learned = self.learned
        if len(learned.labels) < 2:
            return _unheard_of(learned, self.model, cut)
        met = [token for token in tokens if token in self._met]
        at = [self._met[token] for token in met]
        known = Known(met, self._counts[at], np.array(learned.weights) / self.unit, self.trust, self._own[at])
        return told(weighed(self.model, known), known, learned, self.model, self.thresholds, cut, clues)


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


def _unheard_of(learned: Learned, model: str, cut: tuple[str, ...]) -> Verdict:
    why = f"{learned} learned; messages of two labels at least are needed"
    return Verdict(UNSURE, POSITIVE, 0.5, 0.0, 0.0, (), 0.0, _counted(learned), model, why, cut)


def _counted(learned: Learned) -> Mapping[str, int]:
    return dict(zip(learned.labels, learned.messages))


def told(
    found: Weighed, known: Known, learned: Learned, model: str, thresholds: tuple[float, float],
    cut: tuple[str, ...], clues: int,
) -> Verdict:  # fmt: skip
    """The verdict on what was weighed."""
    p = probabilities(found.scores)
    two = len(learned.labels) == 2
    at = 1 if two else int(p.argmax())
    score = 0 if two else at
    pieces = found.pieces[:, score] * DECIBAN
    top = np.argsort(-np.abs(pieces), kind="stable")[: max(0, clues)]
    shown = tuple(
        Clue(known.tokens[j], float(pieces[j]), dict(zip(learned.labels, known.counts[j].tolist()))) for j in top
    )
    prior = float(found.bias[score]) * DECIBAN
    label, why = _called(p, at, learned, thresholds)
    return Verdict(
        label, learned.labels[at], float(p[at]), prior + float(pieces.sum()), prior, shown,
        float(np.delete(pieces, top).sum()), _counted(learned), model, why, cut,
        dict(zip(learned.labels, p.tolist())),
    )  # fmt: skip


def _called(p: np.ndarray, at: int, learned: Learned, thresholds: tuple[float, float]) -> tuple[str, str]:
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
