"""From Arrow batches to the matrices of a model's blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban.errors import InputError, did_you_mean
from deciban.ledger import Vocabulary
from deciban.ledger.schema import Kind
from deciban.model.columns import Feature, Layout
from deciban.model.combinations import Combinations
from deciban.sources.arrow_cells import Names, date_part, numbers
from deciban.sources.prefetch import ahead
from deciban.sources.source import Reading, Source, as_role, block_rows, in_blocks
from deciban.text import Documents, Words
from deciban.text import matrix as word_matrix

CACHED_CELLS = 1 << 14

MANY_ROWS = 1 << 14
"""From so many rows on, columns are read side by side."""


@dataclass
class Matrices:
    """How a layout's blocks are filled: numbers as doubles, levels as codes by their names, texts by their words.

    Without `vocabularies`, one for each text (None where hashes stand for words), texts stay as they are.
    """

    layout: Layout
    names: Sequence[Names | Combinations]
    n_jobs: int | None = None
    words: Words = field(default_factory=Words)
    vocabularies: Sequence[Vocabulary | None] | None = None

    @classmethod
    def growing(cls, layout: Layout, known: Sequence[Sequence[str]] | None, n_jobs: int | None = None) -> Matrices:
        """For learning: level names are taken in as they come, after those that are known already."""
        before = known or [()] * len(layout.levels)
        first = [tuple(dict.fromkeys((*names, *f.fixed_levels))) for f, names in zip(layout.levels, before)]
        return cls(layout, level_names(layout, first, grows=True), n_jobs)

    def of(self, batches: Sequence[Any]) -> list[Any]:
        """One matrix for each block, of the rows of these batches."""
        return [matrix(columns) for columns in self.columns(batches)]

    def columns(self, batches: Sequence[Any]) -> list[list[Any]]:
        """The columns of each block; a number that stands in two blocks is read once."""
        groups = [group for group in self.layout.blocks if group.kind != "bags"]
        jobs = {(k == "levels", f.name): (k, j, f) for k, features in groups for j, f in enumerate(features)}

        def one(job: tuple[Kind, int, Feature]) -> NDArray[Any]:
            parts = [self._cells(*job, batch) for batch in batches]
            return parts[0] if len(parts) == 1 else np.concatenate(parts)

        threads = engines.thread_count(self.n_jobs) if sum(b.num_rows for b in batches) >= MANY_ROWS else 1
        read = dict(zip(jobs, engines.shared(one, jobs.values(), threads)))
        dense = [[read[kind == "levels", feature.name] for feature in features] for kind, features in groups]
        return [*dense, *([self._text(i, text, batches)] for i, text in enumerate(self.layout.texts))]

    def _text(self, i: int, feature: Feature, batches: Sequence[Any]) -> Any:
        """The documents of a column, or a row of words for each."""
        found = Documents.joined([documents_of(feature.column, batch) for batch in batches])
        if self.vocabularies is None:
            return found
        return word_matrix(self.words, self.vocabularies[i], found, engines.thread_count(self.n_jobs))

    def _cells(self, kind: Kind, j: int, feature: Feature, batch: Any) -> NDArray[Any]:
        if any(batch.schema.get_field_index(name) < 0 for name in feature.columns):  # may be absent: all is missing
            return np.full(batch.num_rows, -1) if kind == "levels" else np.full(batch.num_rows, np.nan)
        if feature.joined:
            return self.names[j].encode([batch.column(name) for name in feature.joined])
        array = batch.column(feature.column)
        if kind != "levels":
            return numbers(array, feature.column)
        if feature.part is not None:
            place = {name: v for v, name in enumerate(self.names[j].list)}  # names are sorted, or were forgotten
            where = [place.get(level, len(place)) for level in feature.fixed_levels]
            return np.array([*where, -1], dtype=np.int64)[date_part(array, feature.part, feature.column)]
        return self.names[j].encode(array)


def level_names(layout: Layout, known: Sequence[Sequence[str]], grows: bool = False) -> list[Names | Combinations]:
    """The names of each feature's levels, by which its cells become codes."""
    return [
        Combinations(len(feature.joined), names, grows) if feature.joined else Names(names, grows)
        for feature, names in zip(layout.levels, known, strict=True)
    ]


def documents_of(name: str, batch: Any) -> Documents:
    """The texts of a column; a column that is absent, which is allowed when asking, has none."""
    if batch.schema.get_field_index(name) < 0:
        return Documents([None] * batch.num_rows)
    try:
        return Documents.of(batch.column(name))
    except InputError as error:
        raise InputError(f"column {name!r} cannot be read as text: {error}; or {as_role(name, 'category')}") from None


def matrix(columns: Sequence[Any]) -> Any:
    """Columns side by side, some rows at a time, so that those being written stay in the cache."""
    if not isinstance(columns[0], np.ndarray):  # a text by its words, which is a matrix already
        return columns[0]
    out = np.empty((len(columns[0]), len(columns)), dtype=columns[0].dtype)
    step = max(256, CACHED_CELLS // len(columns))
    for start in range(0, len(out), step):
        for j, column in enumerate(columns):
            out[start : start + step, j] = column[start : start + step]
    return out


def checked(source: Source, wanted: Mapping[str, Reading], allow_missing: bool) -> dict[str, Reading]:
    """The wanted columns that the source has; refused where it lacks one, unless that is allowed."""
    have = set(source.columns)
    absent = [name for name in wanted if name not in have]
    if absent and not allow_missing:
        more = f" (nor {len(absent) - 1} others)" if len(absent) > 1 else ""
        raise InputError(
            f"{source.name} has no column {absent[0]!r}{more}, which the model asks for"
            f"{did_you_mean(absent[0], source.columns)}. "
            f"Hint: --allow-missing-columns (allow_missing_columns=True) treats it as missing"
        )
    return {name: reading for name, reading in wanted.items() if name in have}


def row_blocks(source: Source, wanted: Mapping[str, Reading], layout: Layout) -> Iterator[list[Any]]:
    """All rows in blocks of a size that the layout alone decides; of long texts fewer go into one."""
    if not wanted:
        wanted = {next(iter(source.columns)): "text"}  # rows are rows, even if nothing in them matters
    texts = [feature.column for feature in layout.texts]
    blocks = in_blocks(source.batches(wanted), block_rows(len(layout.all_features())), texts)
    return ahead(blocks, most=1 if texts else 2)
