"""DATA as the command line names it: files, patterns, standard input, a folder of documents, or a query."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from deciban.errors import DecibanError, InputError

if TYPE_CHECKING:
    from deciban.sources.source import Source

STDIN = "standard input"
PACKED = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst"}
"""How compressed data begins, and what its name ends in."""


@dataclass(frozen=True)
class TableInput:
    """A table that can be opened, and what to call it."""

    paths: Sequence[str]
    name: str
    sql: str | None = None
    format: str | None = None
    encoding: str = "utf-8"
    missing: tuple[str, ...] = ()
    errors: str = "strict"
    hive: bool = False

    @property
    def source(self) -> str | list[str] | None:
        """As `deciban.train` takes it."""
        if self.sql is not None:
            return None
        return self.paths[0] if len(self.paths) == 1 else list(self.paths)

    @property
    def reading(self) -> dict[str, Any]:
        """As `deciban.train` takes it."""
        named = {"sql": self.sql, "format": self.format, "encoding": self.encoding, "missing": self.missing}
        named = named if self.errors == "strict" else {**named, "errors": self.errors}
        return {**named, "hive": True} if self.hive else named

    @property
    def identified_by(self) -> list[str]:
        """The columns that say which row is which, where the source itself gives them."""
        return ["file"] if self.format in ("folders", "text") and self.name != STDIN else []

    def open(self) -> Source:
        """The table itself."""
        from deciban.sources.source import FileOptions, open_source

        options = FileOptions(self.format, self.encoding, self.missing, self.errors, self.hive)
        return open_source(self.source, self.sql, options)

    def guessed_rows(self) -> int | None:
        """About how many rows, where that costs next to nothing to know."""
        if self.sql is not None or any(path.endswith((".json", ".jsonl", ".ndjson")) for path in self.paths):
            return None
        try:
            return self.open().n_rows
        except (DecibanError, OSError):  # whatever is wrong is said by the reading itself
            return None


@contextmanager
def given(
    paths: Sequence[str] | None,
    sql: str | None,
    folders: str | None,
    format: str | None,
    encoding: str,
    errors: str,
    missing: Sequence[str] | None,
    hive: bool | None = False,
) -> Iterator[TableInput]:
    """The table for the time of the block; standard input is kept in a file meanwhile."""
    paths = list(paths or ())
    if bool(paths) + (sql is not None) + (folders is not None) != 1:
        raise typer.BadParameter("a table is wanted: DATA or --folders DIR, or else --sql QUERY, and not both")
    if hive and not paths:
        raise typer.BadParameter("--hive is for DATA; a query says read_csv(…, hive_partitioning=true)")
    texts = tuple(missing or ())
    if folders is not None:
        if format is not None:
            raise typer.BadParameter(f"--folders reads each file as a document, so --format {format} is not free")
        paths, format = [folders], "folders"
    if paths != ["-"]:
        _refuse_absent(paths)
        name = "the query" if sql is not None else paths[0] + (" …" if len(paths) > 1 else "")
        yield TableInput(paths, name, sql, format, encoding, texts, errors, bool(hive))
        return
    with spool_stdin() as path, rename_in_errors(path, STDIN):
        yield TableInput([str(path)], STDIN, None, format, encoding, texts, errors, bool(hive))


def _refuse_absent(paths: Sequence[str]) -> None:
    if "-" in paths:
        raise typer.BadParameter("- (standard input) cannot be read together with other files")
    if len(paths) > 1:
        for path in paths:
            if not os.path.exists(path):
                raise InputError(f"there is no file {path!r}. Hint: a pattern is written in quotes, 'day-*.csv'")


@contextmanager
def spool_stdin() -> Iterator[Path]:
    """Standard input as a file, so that it can be read from its beginning more than once."""
    stream = sys.stdin.buffer
    if sys.stdin.isatty():
        typer.echo("reading the table from standard input, to its end (Ctrl-D) …", err=True)
    start = stream.read(4)
    ending = next((name for mark, name in PACKED.items() if start.startswith(mark)), "")
    with tempfile.TemporaryDirectory(prefix="deciban-") as folder:
        path = Path(folder) / f"stdin{ending}"
        with path.open("wb") as file:
            file.write(start)
            shutil.copyfileobj(stream, file, 1 << 20)
        yield path


@contextmanager
def rename_in_errors(path: Path, name: str) -> Iterator[None]:
    """Say a name that means something to the user where an error names the file."""
    try:
        yield
    except DecibanError as error:
        if str(path) not in str(error):
            raise
        raise type(error)(str(error).replace(repr(str(path)), name).replace(str(path), name)) from error


@contextmanager
def direct_role_hints_to_training() -> Iterator[None]:
    """Where a model is there already, advice on roles is for the training, and says so."""
    try:
        yield
    except DecibanError as error:
        what, hint, advice = str(error).partition("Hint: ")
        raise type(error)(what + hint + advice.replace("--as ", "in training --as ", 1)) from error
