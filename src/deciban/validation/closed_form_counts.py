"""Leave-one-out in closed form of counts and levels: Bernoulli, multinomial, Poisson, categorical and others."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban._typing import Array
from deciban.engines import is_sparse
from deciban.families.count_families import MAX_DEVIANCE, Bernoulli, Complement, Multinomial, Poisson
from deciban.families.family import log, to_dense
from deciban.families.level_families import Categorical, Joint
from deciban.ledger import Cells, Counts, Levels
from deciban.ledger.counts import apply_threshold
from deciban.ledger.statistic import divide
from deciban.scores import BoundedRates, Lookup
from deciban.scores.bounded_forms import sum_best_log_probabilities
from deciban.scores.linear import sum_log_factorials
from deciban.validation import closed_form
from deciban.validation.closed_form import LeftOutBlock, LeftOutRows, score_without_row, subtract_weight

MAX_COUNT_CELLS = 1 << 33
"""The largest rows × classes × features for which every class is recomputed for every row; else folds are used."""

LevelCodes = NDArray[np.int64]


@score_without_row.register
def _score_counts(family: Bernoulli | Multinomial | Complement | Poisson, block: LeftOutBlock) -> Array | None:
    """Score sparse rows by their stored entries if possible, else by counts of the row's class or of all classes."""
    sparse = closed_form.score_sparse_rows(family, block)
    if sparse is not None:
        return sparse
    if isinstance(family, (Bernoulli, Multinomial)):
        return _score_own_class(family, block)
    return _score_every_class(family, block)


def _score_own_class(family: Bernoulli | Multinomial, block: LeftOutBlock) -> Array | None:
    """Score each row by its own class's counts without it; those of the other classes stay.

    None if α is 0 and a class has no counts: it has the pooled counts of all classes, which change with every row.
    """
    part, X, rows, alpha = to_dense(block.part), block.X, block.rows, np.asarray(family.alpha)
    weight = part.weight if isinstance(family, Bernoulli) else part.total.sum(axis=1, keepdims=True)
    if (alpha == 0).any() and (weight == 0).any():
        return None
    own = np.empty(X.shape[0])
    for some in rows.split_into_chunks(part.n_features):
        x = _to_dense_values(X[some], family)
        others = closed_form.exclude_from_counts(part, x, rows.codes[some], rows.weight[some])
        total = others.weight if isinstance(family, Bernoulli) else others.total.sum(axis=2, keepdims=True)
        rows.needs_refit[some] |= ((total == 0) & (alpha == 0)).any(axis=(1, 2))
        score = _multiply_log(x, log(family.theta(others))[:, 0])
        if isinstance(family, Bernoulli):
            score += _multiply_log(1 - x, log(family.absent(others))[:, 0])
        own[some] = score.sum(axis=1)
    scores = block.compute_log_likelihoods()
    scores[np.arange(len(own)), rows.codes] = own
    return scores


def _score_every_class(family: Poisson | Complement, block: LeftOutBlock) -> Array | None:
    """Score each row by counts without it in every class: its removal changes column means and complement counts.

    None if an α is 0, or if rows × classes × features exceed `MAX_COUNT_CELLS`.
    """
    part, X, rows, alpha = to_dense(block.part), block.X, block.rows, np.asarray(family.alpha)
    if (alpha == 0).any() or part.total.size * X.shape[0] > MAX_COUNT_CELLS:
        return None
    out = np.empty((X.shape[0], part.n_classes))
    for some in rows.split_into_chunks(part.total.size):
        x = _to_dense_values(X[some], family)
        own = closed_form.exclude_from_counts(part, x, rows.codes[some], rows.weight[some])
        others = _expand_to_all_classes(part, own, rows, some)
        x = x[:, None]
        if isinstance(family, Complement):
            out[some] = (x * family.log_theta(others)).sum(axis=2)
            continue
        rate = family.rates(others)  # 0 in every class for a column without any count: no evidence
        if family.bounded:
            terms = BoundedRates(rate, MAX_DEVIANCE).bounded_terms(x, slice(None))
            base = sum_best_log_probabilities(x[:, 0])
        else:
            terms = _multiply_log(x, np.where(rate == 0, 0.0, log(rate))) - rate
            base = -sum_log_factorials(x[:, 0])
        out[some] = np.where(np.isnan(x), 0.0, terms).sum(axis=2) + base[:, None]
    return out


def _expand_to_all_classes(part: Counts, own: Counts, rows: LeftOutRows, some: slice) -> Counts:
    """Return the counts of all classes, c×K×d, those of the row's own class without it."""
    shape = (len(own.total), *part.total.shape)
    total, weight = (np.broadcast_to(each, shape).copy() for each in (part.total, part.weight))
    at = np.arange(shape[0]), rows.codes[some]
    total[at], weight[at] = own.total[:, 0], own.weight[:, 0]
    return Counts(total, weight)


def _to_dense_values(X: Any, family: Any) -> Array:
    dense = X.toarray() if is_sparse(X) else np.asarray(X)
    return apply_threshold(dense, getattr(family, "threshold", None))


def _multiply_log(x: Array, log_theta: Array) -> Array:
    """Return x · ln θ; 0 where x is 0 or missing, even if θ is 0."""
    nothing = np.isnan(x) | (x == 0)
    return np.where(nothing, 0.0, np.where(nothing, 0.0, x) * np.where(nothing, 0.0, log_theta))


def _to_level_codes(block: LeftOutBlock) -> LevelCodes:
    codes: LevelCodes = engines.prepare_rows(block.X.toarray() if is_sparse(block.X) else block.X, block.need)
    return codes


@score_without_row.register
def _score_categorical(family: Categorical, block: LeftOutBlock) -> Array | None:
    """Compute Σ_j ln θ_kj,x_j of each row; a level that only this row had counts as never seen.

    None where shares are shrunk to those of all classes, where pooled levels change places, or a class has no counts
    of a feature but those that all classes share.
    """
    if family.pooled:
        return None
    X, rows = _to_level_codes(block), block.rows
    part = family.full(block.part)
    V = family.separate_levels(part).counts.sizes
    if family.most is not None and (family.most < V).any():
        return None
    if family.alpha == 0 and (part.weight == 0).any():
        return None
    out = np.empty((len(X), part.n_classes))
    for some in rows.split_into_chunks(part.n_features * (part.n_classes + 2)):
        out[some] = _score_level_chunk(family, part, V, block.form, X[some], rows, some)
    return out


def _score_level_chunk(
    family: Categorical, part: Levels, V: NDArray[np.int64], form: Lookup, X: LevelCodes, rows: LeftOutRows,
    some: slice,
) -> Array:  # fmt: skip
    """Score the rows `some`, whose level codes are X, by all K classes; mark those that need a refit."""
    k, w = rows.codes[some], rows.weight[some][:, None]
    column = np.where(X >= 0, X + part.offset[:-1], 0)
    alone = (X >= 0) & ~closed_form.has_remainder(part.table.sum(axis=0)[column], w)
    vanishes = alone & (np.array(family.min_levels or [0] * part.n_features) <= X)
    if family.holes == "level":  # only without the highest level no level number is skipped
        vanishes &= part.sizes - 1 == X
    if family.holes == "level" or family.unseen == "error":  # with "error" the refit refuses the row
        rows.needs_refit[some] |= vanishes.any(axis=1)
    stays = np.where(vanishes, -1, X)
    score = form.log_likelihoods(stays)
    at = np.arange(len(X)), k
    smooth = family.unseen == "smooth"
    levels = V + smooth
    own = subtract_weight(part.weight[k], w * (X >= 0))
    total = own + family.alpha * levels
    rows.needs_refit[some] |= ((total == 0) & (stays >= 0)).any(axis=1)
    counts = subtract_weight(part.table[k[:, None], column], w * (X >= 0)) + family.alpha
    score[at] = np.where(stays >= 0, log(divide(counts, total)), 0.0).sum(axis=1)
    if smooth and vanishes.any():
        weight = np.broadcast_to(part.weight, (len(X), *part.weight.shape)).copy()
        weight[at] = own
        unseen = log(divide(np.full_like(weight, family.alpha), weight + family.alpha * (levels - 1)))
        score += np.where(vanishes[:, None], unseen, 0.0).sum(axis=2)
    return score


@score_without_row.register
def _score_joint(family: Joint, block: LeftOutBlock) -> Array | None:
    """Compute ln p(x|k) by the joint table without the row; rows with a missing value are in no cell of it.

    None if α is 0 and a class has no counts.
    """
    part, form, X, rows = block.part, block.form, _to_level_codes(block), block.rows
    inside = (X >= 0).all(axis=1)
    seen = part.count.sum(axis=1)
    if family.alpha == 0 and (seen == 0).any():
        return None
    rows.needs_refit[:] |= inside & ~closed_form.has_remainder(seen[rows.codes], rows.weight)
    rows.needs_refit[:] |= _is_last_of_highest_level(family, part, X, rows) & inside
    count, free = form.count_matches(X)
    own = np.arange(len(X)), rows.codes
    removed = rows.weight * inside
    count[own] = subtract_weight(count[own], removed)
    total = np.broadcast_to(seen, count.shape).copy()
    total[own] = subtract_weight(total[own], removed)
    log_alpha = log(np.array(family.alpha))
    return np.logaddexp(log(count), log_alpha + free) - np.logaddexp(log(total), form.log_imagined)


def _is_last_of_highest_level(family: Joint, part: Cells, X: LevelCodes, rows: LeftOutRows) -> NDArray[np.bool_]:
    """Return which rows are the only ones with the highest level of a feature: without them the table is smaller."""
    out, total = np.zeros(len(X), dtype=np.bool_), part.count.sum(axis=0)
    least = family.min_levels or (0,) * part.n_features
    for j, (size, known) in enumerate(zip(part.sizes, least)):
        top = total[part.cell[:, j] == size - 1].sum()
        if known < size:
            out |= (X[:, j] == size - 1) & ~closed_form.has_remainder(np.full(len(X), top), rows.weight)
    return out
