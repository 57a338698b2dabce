"""Summarising a table in one pass: blocks of rows are counted into ledgers, one for each fold."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban._lazy import pc
from deciban._typing import Array
from deciban.errors import InputError, RowError, list_names, warn_caller
from deciban.formatting import format_count
from deciban.ledger import Bags, Block, Ledger, Needs, Schema, Statistic, Vocabulary
from deciban.ledger.extremes import Extremes
from deciban.ledger.ledger import concatenate_features
from deciban.ledger.schema import sort_classes
from deciban.model.columns import Feature, FeatureBlock, Layout
from deciban.model.fold_ledgers import join_fold, split_joined_folds
from deciban.model.learned_rows import LearnedRows, RowHasher
from deciban.model.matrices import Matrices, check_columns, prefetch, row_blocks, stack_columns
from deciban.model.model_options import Origin
from deciban.model.row_samples import RowSampler
from deciban.sources.arrow_cells import LevelEncoder, parse_dates, to_numbers
from deciban.sources.cell_conversion import BAD_CELLS_HINT
from deciban.sources.markers import WithoutMarkers
from deciban.sources.source import ColumnReading, Source, check_column, role_hint
from deciban.text import WordCounter, Words

MAX_FOLD_CELLS = 1 << 25
"""Largest number of cells in the statistics of all folds; beyond it the folds are pooled into one."""

MIN_CELLS_PER_JOB = 1 << 15
"""Columns that have fewer cells are counted several at a time: 1000 columns of 50 rows took 2.2 s one by one."""

Progress = Callable[[int], None]
"""A function that is called with the number of rows read so far.

It may have a method `begin(doing, things, total)`, which is called before other things than rows are counted."""

FoldAssigner = Callable[[NDArray[np.int32], NDArray[np.int64]], NDArray[np.int32]]
"""A function that returns the fold of each row, by its class code and its number in the table; rows come in order."""


@dataclass(frozen=True)
class Rows:
    """Rows that have a class: the columns of each block, the classes' codes, weights, numbers in the table, folds.

    Columns are separate, as tables are stored: stacking them to matrices took a sixth of the time of a training. A
    text is the one column of its block: documents while words are counted, a matrix of known words afterwards.
    """

    columns: list[list[Any]]
    codes: NDArray[np.int32]
    weight: Array | None
    number: NDArray[np.int64]
    fold: NDArray[np.int32] | None = None

    def __getitem__(self, rows: Any) -> "Rows":
        weight, fold = (None if each is None else each[rows] for each in (self.weight, self.fold))
        columns = [[column[rows] for column in block] for block in self.columns]
        return Rows(columns, self.codes[rows], weight, self.number[rows], fold)

    @property
    def parts(self) -> list[Any]:
        """The matrix of each block."""
        return [stack_columns(block) for block in self.columns]


@dataclass
class TableSummariser:
    """The statistics of the rows that have been read so far.

    A row of class k in fold f is counted as class k·F + f, so that one pass over the rows fills all folds; the
    classes and level names are in order of appearance until `ledger_by_fold` sorts them.
    """

    layout: Layout
    needs: Sequence[Needs]
    target: str
    weights: str | None = None
    n_folds: int = 1
    assign_folds: FoldAssigner | None = None
    declared: Sequence[str] | None = None
    n_jobs: int | None = None
    known_classes: Sequence[str] = ()
    known_levels: Sequence[Sequence[str]] | None = None
    words: Words = field(default_factory=Words)
    survey: bool = False
    """Whether the weights are survey weights, of which the squares are summed too."""
    sampler: RowSampler | None = None
    """The sampler of the rows that are counted, where a sample is to be sent to another process."""
    classes: LevelEncoder = field(init=False)
    matrices: Matrices = field(init=False)
    word_counters: list[WordCounter] = field(init=False)
    extremes: Extremes = field(init=False)
    hasher: RowHasher = field(init=False)
    sums: list[Statistic] | None = None
    rows: Array = field(default_factory=lambda: np.zeros(0))
    squares: Array = field(default_factory=lambda: np.zeros(0))
    n_read: int = 0
    n_without_class: int = 0
    n_learned: int = 0
    late_values: Counter[str] = field(default_factory=Counter)
    """The number of values of columns that were taken for empty ones, if there are any."""
    marker_counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """The number of cells that were read as missing for each text, such as `?`, by column."""

    def __post_init__(self) -> None:
        known_classes = self.declared or self.known_classes
        self.classes = LevelEncoder(known_classes, grows=self.declared is None, column=self.target)
        known = zip(self.layout.levels, self.known_levels or [()] * len(self.layout.levels))
        levels = [tuple(dict.fromkeys((*names, *feature.fixed_levels))) for feature, names in known]
        self.matrices = Matrices.for_levels(self.layout, levels, grows=True, n_jobs=self.n_jobs)
        self.word_counters = [WordCounter(self.words) for _ in self.layout.texts]
        self.extremes = Extremes.empty((*self.layout.number_names, *self.layout.open_dates))
        self.hasher = RowHasher(self.layout, self.matrices.names)

    def read(self, source: Source, progress: Progress | None = None) -> Iterable[Rows]:
        """Count the rows of a source that have a class and a weight; yield them in blocks, once counted."""
        if source.fills_cores and not self.layout.texts:  # words take longer to count than to read
            self.n_jobs = self.matrices.n_jobs = 1
        wanted: Any = dict.fromkeys(self.layout.empty_columns, "as it is")
        blocks = row_blocks(source, {**self._check_required_columns(source), **wanted}, self.layout)
        for rows in prefetch((self._encode(batches) for batches in blocks), max_ahead=1):
            if len(rows.codes):
                self._count(rows)
            if progress is not None:
                progress(self.n_read)
            yield rows
        self.marker_counts = source.all_counts() if isinstance(source, WithoutMarkers) else {}
        for name, n in (+self.late_values).items():
            warn_caller(
                f"{format_count(n, 'value')} of column {name!r} left out: it has none among the rows by which roles "
                f"are inferred. Hint: {role_hint(name, 'ROLE')}"
            )

    def _check_required_columns(self, source: Source) -> Mapping[str, ColumnReading]:
        for what, name in (("target", self.target), ("weights", self.weights)):
            if name is not None:
                check_column(source, name, f" for the {what}")
        return check_columns(source, self.layout, False) | choose_label_readings(self.target, self.weights)

    def _encode(self, batches: Sequence[Any]) -> Rows:
        """Return the rows of a block that have a class and a weight.

        They are added to the sample, hashes and ranges; the numbers of rows read and learned are updated.
        """
        codes = np.concatenate([self.classes.encode(batch.column(self.target)) for batch in batches])
        if self.declared is not None and (codes == len(self.declared)).any():
            self._refuse_class(batches, codes)
        for name in self.layout.empty_columns:
            self.late_values[name] += sum(pc.sum(batch.column(name).is_valid()).as_py() or 0 for batch in batches)
        number = np.arange(self.n_read, self.n_read + len(codes))
        weight = None if self.weights is None else row_weights(batches, self.weights, self.n_read)
        self.n_read += len(codes)
        known = codes >= 0
        self.n_without_class += int((~known).sum())
        if weight is not None:
            known &= weight > 0
        if self.sampler is not None:
            self.sampler.add(batches, number, known)
        rows = Rows(self.matrices.columns(batches), codes.astype(np.int32), weight, number)
        rows = rows if known.all() else rows[known]
        self.n_learned += len(rows.codes)
        self.hasher.add(rows.columns, rows.codes, self.classes.list)
        dates = [[read_times(batch.column(name), name) for batch in batches] for name in self.layout.open_dates]
        numbers = self.layout.select_numbers(rows.columns) + [np.concatenate(times)[known] for times in dates]
        self.extremes = self.extremes.add_rows(numbers)
        return rows if self.assign_folds is None else replace(rows, fold=self.assign_folds(rows.codes, rows.number))

    def _refuse_class(self, batches: Sequence[Any], codes: NDArray[np.int64]) -> None:
        """Raise an InputError that names the first row whose class was not declared."""
        assert self.declared is not None
        at = int(np.argmax(codes == len(self.declared)))
        label = [label for batch in batches for label in batch.column(self.target).to_pylist()][at]
        raise InputError(
            f"column {self.target!r} holds {label!r} in row {self.n_read + at + 1}, which is none of the classes: "
            f"{list_names([str(name) for name in self.declared])}. "
            f"Hint: name it among the classes, or leave such rows out"
        )

    def _count(self, rows: Rows) -> None:
        """Add rows to the statistics, in place; pool the folds where these become too large."""
        K = self.n_folds * len(self.classes)
        codes = rows.codes
        if self.n_folds > 1:
            assert rows.fold is not None
            codes = codes * np.int32(self.n_folds) + rows.fold
        weight = np.bincount(codes, weights=rows.weight, minlength=K)
        self.rows = np.pad(self.rows, (0, K - len(self.rows))) + weight
        self.squares = np.pad(self.squares, (0, K - len(self.squares)))
        if self.survey and rows.weight is not None:
            with np.errstate(over="ignore"):  # refused in `ledger_by_fold`
                self.squares += np.bincount(codes, weights=rows.weight**2, minlength=K)
        parts = self._summarise_blocks(rows, codes, K)
        if self.sums is not None:  # classes that were met later are empty so far
            sums = (a if a.n_classes == K else a.map_classes(np.arange(a.n_classes), K) for a in self.sums)
            parts = [a + b for a, b in zip(sums, parts)]
        self.sums = parts
        for counter, (documents,) in zip(self.word_counters, rows.columns[len(parts) :], strict=True):
            counter.count(documents, codes, rows.weight, engines.thread_count(self.n_jobs))
        cells = sum(a.size for part in parts for a in part.arrays().values())
        cells += sum(counter.size for counter in self.word_counters)
        if self.n_folds > 1 and cells > MAX_FOLD_CELLS:
            self._pool_folds()

    def _summarise_blocks(self, rows: Rows, codes: NDArray[np.int32], n_classes: int) -> list[Statistic]:
        """Return a statistic for each block, its columns counted one by one, in parallel.

        For few rows several columns are counted at a time. Texts are counted separately.
        """
        groups = [group for group in self.layout.blocks if group.kind != "bags"]
        steps = len(codes) * sum(len(features) for _, features in groups)
        jobs = [
            (need, features, columns)
            for need, group, block in zip(self.needs, groups, rows.columns)
            for features, columns in _split_into_jobs(group, block, len(codes))
        ]

        def summarise(job: tuple[Needs, Sequence[Feature], Sequence[NDArray[Any]]]) -> Statistic:
            need, features, columns = job
            if need.kind == "counts":  # negative values of an open column, found by its grid, rule out the role count
                columns = [np.maximum(c, 0.0) if f.role == "countable" else c for f, c in zip(features, columns)]
            try:
                X = stack_columns(columns) if len(columns) > 1 else columns[0].reshape(-1, 1)
                with engines.part_of_work(steps):
                    return engines.summarise(need, X, codes, rows.weight, n_classes, 1)
            except engines.InvalidValueError as bad:
                describe = partial(_describe_invalid_value, bad, features[bad.column].column)
                raise RowError(describe, int(rows.number[bad.row])) from None
            except engines.TooLargeError:
                raise _too_large_error(columns, features) from None

        done = iter(engines.map_small_items(summarise, jobs, engines.thread_count(self.n_jobs)))
        return [
            concatenate_features([next(done) for _ in _split_into_jobs(group, group.features, len(codes))])
            for group in groups
        ]

    def _pool_folds(self) -> None:
        """Add up the statistics of all folds in place, as if there were one fold."""
        assert self.sums is not None
        F = self.n_folds
        K = len(self.rows) // F  # the next block, which is read ahead, may have added classes
        for counter in self.word_counters:
            counter.merge_classes(np.repeat(np.arange(K, dtype=np.int32), F))
        self.sums = [
            reduce(lambda a, b: a + b, (p.take_classes(np.arange(f, K * F, F)) for f in range(F))) for p in self.sums
        ]
        self.rows, self.squares = (sums.reshape(K, F).sum(axis=1) for sums in (self.rows, self.squares))
        self.n_folds = 1

    def origin(self) -> Origin:
        """Return the origin of a model of these rows, without the time and the name of the source."""
        counts, learned = (self.n_read, self.n_without_class), LearnedRows.of(self.hasher.hashes)
        return Origin(*counts, markers=self.marker_counts, extremes=self.extremes, learned=learned)

    @cached_property
    def total_and_folds(self) -> tuple[Ledger, list[Ledger]]:
        """The ledger of all rows, and that of each fold; classes and levels are sorted.

        Classes and levels of rows without weight only are left out.
        """
        ledger = self.ledger_by_fold()
        if ledger is None:
            raise InputError(describe_empty_table(self.n_read, self.n_without_class, self.target, self.weights))
        return split_joined_folds(ledger, self.n_folds)

    def ledger_by_fold(self) -> Ledger | None:
        """Return the ledger in which class and fold are one label (`join_fold`); None where no row was counted.

        It can be requested once: the counters of words are emptied.
        """
        if self.sums is None:
            return None
        F, weight = self.n_folds, self.rows.reshape(-1, self.n_folds).sum(axis=1)
        known = [k for k, w in enumerate(weight) if w > 0 or self.declared is not None]
        names = {self.classes.list[k]: k for k in known}
        labels = sort_classes(names)
        index = np.array([names[label] * F + f for label in labels for f in range(F)], dtype=np.intp)
        if self.survey and not (np.isfinite(self.squares) & (self.squares > 0))[self.rows > 0].all():
            raise InputError(f"survey weights of {self.weights!r} have squares beyond a double. Hint: rescale them")
        texts = []
        while self.word_counters:
            vocabulary, bags = self.word_counters.pop(0).bags(len(self.rows))  # frees the counter's memory
            is_ordered = np.array_equal(index, np.arange(bags.n_classes))
            texts.append((vocabulary, bags if is_ordered else bags.take_classes(index)))
        ranks, dense = self.level_ranks(), [part.take_classes(index) for part in self.sums]
        if (levels := self.layout.block_index("levels")) is not None:
            dense[levels] = dense[levels].map_levels(ranks, [int((rank >= 0).sum()) for rank in ranks])
        schema = self._make_schema([join_fold(str(label), f) for label in labels for f in range(F)], texts)
        squares = self.squares[index] if self.survey else None
        return Ledger(schema, self.rows[index], (*dense, *(bags for _, bags in texts)), squares)  # type: ignore[arg-type]

    def _list_levels(self) -> list[list[str]]:
        """Return the sorted names of the levels that have any weight, for each feature that has levels."""
        block = self.layout.block_index("levels")
        if block is None or self.sums is None:
            return []
        part: Any = self.sums[block]
        tables = zip(self.matrices.names, part.tables())
        return [sorted(names.list[v] for v in np.flatnonzero(table.any(axis=0)).tolist()) for names, table in tables]

    def level_ranks(self) -> list[NDArray[np.intp]]:
        """Return the rank of each level among the sorted names, −1 for one that is left out."""
        ranks = [{name: v for v, name in enumerate(names)} for names in self._list_levels()]
        return [
            np.array([rank.get(name, -1) for name in names.list], dtype=np.intp)
            for rank, names in zip(ranks, self.matrices.names)
        ]

    def _make_schema(self, classes: Sequence[str], texts: Sequence[tuple[Vocabulary | None, Bags]]) -> Schema:
        """Return the schema of the ledgers."""
        levels = tuple(tuple(names) for names in self._list_levels())
        dense = []
        for need, (kind, features) in zip(self.needs, self.layout.blocks[: len(self.needs) - len(texts)]):
            names = tuple(feature.name for feature in features)
            dense.append(Block(kind, len(names), names, levels if kind == "levels" else None, need.reading))
        words = zip(self.needs[len(dense) :], texts)
        bags = (Block("bags", part.n_features, names, None, need.reading) for need, (names, part) in words)
        return Schema(tuple(classes), (*dense, *bags))


def describe_empty_table(n_read: int, n_without_class: int, target: str, weights: str | None) -> str:
    """Return the message about a table of which no row can be learned."""
    if not n_read:
        return "the table has no rows. Hint: a header alone is not enough to learn from"
    if n_without_class < n_read:
        return f"every row has the weight 0 in {weights!r}, so there is nothing to learn from"
    found = "the only row has no" if n_read == 1 else f"none of the {n_read} rows has a"
    return f"{found} value in {target!r}, so there is nothing to learn from"


def _split_into_jobs(
    group: FeatureBlock, columns: Sequence[Any], n_rows: int
) -> list[tuple[Sequence[Feature], Sequence[Any]]]:
    """Split features and columns of a block into jobs of `MIN_CELLS_PER_JOB` cells; scatter and pairs are one job."""
    width = len(columns) if group.kind in ("scatter", "pairs") else max(1, MIN_CELLS_PER_JOB // max(1, n_rows))
    return [(group.features[j : j + width], columns[j : j + width]) for j in range(0, len(columns), width)]


def read_times(dates: Any, name: str) -> Array:
    """Return the dates of a column as µs since 1970, NaN where one is missing."""
    return to_numbers(parse_dates(dates, name), name)


def choose_label_readings(target: str, weights: str | None) -> dict[str, ColumnReading]:
    """Return how the target is read, and the column of weights if there is one."""
    return {target: "label"} if weights is None else {target: "label", weights: "number"}


def row_weights(batches: Sequence[Any], name: str, first: int) -> Array:
    """Return the weights of rows, 0 where one is missing; refuse one that is negative or infinite.

    `first` is the number of rows before these, by which the message names the row.
    """
    given = np.concatenate([to_numbers(batch.column(name), name) for batch in batches])
    weight = np.where(np.isnan(given), 0.0, given)
    valid = np.isfinite(weight) & (weight >= 0)
    if not valid.all():
        at = int(np.argmin(valid))
        raise InputError(
            f"column {name!r} holds {weight[at]:g} in row {first + at + 1}; a weight is finite and ≥ 0. "
            f"Hint: correct that row, or leave the weights out"
        )
    return weight


def _describe_invalid_value(bad: engines.InvalidValueError, column: str, row: int) -> str:
    """Return the message about an invalid value, with its column, its row in the table, and a hint."""
    where = f"column {column!r} holds {bad.value:g} in row {row + 1}"
    if bad.rule == "negative":
        return f"{where}; a count is never negative. Hint: {role_hint(column, 'number')}"
    return f"{where}, which is not finite. Hint: {BAD_CELLS_HINT}, or {role_hint(column, 'skip')}"


def _too_large_error(columns: Sequence[NDArray[Any]], features: Sequence[Feature]) -> InputError:
    """Return the error of values whose squares overflow, with the column that has the largest."""
    largest = [float(np.nanmax(np.abs(column), initial=0.0)) for column in columns]
    at = int(np.argmax(largest))
    name = features[at].column
    return InputError(
        f"column {name!r} holds values as large as {largest[at]:g}, and their squares overflow (a double holds up to "
        f"1.8e308). Hint: rescale it, or {role_hint(name, 'skip')}"
    )
