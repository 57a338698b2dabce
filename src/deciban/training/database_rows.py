"""Training where the data is: the ledger of a table from its database, and a sample of its rows in folds.

The rows of the sample are divided into folds, and each is scored by the model of all rows of the table but those of
its fold: the ledger of the table, minus the fold's. So the database needs no folds, and every row of the sample is
scored by a model that has not learned it.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import reduce
from typing import NamedTuple

import numpy as np

from deciban.ledger import Ledger
from deciban.model.columns import Column
from deciban.model.summarise_table import MAX_FOLD_CELLS, Progress, Rows, TableSummariser
from deciban.sources.markers import WithoutMarkers
from deciban.training.cell_styles import add_note
from deciban.training.column_roles import HEAD_ROWS
from deciban.training.table_folds import count_parts
from deciban.training.table_pass import make_matrices
from deciban.training.table_rows import concatenate_rows, keep_learned_rows, read_labelled_rows
from deciban.training.task import Task, find_database
from deciban.validation.splits import StratifiedAssigner

MAX_FETCHED_ROWS = HEAD_ROWS
"""The number of rows that leave a database to be scored: the standard error of their accuracy is at most 0.35 %."""

OVERSAMPLING = 1.1
"""The factor by which more rows are drawn than are wanted, since their number is random."""

STREAMED_NOTE = "read row by row"

SKIPPED_PAIRS_NOTE = "columns taken as independent, because a tree of them would need all rows"

READ_ROWS_NOTE = "all rows were read from the database"


class SampledFolds(NamedTuple):
    """Rows of a sample with their folds, the ledger of each fold, and of all rows that are not in the sample."""

    rows: Rows | None
    folds: list[Ledger]
    rest: Ledger | None


def can_push_down(task: Task) -> bool:
    """Return whether a database computes the statistics of a task: of naive Bayes, without survey weights."""
    counts = not task.needs_rows and task.structure == "naive" and not task.options.survey_weights
    return counts and find_database(task.source) is not None


def describe_limits(task: Task) -> str:
    """Return a note, after "; ", on what a database could not compute: no pairs counted, or all rows read.

    It is empty if the database computed all statistics, and for other sources.
    """
    if task.skips_pairs:
        return f"; {SKIPPED_PAIRS_NOTE}"
    is_read = find_database(task.source) is not None and not can_push_down(task)
    return f"; {READ_ROWS_NOTE}" if is_read else ""


def open_snapshot(task: Task) -> AbstractContextManager[None]:
    """Return a context in which all statements see the same rows; an empty one for other sources than databases."""
    table = find_database(task.source)
    return nullcontext() if table is None else table.driver.snapshot()


def summarise(task: Task, progress: Progress | None) -> tuple[Task, TableSummariser]:
    """Return the summariser of a table, filled by its database; the columns that were streamed are noted."""
    from deciban.sql.summarise import DatabaseSummariser

    summariser = task.summariser(1)
    assert isinstance(task.source, WithoutMarkers)
    streamed = DatabaseSummariser(summariser, task.source, task.options).run(progress)
    columns = [_note_streamed(column) if column.name in streamed else column for column in task.columns]
    return replace(task, columns=columns), summariser


def _note_streamed(column: Column) -> Column:
    """Return the column with a note on its reading, in its reason now and when its role is decided."""
    return replace(column, reason=add_note(column.reason, STREAMED_NOTE), note=add_note(column.note, STREAMED_NOTE))


def draw_folds(task: Task, total: Ledger, n_rows: int, n_folds: int) -> SampledFolds:
    """Draw a sample of the n learned rows of a table at random, and divide it into folds.

    Neither rows nor folds are returned where the ledgers of the folds would take too much memory.
    """
    if sum(array.size for part in total.parts for array in part.arrays().values()) * n_folds > MAX_FOLD_CELLS:
        return SampledFolds(None, [], None)
    rows = _draw_rows(task, total, n_rows)
    fold = StratifiedAssigner(n_folds).assign(rows.codes)
    folds = count_parts(task.options, task.layout, total.schema, rows, fold, n_folds)
    rest = total.without(reduce(lambda a, b: a + b, folds))
    return SampledFolds(replace(rows, fold=fold), folds, rest)


def _draw_rows(task: Task, total: Ledger, n_rows: int) -> Rows:
    """Return at most `MAX_FETCHED_ROWS` learned rows, each with the same probability, coded by the ledger's names."""
    from deciban.sql.statements import random_share

    view, table = task.source, find_database(task.source)
    assert isinstance(view, WithoutMarkers)
    assert table is not None
    share = OVERSAMPLING * MAX_FETCHED_ROWS / max(1, n_rows)
    if share < 1:
        view = replace(view, source=table.filter(random_share(table.driver.dialect, share)), counts={})
    labels, matrices = [str(label) for label in total.schema.classes], make_matrices(task, total)
    read = [rows for _, rows in read_labelled_rows(view, task.target, labels, task.weights, matrices, None)]
    rows = keep_learned_rows(concatenate_rows(read))
    if len(rows.codes) <= MAX_FETCHED_ROWS:
        return rows
    kept = np.random.default_rng(0).choice(len(rows.codes), MAX_FETCHED_ROWS, replace=False)
    return rows[np.sort(kept)]
