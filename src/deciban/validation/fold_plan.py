"""Fold plans of rows in memory: the meaning of `folds`, `groups` and `order` for `cross_validate`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Codes
from deciban.errors import InputError
from deciban.sources.arrow_sources import Frame
from deciban.sources.source import read_first_rows
from deciban.validation import splits
from deciban.validation.splits import Folds, describe_folds

Rule = Literal["others", "before", "given"]
"""The rows that a fold's model learns: all other folds, the folds before it, or rows that were named."""


@dataclass(frozen=True)
class FoldPlan:
    """The fold of each row (−1: of none, so every model learns it), and the rows that each fold's model learns."""

    fold: Folds
    n_folds: int
    words: str
    rule: Rule = "others"
    trained: Sequence[NDArray[np.intp]] = ()
    leave_one_out: bool = False
    """Whether every row is a fold of its own."""

    @property
    def first_scored(self) -> int:
        """The first fold that is scored."""
        return int(self.rule == "before")

    @property
    def is_scored(self) -> NDArray[np.bool_]:
        """Whether each row is scored."""
        return self.fold >= self.first_scored

    def learned_rows(self, f: int) -> NDArray[np.intp]:
        """Return the rows that fold f's model learns."""
        if self.rule == "given":
            return self.trained[f]
        return np.flatnonzero(self.fold < f if self.rule == "before" else self.fold != f)


def make_fold_plan(folds: Any, X: Any, codes: Codes, groups: Any, order: Any, present: NDArray[np.bool_]) -> FoldPlan:
    """Make the plan that the arguments of `cross_validate` describe, for the rows that have a weight."""
    n = len(codes)
    for name, values in (("groups", groups), ("order", order)):
        if values is not None and len(values) != n:
            raise InputError(f"{name} has {len(values)} values for {n} rows. Hint: one for each row")
    if groups is not None and order is not None:
        raise InputError("rows are folded by groups or by their order, not by both. Hint: leave one of them out")
    if isinstance(folds, str) and folds != "loo":
        raise InputError(f"folds is a number, 'loo', the fold of each row, or a splitter; not {folds!r}")
    if hasattr(folds, "split") and not isinstance(folds, str):
        return _plan_by_pairs(folds.split(X, codes, groups), repr(folds), n, order, present)
    are_pairs = isinstance(folds, (list, tuple)) and all(isinstance(x, tuple) and len(x) == 2 for x in folds)
    if hasattr(folds, "__next__") or are_pairs:  # (train, test), as scikit-learn's splitters give them
        return _plan_by_pairs(folds, "those given", n, order, present)
    if groups is not None:
        return _plan_by_group(folds, np.asarray(groups)[present])
    if order is not None:
        fold = splits.assign_by_order(np.asarray(order)[present], splits.check_n_folds(folds))
        F = int(fold.max()) + 1
        return FoldPlan(fold, F, splits.describe_ordered_folds(F), "before")
    return _plan_by_array(folds, present) if np.ndim(folds) else _plan_by_class(folds, codes[present])


def _plan_by_class(folds: Any, codes: Codes) -> FoldPlan:
    n = len(codes)
    if isinstance(folds, str):
        if n < 2:
            raise InputError("leave-one-out takes two rows or more: one to be scored, one to learn from")
        return FoldPlan(np.arange(n, dtype=np.int32), n, splits.LEAVE_ONE_OUT_TEXT, leave_one_out=True)
    F = splits.check_n_folds(folds)
    if n < F:
        raise InputError(f"{n} rows cannot be split into {F} folds. Hint: folds='loo', or fewer folds")
    return FoldPlan(splits.StratifiedAssigner(F).assign(codes), F, describe_folds(F, "stratified by class"))


def _plan_by_group(folds: Any, groups: Any) -> FoldPlan:
    if isinstance(folds, str):
        distinct, which = splits.distinct_values(groups, "groups", "group")
        if len(distinct) < 2:
            raise InputError("one group cannot be scored by the model of others. Hint: folds='loo' without groups")
        words = "exact leave-one-group-out: every row scored by the model of all other groups"
        return FoldPlan(which.astype(np.int32), len(distinct), words)
    return FoldPlan(splits.assign_by_group(groups, folds), int(folds), describe_folds(folds, "groups kept together"))


def _plan_by_array(folds: Any, present: NDArray[np.bool_]) -> FoldPlan:
    array = np.asarray(folds)
    if array.shape != present.shape:
        raise InputError(
            f"folds has the shape {array.shape} for {len(present)} rows. Hint: the fold of each row, or a number"
        )
    array = array[present]
    if array.dtype.kind == "f" and not (array == np.floor(array)).all():
        raise InputError(f"folds are numbered 0, 1, 2 …, or named by texts; not {array[:3]}")
    distinct, which = splits.distinct_values(array, "folds", "fold")
    always = distinct.dtype.kind in "if" and distinct[0] < 0
    if always and (distinct[0] != -1):
        raise InputError(f"folds are numbered 0, 1, 2 … (−1: learned from, never scored); not {distinct[0]}")
    fold, F = (which - int(always)).astype(np.int32), len(distinct) - int(always)
    if F < 1 or len(distinct) < 2:
        raise InputError("all rows are in one fold, so there is nothing to learn from. Hint: two folds or more")
    return FoldPlan(fold, F, describe_folds(F, "folds as given"))


def _plan_by_pairs(pairs: Iterable[Any], who: str, n: int, order: Any, present: NDArray[np.bool_]) -> FoldPlan:
    """Make the plan of pairs of rows, learned and scored, for each fold."""
    if order is not None:
        raise InputError("a splitter has an order of its own. Hint: leave order out, or folds=10")
    fold, trained = np.full(n, -1, dtype=np.int32), []
    is_partition = True
    for f, pair in enumerate(pairs):
        train, test = (np.arange(n)[np.asarray(i) if len(i) else slice(0)] for i in pair)
        if (fold[test] >= 0).any() or len(np.unique(test)) < len(test):
            raise InputError(
                f"of the folds, {who}, two score the same row, and a row is scored once. "
                f"Hint: KFold, StratifiedKFold, GroupKFold and their like have each row in one"
            )
        if not len(train):
            raise InputError(f"of the folds, {who}, number {f} has no rows to learn from. Hint: fewer folds")
        fold[test] = f
        trained.append(train)
        is_partition &= bool((np.bincount(np.concatenate([train, test]), minlength=n) == 1).all())
    if not trained:
        raise InputError(f"there are no folds: {who}")
    words = f"{len(trained)} folds of {who}"
    fold = fold[present]
    if (fold < 0).all():
        raise InputError(f"of the folds, {who}, none scores a row of weight above 0. Hint: other folds or weights")
    if is_partition:
        return FoldPlan(fold, len(trained), f"exact, {words}: every row scored by the model without its fold")
    place = np.cumsum(present) - 1
    learned_rows = [place[rows[present[rows]]] for rows in trained]
    return FoldPlan(fold, len(trained), f"{words}, each model fitted to the rows it names", "given", learned_rows)


def take_rows(rows: Any, index: NDArray[np.intp]) -> Any:
    """Return some of the rows of an array, a sparse matrix, a table, documents, or what scikit-learn indexes."""
    if hasattr(rows, "num_rows"):
        return read_first_rows(Frame(rows), rows.num_rows).take(index)
    if isinstance(rows, np.ndarray) or hasattr(rows, "tocsr") or type(rows).__module__.startswith("deciban"):
        return rows[index]
    from sklearn.utils import _safe_indexing

    return _safe_indexing(rows, index)
