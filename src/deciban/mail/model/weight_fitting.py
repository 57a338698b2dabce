"""WeightParameters in tokens, fitted to all messages of a store: evidence told twice is to count once.

Each message is told by what the *other* messages say of its tokens: its own counts are taken out first. So a token
that no other message has says nothing, rare ones earn no trust by knowing their own message, and the probabilities
that come out are honest without a map behind them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.linear.solvers.logistic import Shared, Sparse, fit_parts
from deciban.mail.model.minimum_counts import MIN_MESSAGES_PER_LABEL, MIN_MESSAGES_TO_FIT
from deciban.mail.model.store_rows import Rows
from deciban.mail.model.token_weights import ALPHA, POWER, WeightParameters, log_odds, order_labels, strength

Fitted = Literal["evidence", "bayes", "logistic"]

HELD_BACK: Final = 0.025
"""How much the common trust is held back, for each token and beside the tokens' own."""

LEAST_C, MANY = 0.1, 400
"""Few messages let tokens differ less: C is a message's share of so many, from LEAST_C to 1."""

BLOCK: Final = 1 << 18
"""Tokens of messages that are told together: a store's are millions, and on the way each takes ten numbers."""


@dataclass(frozen=True)
class Settings:
    """How trusts are fitted; `alone`: a message is told by what all others say of its tokens, without itself."""

    alpha: float = ALPHA
    power: float = POWER
    held_back: float = HELD_BACK
    alone: bool = True


USUAL_SETTINGS: Final = Settings()


@dataclass(frozen=True)
class Examples:
    """Messages as rows of tokens that several have; labels in the order of `order_labels`, weights in messages of now."""

    labels: tuple[str, ...]
    codes: NDArray[np.int32]
    weights: Array
    counts: Array
    totals: Array
    X: Any
    numbers: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Rows, unit: float = 1.0) -> Examples | None:
        """Those of a store; None where there are too few to fit anything to."""
        labels = order_labels(rows.label_names[k] for k in set(rows.labels.tolist()))
        place = {name: i for i, name in enumerate(labels)}
        codes = np.array([place[rows.label_names[k]] for k in rows.labels.tolist()], dtype=np.int32)
        each = np.bincount(codes, minlength=len(labels))
        if len(labels) < 2 or len(codes) < MIN_MESSAGES_TO_FIT or each.min() < MIN_MESSAGES_PER_LABEL:
            return None
        return cls.counted(labels, codes, rows.weights / unit, rows)

    @classmethod
    def counted(cls, labels: tuple[str, ...], codes: NDArray[np.int32], weights: Array, rows: Rows) -> Examples:
        """The tokens of two messages or more, and how often each label has them."""
        from scipy.sparse import csr_array

        n, V = len(codes), len(rows.numbers)
        X = csr_array((np.ones(len(rows.indices)), rows.indices, rows.indptr), shape=(n, V))
        several = np.flatnonzero(np.bincount(rows.indices, minlength=V) > 1)
        X = X[:, several]
        by_label = csr_array((weights, (codes, np.arange(n))), shape=(len(labels), n))
        counts = np.asarray((by_label @ X).todense()).T
        totals = np.bincount(codes, weights=weights, minlength=len(labels)).astype(np.float64)
        return cls(labels, codes, weights, np.ascontiguousarray(counts), totals, X, rows.numbers[several])

    @property
    def scores(self) -> range:
        """The labels that a score speaks for."""
        return range(1, 2) if len(self.labels) == 2 else range(len(self.labels))

    def sides(self, label: int) -> tuple[Array, Array]:
        """Counts and totals of all others, and of one label."""
        own, total = self.counts[:, label], self.totals[label]
        return np.stack([self.counts.sum(axis=1) - own, own], axis=1), np.array([self.totals.sum() - total, total])

    def said(self, label: int, settings: Settings = USUAL_SETTINGS) -> Array:
        """What each stored token of each message says for this label."""
        if settings.alone:
            return self.without_themselves(label, settings.alpha)
        return np.asarray(log_odds(*self.sides(label), settings.alpha)[self.X.indices, 0])

    def without_themselves(self, label: int, alpha: float = ALPHA) -> Array:
        """What all other messages say of each stored token for this label; nothing of what no other has."""
        rows = np.repeat(np.arange(len(self.codes), dtype=np.int32), np.diff(self.X.indptr))
        side = (self.codes == label).astype(np.intp)
        counts, totals = self.sides(label)
        said = np.empty(len(rows))
        for at in range(0, len(rows), BLOCK):
            some = slice(at, at + BLOCK)
            mine = rows[some]
            own = np.zeros((len(mine), 2))
            own[np.arange(len(mine)), side[mine]] = self.weights[mine]
            rest = counts[self.X.indices[some]] - own
            said[some] = np.where(rest.sum(axis=1) <= 0.0, 0.0, log_odds(rest, totals - own, alpha)[:, 0])
        return said


@dataclass(frozen=True)
class Found:
    """What was fitted: the trust, and by score how much more each token (by number) is trusted than the common."""

    trust: WeightParameters
    numbers: NDArray[np.int64]
    columns: list[Array]


def fit(examples: Examples, model: Fitted, threads: int = 1, settings: Settings = USUAL_SETTINGS) -> Found | None:
    """The trusts of these messages; None where they say that tokens as a whole deserve none."""
    usual = float(np.median(np.maximum(np.diff(examples.X.indptr), 1)))
    bias, common, columns = [], [], []
    for label in examples.scores:
        found = _score(examples, label, model, usual, threads, settings)
        if found is None:
            return None
        bias.append(found[0])
        common.append(found[1])
        columns.append(found[2])
    n, alpha, power = len(examples.codes), settings.alpha, settings.power
    trust = WeightParameters(examples.labels, tuple(bias), tuple(common), usual, n, alpha, power)
    return Found(trust, examples.numbers, columns)


def _score(
    examples: Examples, label: int, model: Fitted, usual: float, threads: int, settings: Settings
) -> tuple[float, float, Array] | None:
    """Bias, common trust and the tokens' own, of one label against all others."""
    Z, y = examples.X.copy(), (examples.codes == label).astype(np.int32)
    n, V = Z.shape
    rows = np.repeat(np.arange(n), np.diff(Z.indptr))
    Z.data = np.ones(len(rows)) if model == "logistic" else examples.said(label, settings)
    known = np.bincount(rows, weights=Z.data != 0.0, minlength=n)
    Z.data *= strength(known, usual, settings.power)[rows]
    parts: list[Any] = [] if model == "bayes" else [Sparse(Z, 1.0 / min(1.0, max(LEAST_C, n / MANY)))]
    if model != "logistic":
        said = np.asarray(Z.sum(axis=1)).ravel()
        parts.append(Shared(np.stack([-said / 2, said / 2], axis=1)[:, None, :], settings.held_back * V))
    found = fit_parts(parts, y, examples.weights, 2, tol=1e-3, max_iter=200, threads=threads)
    common = 0.0 if model == "logistic" else float(found.parts[-1][0])
    if model != "logistic" and common <= 0.0:
        return None
    return float(found.bias[0]), common, np.zeros(V) if model == "bayes" else np.asarray(found.parts[0]).ravel()
