"""Groups of rows that a database has counted: their classes, their cells, and statistics made of them.

A group is a row with the weight of all its rows, so that the encoders and engines of rows count groups too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban._lazy import pa
from deciban._typing import Array
from deciban.errors import InputError, list_names
from deciban.formatting import format_count
from deciban.ledger import Needs, Statistic
from deciban.ledger.extremes import Extremes
from deciban.model.columns import check_distinct_labels
from deciban.model.model_options import Options
from deciban.model.summarise_table import TableSummariser
from deciban.sources.arrow_cells import to_numbers
from deciban.sources.arrow_types import is_text
from deciban.sources.databases.tables import DatabaseTable
from deciban.sources.markers import WithoutMarkers, remove_markers
from deciban.sources.source import ColumnReading
from deciban.sql import statements
from deciban.sql.statements import CLASS, MAX_SELECTED, LabelledTable


@dataclass
class GroupReader:
    """Reads the groups that a database counted into the classes and statistics of the table's summariser.

    `rows` is the table in the database, `source` its view without markers of missing values.
    `markers` counts the cells of each column that a marker of missing values made missing.
    """

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
        """Query the rows and the weight of each class, and of rows without one, and write them to the summariser.

        InputError for invalid weights, for a label that is not a declared class, and for too many classes.
        """
        read = self.rows.table.driver.read(statements.count_classes(self.rows))
        n, weight = (to_doubles(read.column(each)) for each in ("n", "weight"))
        n_invalid = 0 if self.rows.weights is None else int(to_doubles(read.column("invalid")).sum())
        if n_invalid:
            raise InputError(
                f"column {self.rows.weights!r} holds weights that are negative or infinite, in "
                f"{format_count(n_invalid, 'row')}; a weight is finite and ≥ 0. "
                f"Hint: correct these rows, leave them out by --where (where=), or leave the weights out"
            )
        labels = self.remove_markers(self.summariser.target, read.column(CLASS), n, "text")
        codes, self.n_labels = self._encode_classes(labels), len(labels)
        self.summariser.n_read = int(n.sum())
        self.summariser.n_without_class = int(n[codes < 0].sum())
        learned = n if self.rows.weights is None else to_doubles(read.column("learned"))
        self.summariser.n_learned = int(learned[codes >= 0].sum())
        check_distinct_labels(self.summariser.target, len(self.summariser.classes), self.summariser.n_learned)
        if self.summariser.n_learned:
            known = codes >= 0
            classes = len(self.summariser.classes)
            self.summariser.rows = np.bincount(codes[known], weight[known], classes).astype(np.float64)

    def _encode_classes(self, labels: Any) -> NDArray[np.int64]:
        """Return the code of each label, −1 for a missing one; new labels become classes, unless these are declared.

        InputError for a label that is not among declared classes.
        """
        codes = self.summariser.classes.encode(labels)
        declared = self.summariser.declared
        if declared is not None and (codes == len(declared)).any():
            label = labels[int(np.argmax(codes == len(declared)))].as_py()
            raise InputError(
                f"column {self.summariser.target!r} holds {label!r}, which is none of the classes: "
                f"{list_names([str(name) for name in declared])}. "
                f"Hint: name it among the classes, or leave such rows out"
            )
        return codes

    def encode_group_classes(self, read: Any) -> NDArray[np.int64]:
        """Return the class code of each group in a table that a database returned, −1 for rows without a class."""
        labels = self.remove_markers(self.summariser.target, read.column(CLASS), None, "text")
        return self._encode_classes(labels)

    def remove_markers(self, name: str, cells: Any, n: Array | None, reading: ColumnReading) -> Any:
        """Convert cells as those of rows are read, markers to nulls.

        `n` are the rows of each cell; those of markers are added to `self.markers`, unless `n` is None.
        """
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
        """Return the statistic of one feature from the value, class code and total weight of each group."""
        known = (codes >= 0) & (weight > 0)
        X, k = values[known].reshape(-1, 1), codes[known].astype(np.int32)
        return engines.summarise(need, X, k, weight[known], len(self.summariser.classes), 1)


def join_extremes(a: Extremes, b: Extremes) -> Extremes:
    """Return the extremes of the columns of a and then of those of b, which have other names."""
    pairs: Any = ((a.value, b.value), (a.rows, b.rows), (a.limit, b.limit))
    return Extremes((*a.names, *b.names), *(np.concatenate(pair, axis=1) for pair in pairs))


def split_names(names: Sequence[str], n_expressions: int) -> Iterator[Sequence[str]]:
    """Yield the names in runs so short that one statement can select `n_expressions` of each name."""
    size = max(1, MAX_SELECTED // n_expressions)
    return (names[i : i + size] for i in range(0, len(names), size))


def join_chunks(column: Any) -> Any:
    """Return a chunked column of an Arrow table as one array."""
    joined = column.combine_chunks()
    return joined if isinstance(joined, pa.Array) else pa.concat_arrays(joined.chunks or [pa.nulls(0, joined.type)])


def to_doubles(column: Any, missing: float | None = None) -> Array:
    """Convert an Arrow column to an array of doubles; NULL becomes NaN, or `missing`."""
    array = join_chunks(column)
    values = to_numbers(array, "")
    if missing is not None and array.null_count:
        values = np.where(np.asarray(array.is_null()), missing, values)
    return values


def merge_classes(part: Any, codes: NDArray[np.int64], n_classes: int) -> Any:
    """Sum the rows of a statistic that have the same class code, to one of `n_classes` rows; −1 is left out.

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
