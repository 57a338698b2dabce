"""Rows that do not fit on a GPU, copied to it in batches: the next while the caller learns from this one.

A thread copies rows to pinned memory, and from there they go to the device in a stream of their own; there are three
buffers of either kind. So learning takes as long as the slowest of three: copying to pinned memory, copying to the
device, or the work on it. Rows that are in pinned memory already go to the device from where they are.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import islice, pairwise
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban.errors import InputError
from deciban.gpu.tensors import ROW_TYPES, import_torch, is_torch, on_device

STREAM_BATCH_BYTES = 1 << 28
"""Bytes of a batch, unless its number of rows is given.

A batch of 256 MB is copied in 5 to 11 ms, and learned in 1.2, 0.9 of them in Python. With 64 MB only 20 GB/s in place
of 24 were reached, and from pinned memory 33 in place of 50 to 52.
"""

SLOTS = 3
"""Buffers in pinned memory, and as many on the device: one is learned from, one copied to the device, one filled."""

MAX_ROW_GROUPS_AHEAD = 3
"""Row groups of a Parquet file that are read at the same time."""

COPY_THREADS = 8
"""Threads that copy to pinned memory; one copies about 10 GB/s."""


class HostBatch(NamedTuple):
    """Rows in host memory, as a matrix or as a list of columns, and their labels."""

    X: NDArray[Any] | Sequence[NDArray[Any]]
    y: NDArray[Any]

    def view(self, buffer: Any, width: int) -> Any:
        """Return the rows' place in a flat tensor, rows × columns, column after column where X is a list of them."""
        n = len(self.y)
        flat = buffer[: n * width]
        return flat.view(n, width) if isinstance(self.X, np.ndarray) else flat.view(width, n).T

    def write(self, buffer: Any, width: int, pool: ThreadPoolExecutor) -> None:
        """Copy the rows to their place in a flat tensor in host memory, by several threads."""
        target = self.view(buffer, width)
        if isinstance(self.X, np.ndarray) and _can_share(self.X):
            target.copy_(import_torch().from_numpy(self.X))  # by the threads of torch
            return
        array = target.numpy()
        if isinstance(self.X, np.ndarray):
            cuts = np.linspace(0, len(self.y), COPY_THREADS + 1).astype(int)
            parts = [(array[a:b], self.X[a:b]) for a, b in pairwise(cuts)]
        else:
            parts = [(array[:, j], column) for j, column in enumerate(self.X)]
        list(pool.map(lambda part: np.copyto(part[0], part[1], casting="unsafe"), parts))


def stream_arrays(
    X: Any, y: Any, *, device: str = "cuda", batch_rows: int | None = None
) -> Iterator[tuple[Any, Any]]:
    """Yield batches of rows of an array, which may be a memory map, and of their labels, as tensors on a device.

    A batch is overwritten when the next one is asked for. Labels that are not numbers stay in host memory. Rows in
    pinned memory (`torch.empty(..., pin_memory=True).numpy()`) are copied at the rate of the link, others at that of
    a copy in host memory.
    """
    X, y = _read_array(X, "X"), _read_array(y, "y")
    if X.dtype.name not in ROW_TYPES:
        raise InputError(f"X holds values of type {X.dtype}. Hint: X.astype(np.float64)")
    if X.ndim != 2 or y.ndim != 1 or len(X) != len(y):
        raise InputError(
            f"X has the shape {X.shape} and y {y.shape}; rows × features and a label for each row are streamed"
        )
    step = _choose_batch_rows(batch_rows, X.shape[1] * X.dtype.itemsize)
    batches = (HostBatch(X[a : a + step], y[a : a + step]) for a in range(0, len(X), step))
    return _copy_ahead(batches, (min(step, max(len(X), 1)), X.shape[1]), X.dtype, device, _is_pinned(X))


def _read_array(values: Any, name: str) -> NDArray[Any]:
    """Return rows or labels as an array, of the same memory where they are one; refuse those on a device."""
    if is_torch(values) and values.device.type != "cpu":
        raise InputError(
            f"{name} is on {values.device}; rows in host memory are streamed. Hint: a tensor on a device is learned "
            f"by fit, or in parts by partial_fit(X[a:b], y[a:b], classes=...)"
        )
    return np.asarray(values)


def _can_share(array: NDArray[Any]) -> bool:
    """Return whether torch reads the memory of an array: of its own byte order, and with whole positive strides."""
    is_regular = all(stride >= 0 and stride % array.itemsize == 0 for stride in array.strides)
    return array.flags.writeable and array.dtype.isnative and is_regular


def _is_pinned(X: NDArray[Any]) -> bool:
    """Return whether a GPU can read the rows from where they are: contiguous, in pinned memory."""
    is_plain = X.flags.c_contiguous and _can_share(X) and X.size > 0
    return bool(is_plain and import_torch().from_numpy(X).is_pinned())


def stream_parquet(
    path: str | PathLike[str], target: str, *, device: str = "cuda", batch_rows: int | None = None
) -> Iterator[tuple[Any, Any]]:
    """Yield batches of the columns of a Parquet file, but the target, and of the target, as tensors on a device.

    The columns are numbers; a null is NaN. Rows are in single precision where every column is, else in double. A
    batch is overwritten when the next one is asked for.
    """
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        schema, n_groups = file.schema_arrow, file.num_row_groups
    if target not in schema.names:
        raise InputError(f"{path} has no column {target!r}. Hint: one of {', '.join(schema.names)}")
    features = [field for field in schema if field.name != target]
    for field in features:
        if not (pa.types.is_integer(field.type) or pa.types.is_floating(field.type)):
            raise InputError(
                f"column {field.name!r} of {path} is of type {field.type}; numbers are streamed to a GPU"
            )
    is_single = all(
        field.type in (pa.float32(), pa.float16(), pa.int8(), pa.uint8(), pa.int16()) for field in features
    )
    dtype = np.dtype(np.float32 if is_single else np.float64)
    step = _choose_batch_rows(batch_rows, len(features) * dtype.itemsize)

    def read() -> Iterator[HostBatch]:
        for table in _read_row_groups(path, n_groups):
            for a in range(0, len(table), step):
                part = table.slice(a, step)
                columns = [part.column(field.name).to_numpy() for field in features]
                yield HostBatch(columns, part.column(target).to_numpy())

    return _copy_ahead(read(), (step, len(features)), dtype, device)


def _read_row_groups(path: str | PathLike[str], n_groups: int) -> Iterator[Any]:
    """Yield the row groups of a Parquet file as tables; some are read at the same time."""
    from pyarrow.parquet import ParquetFile

    def read(group: int) -> Any:
        with ParquetFile(path) as file:
            return file.read_row_group(group)

    with ThreadPoolExecutor(MAX_ROW_GROUPS_AHEAD) as pool:
        ahead: deque[Future[Any]] = deque()
        for i in range(n_groups + MAX_ROW_GROUPS_AHEAD):
            if i < n_groups:
                ahead.append(pool.submit(read, i))
            if ahead and (len(ahead) > MAX_ROW_GROUPS_AHEAD or i >= n_groups):
                yield ahead.popleft().result()


def _choose_batch_rows(given: int | None, row_bytes: int) -> int:
    """Return the number of rows of a batch."""
    if given is not None and given < 1:
        raise InputError(f"batch_rows={given} must be at least 1")
    return given or max(1, STREAM_BATCH_BYTES // max(1, row_bytes))


def _copy_ahead(
    batches: Iterator[HostBatch], shape: tuple[int, int], dtype: np.dtype[Any], device: str, pinned: bool = False
) -> Iterator[tuple[Any, Any]]:
    """Yield batches on a device, the next one on its way; on "cpu" each is a copy in host memory."""
    torch = import_torch()
    if _find_device_type(device) == "cpu":
        with ThreadPoolExecutor(1) as pool:
            for batch in batches:
                buffer = torch.empty(len(batch.y) * shape[1], dtype=getattr(torch, dtype.name))
                batch.write(buffer, shape[1], pool)
                yield batch.view(buffer, shape[1]), _read_labels(batch.y)
        return
    if not torch.cuda.is_available():
        raise InputError(
            f"no batch can be copied to {device!r}: torch {torch.__version__} finds no GPU with a driver. "
            f"Hint: nvidia-smi shows both; device='cpu' streams in host memory"
        )
    with on_device(torch.empty(0, device=device)):
        yield from _Copies(shape, getattr(torch, dtype.name), device, pinned).run(batches)


def _find_device_type(device: Any) -> str:
    """Return "cuda" or "cpu"; refuse other devices."""
    try:
        kind = str(import_torch().device(device).type)
    except (RuntimeError, TypeError):
        kind = ""
    if kind not in ("cuda", "cpu"):
        raise InputError(f"device={device!r} must be a GPU or host memory. Hint: 'cuda', 'cuda:1', or 'cpu'")
    return kind


class _Copies:
    """Buffers in pinned memory, unless the rows are pinned, and on the device, and the events that guard them."""

    def __init__(self, shape: tuple[int, int], dtype: Any, device: str, pinned: bool) -> None:
        torch, size = import_torch(), shape[0] * shape[1]
        self.device, (self.batch_rows, self.width) = device, shape
        self.pinned = [torch.empty(size, dtype=dtype, pin_memory=True) for _ in range(0 if pinned else SLOTS)]
        self.rows = [torch.empty(size, dtype=dtype, device=device) for _ in range(SLOTS)]
        self.labels: list[Any] = [None] * SLOTS
        self.stream = torch.cuda.Stream(device)
        self.copied = [torch.cuda.Event() for _ in range(SLOTS)]
        self.released = [torch.cuda.Event() for _ in range(SLOTS)]

    def run(self, batches: Iterator[HostBatch]) -> Iterator[tuple[Any, Any]]:
        """Yield batches on the device; a slot is filled again when the caller has asked for the next batch."""
        torch = import_torch()
        numbered = enumerate(batches)
        with ThreadPoolExecutor(COPY_THREADS) as writers, ThreadPoolExecutor(1) as pool:
            waiting: list[Future[Any]] = [pool.submit(self._copy_next, numbered, writers) for _ in range(SLOTS)]
            try:
                while (found := waiting.pop(0).result()) is not None:
                    slot, rows, labels = found
                    current = torch.cuda.current_stream(self.device)
                    current.wait_event(self.copied[slot])
                    yield rows, labels
                    self.released[slot].record(current)
                    waiting.append(pool.submit(self._copy_next, numbered, writers))
            finally:  # the caller may have stopped early: no buffer is given back while it is read or written
                wait(waiting)
                self.stream.synchronize()

    def _copy_next(self, numbered: Any, writers: ThreadPoolExecutor) -> tuple[int, Any, Any] | None:
        """Copy the next batch; return its slot, its rows and its labels, or None after the last."""
        torch = import_torch()
        for i, batch in islice(numbered, 1):
            slot, size = i % SLOTS, len(batch.y) * self.width
            self.copied[slot].synchronize()  # of the batch before: its pinned buffer is read no more
            source = self._pin(batch, slot, writers)[:size]
            self.stream.wait_event(self.released[slot])
            with torch.cuda.stream(self.stream):
                self.rows[slot][:size].copy_(source, non_blocking=True)
                labels = self._copy_labels(batch.y, slot)
                self.copied[slot].record(self.stream)
            return slot, batch.view(self.rows[slot], self.width), labels
        return None

    def _pin(self, batch: HostBatch, slot: int, writers: ThreadPoolExecutor) -> Any:
        """Return the rows as a flat tensor in pinned memory, copied to a buffer unless they are in such memory."""
        if not self.pinned:
            return import_torch().from_numpy(batch.X).view(-1)
        batch.write(self.pinned[slot], self.width, writers)
        return self.pinned[slot]

    def _copy_labels(self, y: NDArray[Any], slot: int) -> Any:
        """Copy labels to the device through buffers of their own; those that are not numbers stay as they are."""
        torch, source = import_torch(), _read_labels(y)
        if isinstance(source, np.ndarray):
            return source
        if self.labels[slot] is None or self.labels[slot][0].dtype != source.dtype:
            size = max(len(y), self.batch_rows)
            pinned = torch.empty(size, dtype=source.dtype, pin_memory=True)
            self.labels[slot] = pinned, torch.empty(size, dtype=source.dtype, device=self.device)
        pinned, labels = (buffer[: len(y)] for buffer in self.labels[slot])
        pinned.copy_(source)
        return labels.copy_(pinned, non_blocking=True)


def _read_labels(y: NDArray[Any]) -> Any:
    """Return labels as a tensor, of the same memory if possible; those of types that none has stay as they are."""
    if y.dtype.name not in ROW_TYPES:
        return y
    return import_torch().from_numpy(y if _can_share(y) else y.astype(y.dtype.newbyteorder("=")))
