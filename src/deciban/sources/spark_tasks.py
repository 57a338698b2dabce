"""Tasks of Spark: what runs on its executors, and how results, errors and warnings travel back to the driver.

A task is a function from Arrow batches to Arrow batches, as `DataFrame.mapInArrow` takes it. It is sent as bytes that
are unpickled only where the executor has the deciban of the driver.
"""

from __future__ import annotations

import json

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

from deciban import errors
from deciban._lazy import pa
from deciban.errors import DecibanError, DecibanWarning, InputError
from deciban.sources.arrow_types import to_plain_types
from deciban.sources.source import Source

Batches = Iterator[Any]
Runner = Callable[[Batches], Batches]

STATE_SCHEMA = "place bigint, state binary"
"""The columns of results on their way: the number by which they are grouped to be merged, and their bytes."""

EXECUTOR_FAULT = "deciban on the executors"
"""The beginning of the message about an executor that cannot run the tasks."""

MAX_WARNINGS = 20
"""The number of different warnings that travel with a result."""

MAX_STATE_BYTES = 1 << 30
"""The greatest size of a result that is sent; a row of Spark holds at most twice as many."""


def make_runner(task: Runner) -> Runner:
    """Return a function for `mapInArrow` that runs a task where the executor has the driver's version of deciban.

    Being defined within a function it is sent by its code, so that it can report that there is no deciban at all.
    """
    from pyspark import cloudpickle

    import deciban

    payload, version = cloudpickle.dumps(task), deciban.__version__
    fault = EXECUTOR_FAULT

    def run(batches: Any) -> Any:
        import pickle
        import sys

        try:
            import deciban

            found = deciban.__version__
        except (ImportError, AttributeError):
            found = None
        if found != version:
            has = "is not installed" if found is None else f"is version {found}"
            raise ImportError(
                f"{fault} {has} in {sys.executable}, and on the driver it is version {version}. Hint: install "
                f"deciban=={version} there, or name another Python by PYSPARK_PYTHON or spark.pyspark.python."
            )
        yield from pickle.loads(payload)(batches)

    return run


@dataclass
class Part:
    """The rows of one partition of a DataFrame, whose columns have the names of the table; they are read once."""

    reader: Batches
    columns: Sequence[str]
    passed: Callable[[Any], None] | None = None
    """A function that is called with every batch as it was received."""
    name: ClassVar[str] = "the DataFrame"
    typed, fills_cores, n_rows = True, False, None

    def head(self, n: int) -> Any:
        """See `Source.head`."""
        raise InputError("the rows of a part of a DataFrame are read once, and have no head")

    def batches(self, wanted: Any) -> Iterator[Any]:
        """See `Source.batches`."""
        place = {name: i for i, name in enumerate(self.columns)}
        index, names = [place[name] for name in wanted], list(wanted)
        for batch in self.reader:
            if self.passed is not None:
                self.passed(batch)
            columns = [batch.column(i) for i in index]
            yield to_plain_types(pa.RecordBatch.from_arrays(columns, names=names))


@dataclass(frozen=True)
class SummariseTask:
    """The work on a partition of a DataFrame with these columns; its result is one row, none if it has no rows."""

    work: Callable[[Source, int], Any]
    dump: Callable[[Any], bytes]
    columns: Sequence[str]

    def __call__(self, batches: Batches) -> Batches:
        first = next(batches, None)
        if first is not None:
            number = partition_number()
            part = Part(chain([first], batches), self.columns)
            yield pack_state(number, lambda: self.dump(self.work(part, number)), f"partition {number} of {part.name}")


@dataclass(frozen=True)
class SplitTask:
    """The work on splits of files, which are named by their numbers in the rows of a partition."""

    work: Callable[[Source, int], Any]
    dump: Callable[[Any], bytes]
    splits: Sequence[Any]

    def __call__(self, batches: Batches) -> Batches:
        for number in chain.from_iterable(batch.column(0).to_pylist() for batch in batches):
            yield pack_state(number, lambda: self._work_on(number), "")  # noqa: B023  called at once

    def _work_on(self, number: int) -> bytes:
        with self.splits[number].open() as part:
            return self.dump(self.work(part, number))


@dataclass(frozen=True)
class MergeTask:
    """The merging of all results of a partition to one; `n_groups` is the number of groups of the next merging."""

    merge: Callable[[Any, Any], Any]
    dump: Callable[[Any], bytes]
    load: Callable[[bytes], Any]
    n_groups: int

    def __call__(self, batches: Batches) -> Batches:
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


def pack_state(place: int, work: Callable[[], bytes], where: str) -> Any:
    """Return the row of a result, or of the error of deciban that the work has raised, with the warnings of both.

    As a result an error fails the whole job at once, and without the traces of Spark; a failed task is tried again.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DecibanWarning)
        error, content = None, b""
        try:
            content = work()
        except DecibanError as fault:
            error = [type(fault).__name__, f"{where}: {fault}" if where else str(fault)]
    if len(content) > MAX_STATE_BYTES:
        error, content = ["InputError", _describe_large_state(len(content))], b""
    found = dict.fromkeys(str(each.message) for each in caught if issubclass(each.category, DecibanWarning))
    state = _join_header(error, list(found)[:MAX_WARNINGS], content)
    return pa.RecordBatch.from_pydict({"place": [place], "state": [state]})


def _describe_large_state(n_bytes: int) -> str:
    return (
        f"the ledger of one task takes {n_bytes >> 20} MiB, and at most {MAX_STATE_BYTES >> 20} MiB can be sent. "
        f"Hint: fewer words, Words(hashed=20) or Words(min_count=…); or a category as skip"
    )


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
    """The work on a partition that yields further columns, which follow those of the partition."""

    work: Callable[[Source, int], Iterator[Any]]
    columns: Sequence[str]
    names: Sequence[str]

    def __call__(self, batches: Batches) -> Batches:
        received: list[Any] = []
        part = Part(batches, self.columns, received.append)
        for batch in self.work(part, partition_number()):
            at = 0
            while at < batch.num_rows:
                first = received[0]
                n = min(first.num_rows, batch.num_rows - at)
                columns = [*first.slice(0, n).columns, *batch.slice(at, n).columns]
                yield pa.RecordBatch.from_arrays(columns, names=list(self.names))
                received[0], at = first.slice(n), at + n
                if not received[0].num_rows:
                    received.pop(0)


@dataclass(frozen=True)
class SplitTransformTask:
    """The work on splits of files that yields rows of a new table."""

    work: Callable[[Source, int], Iterator[Any]]
    splits: Sequence[Any]
    names: Sequence[str]

    def __call__(self, batches: Batches) -> Batches:
        for number in chain.from_iterable(batch.column(0).to_pylist() for batch in batches):
            with self.splits[number].open() as part:
                for batch in self.work(part, number):
                    yield pa.RecordBatch.from_arrays(batch.columns, names=list(self.names))


