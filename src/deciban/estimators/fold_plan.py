"""Who is judged by whom: what `folds`, `groups` and `order` mean for the rows at hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Codes
from deciban.errors import InputError
from deciban.sources.frames import Frame
from deciban.sources.source import first_rows
from deciban.validation.splits import (
    LEFT_OUT,
    Folds,
    Stratified,
    by_group,
    by_order,
    checked_count,
    distinct_values,
    in_folds,
    in_order,
)

BY_CLASS = ("joint", "log_posterior", "posterior")
"""What may be wanted of a row that is told for each class."""

Rule = Literal["others", "before", "given"]
"""A fold is judged by what was learned from all other folds, from those before it, or from rows that were named."""


@dataclass(frozen=True)
class Plan:
    """The fold of each row (−1: of none, so every model learns it), and from which rows each fold's model learns."""

    fold: Folds
    n_folds: int
    words: str
    rule: Rule = "others"
    trained: Sequence[NDArray[np.intp]] = ()
    alone: bool = False
    """Whether every row is a fold of its own."""

    @property
    def first(self) -> int:
        """The first fold that is judged."""
        return int(self.rule == "before")

    @property
    def judged(self) -> NDArray[np.bool_]:
        """Which rows are judged at all."""
        return self.fold >= self.first

    def learned(self, f: int) -> NDArray[np.intp]:
        """The rows that fold f's model learns from."""
        if self.rule == "given":
            return self.trained[f]
        return np.flatnonzero(self.fold < f if self.rule == "before" else self.fold != f)


def planned(folds: Any, X: Any, codes: Codes, groups: Any, order: Any, present: NDArray[np.bool_]) -> Plan:
    """The plan that the arguments of `cross_validate` describe, for the rows that are present (have a weight)."""
    n = len(codes)
    for name, values in (("groups", groups), ("order", order)):
        if values is not None and len(values) != n:
            raise InputError(f"{name} has {len(values)} values for {n} rows. Hint: one for each row")
    if groups is not None and order is not None:
        raise InputError("rows are folded by groups or by their order, not by both. Hint: leave one of them out")
    if isinstance(folds, str) and folds != "loo":
        raise InputError(f"folds is a number, 'loo', the fold of each row, or a splitter; not {folds!r}")
    if hasattr(folds, "split") and not isinstance(folds, str):
        return _of_pairs(folds.split(X, codes, groups), repr(folds), n, order, present)
    if hasattr(folds, "__next__") or _are_pairs(folds):
        return _of_pairs(folds, "those given", n, order, present)
    if groups is not None:
        return _of_groups(folds, np.asarray(groups)[present])
    if order is not None:
        return _of_order(folds, np.asarray(order)[present])
    return _of_array(folds, present) if np.ndim(folds) else _of_rows(folds, codes[present])


def _of_rows(folds: Any, codes: Codes) -> Plan:
    n = len(codes)
    if isinstance(folds, str):
        if n < 2:
            raise InputError("leave-one-out takes two rows or more: one to be judged, one to learn from")
        return Plan(np.arange(n, dtype=np.int32), n, LEFT_OUT, alone=True)
    F = checked_count(folds)
    if n < F:
        raise InputError(f"{n} rows cannot be dealt into {F} folds. Hint: folds='loo', or fewer folds")
    return Plan(Stratified(F).of(codes), F, in_folds(F, "stratified by class"))


def _of_groups(folds: Any, groups: Any) -> Plan:
    if isinstance(folds, str):
        distinct, which = distinct_values(groups, "groups", "group")
        if len(distinct) < 2:
            raise InputError("one group cannot be judged by the others. Hint: folds='loo' without groups")
        words = "exact leave-one-group-out: every row judged by the model of all other groups"
        return Plan(which.astype(np.int32), len(distinct), words)
    return Plan(by_group(groups, folds), int(folds), in_folds(folds, "groups kept together"))


def _of_order(folds: Any, order: Any) -> Plan:
    fold = by_order(order, checked_count(folds))
    F = int(fold.max()) + 1
    return Plan(fold, F, in_order(F), "before")


def _of_array(folds: Any, present: NDArray[np.bool_]) -> Plan:
    given = np.asarray(folds)
    if given.shape != present.shape:
        raise InputError(
            f"folds has the shape {given.shape} for {len(present)} rows. Hint: the fold of each row, or a number"
        )
    given = given[present]
    if given.dtype.kind == "f" and not (given == np.floor(given)).all():
        raise InputError(f"folds are numbered 0, 1, 2 …, or named by texts; not {given[:3]}")
    distinct, which = distinct_values(given, "folds", "fold")
    always = distinct.dtype.kind in "if" and distinct[0] < 0
    if always and (distinct[0] != -1):
        raise InputError(f"folds are numbered 0, 1, 2 … (−1: learned from, never judged); not {distinct[0]}")
    fold, F = (which - int(always)).astype(np.int32), len(distinct) - int(always)
    if F < 1 or len(distinct) < 2:
        raise InputError("all rows are in one fold, so there is nothing to learn from. Hint: two folds or more")
    return Plan(fold, F, in_folds(F, "folds as given"))


def _are_pairs(folds: Any) -> bool:
    """Whether these are pairs of row numbers, (train, test), as scikit-learn's splitters give them."""
    return isinstance(folds, (list, tuple)) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in folds)


def _of_pairs(pairs: Iterable[Any], who: str, n: int, order: Any, present: NDArray[np.bool_]) -> Plan:
    """The rows that are learned from and those that are judged, for each fold."""
    if order is not None:
        raise InputError("a splitter has an order of its own. Hint: leave order out, or folds=10")
    fold, trained = np.full(n, -1, dtype=np.int32), []
    whole = True
    for f, pair in enumerate(pairs):
        train, test = (np.arange(n)[np.asarray(i) if len(i) else slice(0)] for i in pair)
        if (fold[test] >= 0).any() or len(np.unique(test)) < len(test):
            raise InputError(
                f"of the folds, {who}, two judge the same row, and a row is judged once. "
                f"Hint: KFold, StratifiedKFold, GroupKFold and their like have each row in one"
            )
        if not len(train):
            raise InputError(f"of the folds, {who}, number {f} has no rows to learn from. Hint: fewer folds")
        fold[test] = f
        trained.append(train)
        whole &= bool((np.bincount(np.concatenate([train, test]), minlength=n) == 1).all())
    if not trained:
        raise InputError(f"there are no folds: {who}")
    words = f"{len(trained)} folds of {who}"
    fold = fold[present]
    if whole:
        return Plan(fold, len(trained), f"exact, {words}: every row judged by the model without its fold")
    place = np.cumsum(present) - 1
    learned = [place[rows[present[rows]]] for rows in trained]
    return Plan(fold, len(trained), f"{words}, each model fitted to the rows it names", "given", learned)


def taken(rows: Any, index: NDArray[np.intp]) -> Any:
    """Some of the rows, whatever they are: an array, a sparse matrix, a table, documents."""
    if hasattr(rows, "num_rows"):
        return first_rows(Frame(rows), rows.num_rows).take(index)
    if isinstance(rows, np.ndarray) or hasattr(rows, "tocsr"):
        return rows[index]
    if type(rows).__module__.startswith("deciban"):
        return rows[index]
    from sklearn.utils import _safe_indexing

    return _safe_indexing(rows, index)
