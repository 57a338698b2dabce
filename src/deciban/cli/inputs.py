"""The tables that commands read: files, patterns, standard input, a folder of documents, a database, or a query."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from deciban.cli.error_handling import print_stderr
from deciban.errors import DecibanError, InputError, UsageError
from deciban.option_values import split_list
from deciban.sources.source import FileOptions, Source, open_source
from deciban.sources.spool import name_in_errors, spool, spool_pipes

if TYPE_CHECKING:
    from deciban.model.model import Model

STDIN = "standard input"


@dataclass(frozen=True)
class TableInput:
    """A table that can be opened, its name for messages, and how it is read."""

    paths: Sequence[str]
    name: str
    sql: str | None
    reading: FileOptions
    is_database: bool = False
    spark: Any = None
    """The session of Spark that reads the files; None: this process does."""

    @property
    def shown_paths(self) -> Sequence[str]:
        """The paths as they may be printed: the address of a database without user and password."""
        return [self.name] if self.is_database else self.paths

    @property
    def source(self) -> str | list[str] | None:
        """The source as `deciban.train` takes it: a path, a list of paths, or None for a query."""
        if self.sql is not None:
            return None
        return self.paths[0] if len(self.paths) == 1 else list(self.paths)

    @property
    def source_options(self) -> dict[str, Any]:
        """The arguments of `deciban.train` that control how the source is read."""
        spark = {} if self.spark is None else {"spark": self.spark}
        return {"sql": self.sql, **vars(self.reading), **spark}

    @property
    def identified_by(self) -> list[str]:
        """The columns that identify rows: the file of each document, and none of other tables."""
        return ["file"] if self.reading.format in ("folders", "text") and self.name != STDIN else []

    def for_model(self, model: Model) -> TableInput:
        """Return the table as a model is to read it: for a model of whole files, a text file is one document."""
        from deciban.model.output_frames import choose_reading

        if self.name == STDIN:
            return self
        return replace(self, reading=choose_reading(model, self.source, self.sql, self.reading))

    def open(self) -> Source:
        """Open the table; its rows are not read yet."""
        return open_source(self.source, self.sql, self.reading, self.spark)

    def absent_row_error(self, row: int) -> InputError:
        """Return the error for a row, counted from 1, that the table does not have."""
        if row == 1:
            return InputError(f"{self.name} has no rows")
        return InputError(f"{self.name} has no row {row}. Hint: --row counts from 1, without the header")

    def estimate_rows(self) -> int | None:
        """Return the approximate number of rows, or None if it is not cheap to find out."""
        if (
            self.is_database
            or self.sql is not None
            or any(path.endswith((".json", ".jsonl", ".ndjson")) for path in self.paths)
        ):
            return None
        try:
            return self.open().n_rows
        except (DecibanError, OSError):  # the reading itself reports the error
            return None


@contextmanager
def open_table(options: Mapping[str, Any]) -> Iterator[TableInput]:
    """Yield the table of the options `TABLE_OPTIONS`; for the block, standard input is kept in a temporary file.

    Raises UsageError where DATA, --folders and --sql are not exactly one, and InputError where a file is absent.
    """
    paths, reading = _resolve_paths(options)
    sql = options["sql"]
    name = "the query" if sql is not None else paths[0] + (" …" if len(paths) > 1 else "")
    if options.get("spark") is not None:
        if not options["data"] or "-" in paths or has_address(paths):
            raise UsageError("--spark reads files: DATA is needed, no standard input, database, --folders or --sql")
        from deciban.cli.spark_session import open_session

        with open_session(options["spark"]) as session:
            yield TableInput(paths, name, None, reading, spark=session)
    elif has_address(paths):
        from deciban.sources.databases.addresses import parse_address

        if len(paths) > 1:
            raise UsageError("a table of a database cannot be read together with others")
        yield TableInput(paths, parse_address(paths[0]).name, None, reading, is_database=True)
    elif paths == ["-"]:
        with spool_stdin() as path, name_in_errors({path: STDIN}):
            yield TableInput([path], STDIN, None, reading)
    else:
        _check_paths(paths)
        with (
            spool_pipes(paths) as files,
            name_in_errors({file: path for file, path in zip(files, paths) if file != path}),
        ):
            yield TableInput(files, name, sql, reading)


def _resolve_paths(options: Mapping[str, Any]) -> tuple[list[str], FileOptions]:
    """Return the paths of DATA or --folders, none for --sql, and how files are read; refuse none or two of these."""
    paths, folders = list(options["data"] or ()), options.get("folders")
    given = {field.name: options.get(field.name) for field in fields(FileOptions)}
    if bool(paths) + (options["sql"] is not None) + (folders is not None) != 1:
        raise UsageError("exactly one table is needed: DATA, --folders DIR or --sql QUERY")
    if given["hive"] and not paths:
        raise UsageError("--hive is for DATA; in a query write read_csv(…, hive_partitioning=true)")
    if folders is not None:
        if given["format"] is not None:
            raise UsageError(
                f"--folders reads each file as a document, so --format {given['format']} cannot be given"
            )
        paths, given["format"] = [folders], "folders"
    if given["names"] is not None:
        given["names"] = split_list(given["names"])
    return paths, FileOptions.from_arguments(given)


def _check_paths(paths: Sequence[str]) -> None:
    """Refuse standard input, or a file that does not exist, among several files."""
    if "-" in paths:
        raise UsageError("- (standard input) cannot be read together with other files")
    absent = [path for path in paths if not os.path.exists(path)] if len(paths) > 1 else []
    if absent:
        raise InputError(f"there is no file {absent[0]!r}. Hint: a pattern is written in quotes, 'day-*.csv'")


def has_address(paths: Sequence[str]) -> bool:
    """Return whether one of the paths is the address of a database."""
    if not any("://" in path for path in paths):
        return False
    from deciban.sources.databases.addresses import find_scheme

    return any(find_scheme(path) is not None for path in paths)


def open_optional_table(options: Mapping[str, Any]) -> AbstractContextManager[TableInput | None]:
    """Return the context of `open_table`, or one of None if neither DATA nor --sql is given."""
    return open_table(options) if options["data"] or options["sql"] is not None else nullcontext()


def spool_stdin() -> AbstractContextManager[str]:
    """Return a context with the path of a temporary copy of standard input, which can be read more than once."""
    if sys.stdin.isatty():
        print_stderr("reading the table from standard input, to its end (Ctrl-D) …")
    return spool(sys.stdin.buffer, "stdin", STDIN)
