"""Where to cut a number into bins: recursive halving by class entropy, stopped by description length.

Fayyad & Irani (1993), "Multi-interval discretization of continuous-valued attributes for classification learning".
A set S of N rows is cut where the class entropy of the two sides is least, and only if what is gained pays for
describing the cut:

    Gain > [log₂(N − 1) + log₂(3^c − 2) − c Ent(S) + c₁ Ent(S₁) + c₂ Ent(S₂)] / N,

c, c₁, c₂ the number of classes in the whole and on each side. Then each side is treated in the same way.
"""

from __future__ import annotations

import math

import numpy as np

from deciban.ledger.statistic import Array

TINY = np.finfo(np.float64).tiny


def best_cuts(table: Array) -> list[int]:
    """The columns of a table (K × values in order) that begin a new bin, ascending; weights may be fractions.

    >>> best_cuts(np.array([[9.0, 9.0, 0.0, 0.0], [0.0, 0.0, 9.0, 9.0]]))
    [2]
    """
    present = table.any(axis=1)
    table = table[present]
    sums = np.concatenate([np.zeros((len(table), 1)), np.cumsum(table, axis=1)], axis=1)
    cuts, todo = [], [(0, table.shape[1])]
    while todo:
        a, b = todo.pop()
        at = _cut(table, sums, a, b)
        if at is not None:
            cuts.append(at)
            todo += [(a, at), (at, b)]
    return sorted(cuts)


def _cut(table: Array, sums: Array, a: int, b: int) -> int | None:
    """The best cut of columns a to b, or None where none is worth its description."""
    kinds = _kinds(table, a, b)
    if b - a < 2 or kinds < 2:
        return None
    before, inside, after = sums[:, a, None], sums[:, a + 1 : b], sums[:, b, None]
    left, right = information(inside - before), information(after - inside)
    i = int(np.argmin(left + right))
    at = a + 1 + i
    n, n_left = float((after - before).sum()), float((inside[:, i] - before[:, 0]).sum())
    whole = float(information(after - before)[0])
    spared = kinds * whole / n
    spared -= _kinds(table, a, at) * left[i] / n_left + _kinds(table, at, b) * right[i] / (n - n_left)
    price = math.log(max(n - 1, 1.0)) + _log_ways(kinds) - spared
    return at if whole - left[i] - right[i] > price else None


def information(counts: Array) -> Array:
    """N · Ent in nats of each column of class counts: N ln N − Σ n_k ln n_k."""
    return _x_log_x(counts.sum(axis=0)) - _x_log_x(counts).sum(axis=0)


def _x_log_x(x: Array) -> Array:
    return x * np.log(np.maximum(x, TINY))


def _kinds(table: Array, a: int, b: int) -> int:
    """How many classes have weight in columns a to b; of the counts themselves, whose sums may have been rounded."""
    return int(table[:, a:b].any(axis=1).sum())


def _log_ways(kinds: int) -> float:
    """ln(3^c − 2), for any c."""
    return kinds * math.log(3) + math.log1p(-2 * 3.0**-kinds)
