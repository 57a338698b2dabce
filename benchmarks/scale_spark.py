"""Benchmarks of Spark: deciban and MLlib's naive Bayes in one session, on the same files; memory; cores.

Both sides are warm: each has run for some seconds before it is timed, as the JVM compiles what runs often. The master
is local[2].
"""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from . import child, table_data, text_data
from .case import Group, Job, Line, format_mib, format_seconds, scale_rows
from .spark_process import open_session, train
from .timing import alternate, speed_line

ROUNDS = 3
WARM_UP_SECONDS = 15.0
"""Each side runs for at least as long, and at least once, before it is timed."""
N_NUMBERS, N_CLASSES = 20, 3
NUMBERS = [f"x{j}" for j in range(N_NUMBERS)]
TARGET = "y"
FULL_ROWS = 10**7
TEXT_BYTES = 10**9
BLOCK_ROWS = 1 << 18
GAUSSIAN_TARGETS, TEXT_TARGETS, MIXED_TARGETS = (7.0, 1.3), (6.0, 3.0), (8.0, 2.0)
"""The required ratios of MLlib's time to ours: by path, and from a DataFrame."""
SCORING_TARGET = 3.0
CORES_TARGET = 1.6
"""The required ratio of the time on one core to that on two."""
MAX_WORKER_MIB, MAX_DRIVER_MIB = 700.0, 500.0
COMPARED_ROWS = 100_000


def jobs(group: Group, scale: float) -> Iterator[Job]:
    """Yield the measurements of one group."""
    if group == "speed":
        yield "speed spark gaussian", partial(compare_gaussian, scale)
        yield "speed spark words", partial(compare_words, scale)
        yield "speed spark mixed", partial(compare_mixed, scale)
        yield "speed spark scoring", partial(compare_scoring, scale)
        yield "speed spark cores", partial(compare_cores, scale)
    elif group == "memory":
        yield "memory spark", partial(measure_memory, scale)


def find_gaussian(scale: float) -> str:
    """Return a Parquet file of doubles in three classes."""
    n = scale_rows(FULL_ROWS, scale)
    return str(table_data.find_or_write(f"gaussian-{n}.parquet", lambda path: write_gaussian(path, n)))


def write_gaussian(path: Path, n: int) -> None:
    """Write n rows by row groups."""
    rng = np.random.default_rng(19)
    schema = pa.schema([(name, pa.float64()) for name in (*NUMBERS, TARGET)])
    with parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, n, BLOCK_ROWS):
            y = rng.integers(0, N_CLASSES, min(BLOCK_ROWS, n - start))
            X = rng.standard_normal((len(y), N_NUMBERS)) + 0.3 * y[:, None]
            columns = {name: X[:, j] for j, name in enumerate(NUMBERS)}
            writer.write_table(pa.table({**columns, TARGET: y.astype(np.float64)}, schema=schema))


def fit_gaussian_mllib(path: str) -> Any:
    """Fit MLlib's Gaussian naive Bayes."""
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import NaiveBayes
    from pyspark.ml.feature import VectorAssembler

    assembler = VectorAssembler(inputCols=NUMBERS, outputCol="features")
    model = NaiveBayes(modelType="gaussian", labelCol=TARGET)
    return Pipeline(stages=[assembler, model]).fit(open_session().read.parquet(path))


def compare(
    name: str, ours: Callable[[bool], Any], peer: Callable[[], Any], targets: tuple[float, float], same: float | None
) -> Iterator[Line]:
    """Compare training by path and from a DataFrame with the peer, all warm."""
    for work in (partial(ours, False), partial(ours, True), peer):
        warm_up(work)
    for from_frame, target in zip((False, True), targets):
        times = alternate(partial(ours, from_frame), peer, ROUNDS)
        way = "from a DataFrame" if from_frame else "by path"
        line = speed_line(
            f"{name} {way}, against MLlib", times, target, 1.0 if same is None else same, "Spark local[2], warm"
        )
        if same is None:
            note = f"median of {len(times[0])}; predictions not compared: another model; Spark local[2], warm"
            line = replace(line, note=note)
        yield line


def warm_up(work: Callable[[], Any]) -> None:
    """Run one side until it has run for `WARM_UP_SECONDS`."""
    end = time.perf_counter() + WARM_UP_SECONDS
    work()
    while time.perf_counter() < end:
        work()


def share_equal(model: Any, fitted: Any, path: str, target: str) -> float:
    """Return the share of some rows for which our model and MLlib's predict the same class."""
    rows = open_session().read.parquet(path).limit(COMPARED_ROWS)
    peer = [row.prediction for row in fitted.transform(rows).select("prediction").collect()]
    ours = [float(row[0]) for row in model.predict(rows, keep=[]).select("prediction").collect()]
    return float(np.mean(np.array(ours) == np.array(peer)))


def compare_gaussian(scale: float) -> Iterator[Line]:
    """Compare Gaussian naive Bayes of doubles."""
    path = find_gaussian(scale)
    settings = {"target": TARGET, "numbers": "number", "judge": False, "parameter_prior": 0.0}
    same = share_equal(train(path, False, **settings), fit_gaussian_mllib(path), path, TARGET)
    ours = partial(_train_by, path, settings)
    yield from compare("Gaussian 10⁷×20", ours, partial(fit_gaussian_mllib, path), GAUSSIAN_TARGETS, same)


def _train_by(path: str, settings: dict[str, Any], from_frame: bool) -> Any:
    return train(path, from_frame, **settings)


def compare_words(scale: float) -> Iterator[Line]:
    """Compare multinomial naive Bayes of words; the peer splits at spaces, keeps 2¹⁸ words and reads twice."""
    path = str(text_data.find_posts_file(max(10**7, round(TEXT_BYTES * scale))))
    settings = {"target": text_data.TARGET, "roles": {text_data.TEXT: "text"}, "judge": False}

    def peer() -> Any:
        from pyspark.ml import Pipeline
        from pyspark.ml.classification import NaiveBayes
        from pyspark.ml.feature import CountVectorizer, StringIndexer, Tokenizer

        stages = [
            StringIndexer(inputCol=text_data.TARGET, outputCol="label"),
            Tokenizer(inputCol=text_data.TEXT, outputCol="tokens"),
            CountVectorizer(inputCol="tokens", outputCol="features"),
            NaiveBayes(),
        ]
        frame = open_session().read.parquet(path)
        return Pipeline(stages=stages).fit(frame.withColumn(text_data.TARGET, frame[text_data.TARGET].cast("string")))

    yield from compare("words of 1 GB of posts", partial(_train_by, path, settings), peer, TEXT_TARGETS, None)


def compare_mixed(scale: float) -> Iterator[Line]:
    """Compare a table of numbers, categories and a flag; the peer encodes categories as indicators."""
    path = str(table_data.find_parquet(scale))
    settings = {"target": table_data.TARGET, "numbers": "number", "judge": False}

    def peer() -> Any:
        from pyspark.ml import Pipeline
        from pyspark.ml.classification import NaiveBayes
        from pyspark.ml.feature import OneHotEncoder, StringIndexer, VectorAssembler

        levels = list(table_data.LEVELS)
        codes, indicators = [f"{name}_code" for name in levels], [f"{name}_indicators" for name in levels]
        stages = [
            StringIndexer(inputCol=table_data.TARGET, outputCol="label", handleInvalid="skip"),
            StringIndexer(inputCols=levels, outputCols=codes, handleInvalid="keep"),
            OneHotEncoder(inputCols=codes, outputCols=indicators),
            VectorAssembler(
                inputCols=[*table_data.NUMBERS, table_data.FLAG, *indicators], outputCol="features",
                handleInvalid="skip",
            ),
            NaiveBayes(modelType="gaussian"),
        ]  # fmt: skip
        return Pipeline(stages=stages).fit(open_session().read.parquet(path))

    yield from compare("mixed table 10⁷×12", partial(_train_by, path, settings), peer, MIXED_TARGETS, None)


def compare_scoring(scale: float) -> Iterator[Line]:
    """Compare scoring of a Parquet file into another: class and probabilities of every row."""
    path, folder = find_gaussian(scale), table_data.scratch_folder()
    settings = {"target": TARGET, "numbers": "number", "judge": False, "parameter_prior": 0.0}
    model, fitted, spark = train(path, False, **settings), fit_gaussian_mllib(path), open_session()

    def ours() -> None:
        frame = model.predict_proba(path, spark=spark).drop("probability", "decibans")
        frame.write.mode("overwrite").parquet(str(folder / "ours"))

    def peer() -> None:
        frame = fitted.transform(spark.read.parquet(path)).select("prediction", "probability")
        frame.write.mode("overwrite").parquet(str(folder / "peer"))

    for side in (ours, peer):
        warm_up(side)
    same = share_equal(model, fitted, path, TARGET)
    times = alternate(ours, peer, ROUNDS)
    note = "Spark local[2], warm; class and probabilities written on both sides"
    yield speed_line("scoring 10⁷ rows Parquet to Parquet by path, against MLlib", times, SCORING_TARGET, same, note)


def compare_cores(scale: float) -> Iterator[Line]:
    """Compare one core with two, each in a process of its own."""
    path = find_gaussian(scale)
    two, one = (child.run("-m", "benchmarks.spark_process", "time", f"local[{n}]", path) for n in (2, 1))
    ratio = one / two
    note = "Gaussian by path; median of 5, each number of cores in a process of its own"
    yield Line(
        "speed", "local[2] against local[1], Gaussian 10⁷×20 by path", format_seconds(two), format_seconds(one),
        ratio, f"≥ {CORES_TARGET:g}×", ratio >= CORES_TARGET, note, goal=CORES_TARGET,
    )  # fmt: skip


def measure_memory(scale: float) -> Iterator[Line]:
    """Measure the peak memory of the driver's Python and of the executors' Python workers, in fresh processes."""
    cases = {
        "Gaussian 10⁷×20": (find_gaussian(scale), TARGET, {"numbers": "number"}),
        "words of 1 GB": (
            str(text_data.find_posts_file(max(10**7, round(TEXT_BYTES * scale)))), text_data.TARGET,
            {"roles": {text_data.TEXT: "text"}},
        ),
    }  # fmt: skip
    for name, (path, target, settings) in cases.items():
        for way in ("path", "frame"):
            peaks = child.run("-m", "benchmarks.spark_process", "memory", way, path, target, json.dumps(settings))
            for side, limit in (("worker", MAX_WORKER_MIB), ("driver", MAX_DRIVER_MIB)):
                met = peaks[side] <= limit
                note = "VmHWM of the process, imports included; held-out report included"
                yield Line(
                    "memory", f"{name} by {way}: Python of the {side}", format_mib(peaks[side]), "–", None,
                    f"≤ {limit:g} MiB", met, note,
                )  # fmt: skip
