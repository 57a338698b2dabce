"""Each row judged by what would have been learned without it: the total less its own ledger, all settled anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.engines.arrow.frames import Frame
from deciban.errors import InputError
from deciban.judge.metrics import Scorecard
from deciban.ledger import Ledger
from deciban.model.gathering import Progress, Rows
from deciban.training.fit import Trained
from deciban.training.question import Question, matrices_of
from deciban.training.without import out_of_fold, without_each

MOST_ROWS = 10_000
"""Rows that may each be left out alone: as many times everything is settled and solved, some milliseconds each."""

AT_ONCE = 64
"""Rows whose ledgers are kept at the same time."""


def left_out(trained: Trained, progress: Progress | None) -> Scorecard:
    """All rows of a table, each judged by the model of all others."""
    task, schema = trained.task, trained.total.schema
    if trained.n_learned > MOST_ROWS:
        raise InputError(
            f"{task.source.name} has {trained.n_learned} rows; leaving out each row alone settles everything as many "
            f"times, and is done for at most {MOST_ROWS} rows. Hint: folds=100 is nearly the same, and far quicker"
        )
    card, first = Scorecard.empty(len(schema.classes)), 0
    for batches, rows in Question.again(task, schema).rows(matrices_of(task, schema), None):
        present = rows[rows.codes >= 0] if rows.weight is None else rows[rows.weight > 0]
        for some in _in_pieces(present):
            each = without_each(
                task, trained.model.options, trained.total, _alone(trained, batches, some.number - first)
            )
            scored = out_of_fold(each, some, "log_posterior")
            card += scored.judged(scored.scores)
            if progress is not None:
                progress(int(some.number[-1]) + 1)
        first += sum(batch.num_rows for batch in batches)
    return card


def _in_pieces(rows: Rows) -> Iterator[Rows]:
    """Some rows at a time, each a fold of its own."""
    for start in range(0, len(rows.codes), AT_ONCE):
        some = rows[start : start + AT_ONCE]
        yield replace(some, fold=np.arange(len(some.codes), dtype=np.int32))


def _alone(trained: Trained, batches: Sequence[Any], rows: NDArray[np.int64]) -> list[Ledger]:
    """The ledger of each of these rows of the batches."""
    import pyarrow as pa

    source = Frame(pa.Table.from_batches(batches).take(pa.array(rows)))
    task = replace(trained.task, classes=[str(label) for label in trained.total.schema.classes])
    gathering = task.gathering(len(rows), lambda codes, number: number.astype(np.int32))
    for _ in gathering.read(source):
        pass
    ledgers = gathering.ledgers()
    if len(ledgers) == len(rows):
        return ledgers
    half = len(rows) // 2  # too many cells for the ledgers of so many rows at once
    return [*_alone(trained, batches, rows[:half]), *_alone(trained, batches, rows[half:])]
