"""The decision boundaries of a fitted model of one or two columns."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from deciban._typing import Array
from deciban.errors import InputError
from deciban.plots import boundary_geometry as geometry
from deciban.plots import style
from deciban.plots.plot_rows import Feature, View, make_view
from deciban.plots.style import EDGE_COLOUR, INK, MAX_LEGEND_CLASSES, colour, dashes, marker, shorten, tint

DEFAULT_RESOLUTION = 300
"""The steps along each axis for shading and for tracing conics; lines and thresholds are exact."""


def boundary(
    model: Any, X: Any, y: Any, *, features: Sequence[Feature] = (0, 1), names: Sequence[str] | None = None,
    ax: Any = None, resolution: int = DEFAULT_RESOLUTION, to_scale: bool = False,
) -> Any:  # fmt: skip
    """Draw the decision boundaries of a model of one or two columns, over rows X with classes y; return the Axes.

    Two columns: each region is shaded by the posterior of the class that wins there, and the line or conic
    on which two classes are equally probable is drawn from `linear_form()` or `quadratic_form()`, with its
    equation. Of more than two classes only the winner and the runner-up share a boundary. One column: the
    curves π_k p(x|k), and the thresholds where they cross.

    `features` are the columns of X, by number or name, that the model was fitted on; `names` replaces their names in
    `feature_names_in_`. Rows with a missing value are left out. Where several rows coincide the marker
    is larger; where most do (indicators, small counts) the classes are drawn side by side. `to_scale` draws two
    columns on one scale, so that right angles look right.

    >>> import deciban
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [4.0, 4.0], [5.0, 5.0]], ["low", "low", "high", "high"]
    >>> ax = boundary(deciban.GaussianBayes(covariance="identity").fit(X, y), X, y)
    >>> [text.get_text() for text in ax.get_legend().get_texts()][2]
    '4·x0 + 4·x1 = 20'
    """
    if not isinstance(resolution, Integral) or resolution < 2:
        raise InputError(f"resolution must be a whole number of at least 2 steps along each axis, not {resolution!r}")
    style.need_matplotlib()
    surface = geometry.make_surface(model)
    view = make_view(model, X, y, features, names)
    if len(view.names) == 1:
        compute_joint_density(model, surface, np.zeros(1))  # an error that it raises leaves no empty figure
    ax = style.make_class_axes(len(view.classes)) if ax is None else ax
    if len(view.names) == 1:
        draw_axis(ax, model, surface, view, int(resolution))
    else:
        if to_scale:
            inches = ax.get_position().size * ax.figure.get_size_inches()
            ax.set_aspect("equal", adjustable="box")
            view = replace(view, window=view.window.to_scale(float(inches[0] / inches[1])))
        draw_plane(ax, surface, view, int(resolution))
    return ax


MAX_LABELLED_BOUNDARIES = 3
"""The largest number of boundaries with their own line styles and equations."""

CROWDED_ROWS_PER_POINT = 4
"""The mean number of rows at one point from which markers of different classes would hide each other."""

Pair = tuple[int, int]


def draw_plane(ax: Any, surface: geometry.Surface, view: View, resolution: int) -> None:
    """Draw the regions, boundaries, rows and legend of a model of two columns."""
    low, high = view.window.low, view.window.high
    x, y, grid = view.window.grid(resolution)
    shade = tint(surface.posterior(grid)).reshape(len(y), len(x), 4)
    place: dict[str, Any] = {"extent": (low[0], high[0], low[1], high[1]), "aspect": ax.get_aspect()}
    ax.imshow(shade, origin="lower", interpolation="bilinear", zorder=0, **place)
    found = {pair: geometry.find_segments(surface, *pair, view.window, resolution) for pair in surface.pairs}
    seen = {pair: pieces for pair, pieces in found.items() if pieces}
    names, are_replaced = geometry.choose_equation_names(view.names, surface.is_linear)
    lines = _draw_boundaries(ax, seen)
    points = ax.get_position().width * ax.figure.get_figwidth() * 72
    characters = max(24, int((1.15 * points - 130) / 4.7))  # as many as fit into the right column of the legend
    entries = _make_boundary_entries(surface, view, seen, lines, names, characters)
    crowded = len(np.unique(view.X, axis=0)) * CROWDED_ROWS_PER_POINT <= len(view.X)  # most rows coincide
    classes = [_draw_class(ax, view, k, side_by_side=crowded) for k in range(len(view.classes))]
    style.add_legend(ax, classes, entries)
    labels = [f"{c}: {name}" for c, name in zip("xy", view.names)] if are_replaced and entries else view.names
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel=labels[0], ylabel=labels[1])


def _draw_boundaries(ax: Any, seen: dict[Pair, list[Array]]) -> list[Any]:
    """Draw one line for each two classes, its pieces separated by NaN; return the lines."""
    few = len(seen) <= MAX_LABELLED_BOUNDARIES
    lines = []
    for i, pieces in enumerate(seen.values()):
        points = np.concatenate([np.vstack([piece, [np.nan, np.nan]]) for piece in pieces])[:-1]
        look: dict[str, Any] = {"linestyle": dashes(i) if few else "-", "linewidth": 1.6 if few else 1.1}
        lines += ax.plot(*points.T, color=INK, zorder=4, gid="boundary", **look)
    return lines


def _make_boundary_entries(
    surface: geometry.Surface, view: View, seen: dict[Pair, list[Array]], lines: Sequence[Any],
    names: Sequence[str], characters: int,
) -> list[Any]:  # fmt: skip
    """Return the legend entries of the boundaries, with equations if they are few; label `lines` with them."""
    from matplotlib.lines import Line2D

    if len(view.classes) == 2 and surface.pairs and not seen:
        text = geometry.wrap_equation(geometry.format_equation(surface.gap(1, 0), names), characters)
        unseen = f"{text}\n(outside the picture)" if surface.gap(1, 0).w.any() or not surface.is_linear else ""
        return [Line2D([], [], linestyle="none", label=unseen or "no boundary")]
    if not seen:
        return []
    if len(seen) > MAX_LABELLED_BOUNDARIES or len(view.classes) > MAX_LEGEND_CLASSES:
        return [Line2D([], [], color=INK, linewidth=1.1, label="equally probable")]
    for (k, l), line in zip(seen, lines):
        pair = "" if len(view.classes) == 2 else f"{shorten(view.classes[k])} | {shorten(view.classes[l])}\n"
        line.set_label(pair + geometry.wrap_equation(geometry.format_equation(surface.gap(l, k), names), characters))
    return list(lines)


def _draw_class(ax: Any, view: View, k: int, side_by_side: bool) -> Any:
    """Draw the rows of a class, coinciding ones as one larger marker; return the legend entry of the class."""
    points, times = np.unique(view.of(k), axis=0, return_counts=True)
    n = len(view.X)
    area = float(np.clip(9000 / n, 13, 30)) * np.sqrt(times)
    look: dict[str, Any] = {"marker": marker(k), "color": colour(k), "edgecolors": EDGE_COLOUR, "zorder": 3}
    transform = ax.transData
    if side_by_side:
        width = np.sqrt(area.max(initial=0.0)) + 1
        transform = style.shift_points(ax, transform, (k - (len(view.classes) - 1) / 2) * width)
    ax.scatter(*points.T, s=area, linewidths=0.6 if n < 500 else 0.25, transform=transform, **look)
    return style.make_class_entry(view.classes[k], k)


def draw_means(ax: Any, means: Any) -> None:
    """Draw the segment between two means, whose perpendicular bisector is the boundary."""
    look: dict[str, Any] = {"linewidth": 1.2, "linestyle": (0, (2, 2)), "marker": "+", "markersize": 11}
    ax.plot(*np.asarray(means).T, color=INK, zorder=5, gid="means", **look)


MAX_LABELLED_THRESHOLDS = 4
"""The largest number of thresholds that the legend names."""

MIN_THRESHOLD_DIGITS, MAX_THRESHOLD_DIGITS = 3, 10
"""The fewest and the most significant digits of a threshold; there are as many as distinguish all."""

MAX_EXTENSION = 0.5
"""How far the axis is extended to show a threshold, in ranges of the data."""


def draw_axis(ax: Any, model: Any, surface: geometry.Surface, view: View, resolution: int) -> None:
    """Draw the curves π_k p(x|k), thresholds, rows and legend of a model of one column."""
    cuts = geometry.find_thresholds(surface)
    low, high = _compute_axis_limits(view.window, cuts)
    no_negatives = hasattr(model, "alpha")  # counts and indicators have a pseudo-count and no negative values
    x = np.linspace(max(low, 0.0) if no_negatives else low, high, resolution)
    curves = compute_joint_density(model, surface, x)
    top = float(curves.max()) * 1.06
    strip = tint(surface.posterior(np.linspace(low, high, resolution)[:, None]))[None]
    ax.imshow(strip, extent=(low, high, 0, top), aspect="auto", interpolation="bilinear", zorder=0, alpha=0.6)
    for k in range(len(view.classes)):
        ax.plot(x, curves[:, k], color=colour(k), linestyle=dashes(k), linewidth=1.8, gid="density")
    row = _draw_rows(ax, view, top)
    heights = compute_joint_density(model, surface, np.array([cut.x for cut in cuts]))
    for cut, height in zip(cuts, heights):  # a vertical line at every threshold, and a dot where the curves cross
        if low <= cut.x <= high:
            ax.axvline(cut.x, gid="threshold", **THRESHOLD_STYLE)
            ax.plot([cut.x], [height[cut.k]], marker="o", color=INK, markersize=5, zorder=4)
    classes = [style.make_class_entry(label, k, dashes(k)) for k, label in enumerate(view.classes)]
    winner = view.classes[int(curves[0].argmax())]
    style.add_legend(ax, classes, _make_threshold_entries(view, cuts, (low, high), winner))
    ax.axhline(0, color=INK, linewidth=0.8)
    ax.set(xlim=(low, high), ylim=(row * (len(view.classes) + 0.6), top))
    ax.set(xlabel=view.names[0], ylabel=r"$\pi_k\,p(x\,|\,k)$")
    ax.set_yticks([tick for tick in ax.get_yticks() if 0 <= tick <= top])


def compute_joint_density(model: Any, surface: geometry.Surface, x: Array) -> Array:
    """Return π_k p(x|k) for each x and class; an indicator is drawn between 0 and 1 by its closed form."""
    if not len(x):
        return np.empty((0, len(surface.bias)))
    if hasattr(model, "binarize"):
        return np.exp(surface.scores(x[:, None]))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # there is only one column
        model.score_samples(x[:1, None])  # raises an error if scores are not probabilities
        return np.exp(model.predict_joint_log_proba(x[:, None]))


def _compute_axis_limits(window: geometry.Window, cuts: Sequence[geometry.Threshold]) -> tuple[float, float]:
    """Return the ends of the window, extended to thresholds near it."""
    low, high, span = float(window.low[0]), float(window.high[0]), float(window.span[0])
    near = [cut.x for cut in cuts if low - MAX_EXTENSION * span <= cut.x <= high + MAX_EXTENSION * span]
    return min([low, *(x - 0.05 * span for x in near)]), max([high, *(x + 0.05 * span for x in near)])


def _draw_rows(ax: Any, view: View, top: float) -> float:
    """Draw the data below the axis, a row for each class; return the height of a row, negative."""
    K = len(view.classes)
    row = -min(0.045, 0.3 / K) * top
    for k in range(K):
        x = np.unique(view.of(k)[:, 0])
        look = style.marker_look(k, 5 if K <= MAX_LEGEND_CLASSES else 4, 0.4)
        ax.plot(x, np.full(len(x), row * (k + 0.8)), linestyle="none", gid="data", **look)
    return row


THRESHOLD_STYLE: dict[str, Any] = {"color": INK, "linewidth": 1.0, "linestyle": (0, (2, 2))}


def _make_threshold_entries(
    view: View, cuts: Sequence[geometry.Threshold], seen: tuple[float, float], winner: Any
) -> list[Any]:
    """Return the legend entries of the thresholds; if there are none, that of the class which wins everywhere."""
    from matplotlib.lines import Line2D

    if not cuts:
        return [Line2D([], [], linestyle="none", label=f"no threshold: always {shorten(winner)}")]
    look: dict[str, Any] = {**THRESHOLD_STYLE, "marker": "o", "markersize": 4}
    if len(cuts) > MAX_LABELLED_THRESHOLDS or len(view.classes) > MAX_LEGEND_CLASSES:
        return [Line2D([], [], label="threshold", **look)]
    for digits in range(MIN_THRESHOLD_DIGITS, MAX_THRESHOLD_DIGITS + 1):
        texts = [style.format_scientific(cut.x, digits) for cut in cuts]
        if len(set(texts)) == len(texts):
            break
    labels = [_label_threshold(view, cut, text, seen) for cut, text in zip(cuts, texts)]
    return [Line2D([], [], label=label, **look) for label in labels]


def _label_threshold(view: View, cut: geometry.Threshold, value: str, seen: tuple[float, float]) -> str:
    """Return the label of a threshold, of more than two classes with those it separates; note if it is not `seen`."""
    name = geometry.remove_unit(view.names[0])
    pair = "" if len(view.classes) == 2 else f": {shorten(view.classes[cut.k])} | {shorten(view.classes[cut.l])}"
    note = "" if seen[0] <= cut.x <= seen[1] else " (outside the picture)"
    return f"{name} = {value}{pair}{note}"
