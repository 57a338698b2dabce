"""Level counts without a row: categorical features, and the full joint table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.families.categorical import Categorical
from deciban.families.family import log
from deciban.families.joint import Joint
from deciban.ledger import Cells, Levels
from deciban.ledger.statistic import divide
from deciban.scores import Lookup, Table
from deciban.validation.leave_one_out.rows import RowsLeftOut, is_left, left

LevelCodes = NDArray[np.int64]


def categories(family: Categorical, part: Levels, form: Lookup, X: LevelCodes, rows: RowsLeftOut) -> Array | None:
    """Σ_j ln θ_kj,x_j of each row; a level that only this row had is one never seen.

    None where pooled levels change places, or a class has nothing of a feature but what all have in common.
    """
    part = family.full(part)
    told = family.separate_levels(part)
    V = told.counts.sizes
    if family.most is not None and (family.most < V).any():
        return None
    if family.alpha == 0 and (part.weight == 0).any():
        return None
    out = np.empty((len(X), part.n_classes))
    for some in rows.chunks(part.n_features * (part.n_classes + 2)):
        out[some] = _chunk(family, part, V, form, X[some], rows, some)
    return out


def _chunk(
    family: Categorical,
    part: Levels,
    V: NDArray[np.int64],
    form: Lookup,
    X: LevelCodes,
    rows: RowsLeftOut,
    some: slice,
) -> Array:
    k, w = rows.codes[some], rows.weight[some][:, None]
    column = np.where(X >= 0, X + part.offset[:-1], 0)
    alone = (X >= 0) & ~is_left(part.table.sum(axis=0)[column], w)
    vanishes = alone & (np.array(family.min_levels or [0] * part.n_features) <= X)
    if family.holes == "level":  # only the highest level leaves no hole
        vanishes &= part.sizes - 1 == X
        rows.todo[some] |= vanishes.any(axis=1)
    elif family.unseen == "error":
        rows.todo[some] |= vanishes.any(axis=1)  # which the definition refuses
    stays = np.where(vanishes, -1, X)
    score = form.joint(stays)
    at = np.arange(len(X)), k
    levels, smooth = V + (family.unseen == "smooth"), family.unseen == "smooth"
    own = left(part.weight[k], w * (X >= 0))
    whole = own + family.alpha * levels
    rows.todo[some] |= ((whole == 0) & (stays >= 0)).any(axis=1)
    counted = left(part.table[k[:, None], column], w * (X >= 0)) + family.alpha
    score[at] = np.where(stays >= 0, log(divide(counted, whole)), 0.0).sum(axis=1)
    if smooth and vanishes.any():
        weight = np.broadcast_to(part.weight, (len(X), *part.weight.shape)).copy()
        weight[at] = own
        unseen = log(divide(np.full_like(weight, family.alpha), weight + family.alpha * (levels - 1)))
        score += np.where(vanishes[:, None], unseen, 0.0).sum(axis=2)
    return score


def cells(family: Joint, part: Cells, form: Table, X: LevelCodes, rows: RowsLeftOut) -> Array | None:
    """ln p(x|k) by the joint table without the row; rows with a missing value are in no cell of it."""
    inside = (X >= 0).all(axis=1)
    seen = part.count.sum(axis=1)
    if family.alpha == 0 and (seen == 0).any():
        return None
    rows.todo[:] |= inside & ~is_left(seen[rows.codes], rows.weight)
    rows.todo[:] |= _shrinks(family, part, X, rows) & inside
    count, free = form.agreeing(X)
    own = np.arange(len(X)), rows.codes
    removed = rows.weight * inside
    count[own] = left(count[own], removed)
    whole = np.broadcast_to(seen, count.shape).copy()
    whole[own] = left(whole[own], removed)
    log_alpha = log(np.array(family.alpha))
    return np.logaddexp(log(count), log_alpha + free) - np.logaddexp(log(whole), form.log_imagined)


def _shrinks(family: Joint, part: Cells, X: LevelCodes, rows: RowsLeftOut) -> NDArray[np.bool_]:
    """Which rows alone have the highest level of a feature, so that the table is smaller without them."""
    out, total = np.zeros(len(X), dtype=np.bool_), part.count.sum(axis=0)
    least = family.min_levels or (0,) * part.n_features
    for j, (size, known) in enumerate(zip(part.sizes, least)):
        top = total[part.cell[:, j] == size - 1].sum()
        if known < size:
            out |= (X[:, j] == size - 1) & ~is_left(np.full(len(X), top), rows.weight)
    return out
