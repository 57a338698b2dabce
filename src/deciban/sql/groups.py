"""Groups of rows that a database has counted: their classes, their cells, and statistics made of them.

A group is a row with the weight of all its rows, so that the encoders and engines of rows count groups too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban._lazy import pa
from deciban._typing import Array
from deciban.errors import InputError
from deciban.ledger import Needs, Statistic
from deciban.ledger.extremes import Extremes
from deciban.model.model_options import Options
from deciban.model.summarise_table import TableSummariser
from deciban.sources.arrow_cells import to_numbers
from deciban.sources.arrow_types import is_text
from deciban.sources.databases.tables import DatabaseTable
from deciban.sources.markers import WithoutMarkers, remove_markers
from deciban.sources.source import ColumnReading
from deciban.sql import statements
from deciban.sql.statements import CLASS, MAX_SELECTED, LabelledTable

MAX_LABEL_SHARE, MIN_LABEL_ROWS = 0.5, 50
"""The share of distinct values among so many rows or more up to which a column can be the target."""


@dataclass
class GroupReader:
    """The reading of groups of a labelled table into the classes and statistics of its summariser."""

    summariser: TableSummariser
    source: WithoutMarkers
    options: Options
    rows: LabelledTable = field(init=False)
    markers: dict[str, Counter[str]] = field(default_factory=dict)
    n_labels: int = 0
    """The number of different values of the target in the database."""

    def __post_init__(self) -> None:
        assert isinstance(self.source.source, DatabaseTable)
        self.rows = LabelledTable(self.source.source, self.summariser.target, self.summariser.weights)

    def count_classes(self) -> None:
        """Count the rows of each class, and of none."""
        read = self.rows.table.driver.read(statements.count_classes(self.rows))
        n, weight = (doubles(read.column(each)) for each in ("n", "weight"))
        if self.rows.weights is not None and doubles(read.column("invalid")).sum():
            raise InputError(
                f"column {self.rows.weights!r} holds weights that are negative or infinite, in "
                f"{doubles(read.column('invalid')).sum():g} rows; a weight is finite and ≥ 0. "
                f"Hint: correct these rows, leave them out by where=, or leave the weights out"
            )
        labels = self.remove_markers(self.summariser.target, read.column(CLASS), n, "text")
        codes, self.n_labels = self._encode_classes(labels), len(labels)
        self.summariser.n_read = int(n.sum())
        self.summariser.n_without_class = int(n[codes < 0].sum())
        learned = n if self.rows.weights is None else doubles(read.column("learned"))
        self.summariser.n_learned = int(learned[codes >= 0].sum())
        self._check_labels(len(self.summariser.classes), self.summariser.n_learned)
        if self.summariser.n_learned:
            known = codes >= 0
            classes = len(self.summariser.classes)
            self.summariser.rows = np.bincount(codes[known], weight[known], classes).astype(np.float64)

    def _check_labels(self, distinct: int, n: int) -> None:
        if n >= MIN_LABEL_ROWS and distinct > MAX_LABEL_SHARE * n:
            raise InputError(
                f"column {self.summariser.target!r} has {distinct} different values in {n} rows, so it names no "
                f"classes. Hint: another target; a quantity can be cut into classes first"
            )

    def _encode_classes(self, labels: Any) -> NDArray[np.int64]:
        """Return the code of each label, −1 where it is missing; refuse one that is not among declared classes."""
        codes = self.summariser.classes.encode(labels)
        declared = self.summariser.declared
        if declared is not None and (codes == len(declared)).any():
            label = labels[int(np.argmax(codes == len(declared)))].as_py()
            raise InputError(
                f"column {self.summariser.target!r} holds {label!r}, which is none of the classes {list(declared)}. "
                f"Hint: name it among the classes, or leave such rows out"
            )
        return codes

    def class_codes(self, read: Any) -> NDArray[np.int64]:
        """Return the code of the class of each group, −1 for rows without one."""
        labels = self.remove_markers(self.summariser.target, read.column(CLASS), None, "text")
        return self._encode_classes(labels)

    def remove_markers(self, name: str, cells: Any, n: Array | None, reading: ColumnReading) -> Any:
        """Return cells of a column as rows are read; markers are missing, counted by the rows `n` of each cell."""
        column = self.rows.table.convert(join_chunks(cells), name, reading)
        if not is_text(column.type):
            return column
        kept = self.source.kept.get(name, ())
        wanted = [marker for marker in self.source.markers if marker not in kept]
        changed, found = remove_markers(column, wanted)
        if found and n is not None:
            texts, counts = column.to_pylist(), self.markers.setdefault(name, Counter())
            for text, rows in zip(texts, n.tolist()):
                if text in found:
                    counts[text] += int(rows)
        return changed

    def summarise(self, need: Needs, values: NDArray[Any], codes: NDArray[np.int64], weight: Array) -> Statistic:
        """Return the statistic of one feature, from its values with the weight of the rows that have each."""
        known = (codes >= 0) & (weight > 0)
        X, k = values[known].reshape(-1, 1), codes[known].astype(np.int32)
        return engines.summarise(need, X, k, weight[known], len(self.summariser.classes), 1)


def join_extremes(a: Extremes, b: Extremes) -> Extremes:
    """Return the extremes of the columns of two."""
    arrays: Collection[Callable[[Extremes], Array]] = (lambda e: e.value, lambda e: e.rows, lambda e: e.limit)
    return Extremes((*a.names, *b.names), *(np.concatenate([get(a), get(b)], axis=1) for get in arrays))


def chunks(names: Sequence[str], n_expressions: int) -> Iterator[Sequence[str]]:
    """Yield runs of names for each of which one statement can select so many expressions."""
    size = max(1, MAX_SELECTED // n_expressions)
    return (names[i : i + size] for i in range(0, len(names), size))


def join_chunks(column: Any) -> Any:
    """Return a column of a table as one array."""
    joined = column.combine_chunks()
    return joined if isinstance(joined, pa.Array) else pa.concat_arrays(joined.chunks or [pa.nulls(0, joined.type)])


def doubles(column: Any, missing: float | None = None) -> Array:
    """Return a column as doubles; NULL as NaN, or as `missing`."""
    array = join_chunks(column)
    values = to_numbers(array, "")
    if missing is not None and array.null_count:
        values = np.where(np.asarray(array.is_null()), missing, values)
    return values


def merge_classes(part: Any, codes: NDArray[np.int64], n_classes: int) -> Any:
    """Return a statistic by class, from one whose rows are of the classes of these codes; −1 is left out.

    Two values of the database may be one class, such as a text with and without a space at its end.
    """
    merged = part.take_classes(np.zeros(n_classes, dtype=np.intp)) * 0.0
    left = np.flatnonzero(codes >= 0)
    while len(left):
        _, first = np.unique(codes[left], return_index=True)
        rows = left[first]
        merged = merged + part.take_classes(rows).map_classes(codes[rows], n_classes)
        left = np.setdiff1d(left, rows)
    return merged
