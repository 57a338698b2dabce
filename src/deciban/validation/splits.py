"""Which rows are judged together: stratified by class, by groups that stay together, or in the order of time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.errors import InputError

Folds = NDArray[np.int32]
"""The fold of each row; −1: learned from by every model, and judged by none."""


LEFT_OUT = "exact leave-one-out: every row judged by the model of all others"
"""What a report says of rows that were left out one by one."""


def in_folds(n: int, how: str) -> str:
    """What a report says of rows that were left out fold by fold."""
    return f"exact {n}-fold, {how}: every row judged by the model without its fold"


def in_order(n: int, name: str = "") -> str:
    """What a report says of rows that were judged by what came before them."""
    return (
        f"{n} folds in order{name and f' of {name}'}: each judged by the model of those before it, the first by none"
    )


def checked_count(folds: Any) -> int:
    """The number of folds: a whole number of at least 2."""
    if isinstance(folds, (bool, np.bool_)) or not isinstance(folds, (int, np.integer)) or folds < 2:
        raise InputError(f"folds must be a whole number of at least 2, not {folds!r}")
    return int(folds)


class Stratified:
    """Folds in which every class has about the same share: the i-th row of class k goes to fold (i + k) mod F.

    Rows may come in pieces: how many of each class have passed is remembered.

    >>> folds = Stratified(2)
    >>> folds.of(np.array([0, 0, 1, 0])).tolist(), folds.of(np.array([1, 0])).tolist()
    ([0, 1, 1, 0], [0, 1])
    """

    def __init__(self, n_folds: int) -> None:
        self.n_folds = checked_count(n_folds)
        self._passed = np.zeros(0, dtype=np.int64)

    def of(self, codes: NDArray[np.integer[Any]]) -> Folds:
        """The folds of the next rows, by the places of their classes; a row without one (−1) is in none."""
        if not len(codes):
            return np.zeros(0, dtype=np.int32)
        least = int(codes.min())
        if least < -1:
            raise InputError(f"a class is a place from 0 on, or −1 for none; not {least}")
        present = codes if least >= 0 else codes[codes >= 0]
        counts = np.bincount(present, minlength=len(self._passed))
        self._passed = np.concatenate([self._passed, np.zeros(len(counts) - len(self._passed), dtype=np.int64)])
        first = (self._passed + np.arange(len(counts))) % self.n_folds
        self._passed = self._passed + counts
        if least >= 0:
            return self._dealt(codes, counts, first)
        out = np.full(len(codes), -1, dtype=np.int32)
        out[codes >= 0] = self._dealt(present, counts, first)
        return out

    def _dealt(self, codes: NDArray[Any], counts: NDArray[np.int64], first: NDArray[np.int64]) -> Folds:
        """Each class dealt round and round the folds, from its first one on."""
        narrow = codes.astype(np.uint16) if len(counts) <= 1 << 16 else codes  # 16 bits: NumPy sorts by counting
        order = np.argsort(narrow, kind="stable")
        start = np.repeat(np.cumsum(counts) - counts - first, counts)
        out = np.empty(len(codes), dtype=np.int32)
        out[order] = (np.arange(len(codes)) - start) % self.n_folds
        return out


def by_group(values: Any, n_folds: int) -> Folds:
    """Folds that never part a group: the largest first, each to the fold that has the fewest rows yet.

    >>> by_group(["ann", "bob", "ann", "cat", "ann"], 2).tolist()
    [0, 1, 0, 1, 0]
    """
    checked_count(n_folds)
    distinct, which = distinct_values(values, "groups", "group")
    if len(distinct) < n_folds:
        raise InputError(
            f"{n_folds} folds need at least {n_folds} groups, and there are {len(distinct)}. "
            f"Hint: " + (f"folds={len(distinct)}" if len(distinct) > 1 else "other groups, or none")
        )
    size = np.bincount(which)
    fold, rows = np.empty(len(size), dtype=np.int32), np.zeros(n_folds, dtype=np.int64)
    for group in np.argsort(-size, kind="stable").tolist():
        fold[group] = rows.argmin()
        rows[fold[group]] += size[group]
    return fold[which]


def by_order(values: Any, n_folds: int) -> Folds:
    """Consecutive folds of about equal size in the order of the values: of times, say; equal values stay together.

    Fold f is to be judged by what was learned from the folds before it, and the first by nothing.

    >>> by_order([2020, 2023, 2021, 2022], 2).tolist()
    [0, 1, 0, 1]
    """
    checked_count(n_folds)
    distinct, which = distinct_values(values, "order", "place in the order")
    size = np.bincount(which, minlength=len(distinct))
    first = np.cumsum(size) - size  # of the rows in order, where each value begins
    _, fold = np.unique(first * n_folds // len(which), return_inverse=True)
    if len(np.unique(fold)) < 2:
        raise InputError(
            f"order has too few different values ({len(distinct)}) to tell before from after. "
            f"Hint: another column, or folds without an order"
        )
    return fold.reshape(-1).astype(np.int32)[which]


def distinct_values(values: Any, argument: str, noun: str) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The different values in order, and which of them each row has; a missing one is refused."""
    given = np.asarray(values)
    if given.ndim != 1:
        raise InputError(f"{argument} has one value for each row, not an array of shape {given.shape}")
    missing = _missing(given)
    if missing.any():
        raise InputError(
            f"row {int(np.argmax(missing))} has no {noun}: {argument} is missing there. Hint: leave such rows out"
        )
    if not len(given):
        raise InputError(f"{argument} is empty: there are no rows to judge")
    try:
        distinct, which = np.unique(given, return_inverse=True)
    except TypeError:
        kinds = sorted({type(value).__name__ for value in given.tolist()})
        raise InputError(
            f"{argument} mixes {', '.join(kinds)}, which have no common order. Hint: make them all text"
        ) from None
    return distinct, which.reshape(-1)


def _missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype.kind in "iubUS":
        return np.zeros(len(values), dtype=np.bool_)
    if values.dtype.kind in "mM":
        return np.isnat(values)
    return np.array([value is None or value != value for value in values.tolist()], dtype=np.bool_)
