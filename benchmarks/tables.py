"""Benchmarks of tables: files against one DuckDB SELECT, frames against scikit-learn, memory, model files.

The peer of a file is the minimum that any learner must do: one scan that groups by class, with counts, means,
variances and a histogram for each category. Peak memory is that of a fresh process from its start, imports included.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import deciban

from . import child, machine, memory, table_data
from .case import Group, Job, Line, format_mib, format_seconds
from .timing import alternate, speed_line

ROUNDS = 5
MAX_CSV_RATIO, MAX_PARQUET_RATIO = 1.5, 2.5
"""The largest ratio of our time to DuckDB's."""
FRAME_RATIO = 8.0
"""The required ratio of scikit-learn's time to ours."""
MAX_TRAIN_MIB, MAX_PREDICT_MIB = 700.0, 1024.0
MAX_LOAD_SECONDS = 0.1
COMPARED_ROWS = 100_000
"""The number of rows on which the predictions of two models are compared."""


def jobs(group: Group, scale: float) -> Iterator[Job]:
    """Yield the measurements of one group."""
    if group == "speed":
        yield "speed tables CSV", partial(compare_file, "CSV", table_data.find_csv, MAX_CSV_RATIO, scale)
        yield (
            "speed tables Parquet",
            partial(compare_file, "Parquet", table_data.find_parquet, MAX_PARQUET_RATIO, scale),
        )
        for kind in ("pandas", "polars"):
            yield f"speed tables {kind}", partial(compare_frame, kind, scale)
    elif group == "memory":
        yield "memory tables train", partial(measure_train_memory, scale)
        yield "memory tables predict", partial(measure_predict_memory, scale)
    else:
        yield "start-up tables load", partial(measure_loading, scale < 1)


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


def train(path: Path) -> Any:
    """Train our model from a file."""
    return deciban.train(str(path), target=table_data.TARGET)


def has_same_counts(model: Any, answer: list[tuple[Any, ...]]) -> bool:
    """Whether both counted the same number of rows of each class."""
    counted = dict(zip(model.ledger.schema.classes, model.ledger.rows.tolist()))
    return counted == {label: float(count) for label, count, *_ in answer}


def compare_file(kind: str, find_file: Callable[[float], Path], max_ratio: float, scale: float) -> Iterator[Line]:
    """Compare training from a file with the SELECT over it, warm and alternating."""
    path = find_file(scale)
    same = has_same_counts(train(path), scan(path))
    times = alternate(lambda: train(path), lambda: scan(path), ROUNDS)
    a, b = (statistics.median(side) for side in times)
    note = f"median of {ROUNDS}; peer: one DuckDB SELECT; {'same' if same else 'NOT THE SAME'} class counts"
    yield Line(
        "speed",
        f"train {kind} 10⁷×12, against DuckDB",
        format_seconds(a),
        format_seconds(b),
        b / a,
        f"≤ {max_ratio:g}× peer",
        same and a <= max_ratio * b,
        note,
        goal=1 / max_ratio,
    )


def compare_frame(kind: str, scale: float) -> Iterator[Line]:
    """Compare training from a frame in memory with ColumnTransformer(OrdinalEncoder) and two naive models."""
    from .table_models import MixedNaiveBayes

    frame = table_data.make_frame(kind, scale)
    labels = np.asarray(frame[table_data.TARGET])
    categories = [*table_data.FRAME_LEVELS, *table_data.FRAME_FLAGS]
    options: dict[str, Any] = {"target": table_data.TARGET, "numbers": "number", "parameter_prior": 0.0}

    def peer() -> MixedNaiveBayes:
        return MixedNaiveBayes(list(table_data.FRAME_NUMBERS), categories, impute=False).fit(frame, labels)

    def ours() -> Any:
        return deciban.train(frame, **options)

    sample = frame[:COMPARED_ROWS]
    same = float(np.mean(np.asarray(ours().predict(sample)).reshape(-1) == peer().predict(sample)))
    times = alternate(ours, peer, ROUNDS)
    yield speed_line(f"train {kind} frame 2·10⁶×20 mixed", times, FRAME_RATIO, same)


def run_fresh(action: str, *arguments: str) -> Any:
    """Run one of `ACTIONS` in a separate process."""
    return child.run("-m", "benchmarks.tables", action, *arguments)


def limit_line(group: Group, name: str, shown: tuple[str, str], target: str, met: bool, note: str) -> Line:
    """Return a line whose target is an absolute limit, with the peer's figure where there is one."""
    return Line(group, name, *shown, None, target, met, note)


def measure_train_memory(scale: float) -> Iterator[Line]:
    """Measure the peak memory of a process that trains from the CSV file, and of one that runs the SELECT."""
    path = str(table_data.find_csv(scale))
    ours, peer = (run_fresh(action, path) for action in ("train", "scan"))
    shown = (format_mib(ours), format_mib(peer))
    note = "whole process, imports included; peer: one DuckDB SELECT"
    name = "train CSV 10⁷×12, against DuckDB"
    yield limit_line("memory", name, shown, f"≤ {MAX_TRAIN_MIB:g} MiB", ours <= MAX_TRAIN_MIB, note)


def measure_predict_memory(scale: float) -> Iterator[Line]:
    """Measure the peak memory of a process that classifies ten million rows into a Parquet file."""
    path = table_data.find_parquet(scale)
    model, answers = (
        table_data.scratch_folder() / "predicting.deciban",
        table_data.scratch_folder() / "answers.parquet",
    )
    train(path).save(str(model))
    try:
        ours = run_fresh("predict", str(model), str(path), str(answers))
        written = count_parquet_rows(answers)
    finally:
        model.unlink(missing_ok=True)
        answers.unlink(missing_ok=True)
    met = ours < MAX_PREDICT_MIB and written == count_parquet_rows(path)
    note = f"whole process, imports included; {written} rows written"
    shown = (format_mib(ours), "–")
    yield limit_line("memory", "predict 10⁷ rows, Parquet to Parquet", shown, "< 1 GiB", met, note)


def count_parquet_rows(path: Path) -> int:
    """Return the number of rows in the metadata of a Parquet file."""
    from pyarrow import parquet

    return int(parquet.read_metadata(path).num_rows)


def measure_loading(quick: bool) -> Iterator[Line]:
    """Measure loading a large model file and classifying one row, after imports and the use of a small model."""
    small, large = (table_data.scratch_folder() / name for name in ("small.deciban", "large.deciban"))
    try:
        save_many_levels(small, 1000, 50, 3)
        save_many_levels(large, *((20_000, 1000, 20) if quick else (1_000_000, 250_000, 20)))
        size = large.stat().st_size / 1e6
        taken = [run_fresh("load", str(small), str(large)) for _ in range(3 if quick else 7)]
    finally:
        small.unlink(missing_ok=True)
        large.unlink(missing_ok=True)
    took = statistics.median(taken)
    note = f"median of {len(taken)} processes; imports and a small model's row beforehand; file of {size:.0f} MB"
    met = took < MAX_LOAD_SECONDS and (quick or size >= 200)
    shown = (format_seconds(took), "–")
    yield limit_line("start-up", "load a 200 MB model file and score one row", shown, "< 100 ms", met, note)


N_CATEGORY_COLUMNS = 5


def save_many_levels(path: Path, n: int, levels: int, classes: int) -> None:
    """Save a model of five categories with this many levels each."""
    table = table_data.make_many_levels(n, N_CATEGORY_COLUMNS, levels, classes)
    roles = {f"category_{j}": "category" for j in range(N_CATEGORY_COLUMNS)}
    deciban.train(table, target=table_data.TARGET, roles=roles).save(str(path))


def train_once(path: str) -> float:
    """Train; return the peak memory of this process in MiB."""
    train(Path(path))
    return memory.read_status("VmHWM")


def scan_once(path: str) -> float:
    """Run the SELECT; return the peak memory of this process in MiB."""
    scan(Path(path))
    return memory.read_status("VmHWM")


def predict_once(model: str, path: str, answers: str) -> float:
    """Classify a file into another file as a stream; return the peak memory of this process in MiB."""
    from pyarrow import parquet

    stream = deciban.load(model).predict(path)
    with parquet.ParquetWriter(answers, stream.schema) as writer:
        for batch in stream:
            writer.write_batch(batch)
    return memory.read_status("VmHWM")


def load_once(small: str, large: str) -> float:
    """Return the seconds to load a model file and classify one row, after doing so with a small file."""
    row = table_data.make_many_levels(1, N_CATEGORY_COLUMNS, 50, 1).drop_columns([table_data.TARGET])
    deciban.load(small).predict(row)
    start = time.perf_counter()
    deciban.load(large).predict(row)
    return time.perf_counter() - start


ACTIONS: dict[str, Callable[..., float]] = {
    "train": train_once,
    "scan": scan_once,
    "predict": predict_once,
    "load": load_once,
}

if __name__ == "__main__":
    print(json.dumps(ACTIONS[sys.argv[1]](*sys.argv[2:])))
