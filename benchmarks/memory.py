"""Peak memory of one operation, measured in a separate process.

The child builds the data, runs the operation on a tenth of the rows (so that imports, kernels, thread
pools and persistent buffers are not counted), returns freed memory to the system, resets the kernel's
high-water mark of resident memory (Linux: 5 into /proc/self/clear_refs) and runs the operation. The figure is
VmHWM after it minus VmRSS before it. The returned array is subtracted; a fitted model counts as part of its fit,
on both sides.
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

from . import child, machine
from .array_cases import find_case
from .case import Case, Line, format_mib

HIGH_WATER_RESET_FILE = Path("/proc/self/clear_refs")


def reset_high_water_mark() -> None:
    """Collect garbage, return freed pages to the system, reset the high-water mark."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    HIGH_WATER_RESET_FILE.write_text("5")


def measure_peak(case: Case, side: str, operation: str, scale: float) -> float:
    """Return the peak memory of one operation in MiB, beyond the inputs and the returned array."""
    X, y = case.data(scale)
    make = case.ours if side == "ours" else case.peer
    tenth = max(len(y) // 10, 2000)
    warm = make().fit(X[:tenth], y[:tenth])
    if operation != "fit":
        getattr(warm, operation)(X[:tenth])
    del warm
    model = make() if operation == "fit" else make().fit(X, y)
    arguments = (X, y) if operation == "fit" else (X,)
    reset_high_water_mark()
    before = machine.read_status("VmRSS")
    result: Any = getattr(model, operation)(*arguments)
    returned = result.nbytes / 2**20 if isinstance(result, np.ndarray) else 0.0
    return max(0.0, machine.read_status("VmHWM") - before - returned)


def memory_lines(case: Case, scale: float) -> Iterator[Line]:
    """Yield one line per operation whose memory the case measures."""
    if not HIGH_WATER_RESET_FILE.exists():
        return
    for operation in case.memory_operations:
        ours, peer = (
            child.run("-m", "benchmarks.memory", case.name, side, operation, str(scale)) for side in ("ours", "peer")
        )
        yield compare_peaks(case, operation, ours, peer)


def compare_peaks(case: Case, operation: str, ours: float, peer: float) -> Line:
    """Compare our peak with the limit in MiB, or with a share of the peer's."""
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
    print(json.dumps(measure_peak(find_case(name), side, operation, float(scale))))
