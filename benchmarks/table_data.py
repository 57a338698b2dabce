"""Tables from a fixed seed: files of ten million rows, frames of two million, and a table of many levels.

Files are made once for each size and kept in a folder of the system's temporary place (DECIBAN_BENCH names
another), written under another name first so that an interrupted run leaves no half of one.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from .case import rows

VERSION = 1
"""Part of every file's name: to be raised when what is written changes."""
BLOCK = 500_000
CLASSES = ("healthy", "cold", "flu", "measles", "other")
TARGET = "diagnosis"
NUMBERS = tuple(f"number_{j}" for j in range(6))
LEVELS = {"ward": 6, "city": 12, "drug": 25, "job": 50, "code": 200}
FLAG = "smoker"


def folder() -> Path:
    """Where generated files are kept."""
    named = os.environ.get("DECIBAN_BENCH")
    place = Path(named) if named else Path(tempfile.gettempdir()) / "deciban-benchmarks"
    place.mkdir(parents=True, exist_ok=True)
    return place


def kept(name: str, write: Callable[[Path], None]) -> Path:
    """The path of a generated file, written now if it is not there."""
    path = folder() / f"v{VERSION}-{name}"
    if not path.exists():
        fresh = path.with_name(f"{os.getpid()}-{path.name}")
        write(fresh)
        fresh.replace(path)
    return path


class Source:
    """Draws blocks of rows: classes, numbers with own means and spreads, categories with favourites, flags."""

    def __init__(self, seed: int, numbers: tuple[str, ...], levels: dict[str, int], flags: tuple[str, ...]) -> None:
        self.rng = np.random.default_rng(seed)
        K = len(CLASSES)
        self.share = self.rng.dirichlet(np.full(K, 5.0))
        self.numbers = {
            name: (self.rng.normal(size=K) * 4 + 100, self.rng.uniform(5, 15, size=K)) for name in numbers
        }
        self.levels = {name: self.rng.dirichlet(np.full(V, 2.0), size=K).cumsum(axis=1) for name, V in levels.items()}
        self.flags = {name: self.rng.uniform(0.1, 0.6, size=K) for name in flags}

    def draw(self, n: int) -> dict[str, Any]:
        """n rows as columns; categories as Arrow dictionaries."""
        y = self.rng.choice(len(CLASSES), size=n, p=self.share)
        columns: dict[str, Any] = {}
        for name, (mean, spread) in self.numbers.items():
            columns[name] = np.round(self.rng.normal(size=n) * spread[y] + mean[y], 3)
        for name, reach in self.levels.items():
            codes = self._levels(y, reach)
            columns[name] = named(codes, [f"{name}_{v}" for v in range(reach.shape[1])])
        for name, chance in self.flags.items():
            columns[name] = (self.rng.random(n) < chance[y]).astype(np.int8)
        columns[TARGET] = named(y, CLASSES)
        return columns

    def _levels(self, y: Any, reach: Any) -> Any:
        codes = np.empty(len(y), dtype=np.int32)
        for k in range(len(CLASSES)):
            of_class = np.flatnonzero(y == k)
            codes[of_class] = np.searchsorted(reach[k, :-1], self.rng.random(len(of_class)))
        return codes


def named(codes: Any, names: Any) -> pa.DictionaryArray:
    """Codes with the names they stand for."""
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(list(names)))


def batches(n: int) -> Iterator[pa.Table]:
    """The files' rows: 6 numbers, 5 categories, a flag and the target."""
    source = Source(11, NUMBERS, LEVELS, (FLAG,))
    for start in range(0, n, BLOCK):
        yield pa.table(source.draw(min(BLOCK, n - start)))


def plain(table: pa.Table) -> pa.Table:
    """The same with text in place of dictionaries."""
    text = [column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column for column in table.columns]
    return pa.table(text, names=table.column_names)


def write_csv(path: Path, n: int) -> None:
    """So many rows as CSV."""
    options = pyarrow.csv.WriteOptions(quoting_style="none")
    writer = None
    for table in batches(n):
        table = plain(table)
        writer = writer or pyarrow.csv.CSVWriter(path, table.schema, write_options=options)
        writer.write_table(table)
    if writer:
        writer.close()


def write_parquet(path: Path, n: int) -> None:
    """So many rows as Parquet, text dictionary-encoded."""
    writer = None
    for table in batches(n):
        table = plain(table)
        writer = writer or pyarrow.parquet.ParquetWriter(path, table.schema, use_dictionary=True)
        writer.write_table(table)
    if writer:
        writer.close()


def csv_file(scale: float) -> Path:
    """10⁷×12 and a target, as CSV."""
    n = rows(10_000_000, scale)
    return kept(f"rows-{n}.csv", lambda path: write_csv(path, n))


def parquet_file(scale: float) -> Path:
    """The same rows as dictionary-encoded Parquet."""
    n = rows(10_000_000, scale)
    return kept(f"rows-{n}.parquet", lambda path: write_parquet(path, n))


FRAME_NUMBERS = tuple(f"number_{j}" for j in range(10))
FRAME_LEVELS = {f"category_{j}": V for j, V in enumerate((3, 4, 5, 8, 10, 20, 50, 100))}
FRAME_FLAGS = ("flag_0", "flag_1")


def frame(kind: str, scale: float) -> Any:
    """2·10⁶×20 mixed and a target in memory, text as the library keeps it: kind is "pandas" or "polars"."""
    n = rows(2_000_000, scale)
    source = Source(12, FRAME_NUMBERS, FRAME_LEVELS, FRAME_FLAGS)
    blocks = [plain(pa.table(source.draw(min(BLOCK, n - start)))) for start in range(0, n, BLOCK)]
    table = pa.concat_tables(blocks)
    if kind == "pandas":
        return table.to_pandas()
    import polars

    return polars.from_arrow(table)


def many_levels(n: int, columns: int, levels: int, classes: int) -> pa.Table:
    """Categories of very many levels, which make a model file large."""
    rng = np.random.default_rng(13)
    names = [f"level {v}" for v in range(levels)]
    table = {f"category_{j}": named(rng.integers(levels, size=n), names) for j in range(columns)}
    return pa.table({**table, TARGET: named(rng.integers(classes, size=n), [f"class {k}" for k in range(classes)])})
