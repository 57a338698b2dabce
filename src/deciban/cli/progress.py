"""A bar for long readings: rows, rate and time left, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from deciban.cli.error_handling import stop_if_interrupted

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput


@contextmanager
def progress(table: TableInput, doing: str, again: str = "judging") -> Iterator[Callable[[int], None]]:
    """Something to tell the number of rows read, which also notices Ctrl-C.

    A number lower than the last one means that a second reading has begun, for what `again` says.
    """
    if not sys.stderr.isatty():
        yield lambda rows: stop_if_interrupted()
        return
    total = table.guessed_rows()
    with make_progress_bar("rows") as bar:
        task = bar.add_task(doing, total=total, rate="")
        last = 0

        def tell(rows: int) -> None:
            nonlocal last
            stop_if_interrupted()
            if rows < last:
                bar.reset(task, description=again, total=last)
            last = rows
            known = bar.tasks[task].total
            beyond = rows if known is not None and rows > known else known  # the total was a guess
            bar.update(task, completed=rows, total=beyond, rate=rate(bar.tasks[task].speed, "rows"))

        yield tell


def make_progress_bar(things: str) -> Any:
    """A bar that counts these things."""
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
    """How many a second; nothing before that is known."""
    return "" if not speed else f"{speed:,.0f} {things}/s"
