"""Which machine and which versions: a benchmark without them says nothing."""

import os
import platform
from importlib.metadata import version
from pathlib import Path

PARTS = ("numpy", "scipy", "numba", "scikit-learn", "pyarrow", "duckdb", "pandas", "polars")


def processor() -> str:
    """The processor's model as the system names it."""
    info = Path("/proc/cpuinfo")
    names = (
        [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        if info.exists()
        else []
    )
    return names[0] if names else platform.processor() or platform.machine()


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory_gib() -> float:
    """The machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def describe() -> str:
    """One line: processor, cores, memory, system, versions."""
    parts = ", ".join(f"{name} {version(name)}" for name in PARTS)
    hardware = f"{processor()}, {cores()} cores, {memory_gib():.0f} GiB, {platform.system()}"
    return f"{hardware}; Python {platform.python_version()}, {parts}"
