"""The least time of some calls: other work on the machine only adds to it, so one fast call shows that all are."""

import pkgutil
import resource
import time
from collections.abc import Callable
from importlib import import_module
from types import ModuleType


def least(measure: Callable[[], float], enough: float, most_calls: int = 8) -> float:
    """Return the least of up to `most_calls` measurements, of which none follows one that is at most `enough`."""
    measured: list[float] = []
    while len(measured) < most_calls and (not measured or measured[-1] > enough):
        measured.append(measure())
    return min(measured)


def least_seconds(
    call: Callable[[], object], enough: float, most_calls: int = 8, clock: Callable[[], float] = time.process_time
) -> float:
    """Return the least time of up to `most_calls` calls, of which none follows one that took at most `enough`.

    Each call must do the whole work: what a first one keeps for the others is not measured (`clear_caches`).
    """

    def measure() -> float:
        begun = clock()
        call()
        return clock() - begun

    return least(measure, enough, most_calls)


def clear_caches(*packages: ModuleType) -> None:
    """Clear the caches of all functions in the modules of some packages."""
    for package in packages:
        for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            for value in vars(import_module(found.name)).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


def assert_growth(
    call: Callable[[int], object], small: int, large: int, most: float, clock: Callable[[], float] = time.process_time
) -> None:
    """Assert that `call(large)` takes at most `most` times the time of `call(small)`."""
    limit = most * least_seconds(lambda: call(small), 0.0, 3, clock)
    assert least_seconds(lambda: call(large), limit, clock=clock) <= limit


def clock_of_children() -> float:
    """Return the CPU time of all processes that this one has started and waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
