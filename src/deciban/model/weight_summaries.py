"""What fitted weights say: each feature's average evidence for the true class, and who it speaks for, in words.

    Σ_k π_k E_k[s_kj(x) − Σ_{l≠k} π_l/(1−π_k) s_lj(x)],  E_k the mean over the rows of class k that have feature j,

for naive Bayes the strength of `families/feature_strength.py`. The means are in what was counted of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.families.binned import Bins
from deciban.families.feature_strength import Strengths
from deciban.formatting import signed
from deciban.ledger import Bags, Counts, Levels, Moments, Scatter
from deciban.ledger.grid import cell_numbers
from deciban.ledger.levels import sums_by_feature
from deciban.ledger.statistic import divide
from deciban.model.columns import Feature
from deciban.model.feature_summaries import MOST_CLASSES, Z90, BlockSummariser, Table, format_row_count
from deciban.scores import DECIBAN, Diagonal, Linear, Lookup, SparseLinear, Steps

if TYPE_CHECKING:
    from deciban.generative import GenerativeModel
    from deciban.linear.fitted_model import FittedModel


@dataclass(frozen=True)
class Weight:
    """What a level, a word, or a standard deviation more of a number adds for a class, in decibans."""

    feature: str
    value: str
    label: Any
    evidence: float
    rows: float

    def __str__(self) -> str:
        return f"{self.feature} {self.value} {self.message()}"

    def message(self) -> str:
        """What it says, without what says it."""
        return f"speaks for {self.label}: {signed(self.evidence, 1)} dB, {format_row_count(self.rows)}"


class Weighed(NamedTuple):
    """A feature, its average evidence and 90 % interval in decibans, and what it says."""

    feature: Feature
    span: tuple[float, float, float]
    block: int
    j: int


def contrasts(prior: Array) -> Array:
    """Each class against the others by their shares, K×K: times scores, the evidence for every class.

    >>> contrasts(np.array([0.5, 0.25, 0.25])).round(3).tolist()
    [[1.0, -0.5, -0.5], [-0.667, 1.0, -0.333], [-0.667, -0.333, 1.0]]
    """
    against = -np.broadcast_to(prior, (len(prior), len(prior))) / np.maximum(1 - prior, 1e-300)[:, None]
    np.fill_diagonal(against, 1.0)
    return against


def weighed(learned: FittedModel, features: Sequence[Sequence[Feature]]) -> Iterator[Weighed]:
    """Every feature whose weight is known, block by block."""
    prior, naive = learned.solved.prior, learned.naive
    for block, (form, part, mine) in enumerate(zip(learned.solved.forms, naive.complete.parts, features)):
        found = _strengths(form, part, prior)
        if found is not None:
            spans = np.stack(found, axis=1) * DECIBAN
            yield from (Weighed(f, tuple(span), block, j) for j, (f, span) in enumerate(zip(mine, spans.tolist())))


def _strengths(form: Any, part: Any, prior: Array) -> Strengths | None:
    """How strong each feature of a block is, in nats; None where the form is no sum of weights."""
    if isinstance(form, Lookup):
        return _of_levels(form.log_theta, part.widen(np.diff(form.offset)), prior)
    if isinstance(form, Steps):
        return _of_levels(form.log_theta, Bins(cell_numbers(form.cuts), form.start).counts(part), prior)
    if isinstance(part, Bags) and isinstance(form, (Linear, SparseLinear)):
        return _of_words(form.linear().weights, part, prior)
    if isinstance(form, Linear):
        return _of_numbers(form, part, prior)
    return _of_bells(form, part, prior) if isinstance(form, Diagonal) else None


def _of_levels(log_theta: Array, counts: Levels, prior: Array) -> Strengths:
    said = contrasts(prior) @ log_theta
    n = counts.weight
    mean = divide(sums_by_feature(counts.table * said, counts.offset), n)
    square = divide(sums_by_feature(counts.table * said**2, counts.offset), n)
    return _spread(mean, square - mean**2, n, prior)


def _of_numbers(form: Linear, part: Moments | Scatter | Counts, prior: Array) -> Strengths:
    slope = contrasts(prior) @ form.weights
    level = 0.0 if form.offsets is None else contrasts(prior) @ form.offsets
    mean, variance, n = _centres(part)
    return _spread(slope * mean + level, slope**2 * variance, n, prior)


def _of_bells(form: Diagonal, part: Moments, prior: Array) -> Strengths:
    """Bells that were summed over rounds: what those of all classes say, on average, of rows of class k.

    That is a square of x; of normal x it varies by slope² σ² + 2 bend² σ⁴.
    """
    mean, variance, n = _centres(part)
    against, gap = contrasts(prior), mean[:, None] - form.mean
    said = np.einsum("kl,klj->kj", against, form.log_norm - 0.5 * form.precision * (variance[:, None] + gap**2))
    slope = -np.einsum("kl,klj->kj", against, form.precision * gap)
    bend = -0.5 * against @ np.broadcast_to(form.precision, form.mean.shape)
    return _spread(said, slope**2 * variance + 2 * (bend * variance) ** 2, n, prior)


def _centres(part: Any) -> tuple[Array, Array, Array]:
    """Means, variances and weights of each class and feature; counts vary as Poisson's do."""
    if isinstance(part, Counts):
        n = np.broadcast_to(part.weight, part.total.shape)
        rate = divide(part.total, n)
        return rate, rate, n
    moments = part.moments if isinstance(part, Scatter) else part
    n = np.broadcast_to(moments.weight, moments.mean.shape)
    return moments.mean + moments.rest, divide(moments.m2, n), n


def _of_words(weights: Array, part: Bags, prior: Array) -> Strengths:
    """A text is one feature: what its words say together."""
    said = contrasts(prior) @ weights
    counted = part.occurrences
    each = said[counted.klass, counted.feature]
    n, K = part.weight[:, 0], part.n_classes
    mean = divide(_by_class(counted.klass, counted.total * each, K), n)
    variance = divide(_by_class(counted.klass, counted.total * each**2, K), n)
    return _spread(mean[:, None], variance[:, None], n[:, None], prior)


def _by_class(klass: NDArray[np.int32], values: Array, n_classes: int) -> Array:
    return np.bincount(klass, values, n_classes).astype(np.float64)


def _spread(mean: Array, variance: Array, n: Array, prior: Array) -> Strengths:
    """The average over classes, and nine of ten of what it might as well have been."""
    live = np.where(n > 0, prior[:, None], 0.0)
    share = divide(live, np.broadcast_to(live.sum(axis=0), live.shape))
    value = (share * mean).sum(axis=0)
    error = Z90 * np.sqrt(np.maximum(share**2 * divide(variance, n), 0.0).sum(axis=0))
    return Strengths(value, value - error, value + error)


class WeightSummariser:
    """Puts into words what the weights of one block say."""

    def __init__(
        self, learned: FittedModel, naive: GenerativeModel, block: int, labels: NDArray[Any], names: Sequence[str]
    ) -> None:
        self.form, self.labels, self.names = learned.solved.forms[block], labels, names
        self.contrasts = contrasts(learned.solved.prior)
        self.part: Any = naive.complete.parts[block]
        self.speaker = BlockSummariser(naive, block, labels, names)
        self.speaker.form = self.form

    def says(self, j: int) -> list[Weight]:
        """What speaks for each class, the most telling first."""
        table = self.speaker.table(j)
        if table is not None:
            return self._of_levels(table)
        if isinstance(self.part, Bags):
            return self._of_words(j)
        return self._of_number(j) if isinstance(self.form, Linear) else []

    def _of_levels(self, table: Table) -> list[Weight]:
        """For each class the level that says most for it over all rows."""
        said = self.contrasts @ table.log_theta
        rows = table.counts.sum(axis=0)
        told = [(said[k] * rows, k) for k in range(len(said))] if rows.size else []
        best = sorted(((float(gain.max()), k, int(gain.argmax())) for gain, k in told), reverse=True)
        return [
            self._weight(table.feature, table.name(v), k, float(said[k, v]), float(rows[v]))
            for gain, k, v in best[:MOST_CLASSES]
            if gain > 0
        ]

    def _of_number(self, j: int) -> list[Weight]:
        """The class that a larger number speaks for, and how much of it a standard deviation is worth."""
        assert isinstance(self.form, Linear)
        mean, variance, n = (each[:, j] for each in _centres(self.part))
        whole = max(float(n.sum()), np.finfo(np.float64).tiny)
        middle = float(n @ mean) / whole
        deviation = float(np.sqrt(n @ (variance + (mean - middle) ** 2) / whole))
        slope = self.contrasts @ self.form.weights[:, j] * deviation
        k = int(slope.argmax())
        return [self._weight(self.names[j], f"+{deviation:.3g}", k, float(slope[k]), whole)] if slope[k] > 0 else []

    def _of_words(self, j: int) -> list[Weight]:
        words: Any = self.speaker.words
        if words is None:
            return []
        said = self.contrasts @ self.form.linear().weights
        documents = np.bincount(self.part.documents.feature, self.part.documents.total, said.shape[1])
        each = max(1, MOST_CLASSES // len(said))
        most = [np.argsort(-gain * documents, kind="stable")[:each] for gain in said]
        found = [(k, int(v)) for k, telling in enumerate(most) for v in telling]
        found.sort(key=lambda at: -said[at] * documents[at[1]])
        return [
            self._weight(self.names[j], f'"{words[v]}"', k, float(said[k, v]), float(documents[v]))
            for k, v in found[:MOST_CLASSES]
            if said[k, v] > 0
        ]

    def _weight(self, feature: str, value: str, k: int, nats: float, rows: float) -> Weight:
        return Weight(feature, value, self.labels[k], nats * DECIBAN, rows)
