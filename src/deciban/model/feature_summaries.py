"""What a feature says, in words: the level or bin that speaks most surely for a class, or what is typical of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.families.binned import Bins
from deciban.families.categorical import Categorical, Told
from deciban.families.family import one_each
from deciban.families.gaussian import means
from deciban.families.telltales import telltales
from deciban.formatting import signed
from deciban.generative import GenerativeModel
from deciban.ledger import Bags, Counts, Grid, Levels, Moments, Scatter
from deciban.ledger.grid import cell_numbers
from deciban.ledger.statistic import divide
from deciban.model.columns import Feature
from deciban.scores import DECIBAN, Diagonal, Full, Lookup, Steps

DRAWS = 400
"""Draws of a probability that an interval is taken from."""

MOST_CLASSES = 4
"""Classes that a feature is reported for: those that it says most about."""

Z90 = 1.645
"""A normal value lies within so many deviations of its mean nine times out of ten."""

LEAST = np.finfo(np.float64).tiny
"""A pseudo-count of nothing, or a chance of nothing, is this small."""


@dataclass(frozen=True)
class LevelEffect:
    """A level or bin that speaks for a class: decibans against the other classes together, with a 90 % interval."""

    feature: str
    value: str
    label: Any
    evidence: float
    low: float
    high: float
    rows: float

    def __str__(self) -> str:
        return f"{self.feature} {self.value} {self.message()}"

    def times(self, trust: float) -> LevelEffect:
        """As much of it as is believed."""
        low, high = sorted((trust * self.low, trust * self.high))
        return replace(self, evidence=trust * self.evidence, low=low, high=high)

    def message(self) -> str:
        """What it says, without what says it."""
        span = f"({signed(self.low, 1)} … {signed(self.high, 1)})"
        return f"speaks for {self.label}: {signed(self.evidence, 1)} dB {span}, {format_row_count(self.rows)}"


@dataclass(frozen=True)
class ClassMean:
    """The mean or rate of a class, its standard error, and the rows that it rests on."""

    feature: str
    what: str
    label: Any
    value: float
    error: float
    rows: float

    def __str__(self) -> str:
        return f"{self.feature}: {self.what} {self.message()}"

    def message(self) -> str:
        """What it says, without what says it."""
        return f"in {self.label} {self.value:.4g} ± {self.error:.2g}, {format_row_count(self.rows)}"


FeatureSummary = LevelEffect | ClassMean


def format_row_count(rows: float) -> str:
    """How many rows, or how much they weigh."""
    return f"{rows:.10g} row{'' if rows == 1 else 's'}" if float(rows).is_integer() else f"weight {rows:.4g}"


@dataclass(frozen=True)
class Table:
    """One feature's levels or bins: their names, counts (K×V), ln θ, and the pseudo-counts of a row of the table."""

    feature: str
    name: Callable[[int], str]
    counts: Array
    log_theta: Array
    alpha: float
    levels: float


class BlockSummariser:
    """Puts into words what the features of one block say."""

    def __init__(self, belief: GenerativeModel, block: int, labels: NDArray[Any], names: Sequence[str]) -> None:
        self.family: Any = belief.assumption.families[block]
        part: Any = belief.complete.parts[block]
        self.part: Any = part.moments if isinstance(part, Scatter) else part
        self.form: Any = belief.solved.forms[block]
        self.names, self.words = names, belief.complete.schema.blocks[block].names
        self.levels = belief.ledger.schema.blocks[block].levels
        self.prior, self.labels = belief.solved.prior, labels
        self._told: Told | None = None
        self._binned: Levels | None = None

    def says(self, j: int) -> list[FeatureSummary]:
        """What feature j says of each class, or of those that it says most about."""
        if isinstance(self.part, Levels):
            return list(loudest(self._levels(j), self.prior, self.labels))
        if isinstance(self.part, Grid):
            return list(loudest(self._bins(j), self.prior, self.labels))
        if isinstance(self.part, Bags):
            return list(self._words(j))
        return list(self._typical(j))

    def table(self, j: int) -> Table | None:
        """Feature j's levels or bins; None where it has neither."""
        if isinstance(self.part, Levels):
            return self._levels(j)
        return self._bins(j) if isinstance(self.part, Grid) else None

    def _alpha(self, j: int) -> float:
        return float(one_each(self.family.alpha, self.part.n_features)[j])

    def _levels(self, j: int) -> Table:
        """Feature j's levels that are told apart; of the others one stands for all."""
        family: Categorical = self.family
        full = family.full(self.part)
        self._told = self._told or family.told(full)
        counts, form = self._told.counts, self.form
        assert isinstance(form, Lookup)
        first, last = self._told.codes(full, j)
        a, size = int(full.offset[j]), int(counts.sizes[j])
        names = () if self.levels is None else self.levels[j]

        def name(v: int) -> str:
            if v == size - 1 and len(last) > 1:
                return f"= one of the {len(last)} rarest"
            code = int(first[v])
            return f"= {names[code] if code < len(names) else 'another value'}"

        mine = counts.table[:, counts.offset[j] : counts.offset[j + 1]]
        room = size + (family.unseen == "smooth")
        return Table(self.names[j], name, mine, form.log_theta[:, a + first[:size]], self._alpha(j), room)

    def _bins(self, j: int) -> Table:
        form = self.form
        assert isinstance(form, Steps)
        if self._binned is None:
            self._binned = Bins(cell_numbers(form.cuts), form.start).counts(self.part)
        mine = slice(self._binned.offset[j], self._binned.offset[j + 1])
        cuts = form.cuts[form.start[j] : form.start[j + 1]]

        def name(b: int) -> str:
            if b == 0:
                return f"below {cuts[0]:.5g}"
            upper = f" and below {cuts[b]:.5g}" if b < len(cuts) else ""
            return f"from {cuts[b - 1]:.5g}{upper}"

        counts = self._binned.table[:, mine]
        return Table(self.names[j], name, counts, form.log_theta[:, mine], self._alpha(j), counts.shape[1])

    def _words(self, j: int) -> list[LevelEffect]:
        """The most telling words of each class, or of those that have the most telling."""
        K = len(self.prior)
        if self.words is None or K < 2:
            return []
        found = [
            (
                told.low * told.documents,
                LevelEffect(
                    self.names[j], f'"{told.word}"', self.labels[k], told.decibans, told.low, told.high,
                    told.documents + told.documents_elsewhere,
                ),
            )
            for k in range(K)
            for told in telltales(self.family, self.part, k, max(1, MOST_CLASSES // K), self.words)
            if told.decibans > 0
        ]  # fmt: skip
        return [loud for _, loud in sorted(found, key=lambda pair: -pair[0])][:MOST_CLASSES]

    def _typical(self, j: int) -> list[ClassMean]:
        """Means or rates: of all classes, or of those that lie farthest from each other."""
        what, value, variance = self._centre(j)
        n = np.broadcast_to(self.part.weight, (self.part.n_classes, self.part.n_features))[:, j]
        error = np.sqrt(divide(variance, n))
        seen = np.flatnonzero(n > 0)
        if len(seen) > MOST_CLASSES:
            order = seen[np.argsort(value[seen], kind="stable")]
            seen = order[[0, -1]]
        each = zip(self.labels[seen], value[seen].tolist(), error[seen].tolist(), n[seen].tolist())
        return [ClassMean(self.names[j], what, *told) for told in each]

    def _centre(self, j: int) -> tuple[str, Array, Array]:
        part, form = self.part, self.form
        if isinstance(part, Moments):
            assert isinstance(form, (Diagonal, Full))
            own = form.variance if isinstance(form, Diagonal) else np.diagonal(form.covariance, axis1=1, axis2=2)
            return "mean", means(part)[:, j], own[:, j]
        assert isinstance(part, Counts)
        rate = self.family.rates(part)[:, j]
        return "rate", rate, rate


def loudest(table: Table, prior: Array, labels: NDArray[Any]) -> list[LevelEffect]:
    """For each class the level that speaks most surely for it: the one whose interval begins highest.

    A level that was seen once may happen to point the strongest; it is not what one should be told first.
    """
    if table.counts.shape[1] < 2:
        return []
    known = np.flatnonzero((table.counts.sum(axis=1) > 0) & (prior < 1))
    found = [_loudest_for(k, table, prior, labels) for k in known.tolist()]
    told = sorted((loud for loud in found if loud is not None), key=lambda loud: -loud.low)
    return told[:MOST_CLASSES]


def _loudest_for(k: int, table: Table, prior: Array, labels: NDArray[Any]) -> LevelEffect | None:
    seen = np.flatnonzero(table.counts.sum(axis=0) > 0)
    others = np.delete(np.arange(len(prior)), k)
    share = divide(prior[others], np.full(len(others), prior[others].sum()), 1 / len(others))
    if not seen.size:
        return None
    gain = _against(table.log_theta[k, seen], np.exp(table.log_theta[np.ix_(others, seen)]), share)
    doubt = _doubt(table, k, seen) + _doubt(table, others, seen)
    v = int(seen[np.argmax(gain - Z90 * np.sqrt(doubt))])
    best = float(gain[np.searchsorted(seen, v)])
    if not best > 0:
        return None
    low, high = _interval(table, k, others, share, v)
    rows = float(table.counts[:, v].sum())
    return LevelEffect(table.feature, table.name(v), labels[k], best * DECIBAN, low * DECIBAN, high * DECIBAN, rows)


def _against(log_theta: Array, others: Array, share: Array) -> Array:
    """ln θ_kv − ln Σ_l share_l θ_lv, the evidence of levels for a class against all the others together."""
    with np.errstate(divide="ignore"):
        return log_theta - np.log(share @ others)


def _doubt(table: Table, classes: Any, seen: NDArray[np.intp]) -> Array:
    """About the variance of ln θ: one over the rows that have the level, less one over all rows."""
    counts = np.atleast_2d(table.counts[classes]).sum(axis=0)
    n = counts.sum() + table.alpha * table.levels
    return np.maximum(1 / np.maximum(counts[seen] + table.alpha, LEAST**0.25) - 1 / max(n, LEAST), 0.0)


def _interval(table: Table, k: int, others: NDArray[np.intp], share: Array, v: int) -> tuple[float, float]:
    """Where nine of ten draws of the probabilities, given what was counted, put the evidence."""
    rng = np.random.default_rng(0)
    order = np.concatenate([[k], others])
    hits = table.counts[order, v] + table.alpha
    misses = table.counts[order].sum(axis=1) + table.alpha * table.levels - hits
    drawn = rng.beta(np.maximum(hits, LEAST), np.maximum(misses, LEAST), size=(DRAWS, len(order)))
    drawn = np.maximum(drawn, LEAST)
    low, high = np.quantile(np.log(drawn[:, 0]) - np.log(drawn[:, 1:] @ share), [0.05, 0.95])
    return float(low), float(high)


def make_block_summarisers(
    belief: GenerativeModel, labels: NDArray[Any], features: Sequence[Sequence[Feature]]
) -> Sequence[BlockSummariser]:
    """A speaker for each block, which has these features."""
    return [
        BlockSummariser(belief, i, labels, [feature.name for feature in block]) for i, block in enumerate(features)
    ]
