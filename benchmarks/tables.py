"""Benchmarks of tables: files against one DuckDB SELECT, frames against scikit-learn, memory, model files.

The peer of a file is the minimum that any learner must do: one scan that groups by class, with counts, means,
variances and a histogram for each category. It is compared with a naive model that is not calibrated; the default,
which chooses between structures and calibrates, is compared with a naive model of ours. Peak memory is that of a
fresh process from its start, imports included.
"""

import statistics
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import deciban

from . import child, table_data
from .case import Group, Job, Line, format_mib, format_seconds
from .table_actions import N_CATEGORY_COLUMNS, NAIVE, scan, train
from .timing import alternate, speed_line

ROUNDS = 5
MAX_CSV_RATIO, MAX_PARQUET_RATIO = 1.5, 2.5
"""The largest ratio of our time to DuckDB's."""
MAX_STRUCTURE_RATIO = 3.0
"""The largest ratio of the time of the default to that of independent columns."""
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
        yield "speed tables structure", partial(compare_structure, scale)
    elif group == "memory":
        yield "memory tables train", partial(measure_train_memory, scale)
        yield "memory tables predict", partial(measure_predict_memory, scale)
    else:
        yield "start-up tables load", partial(measure_loading, scale < 1)


def has_same_counts(model: Any, answer: list[tuple[Any, ...]]) -> bool:
    """Whether both counted the same number of rows of each class."""
    counted = dict(zip(model.ledger.schema.classes, model.ledger.rows.tolist()))
    return counted == {label: float(count) for label, count, *_ in answer}


def compare_file(kind: str, find_file: Callable[[float], Path], max_ratio: float, scale: float) -> Iterator[Line]:
    """Compare training from a file with the SELECT over it, warm and alternating."""
    path = find_file(scale)
    same = has_same_counts(train(path, **NAIVE), scan(path))
    times = alternate(lambda: train(path, **NAIVE), lambda: scan(path), ROUNDS)
    a, b = (statistics.median(side) for side in times)
    note = f"median of {len(times[0])}; peer: one DuckDB SELECT; {'same' if same else 'NOT THE SAME'} class counts"
    yield Line(
        "speed",
        f"naive train {kind} 10⁷×12, against DuckDB",
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
    options: dict[str, Any] = {"target": table_data.TARGET, "numbers": "number", "parameter_prior": 0.0, **NAIVE}

    def peer() -> MixedNaiveBayes:
        return MixedNaiveBayes(list(table_data.FRAME_NUMBERS), categories, impute=False).fit(frame, labels)

    def ours() -> Any:
        return deciban.train(frame, **options)

    sample = frame[:COMPARED_ROWS]
    same = float(np.mean(np.asarray(ours().predict(sample)).reshape(-1) == peer().predict(sample)))
    times = alternate(ours, peer, ROUNDS)
    yield speed_line(f"naive train {kind} frame 2·10⁶×20 mixed", times, FRAME_RATIO, same)


def compare_structure(scale: float) -> Iterator[Line]:
    """Compare the default, which chooses a structure and calibrates, with independent columns, calibrated too."""
    frame = table_data.make_frame("polars", scale / 2)
    for name, source in (("Parquet 10⁷×12", str(table_data.find_parquet(scale))), ("polars frame 10⁶×20", frame)):
        ours, naive = (
            partial(deciban.train, source, target=table_data.TARGET, structure=s) for s in ("auto", "naive")
        )
        ours()
        naive()
        times = alternate(ours, naive, ROUNDS)
        a, b = (statistics.median(side) for side in times)
        yield Line(
            "speed",
            f"default train {name}, against structure='naive'",
            format_seconds(a),
            format_seconds(b),
            b / a,
            f"≤ {MAX_STRUCTURE_RATIO:g}× peer",
            a <= MAX_STRUCTURE_RATIO * b,
            f"median of {len(times[0])}; both calibrated; peer: deciban itself",
            goal=1 / MAX_STRUCTURE_RATIO,
        )


def run_fresh(action: str, *arguments: str) -> Any:
    """Run an action of `table_actions` in a separate process."""
    return child.run("-m", "benchmarks.table_actions", action, *arguments)


def measure_train_memory(scale: float) -> Iterator[Line]:
    """Measure the peak memory of a process that trains from the CSV file, and of one that runs the SELECT."""
    path = str(table_data.find_csv(scale))
    peer = run_fresh("scan", path)
    note = "whole process, imports included; peer: one DuckDB SELECT"
    for kind in ("naive", "default"):
        ours, name = run_fresh(f"train {kind}", path), f"{kind} train CSV 10⁷×12, against DuckDB"
        shown = (format_mib(ours), format_mib(peer))
        yield Line("memory", name, *shown, None, f"≤ {MAX_TRAIN_MIB:g} MiB", ours <= MAX_TRAIN_MIB, note)


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
    yield Line("memory", "predict 10⁷ rows, Parquet to Parquet", *shown, None, "< 1 GiB", met, note)


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
    yield Line("start-up", "load a 200 MB model file and score one row", *shown, None, "< 100 ms", met, note)


def save_many_levels(path: Path, n: int, levels: int, classes: int) -> None:
    """Save a model of five categories with this many levels each."""
    table = table_data.make_many_levels(n, N_CATEGORY_COLUMNS, levels, classes)
    roles = {f"category_{j}": "category" for j in range(N_CATEGORY_COLUMNS)}
    deciban.train(table, target=table_data.TARGET, roles=roles).save(str(path))
