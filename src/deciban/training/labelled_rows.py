"""Labelled rows of a table: read again to be scored, and assigned to folds by a column of groups or of an order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deciban.errors import InputError, did_you_mean
from deciban.ledger import Schema
from deciban.model.matrices import Matrices, check_columns, make_level_encoders, row_blocks
from deciban.model.summarise_table import Progress, Rows, row_weights
from deciban.scorer import vocabularies
from deciban.sources.arrow_cells import to_timestamps
from deciban.sources.level_encoder import LevelEncoder
from deciban.sources.source import ColumnReading, Source
from deciban.training.task import Task
from deciban.validation.splits import FoldAssignment, assign_by_group, assign_by_order


@dataclass(frozen=True)
class LabelledTable:
    """A table with the columns that hold the class and the weight of each row."""

    source: Source
    target: str
    classes: Sequence[str]
    weights: str | None = None
    allow_missing: bool = False

    @classmethod
    def of(cls, task: Task, schema: Schema) -> LabelledTable:
        """Return the table of a task, with the classes of a schema."""
        return cls(task.source, task.target, [str(label) for label in schema.classes], task.weights)

    def rows(self, matrices: Matrices, progress: Progress | None) -> Iterator[tuple[list[Any], Rows]]:
        """Yield the rows that have a class, with the batches they come from; an unknown class has the code −1."""
        known = LevelEncoder(self.classes)
        read = 0
        for batches in row_blocks(self.source, self._required_columns(matrices), matrices.layout):
            codes = np.concatenate([known.encode(batch.column(self.target)) for batch in batches])
            number = np.arange(read, read + len(codes))
            weight = None if self.weights is None else row_weights(batches, self.weights, read)
            is_labelled = codes >= 0
            codes[codes == len(known)] = -1
            read += len(codes)
            if progress is not None:
                progress(read)
            yield batches, Rows(matrices.columns(batches), codes.astype(np.int32), weight, number)[is_labelled]

    def _required_columns(self, matrices: Matrices) -> dict[str, ColumnReading]:
        for name in filter(None, (self.target, self.weights)):
            if name not in self.source.columns:
                raise InputError(
                    f"{self.source.name} has no column {name!r}{did_you_mean(name, self.source.columns)}"
                )
        columns = check_columns(self.source, matrices.layout.readings(), self.allow_missing)
        return {**columns, self.target: "text", **({self.weights: "number"} if self.weights else {})}


def table_matrices(task: Task, schema: Schema) -> Matrices:
    """Return the reader of rows as matrices, by the names of a schema."""
    levels = next((block.levels for block in schema.blocks if block.kind == "levels"), None)
    return Matrices(
        task.layout, make_level_encoders(task.layout, levels or ()), words=task.options.words,
        vocabularies=vocabularies(schema),
    )  # fmt: skip


def read_labelled_batches(task: Task, *columns: str) -> Iterator[tuple[NDArray[np.bool_], list[Any]]]:
    """Yield which rows are learned (those with a class and a weight), and batches of these columns and the target."""
    wanted: dict[str, ColumnReading] = dict.fromkeys((task.target, *columns), "text")
    if task.weights is not None:
        wanted[task.weights] = "number"
    read = 0
    for batches in row_blocks(task.source, wanted, task.layout):
        is_learned = np.concatenate([LevelEncoder().encode(batch.column(task.target)) >= 0 for batch in batches])
        if task.weights is not None:
            is_learned &= row_weights(batches, task.weights, read) > 0
        read += len(is_learned)
        yield is_learned, batches


def assign_by_column(task: Task, column: str, by: Literal["groups", "order"], n_folds: int) -> FoldAssignment:
    """Assign rows to folds by a column, which is read first: groups stay together, or folds follow the order.

    Rows that are not learned, without a class or a weight, are in no fold.
    """
    batches, cells = [np.zeros(0, dtype=np.bool_)], []
    for is_learned, read in read_labelled_batches(task, column):
        batches.append(is_learned)
        cells += [batch.column(column) for batch in read]
    learned = np.concatenate(batches)
    values = _group_codes(cells) if by == "groups" else _ranks(cells, column)
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


def _group_codes(cells: Sequence[Any]) -> NDArray[np.int64]:
    """Return a code for each distinct value, −1 where it is missing."""
    names = LevelEncoder(grows=True)
    return np.concatenate([np.zeros(0, dtype=np.int64), *(names.encode(array) for array in cells)])


def _ranks(cells: Sequence[Any], name: str) -> NDArray[np.int64]:
    """Return the dense rank of each value, from the least on; −1 where it is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not cells:
        return np.zeros(0, dtype=np.int64)
    whole = pa.chunked_array(cells).unify_dictionaries().combine_chunks()
    array = _sortable(whole)
    try:
        place = pc.rank(array, sort_keys="ascending", tiebreaker="dense").to_numpy(zero_copy_only=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(
            f"column {name!r} is of type {whole.type}, which has no order. Hint: a number, a date or a text"
        ) from None
    missing = pc.is_null(array, nan_is_null=True).to_numpy(zero_copy_only=False)
    return np.where(missing, -1, place.astype(np.int64))


def _sortable(array: Any) -> Any:
    """Return values in their intended order: texts that are all numbers or all dates as these, others as texts."""
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary.take(array.indices)
    if pa.types.is_boolean(array.type):
        return array.cast(pa.uint8())
    if pa.types.is_string_view(array.type):
        array = array.cast(pa.string())
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        return array
    for kind in (pa.float64(), None):
        try:
            return to_timestamps(array) if kind is None else array.cast(kind)
        except pa.ArrowInvalid:
            continue
    return array
