"""From Arrow batches to the matrices of a model's blocks of features, some rows at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban._lazy import pa, pc
from deciban.errors import InputError, did_you_mean
from deciban.formatting import format_count
from deciban.ledger import Vocabulary
from deciban.ledger.schema import Kind
from deciban.model.columns import Combinations, Feature, Layout
from deciban.sources.arrow_cells import LevelEncoder, extract_date_part, to_numbers
from deciban.sources.arrow_texts import replace_nulls
from deciban.sources.arrow_types import is_text
from deciban.sources.cell_conversion import BAD_CELLS_HINT, read_converted
from deciban.sources.new_formats import adapt_readings
from deciban.sources.source import ColumnReading, Source, role_hint
from deciban.text import Documents, Words, build_word_matrix

T = TypeVar("T")

TABLE_BLOCK_CELLS = 1 << 23
"""Rows are summarised in blocks of about this many cells, whatever the source: every source gives the same bits."""

TEXT_BLOCK_BYTES = 1 << 24
"""Texts are summarised in blocks of about this many bytes; a single text may be longer."""

MAX_BLOCK_ROWS, MIN_BLOCK_ROWS = 1 << 18, 1 << 12
"""The greatest and the least number of rows of a block."""

TILE_CELLS = 1 << 14
"""Cells of a matrix that are written at a time, so that they stay in the cache."""

MIN_PARALLEL_ROWS = 1 << 14
"""Number of rows from which on columns are converted in parallel."""


@dataclass
class Matrices:
    """The conversion of rows to the matrices of blocks: numbers as doubles, levels as codes, texts as words.

    Without `vocabularies`, one for each text (None where words are hashed), texts are not converted.
    """

    layout: Layout
    names: Sequence[LevelEncoder | Combinations]
    n_jobs: int | None = None
    words: Words = field(default_factory=Words)
    vocabularies: Sequence[Vocabulary | None] | None = None

    @classmethod
    def for_levels(
        cls, layout: Layout, known: Sequence[Sequence[str]], grows: bool = False, **options: Any
    ) -> Matrices:
        """Return a conversion with these names of levels, to which new ones are added where it `grows`."""
        names = [
            Combinations(feature.joined, names, grows)
            if feature.joined
            else LevelEncoder(names, grows, feature.column)
            for feature, names in zip(layout.levels, known, strict=True)
        ]
        return cls(layout, names, **options)

    def convert(self, batches: Sequence[Any]) -> list[Any]:
        """Return one matrix for each block, of the rows of these batches."""
        return [stack_columns(columns) for columns in self.columns(batches)]

    def columns(self, batches: Sequence[Any]) -> list[list[Any]]:
        """Return the columns of each block; a number that is in two blocks is converted once."""
        groups = [group for group in self.layout.blocks if group.kind not in ("pairs", "bags")]
        jobs = {(k == "levels", f.name): (k, j, f) for k, features in groups for j, f in enumerate(features)}

        def one(job: tuple[Kind, int, Feature]) -> NDArray[Any]:
            parts = [self._cells(*job, batch) for batch in batches]
            return parts[0] if len(parts) == 1 else np.concatenate(parts)

        threads = engines.thread_count(self.n_jobs) if sum(b.num_rows for b in batches) >= MIN_PARALLEL_ROWS else 1
        read = dict(zip(jobs, engines.map_small_items(one, jobs.values(), threads)))
        dense = [[read[kind == "levels", feature.name] for feature in features] for kind, features in groups]
        paired = [group.features for group in self.layout.blocks if group.kind == "pairs"]
        dense += [[self._find_cells(feature, read) for feature in features] for features in paired]
        return [*dense, *([self._convert_text(i, text, batches)] for i, text in enumerate(self.layout.texts))]

    def _find_cells(self, feature: Feature, read: Mapping[tuple[bool, str], NDArray[Any]]) -> NDArray[np.int16]:
        """Return the cell of each row's number or level, −1 for a missing or unseen one; see `Column.cells`."""
        cells, codes = self.layout.cells[feature.column], read.get((True, feature.name))
        if codes is None:
            numbers = read[False, feature.name]
            found = np.zeros(len(numbers), dtype=np.int16)
            for cut in cells:  # of few cuts faster than a search
                found += numbers >= cut
            return np.where(np.isnan(numbers), np.int16(-1), found)
        place = {name: v for v, name in enumerate(cells)}
        names = next(names for own, names in zip(self.layout.levels, self.names) if own.name == feature.name)
        of_code = [place.get(name, len(cells)) for name in names.list]
        return np.array([*of_code, -1, -1], dtype=np.int16)[codes]

    def _convert_text(self, i: int, feature: Feature, batches: Sequence[Any]) -> Any:
        """Return the documents of a column, or with vocabularies the matrix of their words."""
        documents = Documents.concatenate([read_documents(feature.column, batch) for batch in batches])
        if self.vocabularies is None:
            return documents
        return build_word_matrix(self.words, self.vocabularies[i], documents, engines.thread_count(self.n_jobs))

    def _cells(self, kind: Kind, j: int, feature: Feature, batch: Any) -> NDArray[Any]:
        """Return the cells of feature j of a block: codes of levels (−1 is missing) or doubles (NaN is)."""
        if any(batch.schema.get_field_index(name) < 0 for name in feature.columns):  # may be absent: all is missing
            return np.full(batch.num_rows, -1) if kind == "levels" else np.full(batch.num_rows, np.nan)
        if feature.joined:
            return self.names[j].encode([batch.column(name) for name in feature.joined])
        array = batch.column(feature.column)
        if kind != "levels":
            return to_numbers(array, feature.column)
        if feature.part is not None:
            code = {name: v for v, name in enumerate(self.names[j].list)}  # names are sorted, or were forgotten
            codes = [code.get(level, len(code)) for level in feature.fixed_levels]
            return np.array([*codes, -1], dtype=np.int64)[extract_date_part(array, feature.part, feature.column)]
        return self.names[j].encode(array)


def read_documents(name: str, batch: Any) -> Documents:
    """Return the texts of a column, all missing where it is absent; InputError if its values are not texts."""
    if batch.schema.get_field_index(name) < 0:
        return Documents([None] * batch.num_rows)
    try:
        return Documents.of(batch.column(name))
    except InputError as error:
        raise InputError(
            f"column {name!r} cannot be read as text: {error}; or {role_hint(name, 'category')}"
        ) from None


def stack_columns(columns: Sequence[Any]) -> Any:
    """Return columns as one matrix; the words of a text, which are a matrix already, are returned as they are.

    Some rows are written at a time, so that they stay in the cache.
    """
    if not isinstance(columns[0], np.ndarray):  # a text by its words, which is a matrix already
        return columns[0]
    out = np.empty((len(columns[0]), len(columns)), dtype=columns[0].dtype)
    step = max(256, TILE_CELLS // len(columns))
    for start in range(0, len(out), step):
        for j, column in enumerate(columns):
            out[start : start + step, j] = column[start : start + step]
    return out


def stack_rows(parts: Sequence[Any]) -> Any:
    """Return the rows of arrays, or of sparse matrices, one below the other."""
    if not engines.is_sparse(parts[0]):
        return np.concatenate(parts)
    from scipy.sparse import csr_array, vstack

    return parts[0] if len(parts) == 1 else csr_array(vstack(parts, format="csr"))


def check_columns(source: Source, layout: Layout, allow_missing: bool) -> dict[str, ColumnReading]:
    """Return the columns of a layout that the source has, read as their cells are written (`adapt_readings`).

    A source without one of them is refused, unless that is allowed.
    """
    wanted, present = layout.readings(), set(source.columns)
    absent = [name for name in wanted if name not in present]
    if absent and not allow_missing:
        more = f" (nor {format_count(len(absent) - 1, 'other')})" if len(absent) > 1 else ""
        raise InputError(
            f"{source.name} has no column {absent[0]!r}{more}, which the model needs"
            f"{did_you_mean(absent[0], source.columns) or '.'} "
            f"Hint: --allow-missing-columns (allow_missing_columns=True) treats it as missing"
        )
    flags = {column.name for column in layout.columns if column.role == "flag" and column.numeric}
    return adapt_readings(source, {name: how for name, how in wanted.items() if name in present}, flags)


def invalid_cell_error(bad: engines.InvalidValueError, layout: Layout, parts: Sequence[Any]) -> Exception:
    """Return an error that names the column of an invalid value; the given one where the column is not found."""
    for (_, features), X in zip(layout.blocks, parts):
        if bad.column < len(features) and X[bad.row, bad.column] == bad.value:
            rule = "negative" if bad.rule == "negative" else "not finite"
            return InputError(
                f"column {features[bad.column].name!r} holds {bad.value:g}, which is {rule}. Hint: {BAD_CELLS_HINT}"
            )
    return bad


def row_blocks(source: Source, wanted: Mapping[str, ColumnReading], layout: Layout) -> Iterator[list[Any]]:
    """Yield all rows in blocks, each a list of batches; a thread reads ahead.

    The number of rows of a block depends on the number of features; long texts end it early.
    """
    if not wanted:
        wanted = {next(iter(source.columns)): "text"}  # rows are counted even if no column is used
    texts = [feature.column for feature in layout.texts]
    n_wanted = TABLE_BLOCK_CELLS // max(1, len(layout.features_by_block()))
    n_rows = min(MAX_BLOCK_ROWS, max(MIN_BLOCK_ROWS, 1 << (n_wanted.bit_length() - 1)))  # a power of two
    counts = [column.name for column in layout.columns if column.role == "count"]
    blocks = split_into_blocks(read_converted(source, wanted, counts), n_rows, texts)
    return prefetch(blocks, max_ahead=1 if texts else 2)


def split_into_blocks(
    batches: Iterator[pa.RecordBatch], size: int, texts: Sequence[str] = ()
) -> Iterator[list[pa.RecordBatch]]:
    """Yield the rows in blocks of one size, each a list of slices of the batches, without copying.

    A block ends early with the row at which its `texts`, columns of long texts, reach `TEXT_BLOCK_BYTES`.
    """
    block: list[pa.RecordBatch] = []
    n_free, left = size, TEXT_BLOCK_BYTES
    for batch in batches:
        ends = _sum_text_bytes(batch, texts)
        at = 0
        while at < batch.num_rows:
            n = min(n_free, batch.num_rows - at)
            if ends is not None:
                n = min(n, int(ends.searchsorted(ends[at] + left)) - at)
                left -= int(ends[at + n] - ends[at])
            block.append(batch.slice(at, n))
            n_free, at = n_free - n, at + n
            if not n_free or left <= 0:
                yield block
                block, n_free, left = [], size, TEXT_BLOCK_BYTES
    if block:
        yield block


def _sum_text_bytes(batch: pa.RecordBatch, texts: Sequence[str]) -> Any:
    """Return the bytes of the columns `texts` before each row, and before the end; None if none is there."""
    here = [batch.column(name) for name in texts if batch.schema.get_field_index(name) >= 0]
    if not here:
        return None
    ends = np.zeros(batch.num_rows + 1, dtype=np.int64)
    np.cumsum(sum(_count_text_bytes(column) for column in here), out=ends[1:])
    return ends


def _count_text_bytes(column: Any) -> Any:
    """Return the number of bytes of each text; 0 where it is missing, and for values that are not texts."""
    kind, types = column.type, pa.types
    if types.is_dictionary(kind):
        return np.append(_count_text_bytes(column.dictionary), 0)[replace_nulls(column.indices.cast(pa.int64()), -1)]
    if types.is_string_view(kind) or types.is_binary_view(kind):
        column = column.cast(pa.large_binary())
    elif not (is_text(kind) or types.is_binary(kind) or types.is_large_binary(kind)):
        return np.zeros(len(column), dtype=np.int64)
    return replace_nulls(pc.binary_length(column), 0).astype(np.int64)


def prefetch(items: Iterator[T], max_ahead: int = 2) -> Iterator[T]:
    """Yield items in order while a thread fetches the next, at most `max_ahead`; errors keep their place.

    The thread has the caller's context variables. Where one thread is all that may be used, there is no other.
    """
    if engines.thread_count(None) == 1:
        yield from items
        return
    end: Any = object()
    pool, fetch = ThreadPoolExecutor(1), partial(copy_context().run, next, items, end)
    try:
        pending = deque(pool.submit(fetch) for _ in range(max_ahead))
        while (item := pending.popleft().result()) is not end:
            pending.append(pool.submit(fetch))
            yield item
    finally:
        pool.shutdown(cancel_futures=True)
