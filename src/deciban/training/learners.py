"""Naive Bayes and the discriminative learners on the rows of a table, with one interface.

A learner is given rows, and their ledger, and estimates everything from them alone: roles, bins, penalties, evidence
weights. So no row is scored by a model that has learned it.
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
from deciban.training.table_folds import FoldModel, solve_ledger
from deciban.training.task import Task
from deciban.validation.fold_models import ledgers_before_each, ledgers_excluding_each

DecidedColumns = Mapping[str, Column]
"""Columns whose roles are decided, by their names."""


class Learner(Protocol):
    """A method of learning from rows."""

    needs_rows: ClassVar[bool]
    """Whether the rows themselves are needed, in memory; else their ledger is enough."""

    def learn(
        self, task: Task, options: Options, rest: Ledger, rows: Rows | None, decided: DecidedColumns | None = None
    ) -> FoldModel:
        """Learn a model from these rows alone.

        `rest` is their ledger (`table_folds.count_rows`, if they have not been counted); `rows` are the rows, or a
        uniform sample of them, with the columns of all blocks of the task's layout and codes by the names of
        `rest.schema`. The roles of `decided` columns stay.
        """
        ...


@dataclass(frozen=True)
class Bayes:
    """Naive Bayes: everything follows from the ledger."""

    needs_rows: ClassVar[bool] = False

    def learn(
        self, task: Task, options: Options, rest: Ledger, rows: Rows | None, decided: DecidedColumns | None = None
    ) -> FoldModel:
        """Solve the ledger; see `Learner.learn`."""
        return solve_ledger(task, options, rest, decided)


def make_learner(task: Task) -> Learner:
    """Return the learner that a task names."""
    if task.learner == "bayes":
        return Bayes()
    from deciban.training import discriminative_learners

    return discriminative_learners.make_learner(task)


def learn_excluding_each(
    task: Task, options: Options, folds: Sequence[Ledger], rows: Rows | None, decided: DecidedColumns | None = None
) -> Iterator[FoldModel]:
    """Yield the model without the first fold, without the second, …; `decided` roles are those no fold can change."""
    learner = make_learner(task)
    for f, rest in enumerate(ledgers_excluding_each(folds)):
        learned = _select_folds(rows, partial(np.not_equal, f)) if learner.needs_rows else None
        yield learner.learn(task, options, rest, learned, decided)


def learn_before_each(
    task: Task, options: Options, folds: Sequence[Ledger], rows: Rows | None
) -> Iterator[FoldModel | None]:
    """Yield the model of the folds before each fold; None before the first."""
    earlier = ledgers_before_each(folds)
    next(earlier)
    yield None
    yield from (learn_up_to(task, options, rest, rows, f) for f, rest in enumerate(earlier))


def learn_up_to(task: Task, options: Options, rest: Ledger, rows: Rows | None, last: int) -> FoldModel:
    """Return the model of the folds up to this one, whose ledger is `rest`."""
    learner = make_learner(task)
    learned = _select_folds(rows, lambda fold: fold <= last) if learner.needs_rows else None
    return learner.learn(task, options, rest, learned)


def _select_folds(rows: Rows | None, select: Callable[[NDArray[np.int32]], NDArray[np.bool_]]) -> Rows | None:
    """Return the rows of the selected folds."""
    if rows is None or rows.fold is None:
        return rows
    return rows[np.flatnonzero(select(rows.fold))]
