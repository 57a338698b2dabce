"""Two columns: shaded regions, the data, and the lines or conics between the classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from deciban._typing import Array
from deciban.plots.axes_limits import View
from deciban.plots.boundary_equation import equation, letters, wrapped
from deciban.plots.boundary_geometry import segments
from deciban.plots.class_scores import Surface
from deciban.plots.style import (
    EDGE,
    INK,
    MANY_CLASSES,
    class_entry,
    colour,
    dashes,
    key,
    letters_in_key,
    marker,
    shortened,
    tint,
)

FEW_BOUNDARIES = 3
"""Up to this many, each boundary has a line style and an equation of its own."""

CROWDED = 4
"""Rows to a place, on average, from which markers of different classes would hide each other."""

Pair = tuple[int, int]


def draw_plane(ax: Any, surface: Surface, view: View, resolution: int) -> None:
    """Fill the Axes."""
    low, high = view.window.low, view.window.high
    ax.imshow(
        shading(surface, view, resolution),
        extent=(low[0], high[0], low[1], high[1]),
        origin="lower",
        aspect=ax.get_aspect(),
        interpolation="bilinear",
        zorder=0,
    )
    found = {pair: segments(surface, *pair, view.window, resolution) for pair in surface.pairs}
    seen = {pair: pieces for pair, pieces in found.items() if pieces}
    called, stand_in = letters(view.names, surface.straight)
    lines = _draw_boundaries(ax, seen)
    told = _told(surface, view, seen, lines, called, letters_in_key(ax))
    classes = [_draw_class(ax, view, k) for k in range(len(view.classes))]
    key(ax, classes, told)
    ax.set_xlim(low[0], high[0])
    ax.set_ylim(low[1], high[1])
    labels = [f"{c}: {name}" for c, name in zip("xy", view.names)] if stand_in and told else view.names
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])


def shading(surface: Surface, view: View, resolution: int) -> Array:
    """The winner's colour at every pixel, the deeper the surer."""
    x, y = view.window.ticks(resolution)
    grid = np.column_stack([part.ravel() for part in np.meshgrid(x, y)])
    return tint(surface.posterior(grid)).reshape(len(y), len(x), 4)


def _draw_boundaries(ax: Any, seen: dict[Pair, list[Array]]) -> list[Any]:
    """One line for each two classes; its pieces are parted by NaN."""
    few = len(seen) <= FEW_BOUNDARIES
    lines = []
    for i, pieces in enumerate(seen.values()):
        parted = np.concatenate([np.vstack([piece, [np.nan, np.nan]]) for piece in pieces])[:-1]
        style = {"linestyle": dashes(i) if few else "-", "linewidth": 1.6 if few else 1.1}
        lines += ax.plot(*parted.T, color=INK, zorder=4, gid="boundary", **style)
    return lines


def _told(
    surface: Surface,
    view: View,
    seen: dict[Pair, list[Array]],
    lines: Sequence[Any],
    called: Sequence[str],
    room: int,
) -> list[Any]:
    """The entries of the key that say what the boundaries are."""
    from matplotlib.lines import Line2D

    if len(view.classes) == 2 and surface.pairs and not seen:
        text = wrapped(equation(surface.gap(1, 0), called), room)
        unseen = f"{text}\n(outside the picture)" if surface.gap(1, 0).w.any() or not surface.straight else ""
        return [Line2D([], [], linestyle="none", label=unseen or "no boundary")]
    if not seen:
        return []
    if len(seen) > FEW_BOUNDARIES or len(view.classes) > MANY_CLASSES:
        return [Line2D([], [], color=INK, linewidth=1.1, label="equally probable")]
    for (k, l), line in zip(seen, lines):
        pair = "" if len(view.classes) == 2 else f"{shortened(view.classes[k])} | {shortened(view.classes[l])}\n"
        line.set_label(pair + wrapped(equation(surface.gap(l, k), called), room))
    return list(lines)


def _draw_class(ax: Any, view: View, k: int) -> Any:
    """The rows of a class; where several coincide, one marker with an area that grows with their number."""
    points, times = np.unique(view.of(k), axis=0, return_counts=True)
    n = len(view.X)
    size, edge = float(np.clip(9000 / n, 13, 30)), 0.6 if n < 500 else 0.25
    look = {"marker": marker(k), "edgecolors": EDGE, "linewidths": edge, "color": colour(k), "zorder": 3}
    area = size * np.sqrt(times)
    ax.scatter(*points.T, s=area, transform=_beside(ax, view, k, float(area.max(initial=0.0))), **look)
    return class_entry(view.classes[k], k)


def _beside(ax: Any, view: View, k: int, largest: float) -> Any:
    """Where most rows coincide with others, the classes stand side by side and not on each other."""
    from matplotlib.transforms import ScaledTranslation

    if len(np.unique(view.X, axis=0)) * CROWDED > len(view.X):
        return ax.transData
    shift = (k - (len(view.classes) - 1) / 2) * (np.sqrt(largest) + 1) / 72
    return ax.transData + ScaledTranslation(shift, 0, ax.figure.dpi_scale_trans)


def join(ax: Any, means: Any) -> None:
    """The segment between two means, which the bisector halves at a right angle."""
    look: dict[str, Any] = {"linewidth": 1.2, "linestyle": (0, (2, 2)), "marker": "+", "markersize": 11}
    ax.plot(*np.asarray(means).T, color=INK, zorder=5, gid="means", **look)
