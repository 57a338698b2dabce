"""The cost model of docs/scale.md, checked at four sizes: python -m benchmarks.scale_model

The time of a training by path is t = overhead + rows · columns · cost / cores + merging. The constants are measured
on a small and a large table of their own; the four sizes between are predicted, and measured.
"""

import statistics
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import deciban
from deciban.model.table_summaries import NO_SAMPLE, merge_summaries
from deciban.persistence.summary_bytes import dump_summary, load_summary
from deciban.sources.source import open_source
from deciban.training.table_pass import plan_summary
from deciban.training.task import plan

from . import table_data
from .case import format_seconds
from .scale_spark import NUMBERS, TARGET, write_gaussian
from .spark_process import open_session

CORES = 2
SMALL_ROWS, LARGE_ROWS = 20_000, 8_000_000
CHECKED_ROWS = (500_000, 1_000_000, 2_000_000, 4_000_000)
MAX_ERROR = 0.25
"""The largest relative error of a prediction."""
ROUNDS = 5


class CostModel(NamedTuple):
    """Seconds of a job without rows, and of one core for each cell."""

    overhead: float
    per_cell: float

    def predict(self, n_rows: int) -> float:
        """Return the seconds of a training on rows of `NUMBERS`."""
        return self.overhead + n_rows * len(NUMBERS) * self.per_cell / CORES


def find_file(n_rows: int) -> str:
    """Return a Parquet file with so many rows."""
    return str(table_data.find_or_write(f"cost-{n_rows}.parquet", lambda path: write_gaussian(path, n_rows)))


def measure(n_rows: int) -> float:
    """Return the median seconds of a training by path, warm."""
    path, spark = find_file(n_rows), open_session(f"local[{CORES}]")
    times = []
    for _ in range(ROUNDS + 1):
        start = time.perf_counter()
        deciban.train(path, target=TARGET, numbers="number", judge=False, spark=spark)
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def calibrate() -> CostModel:
    """Measure the constants on the large and the small table; the large first, while the JVM compiles its code."""
    large, overhead = measure(LARGE_ROWS), measure(SMALL_ROWS)
    return CostModel(overhead, (large - overhead) * CORES / ((LARGE_ROWS - SMALL_ROWS) * len(NUMBERS)))


def check(model: CostModel) -> Iterator[tuple[int, float, float]]:
    """Yield rows, predicted and measured seconds of the four sizes."""
    for n_rows in CHECKED_ROWS:
        yield n_rows, model.predict(n_rows), measure(n_rows)


def measure_merging(n_words: int) -> tuple[float, float]:
    """Return the bytes of the summary of texts with so many words, and the seconds to read and merge two of them."""
    words = np.char.add("w", np.arange(n_words).astype(str))
    texts = [" ".join(part) for part in np.array_split(words, max(2, n_words // 500))]
    table: dict[str, Any] = {"text": texts, "label": [f"{i % 2}" for i in range(len(texts))]}
    task = plan(table, target="label", roles={"text": "text"})
    summary = plan_summary(task, 1, NO_SAMPLE).summarise(open_source(table), 0)
    content = dump_summary(summary)
    start = time.perf_counter()
    merged = merge_summaries(load_summary(task.layout, content), load_summary(task.layout, content))
    dump_summary(merged)
    return len(content), time.perf_counter() - start


def main() -> int:
    """Print the constants and the check; return 1 if a prediction is too far off."""
    model = calibrate()
    print(f"overhead of a job {format_seconds(model.overhead)}; a cell on one core {model.per_cell * 1e9:.2f} ns")
    print("| rows × 20 | predicted | measured | error |\n|---|---|---|---|")
    worst = 0.0
    for n_rows, predicted, measured in check(model):
        error = predicted / measured - 1
        worst = max(worst, abs(error))
        print(f"| {n_rows:,} | {format_seconds(predicted)} | {format_seconds(measured)} | {error:+.0%} |", flush=True)
    for n_words in (10**5, 10**6):
        size, seconds = measure_merging(n_words)
        print(
            f"a ledger of {n_words:,} words: {size / n_words:.0f} bytes a word, merged in {format_seconds(seconds)}"
        )
    return int(worst > MAX_ERROR)


if __name__ == "__main__":
    sys.exit(main())
