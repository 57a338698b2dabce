"""PostgreSQL: connections through psycopg, types by their numbers, rows streamed through a server-side cursor."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from functools import cache
from itertools import count
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from deciban._lazy import pa
from deciban.errors import InputError, MissingExtraError
from deciban.sources.databases.addresses import Address
from deciban.sources.databases.driver import Driver, Form, TableColumns, TableName
from deciban.sources.source import error_summary

if TYPE_CHECKING:
    from sqlglot import exp

CONNECT_TIMEOUT_SECONDS = 30
MAX_CONNECTIONS = 4
"""The number of statements that are run at the same time."""

CELLS_PER_FETCH = 1 << 17
"""Cells that are fetched from a server-side cursor at a time."""

SETTINGS = "-c TimeZone=UTC -c synchronize_seqscans=off -c standard_conforming_strings=on -c jit=off"
"""Settings of a connection: times of zones are those of UTC, and every scan of a table begins at its first row.

Compiling a statement of 60 expressions took 0.4 s, and made the scan of 10⁶ rows no faster."""

ARROW_TYPES = {
    16: "bool_", 20: "int64", 21: "int64", 23: "int64", 26: "int64", 700: "float32", 701: "float64",
    18: "string", 19: "string", 25: "string", 1042: "string", 1043: "string", 705: "string",
    1082: "date32", 1083: "time64", 1114: "timestamp", 1184: "timestamptz",
}  # fmt: skip
"""The name of the Arrow type of each of PostgreSQL's types that is read as it is, by its number."""

NUMERIC, UUID = 1700, 2950
DATE_TYPES = ("date32", "timestamp", "timestamptz")
TEXT_CATEGORIES = "SEI"
"""The categories of types that are read as their texts: strings, enumerations, network addresses."""

TABLES_QUERY = """
select n.nspname, c.relname, pg_table_is_visible(c.oid), c.relkind in ('r', 'm', 'p')
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'v', 'm', 'f', 'p') and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
order by 1, 2
"""
CURSOR_NUMBERS = count()


@cache
def _define_unread_type() -> Any:
    """Return the class of types of columns that are not read, made when first needed, as Arrow is imported late.

    A type prints as the database's own name of it, and no function of Arrow reads it.
    """

    class UnreadType(pa.ExtensionType):  # type: ignore[misc]
        def __init__(self, type_name: str) -> None:
            self.type_name = type_name
            super().__init__(pa.binary(), "deciban.unread")

        def __arrow_ext_serialize__(self) -> bytes:
            return self.type_name.encode()

        @classmethod
        def __arrow_ext_deserialize__(cls, storage: Any, serialised: bytes) -> Any:
            return cls(serialised.decode())

        def __str__(self) -> str:
            return self.type_name

    return UnreadType


class PostgresDriver(Driver):
    """A connection to PostgreSQL."""

    dialect, samples_pages = "postgres", True

    def __init__(self, connection: Any, name: str, address: Address | None = None) -> None:
        self.connection, self.name, self.address = connection, name, address

    @classmethod
    def open(cls, address: Address) -> PostgresDriver:
        """Connect to a server, for transactions that only read."""
        connection = _open_connection(address)
        driver = cls(connection, address.name, address)
        weakref.finalize(driver, connection.close)
        return driver

    def _errors(self) -> AbstractContextManager[None]:
        return _convert_psycopg_errors(f"{self.name} cannot be read", self.address)

    def read(self, statement: exp.Expression) -> Any:
        """See `Driver.read`."""
        return self._read(self.connection, statement)

    def _read(self, connection: Any, statement: exp.Expression) -> Any:
        with self._errors(), connection.transaction(), connection.cursor(binary=True) as cursor:
            cursor.execute(self.to_sql(statement))
            types = self._read_types(cursor)
            return pa.Table.from_arrays(*_to_columns(types, cursor.fetchall()))

    def read_each(self, statements: Sequence[exp.Expression]) -> list[Any]:
        """See `Driver.read_each`: connections of our own see the same rows, and are used at the same time.

        PostgreSQL runs a GROUP BY of many groups on one core.
        """
        if self.address is None or len(statements) < 2 or not self._is_in_transaction():
            return super().read_each(statements)
        connections: SimpleQueue[Any] = SimpleQueue()
        with ExitStack() as stack:
            for connection in self._connect_more(stack, min(MAX_CONNECTIONS, len(statements)) - 1):
                connections.put(connection)
            connections.put(self.connection)

            def read(statement: exp.Expression) -> Any:
                connection = connections.get()
                try:
                    return self._read(connection, statement)
                finally:
                    connections.put(connection)

            pool = stack.enter_context(ThreadPoolExecutor(connections.qsize()))
            return list(pool.map(read, statements))

    def _is_in_transaction(self) -> bool:
        from psycopg.pq import TransactionStatus

        return self.connection.info.transaction_status == TransactionStatus.INTRANS

    def _connect_more(self, stack: ExitStack, n: int) -> Iterator[Any]:
        """Yield up to n connections that see the rows of this one; fewer where the server has no place for them."""
        import psycopg

        assert self.address is not None
        with self._errors():
            (snapshot,) = self.connection.execute("select pg_export_snapshot()").fetchone()
        with suppress(InputError, psycopg.Error):
            for _ in range(n):
                connection = stack.enter_context(closing(_open_connection(self.address)))
                connection.execute(psycopg.sql.SQL("set transaction snapshot {}").format(snapshot))
                yield connection

    def stream(self, statement: exp.Expression) -> Iterator[Any]:
        """See `Driver.stream`."""
        name = f"deciban_{next(CURSOR_NUMBERS)}"
        with self._errors(), self.connection.transaction(), self.connection.cursor(name=name, binary=True) as cursor:
            cursor.execute(self.to_sql(statement))
            types = self._read_types(cursor)
            while rows := cursor.fetchmany(max(1, CELLS_PER_FETCH // len(types))):
                yield pa.RecordBatch.from_arrays(*_to_columns(types, rows))

    def _read_types(self, cursor: Any) -> dict[str, Any]:
        """Return the Arrow type of each column of a cursor by name; one that is not in `ARROW_TYPES` is a text."""
        return {
            column.name: self._to_arrow_type(ARROW_TYPES.get(column.type_code, "string"))
            for column in cursor.description
        }

    def _to_arrow_type(self, name: str) -> Any:
        """Return the Arrow type of a name in `ARROW_TYPES`; times of zones are in the zone of the connection."""
        match name:
            case "time64":
                return pa.time64("us")
            case "timestamp":
                return pa.timestamp("us")
            case "timestamptz":
                return pa.timestamp("us", self.connection.info.parameter_status("TimeZone") or "UTC")
        return getattr(pa, name)()

    def list_tables(self) -> list[TableName]:
        """See `Driver.list_tables`."""
        with self._errors(), self.connection.transaction():
            rows = self.connection.execute(TABLES_QUERY).fetchall()
        own = [row for row in rows if row[2] or not row[0].startswith("pg_")]
        return [TableName((schema, name), seen, stored) for schema, name, seen, stored in own]

    def describe(self, statement: exp.Expression) -> TableColumns:
        """See `Driver.describe`: decimals are read as doubles, strings and the like as texts, and others not."""
        with self._errors(), self.connection.transaction(), self.connection.cursor() as cursor:
            cursor.execute(self.to_sql(statement))
            columns = [(column.name, column.type_code) for column in cursor.description or ()]
            others = sorted({code for _, code in columns if code not in ARROW_TYPES})
            cursor.execute("select oid, typname, typcategory from pg_type where oid = any(%s)", [others])
            known = {code: (name, category) for code, name, category in cursor.fetchall()}
        fields, forms = [], {}
        for name, code in columns:
            kind, forms[name] = self._describe_type(code, *known.get(code, ("", "")))
            fields.append((name, kind))
        return TableColumns(pa.schema(fields), forms)

    def _describe_type(self, code: int, name: str, category: str) -> tuple[Any, Form]:
        """Return the Arrow type of a PostgreSQL type, and the form in which its values are selected."""
        if code in ARROW_TYPES:
            kind = ARROW_TYPES[code]
            form: Form = "date" if kind in DATE_TYPES else "text" if kind == "string" else "plain"
            return self._to_arrow_type(kind), form
        if code == NUMERIC:
            return pa.float64(), "double"
        if category in TEXT_CATEGORIES or code == UUID:
            return pa.string(), "text"
        shown = f"{name[1:]}[]" if category == "A" and name.startswith("_") else name
        return _define_unread_type()(shown or f"number {code}"), "unread"

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """See `Driver.snapshot`: a transaction, or a part of the one that its owner has begun."""
        is_new = not self._is_in_transaction()
        with self.connection.transaction():
            if is_new:
                self.connection.execute("set transaction isolation level repeatable read")
            yield


def _open_connection(address: Address) -> Any:
    """Connect to a server, for transactions that only read and see the same rows throughout."""
    try:
        import psycopg
    except ImportError:
        raise MissingExtraError("PostgreSQL needs psycopg. Hint: pip install 'deciban[sql]'") from None
    given: dict[str, Any] = {"connect_timeout": CONNECT_TIMEOUT_SECONDS, **address.parameters}
    given["options"] = f"{given.get('options', '')} {SETTINGS}".strip()
    with _convert_psycopg_errors(f"{address.name} cannot be reached", address):
        connection = psycopg.connect(client_encoding="UTF8", application_name="deciban", **given)
    connection.read_only, connection.isolation_level = True, psycopg.IsolationLevel.REPEATABLE_READ
    return connection


def _to_columns(types: dict[str, Any], rows: Sequence[Sequence[Any]]) -> tuple[list[Any], list[str]]:
    """Return rows as Arrow columns, and their names."""
    values: Any = zip(*rows) if rows else [()] * len(types)
    return [pa.array(column, kind) for column, kind in zip(values, types.values())], list(types)


@contextmanager
def _convert_psycopg_errors(what: str, address: Address | None) -> Iterator[None]:
    """Raise errors of psycopg as InputErrors that begin with `what`; none shows a password, or where it came from."""
    import psycopg

    try:
        yield
    except (psycopg.Error, UnicodeError, pa.ArrowException) as error:
        why = error_summary(error)
        raise InputError(f"{what}: {why if address is None else address.hide_secrets(why)}") from None
