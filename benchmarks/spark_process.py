"""One measurement of Spark in a process of its own: its time with some cores, or its memory.

`python -m benchmarks.spark_process` imports what a user's program would, so that its memory is that of one.
"""

import json
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import deciban

from .machine import read_status


@cache
def open_session(master: str = "local[2]") -> Any:
    """Open the session of this process."""
    from pyspark.sql import SparkSession

    warnings.filterwarnings("ignore", category=FutureWarning)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "4g",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def train(path: str, from_frame: bool, **settings: Any) -> Any:
    """Train our model, from the path or from a DataFrame."""
    spark = open_session()
    if from_frame:
        return deciban.train(spark.read.parquet(path), **settings)
    return deciban.train(path, spark=spark, **settings)


def time_once(master: str, path: str) -> float:
    """Return the median time of a training by path with this master, warm."""
    spark = open_session(master)
    times = []
    for _ in range(6):
        start = time.perf_counter()
        deciban.train(path, target="y", numbers="number", judge=False, spark=spark)
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def measure_once(way: str, path: str, target: str, settings: str) -> dict[str, float]:
    """Train with a held-out report; return the peak MiB of this process and of the largest Python worker."""
    import psutil

    train(path, way == "frame", target=target, **json.loads(settings))
    workers = [each.pid for each in psutil.Process().children(recursive=True) if "python" in each.name()]
    peaks = [read_status("VmHWM", worker) for worker in workers]
    return {"driver": read_status("VmHWM"), "worker": max(peaks, default=0.0)}


ACTIONS: dict[str, Callable[..., Any]] = {"time": time_once, "memory": measure_once}

if __name__ == "__main__":
    print(json.dumps(ACTIONS[sys.argv[1]](*sys.argv[2:])))
