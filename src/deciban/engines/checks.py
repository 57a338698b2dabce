"""Checks of values that cannot be counted or scored, and the errors that name them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deciban.errors import InputError
from deciban.ledger import Needs

Rule = Literal["missing", "infinite", "negative", "above one", "too many levels"]

MAX_LEVELS = 1 << 24
"""The greatest number of levels of a feature, which level codes number from 0; a larger number is no level code."""

RULE_TEXTS = {
    "missing": "is missing, and may not be",
    "infinite": "is not finite",
    "negative": "is negative, and must not be",
    "above one": "is not between 0 and 1",
    "too many levels": f"is no level code: these number the levels from 0, at most {MAX_LEVELS}",
}


class InvalidValueError(InputError):
    """The first value that breaks a rule; callers that know the column's name reword the message."""

    def __init__(self, rule: Rule, row: int, column: int, value: float, count: int) -> None:
        self.rule, self.row, self.column, self.value, self.count = rule, row, column, value, count
        super().__init__(f"the value {value:g} in row {row}, column {column} {RULE_TEXTS[rule]}")


class TooLargeError(InputError):
    """Values whose sums or squares overflow a double; callers that know the column's name reword the message."""


def check(X: NDArray[Any], needs: Needs, first_row: int = 0, *, learning: bool = False) -> None:
    """Raise an error for values that a family cannot use: infinite, and by its needs NaN, negative, or above one.

    When `learning`, also for level codes too large for any table; in prediction they are just unseen.
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
