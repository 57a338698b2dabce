"""Peak memory of one operation, in a process of its own.

The child builds the data, runs the same operation on a tenth of the rows (so that imports, kernels, thread
pools and buffers that stay are not counted), gives freed memory back to the system, resets the kernel's
high-water mark of resident memory (Linux: 5 into /proc/self/clear_refs) and runs the operation. The figure is
VmHWM after it minus VmRSS before it. What the operation returns is subtracted, except that a fitted model is
counted as part of its fit, on both sides.
"""

import ctypes
import gc
import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from . import child
from .case import Case, Line, format_mib
from .cases import named

STATUS, MARK = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def status(field: str) -> float:
    """A figure of /proc/self/status, in MiB."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field + ":"))
    return int(line.split()[1]) / 1024


def settle() -> None:
    """Collect garbage, give freed pages back, reset the high-water mark."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    MARK.write_text("5")


def peak(case: Case, side: str, operation: str, scale: float) -> float:
    """MiB that one operation needed at its height, beyond the inputs and what it returned."""
    X, y = case.data(scale)
    make = case.ours if side == "ours" else case.peer
    tenth = max(len(y) // 10, 2000)
    warm = make().fit(X[:tenth], y[:tenth])
    if operation != "fit":
        getattr(warm, operation)(X[:tenth])
    del warm
    model = make() if operation == "fit" else make().fit(X, y)
    arguments = (X, y) if operation == "fit" else (X,)
    settle()
    before = status("VmRSS")
    result: Any = getattr(model, operation)(*arguments)
    returned = result.nbytes / 2**20 if isinstance(result, np.ndarray) else 0.0
    return max(0.0, status("VmHWM") - before - returned)


def memory_lines(case: Case, scale: float) -> Iterator[Line]:
    """One line per operation whose memory the case speaks about."""
    if not MARK.exists():
        return
    for operation in case.memory_operations:
        ours, peer = (
            child.run("-m", "benchmarks.memory", case.name, side, operation, str(scale)) for side in ("ours", "peer")
        )
        yield judge(case, operation, ours, peer)


def judge(case: Case, operation: str, ours: float, peer: float) -> Line:
    """Ours against the limit in MiB, or against a share of the peer's."""
    target, met, goal = "no target", None, None
    if case.peak_mib is not None:
        target, met = f"≤ {case.peak_mib:g} MiB", ours <= case.peak_mib
    if case.peak_share is not None:
        target, met, goal = (
            f"≤ {case.peak_share:g} of peer",
            ours <= case.peak_share * peer,
            1 / case.peak_share,
        )
    name = f"{case.name}: {operation}"
    ratio = peer / ours if ours else None
    return Line("memory", name, format_mib(ours), format_mib(peer), ratio, target, met, goal=goal)


if __name__ == "__main__":
    name, side, operation, scale = sys.argv[1:]
    print(json.dumps(peak(named(name), side, operation, float(scale))))
