"""Leave-one-out of any facade: in closed form where there is one, else a model for each row, from sums alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.engines import thread_count
from deciban.errors import InputError
from deciban.estimators.fold_estimators import (
    Columns,
    asked,
    blocks,
    columns_of_features,
    measures_lengths,
    settled,
    tally,
)
from deciban.estimators.fold_plan import BY_CLASS, taken
from deciban.ledger import Ledger
from deciban.model.columns import OPEN, Layout
from deciban.scores.posterior import Finish
from deciban.training.number_roles import decide
from deciban.validation.fold_scores import MOST_ALONE, each_left_out, parted
from deciban.validation.leave_one_out import LeftOutScores, left_out


class LeftOut:
    """A facade's rows, each of which is judged by the model of all others."""

    def __init__(self, est: Any, rows: Any, codes: Codes, weight: Array | None) -> None:
        self.est, self.rows, self.codes, self.weight = est, rows, codes, weight
        self.columns: Columns = columns_of_features(est, rows)

    def scores(self, wanted: Finish) -> tuple[Array, NDArray[np.bool_]]:
        """What is said of each row, and which classes its model has rows of, n×K."""
        n, K = len(self.codes), len(self.est.classes_)
        told = self._in_closed_form(wanted)
        if told is None:
            out = np.full((n, K) if wanted in BY_CLASS else n, np.nan)
            told = LeftOutScores(out, np.ones(n, dtype=np.bool_))
        self._one_by_one(np.flatnonzero(told.todo), wanted, told.scores)
        return told.scores, self._known()

    def _in_closed_form(self, wanted: Finish) -> LeftOutScores | None:
        """What closed forms give, and which rows are left to the definition; None: all."""
        if wanted in ("observed", "typicality"):
            return None
        total = self._ledger()
        if measures_lengths(self.est) or not self._beyond_doubt(total):
            return None
        model = settled(self.est, total, self.columns)
        found = []
        for some, parts in blocks(model, self.rows):
            weight = None if self.weight is None else self.weight[some]
            with model._reword_errors():
                told = left_out(
                    model._check_fitted(), parts, self.codes[some], weight, wanted, thread_count(model.n_jobs)
                )
            if told is None:
                return None
            found.append(told)
        return found[0] if len(found) == 1 else LeftOutScores(*map(np.concatenate, zip(*found)))

    def _beyond_doubt(self, total: Ledger) -> bool:
        """Whether no row could change how a column is taken."""
        if self.columns is None:
            return True
        settled_by_all = decide(Layout(tuple(self.columns)), total, self.est._options(len(self.est.classes_)))
        return all(column.name in settled_by_all.sure for column in self.columns if column.role in OPEN)

    def _known(self) -> NDArray[np.bool_]:
        """n×K: which classes the model of all other rows has rows of."""
        n, count = len(self.codes), np.bincount(self.codes, minlength=len(self.est.classes_))
        if (count > 1).all():
            return np.broadcast_to(np.bool_(True), (n, len(count)))
        known = np.broadcast_to(count > 0, (n, len(count))).copy()
        alone = np.flatnonzero(count[self.codes] == 1)
        known[alone, self.codes[alone]] = False
        return known

    def _one_by_one(self, todo: NDArray[np.intp], wanted: Finish, out: Array) -> None:
        """By the definition: for each of these rows the ledger of all others, solved."""
        if len(todo) > MOST_ALONE:
            raise InputError(
                f"leaving out each of {len(todo)} rows needs a model solved for each of them, and more than "
                f"{MOST_ALONE} take too long ({type(self.est).__name__} with these arguments has no closed form). "
                f"Hint: folds=10, or judge some of the rows: folds=[…] with −1 for rows that are learned only"
            )
        for i, rest in self._rests(todo):
            out[i] = asked(settled(self.est, rest, self.columns), taken(self.rows, np.array([i])), wanted)[0]

    def _rests(self, todo: NDArray[np.intp]) -> Iterator[tuple[int, Ledger]]:
        """Each of these rows, and the ledger of all other rows."""
        if not len(todo):
            return
        others = np.ones(len(self.codes), dtype=np.bool_)
        others[todo] = False
        total = self._ledger()
        outside = self._ledger(np.flatnonzero(others)) if others.any() else total.empty()
        for some, rests in each_left_out(todo, total, outside, self._ledger, self._alone):
            yield from zip(some.tolist(), rests)

    def _alone(self, index: NDArray[np.intp]) -> list[Ledger]:
        """What was counted of each of these rows."""
        return [self._ledger(index[at : at + 1]) for at in range(len(index))]

    def _ledger(self, index: NDArray[np.intp] | None = None) -> Ledger:
        """What was counted of these rows, or of all."""
        K = len(self.est.classes_)
        if index is None:
            counted = tally(self.est, self.rows, self.codes, K, self.weight, self.columns)
        else:
            weight = None if self.weight is None else self.weight[index]
            counted = tally(self.est, taken(self.rows, index), self.codes[index], K, weight, self.columns)
        return parted(counted, self.est.classes_, 1)[0]
