"""Definitions of a benchmark: a case to measure, a line of the report, and the formatting of times and sizes."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Group = Literal["speed", "memory", "start-up"]
Data = tuple[Any, NDArray[np.int64]]
"""A matrix, dense or CSR, and the labels."""

MIN_ROWS = 4000
"""Rows of the smallest data set, so that every class has some at any scale."""


@dataclass(frozen=True, slots=True)
class Case:
    """One model on one data set, our implementation against the peer's.

    `data(scale)` builds the data from a fixed seed; scale 1 is the size stated in the name.
    `targets` gives, per operation, the required ratio of the peer's time to ours; None is only reported.
    """

    name: str
    data: Callable[[float], Data]
    ours: Callable[[], Any]
    peer: Callable[[], Any]
    targets: Mapping[str, float | None]
    rounds: int = 5
    peak_mib: float | None = 64.0
    """The maximal memory beyond the inputs and outputs, in MiB."""
    peak_share: float | None = None
    """The maximal memory as a share of the peer's."""
    memory_operations: tuple[str, ...] = ("fit", "predict")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the report. `ratio` is peer ÷ ours: above 1 we are faster, or need less memory."""

    group: Group
    case: str
    ours: str
    peer: str
    ratio: float | None
    target: str
    met: bool | None
    note: str = ""
    goal: float | None = field(default=None, kw_only=True)
    """The smallest ratio that meets the target, where the target is a ratio."""

    @property
    def verdict(self) -> str:
        """Met, missed, or a dash where there is no target."""
        return {True: "met", False: "missed", None: "–"}[self.met]


Job = tuple[str, Callable[[], Iterator[Line]]]
"""A measurement and its name, which `python -m benchmarks --only` is matched against."""


def scale_rows(full: int, scale: float) -> int:
    """Return the number of rows at this scale, at least `MIN_ROWS`."""
    return max(MIN_ROWS, round(full * scale))


def format_seconds(seconds: float) -> str:
    """Format a time with three digits and a unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}" if seconds < 999 * size else f"{seconds / size:.0f} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def format_mib(mib: float) -> str:
    """Format a size in MiB, or in GiB from one on."""
    return f"{mib / 1024:.2f} GiB" if mib >= 1024 else f"{mib:.1f} MiB"
