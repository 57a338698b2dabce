"""One column: the curves π_k p(x|k), and the thresholds where the highest two cross."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from deciban._typing import Array
from deciban.plots.axes_limits import View
from deciban.plots.boundary_equation import number, without_unit
from deciban.plots.boundary_geometry import Threshold, Window, thresholds
from deciban.plots.class_scores import Surface
from deciban.plots.style import EDGE, INK, MANY_CLASSES, class_entry, colour, dashes, key, marker, shortened, tint

FEW_THRESHOLDS = 4
"""Up to this many, each threshold is named in the key."""

REACH = 0.5
"""How far beyond the data, in ranges of it, the axis is stretched to show a threshold."""


def draw_axis(ax: Any, model: Any, surface: Surface, view: View, resolution: int) -> None:
    """Fill the Axes."""
    cuts = thresholds(surface)
    low, high = _reach(view.window, cuts)
    x = np.linspace(max(low, 0.0) if counts_things(model) else low, high, resolution)
    curves = joint_density(model, surface, x)
    top = float(curves.max()) * 1.06
    _shade(ax, surface, (low, high), top, resolution)
    classes = [_draw_curve(ax, view, x, curves, k) for k in range(len(view.classes))]
    row = _draw_rows(ax, view, top)
    _draw_cuts(ax, cuts, joint_density(model, surface, np.array([cut.x for cut in cuts])), (low, high))
    told = _told(view, cuts, (low, high)) or [_untold(view.classes[int(curves[0].argmax())])]
    key(ax, classes, told)
    ax.axhline(0, color=INK, linewidth=0.8)
    ax.set_xlim(low, high)
    ax.set_ylim(row * (len(view.classes) + 0.6), top)
    ax.set_yticks([tick for tick in ax.get_yticks() if 0 <= tick <= top])
    ax.set_xlabel(view.names[0])
    ax.set_ylabel(r"$\pi_k\,p(x\,|\,k)$")


def joint_density(model: Any, surface: Surface, x: Array) -> Array:
    """π_k p(x|k) for each x and class; a present-or-absent column is drawn between 0 and 1 by its closed form."""
    if not len(x):
        return np.empty((0, len(surface.bias)))
    if hasattr(model, "binarize"):
        return np.exp(surface.scores(x[:, None]))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # there is only one column
        model.score_samples(x[:1, None])  # refuses, with the reason, where scores are no probabilities
        return np.exp(model.predict_joint_log_proba(x[:, None]))


def _reach(window: Window, cuts: Sequence[Threshold]) -> tuple[float, float]:
    """The window, stretched to the thresholds that lie near it."""
    low, high, span = float(window.low[0]), float(window.high[0]), float(window.span[0])
    near = [cut.x for cut in cuts if low - REACH * span <= cut.x <= high + REACH * span]
    return min([low, *(x - 0.05 * span for x in near)]), max([high, *(x + 0.05 * span for x in near)])


def counts_things(model: Any) -> bool:
    """Whether the model is of counts or indicators, smoothed by a pseudo-count, and knows nothing below 0."""
    return hasattr(model, "alpha")


def _shade(ax: Any, surface: Surface, seen: tuple[float, float], top: float, resolution: int) -> None:
    """The decision behind the curves, the deeper the surer."""
    strip = tint(surface.posterior(np.linspace(*seen, resolution)[:, None]))[None]
    ax.imshow(strip, extent=(*seen, 0, top), aspect="auto", interpolation="bilinear", zorder=0, alpha=0.6)


def _draw_curve(ax: Any, view: View, x: Array, curves: Array, k: int) -> Any:
    ax.plot(x, curves[:, k], color=colour(k), linestyle=dashes(k), linewidth=1.8, gid="density")
    return class_entry(view.classes[k], k, dashes(k))


def _draw_rows(ax: Any, view: View, top: float) -> float:
    """The data beneath the axis, a row for each class; returns the height of a row, negative."""
    K = len(view.classes)
    row = -min(0.045, 0.3 / K) * top
    look: dict[str, Any] = {
        "markeredgecolor": EDGE,
        "markeredgewidth": 0.4,
        "markersize": 5 if K <= MANY_CLASSES else 4,
    }
    for k in range(K):
        x = np.unique(view.of(k)[:, 0])
        ax.plot(x, np.full(len(x), row * (k + 0.8)), ls="none", marker=marker(k), color=colour(k), gid="data", **look)
    return row


CUT: dict[str, Any] = {"color": INK, "linewidth": 1.0, "linestyle": (0, (2, 2))}


def _draw_cuts(ax: Any, cuts: Sequence[Threshold], heights: Array, seen: tuple[float, float]) -> None:
    """A vertical line at every threshold, and a dot where the curves cross."""
    for cut, height in zip(cuts, heights):
        if seen[0] <= cut.x <= seen[1]:
            ax.axvline(cut.x, gid="threshold", **CUT)
            ax.plot([cut.x], [height[cut.k]], marker="o", color=INK, markersize=5, zorder=4)


def _told(view: View, cuts: Sequence[Threshold], seen: tuple[float, float]) -> list[Any]:
    """The entries of the key that say where the thresholds are."""
    from matplotlib.lines import Line2D

    look: dict[str, Any] = {**CUT, "marker": "o", "markersize": 4}
    if len(cuts) > FEW_THRESHOLDS or (cuts and len(view.classes) > MANY_CLASSES):
        return [Line2D([], [], label="threshold", **look)]
    return [Line2D([], [], label=_words(view, cut, seen), **look) for cut in cuts]


def _words(view: View, cut: Threshold, seen: tuple[float, float]) -> str:
    name = without_unit(view.names[0])
    pair = "" if len(view.classes) == 2 else f": {shortened(view.classes[cut.k])} | {shortened(view.classes[cut.l])}"
    return f"{name} = {number(cut.x)}{pair}" + ("" if seen[0] <= cut.x <= seen[1] else " (outside the picture)")


def _untold(winner: Any) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="none", label=f"no threshold: always {shortened(winner)}")
