"""Summaries of features in words: the level or bin with the strongest evidence for a class, or the class's mean."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.families.binned import Binned, Bins
from deciban.families.family import broadcast_alpha
from deciban.families.gaussian import means
from deciban.families.level_families import Categorical, SeparateLevels
from deciban.families.telltales import Z90, telltales
from deciban.formatting import format_count, format_signed
from deciban.generative import GenerativeModel
from deciban.ledger import Bags, Counts, Grid, Levels, Moments, Scatter
from deciban.ledger.grid import cell_numbers
from deciban.ledger.statistic import divide
from deciban.model.columns import Feature
from deciban.scores import DECIBAN, Diagonal, Full, Lookup, Steps

N_INTERVAL_DRAWS = 400
"""Number of draws of a probability whose quantiles are an interval."""

MAX_SUMMARY_CLASSES = 4
"""Largest number of classes that a feature is summarised for: those for which it has the most evidence."""

MAX_INTERVAL_CLASSES = 10 * MAX_SUMMARY_CLASSES
"""Largest number of classes whose intervals are drawn to find these: those of the highest approximate lower ends. The
draws for a class grow with the number of classes: the intervals of 1 000 classes took 20 s."""

MIN_PROBABILITY = np.finfo(np.float64).tiny
"""Lower bound of pseudo-counts and probabilities that would be 0."""


@dataclass(frozen=True)
class LevelEffect:
    """Evidence of a level or bin for a class against all others, in decibans, with a 90 % interval."""

    feature: str
    value: str
    label: Any
    evidence: float
    low: float
    high: float
    rows: float

    def __str__(self) -> str:
        return f"{self.feature} {self.value} {self.message()}"

    def scale(self, t: float) -> "LevelEffect":
        """Return the effect with its evidence multiplied by an evidence weight t."""
        low, high = sorted((t * self.low, t * self.high))
        return replace(self, evidence=t * self.evidence, low=low, high=high)

    def message(self) -> str:
        """Return the effect in words, without the name of the feature and its value."""
        span = f"({format_signed(self.low, 1)} … {format_signed(self.high, 1)})"
        return f"favours {self.label}: {format_signed(self.evidence, 1)} dB {span}, {format_count(self.rows, 'row')}"


@dataclass(frozen=True)
class ClassMean:
    """The mean or rate of a class, its standard error, and the rows that it is computed from."""

    feature: str
    what: str
    label: Any
    value: float
    error: float
    rows: float

    def __str__(self) -> str:
        return f"{self.feature}: {self.what} {self.message()}"

    def message(self) -> str:
        """Return the mean in words, without the name of the feature."""
        return f"in {self.label} {self.value:.4g} ± {self.error:.2g}, {format_count(self.rows, 'row')}"


@dataclass(frozen=True)
class WeightEffect:
    """Evidence for a class of a level, a word, or an increase of a number by one standard deviation, in decibans."""

    feature: str
    value: str
    label: Any
    evidence: float
    rows: float

    def __str__(self) -> str:
        return f"{self.feature} {self.value} {self.message()}"

    def message(self) -> str:
        """Return the effect in words, without the name of the feature and its value."""
        return f"favours {self.label}: {format_signed(self.evidence, 1)} dB, {format_count(self.rows, 'row')}"


FeatureSummary = LevelEffect | ClassMean | WeightEffect


@dataclass(frozen=True)
class LevelTable:
    """One feature's levels or bins: name of level v, counts and ln θ (K×V), and pseudo-counts a_kv (K×V).

    `added` is their sum in each class (K×1), with that of levels never seen where these are smoothed; `unseen` is the
    pseudo-count of such a level (K×1), and `formula` the formula of θ.
    """

    feature: str
    name: Callable[[int], str]
    counts: Array
    log_theta: Array
    pseudo: Array
    added: Array
    unseen: Array
    formula: str


class BlockSummariser:
    """Summarises the features of one block of a generative model."""

    def __init__(self, model: GenerativeModel, block: int, labels: NDArray[Any], names: Sequence[str]) -> None:
        self.family: Any = model.assumption.families[block]
        part: Any = model.complete.parts[block]
        self.part: Any = part.moments if isinstance(part, Scatter) else part
        self.form: Any = model.solved.forms[block]
        self.names: Sequence[str] = names
        self.words: Any = model.complete.schema.blocks[block].names
        self.levels = model.ledger.schema.blocks[block].levels
        self.prior, self.labels = model.solved.prior, labels
        self._pooled: SeparateLevels | None = None
        self._binned: Levels | None = None

    def summarise(self, j: int) -> Sequence[FeatureSummary]:
        """Return the summaries of feature j for each class, or for those that it has the most evidence for."""
        table = self.table(j)
        if table is not None:
            return find_strongest_levels(table, self.prior, self.labels)
        return self._find_strongest_words(j) if isinstance(self.part, Bags) else self._find_class_means(j)

    def table(self, j: int) -> LevelTable | None:
        """Return the levels or bins of feature j; None where it has neither."""
        if isinstance(self.part, Levels):
            return self._make_level_table(j)
        return self._make_bin_table(j) if isinstance(self.part, Grid) else None

    def _make_table(self, j: int, name: Callable[[int], str], all_counts: Levels, log_theta: Array) -> LevelTable:
        """Return the table of feature j, with the pseudo-counts that the family adds."""
        family = self.family.levels if isinstance(self.family, Binned) else self.family
        alpha = float(broadcast_alpha(family.alpha, self.part.n_features)[j])
        counts, one = all_counts.take_features(np.array([j])), replace(family, alpha=alpha)
        pseudo, unseen, added = one.pseudo_counts(counts)
        formula = one.write_formula(counts)
        return LevelTable(self.names[j], name, counts.table, log_theta, pseudo, added, unseen, formula)

    def _make_level_table(self, j: int) -> LevelTable:
        """Return the distinct levels of feature j; one more stands for all levels that the family pools."""
        family: Categorical = self.family
        full = family.full(self.part)
        self._pooled = self._pooled or family.separate_levels(full)
        counts, form = self._pooled.counts, self.form
        assert isinstance(form, Lookup)
        first, last = self._pooled.codes(full, j)
        a, size = int(full.offset[j]), int(counts.sizes[j])
        names = () if self.levels is None else self.levels[j]

        def name(v: int) -> str:
            if v == size - 1 and len(last) > 1:
                return f"= one of the {len(last)} rarest"
            code = int(first[v])
            return f"= {names[code] if code < len(names) else 'another value'}"

        return self._make_table(j, name, counts, form.log_theta[:, a + first[:size]])

    def _make_bin_table(self, j: int) -> LevelTable:
        """Return the bins of feature j, named by their limits."""
        form = self.form
        assert isinstance(form, Steps)
        if self._binned is None:
            self._binned = Bins(cell_numbers(form.cuts), form.start).counts(self.part)
        own = slice(self._binned.offset[j], self._binned.offset[j + 1])
        cuts = form.cuts[form.start[j] : form.start[j + 1]]

        def name(b: int) -> str:
            if not len(cuts):
                return "any number"
            if b == 0:
                return f"below {cuts[0]:.5g}"
            upper = f" and below {cuts[b]:.5g}" if b < len(cuts) else ""
            return f"from {cuts[b - 1]:.5g}{upper}"

        return self._make_table(j, name, self._binned, form.log_theta[:, own])

    def _find_strongest_words(self, j: int) -> list[LevelEffect]:
        """Return the words with the strongest evidence for each class, at most `MAX_SUMMARY_CLASSES` in all."""
        K = len(self.prior)
        if self.words is None or K < 2:
            return []
        found = [
            (
                word.low * word.documents,
                LevelEffect(
                    self.names[j], f'"{word.word}"', self.labels[k], word.decibans, word.low, word.high,
                    word.documents + word.documents_elsewhere,
                ),
            )
            for k in range(K)
            for word in telltales(self.family, self.part, k, max(1, MAX_SUMMARY_CLASSES // K), self.words)
            if word.decibans > 0
        ]  # fmt: skip
        return [effect for _, effect in sorted(found, key=lambda pair: -pair[0])][:MAX_SUMMARY_CLASSES]

    def _find_class_means(self, j: int) -> list[ClassMean]:
        """Return means or rates: of all classes, or of the two that are farthest from each other."""
        what, value, variance = self._find_mean_and_variance(j)
        n = np.broadcast_to(self.part.weight, (self.part.n_classes, self.part.n_features))[:, j]
        error = np.sqrt(divide(variance, n))
        seen = np.flatnonzero(n > 0)
        if len(seen) > MAX_SUMMARY_CLASSES:
            order = seen[np.argsort(value[seen], kind="stable")]
            seen = order[[0, -1]]
        each = zip(self.labels[seen], value[seen].tolist(), error[seen].tolist(), n[seen].tolist())
        return [ClassMean(self.names[j], what, *values) for values in each]

    def _find_mean_and_variance(self, j: int) -> tuple[str, Array, Array]:
        """Return "mean" or, for counts, "rate"; that of feature j in each class; and the variance of its values."""
        part, form = self.part, self.form
        if isinstance(part, Moments):
            assert isinstance(form, (Diagonal, Full))
            variance = form.variance if isinstance(form, Diagonal) else np.diagonal(form.covariance, axis1=1, axis2=2)
            return "mean", means(part)[:, j], variance[:, j]
        assert isinstance(part, Counts)
        rate = self.family.rates(part)[:, j]
        return "rate", rate, rate


def find_strongest_levels(table: LevelTable, prior: Array, labels: NDArray[Any]) -> list[LevelEffect]:
    """Return the level with the strongest evidence for each class, by the lower end of the interval, strongest first.

    There are at most `MAX_SUMMARY_CLASSES`; a class that no level has evidence for is left out.
    A level that was seen once may by chance have the largest estimate; it should not be listed first.
    """
    if table.counts.shape[1] < 2:
        return []
    strongest = [level for level in _find_level_per_class(table, prior) if level.nats > 0]
    found = nlargest(MAX_INTERVAL_CLASSES, strongest, key=lambda e: e.low)
    effects = [_measure_effect(level, table, prior, labels) for level in sorted(found)]
    return sorted(effects, key=lambda e: -e.low)[:MAX_SUMMARY_CLASSES]


class StrongestLevel(NamedTuple):
    """The level v with the strongest evidence for class k, in nats, and the approximate lower end of its interval."""

    k: int
    v: int
    nats: float
    low: float


def _find_level_per_class(table: LevelTable, prior: Array) -> list[StrongestLevel]:
    """Return the level with the strongest evidence for each class that has rows, also where that is not above 0."""
    known = np.flatnonzero((table.counts.sum(axis=1) > 0) & (prior < 1))
    if not len(known):
        return []
    seen = np.flatnonzero(table.counts.sum(axis=0) > 0)
    counts, theta = table.counts[:, seen], np.exp(table.log_theta[:, seen])
    # ln θ_kv − ln(Σ_l≠k π_l θ_lv / Σ_l≠k π_l), the evidence for k against all others together
    weighted, others = _sum_other_classes(prior[:, None] * theta), _sum_other_classes(prior)[:, None]
    pooled = divide(weighted, others, _sum_other_classes(theta) / (len(prior) - 1))
    with np.errstate(divide="ignore"):
        nats = table.log_theta[np.ix_(known, seen)] - np.log(pooled[known])
    sums = counts, table.pseudo[:, seen], table.added
    variances = _estimate_variances(*sums) + _estimate_variances(*map(_sum_other_classes, sums))
    low = nats - Z90 * np.sqrt(variances[known])
    best = low.argmax(axis=1)
    rows = np.arange(len(known))
    return [*map(StrongestLevel, *(each.tolist() for each in (known, seen[best], nats[rows, best], low[rows, best])))]


def _sum_other_classes(values: Array) -> Array:
    """Return for each class, by the first axis, the sum over all others: of those before it, and of those after it.

    A total less the class itself would leave nothing but rounding errors of small others.

    >>> _sum_other_classes(np.array([1.0, 1e20, 2.0])).tolist()
    [1e+20, 3.0, 1e+20]
    """
    none = np.zeros_like(values[:1])
    before, after = (np.cumsum(np.concatenate([none, each[:-1]]), axis=0) for each in (values, values[::-1]))
    return before + after[::-1]


def _find_other_classes(k: int, prior: Array) -> tuple[NDArray[np.intp], Array]:
    """Return all classes but k, and the share of each among them."""
    others = np.delete(np.arange(len(prior)), k)
    return others, divide(prior[others], np.full(len(others), prior[others].sum()), 1 / len(others))


def _measure_effect(level: StrongestLevel, table: LevelTable, prior: Array, labels: NDArray[Any]) -> LevelEffect:
    """Return the evidence of a level for a class in decibans, with its interval."""
    k, v = level.k, level.v
    low, high = _compute_interval(table, k, *_find_other_classes(k, prior), v)
    rows = float(table.counts[:, v].sum())
    return LevelEffect(
        table.feature, table.name(v), labels[k], level.nats * DECIBAN, low * DECIBAN, high * DECIBAN, rows
    )


def _estimate_variances(counts: Array, pseudo: Array, added: Array) -> Array:
    """Approximate the variances of ln θ with these counts, K×V: 1/rows with the level − 1/all rows."""
    n = counts.sum(axis=1, keepdims=True) + added
    of_level = 1 / np.maximum(counts + pseudo, MIN_PROBABILITY**0.25)
    return np.maximum(of_level - 1 / np.maximum(n, MIN_PROBABILITY), 0.0)


def _compute_interval(
    table: LevelTable, k: int, others: NDArray[np.intp], share: Array, v: int
) -> tuple[float, float]:
    """Return the central 90 % interval of the evidence over draws of the probabilities given the counts."""
    rng = np.random.default_rng(0)
    order = np.concatenate([[k], others])
    hits = table.counts[order, v] + table.pseudo[order, v]
    misses = table.counts[order].sum(axis=1) + table.added[order, 0] - hits
    drawn = rng.beta(
        np.maximum(hits, MIN_PROBABILITY), np.maximum(misses, MIN_PROBABILITY), size=(N_INTERVAL_DRAWS, len(order))
    )
    drawn = np.maximum(drawn, MIN_PROBABILITY)
    low, high = np.quantile(np.log(drawn[:, 0]) - np.log(drawn[:, 1:] @ share), [0.05, 0.95])
    return float(low), float(high)


def make_block_summarisers(
    model: GenerativeModel, labels: NDArray[Any], features: Sequence[Sequence[Feature]]
) -> Sequence[BlockSummariser]:
    """Return a summariser for each block of features."""
    return [
        BlockSummariser(model, i, labels, [feature.name for feature in block]) for i, block in enumerate(features)
    ]
