"""Learners: what can be learned of a table's rows, naive Bayes or one of its partners, under one contract.

A learner is given rows, and what was counted of them, and settles everything by them alone: roles, cuts, penalties,
trust and weights. So a row that is judged by what was learned without its fold is judged by nothing that knew it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from deciban.ledger import Ledger
from deciban.model.columns import Column
from deciban.model.model_options import Options
from deciban.model.summarise_table import Rows
from deciban.training.table_folds import Without, settled
from deciban.training.task import Task
from deciban.validation import fold_scores as crossed

Sure = Mapping[str, Column]
"""Columns whose roles are settled, by their names."""


class Learner(Protocol):
    """A way to learn from rows."""

    needs_rows: ClassVar[bool]
    """Whether the rows themselves are wanted, in memory; else what was counted of them is enough."""

    def learn(
        self, task: Task, options: Options, rest: Ledger, rows: Rows | None, sure: Sure | None = None
    ) -> Without:
        """What is learned of these rows alone.

        `rest` is what was counted of them (`counting.counted`, where nobody has counted them); `rows` are the rows,
        or a uniform sample of them, with the columns of all blocks of the task's layout and codes by the names of
        `rest.schema`. Columns that are `sure` are taken as they are.
        """
        ...


@dataclass(frozen=True)
class Bayes:
    """Naive Bayes: everything follows from what was counted."""

    needs_rows: ClassVar[bool] = False

    def learn(
        self, task: Task, options: Options, rest: Ledger, rows: Rows | None, sure: Sure | None = None
    ) -> Without:
        """See `Learner.learn`."""
        return settled(task, options, rest, sure)


def learner_of(task: Task) -> Learner:
    """The learner that a task names."""
    if task.learner == "bayes":
        return Bayes()
    from deciban.training import discriminative_learners as partners

    return partners.learner_of(task)


def without_each(
    task: Task, options: Options, folds: Sequence[Ledger], rows: Rows | None, sure: Sure | None = None
) -> Iterator[Without]:
    """What is learned without the first fold, without the second, …; what is `sure` no fold could change."""
    learner = learner_of(task)
    for f, rest in enumerate(crossed.all_but_each(folds)):
        learned = _some(rows, partial(np.not_equal, f)) if learner.needs_rows else None
        yield learner.learn(task, options, rest, learned, sure)


def before_each(task: Task, options: Options, folds: Sequence[Ledger], rows: Rows | None) -> Iterator[Without | None]:
    """What is learned before each fold, by those that came earlier; before the first there is nothing."""
    earlier = crossed.before_each(folds)
    next(earlier)
    yield None
    yield from (learned_up_to(task, options, rest, rows, f) for f, rest in enumerate(earlier))


def learned_up_to(task: Task, options: Options, rest: Ledger, rows: Rows | None, last: int) -> Without:
    """What is learned of the folds up to this one, of which `rest` was counted."""
    learner = learner_of(task)
    return learner.learn(task, options, rest, _some(rows, lambda fold: fold <= last) if learner.needs_rows else None)


def _some(rows: Rows | None, learns: Callable[[NDArray[np.int32]], NDArray[np.bool_]]) -> Rows | None:
    """The rows of some folds."""
    if rows is None or rows.fold is None:
        return rows
    return rows[np.flatnonzero(learns(rows.fold))]
