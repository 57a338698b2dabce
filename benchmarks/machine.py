"""The machine and the library versions of a measurement."""

import os
import platform
from importlib.metadata import version
from pathlib import Path

LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn", "pyarrow", "duckdb", "pandas", "polars")


def processor_name() -> str:
    """Return the processor's model name."""
    info = Path("/proc/cpuinfo")
    names = (
        [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        if info.exists()
        else []
    )
    return names[0] if names else platform.processor() or platform.machine()


def count_cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory_gib() -> float:
    """Return the memory of the machine in GiB."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def read_status(field: str, process: int | str = "self") -> float:
    """Read a figure of a process, by its number, from /proc, in MiB."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field + ":")).split()[1]) / 1024


def describe() -> str:
    """Describe processor, cores, memory, system and versions in one line."""
    parts = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    hardware = f"{processor_name()}, {count_cores()} cores, {memory_gib():.0f} GiB, {platform.system()}"
    return f"{hardware}; Python {platform.python_version()}, {parts}"
