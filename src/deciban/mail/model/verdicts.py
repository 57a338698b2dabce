"""Verdicts: the label of a message, its probability, and the clues that decide it.

A StoreSnapshot makes them from the tokens of messages, by the counts and weights of a store. Messages come many at a
time: what can be computed for all of them at once is.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise, repeat
from time import monotonic
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.formatting import format_probability
from deciban.mail.model import mail_models
from deciban.mail.model.mail_models import MIN_MESSAGES_PER_LABEL, POSITIVE_LABEL, MessageScores, WeightParameters
from deciban.mail.model.threshold_choice import read_choice, resolve_spam_at
from deciban.mail.status_figures import format_counts
from deciban.mail.store.sqlite_errors import FIT_HINT, INVALID_VALUE_ERRORS, invalid_value
from deciban.mail.store.store import Store
from deciban.mail.store.store_arrays import StoredTokens
from deciban.mail.store.store_schema import ModelName
from deciban.mail.store.stored_messages import Numbers
from deciban.mail.tokens.token_descriptions import describe_token
from deciban.scores import DECIBAN

Indices = NDArray[np.integer[Any]]

UNSURE: Final = "unsure"
"""The verdict where no label is likely enough; no label may have this name."""

HEADER_CLUES: Final = 5
"""Number of clues in a header, unless another is given."""

STRONG_DECIBANS: Final = 10.0
"""Evidence from which a side is strong: ten to one."""

NOT_FITTED: Final = "model logistic knows nothing before it is fitted. Hint: deciban mail set --model logistic"

MAX_SNAPSHOT_SECONDS: Final = 60.0
"""Age of a cached snapshot where messages age: their weights are those of the time at which it was made."""


@dataclass(frozen=True, slots=True)
class Clue:
    """A token, its evidence in decibans, and the number of messages of each label that have it."""

    token: str
    decibans: float
    counts: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Return the clue in the terms of JSON, with the token's description."""
        words = describe_token(self.token)
        return {"token": self.token, "in_words": words, "decibans": self.decibans, "counts": dict(self.counts)}


@dataclass(frozen=True, slots=True)
class EvidenceBalance:
    """The evidence on both sides of a verdict, and how much of the message was known.

    `for_label` and `against` are in decibans, `agreement` is what their difference is multiplied by: 1 where one side
    has nothing, less where both have much. `known` of the `tokens` of the message were learned before.
    """

    for_label: float
    against: float
    agreement: float
    known: int
    tokens: int

    def to_dict(self) -> dict[str, float]:
        """Return the balance in the terms of JSON."""
        sides = {"for": self.for_label, "against": self.against, "agreement": self.agreement}
        return {**sides, "known": self.known, "tokens": self.tokens}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of classifying a message.

    `of` is spam where labels are ham and spam, of two others the second by name, of more the likeliest;
    `probability` is that of `of`, and `decibans` the evidence for it against all others: `prior` and all clues, of
    which `clues` are the strongest, and `others` the sum of all weaker ones. `why` is the reason why it is unsure,
    and `reason` names it where it is "conflict" (strong signs both ways) or "novelty" (almost nothing in it was seen
    before); `balance` are the figures that these depend on; `cut` lists what limits left unread. `sender` and
    `subject` are the headers From and Subject, decoded; None where the message itself was not there to be read.
    """

    label: str
    of: str
    probability: float
    decibans: float
    prior: float
    clues: tuple[Clue, ...]
    others: float
    learned: Mapping[str, int]
    model: str
    why: str = ""
    cut: tuple[str, ...] = ()
    probabilities: Mapping[str, float] | None = None
    sender: str | None = None
    subject: str | None = None
    reason: str = ""
    balance: EvidenceBalance | None = None

    @property
    def is_sure(self) -> bool:
        """Whether the verdict is a label, and not *unsure*."""
        return self.label != UNSURE

    def header(self, clues: int = HEADER_CLUES) -> str:
        """Return the value of the header X-Deciban, in ASCII, with at most so many clues."""
        top = ",".join(f"{_to_ascii(clue.token)}{clue.decibans:+.1f}" for clue in self.clues[:clues])
        label = _to_ascii(self.label)
        why = f"; why={self.reason}" if self.reason else ""
        p = format_probability(self.probability)
        return f"{label}; p={p}; evidence={self.decibans:+.1f}dB{why}; top={top or '-'}"

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict in the terms of JSON; what there is none of is left out."""
        figures: dict[str, Any] = {
            "verdict": self.label, "probability": self.probability, "decibans": self.decibans,
            "top": [clue.to_dict() for clue in self.clues],
            "prior": self.prior, "others": self.others, "model": self.model, "learned": dict(self.learned),
        }  # fmt: skip
        optional = {
            "why": self.why, "reason": self.reason, "balance": self.balance and self.balance.to_dict(),
            "cut": list(self.cut), "probabilities": dict(self.probabilities or {}),
        }  # fmt: skip
        heading = {"from": self.sender, "subject": self.subject}
        present = {name: value for name, value in optional.items() if value}
        return figures | present | {name: value for name, value in heading.items() if value is not None}


def _to_ascii(text: str) -> str:
    """Replace what a header cannot carry: spaces, separators, and all that is not ASCII."""
    kept = "".join(char if char.isascii() and char.isprintable() and char not in ' ,;="' else "?" for char in text)
    return kept[:40]


def explain_too_few(learned: Mapping[str, int]) -> str:
    """Return why every verdict is unsure after so many messages of each label; an empty text if it need not be."""
    held = format_counts(learned)
    if len(learned) < 2:
        return f"{held} learned; messages of two labels at least are needed"
    is_enough = min(learned.values()) >= MIN_MESSAGES_PER_LABEL
    return "" if is_enough else f"{held} learned; at least {MIN_MESSAGES_PER_LABEL} of each label are needed"


@dataclass(frozen=True)
class TokenRows:
    """The tokens of some messages, message after message, as rows of a table of words and of counts by label."""

    rows: Indices
    words: Sequence[str]
    counts: Array

    def words_at(self, positions: Indices) -> list[str]:
        """Return the words of some tokens."""
        return list(map(self.words.__getitem__, self.rows[positions].tolist()))


class VerdictBuilder:
    """Makes verdicts from scores, for one state of the store; `learned` has its labels in the order of scores."""

    def __init__(
        self, learned: Mapping[str, int], model: str, thresholds: tuple[float, float], is_fitted: bool = True
    ) -> None:
        self._learned, self._model, self._thresholds = learned, model, thresholds
        self._labels = tuple(learned)
        self._not_ready = explain_too_few(learned) or (NOT_FITTED if model == "logistic" and not is_fitted else "")

    def build_unsure(self, cut: tuple[str, ...]) -> Verdict:
        """Return the verdict where there are fewer than two labels."""
        return Verdict(
            UNSURE, POSITIVE_LABEL, 0.5, 0.0, 0.0, (), 0.0, self._learned, self._model, self._not_ready, cut
        )

    def build(
        self, found: MessageScores, tokens: TokenRows, cut: Mapping[int, tuple[str, ...]], clues: int
    ) -> Iterator[Verdict]:
        """Yield the verdict on each message; each names so many clues at most."""
        labels, two = self._labels, len(self._labels) == 2
        totals = found.totals
        probabilities = [mail_models.compute_probabilities(each) for each in totals]
        best = [1 if two else p.index(max(p)) for p in probabilities]
        score = [0] * len(best) if two else best
        columns = np.repeat(np.array(score, dtype=np.intp), found.sizes)
        contributions = found.contributions[np.arange(len(columns)), columns]
        strongest = self._find_clues(contributions * DECIBAN, found.sizes, tokens, clues)
        bias, novel = found.bias.tolist(), found.novel.tolist()
        spam_scores = found.spam_scores.tolist() if two and labels[1] == POSITIVE_LABEL else [t[-1] for t in totals]
        messages = np.arange(len(score))
        sides, agreement = found.sides[:, messages, score] * DECIBAN, found.agreement[messages, score]
        balances = list(map(EvidenceBalance, *sides.tolist(), agreement.tolist(), found.sizes, found.lengths))
        for i, (p, k, j, shown) in enumerate(zip(probabilities, best, score, strongest)):
            total, prior = totals[i][j] * DECIBAN, bias[i][j] * DECIBAN
            is_partial = len(shown) < found.sizes[i]
            others = math.fsum([total, -prior, *[-clue.decibans for clue in shown]]) if is_partial else 0.0
            label, reason, why = self._decide(p, k, spam_scores[i], balances[i], novel[i])
            yield Verdict(
                label, labels[k], p[k], total, prior, shown, others, self._learned, self._model,
                why, cut.get(i, ()), dict(zip(labels, p)), reason=reason, balance=balances[i],
            )  # fmt: skip

    def _find_clues(
        self, evidence: Array, sizes: Sequence[int], tokens: TokenRows, clues: int
    ) -> list[tuple[Clue, ...]]:
        """Return the strongest clues of each message, at most so many."""
        chosen = strongest_tokens(evidence, sizes, tokens, clues)
        flat = np.array(list(chain.from_iterable(chosen)), dtype=np.int64)
        by_label = tokens.counts[tokens.rows[flat]].tolist()  # take would copy all of a view first
        counts = (dict(zip(self._labels, each)) for each in by_label)
        found = list(map(Clue, tokens.words_at(flat), evidence[flat].tolist(), counts))
        return [tuple(found[begin:end]) for begin, end in pairwise(accumulate(map(len, chosen), initial=0))]

    def _decide(
        self, p: Sequence[float], best: int, spam_score: float, balance: EvidenceBalance, novel: bool
    ) -> tuple[str, str, str]:
        """Return the label, and where it is unsure the name of the reason, if it has one, and the reason in words."""
        if self._not_ready:
            return UNSURE, "", self._not_ready
        labels, two = self._labels, len(p) == 2
        label, why = self._apply_thresholds(p, best, spam_score)
        if label != UNSURE and not (novel and label == POSITIVE_LABEL):
            return label, "", ""
        if novel and (p[1] >= self._thresholds[1] if two else label == POSITIVE_LABEL):
            much = "almost nothing" if balance.known < balance.tokens / 2 else "too little"
            return UNSURE, "novelty", f"{much} in it was seen before: {balance.known} of {balance.tokens} tokens"
        if two and min(balance.for_label, balance.against) >= STRONG_DECIBANS:
            sides = f"{balance.for_label:.1f} dB for {labels[1]}, {balance.against:.1f} dB against"
            return UNSURE, "conflict", f"strong signs both ways: {sides}"
        return UNSURE, "", why

    def _apply_thresholds(self, p: Sequence[float], best: int, spam_score: float) -> tuple[str, str]:
        """Return the label that the thresholds give and no reason, or unsure and the reason in words."""
        label, (ham_at, spam_at) = self._labels[best], self._thresholds
        if len(p) > 2:
            least = max(1.0 - ham_at, 0.5)
            if p[best] >= least:
                return label, ""
            return UNSURE, f"the likeliest, {label}, has p = {format_probability(p[best])}, less than {least:g}"
        if p[1] <= ham_at:
            return self._labels[0], ""
        even = 1.0 if spam_score == -math.inf else mail_models.compute_probabilities([spam_score])[1]
        if min(p[1], even) >= spam_at:
            return label, ""
        shown = f"p({label}) = {format_probability(p[1])}"
        if p[1] < spam_at:
            return UNSURE, f"{shown} lies between {ham_at:g} and {spam_at:g}"
        balanced = f"{format_probability(even)} if as much ham as {label} had been learned"
        return UNSURE, f"{shown}, but {balanced}, less than {spam_at:g}"


def strongest_tokens(evidence: Array, sizes: Sequence[int], tokens: TokenRows, n: int) -> list[list[int]]:
    """Return the positions of each message's n tokens of greatest absolute evidence, in order; equals by name."""
    if n <= 0:
        return [[] for _ in sizes]
    size = np.abs(evidence).round(6)  # the last bits of equals are the machine's
    parts = (size[begin:end] for begin, end in pairwise(accumulate(sizes, initial=0)))
    nth_largest = [np.partition(part, -n)[-n] if len(part) > n else 0.0 for part in parts]
    candidates = np.flatnonzero(size >= np.repeat(nth_largest, sizes))
    ranked = list(zip((-size[candidates]).tolist(), tokens.words_at(candidates), candidates.tolist()))
    ends = candidates.searchsorted(list(accumulate(sizes))).tolist()
    return [[j for _, _, j in sorted(ranked[begin:end])[:n]] for begin, end in pairwise([0, *ends])]


class StoreSnapshot:
    """A cache of what a store holds of some tokens, complete as long as nothing is learned.

    Of the thresholds, the one for spam is None where it is the one that was chosen at the last fit.
    """

    def __init__(self, store: Store, model: ModelName, thresholds: tuple[float, float | None]) -> None:
        self.model, self._store, self._made_at = model, store, monotonic()
        with store.read_transaction():
            self.changes, self.unit, self._version = store.changes(), store.unit(), store.version()
            totals = store.totals()
            fit = None if model == "fisher" else store.fit(model)
        labels = self._labels = mail_models.order_labels(name for name, (messages, _) in totals.items() if messages)
        learned = {label: totals[label][0] for label in labels}
        self._columns = list(map(list(totals).index, labels))
        """The column of each label among the counts of a token."""
        self.is_fitted = fit is not None and tuple(fit.meta["labels"]) == labels
        self.parameters = WeightParameters.initial(labels, sum(learned.values()))
        if fit is not None and self.is_fitted:
            try:
                self.parameters = WeightParameters.from_dict(fit.meta)
            except INVALID_VALUE_ERRORS as error:
                rule = f"the fit of model {model!r} is invalid ({type(error).__name__}: {error})"
                raise invalid_value(store.path, rule, FIT_HINT) from error
        self.totals = np.array([totals[label][1] for label in labels]) / self.unit
        ham_at, spam_at = thresholds
        choice = read_choice(fit, store.path) if spam_at is None else None
        self._builder = VerdictBuilder(
            learned, model, (ham_at, resolve_spam_at(ham_at, spam_at, choice)), self.is_fitted
        )
        self._requested: set[str] = set()
        self.is_loaded = False
        """Whether all tokens of the store are here."""
        self._clear()

    def _clear(self) -> None:
        self._row_of: dict[str, int] = {}
        self._words: list[str] = []
        self._table = np.empty((0, len(self._labels) + len(self.parameters.bias)))
        """The counts of each word by label, and its contributions to each score; the last rows may be unused."""

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
        if new and len(self._labels) > 1:
            self._add(self._store.tokens(new, self.model if self.is_fitted else None))

    def load(self, max_tokens: int) -> None:
        """Read all tokens at once, if nothing was learned since and the store has at most so many."""
        if self.is_loaded:
            return
        with self._store.read_transaction():
            if self._store.changes() != self.changes or self._store.n_tokens() > max_tokens:
                return
            every = self._store.tokens(None, self.model if self.is_fitted else None)
        self._clear()
        self._add(every)
        self.is_loaded = True

    def _add(self, found: StoredTokens) -> None:
        """Append tokens to the table, with their counts in messages of now and their contributions."""
        n, end = len(self._words), len(self._words) + len(found.words)
        self._row_of.update(zip(found.words, range(n, end)))
        self._words += found.words
        counts = found.counts[:, self._columns] / self.unit
        weights = found.scores if self.is_fitted else np.zeros((len(counts), len(self.parameters.bias)))
        scores = mail_models.token_scores(self.model, counts, self.totals, self.parameters, weights)
        if end > len(self._table):  # it doubles, so that rows are seldom copied
            self._table = np.concatenate([self._table, np.empty((end, self._table.shape[1]))])
        self._table[n:end] = np.hstack([counts, scores])

    def rows(self, tokens: Sequence[str]) -> Numbers:
        """Return the rows of tokens that were looked up; -1 for those that the store does not have."""
        return np.fromiter(map(self._row_of.get, tokens, repeat(-1)), dtype=np.int64, count=len(tokens))

    def verdict(self, tokens: Sequence[str], cut: tuple[str, ...], clues: int) -> Verdict:
        """Classify a message of these tokens, which were looked up before."""
        return next(self.verdicts(self.rows(tokens), np.array([len(tokens)]), {0: cut}, clues))

    def verdicts(
        self, rows: Numbers, sizes: Numbers, cut: Mapping[int, tuple[str, ...]], clues: int
    ) -> Iterator[Verdict]:
        """Classify messages, the first of the first sizes[0] rows; `cut` is what limits omitted, by position."""
        if len(self._labels) < 2:
            return (self._builder.build_unsure(cut.get(i, ())) for i in range(len(sizes)))
        found_before = np.concatenate([[0], np.cumsum(rows >= 0)])
        n = np.diff(found_before[np.cumsum(sizes)], prepend=0).tolist()
        rows = rows[rows >= 0]
        taken, labels = self._table.take(rows, axis=0), len(self._labels)  # quicker than [rows]
        counts, scores = taken[:, :labels], taken[:, labels:]
        lengths = sizes.tolist()
        found = mail_models.score_messages(self.model, counts, self.totals, self.parameters, scores, n, lengths)
        return self._builder.build(found, TokenRows(rows, self._words, self._table[:, :labels]), cut, clues)
