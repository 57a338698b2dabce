"""The report: a table on the terminal, a page of Markdown."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path

from rich.console import Console
from rich.table import Table

from . import machine
from .case import Group, Line

TITLES: dict[Group, str] = {"speed": "Speed", "memory": "Peak memory", "start-up": "Start-up"}
COLUMNS = ("case", "ours", "peer", "ratio", "target", "verdict")

PAGE = """# Benchmarks

deciban against scikit-learn (and, for files, DuckDB; for text, fastText and Vowpal Wabbit; for mail, bogofilter),
side by side. Written by `make bench` on {date}; do not edit.

Machine: {machine}.

{summary}

![Ratios to the peer with their targets]({picture})

How it is measured. *Ratio* is the peer's figure divided by ours: above 1 we are faster or smaller.

- *Speed*: both in one process on the same data from a fixed seed, each run once untimed, then taking turns
  with garbage collected in between; the medians are compared, and a target counts as met only where at least
  99.99 % of the predictions on all rows are the same.
- *Memory*: a fresh process for each figure; resident memory at its height minus resident memory just before,
  with the inputs in place and the kernels warmed up on a tenth of the rows, and minus the arrays returned; a
  fitted model counts as part of its fit.
- *Start-up*: fresh processes; the clock runs inside them from the first import; "no kernel cache" points
  Numba to an empty folder; "read-only" is a copy of the package where no cache can be written at all.
"""


def cells(line: Line) -> tuple[str, ...]:
    """The line as text, one cell a column."""
    ratio = "–" if line.ratio is None else f"{line.ratio:.3g}×" if line.ratio < 100 else f"{line.ratio:.0f}×"
    return line.case, line.ours, line.peer, ratio, line.target, line.verdict


def summary(lines: Sequence[Line]) -> str:
    """How many targets were met."""
    judged = [line for line in lines if line.met is not None]
    return f"{sum(line.met is True for line in judged)} of {len(judged)} targets met."


def show(lines: Sequence[Line], console: Console, title: str) -> None:
    """Print the lines as one table."""
    table = Table(*COLUMNS[:1], title=title)
    for column in COLUMNS[1:5]:
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column(COLUMNS[5], no_wrap=True)
    group: Group | None = None
    for line in lines:
        if line.group != group:
            group = line.group
            table.add_section()
            table.add_row(f"[bold]{TITLES[group]}[/bold]")
        style = {True: "green", False: "bold red", None: ""}[line.met]
        *texts, verdict = cells(line)
        table.add_row(*texts, f"[{style}]{verdict}[/{style}]" if style else verdict)
    console.print(table)
    console.print(summary(lines))


def markdown(lines: Sequence[Line], picture: str) -> str:
    """The page: what, where, how, and a table for each group."""
    page = [
        PAGE.format(
            date=date.today().isoformat(), machine=machine.describe(), summary=summary(lines), picture=picture
        )
    ]
    for group, title in TITLES.items():
        if not any(line.group == group for line in lines):
            continue
        page.append(f"## {title}\n")
        page.append("| " + " | ".join((*COLUMNS, "note")) + " |\n|---|--:|--:|--:|--:|---|---|")
        page.extend("| " + " | ".join((*cells(line), line.note)) + " |" for line in lines if line.group == group)
        page.append("")
    return "\n".join(page)


def write(lines: Sequence[Line], folder: Path, name: str) -> list[Path]:
    """Write page and picture; gives their paths."""
    from . import chart

    page, picture = folder / f"{name}.md", folder / f"{name}.png"
    page.write_text(markdown(lines, picture.name), encoding="utf-8")
    chart.draw(lines, picture)
    return [page, picture]
