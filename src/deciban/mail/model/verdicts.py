"""From what was weighed to verdicts: how likely each label is, what a message is called, and which tokens say so.

Messages come many at a time: what can be done for all of them at once is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.mail.model.mail_models import MessageScores, spans
from deciban.mail.model.minimum_counts import MIN_MESSAGES_PER_LABEL
from deciban.mail.model.token_weights import POSITIVE, probabilities
from deciban.mail.model.verdict import UNSURE, Clue, Verdict
from deciban.scores import DECIBAN

Indices = NDArray[np.integer[Any]]

NOT_FITTED = "model logistic knows nothing before it is fitted. Hint: deciban mail set --model logistic"


@dataclass(frozen=True)
class LabelTotals:
    """A moment of the store: labels that have messages, in order, and where their counts stand."""

    labels: tuple[str, ...]
    places: tuple[int, ...]
    messages: tuple[int, ...]
    weights: tuple[float, ...]

    @property
    def too_few(self) -> bool:
        """Whether no verdict can be sure."""
        return len(self.labels) < 2 or min(self.messages) < MIN_MESSAGES_PER_LABEL

    def __str__(self) -> str:
        return ", ".join(f"{n} {label}" for label, n in zip(self.labels, self.messages)) or "nothing"


@dataclass(frozen=True)
class Known:
    """Tokens of some messages, one message's after another's, as rows of a table: words, and counts by label."""

    rows: Indices
    words: Sequence[str]
    counts: Array

    def replace_surrogates(self, which: Indices) -> list[str]:
        """The words of some of them."""
        return list(map(self.words.__getitem__, self.rows[which].tolist()))

    def counted(self, which: Indices) -> list[list[float]]:
        """Their counts."""
        return self.counts.take(self.rows[which], axis=0).tolist()


class VerdictBuilder:
    """Says what messages are, by what was learned."""

    def __init__(self, learned: LabelTotals, model: str, thresholds: tuple[float, float]) -> None:
        self._learned, self._model, self._thresholds = learned, model, thresholds
        self._counted: Mapping[str, int] = dict(zip(learned.labels, learned.messages))

    def unheard_of(self, cut: tuple[str, ...]) -> Verdict:
        """The verdict where there is nothing to tell apart."""
        why = f"{self._learned} learned; messages of two labels at least are needed"
        return Verdict(UNSURE, POSITIVE, 0.5, 0.0, 0.0, (), 0.0, self._counted, self._model, why, cut)

    def told(
        self, found: MessageScores, known: Known, cut: Mapping[int, tuple[str, ...]], most: int
    ) -> Iterator[Verdict]:
        """The verdicts on messages that were weighed; each names so many clues at most."""
        labels, two = self._learned.labels, len(self._learned.labels) == 2
        scores = found.scores
        likely = [probabilities(each) for each in scores]
        at = [1 if two else p.index(max(p)) for p in likely]
        score = [0] * len(at) if two else at
        clues = self._clues(found.of(score) * DECIBAN, found.sizes, known, most)
        silent = found.silent if self._model == "logistic" else [False] * len(at)
        bias = found.bias.tolist()
        for i, (p, k, j, shown) in enumerate(zip(likely, at, score, clues)):
            total, prior = scores[i][j] * DECIBAN, bias[i][j] * DECIBAN
            rest = len(shown) < found.sizes[i]
            others = math.fsum([total, -prior, *[-clue.decibans for clue in shown]]) if rest else 0.0
            label, why = self._called(p, k, silent[i])
            yield Verdict(
                label, labels[k], p[k], total, prior, shown, others, self._counted, self._model, why, cut.get(i, ()),
                dict(zip(labels, p)),
            )  # fmt: skip

    def _clues(self, pieces: Array, sizes: Sequence[int], known: Known, most: int) -> list[tuple[Clue, ...]]:
        """Of each message those that say most."""
        which = telling(pieces, sizes, known, most)
        flat = np.array(list(chain.from_iterable(which)), dtype=np.int64)
        labels = self._learned.labels
        each = iter([
            Clue(token, said, dict(zip(labels, counts)))
            for token, said, counts in zip(known.replace_surrogates(flat), pieces[flat].tolist(), known.counted(flat))
        ])  # fmt: skip
        return [tuple(islice(each, len(mine))) for mine in which]

    def _called(self, p: Sequence[float], at: int, silent: bool) -> tuple[str, str]:
        """The label, or unsure and why."""
        label, why = _called(p, at, self._learned, self._thresholds)
        return label, NOT_FITTED if silent and not self._learned.too_few else why


def telling(pieces: Array, sizes: Sequence[int], known: Known, most: int) -> list[list[int]]:
    """Of each message which pieces say most, in that order; of equals those whose tokens come first by name."""
    if most <= 0:
        return [[] for _ in sizes]
    size = np.abs(pieces).round(6)  # the last bits of equals are the machine's
    several = np.flatnonzero(size >= np.repeat(_least(size, sizes, most), sizes))
    ranked = list(zip((-size[several]).tolist(), known.replace_surrogates(several), several.tolist()))
    upto = several.searchsorted(list(accumulate(sizes))).tolist()
    return [[j for _, _, j in sorted(ranked[begin:end])[:most]] for begin, end in pairwise([0, *upto])]


def _least(size: Array, sizes: Sequence[int], most: int) -> list[float]:
    """Of each message the size that so many have at least."""
    rest, least = size.copy(), []
    for begin, end in spans(sizes):
        if end - begin > most:
            rest[begin:end].partition(end - begin - most)
            least.append(float(rest[end - most]))
        else:
            least.append(0.0)
    return least


def _called(p: Sequence[float], at: int, learned: LabelTotals, thresholds: tuple[float, float]) -> tuple[str, str]:
    """The label, or unsure and why."""
    if learned.too_few:
        return UNSURE, f"{learned} learned; at least {MIN_MESSAGES_PER_LABEL} of each label are needed"
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
