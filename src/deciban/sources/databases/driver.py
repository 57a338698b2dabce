"""Drivers: how the statements of one kind of database are run, and their results read as Arrow tables."""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from deciban._lazy import duckdb, pa
from deciban.errors import InputError
from deciban.sources.arrow_types import to_plain_types
from deciban.sources.database import ROWS_PER_BATCH, convert_duckdb_errors, hold_interrupts
from deciban.sources.source import error_summary, quote_path
from deciban.sources.sqlite_files import CELLS_PER_BATCH, LIST_TABLES
from deciban.sources.typed_cells import to_column

if TYPE_CHECKING:
    from sqlglot import exp

Form = Literal["plain", "double", "text", "date", "unread"]
"""How a column is selected: as it is, as a double, as a text, as a date within the calendar, or only whether it has a
value, where its type is not read."""


@dataclass(frozen=True)
class TableName:
    """The name of a table: catalogue and schema, as far as the database has them, and its own."""

    parts: tuple[str, ...]
    is_visible: bool = True
    """Whether its own name alone is enough."""
    is_stored: bool = False
    """Whether its pages can be sampled, or its rows have numbers: it is a table, and not a view."""

    @property
    def spellings(self) -> list[str]:
        """The texts by which a user may name it, the shortest first."""
        texts = [".".join(self.parts[i:]) for i in reversed(range(len(self.parts)))]
        return texts if self.is_visible else texts[1:]


@dataclass(frozen=True)
class TableColumns:
    """The columns of a table in order, with the Arrow types that they are read as, and how each is selected."""

    schema: Any
    forms: Mapping[str, Form]


class Driver(ABC):
    """A connection to a database."""

    dialect: ClassVar[str]
    typed: ClassVar[bool] = True
    has_centred_variance: ClassVar[bool] = True
    """Whether the database's own variance is computed from centred values, so that no second pass is needed."""
    samples_pages: ClassVar[bool] = False
    """Whether some pages of a table can be read without the others."""
    name: str

    def to_sql(self, statement: exp.Expression) -> str:
        """Return a statement in the dialect of the database, without comments."""
        return statement.sql(dialect=self.dialect, comments=False)

    @abstractmethod
    def read(self, statement: exp.Expression) -> Any:
        """Run a statement and return its rows as an Arrow table of plain types."""

    def read_each(self, statements: Sequence[exp.Expression]) -> list[Any]:
        """Run statements, perhaps several at a time; return the table of each in their order."""
        return [self.read(statement) for statement in statements]

    @abstractmethod
    def stream(self, statement: exp.Expression) -> Iterator[Any]:
        """Run a statement and yield its rows as Arrow batches, without holding all of them."""

    @abstractmethod
    def list_tables(self) -> list[TableName]:
        """Return the tables and views of the database."""

    def describe(self, statement: exp.Expression) -> TableColumns:
        """Describe the columns of a statement that selects all of a table, and no row."""
        schema = self.read(statement).schema
        return TableColumns(schema, dict.fromkeys(schema.names, "plain"))

    def snapshot(self) -> AbstractContextManager[None]:
        """Return a context in which all statements see the same rows, whatever others write."""
        return nullcontext()


class DuckDbDriver(Driver):
    """A connection to DuckDB."""

    dialect = "duckdb"

    def __init__(self, connection: Any, name: str = "the DuckDB database") -> None:
        self.connection, self.name = connection, name

    @classmethod
    def open(cls, path: str, name: str) -> DuckDbDriver:
        """Open a file, which is not changed."""
        with hold_interrupts():
            import duckdb
        with convert_duckdb_errors(f"{quote_path(path)} cannot be opened"):
            return cls(duckdb.connect(path, read_only=True), name)

    def read(self, statement: exp.Expression) -> Any:
        """See `Driver.read`."""
        with convert_duckdb_errors(f"{self.name} cannot be read"):
            return to_plain_types(self.connection.sql(self.to_sql(statement)).to_arrow_table())

    def stream(self, statement: exp.Expression) -> Iterator[Any]:
        """See `Driver.stream`."""
        with convert_duckdb_errors(f"{self.name} cannot be read"):
            reader = self.connection.sql(self.to_sql(statement)).to_arrow_reader(ROWS_PER_BATCH)
            yield from map(to_plain_types, reader)

    def list_tables(self) -> list[TableName]:
        """See `Driver.list_tables`."""
        query = (
            "select table_catalog, table_schema, table_name, "
            "table_catalog in (current_database(), 'temp') and table_schema = current_schema(), table_type <> 'VIEW' "
            "and table_catalog in (select database_name from duckdb_databases() where type = 'duckdb') "
            "from information_schema.tables order by all"
        )
        with convert_duckdb_errors(f"{self.name} cannot be read"):
            found = self.connection.execute(query).fetchall()
        return [TableName(tuple(parts), bool(seen), bool(stored)) for *parts, seen, stored in found]

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """See `Driver.snapshot`; a transaction that is open already is left as it is."""
        try:
            self.connection.begin()
        except duckdb.TransactionException:
            yield
            return
        try:
            yield
        finally:
            self.connection.rollback()


class SqliteDriver(Driver):
    """A connection to SQLite, which only reads, from any thread."""

    dialect, typed, has_centred_variance = "sqlite", False, False

    def __init__(self, connection: sqlite3.Connection, name: str = "the SQLite database") -> None:
        self.connection, self.name = connection, name
        self.connection.execute("pragma trusted_schema = off")  # views run no functions that have side effects

    @classmethod
    def open(cls, path: str, name: str) -> SqliteDriver:
        """Open a file, which is not changed."""
        if not Path(path).is_file():
            raise InputError(f"there is no file {quote_path(path)}. Hint: sqlite:////FILE for a path from the root")
        with _convert_sqlite_errors(name):
            uri = f"{Path(path).absolute().as_uri()}?mode=ro"
            return cls(sqlite3.connect(uri, uri=True, check_same_thread=False, isolation_level=None), name)

    @classmethod
    def of_connection(cls, connection: sqlite3.Connection) -> SqliteDriver:
        """Open the file of a connection once more, or copy a database in memory: it stays as it is in its thread."""
        (path,) = [file for _, schema, file in connection.execute("pragma database_list") if schema == "main"]
        if path:
            return cls.open(path, quote_path(path))
        copy = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        copy.deserialize(connection.serialize())  # `backup` would wait for an open transaction of this connection
        return cls(copy)

    def read(self, statement: exp.Expression) -> Any:
        """See `Driver.read`."""
        with _convert_sqlite_errors(self.name), closing(self.connection.execute(self.to_sql(statement))) as cursor:
            return self._to_arrow(cursor, cursor.fetchall(), pa.Table)

    def stream(self, statement: exp.Expression) -> Iterator[Any]:
        """See `Driver.stream`."""
        with _convert_sqlite_errors(self.name), closing(self.connection.execute(self.to_sql(statement))) as cursor:
            while rows := cursor.fetchmany(max(1, CELLS_PER_BATCH // len(cursor.description))):
                yield self._to_arrow(cursor, rows, pa.RecordBatch)

    @staticmethod
    def _to_arrow(cursor: sqlite3.Cursor, rows: Sequence[Sequence[Any]], kind: Any) -> Any:
        names = [column[0] for column in cursor.description]
        columns = [to_column(values) for values in zip(*rows)] or [pa.nulls(0) for _ in names]
        return kind.from_arrays(columns, names=names)

    def list_tables(self) -> list[TableName]:
        """See `Driver.list_tables`."""
        with _convert_sqlite_errors(self.name):
            return [TableName(("main", name), is_stored=True) for (name,) in self.connection.execute(LIST_TABLES)]

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """See `Driver.snapshot`."""
        if self.connection.in_transaction:
            yield
            return
        with _convert_sqlite_errors(self.name):
            self.connection.execute("begin")
        try:
            yield
        finally:
            self.connection.execute("rollback")


@contextmanager
def _convert_sqlite_errors(name: str) -> Iterator[None]:
    """Raise errors of SQLite and of encodings as InputErrors that name the database."""
    try:
        yield
    except (sqlite3.Error, UnicodeError) as error:
        raise InputError(f"{name} cannot be read: {error_summary(error)}") from None
