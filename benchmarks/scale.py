"""Benchmarks of data that lies elsewhere: Spark against MLlib, PostgreSQL against plain aggregates, SQL in DuckDB."""

from collections.abc import Iterator
from functools import partial

from . import scale_export, scale_spark, scale_sql
from .case import Group, Job


def jobs(group: Group, scale: float) -> Iterator[Job]:
    """Yield the measurements of one group."""
    yield from scale_spark.jobs(group, scale)
    if group == "speed":
        yield "speed PostgreSQL", partial(scale_sql.measure_push_down, scale < 1)
        yield "speed export SQL", partial(scale_export.compare_scoring, scale)
