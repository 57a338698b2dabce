"""Summaries of fitted weights: each feature's average evidence for the true class, and the classes that it favours.

    Σ_k π_k E_k[s_kj(x) − Σ_{l≠k} π_l/(1−π_k) s_lj(x)],  E_k the mean over the rows of class k that have feature j,

for naive Bayes the strength of `families/feature_strength.py`. The means are computed from the ledger.
The telltales of a text column are the words with the strongest evidence for a class.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError, UndefinedError, did_you_mean, unknown_class_error
from deciban.families.binned import Bins
from deciban.families.feature_strength import Strengths
from deciban.families.telltales import Z90, Telltale, telltales
from deciban.ledger import Bags, Counts, Levels, Moments, Scatter, Tallies
from deciban.ledger.grid import cell_numbers
from deciban.ledger.levels import sums_by_feature
from deciban.ledger.statistic import divide
from deciban.linear.fitted_model import FittedModel
from deciban.model.feature_summaries import MAX_SUMMARY_CLASSES, BlockSummariser, LevelTable, WeightEffect
from deciban.scores import DECIBAN, BoundedRates, Diagonal, Linear, Lookup, SparseLinear, Steps
from deciban.scores.form_algebra import Summed
from deciban.sources.arrow_cells import format_label

if TYPE_CHECKING:
    from deciban.generative import GenerativeModel
    from deciban.model.model import Model


AVERAGED_DEVIATIONS, N_AVERAGED_VALUES = 8.0, 129
"""The range, in standard deviations, and the number of values of x over which evidence is averaged."""


def compute_contrasts(prior: Array) -> Array:
    """Return the contrasts of each class with the others by their shares, K×K: times scores, evidence in nats.

    >>> compute_contrasts(np.array([0.5, 0.25, 0.25])).round(3).tolist()
    [[1.0, -0.5, -0.5], [-0.667, 1.0, -0.333], [-0.667, -0.333, 1.0]]
    """
    against = -np.broadcast_to(prior, (len(prior), len(prior))) / np.maximum(1 - prior, 1e-300)[:, None]
    np.fill_diagonal(against, 1.0)
    return against


def compute_weight_strengths(form: Any, part: Any, prior: Array) -> Strengths | None:
    """Return the strength of each feature of a block in nats; None where the form is not a sum of weights."""
    if isinstance(form, Lookup):
        return _compute_level_strengths(form.log_theta, part.pad_levels(np.diff(form.offset)), prior)
    if isinstance(form, Steps):
        return _compute_level_strengths(form.log_theta, Bins(cell_numbers(form.cuts), form.start).counts(part), prior)
    if isinstance(part, Bags) and isinstance(form, (Linear, SparseLinear)):
        return _compute_text_strength(form.linear().weights, part, prior)
    if isinstance(form, Linear):
        return _compute_linear_strengths(form, part, prior)
    forms: Any = form.forms if isinstance(form, Summed) else (form,)
    has_terms = all(isinstance(one, (Diagonal, BoundedRates)) for one in forms)
    return _compute_term_strengths(forms, part, prior) if has_terms else None


def _compute_level_strengths(log_theta: Array, counts: Levels, prior: Array) -> Strengths:
    """Return the strengths of features of levels or bins."""
    evidence = compute_contrasts(prior) @ log_theta
    n = counts.weight
    mean = divide(sums_by_feature(counts.table * evidence, counts.offset), n)
    square = divide(sums_by_feature(counts.table * evidence**2, counts.offset), n)
    return _average_over_classes(mean, square - mean**2, n, prior)


def _compute_linear_strengths(form: Linear, part: Moments | Scatter | Counts, prior: Array) -> Strengths:
    """Return the strengths of numbers whose scores are weights times values."""
    slope = compute_contrasts(prior) @ form.weights
    level = 0.0 if form.offsets is None else compute_contrasts(prior) @ form.offsets
    mean, variance, n = _compute_class_moments(part)
    return _average_over_classes(slope * mean + level, slope**2 * variance, n, prior)


def _compute_term_strengths(
    forms: Sequence[Diagonal | BoundedRates], part: Moments | Counts, prior: Array
) -> Strengths:
    """Return the strengths of numbers or counts that were summed over boosting rounds, bounded or not, for normal x.

    The integrals are sums over evenly spaced x, which are exact for quadratic scores; no count is below 0.
    """
    mean, variance, n = _compute_class_moments(part)
    z = np.linspace(-AVERAGED_DEVIATIONS, AVERAGED_DEVIATIONS, N_AVERAGED_VALUES)
    weight = np.exp(-0.5 * z**2)
    weight /= weight.sum()
    moments = np.zeros((2, *mean.shape))
    for k, against in enumerate(compute_contrasts(prior)):
        x = mean[k] + np.sqrt(variance[k]) * z[:, None]
        x = np.maximum(x, 0.0) if isinstance(part, Counts) else x
        evidence = sum(np.einsum("l,nlj->nj", against, form.terms(x)) for form in forms)
        moments[:, k] = weight @ evidence, weight @ evidence**2
    return _average_over_classes(moments[0], moments[1] - moments[0] ** 2, n, prior)


def _compute_class_moments(part: Any) -> tuple[Array, Array, Array]:
    """Return means, variances and weights of each class and feature; counts have the variance of a Poisson."""
    if isinstance(part, Counts):
        n = np.broadcast_to(part.weight, part.total.shape)
        rate = divide(part.total, n)
        return rate, rate, n
    moments = part.moments if isinstance(part, Scatter) else part
    n = np.broadcast_to(moments.weight, moments.mean.shape)
    return moments.mean + moments.rest, divide(moments.m2, n), n


def _compute_text_strength(weights: Array, part: Bags, prior: Array) -> Strengths:
    """Return the strength of a text, which is one feature: the sum over its words."""
    tallies = part.occurrences
    each = (compute_contrasts(prior) @ weights)[tallies.class_code, tallies.feature]
    n, K = part.weight[:, 0], part.n_classes
    sums = [np.bincount(tallies.class_code, tallies.total * each**p, K).astype(np.float64) for p in (1, 2)]
    mean, variance = (divide(total, n) for total in sums)
    return _average_over_classes(mean[:, None], variance[:, None], n[:, None], prior)


def _average_over_classes(mean: Array, variance: Array, n: Array, prior: Array) -> Strengths:
    """Return the average over classes, and its 90 % interval."""
    live = np.where(n > 0, prior[:, None], 0.0)
    share = divide(live, np.broadcast_to(live.sum(axis=0), live.shape))
    value = (share * mean).sum(axis=0)
    error = Z90 * np.sqrt(np.maximum(share**2 * divide(variance, n), 0.0).sum(axis=0))
    return Strengths(value, value - error, value + error)


class WeightSummariser(BlockSummariser):
    """Summarises the features of one block of a fitted model, based on a generative model of the same rows."""

    def __init__(
        self, naive: GenerativeModel, block: int, labels: NDArray[Any], names: Sequence[str], model: FittedModel
    ) -> None:
        super().__init__(naive, block, labels, names)
        self.form, self.contrasts = model.solved.forms[block], compute_contrasts(model.solved.prior)

    def summarise(self, j: int) -> Sequence[WeightEffect]:
        """Return the strongest effects of feature j, the strongest first."""
        table = self.table(j)
        if table is not None:
            return self._find_level_effects(table)
        if isinstance(self.part, Bags):
            return self._find_word_effects(j)
        return self._find_number_effect(j) if isinstance(self.form, Linear) else []

    def _find_level_effects(self, table: LevelTable) -> list[WeightEffect]:
        """Return for each class the level with the largest sum of evidence for it over all rows."""
        evidence = self.contrasts @ table.log_theta
        rows = table.counts.sum(axis=0)
        sums = enumerate(evidence * rows) if rows.size else ()
        best = sorted(((float(each.max()), k, int(each.argmax())) for k, each in sums), reverse=True)
        return [
            self._make_effect(table.feature, table.name(v), k, float(evidence[k, v]), float(rows[v]))
            for total, k, v in best[:MAX_SUMMARY_CLASSES]
            if total > 0
        ]

    def _find_number_effect(self, j: int) -> list[WeightEffect]:
        """Return the class that a larger number favours, and the evidence of one standard deviation."""
        mean, variance, n = (each[:, j] for each in _compute_class_moments(self.part))
        total = max(float(n.sum()), np.finfo(np.float64).tiny)
        overall_mean = float(n @ mean) / total
        deviation = float(np.sqrt(n @ (variance + (mean - overall_mean) ** 2) / total))
        slope = self.contrasts @ self.form.weights[:, j] * deviation
        k = int(slope.argmax())
        return (
            [self._make_effect(self.names[j], f"+{deviation:.3g}", k, float(slope[k]), total)] if slope[k] > 0 else []
        )

    def _find_word_effects(self, j: int) -> list[WeightEffect]:
        if self.words is None:
            return []
        evidence = self.contrasts @ self.form.linear().weights
        documents = np.bincount(self.part.documents.feature, self.part.documents.total, evidence.shape[1])
        n_each = max(1, MAX_SUMMARY_CLASSES // len(evidence))
        strongest = [np.argsort(-each * documents, kind="stable")[:n_each] for each in evidence]
        found = [(k, int(v)) for k, columns in enumerate(strongest) for v in columns]
        found.sort(key=lambda at: -evidence[at] * documents[at[1]])
        return [
            self._make_effect(self.names[j], f'"{self.words[v]}"', k, float(evidence[k, v]), float(documents[v]))
            for k, v in found[:MAX_SUMMARY_CLASSES]
            if evidence[k, v] > 0
        ]

    def _make_effect(self, feature: str, value: str, k: int, nats: float, rows: float) -> WeightEffect:
        return WeightEffect(feature, value, self.labels[k], nats * DECIBAN, rows)


def find_telltales(model: Model, label: Any, n: int, column: str | None) -> list[Telltale]:
    """Return the n words with the strongest evidence for a class in a column of texts; UndefinedError for hashes."""
    text = _find_text_index(model, column)
    naive = model._naive.unsolved()
    known = [str(name) for name in naive.schema.classes]
    if format_label(label) not in known:
        raise unknown_class_error(label, known)
    k, block = known.index(format_label(label)), len(naive.complete.parts) - len(model._layout.texts) + text
    words = naive.complete.schema.blocks[block].names
    if words is None:
        raise UndefinedError(
            f"words were hashed (hashed={model.options.words.hashed}), so there are none to name. "
            f"Hint: train without hashed, and the words are kept"
        )
    if isinstance(model._scorer, FittedModel):
        return _find_fitted_telltales(model._scorer, block, k, n)
    family: Any = naive.assumption.families[block]
    part: Any = naive.complete.parts[block]
    return telltales(family, part, k, n, words)


def _find_fitted_telltales(model: FittedModel, block: int, k: int, n: int) -> list[Telltale]:
    """Return the words with the largest sum of evidence over a class's documents; weights have no interval (NaN)."""
    part: Any = model.naive.complete.parts[block]
    words: Any = model.naive.complete.schema.blocks[block].names
    evidence = DECIBAN * (compute_contrasts(model.solved.prior) @ model.solved.forms[block].linear().weights)[k]
    counts, documents = _split_by_class(part.occurrences, k), _split_by_class(part.documents, k)
    best = np.lexsort((-evidence, -np.where(evidence > 0, evidence * documents[0], evidence)))[:n]
    best = best[np.argsort(-evidence[best], kind="stable")]
    return [
        Telltale(words[v], float(evidence[v]), math.nan, math.nan, *(float(n[v]) for n in (*counts, *documents)))
        for v in best.tolist()
    ]


def _split_by_class(part: Tallies, k: int) -> tuple[Array, Array]:
    """Return the totals of every word in class k, and in all other classes."""
    own = np.where(part.class_code == k, part.total, 0.0)
    inside, total = (np.bincount(part.feature, each, part.n_features).astype(float) for each in (own, part.total))
    return inside, total - inside


def _find_text_index(model: Model, column: str | None) -> int:
    """Return the index of the text column: the only one, or the one that is named."""
    names = [feature.column for feature in model._layout.texts]
    if not names:
        raise UndefinedError(
            "the model has no column of texts, so it has no telltales. "
            "Hint: describe() summarises its columns; --as COLUMN=text (roles={'COLUMN': 'text'}) reads words"
        )
    if column is None:
        if len(names) > 1:
            raise InputError(f"the model has {len(names)} columns of texts. Hint: column= one of {names}")
        return 0
    if column not in names:
        near = did_you_mean(column, names) or "."
        raise InputError(f"{column!r} is not a column of texts{near} Hint: column= one of {names}")
    return names.index(column)
