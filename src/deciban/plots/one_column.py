"""One column: the curves π_k p(x|k), and the thresholds where the highest two cross."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from deciban._typing import Array
from deciban.plots.boundary_equation import number, without_unit
from deciban.plots.boundary_geometry import Surface, Threshold, Window, thresholds
from deciban.plots.plot_rows import View
from deciban.plots.style import (
    EDGE,
    INK,
    MAX_LEGEND_CLASSES,
    add_legend,
    class_legend_entry,
    colour,
    dashes,
    marker,
    shorten,
    tint,
)

MAX_LABELLED_THRESHOLDS = 4
"""The largest number of thresholds that the legend names."""

MAX_EXTENSION = 0.5
"""How far the axis is extended to show a threshold, in ranges of the data."""


def draw_axis(ax: Any, model: Any, surface: Surface, view: View, resolution: int) -> None:
    """Draw curves, thresholds, rows and legend."""
    cuts = thresholds(surface)
    low, high = _axis_limits(view.window, cuts)
    x = np.linspace(max(low, 0.0) if is_count_model(model) else low, high, resolution)
    curves = joint_density(model, surface, x)
    top = float(curves.max()) * 1.06
    _shade(ax, surface, (low, high), top, resolution)
    classes = [_draw_curve(ax, view, x, curves, k) for k in range(len(view.classes))]
    row = _draw_rows(ax, view, top)
    _draw_cuts(ax, cuts, joint_density(model, surface, np.array([cut.x for cut in cuts])), (low, high))
    entries = _threshold_entries(view, cuts, (low, high)) or [
        _no_threshold_entry(view.classes[int(curves[0].argmax())])
    ]
    add_legend(ax, classes, entries)
    ax.axhline(0, color=INK, linewidth=0.8)
    ax.set_xlim(low, high)
    ax.set_ylim(row * (len(view.classes) + 0.6), top)
    ax.set_yticks([tick for tick in ax.get_yticks() if 0 <= tick <= top])
    ax.set_xlabel(view.names[0])
    ax.set_ylabel(r"$\pi_k\,p(x\,|\,k)$")


def joint_density(model: Any, surface: Surface, x: Array) -> Array:
    """Return π_k p(x|k) for each x and class; an indicator is drawn between 0 and 1 by its closed form."""
    if not len(x):
        return np.empty((0, len(surface.bias)))
    if hasattr(model, "binarize"):
        return np.exp(surface.scores(x[:, None]))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # there is only one column
        model.score_samples(x[:1, None])  # raises an error if scores are not probabilities
        return np.exp(model.predict_joint_log_proba(x[:, None]))


def _axis_limits(window: Window, cuts: Sequence[Threshold]) -> tuple[float, float]:
    """Return the window, extended to thresholds near it."""
    low, high, span = float(window.low[0]), float(window.high[0]), float(window.span[0])
    near = [cut.x for cut in cuts if low - MAX_EXTENSION * span <= cut.x <= high + MAX_EXTENSION * span]
    return min([low, *(x - 0.05 * span for x in near)]), max([high, *(x + 0.05 * span for x in near)])


def is_count_model(model: Any) -> bool:
    """Return whether the model is of counts or indicators, which have a pseudo-count and no negative values."""
    return hasattr(model, "alpha")


def _shade(ax: Any, surface: Surface, seen: tuple[float, float], top: float, resolution: int) -> None:
    """Shade the decision behind the curves, deeper where it is more certain."""
    strip = tint(surface.posterior(np.linspace(*seen, resolution)[:, None]))[None]
    ax.imshow(strip, extent=(*seen, 0, top), aspect="auto", interpolation="bilinear", zorder=0, alpha=0.6)


def _draw_curve(ax: Any, view: View, x: Array, curves: Array, k: int) -> Any:
    ax.plot(x, curves[:, k], color=colour(k), linestyle=dashes(k), linewidth=1.8, gid="density")
    return class_legend_entry(view.classes[k], k, dashes(k))


def _draw_rows(ax: Any, view: View, top: float) -> float:
    """Draw the data below the axis, a row for each class; return the height of a row, negative."""
    K = len(view.classes)
    row = -min(0.045, 0.3 / K) * top
    look: dict[str, Any] = {
        "markeredgecolor": EDGE,
        "markeredgewidth": 0.4,
        "markersize": 5 if K <= MAX_LEGEND_CLASSES else 4,
    }
    for k in range(K):
        x = np.unique(view.of(k)[:, 0])
        ax.plot(x, np.full(len(x), row * (k + 0.8)), ls="none", marker=marker(k), color=colour(k), gid="data", **look)
    return row


THRESHOLD_STYLE: dict[str, Any] = {"color": INK, "linewidth": 1.0, "linestyle": (0, (2, 2))}


def _draw_cuts(ax: Any, cuts: Sequence[Threshold], heights: Array, seen: tuple[float, float]) -> None:
    """Draw a vertical line at every threshold, and a dot where the curves cross."""
    for cut, height in zip(cuts, heights):
        if seen[0] <= cut.x <= seen[1]:
            ax.axvline(cut.x, gid="threshold", **THRESHOLD_STYLE)
            ax.plot([cut.x], [height[cut.k]], marker="o", color=INK, markersize=5, zorder=4)


def _threshold_entries(view: View, cuts: Sequence[Threshold], seen: tuple[float, float]) -> list[Any]:
    """Return the legend entries of the thresholds."""
    from matplotlib.lines import Line2D

    look: dict[str, Any] = {**THRESHOLD_STYLE, "marker": "o", "markersize": 4}
    if len(cuts) > MAX_LABELLED_THRESHOLDS or (cuts and len(view.classes) > MAX_LEGEND_CLASSES):
        return [Line2D([], [], label="threshold", **look)]
    return [Line2D([], [], label=_format_threshold(view, cut, seen), **look) for cut in cuts]


def _format_threshold(view: View, cut: Threshold, seen: tuple[float, float]) -> str:
    name = without_unit(view.names[0])
    pair = "" if len(view.classes) == 2 else f": {shorten(view.classes[cut.k])} | {shorten(view.classes[cut.l])}"
    return f"{name} = {number(cut.x)}{pair}" + ("" if seen[0] <= cut.x <= seen[1] else " (outside the picture)")


def _no_threshold_entry(winner: Any) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="none", label=f"no threshold: always {shorten(winner)}")
