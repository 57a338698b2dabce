"""Checks of values that cannot be counted or scored, and the errors that name them; class labels as codes."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Codes
from deciban.errors import InputError, RowError
from deciban.ledger import Needs

Rule = Literal["missing", "infinite", "negative", "above one", "too many levels"]

MAX_LEVELS = 1 << 24
"""The greatest number of levels of a feature, which level codes number from 0; a larger number is not one."""

RULE_TEXTS = {
    "missing": "is missing, and may not be",
    "infinite": "is not finite",
    "negative": "is negative, and must not be",
    "above one": "is not between 0 and 1",
    "too many levels": f"is not a level code: these number the levels from 0, at most {MAX_LEVELS}",
}


class InvalidValueError(RowError):
    """The first value that breaks a rule, and how many do in its column and block of rows; callers may reword it."""

    def __init__(self, rule: Rule, row: int, column: int, value: float, count: int) -> None:
        self.rule, self.column, self.value, self.count = rule, column, value, count
        super().__init__(self._describe, row)

    def _describe(self, row: int) -> str:
        return f"the value {self.value:g} in row {row}, column {self.column} {RULE_TEXTS[self.rule]}"


class TooLargeError(InputError):
    """Values whose sums or squares overflow a double; callers that know the column's name reword the message."""


def check(X: NDArray[Any], needs: Needs, first_row: int = 0, *, learning: bool = False) -> None:
    """Raise an error for values that a family cannot use: infinite, and by its needs NaN, negative, or above one.

    When `learning`, also for level codes too large for any table; in prediction they are just unseen. The error
    numbers the rows from `first_row` on.
    """
    rules: list[tuple[Rule, NDArray[np.bool_]]] = []
    if X.dtype.kind == "f":
        rules.append(("infinite", np.isinf(X)))
        if not needs.skips:
            rules.append(("missing", np.isnan(X)))
    if not needs.signed:
        rules.append(("negative", X < 0))
    if needs.unit:
        rules.append(("above one", X > 1))
    if learning and needs.kind in ("levels", "cells"):
        rules.append(("too many levels", X >= MAX_LEVELS))
    for rule, broken in rules:
        if broken.any():
            row, column = (int(i) for i in np.argwhere(broken)[0])
            raise InvalidValueError(
                rule, first_row + row, column, float(X[row, column]), int(broken[:, column].sum())
            )


MAX_TABLE_RANGE = 1 << 16
"""Whole numbers within this range are coded through a table: 3 ms for a million, where sorting takes 60."""

MAX_COMPARED_TEXTS = 8
"""The greatest number of text classes that are found by comparison, one by one."""


def encode(y: NDArray[Any]) -> tuple[NDArray[Any], Codes]:
    """Return the classes in order, and each row's index among them.

    >>> classes, codes = encode(np.array(["spam", "ham", "spam"]))
    >>> classes.tolist(), codes.tolist()
    (['ham', 'spam'], [1, 0, 1])
    """
    span = _narrow_range(y)
    if span is not None:
        low, high = span
        seen = np.zeros(high - low + 1, dtype=np.bool_)
        shifted = y.astype(np.intp) - low
        seen[shifted] = True
        classes = np.flatnonzero(seen)
        table = np.zeros(len(seen), dtype=np.int32)
        table[classes] = np.arange(len(classes))
        return (classes + low).astype(y.dtype), table[shifted]
    few = _encode_few_texts(y) if y.dtype.kind in "US" else None
    if few is not None:
        return few
    try:
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in y})
        raise InputError(
            f"Unknown label type: the labels in y mix {', '.join(kinds)} and have no common order. "
            f"Hint: make them all text, or all numbers, and leave out rows without a label."
        ) from None
    return classes, codes.reshape(-1).astype(np.int32)


def encode_known(y: NDArray[Any], classes: NDArray[Any], hint: str = "use labels that were learned") -> Codes:
    """Return each row's index among known classes; raise an error for any other label."""
    present, codes = encode(y)
    place = {label: k for k, label in enumerate(classes.tolist())}
    found = [place.get(label, -1) for label in present.tolist()]
    if -1 in found:
        unknown = present[np.array(found) < 0]
        raise InputError(
            f"The target label(s) {unknown} in y do not exist in the initial classes {classes}. Nothing was changed. "
            f"Hint: {hint}"
        )
    return np.array(found, dtype=np.int32)[codes] if found else codes


def _encode_few_texts(y: NDArray[Any]) -> tuple[NDArray[Any], Codes] | None:
    """Encode texts by comparing all rows with each class, cheaper than sorting; None for no rows or many classes."""
    codes = np.full(len(y), -1, dtype=np.int32)
    found: list[int] = []
    while len(found) < MAX_COMPARED_TEXTS and len(y):
        first = int(np.argmin(codes))
        if codes[first] >= 0:
            break
        codes[y == y[first]] = len(found)
        found.append(first)
    if not found or codes.min() < 0:
        return None
    order = np.argsort(y[found])
    return y[found][order], np.argsort(order).astype(np.int32)[codes]


def _narrow_range(y: NDArray[Any]) -> tuple[int, int] | None:
    """Return the lowest and the highest of whole numbers; None for other labels, or a range beyond the table."""
    if y.dtype.kind not in "iu" or not len(y):
        return None
    low, high = int(y.min()), int(y.max())
    return (low, high) if high - low < MAX_TABLE_RANGE and abs(low) < 2**31 else None
