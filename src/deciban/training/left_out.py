"""Each row judged by what would have been learned from all others, everything settled anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.engines.arrow.frames import Frame
from deciban.errors import InputError
from deciban.judge.crossed import MOST_ALONE, each_left_out
from deciban.judge.metrics import Scorecard
from deciban.ledger import Ledger
from deciban.model.gathering import Progress, Rows
from deciban.training.fit import Trained
from deciban.training.question import Question, matrices_of
from deciban.training.without import out_of_fold, settled


def left_out(trained: Trained, progress: Progress | None) -> Scorecard:
    """All rows of a table, each judged by the model of all others."""
    task, total = trained.task, trained.total
    if trained.n_learned > MOST_ALONE:
        raise InputError(
            f"{task.source.name} has {trained.n_learned} rows; leaving out each row alone settles everything as many "
            f"times, and is done for at most {MOST_ALONE} rows. Hint: folds=100 is nearly the same, and far quicker"
        )
    kept, card = Kept.of(trained), Scorecard.empty(len(total.schema.classes))
    every = np.arange(len(kept.number))
    for index, rests in each_left_out(every, total, total.empty(), kept.together, kept.alone):
        each = (settled(task, trained.model.options, rest) for rest in rests)
        scored = out_of_fold(each, kept.rows(index), "log_posterior")
        card += scored.judged(scored.scores)
        if progress is not None:
            progress(int(scored.rows.number[-1]) + 1)
    return card


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
            number = rows.number[rows.codes >= 0 if rows.weight is None else rows.weight > 0]
            block = pa.Table.from_batches(batches)
            counts = np.zeros(block.num_rows, dtype=np.bool_)
            counts[number - first] = True
            tables.append(block.filter(pa.array(counts)))
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
        return Frame(self.table.slice(int(index[0]), len(index)))

    def _counted(self, index: NDArray[np.intp], n_folds: int) -> list[Ledger]:
        """The ledgers of a stretch of rows, in so many folds."""
        task = replace(self.trained.task, classes=[str(label) for label in self.trained.total.schema.classes])
        gathering = task.gathering(n_folds, lambda codes, number: number.astype(np.int32) % n_folds)
        for _ in gathering.read(self._source(index)):
            pass
        return gathering.ledgers()
