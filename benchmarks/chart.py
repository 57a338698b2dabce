"""The picture: how many times faster or smaller, on a log scale, with the targets; readable in grey."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .case import Line
from .report import TITLES

FACE = {True: "0.55", False: "white"}
HATCH = {True: "", False: "////"}
MEANING = {True: "target met", False: "target missed"}


def draw(lines: Sequence[Line], path: Path) -> None:
    """One bar per line whose target is a ratio, grouped as in the table, targets as black ticks."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    bars = [line for line in lines if line.ratio is not None and line.goal is not None]
    figure, axes = pyplot.subplots(figsize=(10, 1.6 + 0.34 * len(bars)), layout="constrained")
    positions = place(bars)
    for line, at in zip(bars, positions):
        bar(axes, line, at)
    finish(axes, bars, positions)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def place(bars: Sequence[Line]) -> list[float]:
    """Heights of the bars from the top down, with a gap between groups."""
    at, heights, group = 0.0, [], bars[0].group if bars else ""
    for line in bars:
        at += 1.0 if line.group == group else 1.9
        group = line.group
        heights.append(-at)
    return heights


def bar(axes: Any, line: Line, at: float) -> None:
    """The bar from 1 to the ratio, its figure, and the target."""
    assert line.ratio is not None
    assert line.goal is not None
    met = line.met is True
    axes.barh(at, line.ratio - 1, left=1, height=0.66, color=FACE[met], hatch=HATCH[met], edgecolor="0.15", lw=0.7)
    figure = f"{line.ratio:.3g}×" if line.ratio < 100 else f"{line.ratio:.0f}×"
    end = max(line.ratio, line.goal, 1)
    axes.annotate(figure, (end, at), (5, 0), textcoords="offset points", va="center", fontsize=8.5)
    axes.plot([line.goal, line.goal], [at - 0.46, at + 0.46], color="black", lw=2.4, solid_capstyle="butt")


def finish(axes: Any, bars: Sequence[Line], positions: Sequence[float]) -> None:
    """Scale, names, headings and legend."""
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
    headings(axes, bars, positions)
    legend(axes)


def headings(axes: Any, bars: Sequence[Line], positions: Sequence[float]) -> None:
    """The group's name above its first bar."""
    for group, title in TITLES.items():
        first = next((at for line, at in zip(bars, positions) if line.group == group), None)
        if first is not None:
            axes.text(
                0,
                first + 0.5,
                title,
                transform=axes.get_yaxis_transform(),
                ha="right",
                va="bottom",
                fontsize=9.5,
                weight="bold",
            )


def legend(axes: Any) -> None:
    """What the fillings and the tick mean."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    keys: list[Any] = [Line2D([], [], color="black", lw=2.4, label="target")]
    keys += [Patch(facecolor=FACE[m], hatch=HATCH[m], edgecolor="0.15", label=text) for m, text in MEANING.items()]
    axes.legend(handles=keys, loc="lower center", bbox_to_anchor=(0.3, 1.0), ncols=3, frameon=False, fontsize=8.5)
