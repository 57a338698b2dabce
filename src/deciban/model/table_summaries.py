"""Summaries of the parts of a table that lies on many machines, which add up to the summary of the whole table.

Each part is summarised where it lies, by the code that reads a local table; a summary travels as the bytes of a
model file. Folds are assigned and rows are sampled by a hash of the part and the row's number in it, so that nobody
needs to know how many rows the other parts have, and a part that is read again gives the same summary.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.errors import InputError
from deciban.ledger import Ledger, Needs, Schema
from deciban.ledger.hashing import hash_rows_of_part
from deciban.model.columns import Layout
from deciban.model.fold_ledgers import join_fold, split_joined_folds
from deciban.model.learned_rows import MAX_HASHED_ROWS, MIN_SOURCE_ROWS, LearnedRows
from deciban.model.matrices import row_blocks
from deciban.model.model_options import Origin
from deciban.model.row_samples import RowSample, RowSampler, SampleSize, assign_folds_by_key
from deciban.model.summarise_table import MAX_FOLD_CELLS, TableSummariser, describe_empty_table
from deciban.sources.distributed import PartView, distributed_base, fetch_first_rows, replace_base
from deciban.sources.source import ColumnReading, Source
from deciban.text import Words

MAX_HASHED_PART_ROWS = MAX_HASHED_ROWS >> 4
"""The first rows of each part that are hashed for the sketch of learned rows."""

NO_SAMPLE = SampleSize(0, 0, 0)
"""The size of a sample of no rows."""


@dataclass(frozen=True)
class TableSummary:
    """The summary of rows: a ledger by class and fold (`join_fold`), numbers of rows, ranges, and a sample.

    The ledger is None where no row has a class and a weight.
    """

    layout: Layout
    ledger: Ledger | None
    n_folds: int
    n_learned: int
    counted: Origin
    """The numbers of rows and markers, the ranges, and the sketch of the learned rows."""
    sample: RowSample

    @cached_property
    def total_and_folds(self) -> tuple[Ledger, list[Ledger]]:
        """The ledger of all rows, and that of each fold; see `TableSummariser.total_and_folds`."""
        assert self.ledger is not None
        return split_joined_folds(self.ledger, self.n_folds)

    def origin(self) -> Origin:
        """Return the origin of a model of these rows; the parts of the table are one source of learned rows."""
        learned = self.counted.learned or LearnedRows()
        sources = ((learned.n_rows, learned.total),) if learned.n_rows >= MIN_SOURCE_ROWS else ()
        return replace(self.counted, learned=replace(learned, sources=sources))

    def pool_folds(self) -> TableSummary:
        """Return the summary with one fold, of all rows."""
        if self.n_folds == 1 or self.ledger is None:
            return replace(self, n_folds=1)
        total, _ = self.total_and_folds
        schema = Schema(tuple(join_fold(str(label), 0) for label in total.schema.classes), total.schema.blocks)
        return replace(self, ledger=replace(total, schema=schema), n_folds=1)


def merge_summaries(a: TableSummary, b: TableSummary, size: SampleSize = NO_SAMPLE) -> TableSummary:
    """Return the summary of the rows of both; folds are pooled where they are in one of them, or too large."""
    if a.n_folds != b.n_folds:
        a, b = a.pool_folds(), b.pool_folds()
    ledger = a.ledger if b.ledger is None else b.ledger if a.ledger is None else a.ledger + b.ledger
    counted, sample = a.counted.combine(operator.add, b.counted), a.sample.add(b.sample, size)
    merged = TableSummary(a.layout, ledger, a.n_folds, a.n_learned + b.n_learned, counted, sample)
    n_cells = 0 if ledger is None else sum(x.size for part in ledger.parts for x in part.arrays().values())
    return merged.pool_folds() if n_cells > MAX_FOLD_CELLS else merged


@dataclass(frozen=True)
class SummaryPlan:
    """The statistics to count of every part of a table; the plan is sent to the machines that have the parts."""

    layout: Layout
    needs: Sequence[Needs]
    target: str
    weights: str | None = None
    n_folds: int = 1
    declared: Sequence[str] | None = None
    words: Words = field(default_factory=Words)
    size: SampleSize = NO_SAMPLE
    survey: bool = False

    def summarise(self, part: Source, number: int) -> TableSummary:
        """Return the summary of the rows of one part."""
        summariser = TableSummariser(
            self.layout, self.needs, self.target, self.weights, self.n_folds,
            partial(_assign_folds, number, self.n_folds) if self.n_folds > 1 else None, self.declared,
            words=self.words, survey=self.survey,
            sampler=RowSampler(number, self.size.of_part()) if self.size.rows else None,
        )  # fmt: skip
        summariser.hasher.max_rows = MAX_HASHED_PART_ROWS
        for _ in summariser.read(part):
            pass
        sample = RowSample.empty() if summariser.sampler is None else summariser.sampler.sample()
        ledger = summariser.ledger_by_fold()
        counts = summariser.n_folds, summariser.n_learned
        return TableSummary(self.layout, ledger, *counts, summariser.origin(), sample)

    def summarise_all(self, source: Source) -> TableSummary:
        """Return the summary of all parts of a distributed source, each made where the part lies."""
        wanted = [*self.layout.readings(), self.target, *([self.weights] if self.weights else [])]
        summary = _reduce(source, self.summarise, wanted, self.layout, self.size)
        if summary is None or summary.ledger is None:
            read = Origin() if summary is None else summary.counted
            raise InputError(describe_empty_table(read.rows_read, read.rows_without_class, self.target, self.weights))
        return summary


def _assign_folds(part: int, n_folds: int, codes: NDArray[np.int32], number: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the folds of rows of a part; see `FoldAssigner`."""
    return assign_folds_by_key(hash_rows_of_part(part, number), n_folds)


def sample_rows(source: Source, wanted: Mapping[str, ColumnReading], layout: Layout, size: SampleSize) -> RowSample:
    """Return a uniform sample of the rows of a distributed source, in the wanted columns."""
    summary = _reduce(source, partial(_sample_part, wanted, layout, size), list(wanted), layout, size)
    return RowSample.empty() if summary is None else summary.sample


def _sample_part(
    wanted: Mapping[str, ColumnReading], layout: Layout, size: SampleSize, part: Source, number: int
) -> TableSummary:
    sampler, n_read = RowSampler(number, size.of_part()), 0
    for batches in row_blocks(part, wanted, layout):
        n = sum(batch.num_rows for batch in batches)
        sampler.add(batches, np.arange(n_read, n_read + n), np.ones(n, dtype=np.bool_))
        n_read += n
    return TableSummary(layout, None, 1, 0, Origin(rows_read=n_read), sampler.sample())


def _reduce(source: Source, work: Any, wanted: Sequence[str], layout: Layout, size: SampleSize) -> Any:
    """Return the merged summaries of all parts; None where no part has a row.

    A view of a source, which hides markers of missing values, becomes a view of each part.
    """
    base, files = distributed_base(source), import_module("deciban.persistence.summary_bytes")  # a layer above
    assert base is not None
    first_rows = fetch_first_rows(base, layout.readings())
    return base.reduce(
        partial(_work_on_view, replace_base(source, None), first_rows, work), partial(merge_summaries, size=size),
        files.dump_summary, partial(files.load_summary, layout), list(dict.fromkeys(wanted)),
    )  # fmt: skip


def _work_on_view(view: Any, first_rows: Any, work: Any, part: Source, number: int) -> Any:
    return work(replace_base(view, PartView(part, first_rows)), number)
