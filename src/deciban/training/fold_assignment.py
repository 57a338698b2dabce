"""Which fold each row of a table goes to: each its share of every class, groups kept together, or by order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deciban.errors import InputError
from deciban.model.matrices import row_blocks
from deciban.model.summarise_table import FoldAssigner, row_weights
from deciban.sources.arrow_cells import Names, timestamps
from deciban.sources.source import Reading
from deciban.training.task import Task
from deciban.validation.splits import Stratified, by_group, by_order

By = Literal["groups", "order"]


def stratifying(n_folds: int) -> FoldAssigner:
    """Deals rows to folds as they pass by, each fold its share of every class."""
    folds = Stratified(n_folds)
    return lambda codes, number: folds.of(codes)


class Stratifying:
    """The same, and remembers where each row went: a byte for each."""

    def __init__(self, n_folds: int) -> None:
        self.n_folds = n_folds
        self._stratified = Stratified(n_folds)
        self._type = np.min_scalar_type(-n_folds)
        self._past: list[NDArray[Any]] = []
        self._end = 0

    def __call__(self, codes: NDArray[np.int32], number: NDArray[np.int64]) -> NDArray[np.int32]:
        """See `FoldAssigner`."""
        fold = self._stratified.of(codes)
        if len(number):
            past = np.full(int(number[-1]) + 1 - self._end, -1, dtype=self._type)
            past[number - self._end] = fold
            self._past.append(past)
            self._end = int(number[-1]) + 1
        return fold

    def where(self, number: NDArray[np.int64]) -> NDArray[np.int32]:
        """The folds that rows went to, −1 for one that was not dealt out."""
        if len(self._past) > 1:
            self._past = [np.concatenate(self._past)]
        return _looked_up(self._past[0], number) if self._past else np.full(len(number), -1, dtype=np.int32)


class Dealt:
    """Folds that a column decides: known for every row before any is learned."""

    def __init__(self, folds: NDArray[np.int32]) -> None:
        self.n_folds = int(folds.max()) + 1
        self._folds = folds.astype(np.min_scalar_type(-self.n_folds))

    def __call__(self, codes: NDArray[np.int32], number: NDArray[np.int64]) -> NDArray[np.int32]:
        """See `FoldAssigner`."""
        return self.where(number)

    def where(self, number: NDArray[np.int64]) -> NDArray[np.int32]:
        """See `Stratifying.where`."""
        return _looked_up(self._folds, number)


def _looked_up(folds: NDArray[Any], number: NDArray[np.int64]) -> NDArray[np.int32]:
    known = number < len(folds)
    return np.where(known, folds[np.where(known, number, 0)], -1).astype(np.int32)


def by_column(task: Task, column: str, by: By, n_folds: int) -> Dealt:
    """The folds that a column decides, which is read first: a group stays together, and what came before is before.

    Rows that are not learned from, without a class or a weight, are in none.
    """
    told, cells = _cells(task, column)
    values = _groups(cells) if by == "groups" else _places(cells, column)
    missing = told & (values < 0)
    if missing.any():
        noun = "group" if by == "groups" else "place in the order"
        raise InputError(
            f"column {column!r} is empty in row {int(np.argmax(missing)) + 1}, so that row has no {noun}. "
            f"Hint: fill it in, or leave such rows out"
        )
    if not told.any():
        raise InputError(f"{task.source.name} has no row with a class in {task.target!r}, so none can be judged")
    folds = np.full(len(told), -1, dtype=np.int32)
    folds[told] = (by_group if by == "groups" else by_order)(values[told], n_folds)
    return Dealt(folds)


def _cells(task: Task, column: str) -> tuple[NDArray[np.bool_], list[Any]]:
    """Which rows are learned from, and the cells of a column in pieces."""
    told, cells = [np.zeros(0, dtype=np.bool_)], []
    for present, batches in told_rows(task, column):
        told.append(present)
        cells += [batch.column(column) for batch in batches]
    return np.concatenate(told), cells


def told_rows(task: Task, *columns: str) -> Iterator[tuple[NDArray[np.bool_], list[Any]]]:
    """Which rows are learned from, those with a class and a weight; batches have these columns and the target."""
    wanted: dict[str, Reading] = dict.fromkeys((task.target, *columns), "text")
    if task.weights is not None:
        wanted[task.weights] = "number"
    read = 0
    for batches in row_blocks(task.source, wanted, task.layout):
        told = np.concatenate([Names().encode(batch.column(task.target)) >= 0 for batch in batches])
        if task.weights is not None:
            told &= row_weights(batches, task.weights, read) > 0
        read += len(told)
        yield told, batches


def _groups(cells: Sequence[Any]) -> NDArray[np.int64]:
    """A number for each different value, −1 where it is missing."""
    names = Names(grows=True)
    return np.concatenate([np.zeros(0, dtype=np.int64), *(names.encode(array) for array in cells)])


def _places(cells: Sequence[Any], name: str) -> NDArray[np.int64]:
    """Where each value stands among the different ones, from the least on; −1 where it is missing."""
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


def _doubles(texts: Any) -> Any:
    import pyarrow as pa

    return texts.cast(pa.float64())


def _sortable(array: Any) -> Any:
    """Values whose order is meant: texts that are all numbers or all dates by these; other texts by their letters."""
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
    for read in (_doubles, timestamps):
        try:
            return read(array)
        except pa.ArrowInvalid:
            continue
    return array
