"""Tasks of Spark: what runs on its executors, and how results, errors and warnings travel back to the driver.

A task is a function from Arrow batches to Arrow batches, as `DataFrame.mapInArrow` takes it. It is sent as bytes that
are unpickled only where the executor has the deciban of the driver.
"""

from __future__ import annotations

import gc
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from deciban import errors
from deciban._lazy import pa
from deciban.engines.threads import limit_threads
from deciban.errors import DecibanError, DecibanWarning, InputError
from deciban.sources.arrow_types import from_numpy, to_plain_types
from deciban.sources.source import Source

Batches = Iterator[Any]
Runner = Callable[[Batches], Batches]

STATE_SCHEMA = "place bigint, state binary"
"""The columns of results on their way: the number by which they are grouped to be merged, and their bytes."""

EXECUTOR_FAULT = "deciban on the executors"
"""The beginning of the message about an executor that cannot run the tasks."""

Packing = Sequence[Sequence[int]]
"""The places of the columns that are within each column as it is handed over: one, or several as an array."""

TRANSPOSED_ROWS = 1 << 9
"""Rows of an array of numbers that are transposed at a time."""

GATHERED_BYTES = 1 << 24
"""Bytes of batches that are received from the JVM before their columns are converted."""

RESULT_ROWS = 1 << 16
"""Rows that are handed over to the JVM at a time."""

MAX_WARNINGS = 20
"""The number of different warnings that travel with a result."""

MAX_STATE_BYTES = 1 << 30
"""The greatest size of a result that is sent; a row of Spark holds at most twice as many."""


def make_runner(task: Runner) -> Runner:
    """Return a function for `mapInArrow` that runs a task where the executor has the driver's version of deciban.

    The function is nested, so Spark sends its code and not its name: it can report that deciban is not installed.
    """
    from pyspark import cloudpickle

    dump: Callable[[Any], bytes] = cloudpickle.dumps
    payload, version = dump(task), import_module("deciban").__version__  # by name: no layer may import it
    fault = EXECUTOR_FAULT

    def run(batches: Any) -> Any:
        import pickle
        import sys
        from importlib import import_module

        try:
            found = import_module("deciban").__version__
        except (ImportError, AttributeError):
            found = None
        if found != version:
            has = "is not installed" if found is None else f"is version {found}"
            raise ImportError(
                f"{fault} {has} in {sys.executable}, and on the driver it is version {version}. Hint: install "
                f"deciban=={version} there, or name another Python by PYSPARK_PYTHON or spark.pyspark.python."
            )
        run_limited = import_module("deciban.sources.spark_tasks").run_limited
        yield from run_limited(pickle.loads(payload), batches)

    return run


def run_limited(task: Runner, batches: Batches) -> Batches:
    """Run a task with as many threads as Spark gives it cores (`spark.task.cpus`); other tasks share the machine."""
    from pyspark import TaskContext

    context: Any = TaskContext.get()
    before = pa.cpu_count()
    pa.set_cpu_count(context.cpus())
    try:
        with limit_threads(context.cpus()):
            yield from task(batches)
    finally:
        pa.set_cpu_count(before)  # other code of the user may run in this process next
    _freeze_modules(len(sys.modules))


@cache
def _freeze_modules(n_modules: int) -> None:
    """Exempt the objects of this process from garbage collection, once for each number of modules imported.

    After every task Spark collects all garbage of its process: with compiled kernels 0.1 s, and 1 ms without them.
    """
    gc.collect()
    gc.freeze()


def gather_batches(batches: Batches) -> Iterator[list[Any]]:
    """Yield successive batches together, up to a number of bytes: the columns of each take some time to convert."""
    gathered: list[Any] = []
    n_bytes = 0
    for batch in batches:
        gathered.append(batch)
        n_bytes += batch.nbytes
        if n_bytes >= GATHERED_BYTES:
            yield gathered
            gathered, n_bytes = [], 0
    if gathered:
        yield gathered


def unpack_columns(batches: Sequence[Any], packing: Packing) -> list[Any]:
    """Return the columns of batches in which several numbers of a row are one array."""
    columns: list[Any] = [None] * sum(map(len, packing))
    for i, group in enumerate(packing):
        arrays = [batch.column(i) for batch in batches]
        unpacked = [pa.concat_arrays(arrays)] if len(group) == 1 else _unpack(arrays, len(group))
        for place, column in zip(group, unpacked):
            columns[place] = column
    return columns


def _unpack(arrays: Sequence[Any], width: int) -> list[Any]:
    """Return the `width` columns of arrays of lists, each list a row of `width` numbers."""
    parts = [lists.flatten() for lists in arrays]
    if any(part.null_count for part in parts):
        values = pa.concat_arrays(parts)
        return [values.take(from_numpy(np.arange(j, len(values), width))) for j in range(width)]
    rows = [part.to_numpy(zero_copy_only=True).reshape(-1, width) for part in parts]
    out, at = np.empty((width, sum(map(len, rows))), dtype=rows[0].dtype), 0
    for each in rows:
        for start in range(0, len(each), TRANSPOSED_ROWS):  # tiles that stay in the cache
            tile = each[start : start + TRANSPOSED_ROWS].T
            out[:, at : at + tile.shape[1]] = tile
            at += tile.shape[1]
    return [from_numpy(column) for column in out]


@dataclass
class Part:
    """The rows of one partition of a DataFrame, whose columns have the names of the table; they are read once."""

    reader: Batches
    columns: Sequence[str]
    packing: Packing | None = None
    name: ClassVar[str] = "the DataFrame"
    typed, fills_cores, n_rows = True, False, None

    def head(self, n: int) -> Any:
        """Raise an InputError: the rows are read once."""
        raise InputError("the rows of a part of a DataFrame are read once, and have no head")

    def batches(self, wanted: Any) -> Iterator[Any]:
        """See `Source.batches`."""
        place = {name: i for i, name in enumerate(self.columns)}
        index, names = [place[name] for name in wanted], list(wanted)
        packing = self.packing or [[i] for i in range(len(self.columns))]
        for batches in gather_batches(self.reader):
            received = unpack_columns(batches, packing)
            columns = [received[i] for i in index]
            yield to_plain_types(pa.RecordBatch.from_arrays(columns, names=names))


@dataclass(frozen=True)
class SummariseTask:
    """The work on a partition of a DataFrame with these columns; its result is one row, none if it has no rows."""

    work: Callable[[Source, int], Any]
    dump: Callable[[Any], bytes]
    columns: Sequence[str]
    packing: Packing

    def __call__(self, batches: Batches) -> Batches:
        """Yield the results of a partition."""
        first = next(batches, None)
        if first is not None:
            number = partition_number()
            part = Part(chain([first], batches), self.columns, self.packing)
            yield pack_state(number, lambda: self.dump(self.work(part, number)), f"partition {number} of {part.name}")


@dataclass(frozen=True)
class SplitTask:
    """The work on splits of files, which are named by their numbers in the rows of a partition."""

    work: Callable[[Source, int], Any]
    dump: Callable[[Any], bytes]
    splits: Sequence[Any]

    def __call__(self, batches: Batches) -> Batches:
        """Yield the results of a partition."""
        for number in chain.from_iterable(batch.column(0).to_pylist() for batch in batches):
            state = pack_state(number, lambda: self._work_on(number), "")  # noqa: B023  called at once
            if state is not None:
                yield state

    def _work_on(self, number: int) -> bytes | None:
        with self.splits[number].open() as part:
            return None if part is None else self.dump(self.work(part, number))


@dataclass(frozen=True)
class MergeTask:
    """The merging of all results of a partition to one; `n_groups` is the number of groups of the next merging."""

    merge: Callable[[Any, Any], Any]
    dump: Callable[[Any], bytes]
    load: Callable[[bytes], Any]
    n_groups: int

    def __call__(self, batches: Batches) -> Batches:
        """Yield the results of a partition."""
        states = (state for batch in batches for state in batch.column("state").to_pylist())
        merged = self.merge_states(states)
        if merged is not None:
            place = partition_number() % self.n_groups
            yield pa.RecordBatch.from_pydict({"place": [place], "state": [merged]})

    def merge_states(self, states: Iterator[bytes]) -> bytes | None:
        """Return all results merged to one, with the warnings of all; the first error among them; None for none."""
        messages: dict[str, None] = {}
        first, merged = None, None
        for state in states:
            header, content = unpack_state(state)
            messages.update(dict.fromkeys(header["warnings"]))
            if header["error"] is not None:
                return state
            if first is None:
                first = content
            else:
                merged = self.merge(self.load(first) if merged is None else merged, self.load(content))
        if first is None:
            return None
        return _join_header(None, list(messages), first if merged is None else self.dump(merged))


def partition_number() -> int:
    """Return the number of the partition that this process works on."""
    from pyspark import TaskContext

    context: Any = TaskContext.get()
    return int(context.partitionId())


def pack_state(place: int, work: Callable[[], bytes | None], where: str) -> Any:
    """Return a batch of one row: the result of `work`, or its DecibanError, with warnings; None if `work` gives None.

    `where` begins the message of the error.
    As a result an error fails the whole job at once, and without the traces of Spark; a failed task is tried again.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DecibanWarning)
        error, content = None, None
        try:
            content = work()
            if content is None:
                return None
        except DecibanError as fault:
            error = [type(fault).__name__, f"{where}: {fault}" if where else str(fault)]
    if content is not None and len(content) > MAX_STATE_BYTES:
        large = (
            f"the ledger of one task takes {len(content) >> 20} MiB, and at most {MAX_STATE_BYTES >> 20} MiB can be "
            f"sent. Hint: fewer words, Words(hashed=20); or a category as skip"
        )
        error, content = ["InputError", large], None
    found = dict.fromkeys(str(each.message) for each in caught if issubclass(each.category, DecibanWarning))
    state = _join_header(error, list(found)[:MAX_WARNINGS], content or b"")
    return pa.RecordBatch.from_pydict({"place": [place], "state": [state]})


def _join_header(error: list[str] | None, messages: list[str], content: bytes) -> bytes:
    header = json.dumps({"error": error, "warnings": messages}).encode()
    return len(header).to_bytes(8, "little") + header + content


def unpack_state(state: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the header of a result, error and warnings, and its content."""
    end = 8 + int.from_bytes(state[:8], "little")
    return json.loads(state[8:end]), state[end:]


def raise_error(error: Sequence[str]) -> None:
    """Raise the error that a task has sent as the name of its class and its message."""
    kind = getattr(errors, error[0], InputError)
    raise kind(error[1])


@dataclass(frozen=True)
class TransformTask:
    """The work on a partition of a DataFrame with these columns that yields rows of a new one."""

    work: Callable[[Source, int], Iterator[Any]]
    columns: Sequence[str]
    names: Sequence[str]

    def __call__(self, batches: Batches) -> Batches:
        """Yield the results of a partition."""
        yield from _to_result(self.work(Part(batches, self.columns), partition_number()), self.names)


@dataclass(frozen=True)
class SplitTransformTask:
    """The work on splits of files that yields rows of a DataFrame."""

    work: Callable[[Source, int], Iterator[Any]]
    splits: Sequence[Any]
    names: Sequence[str]

    def __call__(self, batches: Batches) -> Batches:
        """Yield the results of a partition."""
        for number in chain.from_iterable(batch.column(0).to_pylist() for batch in batches):
            with self.splits[number].open() as part:
                if part is not None:
                    yield from _to_result(self.work(part, number), self.names)


def _to_result(batches: Batches, names: Sequence[str]) -> Batches:
    """Yield batches in types that Spark can store, some rows at a time."""
    for batch in batches:
        kinds = [storable_type(column.type) for column in batch.columns]
        # Arrow cannot cast a vector to its own type where one is null
        columns = [x if x.type == kind else x.cast(kind) for x, kind in zip(batch.columns, kinds)]
        made = pa.RecordBatch.from_arrays(columns, names=list(names))
        for start in range(0, made.num_rows, RESULT_ROWS):
            yield made.slice(start, RESULT_ROWS)


def storable_type(kind: Any) -> Any:
    """Return the type in which Spark stores values of an Arrow type: whole numbers are signed, times have µs."""
    types = pa.types
    if types.is_unsigned_integer(kind):
        return pa.decimal128(20, 0) if kind.bit_width == 64 else pa.int64()
    if types.is_float16(kind):
        return pa.float32()
    if types.is_date64(kind):
        return pa.date32()
    if types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    return kind
