"""Class labels in a tensor as codes, counted by class."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.gpu import launch
from deciban.gpu.tensors import import_torch, on_device, to_device, to_numpy, type_name
from deciban.ledger.statistic import compute_offsets

MAX_DEVICE_TABLE_RANGE = 1 << 16
"""Whole numbers within this range are coded through a table."""


@dataclass(frozen=True, eq=False)
class DeviceCodes:
    """The class of each row as an index into the classes, contiguous on a device, and the number of rows of each."""

    tensor: Any
    rows: NDArray[np.int64]
    block_counts: Any = None
    """The rows of each class in blocks of rows, as `launch.count_labels` returns them; None where unknown."""

    def __len__(self) -> int:
        return int(self.tensor.shape[0])

    def __getitem__(self, index: Any) -> "DeviceCodes":
        return DeviceCodes.of(self.tensor[index], len(self.rows))

    @classmethod
    def of(cls, tensor: Any, n_classes: int) -> "DeviceCodes":
        """Count the rows of each class."""
        rows = import_torch().bincount(tensor.long(), minlength=n_classes)
        return cls(tensor.contiguous(), to_numpy(rows))

    @cached_property
    def order(self) -> launch.ClassOrder:
        """The numbers of the rows, in blocks that are sorted by class."""
        return launch.order_rows(self.tensor, self.block_counts, len(self.rows))

    @cached_property
    def sorted_rows(self) -> Any:
        """The numbers of the rows, those of the first class first."""
        torch = import_torch()
        small = self.tensor.to(torch.uint8 if len(self.rows) <= 256 else torch.int32)
        return torch.sort(small, stable=True).indices

    def sum_weights(self, weight: Any) -> Array:
        """Return the weight of the rows of each class; None is a weight of one."""
        if weight is None:
            return self.rows.astype(np.float64)
        torch = import_torch()
        with on_device(weight):
            total = torch.zeros(len(self.rows), dtype=torch.float64, device=weight.device)
            # the rows of a class are summed in their order: `index_add_` would add them in any
            ends = compute_offsets(self.rows)
            in_order = weight[self.sorted_rows]
            for k in np.flatnonzero(self.rows).tolist():
                total[k] = in_order[ends[k] : ends[k + 1]].sum()
            return to_numpy(total)


def encode(y: Any) -> tuple[NDArray[Any], DeviceCodes]:
    """Return the classes of contiguous labels in order, in host memory, and each row's index, on the device."""
    torch = import_torch()
    blocks = launch.count_labels(y)
    if blocks is not None:
        counts = to_numpy(blocks.sum(0))
        if counts.sum() == len(y):
            return _encode_small(y, counts, 0, blocks)
    if not y.dtype.is_floating_point and len(y):
        low, high = (int(end) for end in torch.aminmax(y))
        if high - low < MAX_DEVICE_TABLE_RANGE:
            return _encode_small(y, to_numpy(torch.bincount(y.long() - low)), low)
    classes, codes, counts = torch.unique(y, return_inverse=True, return_counts=True)
    return to_numpy(classes), DeviceCodes(codes.int(), to_numpy(counts))


def _encode_small(
    y: Any, counts: NDArray[np.int64], low: int, blocks: Any = None
) -> tuple[NDArray[Any], DeviceCodes]:
    """Encode labels from `low` on, of which `counts` holds the numbers; labels 0, 1, 2, … are their own codes."""
    present = np.flatnonzero(counts)
    classes = (present + low).astype(type_name(y))
    if low == 0 and len(present) == present[-1] + 1:
        return classes, DeviceCodes(y, counts[present], blocks)
    table = np.zeros(len(counts), dtype=np.int32)
    table[present] = np.arange(len(present))
    return classes, DeviceCodes(to_device(table, y)[y.long() - low], counts[present])


def take(labels: NDArray[Any], codes: Any) -> Any:
    """Return the label of each code, on the device; in host memory where torch cannot index labels of their type."""
    kind, size = labels.dtype.kind, labels.dtype.itemsize
    if kind not in "iufb" or size > 8 or (kind == "u" and size > 1):
        return labels[to_numpy(codes)]
    if labels.dtype == np.int64 and np.array_equal(labels, np.arange(len(labels))):
        return codes
    with on_device(codes):
        return to_device(labels.astype(labels.dtype.newbyteorder("="), copy=False), codes)[codes]
