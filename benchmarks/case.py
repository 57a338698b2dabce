"""What a benchmark is: data, the two contestants, the operations timed and the targets."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Group = Literal["speed", "memory", "start-up"]
Data = tuple[Any, NDArray[np.int64]]
"""A matrix, dense or CSR, and the labels."""


@dataclass(frozen=True, slots=True)
class Case:
    """One model on one data set, ours against the peer's.

    `data(scale)` builds the data from a fixed seed; scale 1 is the size the name states.
    `targets` says, per operation, how many times faster than the peer we want to be; None is only reported.
    """

    name: str
    data: Callable[[float], Data]
    ours: Callable[[], Any]
    peer: Callable[[], Any]
    targets: Mapping[str, float | None]
    rounds: int = 5
    peak_mib: float | None = 64.0
    """Most memory beyond the inputs and outputs, in MiB."""
    peak_share: float | None = None
    """Most memory as a share of the peer's."""
    memory_operations: tuple[str, ...] = ("fit", "predict")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the report. `ratio` is peer ÷ ours: above 1 we are faster, or smaller."""

    group: Group
    case: str
    ours: str
    peer: str
    ratio: float | None
    target: str
    met: bool | None
    note: str = ""
    goal: float | None = field(default=None, kw_only=True)
    """The least ratio that meets the target, where the target is a ratio."""

    @property
    def verdict(self) -> str:
        """In a word: met, missed, or a dash where nothing was promised."""
        return {True: "met", False: "missed", None: "–"}[self.met]


def rows(full: int, scale: float) -> int:
    """So many rows at this scale, never fewer than a class needs."""
    return max(4000, round(full * scale))


def format_seconds(seconds: float) -> str:
    """Three digits and a unit a person reads at a glance."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}" if seconds < 999 * size else f"{seconds / size:.0f} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def format_mib(mib: float) -> str:
    """MiB, or GiB from one on."""
    return f"{mib / 1024:.2f} GiB" if mib >= 1024 else f"{mib:.1f} MiB"
