"""DataFrames of Spark as sources: their rows are read by the executors that have them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from deciban._lazy import pa
from deciban.errors import DecibanWarning, InputError
from deciban.sources.arrow_types import to_plain_types
from deciban.sources.source import ColumnReading, Source, check_column
from deciban.sources.spark_tasks import (
    EXECUTOR_FAULT,
    STATE_SCHEMA,
    MergeTask,
    Packing,
    SummariseTask,
    TransformTask,
    make_runner,
    raise_error,
    storable_type,
    unpack_state,
)

T = TypeVar("T")

GROUPS = (64, 8)
"""The greatest number of results after each merging on the executors; the driver merges the last."""

PACKED_TYPES = {name: f"array of {name}" for name in ("double", "float", "long", "integer")}
"""The types of numbers of which several columns are handed over as one array."""

FIXED_SIZE_TYPES = {*PACKED_TYPES, "short", "byte", "boolean", "date", "timestamp", "timestamp_ntz"}
"""The types whose values take at most 8 bytes."""

MAX_UNMEASURED_BYTES = 1 << 28
"""The size up to which batches of `FIXED_SIZE_TYPES` are handed over without being measured."""

BATCH_ROWS_SETTING = "spark.sql.execution.arrow.maxRecordsPerBatch"
"""The greatest number of rows of a batch that is handed over to Python."""

BATCH_BYTES_SETTING = "spark.sql.execution.arrow.maxBytesPerBatch"
"""The greatest size of a batch that is handed over to Python."""

NO_BATCH_LIMIT = str((1 << 31) - 1)
"""The value of `BATCH_BYTES_SETTING` for which Spark does not measure the batch after each row."""

ADAPTIVE_SETTING = "spark.sql.adaptive.enabled"
"""Where it is true, a plan that exchanges rows between partitions is within a node `AdaptiveSparkPlan`."""


@dataclass(frozen=True)
class SparkFrame:
    """A DataFrame of Spark."""

    frame: Any
    name: ClassVar[str] = "the DataFrame"
    typed, fills_cores, n_rows = True, False, None

    @cached_property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.frame.columns)

    @cached_property
    def advice(self) -> str:
        """How the rows would be read faster: by their path, where the frame is nothing but the contents of files."""
        try:
            plan = self.frame._jdf.queryExecution().optimizedPlan()
            while plan.nodeName() == "Project" and plan.children().length() == 1:
                plan = plan.children().apply(0)
            is_scan = plan.nodeName().startswith("LogicalRelation") or plan.nodeName().startswith("Relation")
            return FILE_ADVICE if is_scan and self.frame.inputFiles() else ""
        except Exception:  # a remote session has no plan, and another version of Spark another one
            return ""

    def head(self, n: int) -> pa.Table:
        """See `Source.head`."""
        with convert_spark_errors():
            table = self._select(self.columns).limit(n).toArrow()
        return to_plain_types(table.rename_columns(self.columns))

    def batches(self, wanted: Mapping[str, ColumnReading]) -> Iterator[pa.RecordBatch]:
        """Refuse to fetch all rows; see `Source.batches`."""
        raise_for_all_rows(self.name)
        yield

    def reduce(self, work: Any, merge: Any, dump: Any, load: Any, wanted: Sequence[str]) -> Any:
        """See `DistributedSource.reduce`; one pass over the frame."""
        with convert_spark_errors():
            selected = self._select(wanted)
            packed, packing = self._pack(selected)
            task = SummariseTask(work, dump, list(wanted), packing)
            states = packed.mapInArrow(make_runner(task), STATE_SCHEMA)
            with suspend_batch_limit(selected):
                return merge_states(states, merge, dump, load, count_partitions(packed))

    def _pack(self, selected: Any) -> tuple[Any, Packing]:
        """Return a frame with one array for all columns of each type of number, and the places of the columns.

        To hand an array over takes the JVM a quarter less time than its numbers one by one (docs/scale.md).
        """
        from pyspark.sql.functions import array

        packed: dict[str, list[int]] = {}
        for i, field in enumerate(selected.schema.fields):
            packed.setdefault(PACKED_TYPES.get(field.dataType.typeName(), field.name), []).append(i)
        groups = list(packed.values())
        names = selected.columns
        columns = [array(*(names[i] for i in group)) if len(group) > 1 else names[group[0]] for group in groups]
        numbered = selected.select(*columns).toDF(*(f"c{i}" for i in range(len(columns))))
        return numbered, groups

    def choose_kept(self, keep: Sequence[str] | None) -> list[str]:
        """See `DistributedSource.choose_kept`: by default all columns."""
        return self.columns if keep is None else check_kept(self, keep)

    def transform(self, work: Any, kept: Sequence[str], added: pa.Schema, wanted: Collection[str]) -> Any:
        """See `DistributedSource.transform`; the frame is computed when its rows are asked for."""
        names = result_names(self.name, kept, added.names)
        columns = [name for name in self.columns if name in {*wanted, *kept}]
        selected = self._select(columns)
        fields = dict(zip(columns, selected.schema.fields))
        task = TransformTask(work, columns, [f"r{i}" for i in range(len(names))])
        schema = number_fields([*(fields[name].dataType for name in kept), *spark_types(added.types)])
        return selected.mapInArrow(make_runner(task), schema).toDF(*names)

    def _select(self, names: Sequence[str]) -> Any:
        """Return the frame with these columns, named c0, c1, …: Spark takes dots and quotes in names for syntax."""
        numbered = self.frame.toDF(*(f"c{i}" for i in range(len(self.columns))))
        place = {name: i for i, name in enumerate(self.columns)}
        return numbered.select(*(f"c{place[name]}" for name in names))


FILE_ADVICE = "the DataFrame is a plain scan of files, which train(PATH, spark=session) reads faster"


def check_kept(source: Source, keep: Sequence[str]) -> list[str]:
    """Return the names of columns to keep; refuse unknown ones."""
    if isinstance(keep, str):
        raise InputError(f"keep is a list of columns' names, not {keep!r}. Hint: keep=[{keep!r}]")
    for name in keep:
        check_column(source, name, " to keep")
    return list(dict.fromkeys(keep))


def result_names(source: str, kept: Sequence[str], added: Sequence[str]) -> list[str]:
    """Return the names of the columns of a result; refuse a kept one that has the name of an added one."""
    for name in kept:
        if name in added:
            raise InputError(
                f"{source} has a column {name!r}, which is a name of the result. "
                f"Hint: frame.withColumnRenamed({name!r}, …), or keep= names the columns to keep"
            )
    return [*kept, *added]


def spark_types(kinds: Sequence[Any]) -> list[Any]:
    """Return the types of Spark for types of Arrow (`storable_type`)."""
    from pyspark.sql.pandas.types import from_arrow_type

    return [from_arrow_type(storable_type(kind)) for kind in kinds]


def number_fields(kinds: Sequence[Any]) -> Any:
    """Return a schema of Spark with columns r0, r1, … of these types."""
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(f"r{i}", kind) for i, kind in enumerate(kinds)])


def raise_for_all_rows(name: str) -> None:
    """Refuse a function that needs all rows on one machine."""
    raise InputError(
        f"this function reads all rows on one machine, and those of {name} lie on many. "
        f"Hint: a sample of them, frame.sample(0.01).toArrow()"
    )


@contextmanager
def suspend_batch_limit(frame: Any) -> Iterator[None]:
    """Suspend Spark's limit on the bytes of a batch while rows of a frame are handed over whose size is known.

    Spark measures the batch after each row: of 20 numbers, that is a tenth of the time of a training. The number of
    rows of a batch is limited too. A limit that the user has set stays.
    """
    settings = frame.sparkSession.conf
    try:
        n_bytes = 8 * len(frame.columns) * int(settings.get(BATCH_ROWS_SETTING))
        has_fixed_size = all(field.dataType.typeName() in FIXED_SIZE_TYPES for field in frame.schema.fields)
        is_given = settings.get(BATCH_BYTES_SETTING, None) is not None
        is_suspended = has_fixed_size and 0 < n_bytes <= MAX_UNMEASURED_BYTES and not is_given
        if is_suspended:
            settings.set(BATCH_BYTES_SETTING, NO_BATCH_LIMIT)
    except Exception:  # a session whose settings cannot be read or changed: the limit stays
        is_suspended = False
    try:
        yield
    finally:
        if is_suspended:
            settings.unset(BATCH_BYTES_SETTING)


def count_partitions(frame: Any) -> float:
    """Return the number of partitions of a frame; infinity where that is not known before it is computed."""
    try:
        plan = frame._jdf.queryExecution().executedPlan()
        is_known = frame.sparkSession.conf.get(ADAPTIVE_SETTING) == "true" and plan.nodeName() != "AdaptiveSparkPlan"
        return int(plan.execute().getNumPartitions()) if is_known else math.inf  # without an exchange nothing is run
    except Exception:  # a remote session has no plan
        return math.inf


def merge_states(
    states: Any,
    merge: Callable[[T, T], T],
    dump: Callable[[T], bytes],
    load: Callable[[bytes], T],
    n_states: float,
) -> T | None:
    """Return the results of a frame of states merged to one, in a tree whose last stage is the driver; None for none.

    The warnings of tasks are issued, and the error of a task is raised. `n_states` may be infinite.
    """
    from pyspark.sql.functions import col

    groups = [size for size in GROUPS if n_states > size]
    for last, n_groups in zip([*groups[1:], 1], groups):
        task = MergeTask(merge, dump, load, last)
        # without a number of partitions Spark joins small ones to one task
        states = states.repartition(col("place") % n_groups).mapInArrow(make_runner(task), STATE_SCHEMA)
    column = states.toArrow().column("state")
    merged = MergeTask(merge, dump, load, 1).merge_states(state.as_py() for state in column)
    if merged is None:
        return None
    header, content = unpack_state(merged)
    for message in header["warnings"]:
        warnings.warn(message, DecibanWarning, stacklevel=2)
    if header["error"] is not None:
        raise_error(header["error"])
    return load(content)


@contextmanager
def convert_spark_errors() -> Iterator[None]:
    """Raise errors about the Python of the executors, and types that have no Arrow form, as InputErrors."""
    try:
        yield
    except Exception as error:
        _, fault, rest = str(error).partition(f"{EXECUTOR_FAULT} ")
        if fault:
            raise InputError(fault + rest.partition("\n")[0]) from None
        if "UNSUPPORTED_DATA_TYPE" in str(error):
            why = str(error).splitlines()[0]
            raise InputError(f"a column of the DataFrame cannot be read: {why}. Hint: frame.drop(COLUMN)") from None
        raise
