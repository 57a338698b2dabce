"""Timing of two implementations in one process on equal data, warm and alternating; medians are compared.

Before timing, each side runs every operation once (this compiles kernels and starts thread pools). Then, in each
round, garbage is collected and the two sides alternate in going first.
"""

import gc
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from . import array_cases
from .case import Case, Line, format_seconds

MIN_AGREEMENT = 0.9999
"""The share of predictions that must be equal on both sides."""
SLOW_PEER_SECONDS = 8.0
"""A peer that takes longer is timed in two rounds only."""
ONE_ROW_RATIO = 12.0


def measure_seconds(work: Callable[[], object]) -> float:
    """Measure the seconds of one call; its result is freed afterwards."""
    gc.collect()
    start = time.perf_counter()
    result = work()
    elapsed = time.perf_counter() - start
    del result
    return elapsed


def alternate(ours: Callable[[], object], peer: Callable[[], object], rounds: int) -> tuple[list[float], list[float]]:
    """Time both sides, each going first in every other round; only two rounds if the peer is slow."""
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(rounds):
        for side in (0, 1) if turn % 2 == 0 else (1, 0):
            times[side].append(measure_seconds((ours, peer)[side]))
        if times[1][0] > SLOW_PEER_SECONDS and turn == 1:
            break
    return times


def speed_line(
    name: str, times: tuple[list[float], list[float]], target: float | None, same: float, note: str = ""
) -> Line:
    """Compare the medians; a target is met only where the predictions agree."""
    ours, peer = (statistics.median(side) for side in times)
    ratio = peer / ours
    met = None if target is None else ratio >= target and same >= MIN_AGREEMENT
    notes = f"median of {len(times[0])}; same predictions {same:.3%}" + (f"; {note}" if note else "")
    shown = "no target" if target is None else f"≥ {target:g}×"
    return Line("speed", name, format_seconds(ours), format_seconds(peer), ratio, shown, met, notes, goal=target)


def agreement(ours: Any, peer: Any, X: Any) -> float:
    """Return the share of rows for which both fitted models predict the same class."""
    return float(np.mean(ours.predict(X) == peer.predict(X)))


def time_case(case: Case, scale: float) -> Iterator[Line]:
    """Yield one line per operation of the case."""
    X, y = case.data(scale)
    ours, peer = case.ours().fit(X, y), case.peer().fit(X, y)
    fits = alternate(lambda: case.ours().fit(X, y), lambda: case.peer().fit(X, y), case.rounds)
    same = agreement(ours, peer, X)
    for operation, target in case.targets.items():
        if operation == "fit":
            yield speed_line(f"{case.name}: fit", fits, target, same)
            continue
        run_ours, run_peer = (partial(getattr(model, operation), X) for model in (ours, peer))
        run_ours()
        run_peer()
        times = alternate(run_ours, run_peer, case.rounds)
        yield speed_line(f"{case.name}: {operation}", times, target, same)


def time_one_row(quick: bool) -> Iterator[Line]:
    """Time the prediction of a single row of 100 numbers, after a large fit in the same process."""
    from sklearn.naive_bayes import GaussianNB

    import deciban

    X, y = array_cases.make_single_row_data(5_000 if quick else 200_000)
    ours, peer = deciban.GaussianNB().fit(X, y), GaussianNB().fit(X, y)
    row, calls = X[:1], 20 if quick else 1000
    same = agreement(ours, peer, X)
    ours_times, peer_times = alternate(repeat(ours.predict, row, calls), repeat(peer.predict, row, calls), 7)
    times = ([t / calls for t in ours_times], [t / calls for t in peer_times])
    note = f"{calls} calls each, after a fit of {len(X)} rows"
    yield speed_line("GaussianNB one row, 100 features: predict", times, ONE_ROW_RATIO, same, note)


def repeat(work: Callable[[Any], object], argument: Any, calls: int) -> Callable[[], None]:
    """Return a function that makes this many calls."""

    def run() -> None:
        for _ in range(calls):
            work(argument)

    return run
