"""Telltales: the words that distinguish a class from all other classes together, with intervals of their evidence.

The posterior of a share θ is a Dirichlet (of odds, a Beta); the cumulants of its logarithm are polygamma functions:
mean ψ(n + α) − ψ(N + αV), variance ψ′(n + α) − ψ′(N + αV), and so on. The two sides are independent, so their
cumulants add; the ends of the 90 % interval follow from the first three by the Cornish-Fisher expansion, since the
distribution of a word that the other classes lack is very skewed.

The width of the interval is computed from documents, not occurrences, since the words of one document are dependent.
The evidence of a word is that of the model.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError, UndefinedError
from deciban.families.family import log
from deciban.families.text_family import SelectedWords, Text
from deciban.ledger import Bags, Tallies
from deciban.ledger.statistic import divide
from deciban.scores import DECIBAN, SparseLinear

Z90 = 1.6448536269514722
"""Half the width of the central 90 % interval of the standard normal distribution: its 95 % quantile."""

MIN_INTERVAL_ALPHA = 0.5
"""Smallest pseudo-count (Jeffreys') for intervals: a smaller one makes words that were never seen look certain, and
words seen once in one class alone would head every list."""


class Telltale(NamedTuple):
    """A word that distinguishes a class, its evidence in decibans, and its counts in the class and elsewhere.

    `low` and `high` are the ends of a 90 % interval.
    """

    word: Any
    decibans: float
    low: float
    high: float
    count: float  # type: ignore[assignment]  # hides the method of tuples, which is not needed here
    elsewhere: float
    documents: float
    documents_elsewhere: float


class _Contrast(NamedTuple):
    """The words of a class, their counts in it and in all other classes, and the total counts on both sides."""

    words: NDArray[np.intp]
    here: Array
    there: Array
    all_here: float
    all_there: float


class _Cumulants(NamedTuple):
    """The first three cumulants of a logarithm."""

    mean: Array
    variance: Array
    skew: Array

    def minus(self, other: "_Cumulants") -> "_Cumulants":
        """Return the cumulants of the difference of two independent variables."""
        return _Cumulants(self.mean - other.mean, self.variance + other.variance, self.skew - other.skew)

    def quantile(self, z: float) -> Array:
        """Return the quantile that corresponds to z of the standard normal distribution."""
        spread = np.sqrt(self.variance)
        skewness = divide(self.skew, spread**3)  # with counts beyond 1e200 the spread is 0
        return self.mean + spread * (z + (z**2 - 1) * skewness / 6 - (2 * z**3 - 5 * z) * skewness**2 / 36)


def telltales(family: Text, part: Bags, k: int, n: int, names: Sequence[str] | None = None) -> list[Telltale]:
    """Return the n best telltales of class k, or all if fewer: by the low end of their evidence times its documents.

    The evidence is ln θ_k/θ_others, for a Bernoulli that of the odds, for a complement its weight minus the mean of
    the others' (with the interval of a multinomial). By the low ends alone, names of frequent authors and fragments
    of encoded files head the lists of 20 Newsgroups; by the product, "windows", "sale" and "car".
    Words are identified by their names, or by their places where no names are given.

    >>> from deciban.ledger import Counts
    >>> words = Tallies.from_counts(Counts(np.array([[90.0, 10, 1], [50, 50, 0]]), np.array([[9.0], [9.0]])))
    >>> [(t.word, round(t.decibans, 1)) for t in telltales(Text("words"), Bags(words, words), 0, 2)]
    [(0, 2.5), (2, 3.0)]
    """
    K = part.n_classes
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
        raise InputError(f"n must be a whole number ≥ 0, not {n!r}")
    if K < 2:
        raise UndefinedError("telltales tell one class from the others, and this model has one class.")
    if not 0 <= k < K:
        raise InputError(f"there is no class {k}. Hint: the {K} classes have the numbers 0 to {K - 1}")
    kept = family.select_words(part)
    contrast = _contrast_words(kept.counted, k, kept.counted.feature[kept.counted.class_code == k])
    evidence, low, high = (DECIBAN * each for each in _evidence(family, part, kept, contrast, k))
    documents = _count_words(part.documents, k, kept.places[contrast.words])[0]
    best = np.lexsort((contrast.words, -evidence, -np.where(low > 0, low * documents, low)))[:n]
    words = kept.places[contrast.words[best]]
    counts = [_count_words(tallies, k, words) for tallies in (part.occurrences, part.documents)]
    columns = (evidence[best], low[best], high[best], *counts[0], *counts[1])
    labels = words.tolist() if names is None else [names[v] for v in words.tolist()]
    return [Telltale(*row) for row in zip(labels, *(column.tolist() for column in columns))]


def _contrast_words(part: Tallies, k: int, words: NDArray[np.intp]) -> _Contrast:
    """Return the counts of these words in class k and in all others, and the total counts of both sides."""
    sums = part.per_class(part.total)
    return _Contrast(words, *_count_words(part, k, words), float(sums[k]), float(np.delete(sums, k).sum()))


def _count_words(part: Tallies, k: int, words: NDArray[np.intp]) -> tuple[Array, Array]:
    """Return how often each word occurs in class k, and elsewhere."""
    here = np.zeros(part.n_features)
    here[part.feature[part.class_code == k]] = part.total[part.class_code == k]
    return here[words], np.maximum(part.per_feature(part.total)[words] - here[words], 0.0)


def _evidence(
    family: Text, part: Bags, kept: SelectedWords, contrast: _Contrast, k: int
) -> tuple[Array, Array, Array]:
    """Return the evidence of each word in nats, and both ends of the interval."""
    alpha, larger = family.alpha, max(family.alpha, MIN_INTERVAL_ALPHA)
    if family.event == "bernoulli":
        rows = float(part.weight[k, 0]), float(np.delete(part.weight, k).sum())
        evidence, cautious = _log_odds(contrast, rows, alpha), _log_odds(contrast, rows, larger)
        here, there = (_odds_cumulants(n, N, larger) for n, N in zip((contrast.here, contrast.there), rows))
        return evidence, *_ends(evidence, evidence, cautious, here.minus(there))
    counts, V = _contrast_words(part.documents.take_features(kept.places), k, contrast.words), len(kept.places)
    sides = (counts.here, counts.all_here), (counts.there, counts.all_there)
    here, there = (_share_cumulants(n, N, larger, V) for n, N in sides)
    bold, cautious = (_log_shares(counts, a, V) for a in (alpha, larger))
    if family.event == "complement":
        form = family.solve(part)
        evidence, scale = _above_others(form, k, kept.places[contrast.words]), float(form.scale[k])
    else:
        evidence, scale = _log_shares(contrast, alpha, V), 1.0
    return evidence, *_ends(evidence, bold, cautious, here.minus(there), scale)


def _ends(
    evidence: Array, bold: Array, cautious: Array, posterior: _Cumulants, scale: float = 1.0
) -> tuple[Array, Array]:
    """Return the ends of the interval about the evidence of each word.

    They are as far from it as the quantiles of the posterior are from the evidence of the counts. `bold` is that with
    the model's pseudo-count, `cautious` with a larger one: their difference is an effect of the pseudo-count, and the
    interval includes it.
    """
    infinite = np.isinf(evidence)
    gap = np.where(infinite, 0.0, bold - cautious)
    low = np.where(infinite, cautious, evidence - scale * np.maximum(gap, 0.0))
    low = low + scale * (posterior.quantile(-Z90) - cautious)
    return low, evidence + scale * (np.maximum(-gap, 0.0) + posterior.quantile(Z90) - cautious)


def _share_cumulants(n: Array, N: float, alpha: float, V: int) -> _Cumulants:
    """Return the cumulants of ln θ, θ the share of a word, with a Dirichlet posterior."""
    from scipy.special import polygamma

    a, A = n + alpha, N + alpha * V
    return _Cumulants(*(polygamma(m, a) - polygamma(m, A) for m in range(3)))


def _odds_cumulants(n: Array, N: float, alpha: float) -> _Cumulants:
    """Return the cumulants of ln θ/(1 − θ), θ the share of the documents that have a word, with a Beta posterior."""
    from scipy.special import polygamma

    on, off = n + alpha, np.maximum(N - n, 0.0) + alpha
    return _Cumulants(*(polygamma(m, on) + sign * polygamma(m, off) for m, sign in enumerate((-1, 1, -1))))


def _log_shares(contrast: _Contrast, alpha: float, V: int) -> Array:
    """Return ln θ_k − ln θ_others; 0 where the other classes have no words at all, as in the model."""
    here, there = contrast.here + alpha, contrast.there + alpha
    all_here, all_there = contrast.all_here + alpha * V, contrast.all_there + alpha * V
    if all_there == 0:
        return np.zeros(len(here))
    return log(here) - log(there) - np.log(all_here) + np.log(all_there)


def _log_odds(contrast: _Contrast, rows: tuple[float, float], alpha: float) -> Array:
    """Return logit θ_k − logit θ_others."""
    here = log(contrast.here + alpha) - log(np.maximum(rows[0] - contrast.here, 0.0) + alpha)
    return here - log(contrast.there + alpha) + log(np.maximum(rows[1] - contrast.there, 0.0) + alpha)


def _above_others(form: SparseLinear, k: int, words: NDArray[np.intp]) -> Array:
    """Return weight_kv minus the mean of the other classes' weights."""
    own = form.weights(np.full(len(words), k), words)
    deltas = np.bincount(form.feature, weights=form.delta, minlength=len(form.base))[words]
    every = form.slope.sum() + form.scale.sum() * form.base[words] + deltas
    return own - (every - own) / (form.n_classes - 1)
