"""Which words a model of a text keeps, from the number of documents that had each: decided when it is solved.

Both measures compare two things about a document, whether it has the word and which class it is of, by the table of
present and absent × K classes. What all classes without the word add together is known at once, so only the classes
that a word lists are visited: memory and time are those of the entries.
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
"""How telling words are told from others."""


def information(documents: Tallies) -> Array:
    """Information gain of each word in nats: how much its presence or absence tells of a document's class.

    I = Σ_k p(v,k) ln[p(v,k)/p(v)p(k)] + p(v̄,k) ln[p(v̄,k)/p(v̄)p(k)], each word's entries alone; what is left is
    −p(v̄) ln p(v̄).

    >>> from deciban.ledger import Counts
    >>> two = Counts(np.array([[2.0, 1.0], [0.0, 1.0]]), np.array([[2.0], [2.0]]))
    >>> information(Tallies.from_counts(two)).round(4).tolist()  # ln 2: the first word tells all
    [0.6931, 0.0]
    """
    N, n, N_k = documents.weight.sum(), cap_documents(documents), documents.weight[documents.klass, 0]
    df = documents.per_feature(n)
    present = n * np.log(divide(n * N, df[documents.feature] * N_k, 1.0))
    told = documents.per_feature(present + _log_times(N_k - n, -divide(n, N_k)))
    left = np.maximum(N - df, 0.0)
    return np.maximum(divide(told - _log_times(left, -divide(df, N)), N), 0.0)


def chi2(documents: Tallies) -> Array:
    """χ² of the whole table of present and absent × class; 0 for a word of every document, or of none.

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
    """The words of at least `least` documents, and of these the `most` best; of equals those that come first.

    A word that no document has any more (it was forgotten, or its documents are held out) is not one of the words.
    """
    kept = np.diff(documents.start) > 0
    if least > 0:
        kept &= documents.per_feature(documents.total) >= least
    if most is None or kept.sum() <= most:
        return kept
    score = np.where(kept, MEASURES[by](documents), -1.0)
    return best(score, most)


def best(score: Array, most: int) -> NDArray[np.bool_]:
    """The `most` highest scores; where they tie at the end, the first of them.

    >>> best(np.array([1.0, 3.0, 2.0, 2.0, 2.0]), 3).tolist()
    [False, True, True, True, False]
    """
    bar = np.partition(score, len(score) - most)[len(score) - most]
    kept = score > bar
    ties = np.flatnonzero(score == bar)
    kept[ties[: most - int(kept.sum())]] = True
    return kept


def cap_documents(documents: Tallies) -> Array:
    """n_kv, never more than the documents of class k: sums of fractional weights round each in its own way."""
    return np.minimum(documents.total, documents.weight[documents.klass, 0])


def _log_times(amount: Array, x: Array) -> Array:
    """amount · ln(1 + x), and 0 where there is no amount."""
    return amount * np.log1p(np.where(amount > 0, x, 0.0))
