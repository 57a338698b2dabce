"""Closed forms of leave-one-out: the rows that are left out, the dispatch on families, and forms of sparse rows.

Of sparse rows only the stored entries change the score without a row.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban._typing import Array, Codes
from deciban.engines import is_sparse
from deciban.engines.sparse import to_canonical_csr
from deciban.families.count_families import Bernoulli, Complement, Multinomial
from deciban.families.family import to_dense
from deciban.families.text_family import Text, cap_documents
from deciban.ledger import Bags, Counts, Needs, Tallies
from deciban.ledger.statistic import LEFTOVER_FRACTION, subtract_checked

LEFT_OUT_CHUNK_CELLS = 1 << 19
"""The numbers held in memory at a time: some megabytes."""

MIN_REMAINING_SHARE = 1e-6
"""The share of a sum that must remain without a row: below it too many digits are lost, and the row is refitted."""


@dataclass(frozen=True)
class LeftOutRows:
    """The class and weight of each row that is left out; `needs_refit` marks rows that no closed form can score."""

    codes: Codes
    weight: Array
    needs_refit: NDArray[np.bool_]

    def split_into_chunks(self, cells: int) -> Iterator[slice]:
        """Yield slices of rows so small that `cells` numbers for each row fit `LEFT_OUT_CHUNK_CELLS`."""
        step = max(1, LEFT_OUT_CHUNK_CELLS // max(1, cells))
        return (slice(start, start + step) for start in range(0, len(self.codes), step))

    @property
    def have_one_weight(self) -> bool:
        """Whether all rows have the same weight."""
        return bool((self.weight == self.weight[:1]).all())


@dataclass(frozen=True)
class LeftOutBlock:
    """A block of features of rows that are left out, with the statistic and the score form learned from all rows."""

    part: Any
    form: Any
    X: Any
    need: Needs
    rows: LeftOutRows
    threads: int

    def compute_log_likelihoods(self, form: Any = None, X: Any = None) -> Array:
        """Compute ln p(x|k), without the prior, by the score form of all rows, or by another form or of other X."""
        form, X = self.form if form is None else form, self.X if X is None else X
        scores: Array = engines.apply([form], [X], [self.need], np.zeros(form.n_classes), "joint", self.threads)
        return scores


@singledispatch
def score_without_row(family: Any, block: LeftOutBlock) -> Array | None:
    """Compute ln p(x|k), n×K, of each row by the statistics of all other rows; None if there is no closed form.

    Rows whose score is not valid in closed form are marked in `block.rows.needs_refit`, which is changed in place.
    Each family registers its own form.
    """
    return None


def subtract_weight(before: Array, removed: Any) -> Array:
    """Return `before − removed`, 0 where only rounding remains; NotLearnedError if more is removed than there is."""
    return subtract_checked(before, np.broadcast_to(removed, before.shape), "weight")


def has_remainder(before: Array, removed: Array) -> NDArray[np.bool_]:
    """Return whether more than rounding remains of each weight without the removed one."""
    return before - removed > LEFTOVER_FRACTION * before


def exclude_from_counts(part: Counts, x: Array, k: Codes, w: Array) -> Counts:
    """Return the counts of each row's class k without the row, c×1×d."""
    here = ~np.isnan(x)
    total = subtract_weight(part.total[k], w[:, None] * np.where(here, x, 0.0))
    weight = np.broadcast_to(part.weight, part.total.shape)[k]
    return Counts(total[:, None], subtract_weight(weight, w[:, None] * here)[:, None])


Mask = NDArray[np.bool_]


@score_without_row.register
def _score_documents(family: Text, block: LeftOutBlock) -> Array | None:
    """Score each document; a word that too few other documents have is not kept without it.

    None where the most informative words are selected, or weighted by idf: both change with every document. None also
    without smoothing, for a large table of counts (except multinomial), and for Bernoulli if rows differ in weight.
    """
    if family.most is not None or family.idf or not family.alpha:
        return None
    block = replace(block, X=to_canonical_csr(block.X))
    part, X, rows = block.part, block.X, block.rows
    if family.event == "multinomial":
        return _score_multinomial_documents(family, block)
    if not _is_table_small(part, rows):
        return None
    kept, dropped = _select_words(family, part, X, rows)
    if family.event == "complement":
        total = np.where(kept, part.occurrences.to_dense().total, 0.0)
        return _score_complement(total, np.where(kept, family.alpha, 0.0), family.norm, X, dropped, rows)
    if not rows.have_one_weight:
        return None
    counts = replace(part.documents, total=cap_documents(part.documents)).to_dense()
    present = kept[X.indices] & (X.data > 0)
    return _score_bernoulli(counts, family.alpha, block, present, dropped, kept)


@singledispatch
def score_sparse_rows(family: Any, block: LeftOutBlock) -> Array | None:
    """Compute ln p(x|k) as `score_without_row` does, from stored entries; None if rows or family do not allow it."""
    return None


@score_sparse_rows.register
def _score_sparse_complement(family: Complement, block: LeftOutBlock) -> Array | None:
    alpha = np.asarray(family.alpha, dtype=np.float64)
    if not _is_sparse_and_smoothed(alpha, block):
        return None
    X = to_canonical_csr(block.X)
    every = np.broadcast_to(alpha, (X.shape[1],))
    none_dropped = np.zeros(X.nnz, dtype=np.bool_)
    return _score_complement(to_dense(block.part).total, every, family.norm, X, none_dropped, block.rows)


@score_sparse_rows.register
def _score_sparse_bernoulli(family: Bernoulli, block: LeftOutBlock) -> Array | None:
    alpha = np.asarray(family.alpha, dtype=np.float64)
    if not _is_sparse_and_smoothed(alpha, block) or family.threshold is None or alpha.ndim:
        return None
    if not block.rows.have_one_weight:
        return None
    X, counts = to_canonical_csr(block.X), to_dense(block.part)
    if counts.weight.shape[1] > 1 or np.isnan(X.data).any() or family.threshold < 0:
        return None
    none_dropped, all_kept = np.zeros(X.nnz, dtype=np.bool_), np.ones(X.shape[1], dtype=np.bool_)
    present = np.asarray(family.threshold < X.data)
    return _score_bernoulli(counts, float(alpha), replace(block, X=X), present, none_dropped, all_kept)


def _is_sparse_and_smoothed(alpha: Array, block: LeftOutBlock) -> bool:
    """Return whether rows are sparse, every α is positive, and a dense table of the counts is small."""
    return is_sparse(block.X) and bool((alpha > 0).all()) and _is_table_small(block.part, block.rows)


def _is_table_small(part: Any, rows: LeftOutRows) -> bool:
    """Return whether a dense table of the counts is small, by itself or compared with the rows."""
    return bool(part.n_classes * part.n_features <= max(16 * LEFT_OUT_CHUNK_CELLS, 64 * len(rows.codes)))


def _select_words(family: Text, part: Bags, X: Any, rows: LeftOutRows) -> tuple[Mask, Mask]:
    """Return which words are kept, and which stored entries are dropped: too few other documents have the word."""
    df = part.documents.per_feature(part.documents.total)
    others = subtract_weight(df[X.indices], Entries(X, rows).weight)
    kept = df >= max(family.least, np.finfo(float).tiny)
    return kept, kept[X.indices] & ((others < family.least) | (others == 0))


def _score_multinomial_documents(family: Text, block: LeftOutBlock) -> Array:
    """Compute ln p(z|k) of each document under the multinomial event."""
    from scipy.sparse import csr_array

    part, form, X, rows = block.part, block.form, block.X, block.rows
    entry = Entries(X, rows)
    kept, dropped = _select_words(family, part, X, rows)
    flat = replace(form, slope=np.zeros(form.n_classes))
    score = block.compute_log_likelihoods(flat, _with_values(X, np.where(dropped, 0.0, X.data)))
    stays = kept[X.indices] & ~dropped
    counted = part.occurrences
    by_word = csr_array((counted.total, counted.class_code, counted.start), shape=(part.n_features, part.n_classes))
    gone = (_with_values(X, dropped.astype(np.float64)) @ by_word).toarray()
    n_kept = float(kept.sum()) - entry.sum_by_row(dropped.astype(np.float64))
    sums = counted.per_class(counted.total * kept[counted.feature]) - gone
    return _normalise_scores(score, sums, n_kept * family.alpha, family.alpha, counted, X, stays, entry, rows)


@score_sparse_rows.register
def _score_sparse_multinomial(family: Multinomial, block: LeftOutBlock) -> Array | None:
    if not is_sparse(block.X) or np.ndim(family.alpha) or family.alpha == 0:  # one α > 0 for all words
        return None
    part, X, alpha = block.part, to_canonical_csr(block.X), float(family.alpha)
    entry, V = Entries(X, block.rows), part.n_features
    total = part.per_class(part.total) if isinstance(part, Tallies) else part.total.sum(axis=1)
    score = block.compute_log_likelihoods(X=X)
    score += entry.sum_by_row(X.data)[:, None] * np.log(total + alpha * V)
    sums = np.broadcast_to(total, score.shape).copy()
    every = np.ones(X.nnz, dtype=np.bool_)
    return _normalise_scores(score, sums, alpha * V, alpha, part, X, every, entry, block.rows)


class Entries:
    """The stored entries of sparse rows: the row, class and weight of each."""

    def __init__(self, X: Any, rows: LeftOutRows) -> None:
        self.row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        self.class_code, self.weight = rows.codes[self.row], rows.weight[self.row]
        self.n = X.shape[0]

    def sum_by_row(self, values: Array) -> Array:
        """Return the sum of the values in each row."""
        return np.bincount(self.row, weights=values, minlength=self.n).astype(np.float64, copy=False)


def _normalise_scores(
    score: Array, sums: Array, prior_count: Any, alpha: float, part: Any, X: Any, stays: Mask, entry: Entries,
    rows: LeftOutRows,
) -> Array:  # fmt: skip
    """Turn Σ z ln(n_kv + α) of the words that stay into Σ z ln θ_kv of the model without each row.

    `sums` is Σ_v n_kv of these words, in which the row's own class still has the row. It and `score` are
    overwritten; the result is a new array.
    """
    z = X.data.astype(np.float64) * stays
    own = np.arange(entry.n), rows.codes
    had = _look_up_counts(part, entry.class_code, X.indices)
    score[own] += entry.sum_by_row(z * (np.log(subtract_weight(had, entry.weight * z) + alpha) - np.log(had + alpha)))
    length = entry.sum_by_row(z)
    sums[own] = subtract_weight(sums[own], rows.weight * length)
    return score - length[:, None] * np.log(sums + np.reshape(prior_count, (-1, 1)))


def _look_up_counts(part: Counts | Tallies, k: NDArray[Any], v: NDArray[Any]) -> Array:
    """Return the count of each pair of class and word."""
    if isinstance(part, Counts):
        return part.total[k, v]
    keys = part.feature.astype(np.int64) * part.n_classes + part.class_code
    wanted = v.astype(np.int64) * part.n_classes + k
    place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    return np.where(keys[place] == wanted, part.total[place], 0.0) if len(keys) else np.zeros(len(wanted))


def _with_values(X: Any, values: Array) -> Any:
    """Return a sparse matrix of the same entries with other values."""
    from scipy.sparse import csr_array

    return csr_array((values, X.indices, X.indptr), shape=X.shape)


def _score_complement(total: Array, alpha: Array, norm: bool, X: Any, dropped: Mask, rows: LeftOutRows) -> Array:
    """Compute −Σ z ln θ̄_kv, θ̄ by the counts of all other classes without the row; with `norm` over −Σ_v ln θ̄_kv.

    `dropped` words are not kept without it. `total` is K×V, of kept words (0 elsewhere); `alpha` V, 0 for words that
    are not kept, which add no evidence.
    """
    K, n = len(total), X.shape[0]
    elsewhere = np.where(alpha > 0, total.sum(axis=0) - total + alpha, 1.0)
    logs, totals = np.log(elsewhere), np.where(alpha > 0, elsewhere, 0.0).sum(axis=1)
    entry, out = Entries(X, rows), np.empty((n, K))
    z = np.where((alpha[X.indices] > 0) & ~dropped, X.data.astype(np.float64), 0.0)
    length, n_words = entry.sum_by_row(z), (alpha > 0).sum() - entry.sum_by_row(dropped.astype(np.float64))
    for k in range(K):
        own = entry.class_code == k
        before = elsewhere[k, X.indices]
        left = np.where(own | (z == 0), before, np.maximum(before - entry.weight * z, alpha[X.indices]))
        other_weight = np.where(rows.codes == k, 0.0, rows.weight * length)
        total_left = totals[k] - entry.sum_by_row(np.where(dropped, before, 0.0)) - other_weight
        log_total = np.log(np.where(total_left > 0, total_left, 1.0))
        score = entry.sum_by_row(z * np.log(left)) - length * log_total
        if norm:
            moved = np.where(dropped, -logs[k, X.indices], np.log(left) - logs[k, X.indices])
            every = logs[k].sum() + entry.sum_by_row(moved) - n_words * log_total
            out[:, k] = np.where(every == 0, 0.0, score / np.where(every == 0, 1.0, every))
        else:
            out[:, k] = -score
    return out


def _score_bernoulli(
    part: Counts, alpha: float, block: LeftOutBlock, present: Mask, dropped: Mask, kept: Mask
) -> Array:
    """Compute ln p(x|k) of rows of one weight, given the stored values that are `present` and those that are dropped.

    Σ_v ln(1 − θ_kv) of all kept words, with one row less in the own class, then the changes by the words of the row.
    """
    X, rows = block.X, block.rows
    w, n = float(rows.weight[0]), part.weight[:, 0]
    K, entry = part.n_classes, Entries(X, rows)
    score = block.compute_log_likelihoods(X=_with_values(X, np.where(dropped, 0.0, X.data)))
    for k in range(K):  # of the other classes: dropped words add no evidence, not even by their absence
        absent = np.log(n[k] - part.total[k] + alpha) - np.log(n[k] + 2 * alpha)
        score[:, k] -= entry.sum_by_row(np.where(dropped, absent[X.indices], 0.0))
    stays, k = present & ~dropped, entry.class_code
    fewer = np.log(np.maximum(n[:, None] - w - part.total, 0.0) + alpha)
    log_rows = np.log(np.where(n > w, n - w, 0.0) + 2 * alpha)
    n_words = kept.sum() - entry.sum_by_row(dropped.astype(np.float64))
    there = np.log(np.maximum(part.total[k, X.indices] - w, 0.0) + alpha)
    change = np.where(stays, there - fewer[k, X.indices], np.where(dropped, -fewer[k, X.indices], 0.0))
    own = (
        np.where(kept, fewer, 0.0).sum(axis=1)[rows.codes] + entry.sum_by_row(change) - n_words * log_rows[rows.codes]
    )
    score[np.arange(X.shape[0]), rows.codes] = own
    return score
