"""Telltales: the words that tell a class from all other classes together, and how sure we are of each.

What is known of a share θ after counting is a Dirichlet (of an odds, a Beta), whose logarithm has polygammas for
cumulants: mean ψ(n + α) − ψ(N + αV), variance ψ′(n + α) − ψ′(N + αV), and so on. The two sides are independent, so
theirs add; the ends of the 90 % interval follow from the first three by Cornish and Fisher's expansion, since a word
that the other classes never had leaves a very lopsided one.

What is counted for the width of the interval are documents, not occurrences: the words of one document come together.
What a word says remains the model's own.
"""

from __future__ import annotations

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

Z = 1.6448536269514722
"""A normal variable lies above this one time in twenty."""

LEAST_ALPHA = 0.5
"""How sure we are is judged with at least Jeffreys' pseudo-count: a smaller one claims to know all about words that
were never seen, and by it those seen once in one class alone would head every list."""


class Telltale(NamedTuple):
    """A word that tells a class from all others, what it says in decibans, and how often it was seen where.

    `low` and `high` are the ends of a 90 % interval.
    """

    word: Any
    decibans: float
    low: float
    high: float
    count: float  # type: ignore[assignment]  # a tuple has a method of that name, which nobody needs here
    elsewhere: float
    documents: float
    documents_elsewhere: float


class _Against(NamedTuple):
    """The words that a class has, how often they are there and in all other classes, and all words on either side."""

    words: NDArray[np.intp]
    here: Array
    there: Array
    all_here: float
    all_there: float


class _Known(NamedTuple):
    """Cumulants of a logarithm."""

    mean: Array
    variance: Array
    skew: Array

    def less(self, other: _Known) -> _Known:
        """Those of the difference of two that are independent."""
        return _Known(self.mean - other.mean, self.variance + other.variance, self.skew - other.skew)

    def end(self, z: float) -> Array:
        """The point that a normal variable would reach at z."""
        spread = np.sqrt(self.variance)
        lopsided = divide(self.skew, spread**3)  # of counts beyond 1e200 the spread is 0
        return self.mean + spread * (z + (z**2 - 1) * lopsided / 6 - (2 * z**3 - 5 * z) * lopsided**2 / 36)


def telltales(family: Text, part: Bags, k: int, n: int, names: Sequence[str] | None = None) -> list[Telltale]:
    """The n most telling words of class k: by what they say at least, times its documents that have them.

    ln θ_k/θ_rest, of a Bernoulli the same of the odds, of a complement by how much its weight exceeds the mean of the
    others' (with the interval of a multinomial). By the low ends alone, names of those who write much and the debris
    of encoded files head the lists of 20 Newsgroups; by what they come to in all, "windows", "sale" and "car".
    Words are called by their names, or by their places where no names are given.

    >>> from deciban.ledger import Counts
    >>> words = Tallies.from_counts(Counts(np.array([[90.0, 10, 1], [50, 50, 0]]), np.array([[9.0], [9.0]])))
    >>> [(told.word, round(told.decibans, 1)) for told in telltales(Text("words"), Bags(words, words), 0, 2)]
    [(0, 2.5), (2, 3.0)]
    """
    K = part.n_classes
    if isinstance(n, bool) or not isinstance(n, int) or n < 0:
        raise InputError(f"n must be a whole number ≥ 0, not {n!r}")
    if K < 2:
        raise UndefinedError("telltales tell one class from the others, and this model has one class.")
    if not 0 <= k < K:
        raise InputError(f"there is no class {k}. Hint: the {K} classes have the numbers 0 to {K - 1}")
    kept = family.select_words(part)
    told = _against(kept.counted, k)
    evidence, low, high = (DECIBAN * each for each in _evidence(family, part, kept, told, k))
    documents = _numbers(part.documents, k, kept.places[told.words])[0]
    best = np.lexsort((told.words, -evidence, -np.where(low > 0, low * documents, low)))[:n]
    words = kept.places[told.words[best]]
    counts = [_numbers(tallies, k, words) for tallies in (part.occurrences, part.documents)]
    columns = (evidence[best], low[best], high[best], *counts[0], *counts[1])
    called = words.tolist() if names is None else [names[v] for v in words.tolist()]
    return [Telltale(*row) for row in zip(called, *(column.tolist() for column in columns))]


def _against(part: Tallies, k: int) -> _Against:
    return _counted(part, k, part.feature[part.klass == k])


def _counted(part: Tallies, k: int, words: NDArray[np.intp]) -> _Against:
    sums = part.per_class(part.total)
    return _Against(words, *_numbers(part, k, words), float(sums[k]), float(np.delete(sums, k).sum()))


def _numbers(part: Tallies, k: int, words: NDArray[np.intp]) -> tuple[Array, Array]:
    """How often each word was in class k, and elsewhere."""
    here = np.zeros(part.n_features)
    here[part.feature[part.klass == k]] = part.total[part.klass == k]
    return here[words], np.maximum(part.per_feature(part.total)[words] - here[words], 0.0)


def _evidence(family: Text, part: Bags, kept: SelectedWords, told: _Against, k: int) -> tuple[Array, Array, Array]:
    """What each word says in nats, and both ends of the interval."""
    alpha, cautious = family.alpha, max(family.alpha, LEAST_ALPHA)
    if family.event == "bernoulli":
        rows = float(part.weight[k, 0]), float(np.delete(part.weight, k).sum())
        says, certain = _log_odds(told, rows, alpha), _log_odds(told, rows, cautious)
        known = _odds(told.here, rows[0], cautious).less(_odds(told.there, rows[1], cautious))
        return says, *_ends(says, says, certain, known)
    counts, V = _counted(part.documents.reorder(kept.places), k, told.words), len(kept.places)
    sides = (counts.here, counts.all_here), (counts.there, counts.all_there)
    here, there = (_share(n, N, cautious, V) for n, N in sides)
    bold, certain = (_log_shares(counts, a, V) for a in (alpha, cautious))
    if family.event == "complement":
        form = family.solve(part)
        says = _above_others(form, k, kept.places[told.words])
        return says, *_ends(says, bold, certain, here.less(there), float(form.scale[k]))
    says = _log_shares(told, alpha, V)
    return says, *_ends(says, bold, certain, here.less(there))


def _ends(says: Array, bold: Array, certain: Array, known: _Known, scale: float = 1.0) -> tuple[Array, Array]:
    """As far from what a word says as the ends of what is known are from what the counts say.

    `bold` is what they say with the model's pseudo-count, `certain` with a cautious one: what the one says beyond the
    other is no more than its own doing, and the interval reaches over it.
    """
    endless = np.isinf(says)
    gap = np.where(endless, 0.0, bold - certain)
    low = np.where(endless, certain, says - scale * np.maximum(gap, 0.0)) + scale * (known.end(-Z) - certain)
    return low, says + scale * (np.maximum(-gap, 0.0) + known.end(Z) - certain)


def _share(n: Array, N: float, alpha: float, V: int) -> _Known:
    """Of ln θ, θ the share of a word: a Dirichlet's."""
    from scipy.special import polygamma

    a, A = n + alpha, N + alpha * V
    return _Known(*(polygamma(m, a) - polygamma(m, A) for m in range(3)))


def _odds(n: Array, N: float, alpha: float) -> _Known:
    """Of ln θ/(1 − θ), θ the share of the documents that have a word: a Beta's."""
    from scipy.special import polygamma

    on, off = n + alpha, np.maximum(N - n, 0.0) + alpha
    return _Known(*(polygamma(m, on) + sign * polygamma(m, off) for m, sign in enumerate((-1, 1, -1))))


def _log_shares(told: _Against, alpha: float, V: int) -> Array:
    """ln θ_k − ln θ_rest; other classes that have no word at all say what all say together, as in the model."""
    here, there = told.here + alpha, told.there + alpha
    whole, rest = told.all_here + alpha * V, told.all_there + alpha * V
    return np.zeros(len(here)) if rest == 0 else log(here) - log(there) - np.log(whole) + np.log(rest)


def _log_odds(told: _Against, rows: tuple[float, float], alpha: float) -> Array:
    """logit θ_k − logit θ_rest."""
    here = log(told.here + alpha) - log(np.maximum(rows[0] - told.here, 0.0) + alpha)
    return here - log(told.there + alpha) + log(np.maximum(rows[1] - told.there, 0.0) + alpha)


def _above_others(form: SparseLinear, k: int, words: NDArray[np.intp]) -> Array:
    """weight_kv less the mean of the other classes' weights."""
    own = form.weights(np.full(len(words), k), words)
    deltas = np.bincount(form.feature, weights=form.delta, minlength=len(form.base))[words]
    every = form.slope.sum() + form.scale.sum() * form.base[words] + deltas
    return own - (every - own) / (form.n_classes - 1)
