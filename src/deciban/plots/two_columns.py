"""Two columns: shaded regions, the data, and the lines or conics between the classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from deciban._typing import Array
from deciban.plots.boundary_equation import equation, equation_names, wrap_equation
from deciban.plots.boundary_geometry import Surface, segments
from deciban.plots.plot_rows import View
from deciban.plots.style import (
    EDGE,
    INK,
    MAX_LEGEND_CLASSES,
    add_legend,
    class_legend_entry,
    colour,
    dashes,
    legend_characters,
    marker,
    shorten,
    tint,
)

MAX_LABELLED_BOUNDARIES = 3
"""The largest number of boundaries with their own line styles and equations."""

CROWDED_ROWS_PER_POINT = 4
"""The mean number of rows at one point from which markers of different classes would hide each other."""

Pair = tuple[int, int]


def draw_plane(ax: Any, surface: Surface, view: View, resolution: int) -> None:
    """Draw regions, boundaries, rows and legend."""
    low, high = view.window.low, view.window.high
    ax.imshow(
        shade_regions(surface, view, resolution),
        extent=(low[0], high[0], low[1], high[1]),
        origin="lower",
        aspect=ax.get_aspect(),
        interpolation="bilinear",
        zorder=0,
    )
    found = {pair: segments(surface, *pair, view.window, resolution) for pair in surface.pairs}
    seen = {pair: pieces for pair, pieces in found.items() if pieces}
    names, are_replaced = equation_names(view.names, surface.is_linear)
    lines = _draw_boundaries(ax, seen)
    entries = _boundary_entries(surface, view, seen, lines, names, legend_characters(ax))
    classes = [_draw_class(ax, view, k) for k in range(len(view.classes))]
    add_legend(ax, classes, entries)
    ax.set_xlim(low[0], high[0])
    ax.set_ylim(low[1], high[1])
    labels = [f"{c}: {name}" for c, name in zip("xy", view.names)] if are_replaced and entries else view.names
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])


def shade_regions(surface: Surface, view: View, resolution: int) -> Array:
    """Return the colour of the most probable class at every pixel, deeper where it is more certain."""
    x, y = view.window.ticks(resolution)
    grid = np.column_stack([part.ravel() for part in np.meshgrid(x, y)])
    return tint(surface.posterior(grid)).reshape(len(y), len(x), 4)


def _draw_boundaries(ax: Any, seen: dict[Pair, list[Array]]) -> list[Any]:
    """Draw one line for each two classes; its parts are separated by NaN."""
    few = len(seen) <= MAX_LABELLED_BOUNDARIES
    lines = []
    for i, pieces in enumerate(seen.values()):
        points = np.concatenate([np.vstack([piece, [np.nan, np.nan]]) for piece in pieces])[:-1]
        style = {"linestyle": dashes(i) if few else "-", "linewidth": 1.6 if few else 1.1}
        lines += ax.plot(*points.T, color=INK, zorder=4, gid="boundary", **style)
    return lines


def _boundary_entries(
    surface: Surface,
    view: View,
    seen: dict[Pair, list[Array]],
    lines: Sequence[Any],
    names: Sequence[str],
    characters: int,
) -> list[Any]:
    """Return the legend entries of the boundaries."""
    from matplotlib.lines import Line2D

    if len(view.classes) == 2 and surface.pairs and not seen:
        text = wrap_equation(equation(surface.gap(1, 0), names), characters)
        unseen = f"{text}\n(outside the picture)" if surface.gap(1, 0).w.any() or not surface.is_linear else ""
        return [Line2D([], [], linestyle="none", label=unseen or "no boundary")]
    if not seen:
        return []
    if len(seen) > MAX_LABELLED_BOUNDARIES or len(view.classes) > MAX_LEGEND_CLASSES:
        return [Line2D([], [], color=INK, linewidth=1.1, label="equally probable")]
    for (k, l), line in zip(seen, lines):
        pair = "" if len(view.classes) == 2 else f"{shorten(view.classes[k])} | {shorten(view.classes[l])}\n"
        line.set_label(pair + wrap_equation(equation(surface.gap(l, k), names), characters))
    return list(lines)


def _draw_class(ax: Any, view: View, k: int) -> Any:
    """Draw the rows of a class; rows that coincide as one marker with an area that grows with their number."""
    points, times = np.unique(view.of(k), axis=0, return_counts=True)
    n = len(view.X)
    size, edge = float(np.clip(9000 / n, 13, 30)), 0.6 if n < 500 else 0.25
    look = {"marker": marker(k), "edgecolors": EDGE, "linewidths": edge, "color": colour(k), "zorder": 3}
    area = size * np.sqrt(times)
    ax.scatter(*points.T, s=area, transform=_class_transform(ax, view, k, float(area.max(initial=0.0))), **look)
    return class_legend_entry(view.classes[k], k)


def _class_transform(ax: Any, view: View, k: int, largest: float) -> Any:
    """Return a transform that draws classes side by side if most rows coincide with others."""
    from matplotlib.transforms import ScaledTranslation

    if len(np.unique(view.X, axis=0)) * CROWDED_ROWS_PER_POINT > len(view.X):
        return ax.transData
    shift = (k - (len(view.classes) - 1) / 2) * (np.sqrt(largest) + 1) / 72
    return ax.transData + ScaledTranslation(shift, 0, ax.figure.dpi_scale_trans)


def draw_means(ax: Any, means: Any) -> None:
    """Draw the segment between two means, whose perpendicular bisector is the boundary."""
    look: dict[str, Any] = {"linewidth": 1.2, "linestyle": (0, (2, 2)), "marker": "+", "markersize": 11}
    ax.plot(*np.asarray(means).T, color=INK, zorder=5, gid="means", **look)
