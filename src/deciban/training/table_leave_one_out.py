"""Each row judged by what would have been learned from all others: in closed form, or everything settled anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban._typing import Array
from deciban.errors import InputError
from deciban.ledger import Ledger
from deciban.metrics.scorecard import Scorecard
from deciban.model.columns import OPEN
from deciban.model.summarise_table import Progress, Rows
from deciban.sources.frames import Frame
from deciban.training.labelled_rows import Question, matrices_of
from deciban.training.number_roles import decide
from deciban.training.reservoir import joined
from deciban.training.table_folds import chosen_parts, out_of_fold, settled
from deciban.training.train import Trained
from deciban.validation.fold_scores import MOST_ALONE, each_left_out
from deciban.validation.leave_one_out import left_out as closed_form


def left_out(trained: Trained, progress: Progress | None) -> Scorecard:
    """All rows of a table, each judged by the model of all others: in closed form where there is one."""
    told = _in_closed_form(trained, progress)
    if told is None or told.todo.any():
        told = _one_by_one(trained, told, progress)
    rows, known = told.rows, _known(told.rows, trained.total)
    return Scorecard.of(told.scores, rows.codes, rows.weight, known, keep=True, number=rows.number)


class Told(NamedTuple):
    """Rows, what is said of each by the model of all others, and which are still to be dealt with."""

    rows: Rows
    scores: Array
    todo: NDArray[np.bool_]


def _in_closed_form(trained: Trained, progress: Progress | None) -> Told | None:
    """What closed forms give; None where there is none, or where a row could change how a column is taken."""
    task, schema, belief = trained.task, trained.total.schema, trained.model.naive
    _, kept, sure = decide(task.layout, trained.total, trained.model.options)
    doubtful = any(column.role in OPEN and column.name not in sure for column in task.columns)
    if doubtful or (task.options.words.length is not None and task.layout.texts):
        return None
    found = []
    for _, rows in Question.again(task, schema).rows(matrices_of(task, schema), progress):
        rows = rows[counted(rows)]
        parts = chosen_parts(rows, kept)
        told = closed_form(belief, parts, rows.codes, rows.weight, "log_posterior", engines.thread_count(None))
        if told is None:
            return None
        found.append(Told(replace(rows, columns=[]), *told))
    whole = joined([told.rows for told in found])
    return Told(whole, np.concatenate([told.scores for told in found]), np.concatenate([told.todo for told in found]))


def _one_by_one(trained: Trained, told: Told | None, progress: Progress | None) -> Told:
    """By the definition: for each row that is still to be dealt with the ledger of all others, settled anew."""
    task, total = trained.task, trained.total
    n = trained.n_learned if told is None else int(told.todo.sum())
    if n > MOST_ALONE:
        raise InputError(
            f"{task.source.name} has {n} rows that settle everything anew when they are left out alone, and that is "
            f"done for at most {MOST_ALONE} rows. Hint: folds=100 is nearly the same, and far quicker; or say how "
            f"numbers are taken, numbers='number'"
        )
    kept = Kept.of(trained)
    todo = np.arange(n) if told is None else np.flatnonzero(told.todo)
    others = np.setdiff1d(np.arange(len(kept.number)), todo)
    outside = kept.together(others) if len(others) else total.empty()
    scored = []
    for index, rests in each_left_out(todo, total, outside, kept.together, kept.alone):
        each = (settled(task, trained.model.options, rest) for rest in rests)
        scored.append(out_of_fold(each, kept.rows(index), "log_posterior"))
        if progress is not None:
            progress(int(scored[-1].rows.number[-1]) + 1)
    scores = np.concatenate([part.scores for part in scored])
    if told is None:
        rows = joined([replace(part.rows, columns=[], fold=None) for part in scored])
        return Told(rows, scores, np.zeros(n, dtype=np.bool_))
    told.scores[todo] = scores
    return told


def _known(rows: Rows, total: Ledger) -> NDArray[np.bool_]:
    """n×K: which classes the model of all other rows has rows of."""
    count = np.bincount(rows.codes, minlength=len(total.rows))
    known = np.broadcast_to(count > 0, (len(rows.codes), len(count))).copy()
    alone = np.flatnonzero(count[rows.codes] == 1)
    known[alone, rows.codes[alone]] = False
    return known


def counted(rows: Rows) -> NDArray[np.bool_]:
    """Which rows have a class and a weight."""
    return rows.codes >= 0 if rows.weight is None else (rows.codes >= 0) & (rows.weight > 0)


@dataclass(frozen=True)
class Kept:
    """The rows of a small table that count, in memory: any stretch of them can be counted again."""

    trained: Trained
    table: Any
    number: NDArray[np.int64]
    """The number of each row in the table that it comes from."""

    @classmethod
    def of(cls, trained: Trained) -> Kept:
        """Read the rows once more."""
        import pyarrow as pa

        task, schema = trained.task, trained.total.schema
        tables, numbers, first = [], [], 0
        for batches, rows in Question.again(task, schema).rows(matrices_of(task, schema), None):
            number = rows.number[counted(rows)]
            block = pa.Table.from_batches(batches)
            present = np.zeros(block.num_rows, dtype=np.bool_)
            present[number - first] = True
            tables.append(block.filter(pa.array(present)))
            numbers.append(number)
            first += block.num_rows
        return cls(trained, pa.concat_tables(tables), np.concatenate(numbers))

    def together(self, index: NDArray[np.intp]) -> Ledger:
        """The ledger of a stretch of rows."""
        return self._counted(index, 1)[0]

    def alone(self, index: NDArray[np.intp]) -> Sequence[Ledger]:
        """The ledger of each row of a stretch."""
        ledgers = self._counted(index, len(index))
        if len(ledgers) == len(index):
            return ledgers
        half = len(index) // 2  # too many cells for the ledgers of so many rows at once
        return [*self.alone(index[:half]), *self.alone(index[half:])]

    def rows(self, index: NDArray[np.intp]) -> Rows:
        """A stretch of rows to be judged, each a fold of its own."""
        task, schema = self.trained.task, self.trained.total.schema
        again = Question.again(replace(task, source=self._source(index)), schema)
        ((_, rows),) = again.rows(matrices_of(task, schema), None)
        return replace(rows, number=self.number[index], fold=np.arange(len(index), dtype=np.int32))

    def _source(self, index: NDArray[np.intp]) -> Frame:
        return Frame(self.table.take(index))

    def _counted(self, index: NDArray[np.intp], n_folds: int) -> list[Ledger]:
        """The ledgers of a stretch of rows, in so many folds."""
        task = replace(self.trained.task, classes=[str(label) for label in self.trained.total.schema.classes])
        gathering = task.gathering(n_folds, lambda codes, number: number.astype(np.int32) % n_folds)
        for _ in gathering.read(self._source(index)):
            pass
        return gathering.ledgers()
