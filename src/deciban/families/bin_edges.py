"""Where to cut numbers into bins: recursive halving by class entropy, stopped by description length.

Fayyad & Irani (1993), "Multi-interval discretization of continuous-valued attributes for classification learning".
A set S of N rows is cut where the class entropy of the two sides is least, and only if what is gained pays for
describing the cut:

    Gain > [log₂(N − 1) + log₂(3^c − 2) − c Ent(S) + c₁ Ent(S₁) + c₂ Ent(S₂)] / N,

c, c₁, c₂ the number of classes in the whole and on each side. Then each side is treated in the same way. All columns
of a table are cut together, one round of halving at a time: a call of NumPy for each round, not for each column.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array

TINY = np.finfo(np.float64).tiny
MAX_EXACT_INTEGER = 2.0**53
"""Sums of whole numbers up to this are exact in double precision."""


def best_cuts(table: Array, offset: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places of a table (K × values in order) that begin a new bin, ascending; weights may be fractions.

    Column j of the data has the places offset[j] to offset[j+1].

    >>> best_cuts(np.array([[9.0, 9.0, 0.0, 0.0], [0.0, 0.0, 9.0, 9.0]]), np.array([0, 4])).tolist()
    [2]
    """
    first = offset + np.arange(len(offset))  # before each column of the data: a place without weight
    inside = np.ones(table.shape[1] + len(offset), dtype=np.bool_)
    inside[first] = False
    counts = np.zeros((len(table), len(inside)))
    counts[:, inside] = table
    present, sums = np.cumsum(counts > 0, axis=1, dtype=np.int64), np.cumsum(counts, axis=1)
    if (table != np.rint(table)).any() or sums[:, -1].max(initial=0.0) > MAX_EXACT_INTEGER:
        # rounded sums of one column must not depend on the columns before it
        for a, b in pairwise(first.tolist()):
            counts[:, a:b].cumsum(axis=1, out=sums[:, a:b])
    cuts: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]
    starts, ends = first[:-1], first[1:] - 1
    while starts.size:
        starts, ends, at = _cut_segments(sums, present, starts, ends)
        cuts.append(at)
        starts, ends = np.concatenate([starts, at]), np.concatenate([at, ends])
    places = np.sort(np.concatenate(cuts))
    return places - np.searchsorted(first, places, side="left") + 1


def _cut_segments(
    sums: Array, present: NDArray[np.int64], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The segments that are worth a cut, and where each is cut; a segment is what lies between two sums."""
    kinds = _kinds(present, starts, ends)
    worth = (ends - starts >= 2) & (kinds >= 2)
    starts, ends, kinds = starts[worth], ends[worth], kinds[worth]
    if not starts.size:
        return starts, ends, starts
    sizes = ends - starts - 1
    first = np.cumsum(sizes) - sizes
    place = np.arange(int(sizes.sum())) + np.repeat(starts + 1 - first, sizes)
    left = information(sums[:, place] - np.repeat(sums[:, starts], sizes, axis=1))
    right = information(np.repeat(sums[:, ends], sizes, axis=1) - sums[:, place])
    best = np.flatnonzero(left + right == np.repeat(np.minimum.reduceat(left + right, first), sizes))
    best = best[np.searchsorted(best, first)]  # the first of the least of each segment
    at, left, right = place[best], left[best], right[best]
    whole = information(sums[:, ends] - sums[:, starts])
    n, n_left = (sums[:, ends] - sums[:, starts]).sum(axis=0), (sums[:, at] - sums[:, starts]).sum(axis=0)
    spared = kinds * whole / n
    spared -= _kinds(present, starts, at) * left / n_left + _kinds(present, at, ends) * right / (n - n_left)
    price = np.log(np.maximum(n - 1, 1.0)) + _log_ways(kinds) - spared
    pays = whole - left - right > price
    return starts[pays], ends[pays], at[pays]


def information(counts: Array) -> Array:
    """N · Ent in nats of each column of class counts: N ln N − Σ n_k ln n_k."""
    return _x_log_x(counts.sum(axis=0)) - _x_log_x(counts).sum(axis=0)


def _x_log_x(x: Array) -> Array:
    return x * np.log(np.maximum(x, TINY))


def _kinds(present: NDArray[np.int64], a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many classes have weight between a and b; of the counts themselves, whose sums may have been rounded."""
    return (present[:, b] > present[:, a]).sum(axis=0)


def _log_ways(kinds: NDArray[np.int64]) -> Array:
    """ln(3^c − 2), for any c."""
    return kinds * np.log(3) + np.log1p(-2 * 3.0**-kinds)
