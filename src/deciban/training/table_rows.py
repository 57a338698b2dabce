"""Rows of a table: a uniform sample, labelled rows read again to be scored, folds by a column of groups or an order.

The sample of rows that are read in batches is those whose hashed numbers are the least.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deciban._lazy import pa, pc
from deciban.errors import InputError
from deciban.ledger import Ledger
from deciban.ledger.hashing import hash_row_numbers
from deciban.ledger.statistic import round_effective
from deciban.model.matrices import Matrices, check_columns, row_blocks, stack_rows
from deciban.model.summarise_table import Progress, Rows, choose_label_readings, row_weights
from deciban.sources.arrow_cells import LevelEncoder
from deciban.sources.arrow_types import is_text
from deciban.sources.cell_conversion import parse_texts
from deciban.sources.date_formats import infer_date_format
from deciban.sources.number_formats import PLAIN
from deciban.sources.source import ColumnReading, Source, check_column
from deciban.text import Documents
from deciban.training.cell_styles import CellStyle, parse_numbers
from deciban.training.task import Task
from deciban.validation.splits import FoldAssignment, assign_by_group, assign_by_order

MAX_SAMPLE_ROWS = 100_000
"""The number of rows of a sample: the standard error of their accuracy is at most a sixth of a percent."""

MAX_SAMPLE_CELLS = 1 << 24
"""The number of cells of a sample, and of the scores of its rows."""

MAX_SAMPLE_BYTES = 1 << 24
"""The bytes of text of a sample, about; of long texts these are fewer rows."""

LEARNED_ROWS_FACTOR = 4
"""The factor by which a sample is larger if the rows are learned in memory, and not only scored."""


class Reservoir:
    """A sample of at most `capacity` rows, each with the same probability, which depends on their numbers alone.

    It has fewer rows if their texts are longer than `MAX_SAMPLE_BYTES`. If the expected number of rows is known, most
    of them need never be kept. All limits are multiplied by `factor`.
    """

    def __init__(self, n_features: int, expected: int | None = None, factor: int = 1) -> None:
        self.factor, self.capacity = factor, factor * min(MAX_SAMPLE_ROWS, MAX_SAMPLE_CELLS // max(1, n_features))
        self.kept: list[Rows] = []
        self.n_kept = self.n_bytes = 0
        self.hash_limit = np.uint64(2**64 - 1)
        if expected is not None and expected > 2 * self.capacity:
            self.hash_limit = np.uint64(int(1.5 * self.capacity / expected * 2**64))

    def add(self, rows: Rows) -> None:
        """Add those of these rows that belong to the sample so far."""
        index = np.flatnonzero(hash_row_numbers(rows.number) <= self.hash_limit)
        if len(index):
            selected = rows if len(index) == len(rows.codes) else rows[index]
            self.kept.append(selected)
            self.n_kept += len(index)
            self.n_bytes += sum(int(sizes.sum()) for sizes in _measure_texts(selected))
        if self.n_kept > 2 * self.capacity or self.n_bytes > 2 * self.factor * MAX_SAMPLE_BYTES:
            self._trim()

    def _trim(self) -> None:
        """Drop the rows beyond the limits, those with the highest hashes; lower the hash limit accordingly."""
        together = concatenate_rows(self.kept)
        order, texts = hash_row_numbers(together.number), _measure_texts(together)
        capacity = min(self.capacity, len(order))
        if texts and capacity:
            sizes = np.cumsum(np.sum(texts, axis=0)[np.argsort(order)])
            n_within = int(np.searchsorted(sizes, self.factor * MAX_SAMPLE_BYTES, side="right"))
            capacity = min(capacity, max(1, n_within))
        if len(order) > capacity:
            self.hash_limit = np.partition(order, capacity - 1)[capacity - 1]
            together = together[order <= self.hash_limit]
        self.kept, self.n_kept = [together], len(together.codes)
        self.n_bytes = sum(int(sizes.sum()) for sizes in _measure_texts(together))

    def rows(self, n_classes: int = 1) -> Rows | None:
        """Return the sample in the order of the table, fewer rows for very many classes; None if none was added."""
        if not self.kept:
            return None
        self.capacity = min(self.capacity, max(1, self.factor * MAX_SAMPLE_CELLS // n_classes))
        self._trim()
        return self.kept[0]


def _measure_texts(rows: Rows) -> list[NDArray[np.int64]]:
    """Return the number of bytes of each text of each row."""
    texts = [column for block in rows.columns for column in block if isinstance(column, Documents)]
    return [np.diff(text.utf8[1]) for text in texts]


def concatenate_rows(kept: Sequence[Rows]) -> Rows:
    """Concatenate batches of rows."""
    if len(kept) == 1:
        return kept[0]
    columns = [[_concatenate_columns(c) for c in zip(*blocks)] for blocks in zip(*(rows.columns for rows in kept))]
    arrays = ([getattr(rows, name) for rows in kept] for name in ("codes", "weight", "number", "fold"))
    joined: Any = (None if batches[0] is None else np.concatenate(batches) for batches in arrays)
    return Rows(columns, *joined)


def _concatenate_columns(columns: Sequence[Any]) -> Any:
    """Concatenate a column of all batches: numbers or codes, documents, or matrices of words."""
    return Documents.concatenate(columns) if isinstance(columns[0], Documents) else stack_rows(columns)


def read_labelled_rows(
    source: Source, target: str, classes: Sequence[str], weights: str | None, matrices: Matrices,
    progress: Progress | None, allow_missing: bool = False,
) -> Iterator[tuple[list[Any], Rows]]:  # fmt: skip
    """Yield batches of a table, and those of their rows that have a class; an unknown class has the code −1.

    `target` and `weights` name columns; columns of the layout may be missing in the source with `allow_missing`.
    """
    known, read, labels = LevelEncoder(classes, column=target), 0, choose_label_readings(target, weights)
    for name in labels:
        check_column(source, name)
    wanted = check_columns(source, matrices.layout, allow_missing) | labels
    for batches in row_blocks(source, wanted, matrices.layout):
        codes = np.concatenate([known.encode(batch.column(target)) for batch in batches])
        number = np.arange(read, read + len(codes))
        weight = None if weights is None else row_weights(batches, weights, read)
        is_labelled = codes >= 0
        codes[codes == len(known)] = -1
        read += len(codes)
        if progress is not None:
            progress(read)
        yield batches, Rows(matrices.columns(batches), codes.astype(np.int32), weight, number)[is_labelled]


def to_effective_rows(rows: Rows, total: Ledger) -> Rows:
    """Return rows whose survey weights sum to the effective number of all rows, of which `total` is the ledger."""
    if rows.weight is None or not total.squares.any():
        return rows
    return replace(rows, weight=round_effective(rows.weight / total.mean_weight))


def keep_learned_rows(rows: Rows) -> Rows:
    """Return the rows that have a known class and a weight above 0."""
    return rows[(rows.codes >= 0) & (True if rows.weight is None else rows.weight > 0)]


def read_labelled_batches(task: Task, *columns: str) -> Iterator[tuple[NDArray[np.bool_], list[Any]]]:
    """Yield which rows of a block are learned (with a class and weight), and its batches of target and `columns`."""
    wanted: dict[str, ColumnReading] = dict.fromkeys(columns, "text")
    wanted, read = wanted | choose_label_readings(task.target, task.weights), 0
    for batches in row_blocks(task.source, wanted, task.layout):
        names = LevelEncoder(column=task.target)
        is_learned = np.concatenate([names.encode(batch.column(task.target)) >= 0 for batch in batches])
        if task.weights is not None:
            is_learned &= row_weights(batches, task.weights, read) > 0
        read += len(is_learned)
        yield is_learned, batches


def assign_by_column(task: Task, by: Literal["groups", "order"], column: str, n_folds: int) -> FoldAssignment:
    """Assign rows to folds by a column, which is read first: groups stay together, or folds follow the order.

    Rows that are not learned, without a class or a weight, are in no fold; a learned one without a value is an error.
    """
    batches, cells = [np.zeros(0, dtype=np.bool_)], []
    for is_learned, read in read_labelled_batches(task, column):
        batches.append(is_learned)
        cells += [batch.column(column) for batch in read]
    learned = np.concatenate(batches)
    if by == "groups":
        names = LevelEncoder(grows=True, column=column)
        values = np.concatenate([np.zeros(0, dtype=np.int64), *(names.encode(array) for array in cells)])
    else:
        values = _rank_values(cells, column)
    missing = learned & (values < 0)
    if missing.any():
        noun = "group" if by == "groups" else "place in the order"
        raise InputError(
            f"column {column!r} is empty in row {int(np.argmax(missing)) + 1}, so that row has no {noun}. "
            f"Hint: fill it in, or leave such rows out"
        )
    if not learned.any():
        raise InputError(f"{task.source.name} has no row with a class in {task.target!r}, so none can be evaluated")
    folds = np.full(len(learned), -1, dtype=np.int32)
    folds[learned] = (assign_by_group if by == "groups" else assign_by_order)(values[learned], n_folds)
    return FoldAssignment(int(folds.max()) + 1, folds)


def _rank_values(cells: Sequence[Any], name: str) -> NDArray[np.int64]:
    """Return the dense rank of each value, from the least on; −1 where it is missing."""
    if not cells:
        return np.zeros(0, dtype=np.int64)
    values = pa.chunked_array(cells).unify_dictionaries().combine_chunks()
    array = _to_sortable(values)
    try:
        place = pc.rank(array, sort_keys="ascending", tiebreaker="dense").to_numpy(zero_copy_only=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(
            f"column {name!r} is of type {values.type}, which has no order. Hint: a number, a date or a text"
        ) from None
    missing = pc.is_null(array, nan_is_null=True).to_numpy(zero_copy_only=False)
    return np.where(missing, -1, place.astype(np.int64))


def _to_sortable(array: Any) -> Any:
    """Return values in their intended order: texts that are all numbers or all dates as these, others as texts."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary.take(array.indices)
    if pa.types.is_boolean(array.type):
        return array.cast(pa.uint8())
    if not is_text(array.type):
        return array
    with suppress(pa.ArrowInvalid):
        return array.cast(pa.float64())
    known = array.drop_null()
    if len(known) and (numbers := parse_numbers(known, CellStyle())) is not None:
        return parse_texts(array, numbers.format or PLAIN).values
    if (dates := infer_date_format(array)) is not None:
        return parse_texts(array, dates.format).values
    return array
