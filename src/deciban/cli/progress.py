"""A progress bar for long reads: rows, rate and time left, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from deciban.cli.error_handling import stop_if_interrupted

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput


@contextmanager
def progress(table: TableInput, doing: str, again: str = "evaluating") -> Iterator[Callable[[int], None]]:
    """Yield a function that takes the number of rows read, updates the bar, and raises a suppressed Ctrl-C.

    A number lower than the last one means that a second pass has begun, which `again` describes.
    """
    if not sys.stderr.isatty():
        yield lambda rows: stop_if_interrupted()
        return
    total = table.estimate_rows()
    with make_progress_bar("rows") as bar:
        task = bar.add_task(doing, total=total, rate="")
        last = 0

        def update(rows: int) -> None:
            nonlocal last
            stop_if_interrupted()
            if rows < last:
                bar.reset(task, description=again, total=last)
            last = rows
            known = bar.tasks[task].total
            beyond = rows if known is not None and rows > known else known  # the total was an estimate
            bar.update(task, completed=rows, total=beyond, rate=rate(bar.tasks[task].speed, "rows"))

        yield update


def make_progress_bar(things: str) -> Any:
    """Return a bar that counts things of this name."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.completed:,.0f} " + things),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(compact=True),
        TextColumn("left"),
        console=Console(stderr=True),
        transient=True,
    )


def rate(speed: float | None, things: str) -> str:
    """Format a rate per second; empty while it is unknown."""
    return "" if not speed else f"{speed:,.0f} {things}/s"
