"""The report of a benchmark run: a table on the terminal, a Markdown page and its bar chart."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from . import machine
from .case import Group, Line

TITLES: dict[Group, str] = {"speed": "Speed", "memory": "Peak memory", "start-up": "Start-up"}
COLUMNS = ("case", "ours", "peer", "ratio", "target", "verdict")
BAR_COLOURS = {True: "0.55", False: "white"}
BAR_HATCHES = {True: "", False: "////"}
BAR_LABELS = {True: "target met", False: "target missed"}

PAGE = """# {title}

deciban against scikit-learn (and, for files, DuckDB; for text, fastText and Vowpal Wabbit; for mail, bogofilter; as a
service, MLServer; for data in a cluster or a database, Spark MLlib and plain SQL).
Written by `make bench` on {date}; do not edit.

Machine: {machine}.

{summary}

![Ratios to the peer with their targets]({picture})

*Ratio* is the peer's figure divided by ours: above 1 we are faster or need less memory.

- *Speed*: both in one process on the same data from a fixed seed, each run once untimed, then alternating
  with garbage collected in between; the medians are compared, and a target is met only where at least
  99.99 % of the predictions on all rows agree.
- *Memory*: a fresh process for each figure; peak resident memory minus resident memory just before,
  with the inputs loaded and the kernels warmed up on a tenth of the rows, and minus the arrays returned; a
  fitted model counts as part of its fit.
- *Start-up*: fresh processes; time is measured inside them from the first import; "no kernel cache" points
  Numba to an empty folder; "read-only" is a copy of the package where no cache can be written.
"""


def format_ratio(ratio: float) -> str:
    """Format a ratio with three digits, or as a whole number from 100 on."""
    return f"{ratio:.3g}×" if ratio < 100 else f"{ratio:.0f}×"


def format_cells(line: Line) -> tuple[str, ...]:
    """Format a line as texts, one per column."""
    ratio = "–" if line.ratio is None else format_ratio(line.ratio)
    return line.case, line.ours, line.peer, ratio, line.target, line.verdict


def summarise(lines: Sequence[Line]) -> str:
    """State how many targets were met."""
    verdicts = [line.met for line in lines if line.met is not None]
    return f"{sum(verdicts)} of {len(verdicts)} targets met."


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
        *texts, verdict = format_cells(line)
        table.add_row(*texts, f"[{style}]{verdict}[/{style}]" if style else verdict)
    console.print(table)
    console.print(summarise(lines))


def format_page(lines: Sequence[Line], picture: str) -> str:
    """Format the Markdown page: machine, method, and a table for each group."""
    title = picture.removesuffix(".png").capitalize().replace("-", ": ")
    facts = {"date": date.today().isoformat(), "machine": machine.describe(), "summary": summarise(lines)}
    page = [PAGE.format(title=title, picture=picture, **facts)]
    for group, title in TITLES.items():
        if not any(line.group == group for line in lines):
            continue
        page.append(f"## {title}\n")
        page.append("| " + " | ".join((*COLUMNS, "note")) + " |\n|---|--:|--:|--:|--:|---|---|")
        page.extend(
            "| " + " | ".join((*format_cells(line), line.note)) + " |" for line in lines if line.group == group
        )
        page.append("")
    return "\n".join(page)


def write(lines: Sequence[Line], folder: Path, name: str) -> list[Path]:
    """Write the page and the chart; return their paths."""
    page, picture = folder / f"{name}.md", folder / f"{name}.png"
    page.write_text(format_page(lines, picture.name), encoding="utf-8")
    draw_chart(lines, picture)
    return [page, picture]


def draw_chart(lines: Sequence[Line], path: Path) -> None:
    """Draw one bar per line whose target is a ratio, on a log scale, readable in grey; targets are black ticks."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    bars = [line for line in lines if line.ratio is not None and line.goal is not None]
    figure, axes = pyplot.subplots(figsize=(10, 1.6 + 0.34 * len(bars)), layout="constrained")
    positions = place_bars(bars)
    for line, position in zip(bars, positions):
        draw_bar(axes, line, position)
    format_axes(axes, bars, positions)
    draw_headings(axes, bars, positions)
    draw_legend(axes)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def place_bars(bars: Sequence[Line]) -> list[float]:
    """Return the vertical positions of the bars from the top down, with a gap between groups."""
    position, positions, group = 0.0, [], bars[0].group if bars else ""
    for line in bars:
        position += 1.0 if line.group == group else 1.9
        group = line.group
        positions.append(-position)
    return positions


def draw_bar(axes: Any, line: Line, position: float) -> None:
    """Draw the bar from 1 to the ratio, its figure, and the target."""
    assert line.ratio is not None
    assert line.goal is not None
    met = line.met is True
    style = {"color": BAR_COLOURS[met], "hatch": BAR_HATCHES[met], "edgecolor": "0.15", "lw": 0.7}
    axes.barh(position, line.ratio - 1, left=1, height=0.66, **style)
    end = max(line.ratio, line.goal, 1)
    offset = {"xytext": (5, 0), "textcoords": "offset points"}
    axes.annotate(format_ratio(line.ratio), (end, position), va="center", fontsize=8.5, **offset)
    tick = [position - 0.46, position + 0.46]
    axes.plot([line.goal, line.goal], tick, color="black", lw=2.4, solid_capstyle="butt")


def format_axes(axes: Any, bars: Sequence[Line], positions: Sequence[float]) -> None:
    """Set the scale, the limits, the names of the bars and the axis label."""
    axes.set_xscale("log")
    low, high = min([1, *(line.ratio or 1 for line in bars)]), max([10, *(line.ratio or 1 for line in bars)])
    axes.set_xlim(low / 1.4, high * 2.2)
    axes.set_ylim(min([0, *positions]) - 0.8, 0.3)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}×")
    axes.axvline(1, color="0.15", lw=1)
    axes.set_yticks(positions, [line.case for line in bars], fontsize=8.5)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.grid(axis="x", color="0.9", lw=0.8)
    axes.set_axisbelow(True)
    axes.set_xlabel("peer ÷ deciban, log scale (right of 1×: deciban is faster, or needs less memory)")


def draw_headings(axes: Any, bars: Sequence[Line], positions: Sequence[float]) -> None:
    """Draw the name of each group above its first bar."""
    style = {"ha": "right", "va": "bottom", "fontsize": 9.5, "weight": "bold"}
    for group, title in TITLES.items():
        first = next((position for line, position in zip(bars, positions) if line.group == group), None)
        if first is not None:
            axes.text(0, first + 0.5, title, transform=axes.get_yaxis_transform(), **style)


def draw_legend(axes: Any) -> None:
    """Draw a legend of the bar styles and the target tick."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    keys: list[Any] = [Line2D([], [], color="black", lw=2.4, label="target")]
    keys += [
        Patch(facecolor=BAR_COLOURS[met], hatch=BAR_HATCHES[met], edgecolor="0.15", label=text)
        for met, text in BAR_LABELS.items()
    ]
    axes.legend(handles=keys, loc="lower center", bbox_to_anchor=(0.3, 1.0), ncols=3, frameon=False, fontsize=8.5)
