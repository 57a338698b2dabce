"""Tables of SQLite files, read a batch at a time without changing the file; each cell has a type of its own."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from deciban._lazy import pa
from deciban.errors import InputError
from deciban.sources.database import quote_name
from deciban.sources.markers import MarkerCounts
from deciban.sources.source import ColumnReading, FileOptions, FileSource, choose_table, error_summary, quote_path
from deciban.sources.typed_cells import convert_columns, to_column

MAGIC = b"SQLite format 3\0"
"""The first bytes of a SQLite file."""

CELLS_PER_BATCH = 1 << 19
"""Cells that are held as Python values at a time."""

LIST_TABLES = (
    "select name from sqlite_master where type in ('table', 'view') and name not like 'sqlite\\_%' escape '\\'"
)


@dataclass(frozen=True)
class SqliteTable(FileSource):
    """A table or view of one SQLite file, or of several with the same columns.

    SQLite files have types of cells, not of columns: texts that are numbers are read as these, as in CSV files.
    """

    columns: Sequence[str]
    table: str
    number_markers: MarkerCounts = field(default_factory=dict)
    n_rows: int | None = None
    typed = False

    @classmethod
    def open(cls, paths: Sequence[str], options: FileOptions, form: str) -> Self:
        """Find the table and its columns; an InputError lists the tables where none is chosen, or if files differ."""
        found: list[tuple[str, list[str]]] = []
        for path in paths:
            with _connect(path) as connection:
                names = [name for (name,) in connection.execute(LIST_TABLES)]
                table = choose_table(quote_path(path), "table", options.table, names)
                cursor = connection.execute(f"select * from {quote_name(table)} limit 0")
                found.append((table, [column[0] for column in cursor.description]))
        cls.check_alike(paths, found, "another table or other columns")
        return cls(paths, found[0][1], found[0][0])

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        rows: list[Sequence[Any]] = []
        for path in self.paths:
            with _connect(path) as connection:
                rows += connection.execute(f"select * from {quote_name(self.table)} limit {n - len(rows)}")
        columns = [to_column(values) for values in zip(*rows)] or [pa.nulls(0) for _ in self.columns]
        return pa.Table.from_arrays(columns, names=list(self.columns))

    def batches(self, wanted: Mapping[str, ColumnReading]) -> Iterator[pa.RecordBatch]:
        """See `Source.batches`."""
        names = ", ".join(map(quote_name, wanted))
        for path in self.paths:
            with _connect(path) as connection:
                cursor = connection.execute(f"select {names} from {quote_name(self.table)}")
                while rows := cursor.fetchmany(max(1, CELLS_PER_BATCH // len(wanted))):
                    yield convert_columns(map(to_column, zip(*rows)), wanted, self.number_markers)


@contextmanager
def _connect(path: str) -> Iterator[sqlite3.Connection]:
    """Yield a connection that can only read; raise errors of files, SQLite and encodings as InputErrors."""
    try:
        with open(path, "rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                hint = "Hint: --format (format=) names the format of another file"
                raise InputError(f"{quote_path(path)} is not a SQLite file. {hint}")
        with closing(sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)) as connection:
            connection.execute("pragma trusted_schema = off")  # views run no functions that have side effects
            yield connection
    except (OSError, sqlite3.Error, UnicodeError) as error:
        raise InputError(f"{quote_path(path)} cannot be read as a SQLite file: {error_summary(error)}") from None
