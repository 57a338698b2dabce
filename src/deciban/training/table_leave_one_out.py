"""Leave-one-out on tables: each row scored by the model of all others, in closed form or with all roles refitted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban._typing import Array
from deciban.errors import InputError
from deciban.ledger import Ledger
from deciban.metrics.scorecard import Scorecard
from deciban.model.summarise_table import Progress, Rows
from deciban.sources.frames import Frame
from deciban.training.labelled_rows import LabelledTable, table_matrices
from deciban.training.number_roles import decide
from deciban.training.reservoir import concatenate_rows
from deciban.training.table_folds import select_parts, solve_ledger
from deciban.training.train import Trained
from deciban.validation.leave_one_out_scores import (
    MAX_REFITTED_ROWS,
    LeaveOneOutScores,
    known_classes_without_row,
    refit_each_row,
    score_in_closed_form,
)


def evaluate_leave_one_out(trained: Trained, progress: Progress | None) -> Scorecard:
    """Evaluate all rows of a table, each scored by the model of all others: in closed form where there is one."""
    found = _score_in_closed_form(trained, progress)
    if found is None or found[1].needs_refit.any():
        n = trained.n_learned if found is None else int(found[1].needs_refit.sum())
        if n > MAX_REFITTED_ROWS:
            raise InputError(
                f"{trained.task.source.name} has {n} rows that need a model refitted without each of them, and "
                f"that is done for at most {MAX_REFITTED_ROWS} rows. Hint: folds=100 is nearly the same, and far "
                f"quicker; or fix the role of numbers, numbers='number'"
            )
        table = RowsInMemory.of(trained, progress)
        scores, needs_refit = (None, np.ones(n, dtype=np.bool_)) if found is None else found[1]
        found = table.rows, LeaveOneOutScores(refit_each_row(table, trained.total, needs_refit, scores), needs_refit)
    rows, (scores, _) = found
    known = known_classes_without_row(rows.codes, len(trained.total.rows))
    return Scorecard.of(scores, rows.codes, rows.weight, known, keep=True, number=rows.number)


def _score_in_closed_form(trained: Trained, progress: Progress | None) -> tuple[Rows, LeaveOneOutScores] | None:
    """Score the rows by closed forms; None where there is none, or where a row could change the role of a column."""
    task, schema = trained.task, trained.total.schema
    decision = decide(task.layout, trained.total, trained.model.options)
    if not decision.is_certain(task.columns) or (task.options.words.length is not None and task.layout.texts):
        return None
    batches, scored = [], []
    for _, batch in LabelledTable.of(task, schema).rows(table_matrices(task, schema), progress):
        rows = batch[has_weight(batch)]
        parts = select_parts(rows, decision.kept)
        found = score_in_closed_form(
            trained.model.naive, parts, rows.codes, rows.weight, "log_posterior", engines.thread_count(None)
        )
        if found is None:
            return None
        batches.append(replace(rows, columns=[]))
        scored.append(found)
    return concatenate_rows(batches), LeaveOneOutScores.concatenate(scored)


def has_weight(rows: Rows) -> NDArray[np.bool_]:
    """Return which rows have a class and a weight above 0."""
    return rows.codes >= 0 if rows.weight is None else (rows.codes >= 0) & (rows.weight > 0)


@dataclass(frozen=True)
class RowsInMemory:
    """The labelled rows of a small table, in memory, of which any subset can be counted again."""

    trained: Trained
    table: Any
    rows: Rows
    """The codes, weights and numbers of the rows, without their columns."""
    progress: Progress | None

    @classmethod
    def of(cls, trained: Trained, progress: Progress | None) -> RowsInMemory:
        """Read the rows once more."""
        import pyarrow as pa

        task, schema = trained.task, trained.total.schema
        tables, kept, first = [], [], 0
        for batches, batch in LabelledTable.of(task, schema).rows(table_matrices(task, schema), None):
            rows = batch[has_weight(batch)]
            block = pa.Table.from_batches(batches)
            present = np.zeros(block.num_rows, dtype=np.bool_)
            present[rows.number - first] = True
            tables.append(block.filter(pa.array(present)))
            kept.append(replace(rows, columns=[]))
            first += block.num_rows
        return cls(trained, pa.concat_tables(tables), concatenate_rows(kept), progress)

    def count_together(self, index: NDArray[np.intp]) -> Ledger:
        """Return the ledger of these rows."""
        return self._count(index, 1)[0]

    def count_each(self, index: NDArray[np.intp]) -> Sequence[Ledger]:
        """Return the ledger of each of these rows."""
        ledgers = self._count(index, len(index))
        if len(ledgers) == len(index):
            return ledgers
        half = len(index) // 2  # too many cells for the ledgers of so many rows at once
        return [*self.count_each(index[:half]), *self.count_each(index[half:])]

    def score_each(self, index: NDArray[np.intp], rests: Iterator[Ledger]) -> Array:
        """Score each of these rows by the model of the ledger of all other rows."""
        task, schema = self.trained.task, self.trained.total.schema
        table = LabelledTable.of(replace(task, source=self._source(index)), schema)
        ((_, rows),) = table.rows(table_matrices(task, schema), None)
        models = (solve_ledger(task, self.trained.model.options, rest) for rest in rests)
        scores = [model.scores(rows[i : i + 1], "log_posterior") for i, model in enumerate(models)]
        if self.progress is not None:
            self.progress(int(self.rows.number[index[-1]]) + 1)
        return np.concatenate(scores)

    def _source(self, index: NDArray[np.intp]) -> Frame:
        return Frame(self.table.take(index))

    def _count(self, index: NDArray[np.intp], n_folds: int) -> list[Ledger]:
        """Return the ledgers of these rows, assigned to folds in turn."""
        task = replace(self.trained.task, classes=[str(label) for label in self.trained.total.schema.classes])
        summariser = task.summariser(n_folds, lambda codes, number: number.astype(np.int32) % n_folds)
        for _ in summariser.read(self._source(index)):
            pass
        return summariser.ledgers()
