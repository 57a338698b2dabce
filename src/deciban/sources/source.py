"""Sources of tables: their columns, their first rows, and all of their rows as a stream of Arrow batches."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, TypeAlias, TypeVar

from deciban._lazy import pa
from deciban.errors import InputError, did_you_mean, list_names

if TYPE_CHECKING:
    from deciban.sources.date_formats import DateFormat
    from deciban.sources.number_formats import NumberFormat

T = TypeVar("T")

N_PLACES = 64
"""The number of places of a table from which the rows come by which roles are inferred."""

COPY_NAMES: dict[str, str] = {}
"""The names in messages of streams of which there are temporary copies, by the paths of these."""

ColumnReading: TypeAlias = "Literal['number', 'text', 'label', 'words', 'as it is'] | NumberFormat | DateFormat"
"""How a column of a file without types is to be read: as numbers, plain or in a format, as dates, or as texts.

A "label" is a text without which no cell of its row counts, so that none is invalid.
Texts are trimmed, but not "words", long texts of which few rows have the same, nor cells "as it is"."""

CSV_OPTIONS = ("header", "names", "quote", "decimal")
"""The options of files of text that are tables: CSV and TSV."""

NO_QUOTE = "none"
"""The value of `quote` for files in which quotes are ordinary characters."""


READING_PARAMETERS = """
format : str or None
    The format of the files, where their names do not show it: csv, tsv, jsonl, parquet, arrow, lines or text.
encoding : str
    The encoding of text files.
errors : 'strict' or 'replace'
    How bytes of documents that the encoding does not have are treated.
missing : str or sequence of str
    Texts that stand for a missing value in any column.
hive : bool
    Whether folders that are named KEY=VALUE are columns.
table : str or None
    The table of a database or a SQLite file, or the sheet of an Excel file.
where : str or None
    A condition in SQL on the rows of a table of a database; other rows are left out.
header : bool or None
    Whether the first line of a CSV file names the columns; None: it does, unless it looks like data.
names : sequence of str
    Names of the columns of a CSV file, to use instead.
quote : str
    The quotation mark of cells of a CSV file; 'none': quotes are ordinary characters.
decimal : '.', ',' or None
    The decimal mark of all numbers; None: as the cells suggest.
dates : 'day-first', 'month-first' or None
    The order of day and month in dates such as 01/02/2024, where the column leaves it open.
bad_cells : 'error' or 'missing'
    Whether a cell that does not fit the role of its column is an error, or missing, with a warning.
"""
"""The descriptions of the options of reading, for the functions that take them."""


@dataclass(frozen=True)
class FileOptions:
    """Properties that a file does not state, such as its format and encoding; `READING_PARAMETERS` describes each."""

    format: str | None = None
    encoding: str = "utf-8"
    missing: tuple[str, ...] = ()
    errors: str = "strict"
    hive: bool = False
    table: str | None = None
    where: str | None = None
    header: bool | None = None
    names: tuple[str, ...] = ()
    quote: str = '"'
    decimal: str | None = None
    dates: str | None = None
    bad_cells: str = "error"

    def __post_init__(self) -> None:
        if self.header not in (None, True, False):
            raise InputError(f"header must be True, False or None, not {self.header!r}")
        if self.decimal not in (None, ".", ","):
            raise InputError(f"decimal must be '.' or ',', not {self.decimal!r}")
        if self.dates not in (None, "day-first", "month-first"):
            raise InputError(f"dates must be 'day-first' or 'month-first', not {self.dates!r}")
        if self.bad_cells not in ("error", "missing"):
            raise InputError(f"bad_cells must be 'error' or 'missing', not {self.bad_cells!r}")
        if self.quote != NO_QUOTE and (len(self.quote) != 1 or not self.quote.isascii() or self.quote in "\r\n"):
            raise InputError(f"quote must be one ASCII character, or {NO_QUOTE!r}, not {self.quote!r}")
        for text in self.missing:
            if not isinstance(text, str):
                raise InputError(f"missing must be texts, not {text!r}. Hint: {str(text)!r}, as a file has it")
        for name in self.names:
            if not isinstance(name, str) or not name.strip():
                raise InputError(f"names must be texts, one for each column, not {name!r}")

    @classmethod
    def from_arguments(cls, arguments: Mapping[str, Any]) -> Self:
        """Return the options that were given as arguments of a function; raise a TypeError for an unknown name."""
        known = [field.name for field in fields(cls)]
        if unknown := [name for name in arguments if name not in known]:
            raise TypeError(f"{unknown[0]!r} is not an argument here. Hint: files are read by {', '.join(known)}")
        given: dict[str, Any] = {name: value for name, value in arguments.items() if value or value is False}
        for name in ("missing", "names"):
            texts = given.get(name) or ()
            given[name] = tuple(texts) if isinstance(texts, Iterable) and not isinstance(texts, str) else (texts,)
        return cls(**given)

    def refuse_for(self, thing: str) -> None:
        """Raise an InputError if an option of CSV files is given, and a `thing` of another kind is to be read."""
        for name in CSV_OPTIONS:
            if getattr(self, name) != getattr(FileOptions, name):
                raise InputError(f"{name}={getattr(self, name)!r} is for CSV and TSV files, and this is {thing}")


class Source(Protocol):
    """A table that can be read from its beginning; not `typed` where all columns are read as text by default."""

    @property
    def name(self) -> str:
        """The name of the table in messages."""

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns, in order."""

    @property
    def typed(self) -> bool:
        """Whether the columns have types of their own."""

    @property
    def fills_cores(self) -> bool:
        """Whether reading it keeps all cores busy, as DuckDB does: more threads of ours would only slow it down."""

    @property
    def n_rows(self) -> int | None:
        """The number of rows, if it is known without reading them; an estimate for some files."""

    def head(self, n: int) -> pa.Table:
        """Return the first n rows, in plain types (`to_plain_types`); of a source without types, as text."""

    def batches(self, wanted: Mapping[str, ColumnReading]) -> Iterator[pa.RecordBatch]:
        """Yield all rows, from the first, with the wanted columns, in plain types."""


@dataclass(frozen=True)
class FileSource:
    """Files of one format, read one after the other; by default their columns have types."""

    paths: Sequence[str]
    typed, fills_cores = True, False  # no fields: they are the same for all files of a format

    @property
    def name(self) -> str:
        """See `Source.name`."""
        return quote_path(self.paths[0])

    @staticmethod
    def check_alike(paths: Sequence[str], found: Sequence[Any], what: str) -> None:
        """Raise an InputError where what was `found` in a file is not as in the first; `what`: "other columns", …"""
        for path, item in zip(paths, found):
            if item != found[0]:
                hint = "Hint: files that are read together have the same ones"
                raise InputError(f"{quote_path(path)} has {what} than {quote_path(paths[0])}. {hint}")


@dataclass(frozen=True)
class SourceView:
    """A source derived from another: all that a subclass does not define is that source's."""

    source: Source
    name: ClassVar[Any] = property(attrgetter("source.name"))
    columns: ClassVar[Any] = property(attrgetter("source.columns"))
    typed: ClassVar[Any] = property(attrgetter("source.typed"))
    fills_cores: ClassVar[Any] = property(attrgetter("source.fills_cores"))
    n_rows: ClassVar[Any] = property(attrgetter("source.n_rows"))
    head: ClassVar[Any] = property(attrgetter("source.head"))
    batches: ClassVar[Any] = property(attrgetter("source.batches"))

    @property
    def number_format(self) -> NumberFormat:
        """The format of plain numbers, where these come as texts."""
        from deciban.sources.number_formats import get_plain_format

        return get_plain_format(self.source)

    @property
    def read_spread(self) -> Callable[[int], pa.Table]:
        """The function `read_spread` of the source, unless the view has rows of its own."""
        return self.head if "head" in vars(type(self)) else partial(read_spread, self.source)

    def trim(self, texts: Any) -> Any:
        """Return texts of cells that were read "as it is" as a reading with "text" gives them."""
        return self.source.trim(texts) if hasattr(self.source, "trim") else texts

    @property
    def first_row(self) -> int:
        """The number of rows before the first of the view."""
        return getattr(self.source, "first_row", 0)

    @property
    def date_order(self) -> str:
        """The given order of day and month in dates that do not show it; "" where none is given."""
        return getattr(self.source, "date_order", "")

    @property
    def reported_bad_cells(self) -> set[str] | None:
        """The reports on bad cells so far, where these are missing; None where they are errors."""
        return getattr(self.source, "reported_bad_cells", None)

    @property
    def number_markers(self) -> dict[str, Counter[str]]:
        """The numbers of cells of each marker within columns of numbers and dates, where these are read as texts."""
        return getattr(self.source, "number_markers", {})


def read_spread(source: Source, n: int) -> Any:
    """Return n rows from `N_PLACES` places of a table that has more: the first ones do not show what comes later.

    They are the first ones where others take long to find.
    """
    return getattr(source, "read_spread", source.head)(n) if n else source.head(0)


def open_source(source: Any, sql: str | None = None, options: FileOptions | None = None, spark: Any = None) -> Source:
    """Open the source that a path, glob, query, frame, database or mapping of arrays describes.

    With a session of Spark its executors read the paths. The options `dates` and `bad_cells` make it a view.
    """
    options = options or FileOptions()
    if spark is None:
        opened = _open(source, sql, options)
    else:
        from deciban.sources.spark_files import open_spark_files

        opened = open_spark_files(spark, source, sql, options)
    _check_columns(opened)
    if options.bad_cells == "error" and options.dates is None:
        return opened
    from deciban.sources.cell_conversion import DateOrderView, LenientView

    if options.dates is not None:
        opened = DateOrderView(opened, options.dates)
    return opened if options.bad_cells == "error" else LenientView(opened)


def _open(source: Any, sql: str | None, options: FileOptions) -> Source:
    """Open a database, query, path, Spark frame or frame in memory; InputError for options of another kind."""
    if sql is None and may_be_database(source):
        from deciban.sources.databases.tables import is_database, open_database

        if is_database(source):
            options.refuse_for("a table of a database")
            return open_database(source, options)
    if options.where is not None:
        raise InputError(
            "--where (where=) is for tables of databases. Hint: --sql (sql=) filters files and frames, "
            "\"select * from 'data.csv' where …\"; sqlite:///FILE and duckdb:///FILE are databases"
        )
    paths = as_paths(source)
    if sql is not None or paths is None:
        if options.hive:
            hint = "Hint: a query says read_csv(…, hive_partitioning=true)"
            raise InputError(f"--hive (hive=True) is for files. {hint}")
        if options.table is not None:
            raise InputError("--table (table=) is for files and databases. Hint: a query names its tables itself")
        options.refuse_for("a table in memory" if sql is None else "a query")
    if sql is not None:
        from deciban.sources.database import open_query

        return open_query(source, sql)
    if paths is not None:
        from deciban.sources.paths import open_path, open_paths

        return open_path(paths, options) if isinstance(paths, str) else open_paths(paths, options)
    if is_spark_frame(source):
        from deciban.sources.spark_frames import SparkFrame

        return SparkFrame(source)
    from deciban.sources.arrow_sources import open_frame

    return open_frame(source)


def may_be_database(source: Any) -> bool:
    """Return whether a source has the form of an address, or comes from a package of databases.

    A list with an address in it is an InputError: a message on a missing file would quote the address.
    """
    if isinstance(source, (list, tuple)) and any(isinstance(item, str) and "://" in item for item in source):
        from deciban.sources.databases.addresses import find_scheme

        if any(isinstance(item, str) and find_scheme(item) is not None for item in source):
            raise InputError("a table of a database is not read together with others. Hint: one address alone")
    if isinstance(source, str):
        return "://" in source
    return type(source).__module__.partition(".")[0] in ("duckdb", "_duckdb", "sqlite3", "psycopg", "ibis")


def is_spark_frame(source: Any) -> bool:
    """Return whether this is a DataFrame of Spark; pyspark is not imported."""
    return type(source).__module__.startswith("pyspark.sql") and hasattr(source, "mapInArrow")


def as_paths(source: Any) -> str | list[str] | None:
    """Return the path of a source, or the list of its paths; None where it is neither."""
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    if isinstance(source, (list, tuple)) and source and all(isinstance(item, (str, os.PathLike)) for item in source):
        return [os.fspath(item) for item in source]
    return None


def _check_columns(source: Source) -> None:
    """Raise an InputError for a table without columns, or with two columns of one name."""
    if not source.columns:
        raise InputError(f"{source.name} has no columns. Hint: a table has a column for each feature")
    name, times = Counter(source.columns).most_common(1)[0]
    if times > 1:
        raise InputError(f"{source.name} has two columns named {name!r}. Hint: rename one of them")


@contextmanager
def convert_read_errors(name: str, verdict: str = "cannot be read") -> Iterator[None]:
    """Raise the errors of a file system, a decompressor or a decoder as InputErrors that begin with a name."""
    try:
        yield
    except (OSError, pa.ArrowException, UnicodeError, MemoryError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{name} {verdict}: {error_summary(error)}") from None


def error_summary(error: BaseException) -> str:
    """Return the first line of another library's error, in lower case at its beginning, to follow a colon."""
    lines = str(getattr(error, "strerror", None) or error).split("\n")
    why = next((line.strip() for line in lines if line.strip()), type(error).__name__)
    return why if why[1:2].isupper() else why[:1].lower() + why[1:]


def format_path(path: str) -> str:
    """Return a path as text, with slashes; bytes of a file's name that are not UTF-8 become U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace").replace(os.sep, "/")


def quote_path(path: str) -> str:
    """Return a path in quotes, as it may stand in a message; for a copy of a stream, the name of the stream."""
    return COPY_NAMES.get(path) or repr(format_path(path))


def choose_table(source: str, noun: str, wanted: str | None, names: Sequence[str]) -> str:
    """Return the table that is wanted, or the only one; an InputError lists those that there are."""
    if not names:
        raise InputError(f"{source} has no {noun}s with rows. Hint: another file")
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted is not None and wanted in names:
        return wanted
    what = f"{len(names)} {noun}s." if wanted is None else f"no {noun} {wanted!r}{did_you_mean(wanted, names) or '.'}"
    raise InputError(f"{source} has {what} Hint: --table NAME (table='NAME') reads one of {list_names(names, 20)}")


def role_hint(column: str, role: str) -> str:
    """Return the options that give a column another role, on the command line and in Python."""
    return f"--as {column}={role} (roles={{{column!r}: {role!r}}})"


def take_batches(batches: Iterable[T], n: int) -> list[T]:
    """Return the first batches or tables, up to the one that completes n rows."""
    taken: list[Any] = []
    for batch in batches:
        taken.append(batch)
        n -= taken[-1].num_rows
        if n <= 0:
            break
    return taken


def check_column(source: Source, name: str, purpose: str = "") -> None:
    """Raise an error if a source has no column of this name."""
    if name not in source.columns:
        near = did_you_mean(name, source.columns) or f". Its columns: {list_names(source.columns)}"
        raise InputError(f"{source.name} has no column {name!r}{purpose}{near}")


def find_column(source: Source, given: str | int, purpose: str) -> str:
    """Return the name of a column that is given by its name, or by its number where no column has that name.

    The first column is 1, the last −1. Raises an InputError if there is no such column.
    """
    name = str(given) if isinstance(given, int) and not isinstance(given, bool) else given
    if not isinstance(name, str):
        raise InputError(f"{purpose} names a column by a text or by its number, not by {given!r}")
    if name not in source.columns and re.fullmatch("-?[1-9][0-9]{0,5}", name):
        number, n = int(name), len(source.columns)
        if abs(number) <= n:
            return source.columns[number - 1 if number > 0 else number]
        raise InputError(
            f"{source.name} has no column {name!r} for the {purpose}, neither by name nor by number: it has {n}. "
            f"Its columns: {list_names(source.columns)}"
        )
    check_column(source, name, f" for the {purpose}")
    return name
