"""Assignment of rows to folds: stratified by class, by groups, or by order."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.errors import InputError

Folds = NDArray[np.int32]
"""The fold of each row; −1: the row is learned by every model and scored by none."""

LEAVE_ONE_OUT_TEXT = "exact leave-one-out: every row scored by the model of all others"
"""The sentence of a report on rows that were left out one by one."""


def describe_folds(n: int, how: str) -> str:
    """Return the sentence of a report on rows that were left out fold by fold."""
    return f"exact {n}-fold, {how}: every row scored by the model without its fold"


def describe_ordered_folds(n: int, name: str = "") -> str:
    """Return the sentence of a report on rows that were scored by the model of the folds before theirs."""
    of_name = f" of {name}" if name else ""
    return f"{n} folds in order{of_name}: each scored by the model of those before it, the first by none"


def is_integer_above_one(value: Any) -> bool:
    """Return whether a value is a whole number of at least 2, and not a float, True or False."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value >= 2)


def check_n_folds(folds: Any) -> int:
    """Check that the number of folds is a whole number of at least 2, and return it."""
    if not is_integer_above_one(folds):
        raise InputError(f"folds must be a whole number of at least 2, not {folds!r}")
    return int(folds)


class StratifiedAssigner:
    """An assigner of rows to folds of equal class shares: the i-th row of class k goes to fold (i + k) mod F.

    Classes are numbered as they appear, so their names change nothing. Rows may come in batches: the number of rows
    of each class so far is kept.

    >>> folds = StratifiedAssigner(2)
    >>> folds.assign(np.array([0, 0, 1, 0])).tolist(), folds.assign(np.array([1, 0])).tolist()
    ([0, 1, 1, 0], [0, 1])
    """

    def __init__(self, n_folds: int) -> None:
        self.n_folds = check_n_folds(n_folds)
        self._passed = np.zeros(0, dtype=np.int64)
        self._numbers = np.zeros(0, dtype=np.int64)
        """The number of each class by its code, −1 before it appears."""

    def assign(self, codes: NDArray[np.integer[Any]]) -> Folds:
        """Return the folds of the next rows, by the codes of their classes; a row without a class (−1) is in none."""
        if not len(codes):
            return np.zeros(0, dtype=np.int32)
        least = int(codes.min())
        if least < -1:
            raise InputError(f"class codes are 0 or more, or −1 for a row without a class, not {least}")
        index = None if least >= 0 else np.flatnonzero(codes >= 0)
        present = codes if index is None else codes[index]
        counts = np.bincount(present, minlength=len(self._passed))
        new = len(counts) - len(self._passed)
        self._passed = np.concatenate([self._passed, np.zeros(new, dtype=np.int64)])
        self._numbers = np.concatenate([self._numbers, np.full(new, -1)])
        if (self._numbers[present] < 0).any():
            found, where = np.unique(present, return_index=True)
            appeared = found[np.argsort(where)]
            appeared = appeared[self._numbers[appeared] < 0]
            self._numbers[appeared] = self._numbers.max() + 1 + np.arange(len(appeared))
        first = (self._passed + self._numbers) % self.n_folds
        self._passed = self._passed + counts
        narrow = present.astype(np.uint16) if len(counts) <= 1 << 16 else present  # 16 bits: NumPy sorts by counting
        order = np.argsort(narrow, kind="stable")
        start = np.repeat(np.cumsum(counts) - counts - first, counts)
        out = np.full(len(codes), -1, dtype=np.int32)
        out[order if index is None else index[order]] = (np.arange(len(present)) - start) % self.n_folds
        return out


class FoldAssignment:
    """The fold of each row of a table by its number: fixed beforehand, or stratified by class as the rows are read.

    The fold of each row is kept, in a byte where there are at most 128 folds.
    """

    def __init__(self, n_folds: int, folds: Folds | None = None) -> None:
        self.n_folds = n_folds
        self._dtype = np.min_scalar_type(-n_folds)
        self._assigner = StratifiedAssigner(n_folds) if folds is None else None
        self._blocks: list[NDArray[Any]] = [] if folds is None else [folds.astype(self._dtype)]
        self._end = 0

    def __call__(self, codes: NDArray[np.int32], number: NDArray[np.int64]) -> Folds:
        """Return the folds of the next rows, by their classes and numbers, which must ascend from call to call."""
        if self._assigner is None:
            return self.lookup(number)
        fold = self._assigner.assign(codes)
        if len(number):
            block = np.full(int(number[-1]) + 1 - self._end, -1, dtype=self._dtype)
            block[number - self._end] = fold
            self._blocks.append(block)
            self._end = int(number[-1]) + 1
        return fold

    def lookup(self, number: NDArray[np.int64]) -> Folds:
        """Return the folds of rows by their numbers, −1 for a row that was not assigned."""
        if len(self._blocks) > 1:
            self._blocks = [np.concatenate(self._blocks)]
        if not self._blocks:
            return np.full(len(number), -1, dtype=np.int32)
        known = number < len(self._blocks[0])
        return np.where(known, self._blocks[0][np.where(known, number, 0)], -1).astype(np.int32)


def assign_by_group(values: Any, n_folds: int) -> Folds:
    """Assign each group, the largest first, to the fold with the fewest rows; InputError for fewer groups than folds.

    >>> assign_by_group(["ann", "bob", "ann", "cat", "ann"], 2).tolist()
    [0, 1, 0, 1, 0]
    """
    check_n_folds(n_folds)
    distinct, which = find_distinct_values(values, "groups", "group")
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


def assign_by_order(values: Any, n_folds: int) -> Folds:
    """Assign rows to consecutive folds of about equal size in the order of values, such as times.

    Equal values stay together, so folds may be fewer (fewer than two are refused). Fold f is scored by the model of
    those before it, fold 0 by none.

    >>> assign_by_order([2020, 2023, 2021, 2022], 2).tolist()
    [0, 1, 0, 1]
    """
    check_n_folds(n_folds)
    distinct, which = find_distinct_values(values, "order", "place in the order")
    size = np.bincount(which)
    first = np.cumsum(size) - size  # of the rows in order, where each value begins
    parts, fold = np.unique(first * n_folds // len(which), return_inverse=True)
    if len(parts) < 2:
        raise InputError(
            f"order has too few different values ({len(distinct)}) to tell before from after. "
            f"Hint: another column, or folds without an order"
        )
    return fold.reshape(-1).astype(np.int32)[which]


def find_distinct_values(values: Any, argument: str, noun: str) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the distinct values in order, and the index of each row's value.

    Refuse missing values, values without a common order, no values, and an array that is not one-dimensional;
    `argument` and `noun` name them in the error.
    """
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError(f"{argument} has one value for each row, not an array of shape {array.shape}")
    missing = _is_missing(array)
    if missing.any():
        raise InputError(
            f"row {int(np.argmax(missing))} has no {noun}: {argument} is missing there. Hint: leave such rows out"
        )
    if not len(array):
        raise InputError(f"{argument} is empty: there are no rows to evaluate")
    try:
        distinct, which = np.unique(array, return_inverse=True)
    except TypeError:
        kinds = sorted({type(value).__name__ for value in array.tolist()})
        raise InputError(
            f"{argument} mixes {', '.join(kinds)}, which have no common order. Hint: make them all text"
        ) from None
    return distinct, which.reshape(-1)


def _is_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype.kind != "O":
        return np.asarray(values != values)  # NaN and NaT alone differ from themselves
    named = ((value, type(value).__name__) for value in values.tolist())  # pandas's NA cannot be compared
    return np.array([value is None or name == "NAType" or value != value for value, name in named], dtype=np.bool_)
