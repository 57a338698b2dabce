"""The option --spark: a session of Spark, and predictions that its executors write."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from deciban.cli.error_handling import print_stderr
from deciban.cli.table_output import output_format
from deciban.errors import InputError, MissingExtraError, UsageError

if TYPE_CHECKING:
    from deciban.model.model import Model
    from deciban.scores.posterior import Decision
    from deciban.sources.source import Source

SETTINGS = {"spark.ui.showConsoleProgress": "false", "spark.ui.enabled": "false", "spark.log.level": "ERROR"}
"""Settings of a session: no bars of progress or messages of Spark between ours."""

WRITERS = {"parquet": "parquet", "csv": "csv", "jsonl": "json"}
"""The formats in which Spark writes tables, and its names for them."""


@contextmanager
def open_session(master: str) -> Iterator[Any]:
    """Open a session of Spark for the block; the Python of its executors is this one, unless a setting names it."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError("--spark needs pyspark. Hint: pip install 'deciban[spark]', and Java 17") from None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("deciban")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    try:
        session = builder.getOrCreate()
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise InputError(
            f"Spark cannot be started with --spark {master}: {lines[0] if lines else type(error).__name__}. "
            f"Hint: java -version should name 17; --spark 'local[2]' runs on this machine"
        ) from None
    try:
        yield session
    finally:
        session.stop()


def write_predictions(
    model: Model, source: Source, rule: Decision | None, output: str | None, options: Mapping[str, Any]
) -> None:
    """Have the executors predict all rows, and write them as a folder of files; refuse stdout and other formats."""
    from deciban.model.distributed_scores import ScoreTask, score_parts

    form = None if output in (None, "-") else output_format(output, False)
    if output is None or form not in WRITERS:
        raise UsageError(f"with --spark -o names the folder to write, with one of the endings .{', .'.join(WRITERS)}")
    keep = list(source.columns) if options["everything"] else list(options["keep"] or ())
    wanted: Any = "posterior" if options["proba"] else "winner"
    task = ScoreTask(wanted, options["allow_missing_columns"], rule, options["reject_novel"])
    writer = score_parts(model, source, task, keep).write
    (writer.option("header", True) if form == "csv" else writer).format(WRITERS[form]).save(output)
    print_stderr(f"predictions of all rows to {output}, a folder of {form} files")
