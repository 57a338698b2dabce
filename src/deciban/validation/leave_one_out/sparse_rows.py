"""Sparse rows left out where other events than words drawn one by one are assumed: complement and Bernoulli."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban._typing import Array
from deciban.ledger import Counts, Needs
from deciban.scores import ScoreForm
from deciban.validation.leave_one_out.bags import Entries, with_values
from deciban.validation.leave_one_out.rows import CELLS, RowsLeftOut

Mask = NDArray[np.bool_]


def complement(total: Array, alpha: Array, norm: bool, X: Any, going: Mask, rows: RowsLeftOut) -> Array:
    """−Σ z ln θ̄_kv, θ̄ by what all other classes have without the row; `going` words are not kept without it.

    `total` is K×V, of kept words (0 elsewhere); `alpha` V, 0 for words that are not kept, which say nothing.
    """
    K, n = len(total), X.shape[0]
    elsewhere = np.where(alpha > 0, total.sum(axis=0) - total + alpha, 1.0)
    logs, whole = np.log(elsewhere), np.where(alpha > 0, elsewhere, 0.0).sum(axis=1)
    entry, out = Entries(X, rows), np.empty((n, K))
    z = np.where((alpha[X.indices] > 0) & ~going, X.data.astype(np.float64), 0.0)
    length, n_words = entry.sums(z), (alpha > 0).sum() - entry.sums(going.astype(np.float64))
    for k in range(K):
        own = entry.klass == k
        before = elsewhere[k, X.indices]
        left = np.where(own | (z == 0), before, np.maximum(before - entry.weight * z, alpha[X.indices]))
        rest = (
            whole[k] - entry.sums(np.where(going, before, 0.0)) - np.where(rows.codes == k, 0.0, rows.weight * length)
        )
        log_whole = np.log(np.where(rest > 0, rest, 1.0))
        score = entry.sums(z * np.log(left)) - length * log_whole
        if norm:
            moved = np.where(going, -logs[k, X.indices], np.log(left) - logs[k, X.indices])
            every = logs[k].sum() + entry.sums(moved) - n_words * log_whole
            out[:, k] = np.where(every == 0, 0.0, score / np.where(every == 0, 1.0, every))
        else:
            out[:, k] = -score
    return out


def bernoulli(
    part: Counts, alpha: float, form: ScoreForm, X: Any, need: Needs, present: Mask, going: Mask, kept: Mask,
    rows: RowsLeftOut, threads: int,
) -> Array:  # fmt: skip
    """ln p(x|k) of rows of one weight: the stored values that are `present`, and the words not kept without the row.

    Σ_v ln(1 − θ_kv) of all kept words, by one row less in the own class, then what the words of the row change.
    """
    w, n = float(rows.weight[0]), part.weight[:, 0]
    K, entry = part.n_classes, Entries(X, rows)
    values = np.where(going, 0.0, X.data)
    score = engines.apply([form], [with_values(X, values)], [need], np.zeros(K), "joint", threads)
    for k in range(K):  # of the others: words that are not kept say nothing, not even by their absence
        absent = np.log(n[k] - part.total[k] + alpha) - np.log(n[k] + 2 * alpha)
        score[:, k] -= entry.sums(np.where(going, absent[X.indices], 0.0))
    stays, k = present & ~going, entry.klass
    fewer = np.log(np.maximum(n[:, None] - w - part.total, 0.0) + alpha)
    whole = np.log(np.where(n > w, n - w, 0.0) + 2 * alpha)
    n_words = kept.sum() - entry.sums(going.astype(np.float64))
    there = np.log(np.maximum(part.total[k, X.indices] - w, 0.0) + alpha)
    change = np.where(stays, there - fewer[k, X.indices], np.where(going, -fewer[k, X.indices], 0.0))
    own = np.where(kept, fewer, 0.0).sum(axis=1)[rows.codes] + entry.sums(change) - n_words * whole[rows.codes]
    score[np.arange(X.shape[0]), rows.codes] = own
    return score


def small_enough(part: Any, rows: RowsLeftOut) -> bool:
    """Whether a dense table of the counts is a small matter beside the rows."""
    return bool(part.n_classes * part.n_features <= max(16 * CELLS, 64 * len(rows.codes)))
