"""The one pass of a training over a table: ledgers of all rows and of the folds, and a sample of the rows.

A table on one machine is read here; one that lies on many machines is summarised by them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from deciban import engines
from deciban.errors import InputError, warn_caller
from deciban.formatting import format_count
from deciban.ledger import Ledger
from deciban.model.columns import Layout
from deciban.model.matrices import Matrices, check_columns
from deciban.model.model import Model
from deciban.model.model_options import Origin
from deciban.model.row_samples import RowSample, SampleSize, assign_folds_by_key
from deciban.model.summarise_table import FoldAssigner, Progress, Rows, TableSummariser, choose_label_readings
from deciban.model.table_summaries import NO_SAMPLE, SummaryPlan, sample_rows
from deciban.scorer import vocabularies
from deciban.sources.arrow_sources import Frame
from deciban.sources.distributed import distributed_base
from deciban.sources.source import Source, check_column
from deciban.text import build_word_matrix
from deciban.training.table_rows import (
    LEARNED_ROWS_FACTOR,
    MAX_SAMPLE_BYTES,
    MAX_SAMPLE_CELLS,
    MAX_SAMPLE_ROWS,
    Reservoir,
    concatenate_rows,
    read_labelled_rows,
    to_effective_rows,
)
from deciban.training.task import Task
from deciban.validation.splits import StratifiedAssigner

MAX_PART_ROWS = MAX_SAMPLE_ROWS // 4
"""The number of sampled rows of each part of a table that lies on many machines: they are sent to be merged."""

MAX_CELL_BYTES = 16
"""Bytes of a cell of a sampled row, about; long texts are bounded separately."""


@dataclass(frozen=True)
class TablePass:
    """The results of one pass over a table; the sample has codes by the names of `total`, and may be None."""

    total: Ledger
    folds: list[Ledger]
    sample: Rows | None
    n_learned: int
    origin: Origin


def read_table(task: Task, n_folds: int, progress: Progress | None, assign: FoldAssigner | None = None) -> TablePass:
    """Read all rows once; folds are stratified by class, unless `assign` returns them.

    The folds of a table that lies on many machines depend on a hash of each row's part and its number there.
    """
    if distributed_base(task.source) is not None:
        return _summarise_parts(task, n_folds)
    by_class = StratifiedAssigner(n_folds) if assign is None and n_folds > 1 else None
    summariser = task.summariser(n_folds, (lambda codes, number: by_class.assign(codes)) if by_class else assign)
    factor = LEARNED_ROWS_FACTOR if task.needs_rows else 1
    sample = Reservoir(len(task.layout.features_by_block()), task.source.n_rows, factor)
    for rows in summariser.read(task.source, progress):
        if n_folds > 1 or task.uses_rows:
            sample.add(rows)
    total, folds = summariser.total_and_folds
    sampled = _recode_sample(summariser, total, sample.rows(len(total.schema.classes)))
    return TablePass(total, folds, sampled, summariser.n_learned, summariser.origin())


def _summarise_parts(task: Task, n_folds: int) -> TablePass:
    """Have a table summarised by the machines that have its parts."""
    factor = LEARNED_ROWS_FACTOR if task.needs_rows else 1
    size = choose_sample_size(task.layout, factor) if n_folds > 1 or task.uses_rows else NO_SAMPLE
    summary = plan_summary(task, n_folds, size).summarise_all(task.source)
    total, folds = summary.total_and_folds
    sample = _encode_sample(task, total, summary.sample, len(folds))
    if task.needs_rows and not summary.sample.is_complete:
        n, n_learned = format_count(len(summary.sample.keys)), format_count(summary.n_learned, "row")
        warn_caller(
            f"learner={task.learner!r} was fitted on this machine to {n} of {n_learned}, drawn at random. "
            f"Hint: learner='bayes' learns all rows where they lie"
        )
    return TablePass(total, folds, sample, summary.n_learned, summary.origin())


def plan_summary(task: Task, n_folds: int, size: SampleSize) -> SummaryPlan:
    """Return what is counted of each part of a table that lies on many machines."""
    options, classes = task.options, task.declared_classes
    more = classes, options.words, size, options.survey_weights
    return SummaryPlan(task.layout, options.assumption(task.layout).needs, task.target, task.weights, n_folds, *more)


def choose_sample_size(layout: Layout, factor: int) -> SampleSize:
    """Return the size of a sample of rows of a layout, larger by a factor if they are learned."""
    n_features = max(1, len(layout.features_by_block()))
    n_rows = min(MAX_SAMPLE_ROWS, MAX_SAMPLE_CELLS // n_features)
    n_bytes = MAX_CELL_BYTES * n_rows * n_features + (MAX_SAMPLE_BYTES if layout.texts else 0)
    return SampleSize(factor * n_rows, factor * n_bytes, factor * MAX_PART_ROWS)


def fetch_sample(model: Model, source: Source, weights: str | None, allow_missing: bool) -> Source:
    """Return a uniform sample of rows on many machines, with a model's columns, as a local table; refuse no rows."""
    labels = choose_label_readings(model.target, weights)
    for name in labels:
        check_column(source, name)
    wanted = check_columns(source, model._layout, allow_missing) | labels
    size = choose_sample_size(model._layout, 1)
    sample = sample_rows(source, wanted, model._layout, size)
    if sample.table is None:
        raise InputError(f"{source.name} has no rows to evaluate")
    n = len(sample.keys)
    return Frame(sample.table, source.name if sample.is_complete else f"{n} rows of {source.name}, drawn at random")


def _encode_sample(task: Task, total: Ledger, sample: RowSample, n_folds: int) -> Rows | None:
    """Return a sample in Arrow form as rows, with codes by the names of the ledger and their folds."""
    if sample.table is None or not len(sample.keys):
        return None
    matrices = make_matrices(task, total)
    labels = [str(label) for label in total.schema.classes]
    source, fold = Frame(sample.table), assign_folds_by_key(sample.keys, n_folds)
    read = read_labelled_rows(source, task.target, labels, task.weights, matrices, None)
    rows = to_effective_rows(concatenate_rows([rows for _, rows in read]), total)
    return replace(rows, fold=fold[rows.number]) if n_folds > 1 else rows


def make_matrices(task: Task, total: Ledger) -> Matrices:
    """Return the conversion of rows to matrices by the levels and words of a ledger."""
    levels = next((block.levels for block in total.schema.blocks if block.kind == "levels"), None) or ()
    words, known = task.options.words, vocabularies(total.schema)
    return Matrices.for_levels(task.layout, levels, words=words, vocabularies=known)


def _recode_sample(summariser: TableSummariser, total: Ledger, sample: Rows | None) -> Rows | None:
    """Recode the sample by the names of the ledgers: classes, levels, and words of texts."""
    if sample is None:
        return None
    place = {label: k for k, label in enumerate(total.schema.classes)}
    codes = np.array([place.get(label, -1) for label in summariser.classes.list], dtype=np.int32)[sample.codes]
    columns = list(sample.columns)
    levels = summariser.layout.block_index("levels")
    if levels is not None:
        columns[levels] = [np.append(where, -1)[v] for where, v in zip(summariser.level_ranks(), columns[levels])]
    known = vocabularies(total.schema)
    for i, words in enumerate(known, len(columns) - len(known)):
        threads = engines.thread_count(summariser.n_jobs)
        columns[i] = [build_word_matrix(summariser.words, words, columns[i][0], threads)]
    return to_effective_rows(replace(sample, columns=columns, codes=codes), total)
