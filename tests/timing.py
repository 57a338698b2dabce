"""The least time of some calls: other work on the machine only adds to it, so one fast call shows that all are."""

import resource
import time
from collections.abc import Callable


def least_seconds(
    call: Callable[[], object], enough: float, most_calls: int = 8, clock: Callable[[], float] = time.process_time
) -> float:
    """Return the least time of up to `most_calls` calls, of which none follows one that took at most `enough`.

    Each call must do the whole work: what a first one keeps for the others is not measured.
    """
    took: list[float] = []
    while len(took) < most_calls and (not took or took[-1] > enough):
        begun = clock()
        call()
        took.append(clock() - begun)
    return min(took)


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
