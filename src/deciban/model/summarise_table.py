"""One pass over a table: blocks of rows into ledgers, one for each fold, merged in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban._typing import Array
from deciban.errors import InputError, did_you_mean, list_names
from deciban.ledger import Block, Ledger, Needs, Schema, Statistic
from deciban.ledger.ledger import concatenate_features
from deciban.ledger.schema import sort_classes
from deciban.model.columns import Feature, Group, Layout
from deciban.model.matrices import Matrices, check_columns, row_blocks, stack_columns
from deciban.model.text_blocks import Counted, Texts
from deciban.sources.arrow_cells import Names, numbers
from deciban.sources.prefetch import ahead
from deciban.sources.source import Reading, Source, as_role
from deciban.text import Words

MOST_CELLS = 1 << 25
"""Most numbers that the folds' tables may hold between them; beyond it the folds are given up, and nothing else."""

CELLS_AT_ONCE = 1 << 15
"""Columns that have fewer cells are counted several at a time: 1000 columns of 50 rows took 2.2 s one by one."""

Progress = Callable[[int], None]
"""Told how many rows have been read."""

FoldAssigner = Callable[[NDArray[np.int32], NDArray[np.int64]], NDArray[np.int32]]
"""Which fold each row goes to, by its class's code and its number in the table; all rows come in order."""


@dataclass(frozen=True)
class Rows:
    """Rows that have a class: the columns of each block, the classes' codes, weights, numbers in the table, folds.

    By columns, as tables are stored: laying them out as matrices took a sixth of the time of a training. A text is
    the one column of its block: documents while words are gathered, a matrix of known words afterwards.
    """

    columns: list[list[Any]]
    codes: NDArray[np.int32]
    weight: Array | None
    number: NDArray[np.int64]
    fold: NDArray[np.int32] | None = None

    def __getitem__(self, rows: Any) -> Rows:
        weight, fold = (None if each is None else each[rows] for each in (self.weight, self.fold))
        columns = [[column[rows] for column in block] for block in self.columns]
        return Rows(columns, self.codes[rows], weight, self.number[rows], fold)

    @property
    def parts(self) -> list[Any]:
        """The matrix of each block."""
        return [stack_columns(block) for block in self.columns]


@dataclass
class TableSummariser:
    """What has been read so far.

    A row of class k in fold f is counted as class k·F + f, so that one pass over the rows fills all folds; the
    classes and level names are in order of appearance until `ledgers` puts them in order.
    """

    layout: Layout
    needs: Sequence[Needs]
    target: str
    weights: str | None = None
    n_folds: int = 1
    deal: FoldAssigner | None = None
    declared: Sequence[str] | None = None
    n_jobs: int | None = None
    known_classes: Sequence[str] = ()
    known_levels: Sequence[Sequence[str]] | None = None
    words: Words = field(default_factory=Words)
    classes: Names = field(init=False)
    matrices: Matrices = field(init=False)
    texts: Texts = field(init=False)
    sums: list[Statistic] | None = None
    rows: Array = field(default_factory=lambda: np.zeros(0))
    n_read: int = 0
    n_without_class: int = 0
    n_learned: int = 0

    def __post_init__(self) -> None:
        self.classes = Names(self.declared or self.known_classes, grows=self.declared is None)
        self.matrices = Matrices.for_learning(self.layout, self.known_levels, self.n_jobs)
        self.texts = Texts(self.words, len(self.layout.texts))

    def read(self, source: Source, progress: Progress | None = None) -> Iterable[Rows]:
        """Take in all rows of a source; gives each block on, once it is counted."""
        if source.fills_cores and not self.layout.texts:  # words take longer to count than to read
            self.n_jobs = self.matrices.n_jobs = 1
        blocks = row_blocks(source, self._wanted(source), self.layout)
        for rows in ahead((self._encoded(batches) for batches in blocks), most=1):
            if len(rows.codes):
                self._count(rows)
            if progress is not None:
                progress(self.n_read)
            yield rows

    def _wanted(self, source: Source) -> Mapping[str, Reading]:
        for what, name in (("target", self.target), ("weights", self.weights)):
            if name is not None and name not in source.columns:
                raise InputError(
                    f"{source.name} has no column {name!r} for the {what}{did_you_mean(name, source.columns) or '.'} "
                    f"Its columns: {list_names(source.columns)}"
                )
        wanted: dict[str, Reading] = {**check_columns(source, self.layout.readings(), False), self.target: "text"}
        return wanted if self.weights is None else {**wanted, self.weights: "number"}

    def _encoded(self, batches: Sequence[Any]) -> Rows:
        codes = np.concatenate([self.classes.encode(batch.column(self.target)) for batch in batches])
        if self.declared is not None and (codes == len(self.declared)).any():
            self._refuse_class(batches, codes)
        number = np.arange(self.n_read, self.n_read + len(codes))
        weight = None if self.weights is None else row_weights(batches, self.weights, self.n_read)
        self.n_read += len(codes)
        known = codes >= 0
        self.n_without_class += int((~known).sum())
        if weight is not None:
            known &= weight > 0
        rows = Rows(self.matrices.columns(batches), codes.astype(np.int32), weight, number)
        rows = rows if known.all() else rows[known]
        self.n_learned += len(rows.codes)
        return rows if self.deal is None else replace(rows, fold=self.deal(rows.codes, rows.number))

    def _refuse_class(self, batches: Sequence[Any], codes: NDArray[np.int64]) -> None:
        assert self.declared is not None
        at = int(np.argmax(codes == len(self.declared)))
        label = [label for batch in batches for label in batch.column(self.target).to_pylist()][at]
        raise InputError(
            f"column {self.target!r} holds {label!r} in row {self.n_read + at + 1}, which is none of the classes "
            f"{list(self.declared)}. Hint: name it among the classes, or leave such rows out"
        )

    def _count(self, rows: Rows) -> None:
        K = self.n_folds * len(self.classes)
        codes = rows.codes
        if self.n_folds > 1:
            assert rows.fold is not None
            codes = codes * np.int32(self.n_folds) + rows.fold
        weight = np.bincount(codes, weights=rows.weight, minlength=K)
        self.rows = np.concatenate([self.rows, np.zeros(K - len(self.rows))]) + weight
        parts = self._summed(rows, codes, K)
        self.sums = parts if self.sums is None else [grown(a, K) + b for a, b in zip(self.sums, parts)]
        documents = [column for (column,) in rows.columns[len(parts) :]]
        self.texts.count(documents, codes, rows.weight, engines.thread_count(self.n_jobs))
        cells = sum(a.size for part in self.sums for a in part.arrays().values()) + self.texts.size
        if self.n_folds > 1 and cells > MOST_CELLS:
            self._give_up_folds()

    def _summed(self, rows: Rows, codes: NDArray[np.int32], n_classes: int) -> list[Statistic]:
        """A statistic for each block, its columns counted one by one, side by side on as many threads as may be.

        Of few rows many columns are counted at a time. Texts come after them, and are counted otherwise.
        """
        groups = [group for group in self.layout.blocks if group.kind != "bags"]
        steps = len(codes) * sum(len(features) for _, features in groups)
        jobs = [
            (need, features, columns)
            for need, group, block in zip(self.needs, groups, rows.columns)
            for features, columns in _counted_at_once(group, block, len(codes))
        ]

        def one(job: tuple[Needs, Sequence[Feature], Sequence[NDArray[Any]]]) -> Statistic:
            need, features, columns = job
            if need.kind == "counts":  # of an open column a negative value means no count, as the grid will tell
                columns = [np.maximum(c, 0.0) if f.role == "countable" else c for f, c in zip(features, columns)]
            try:
                X = stack_columns(columns) if len(columns) > 1 else columns[0].reshape(-1, 1)
                with engines.part_of_work(steps):
                    return engines.summarise(need, X, codes, rows.weight, n_classes, 1)
            except engines.InvalidValue as bad:
                raise _worded(bad, features[bad.column], int(rows.number[bad.row])) from None
            except engines.TooLarge:
                raise _too_large(columns, features) from None

        done = iter(engines.map_small_items(one, jobs, engines.thread_count(self.n_jobs)))
        return [
            concatenate_features([next(done) for _ in _counted_at_once(group, group.features, len(codes))])
            for group in groups
        ]

    def _give_up_folds(self) -> None:
        assert self.sums is not None
        K, F = len(self.classes), self.n_folds
        self.texts.give_up_folds(K, F)
        self.sums = [
            reduce(lambda a, b: a + b, (p.take(np.arange(f, K * F, F)) for f in range(F))) for p in self.sums
        ]
        self.rows, self.n_folds = self.rows.reshape(K, F).sum(axis=1), 1

    def ledgers(self) -> list[Ledger]:
        """The ledger of each fold; see `books`."""
        return self.books[1]

    @cached_property
    def books(self) -> tuple[Ledger, list[Ledger]]:
        """The ledger of all rows, and that of each fold; classes and levels in order.

        What only rows without weight had is not there.
        """
        if self.sums is None:
            raise InputError(self._nothing())
        F, weight = self.n_folds, self.rows.reshape(-1, self.n_folds).sum(axis=1)
        known = [k for k in range(len(self.classes)) if weight[k] > 0 or self.declared is not None]
        names = {self.classes.list[k]: k for k in known}
        by_name = [names[label] for label in sort_classes(names)]
        texts = self.texts.counted(len(self.classes), by_name, F)
        schema, places = self.schema([self.classes.list[k] for k in by_name], texts), self.level_places()
        folds = []
        for f in range(F):
            index = np.array(by_name) * F + f
            dense = [self._ordered(places, i, part.take(index)) for i, part in enumerate(self.sums)]
            folds.append(Ledger(schema, self.rows[index], (*dense, *(text.folds[f] for text in texts))))
        return _all_folds(folds, texts), folds

    def _nothing(self) -> str:
        if not self.n_read:
            return "the table has no rows. Hint: a header alone teaches nothing"
        if self.n_without_class < self.n_read:
            return f"every row has the weight 0 in {self.weights!r}, so there is nothing to learn from"
        return f"none of the {self.n_read} rows has a value in {self.target!r}, so there is nothing to learn from"

    def _levels(self) -> list[list[str]]:
        """The names of the levels that have any weight, in order, for each feature that has levels."""
        place = self.layout.block_index("levels")
        if place is None or self.sums is None:
            return []
        part: Any = self.sums[place]
        tables = zip(self.matrices.names, part.tables())
        return [sorted(names.list[v] for v in np.flatnonzero(table.any(axis=0)).tolist()) for names, table in tables]

    def level_places(self) -> list[NDArray[np.intp]]:
        """Where each level goes when the names are put in order, −1 for one that goes."""
        order = [{name: v for v, name in enumerate(names)} for names in self._levels()]
        return [
            np.array([place.get(name, -1) for name in names.list], dtype=np.intp)
            for place, names in zip(order, self.matrices.names)
        ]

    def schema(self, classes: Sequence[str], texts: Sequence[Counted] = ()) -> Schema:
        """The names of everything counted."""
        levels = tuple(tuple(names) for names in self._levels())
        words = iter(texts)

        def block(need: Needs, group: Group) -> Block:
            if group.kind == "bags":
                counted = next(words)
                return Block("bags", counted.total.n_features, counted.vocabulary, None, need.reading)
            names = tuple(feature.name for feature in group.features)
            return Block(group.kind, len(names), names, levels if group.kind == "levels" else None, need.reading)

        return Schema(tuple(classes), tuple(map(block, self.needs, self.layout.blocks)))

    def _ordered(self, places: list[NDArray[np.intp]], block: int, part: Statistic) -> Statistic:
        if self.needs[block].kind != "levels":
            return part
        return part.relevel(places, [int((place >= 0).sum()) for place in places])


def _counted_at_once(
    group: Group, columns: Sequence[Any], n_rows: int
) -> list[tuple[Sequence[Feature], Sequence[Any]]]:
    """The features of a block with their columns, as many at a time as have `CELLS_AT_ONCE`; in a scatter all."""
    many = len(columns) if group.kind == "scatter" else max(1, CELLS_AT_ONCE // max(1, n_rows))
    return [(group.features[j : j + many], columns[j : j + many]) for j in range(0, len(columns), many)]


def _all_folds(folds: Sequence[Ledger], texts: Sequence[Counted]) -> Ledger:
    """The ledger of all rows: the folds added up, but for texts, whose sum is known."""
    if len(folds) == 1:
        return folds[0]
    n = len(folds[0].parts) - len(texts)
    some: list[Sequence[int] | None] = [*[None] * n, *[[]] * len(texts)]
    dense = reduce(lambda a, b: a + b, (fold.choose(some) for fold in folds))
    return Ledger(folds[0].schema, dense.rows, (*dense.parts, *(text.total for text in texts)))


def row_weights(batches: Sequence[Any], name: str, first: int) -> Array:
    """The weights of rows, 0 where one is missing; the first row is number `first`."""
    given = np.concatenate([numbers(batch.column(name), name) for batch in batches])
    weight = np.where(np.isnan(given), 0.0, given)
    fine = np.isfinite(weight) & (weight >= 0)
    if not fine.all():
        at = int(np.argmin(fine))
        raise InputError(
            f"column {name!r} holds {weight[at]:g} in row {first + at + 1}; a weight is finite and ≥ 0. "
            f"Hint: mend that row, or leave the weights out"
        )
    return weight


def _worded(bad: engines.InvalidValue, feature: Feature, row: int) -> InputError:
    """The refusal of a value, with its column, its row in the table, and a way out."""
    where = f"column {feature.column!r} holds {bad.value:g} in row {row + 1}"
    if bad.rule == "negative":
        return InputError(f"{where}; a count is never negative. Hint: {as_role(feature.column, 'number')}")
    empty = "make that cell empty"
    return InputError(f"{where}, which is not finite. Hint: {empty}, or {as_role(feature.column, 'skip')}")


def _too_large(columns: Sequence[NDArray[Any]], features: Sequence[Feature]) -> InputError:
    """The refusal of values whose squares overflow, with the column that has the largest."""
    largest = [float(np.nanmax(np.abs(column), initial=0.0)) for column in columns]
    at = int(np.argmax(largest))
    name = features[at].column
    return InputError(
        f"column {name!r} holds values as large as {largest[at]:g}, and their squares overflow (a double holds up to "
        f"1.8e308). Hint: rescale it, or {as_role(name, 'skip')}"
    )


def grown(part: Statistic, n_classes: int) -> Statistic:
    """The same sums with room for classes that came later."""
    return part if part.n_classes == n_classes else part.spread(np.arange(part.n_classes), n_classes)
