"""Actions whose time or memory the benchmarks of tables measure: training, one SELECT, predicting, loading.

`python -m benchmarks.table_actions ACTION …` runs one in a process that has imported nothing else: pandas and
scikit-learn would add 100 MiB to its memory.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deciban

from . import machine, table_data

NAIVE: dict[str, Any] = {"structure": "naive", "calibrate": "none"}
"""The model of which the peers compute the statistics: independent columns, and probabilities as they come."""

N_CATEGORY_COLUMNS = 5


def format_select(path: Path) -> str:
    """Return one SELECT that computes all statistics that naive Bayes needs of the file."""
    read = "read_csv" if path.suffix == ".csv" else "read_parquet"
    numbers = [f"avg({name}), var_pop({name})" for name in table_data.NUMBERS]
    categories = [f"histogram({name})" for name in table_data.LEVELS]
    wanted = ", ".join(["count(*)", *numbers, *categories, f"sum({table_data.FLAG})"])
    return f"SELECT {table_data.TARGET}, {wanted} FROM {read}('{path}') GROUP BY 1 ORDER BY 1"


def scan(path: Path) -> list[tuple[Any, ...]]:
    """Run the SELECT in DuckDB with as many threads as this process may use."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute(f"SET threads = {machine.count_cores()}")
        return list(connection.execute(format_select(path)).fetchall())


def train(path: Path, **options: Any) -> Any:
    """Train our model from a file."""
    return deciban.train(str(path), target=table_data.TARGET, **options)


def train_naive_once(path: str) -> float:
    """Train a naive model; return the peak memory of this process in MiB."""
    train(Path(path), **NAIVE)
    return machine.read_status("VmHWM")


def train_default_once(path: str) -> float:
    """Train with the default options; return the peak memory of this process in MiB."""
    train(Path(path))
    return machine.read_status("VmHWM")


def scan_once(path: str) -> float:
    """Run the SELECT; return the peak memory of this process in MiB."""
    scan(Path(path))
    return machine.read_status("VmHWM")


def predict_once(model: str, path: str, answers: str) -> float:
    """Classify a file into another file as a stream; return the peak memory of this process in MiB."""
    from pyarrow import parquet

    stream = deciban.load(model).predict(path)
    with parquet.ParquetWriter(answers, stream.schema) as writer:
        for batch in stream:
            writer.write_batch(batch)
    return machine.read_status("VmHWM")


def load_once(small: str, large: str) -> float:
    """Return the seconds to load a model file and classify one row, after doing so with a small file."""
    row = table_data.make_many_levels(1, N_CATEGORY_COLUMNS, 50, 1).drop_columns([table_data.TARGET])
    deciban.load(small).predict(row)
    start = time.perf_counter()
    deciban.load(large).predict(row)
    return time.perf_counter() - start


ACTIONS: dict[str, Callable[..., float]] = {
    "train naive": train_naive_once,
    "train default": train_default_once,
    "scan": scan_once,
    "predict": predict_once,
    "load": load_once,
}

if __name__ == "__main__":
    print(json.dumps(ACTIONS[sys.argv[1]](*sys.argv[2:])))
