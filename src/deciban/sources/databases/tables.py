"""Tables of databases as sources: opened by an address or a connection, read in columns, filtered by a condition.

A condition, `where="age > 30"`, is one expression of SQL, parsed before anything is sent to a database.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from deciban._lazy import pa
from deciban.errors import InputError, MissingExtraError
from deciban.sources.databases.addresses import find_scheme, parse_address
from deciban.sources.databases.driver import Driver, DuckDbDriver, Form, SqliteDriver, TableName
from deciban.sources.databases.postgres import PostgresDriver
from deciban.sources.markers import MarkerCounts
from deciban.sources.source import N_PLACES, ColumnReading, FileOptions, choose_table
from deciban.sources.typed_cells import convert_column

if TYPE_CHECKING:
    from sqlglot import exp

IBIS_BACKENDS = ("duckdb", "postgres", "sqlite")
"""The backends of ibis whose statements are written here; tables of others are read as frames."""

WHERE_HINT = "Hint: one condition as in SQL, such as age > 30 and ward = 'A'"

CALENDAR = ("0001-01-01", "9999-12-31")
"""The first and last day that Python and Arrow can represent; dates outside, and infinite ones, are missing."""


@dataclass(frozen=True)
class DatabaseTable:
    """A table, view or query of a database, or those of its rows that meet a condition."""

    driver: Driver
    relation: Any
    """The expression that follows FROM."""
    name: str
    schema: Any
    forms: Mapping[str, Form]
    condition: Any = None
    is_stored: bool = False
    """Whether it is stored as a table, and not computed, as a view is."""
    number_markers: MarkerCounts = field(default_factory=dict, compare=False)
    n_rows, fills_cores = None, False
    columns: ClassVar[Any] = property(attrgetter("schema.names"))
    typed: ClassVar[Any] = property(attrgetter("driver.typed"))

    def select(self, expressions: Mapping[str, Any], *conditions: Any) -> exp.Select:
        """Return a SELECT of expressions by their new names, from the rows that meet all conditions."""
        exp = import_sqlglot()
        named = [exp.alias_(expression.copy(), name, quoted=True) for name, expression in expressions.items()]
        statement = exp.select(*named).from_(self.relation.copy())
        for condition in (self.condition, *conditions):
            if condition is not None:
                statement = statement.where(condition.copy())
        return statement

    def column(self, name: str) -> exp.Expression:
        """Return the expression of a column, in the form in which it is read."""
        exp = import_sqlglot()
        column = exp.Column(this=exp.to_identifier(name, quoted=True))
        match self.forms[name]:
            case "double":
                return exp.cast(column, "double")
            case "text":
                return exp.cast(column, "text")
            case "date":
                first, last = (exp.cast(exp.Literal.string(day), "date") for day in CALENDAR)
                return exp.case().when(exp.Between(this=column.copy(), low=first, high=last), column)
            case "unread":
                return exp.case().when(
                    exp.Not(this=exp.Is(this=column, expression=exp.null())), exp.Literal.string("")
                )
        return column

    def filter(self, condition: Any) -> DatabaseTable:
        """Return the rows that meet a further condition."""
        both = condition if self.condition is None else import_sqlglot().and_(self.condition, condition)
        return replace(self, condition=both)

    def sample(self, share: float, condition: Any) -> DatabaseTable:
        """Return about this share of the rows: some of its pages, or the rows that meet a random condition."""
        exp = import_sqlglot()
        if not self.driver.samples_pages or not isinstance(self.relation, exp.Table) or not self.is_stored:
            return self.filter(condition)
        relation = self.relation.copy()
        percent = exp.Literal.number(f"{100 * share:.6f}")
        relation.set("sample", exp.TableSample(method=exp.var("SYSTEM"), percent=percent))
        return replace(self, relation=relation)

    def head(self, n: int) -> Any:
        """See `Source.head`."""
        selected = self.driver.read(
            self.select({f"c{i}": self.column(c) for i, c in enumerate(self.columns)}).limit(n)
        )
        columns = [_set_unread_type(column, kind) for column, kind in zip(selected.columns, self.schema.types)]
        return pa.Table.from_arrays(columns, names=list(self.columns))

    def read_spread(self, n: int) -> Any:
        """See `source.read_spread`: of tables whose rows have numbers, runs of rows at equal distances."""
        if not self.is_stored or self.driver.dialect not in ("duckdb", "sqlite"):
            return self.head(n)
        exp, run = import_sqlglot(), n // N_PLACES
        n_rows = self.driver.read(self.select({"n": exp.Count(this=exp.Star())})).column("n")[0].as_py()
        step = max(1, -(-n_rows // (2 * n))) * run
        try:
            rows = self.filter(exp.condition(f"rowid % {step} < {run}")).head(2 * n)
        except InputError:  # a table without such numbers
            return self.head(n)
        return self.head(n) if rows.num_rows < n else rows.take(np.linspace(0, rows.num_rows - 1, n).astype(int))

    def batches(self, wanted: Mapping[str, ColumnReading]) -> Iterator[Any]:
        """See `Source.batches`."""
        statement = self.select({f"c{i}": self.column(name) for i, name in enumerate(wanted)})
        for batch in self.driver.stream(statement):
            typed = [_set_unread_type(c, self.schema.field(name).type) for c, name in zip(batch.columns, wanted)]
            columns = [self.convert(c, name, how) for c, (name, how) in zip(typed, wanted.items())]
            yield pa.RecordBatch.from_arrays(columns, names=list(wanted))

    def convert(self, column: Any, name: str, reading: ColumnReading) -> Any:
        """Return a column as it is wanted (`convert_column`); unchanged where the database has types of columns."""
        return column if self.typed else convert_column(column, reading, name, self.number_markers)


def _set_unread_type(column: Any, kind: Any) -> Any:
    """Return a column with the type of its schema where that type is not read; other columns are as they are."""
    if not isinstance(kind, pa.ExtensionType):
        return column
    chunks = getattr(column, "chunks", [column])
    arrays = [pa.ExtensionArray.from_storage(kind, chunk.cast(pa.binary())) for chunk in chunks]
    return arrays[0] if isinstance(column, pa.Array) else pa.chunked_array(arrays, kind)


def is_database(source: Any) -> bool:
    """Return whether a source is the address of a database, a connection to one, or a table of ibis in one."""
    if isinstance(source, str):
        return "://" in source and find_scheme(source) is not None
    if type(source).__module__.startswith("ibis."):
        return hasattr(source, "get_backend") and _is_in_database(source)
    return type(source).__name__.endswith("Connection")


def open_database(source: Any, options: FileOptions) -> DatabaseTable:
    """Open a table of a database (`is_database`)."""
    exp = import_sqlglot()
    if type(source).__module__.startswith("ibis"):
        if options.table is not None:
            raise InputError("table= is for a database, and this is a table of ibis already. Hint: leave it out")
        return _open_ibis(source, options)
    driver = _connect(source)
    found = find_table(driver, options.table)
    parts = [exp.to_identifier(part, quoted=True) for part in reversed(found.parts)]
    relation = exp.Table(**dict(zip(("this", "db", "catalog"), parts)))
    table = _describe(driver, relation, f"table {found.spellings[0]!r} of {driver.name}", options)
    return replace(table, is_stored=found.is_stored)


def _describe(driver: Driver, relation: Any, name: str, options: FileOptions) -> DatabaseTable:
    """Return a table with its columns and types, which a query of no rows gives, and the condition where=."""
    exp = import_sqlglot()
    condition = parse_condition(options.where, driver.dialect)
    described = driver.describe(exp.select("*").from_(relation.copy()).limit(0))
    return DatabaseTable(driver, relation, name, described.schema, described.forms, condition)


def find_table(driver: Driver, wanted: str | None) -> TableName:
    """Return the table of this name, which may begin with that of its schema, or the only one that there is."""
    tables = driver.list_tables()
    spellings: dict[str, TableName] = {}
    for length in range(3):  # a table's own name is found before the same text with the name of a schema
        for table in tables:
            if length < len(table.spellings):
                spellings.setdefault(table.spellings[length], table)
    if wanted is not None and wanted in spellings:
        return spellings[wanted]
    names = [table.spellings[0] for table in tables]
    return spellings[choose_table(driver.name, "table", wanted, names)]


def _connect(source: Any) -> Driver:
    """Return the driver of an address or a connection."""
    if isinstance(source, str):
        address = parse_address(source)
        if address.path is None:
            return PostgresDriver.open(address)
        return (DuckDbDriver if address.dialect == "duckdb" else SqliteDriver).open(address.path, address.name)
    match type(source).__module__.partition(".")[0]:
        case "psycopg":
            return PostgresDriver(source, "the PostgreSQL database")
        case "sqlite3":
            return SqliteDriver.of_connection(source)
    return DuckDbDriver(source)


def _is_in_database(table: Any) -> bool:
    """Return whether a table of ibis is in one database of `IBIS_BACKENDS`, and not in memory."""
    from ibis.expr import operations

    backends, _ = table._find_backends()
    is_known = len(backends) == 1 and backends[0].name in IBIS_BACKENDS
    return is_known and not table.op().find(operations.InMemoryTable)


def _open_ibis(table: Any, options: FileOptions) -> DatabaseTable:
    """Open a table of ibis as a query on the connection that it has."""
    import sqlglot

    exp = import_sqlglot()
    backend = table.get_backend()
    driver = _connect(backend.con)
    query = sqlglot.parse_one(str(backend.compile(table)), dialect=driver.dialect)
    relation = exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier("q", quoted=True)))
    return _describe(driver, relation, "the table of ibis", options)


def import_sqlglot() -> Any:
    """Return sqlglot's module of expressions; a MissingExtraError names the extra where it is not installed."""
    try:
        from sqlglot import exp
    except ImportError:
        raise MissingExtraError("tables of databases need sqlglot. Hint: pip install 'deciban[sql]'") from None
    return exp


def parse_condition(text: str | None, dialect: str) -> exp.Expression | None:
    """Parse a condition in a dialect of SQL; an InputError for anything else than one expression that only reads."""
    if text is None:
        return None
    exp = import_sqlglot()
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        found = sqlglot.parse(text, dialect=dialect)
    except (SqlglotError, RecursionError) as error:
        raise InputError(f"where is no condition: {_summarise_parser_error(error)}. {WHERE_HINT}") from None
    if len(found) != 1:
        raise InputError(f"where is {len(found)} statements, and must be one condition. {WHERE_HINT}")
    (condition,) = found
    if not isinstance(condition, exp.Condition) or isinstance(condition, exp.Subquery):
        what = "empty" if condition is None else f"a statement ({type(condition).__name__.upper()})"
        raise InputError(f"where is {what}, and must be a condition. {WHERE_HINT}")
    for node in condition.walk():
        if isinstance(node, (exp.DML, exp.DDL, exp.Command)) and not isinstance(node, exp.Query):
            raise InputError(
                f"where contains {type(node).__name__.upper()}, and a condition only reads. {WHERE_HINT}"
            )
        if isinstance(node, (exp.Placeholder, exp.Parameter)):
            raise InputError(f"where contains a parameter ({node.sql()}), which has no value. {WHERE_HINT}")
    return condition


def _summarise_parser_error(error: Exception) -> str:
    """Return the first line of a parser's error, without its place; the type of one without a text."""
    lines = [line.split(" Line 1")[0] for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else type(error).__name__
