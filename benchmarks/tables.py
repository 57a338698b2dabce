"""Real-table work: files against one DuckDB SELECT, frames against scikit-learn's parts, memory, model files.

The peer of a file is the least that any learner must do with it: one scan that groups by class, with counts, means,
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
from .case import Group, Line, format_mib, format_seconds
from .timing import alternate, speed_line

ROUNDS = 5
CSV_SLOWER, PARQUET_SLOWER, FRAME_FASTER = 1.5, 2.5, 8.0
TRAIN_MIB, PREDICT_MIB = 700.0, 1024.0
LOAD_SECONDS = 0.1
SAMPLED = 100_000
"""Rows on which two models' predictions are compared."""

Job = tuple[str, Callable[[], Iterator[Line]]]


def jobs(group: Group, quick: bool, scale: float) -> Iterator[Job]:
    """The measurements of one group, named as `python -m benchmarks --only` matches them."""
    if group == "speed":
        yield "speed tables CSV", partial(file_speed, "CSV", table_data.csv_file, CSV_SLOWER, scale)
        yield "speed tables Parquet", partial(file_speed, "Parquet", table_data.parquet_file, PARQUET_SLOWER, scale)
        for kind in ("pandas", "polars"):
            yield f"speed tables {kind}", partial(frame_speed, kind, scale)
    elif group == "memory":
        yield "memory tables train", partial(train_memory, scale)
        yield "memory tables predict", partial(predict_memory, scale)
    else:
        yield "start-up tables load", partial(load_and_score, quick)


def select(path: Path) -> str:
    """One SELECT with everything naive Bayes must know of the file."""
    read = "read_csv" if path.suffix == ".csv" else "read_parquet"
    numbers = [f"avg({name}), var_pop({name})" for name in table_data.NUMBERS]
    categories = [f"histogram({name})" for name in table_data.LEVELS]
    wanted = ", ".join(["count(*)", *numbers, *categories, f"sum({table_data.FLAG})"])
    return f"SELECT {table_data.TARGET}, {wanted} FROM {read}('{path}') GROUP BY 1 ORDER BY 1"


def scan(path: Path) -> list[tuple[Any, ...]]:
    """DuckDB's answer, with as many threads as we may use."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute(f"SET threads = {machine.cores()}")
        return list(connection.execute(select(path)).fetchall())


def train(path: Path) -> Any:
    """Ours."""
    return deciban.train(str(path), target=table_data.TARGET)


def same_rows(model: Any, answer: list[tuple[Any, ...]]) -> bool:
    """Whether both counted the same rows of the same classes."""
    counted = dict(zip(model.ledger.schema.classes, model.ledger.rows.tolist()))
    return counted == {label: float(count) for label, count, *_ in answer}


def file_speed(kind: str, make: Callable[[float], Path], slower: float, scale: float) -> Iterator[Line]:
    """Training from a file against the SELECT over it, warm, taking turns."""
    path = make(scale)
    same = same_rows(train(path), scan(path))
    times = alternate(lambda: train(path), lambda: scan(path), ROUNDS)
    a, b = (statistics.median(side) for side in times)
    note = f"median of {ROUNDS}; peer: one DuckDB SELECT; {'same' if same else 'NOT THE SAME'} class counts"
    yield Line(
        "speed",
        f"train {kind} 10⁷×12, against DuckDB",
        format_seconds(a),
        format_seconds(b),
        b / a,
        f"≤ {slower:g}× peer",
        same and a <= slower * b,
        note,
        goal=1 / slower,
    )


def frame_speed(kind: str, scale: float) -> Iterator[Line]:
    """Training from a frame in memory against ColumnTransformer(OrdinalEncoder) and two naive models."""
    from .table_models import MixedNaiveBayes

    frame = table_data.frame(kind, scale)
    labels = np.asarray(frame[table_data.TARGET])
    categories = [*table_data.FRAME_LEVELS, *table_data.FRAME_FLAGS]
    options: dict[str, Any] = {"target": table_data.TARGET, "numbers": "number", "parameter_prior": 0.0}

    def peer() -> MixedNaiveBayes:
        return MixedNaiveBayes(list(table_data.FRAME_NUMBERS), categories, impute=False).fit(frame, labels)

    def ours() -> Any:
        return deciban.train(frame, **options)

    few = frame[:SAMPLED]
    same = float(np.mean(np.asarray(ours().predict(few)).reshape(-1) == peer().predict(few)))
    times = alternate(ours, peer, ROUNDS)
    yield speed_line(f"train {kind} frame 2·10⁶×20 mixed", times, FRAME_FASTER, same)


def fresh(action: str, *arguments: str) -> Any:
    """Something of `ACTIONS`, in a process of its own."""
    return child.run("-m", "benchmarks.tables", action, *arguments)


def limit_line(group: Group, name: str, shown: tuple[str, str], target: str, met: bool, note: str) -> Line:
    """A figure with a limit of its own, beside the peer's where there is one."""
    return Line(group, name, *shown, None, target, met, note)


def train_memory(scale: float) -> Iterator[Line]:
    """The height of a whole process that trains from the CSV, and of one that runs the SELECT."""
    path = str(table_data.csv_file(scale))
    ours, peer = (fresh(action, path) for action in ("train", "scan"))
    shown = (format_mib(ours), format_mib(peer))
    note = "whole process, imports included; peer: one DuckDB SELECT"
    name = "train CSV 10⁷×12, against DuckDB"
    yield limit_line("memory", name, shown, f"≤ {TRAIN_MIB:g} MiB", ours <= TRAIN_MIB, note)


def predict_memory(scale: float) -> Iterator[Line]:
    """The height of a whole process that classifies ten million rows into a Parquet file."""
    path = table_data.parquet_file(scale)
    model, answers = table_data.folder() / "predicting.deciban", table_data.folder() / "answers.parquet"
    train(path).save(str(model))
    try:
        ours = fresh("predict", str(model), str(path), str(answers))
        written = rows_written(answers)
    finally:
        model.unlink(missing_ok=True)
        answers.unlink(missing_ok=True)
    met = ours < PREDICT_MIB and written == rows_written(path)
    note = f"whole process, imports included; {written} rows written"
    shown = (format_mib(ours), "–")
    yield limit_line("memory", "predict 10⁷ rows, Parquet to Parquet", shown, "< 1 GiB", met, note)


def rows_written(path: Path) -> int:
    """How many rows a Parquet file says it has."""
    from pyarrow import parquet

    return int(parquet.read_metadata(path).num_rows)


def load_and_score(quick: bool) -> Iterator[Line]:
    """From a large model file to one row's class, with everything imported and a small model used before."""
    small, large = (table_data.folder() / name for name in ("small.deciban", "large.deciban"))
    try:
        save_many_levels(small, 1000, 50, 3)
        save_many_levels(large, *((20_000, 1000, 20) if quick else (1_000_000, 250_000, 20)))
        size = large.stat().st_size / 1e6
        taken = [fresh("load", str(small), str(large)) for _ in range(3 if quick else 7)]
    finally:
        small.unlink(missing_ok=True)
        large.unlink(missing_ok=True)
    took = statistics.median(taken)
    note = f"median of {len(taken)} processes; imports and a small model's row beforehand; file of {size:.0f} MB"
    met = took < LOAD_SECONDS and (quick or size >= 200)
    shown = (format_seconds(took), "–")
    yield limit_line("start-up", "load a 200 MB model file and score one row", shown, "< 100 ms", met, note)


COLUMNS = 5


def save_many_levels(path: Path, n: int, levels: int, classes: int) -> None:
    """A model of five categories with so many levels each."""
    table = table_data.many_levels(n, COLUMNS, levels, classes)
    roles = {f"category_{j}": "category" for j in range(COLUMNS)}
    deciban.train(table, target=table_data.TARGET, roles=roles).save(str(path))


def train_once(path: str) -> float:
    """MiB at the height of this process after training."""
    train(Path(path))
    return memory.status("VmHWM")


def scan_once(path: str) -> float:
    """MiB at the height of this process after the SELECT."""
    scan(Path(path))
    return memory.status("VmHWM")


def predict_once(model: str, path: str, answers: str) -> float:
    """MiB at the height of this process after classifying a file's rows into another file, as they stream."""
    from pyarrow import parquet

    stream = deciban.load(model).predict(path)
    with parquet.ParquetWriter(answers, stream.schema) as writer:
        for batch in stream:
            writer.write_batch(batch)
    return memory.status("VmHWM")


def load_once(small: str, large: str) -> float:
    """Seconds from a model file to one row's class, after the same was done with a small file."""
    row = table_data.many_levels(1, COLUMNS, 50, 1).drop_columns([table_data.TARGET])
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
