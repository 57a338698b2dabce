"""Selection of the words of a text model from their document frequencies, when it is solved.

Both measures test the dependence of a document's class on the presence of the word, by the table of
present and absent × K classes. The contribution of all classes without the word has a closed form, so only the
classes with entries of a word are visited: memory and time are proportional to the entries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.ledger import Tallies
from deciban.ledger.statistic import divide

By = Literal["information", "chi2"]
"""The measure by which words are selected."""


def information(documents: Tallies) -> Array:
    """Return the information gain of each word in nats, that of its presence or absence about a document's class.

    I = Σ_k p(v,k) ln[p(v,k)/p(v)p(k)] + p(v̄,k) ln[p(v̄,k)/p(v̄)p(k)] over each word's entries; the remaining classes
    add −p(v̄) ln p(v̄).

    >>> from deciban.ledger import Counts
    >>> two = Counts(np.array([[2.0, 1.0], [0.0, 1.0]]), np.array([[2.0], [2.0]]))
    >>> information(Tallies.from_counts(two)).round(4).tolist()  # ln 2: the first word determines the class
    [0.6931, 0.0]
    """
    N, n, N_k = documents.weight.sum(), cap_documents(documents), documents.weight[documents.klass, 0]
    df = documents.per_feature(n)
    ratio = divide(n * N, df[documents.feature] * N_k, 1.0)
    present = n * np.log(np.where(ratio > 0, ratio, 1.0))  # of a weight that underflows: n ln n is 0
    entries = documents.per_feature(present + _times_log1p(N_k - n, -divide(n, N_k)))
    left = np.maximum(N - df, 0.0)
    return np.maximum(divide(entries - _times_log1p(left, -divide(df, N)), N), 0.0)


def chi2(documents: Tallies) -> Array:
    """Return χ² of the whole table of present and absent × class; 0 for a word of every document, or of none.

    χ² = N²/(df (N − df)) · Σ_k (n_kv − df N_k/N)²/N_k; the classes without the word add df²/N² · N_k each.
    """
    N, n, N_k = documents.weight.sum(), cap_documents(documents), documents.weight[documents.klass, 0]
    df = documents.per_feature(n)
    gap = divide((n - divide(df, N)[documents.feature] * N_k) ** 2, N_k)
    elsewhere = np.maximum(N - documents.per_feature(N_k), 0.0)
    off = documents.per_feature(gap) + divide(df, N) ** 2 * elsewhere
    return divide(off * N**2, df * np.maximum(N - df, 0.0))


MEASURES: dict[By, Callable[[Tallies], Array]] = {"information": information, "chi2": chi2}


def find_kept_words(documents: Tallies, least: float, most: int | None, by: By) -> NDArray[np.bool_]:
    """Return whether each word is kept: it has at least `least` documents and is among the `most` best of these.

    Of equals the first are kept. A word without documents (forgotten, or all held out) is not kept.
    """
    kept = np.diff(documents.start) > 0
    if least > 0:
        kept &= documents.per_feature(documents.total) >= least
    if most is None or kept.sum() <= most:
        return kept
    score = np.where(kept, MEASURES[by](documents), -1.0)
    return best(score, most)


def best(score: Array, most: int) -> NDArray[np.bool_]:
    """Return whether each score is among the `most` highest; of ties the first are chosen.

    >>> best(np.array([1.0, 3.0, 2.0, 2.0, 2.0]), 3).tolist()
    [False, True, True, True, False]
    """
    lowest = np.partition(score, len(score) - most)[len(score) - most]
    kept = score > lowest
    ties = np.flatnonzero(score == lowest)
    kept[ties[: most - int(kept.sum())]] = True
    return kept


def cap_documents(documents: Tallies) -> Array:
    """Return n_kv, at most the documents of class k: sums of fractional weights are rounded independently."""
    return np.minimum(documents.total, documents.weight[documents.klass, 0])


def _times_log1p(amount: Array, x: Array) -> Array:
    """Return amount · ln(1 + x), and 0 where the amount is 0."""
    return amount * np.log1p(np.where(amount > 0, x, 0.0))
