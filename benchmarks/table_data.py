"""Tables generated from a fixed seed: files of ten million rows, frames of two million, and a table of many levels.

Files are generated once for each size and kept in a folder of the system's temporary directory (or that named by
DECIBAN_BENCH). They are written under another name first, so that an interrupted run leaves no partial file.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from .case import scale_rows

VERSION = 1
"""A part of every file name; increase it when the contents change."""
BLOCK_ROWS = 500_000
CLASSES = ("healthy", "cold", "flu", "measles", "other")
TARGET = "diagnosis"
NUMBERS = tuple(f"number_{j}" for j in range(6))
LEVELS = {"ward": 6, "city": 12, "drug": 25, "job": 50, "code": 200}
FLAG = "smoker"


def scratch_folder() -> Path:
    """Return the folder of generated files."""
    given = os.environ.get("DECIBAN_BENCH")
    folder = Path(given) if given else Path(tempfile.gettempdir()) / "deciban-benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def find_or_write(name: str, write: Callable[[Path], None]) -> Path:
    """Return the path of a generated file, writing it if it does not exist."""
    path = scratch_folder() / f"v{VERSION}-{name}"
    if not path.exists():
        fresh = path.with_name(f"{os.getpid()}-{path.name}")
        write(fresh)
        fresh.replace(path)
    return path


class RowGenerator:
    """A generator of rows; numbers have a mean and a spread per class, categories and flags probabilities."""

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
        """Draw n rows as columns; categories are Arrow dictionaries."""
        y = self.rng.choice(len(CLASSES), size=n, p=self.share)
        columns: dict[str, Any] = {}
        for name, (mean, spread) in self.numbers.items():
            columns[name] = np.round(self.rng.normal(size=n) * spread[y] + mean[y], 3)
        for name, cumulative in self.levels.items():
            codes = self._draw_levels(y, cumulative)
            columns[name] = encode(codes, [f"{name}_{v}" for v in range(cumulative.shape[1])])
        for name, chance in self.flags.items():
            columns[name] = (self.rng.random(n) < chance[y]).astype(np.int8)
        columns[TARGET] = encode(y, CLASSES)
        return columns

    def _draw_levels(self, y: Any, cumulative: Any) -> Any:
        codes = np.empty(len(y), dtype=np.int32)
        for k in range(len(CLASSES)):
            of_class = np.flatnonzero(y == k)
            codes[of_class] = np.searchsorted(cumulative[k, :-1], self.rng.random(len(of_class)))
        return codes


def encode(codes: Any, names: Any) -> pa.DictionaryArray:
    """Return codes and their names as an Arrow dictionary array."""
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(list(names)))


def generate_batches(n: int) -> Iterator[pa.Table]:
    """Generate the rows of the files: 6 numbers, 5 categories, a flag and the target."""
    source = RowGenerator(11, NUMBERS, LEVELS, (FLAG,))
    for start in range(0, n, BLOCK_ROWS):
        yield pa.table(source.draw(min(BLOCK_ROWS, n - start)))


def decode(table: pa.Table) -> pa.Table:
    """Replace dictionary columns by text."""
    text = [column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column for column in table.columns]
    return pa.table(text, names=table.column_names)


def write_csv(path: Path, n: int) -> None:
    """Write n rows as CSV."""
    options = pyarrow.csv.WriteOptions(quoting_style="none")
    _write_batches(n, lambda schema: pyarrow.csv.CSVWriter(path, schema, write_options=options))


def write_parquet(path: Path, n: int) -> None:
    """Write n rows as Parquet, text dictionary-encoded."""
    _write_batches(n, lambda schema: pyarrow.parquet.ParquetWriter(path, schema, use_dictionary=True))


def _write_batches(n: int, open_writer: Callable[[pa.Schema], Any]) -> None:
    """Write n ≥ 1 rows to the writer that is opened with their schema."""
    tables = map(decode, generate_batches(n))
    first = next(tables)
    with open_writer(first.schema) as writer:
        for table in chain([first], tables):
            writer.write_table(table)


def find_csv(scale: float) -> Path:
    """Return the CSV file of 10⁷×12 cells and a target."""
    n = scale_rows(10_000_000, scale)
    return find_or_write(f"rows-{n}.csv", lambda path: write_csv(path, n))


def find_parquet(scale: float) -> Path:
    """Return the dictionary-encoded Parquet file of 10⁷×12 cells and a target."""
    n = scale_rows(10_000_000, scale)
    return find_or_write(f"rows-{n}.parquet", lambda path: write_parquet(path, n))


FRAME_NUMBERS = tuple(f"number_{j}" for j in range(10))
FRAME_LEVELS = {f"category_{j}": V for j, V in enumerate((3, 4, 5, 8, 10, 20, 50, 100))}
FRAME_FLAGS = ("flag_0", "flag_1")


def make_frame(kind: str, scale: float) -> Any:
    """Make a frame of 2·10⁶×20 mixed columns and a target; kind is "pandas" or "polars"."""
    n = scale_rows(2_000_000, scale)
    source = RowGenerator(12, FRAME_NUMBERS, FRAME_LEVELS, FRAME_FLAGS)
    blocks = [decode(pa.table(source.draw(min(BLOCK_ROWS, n - start)))) for start in range(0, n, BLOCK_ROWS)]
    table = pa.concat_tables(blocks)
    if kind == "pandas":
        return table.to_pandas()
    import polars

    return polars.from_arrow(table)


def make_many_levels(n: int, columns: int, levels: int, classes: int) -> pa.Table:
    """Make a table of categories with very many levels, which make a model file large."""
    rng = np.random.default_rng(13)
    names = [f"level {v}" for v in range(levels)]
    table = {f"category_{j}": encode(rng.integers(levels, size=n), names) for j in range(columns)}
    return pa.table({**table, TARGET: encode(rng.integers(classes, size=n), [f"class {k}" for k in range(classes)])})
