"""Bags of words without a document: what is stored is looked at, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban._typing import Array
from deciban.engines.sparse import to_canonical_csr
from deciban.families.multinomial import Multinomial
from deciban.families.text_family import Text
from deciban.ledger import Bags, Counts, Needs, Tallies
from deciban.scores import SparseLinear
from deciban.validation.leave_one_out.rows import RowsLeftOut, left


class Leaving(NamedTuple):
    """Which words are kept, and which stored ones are not kept without their document."""

    kept: NDArray[np.bool_]
    going: NDArray[np.bool_]


def leaving(family: Text, part: Bags, X: Any, rows: RowsLeftOut) -> Leaving:
    """Words of too few other documents go with their document."""
    df = part.documents.per_feature(part.documents.total)
    others = left(df[X.indices], Entries(X, rows).weight)
    kept = df >= max(family.least, np.finfo(float).tiny)
    return Leaving(kept, kept[X.indices] & ((others < family.least) | (others == 0)))


def drawn(
    family: Text, part: Bags, form: SparseLinear, X: Any, need: Needs, rows: RowsLeftOut, threads: int
) -> Array:
    """ln p(z|k) of each document, its words drawn one by one."""
    entry = Entries(X, rows)
    kept, going = leaving(family, part, X, rows)
    score = engines.apply(
        [replace(form, slope=np.zeros(form.n_classes))], [with_values(X, np.where(going, 0.0, X.data))], [need],
        np.zeros(form.n_classes), "joint", threads,
    )  # fmt: skip
    stays = kept[X.indices] & ~going
    counted = part.occurrences
    gone = (with_values(X, going.astype(np.float64)) @ _by_word(counted)).toarray()
    n_kept = float(kept.sum()) - entry.sums(going.astype(np.float64))
    whole = counted.per_class(counted.total * kept[counted.feature]) - gone
    return _finished(score, whole, n_kept * family.alpha, family.alpha, counted, X, stays, entry, rows)


def bag(
    family: Multinomial, part: Counts | Tallies, form: Any, X: Any, need: Needs, rows: RowsLeftOut, threads: int
) -> Array:
    """ln p(z|k) of each sparse row, for one α > 0 for all words."""
    X, alpha = to_canonical_csr(X), float(family.alpha)
    entry = Entries(X, rows)
    K, V = part.n_classes, part.n_features
    total = part.per_class(part.total) if isinstance(part, Tallies) else part.total.sum(axis=1)
    score = engines.apply([form], [X], [need], np.zeros(K), "joint", threads)
    score += entry.sums(X.data)[:, None] * np.log(total + alpha * V)
    whole = np.broadcast_to(total, score.shape).copy()
    return _finished(score, whole, alpha * V, alpha, part, X, np.ones(X.nnz, dtype=np.bool_), entry, rows)


class Entries:
    """The stored values of rows: the row, class and weight of each."""

    def __init__(self, X: Any, rows: RowsLeftOut) -> None:
        self.row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        self.klass, self.weight = rows.codes[self.row], rows.weight[self.row]
        self.n = X.shape[0]

    def sums(self, values: Array) -> Array:
        """The sum of the values in each row."""
        return np.bincount(self.row, weights=values, minlength=self.n).astype(np.float64, copy=False)


def _finished(
    score: Array, whole: Array, imagined: Any, alpha: float, part: Any, X: Any, stays: NDArray[np.bool_],
    entry: Entries, rows: RowsLeftOut,
) -> Array:  # fmt: skip
    """Σ z ln(n_kv + α) of the words that stay, turned into Σ z ln θ_kv of the model without each row.

    `whole` is Σ_v n_kv of these words, in which the row's own class still has the row.
    """
    z = X.data.astype(np.float64) * stays
    own = np.arange(entry.n), rows.codes
    had = _at(part, entry.klass, X.indices)
    score[own] += entry.sums(z * (np.log(left(had, entry.weight * z) + alpha) - np.log(had + alpha)))
    length = entry.sums(z)
    whole[own] = left(whole[own], rows.weight * length)
    return score - length[:, None] * np.log(whole + np.reshape(imagined, (-1, 1)))


def _at(part: Counts | Tallies, k: NDArray[Any], v: NDArray[Any]) -> Array:
    """The count of each class and word."""
    if isinstance(part, Counts):
        return part.total[k, v]
    keys = part.feature.astype(np.int64) * part.n_classes + part.klass
    wanted = v.astype(np.int64) * part.n_classes + k
    place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    return np.where(keys[place] == wanted, part.total[place], 0.0) if len(keys) else np.zeros(len(wanted))


def _by_word(part: Tallies) -> Any:
    from scipy.sparse import csr_array

    return csr_array((part.total, part.klass, part.start), shape=(part.n_features, part.n_classes))


def with_values(X: Any, values: Array) -> Any:
    """The same entries with other values."""
    from scipy.sparse import csr_array

    return csr_array((values, X.indices, X.indptr), shape=X.shape)
