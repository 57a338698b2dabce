"""ROC curves with the area under them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from deciban._typing import Array
from deciban.errors import InputError
from deciban.formatting import format_percent
from deciban.plots import style
from deciban.plots.style import EDGE, FAINT_COLOUR, INK, MAX_LEGEND_CLASSES, shorten

MAX_NAMED_CURVES = 4
"""The number of classes with a named curve if there are many: those with the smallest area."""

CURVE_STEPS = 2000
"""The steps along each axis that a picture can show; closer points are drawn as one."""

ENLARGED_AREA = 0.98
"""The area from which the upper left corner is drawn again, enlarged."""

OTHERS = "#b4b4b4"


def roc(report: Any, *, ax: Any = None) -> Any:
    """Draw hits against false alarms for every threshold; return the Axes.

    Two classes: the curve of the second, its area (how often a row of it scores above a row of the other) with the
    95 % interval, and the point at which the more probable class is predicted. More classes: each against all
    others; of more than six those with the smallest area by name, the others as thin lines. If the curves are close
    to the corner, the corner is enlarged.

    >>> from deciban.metrics import report_of
    >>> posterior = np.log([[0.9, 0.1], [0.6, 0.4], [0.7, 0.3], [0.2, 0.8]])
    >>> ax = roc(report_of(posterior, np.array([0, 0, 1, 1]), None, None, ["ham", "spam"]))
    >>> ax.get_ylabel()
    'share of spam that is found'
    """
    style.need_matplotlib()
    areas = np.asarray(report.roc_auc_by_class, dtype=np.float64)
    names = list(report.classes)
    drawn = [k for k in ([1] if len(names) == 2 else range(len(names))) if not math.isnan(areas[k])]
    if not drawn:
        report.roc_curve()  # raises an error if the rows were not kept
        raise InputError(
            "a ROC curve needs evaluated rows of a class and of others, and there are none. Hint: evaluate more rows"
        )
    ax = style.make_axes(5.6, 6.2) if ax is None else ax
    curves = {k: thin_curve(*report.roc_curve(names[k])[:2]) for k in drawn}
    _draw(ax, report, curves, areas)
    _label_axes(ax, names if len(names) == 2 else None)
    if ENLARGED_AREA <= areas[drawn].min() < 1:
        _enlarge(ax, report, curves, areas)
    return ax


def thin_curve(false: Array, true: Array) -> tuple[Array, Array]:
    """Return the points of a curve that a picture can distinguish, with the first and the last.

    >>> x = np.linspace(0, 1, 100_001)
    >>> [len(part) for part in thin_curve(x, x)]
    [2002, 2002]
    """
    cell = np.floor(false * CURVE_STEPS) * (CURVE_STEPS + 2) + np.floor(true * CURVE_STEPS)
    kept = np.append(cell[1:] != cell[:-1], True)
    kept[0] = True
    return false[kept], true[kept]


def _draw(ax: Any, report: Any, curves: dict[int, Any], areas: Array) -> None:
    ax.plot([0, 1], [0, 1], color=FAINT_COLOUR, linewidth=1, linestyle=(0, (2, 2)), zorder=1, gid="chance")
    entries = _draw_curves(ax, curves, areas)
    heading = None
    if len(report.classes) == 2:
        ((k, (false, true)),) = curves.items()
        ax.fill_between(false, true, color=style.pale(0), alpha=0.3, linewidth=0, zorder=0)
        entries.append(_draw_working_point(ax, report, k))
    else:
        heading = f"each class against all others; mean area {format_area(report.roc_auc)}"
    style.legend_below(ax, entries, _labels(report, curves, areas), heading)


def _draw_curves(ax: Any, curves: dict[int, Any], areas: Array, thin: float = 1.0) -> list[Any]:
    """Draw a line for each class; of many classes grey ones, with those of the smallest area above them."""
    named = _named_classes(list(curves), areas)
    grey: list[Any] = []
    for k in [k for k in curves if k not in named]:
        grey = ax.plot(*curves[k], color=OTHERS, linewidth=0.8 * thin, zorder=2, gid="roc")
    entries = []
    for i, k in enumerate(named):
        of = 0 if len(named) == 1 else k if len(areas) <= MAX_LEGEND_CLASSES else i
        look: dict[str, Any] = {"color": style.colour(of), "linestyle": style.dashes(of)}
        entries += ax.plot(*curves[k], linewidth=1.9 * thin, zorder=3 + len(named) - i, gid="roc", **look)
    return [*entries, *grey]


def _named_classes(drawn: Sequence[int], areas: Array) -> list[int]:
    """Return the classes with a named curve: all of a few, of many those with the smallest area."""
    if len(drawn) <= MAX_LEGEND_CLASSES:
        return list(drawn)
    return sorted(drawn, key=lambda k: areas[k])[:MAX_NAMED_CURVES]


def _draw_working_point(ax: Any, report: Any, k: int) -> Any:
    """Draw the point at which the more probable class is predicted."""
    counts = np.asarray(report.confusion)
    other = 1 - k
    false, true = counts[other, k] / counts[other].sum(), counts[k, k] / counts[k].sum()
    look: dict[str, Any] = {"markersize": 9, "markeredgecolor": EDGE, "linestyle": "none", "zorder": 9}
    return ax.plot([false], [true], marker=style.marker(1), color=INK, gid="called", **look)[0]


def _labels(report: Any, curves: dict[int, Any], areas: Array) -> list[str]:
    names, low_high = report.classes, report.intervals.get("roc_auc")
    if len(names) == 2:
        (k,) = curves
        between = f" (95 % sure: {low_high[0]:.3f} to {low_high[1]:.3f})" if low_high else ""
        hit = f"the more probable class is called: {format_percent(report.accuracy)} right"
        return [f"area {format_area(areas[k])}{between}", hit]
    named = _named_classes(list(curves), areas)
    labels = [f"{shorten(names[k])}: area {format_area(areas[k])}" for k in named]
    others = sorted(float(areas[k]) for k in curves if k not in named)
    if others:
        ends = f"area {format_area(others[0])} to {format_area(others[-1])}"
        labels.append(f"{len(others)} other classes: {ends}")
    return labels


def format_area(area: float) -> str:
    """Format an area with three digits, or more if it would be rounded to 1.

    >>> [format_area(area) for area in (0.5, 0.87654, 0.99996, 1.0)]
    ['0.500', '0.877', '0.99996', '1']
    """
    if area == 1:
        return "1"
    return next((text for digits in range(3, 7) if float(text := f"{area:.{digits}f}") != 1), f"{area:.17f}")


def _label_axes(ax: Any, two: Sequence[Any] | None) -> None:
    if two is None:
        ax.set_xlabel("share of the other classes that is called so by mistake")
        ax.set_ylabel("share of the class that is found")
    else:
        other, name = (shorten(label, 18) for label in two)
        ax.set_xlabel(f"share of {other} that is called {name}", parse_math=False)
        ax.set_ylabel(f"share of {name} that is found", parse_math=False)
    ax.set_xlim(-0.01, 1.01)
    ax.set_ylim(-0.01, 1.01)
    ax.set_aspect("equal")
    style.add_grid_lines(ax)


def _enlarge(ax: Any, report: Any, curves: dict[int, Any], areas: Array) -> None:
    """Draw the upper left corner enlarged in the empty part of the picture.

    A curve with the area 1 − ε leaves the corner within about √ε.
    """
    reach = 2.2 * math.sqrt(1 - min(areas[k] for k in curves))
    corner = ax.inset_axes([0.37, 0.1, 0.5, 0.5], zorder=8)
    corner.yaxis.tick_right()
    _draw_curves(corner, curves, areas, thin=0.9)
    if len(report.classes) == 2:
        (false,), (true,) = _draw_working_point(corner, report, next(iter(curves))).get_data()
        reach = max(reach, 1.2 * false, 1.2 * (1 - true))
    corner.set_xlim(-0.02 * reach, reach)
    corner.set_ylim(1 - reach, 1 + 0.02 * reach)
    corner.tick_params(labelsize=8)
    style.add_grid_lines(corner)
    ax.indicate_inset_zoom(corner, edgecolor=FAINT_COLOUR, alpha=0.8, linewidth=0.8)
