"""Curves of reports: ROC curves with the area under them, and reliability diagrams.

A reliability diagram has the share of hits by confidence, and the distribution of confidence.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from deciban._typing import Array
from deciban.errors import InputError
from deciban.formatting import format_number, format_percent
from deciban.metrics.report_figures import Reliability
from deciban.plots import style
from deciban.plots.style import EDGE_COLOUR, FAINT_COLOUR, INK, MAX_LEGEND_CLASSES, colour, shorten

DIAGONAL: dict[str, Any] = {"color": FAINT_COLOUR, "linewidth": 1, "linestyle": (0, (2, 2)), "zorder": 1}
"""The style of the diagonal."""

MAX_NAMED_CURVES = 4
"""The number of classes with a named curve if there are many: those with the smallest area."""

CURVE_STEPS = 2000
"""The steps along each axis that a picture can show; closer points are drawn as one."""

ENLARGED_AREA = 0.98
"""The area from which the upper left corner is drawn again, enlarged."""

OTHERS_COLOUR = "#b4b4b4"


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
    _draw_roc(ax, report, curves, areas)
    _label_roc_axes(ax, names if len(names) == 2 else None)
    if ENLARGED_AREA <= areas[drawn].min() < 1:
        _enlarge_corner(ax, report, curves, areas)
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


def _draw_roc(ax: Any, report: Any, curves: dict[int, Any], areas: Array) -> None:
    """Draw diagonal, curves and legend; of two classes also the area, and the point of the more probable class."""
    ax.plot([0, 1], [0, 1], **DIAGONAL, gid="chance")
    entries = _draw_roc_curves(ax, curves, areas)
    heading = None
    if len(report.classes) == 2:
        ((k, (false, true)),) = curves.items()
        ax.fill_between(false, true, color=style.pale(0), alpha=0.3, linewidth=0, zorder=0)
        entries.append(_draw_working_point(ax, report, k))
    else:
        heading = f"each class against all others; mean area {format_area(report.roc_auc)}"
    style.add_legend_below(ax, entries, _format_roc_labels(report, curves, areas), heading)


def _draw_roc_curves(ax: Any, curves: dict[int, Any], areas: Array, thin: float = 1.0) -> list[Any]:
    """Draw a line for each class, of many classes grey but for the smallest areas; return those in the legend."""
    named = _select_named_classes(list(curves), areas)
    grey: list[Any] = []
    for k in [k for k in curves if k not in named]:
        grey = ax.plot(*curves[k], color=OTHERS_COLOUR, linewidth=0.8 * thin, zorder=2, gid="roc")
    entries = []
    for i, k in enumerate(named):
        of = 0 if len(named) == 1 else k if len(areas) <= MAX_LEGEND_CLASSES else i
        look: dict[str, Any] = {"color": style.colour(of), "linestyle": style.dashes(of)}
        entries += ax.plot(*curves[k], linewidth=1.9 * thin, zorder=3 + len(named) - i, gid="roc", **look)
    return [*entries, *grey]


def _select_named_classes(drawn: Sequence[int], areas: Array) -> list[int]:
    """Return the classes with a named curve: all of a few, of many those with the smallest area."""
    if len(drawn) <= MAX_LEGEND_CLASSES:
        return list(drawn)
    return sorted(drawn, key=lambda k: areas[k])[:MAX_NAMED_CURVES]


def _draw_working_point(ax: Any, report: Any, k: int) -> Any:
    """Draw the point of class k of two at which the more probable class is predicted; return it."""
    counts = np.asarray(report.confusion)
    other = 1 - k
    false, true = counts[other, k] / counts[other].sum(), counts[k, k] / counts[k].sum()
    look: dict[str, Any] = {"markersize": 9, "markeredgecolor": EDGE_COLOUR, "linestyle": "none", "zorder": 9}
    return ax.plot([false], [true], marker=style.marker(1), color=INK, gid="predicted", **look)[0]


def _format_roc_labels(report: Any, curves: dict[int, Any], areas: Array) -> list[str]:
    """Return the labels of the legend: of named curves, of the others together; of two classes also of the point."""
    names, low_high = report.classes, report.intervals.get("roc_auc")
    if len(names) == 2:
        (k,) = curves
        between = f" (95 % interval: {low_high[0]:.3f} to {low_high[1]:.3f})" if low_high else ""
        hit = f"the more probable class is predicted: {format_percent(report.accuracy)} right"
        return [f"area {format_area(areas[k])}{between}", hit]
    named = _select_named_classes(list(curves), areas)
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


def _label_roc_axes(ax: Any, two: Sequence[Any] | None) -> None:
    """Label the axes, with the names of `two` classes if there are no more; set the limits."""
    if two is None:
        ax.set_xlabel("share of the other classes that is predicted so by mistake")
        ax.set_ylabel("share of the class that is found")
    else:
        other, name = (shorten(label, 18) for label in two)
        ax.set_xlabel(f"share of {other} that is predicted as {name}", parse_math=False)
        ax.set_ylabel(f"share of {name} that is found", parse_math=False)
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    style.add_grid_lines(ax)


def _enlarge_corner(ax: Any, report: Any, curves: dict[int, Any], areas: Array) -> None:
    """Draw the upper left corner enlarged in the empty part of the picture.

    A curve with the area 1 − ε leaves the corner within about √ε.
    """
    reach = 2.2 * math.sqrt(1 - min(areas[k] for k in curves))
    corner = ax.inset_axes([0.37, 0.1, 0.5, 0.5], zorder=8)
    corner.yaxis.tick_right()
    _draw_roc_curves(corner, curves, areas, thin=0.9)
    if len(report.classes) == 2:
        (false,), (true,) = _draw_working_point(corner, report, next(iter(curves))).get_data()
        reach = max(reach, 1.2 * false, 1.2 * (1 - true))
    corner.set(xlim=(-0.02 * reach, reach), ylim=(1 - reach, 1 + 0.02 * reach))
    corner.tick_params(labelsize=8)
    style.add_grid_lines(corner)
    ax.indicate_inset_zoom(corner, edgecolor=FAINT_COLOUR, alpha=0.8, linewidth=0.8)


MAX_REPORTS = 4
"""The number of reports in one diagram; more would hide each other."""

HATCHES = ("", "////", "....", "xxxx")
"""The hatchings that distinguish bars in grey print."""

MAX_CLEAR_INTERVAL = 0.4
"""The widest interval of a share that is drawn as a filled point; that of a handful of rows is wider."""


def reliability(*reports: Any, names: Sequence[str] | None = None, ax: Any = None) -> Any:
    """Draw the share of correct predictions by confidence; return the Axes.

    A point is a bin of rows: horizontally, the mean probability of the predicted class; vertically, the share
    of those rows that are of it, with Wilson's 95 % interval; hollow if that is wide. Calibrated probabilities lie on
    the diagonal; points below it are overconfident. The bars below are the share of the rows in each bin. Up to four
    reports, as of a model before and after calibration, are drawn together, with `names` in the legend.

    >>> from deciban.metrics import Scorecard
    >>> posterior = np.log([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    >>> ax = reliability(Scorecard.of(posterior, np.array([0, 1, 1])).report(["ham", "spam"]))
    >>> ax.get_ylabel(), [text.get_text() for text in ax.get_legend().get_texts()]
    ('share of hits', ['calibration error 0.300, log-loss 0.415'])
    """
    style.need_matplotlib()
    labels = _check_names(reports, names)
    tables = [report.reliability for report in reports]
    if None in tables:
        raise InputError(
            "this report has not kept how sure the model was. Hint: deciban.evaluate and cross_validate keep it"
        )
    ax = style.make_axes(5.8, 6.0) if ax is None else ax
    bins = [table.select_bins(table.weight > 0) for table in tables]
    lowest = [1 / max(len(report.classes), 1) for report in reports]
    low = min(0.9, _round_down_to_tenth(min(*lowest, *(float(each.confidence.min()) for each in bins))))
    below = _draw_histogram(ax, tables)
    ax.plot([0, 1], [0, 1], **DIAGONAL, gid="diagonal")
    entries = [_draw_reliability_curve(ax, each, i) for i, each in enumerate(bins)]
    texts = []
    for name, report in zip(labels, reports):
        start = f"{shorten(name, 22)}: " if name else ""
        loss = format_number(report.log_loss, 3)
        texts.append(f"{start}calibration error {report.calibration_error:.3f}, log-loss {loss}")
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.01), "borderaxespad": 0.0}
    style.add_plain_legend(ax, entries, texts, handlelength=2.8, **place)
    floor = min(low, _round_down_to_tenth(min(float(each.low.min()) for each in bins)))
    ax.set(xlim=(low, 1 + 0.015 * (1 - low)), ylim=(floor, 1 + 0.02 * (1 - floor)))
    _label_reliability_axes(ax, below)
    _label_sides(ax, bins)
    return ax


def _check_names(reports: Sequence[Any], names: Sequence[str] | None) -> list[str]:
    """Return a name for each report, "" for a single one without; refuse no reports, too many, or other names."""
    if not 1 <= len(reports) <= MAX_REPORTS:
        raise InputError(f"1 to {MAX_REPORTS} reports are drawn together, not {len(reports)}")
    if names is None:
        return [""] if len(reports) == 1 else [f"report {i}" for i in range(1, len(reports) + 1)]
    if isinstance(names, str) or len(names) != len(reports):
        raise InputError(f"names must be a list with one name for each of the {len(reports)} reports, not {names!r}")
    return [str(name) for name in names]


def _round_down_to_tenth(value: float) -> float:
    """Round down to a tenth."""
    return math.floor(10 * value + 1e-9) / 10


def _draw_reliability_curve(ax: Any, bins: Reliability, i: int) -> Any:
    """Draw the points of bins with intervals, clear ones joined, the others small and hollow; return the line."""
    x, y, firm = bins.confidence, bins.hits, bins.high - bins.low <= MAX_CLEAR_INTERVAL
    ax.vlines(x, bins.low, bins.high, color=colour(i), linewidth=1.3, alpha=0.75, zorder=2, gid="interval")
    hollow: dict[str, Any] = {"markersize": 5, "markerfacecolor": EDGE_COLOUR, "linestyle": "none", "gid": "vague"}
    ax.plot(x[~firm], y[~firm], marker=style.marker(i), color=colour(i), zorder=3 + i, **hollow)
    look: dict[str, Any] = {"linewidth": 1.4, "linestyle": style.dashes(i), **style.marker_look(i, 7, 0.7)}
    return ax.plot(x[firm], y[firm], zorder=3 + i, gid="reliability", **look)[0]


def _draw_histogram(ax: Any, tables: Sequence[Reliability]) -> Any:
    """Draw the share of the rows in each bin in a new Axes below, on the same axis of confidence, and return it.

    It takes the lower part of the given Axes. The bars of reports are side by side; empty bins have none.
    """
    place = ax.get_subplotspec()
    if place is None:  # the Axes was placed by hand
        below = ax.inset_axes([0, -0.38, 1, 0.3], sharex=ax)
    else:
        upper, lower = place.subgridspec(2, 1, height_ratios=[3.2, 1], hspace=0.06)
        ax.set_subplotspec(upper)
        below = ax.figure.add_subplot(lower, sharex=ax)
    for i, table in enumerate(tables):
        n, some = len(table.weight), np.flatnonzero(table.weight)
        width = 1 / n / len(tables)
        share = table.weight[some] / table.weight.sum()
        look: dict[str, Any] = {"color": colour(i), "edgecolor": EDGE_COLOUR, "linewidth": 0.6, "hatch": HATCHES[i]}
        below.bar(some / n + i * width, share, width=width, align="edge", gid="rows", **look)
    return below


def _label_sides(ax: Any, bins: Sequence[Reliability]) -> None:
    """Label the sides of the diagonal, in corners without points or intervals."""
    x, low, high = (np.concatenate([getattr(each, name) for each in bins]) for name in ("confidence", "low", "high"))
    across, up = ax.get_xlim(), ax.get_ylim()
    at, foot, head = (x - across[0]) / np.ptp(across), (low - up[0]) / np.ptp(up), (high - up[0]) / np.ptp(up)
    look: dict[str, Any] = {"transform": ax.transAxes, "color": FAINT_COLOUR, "fontstyle": "italic", "fontsize": 9}
    if not ((at < 0.33) & (head > 0.9)).any():
        ax.text(0.02, 0.97, "not sure enough", ha="left", va="top", **look)
    if not ((at > 0.77) & (foot < 0.1)).any():
        ax.text(0.98, 0.03, "too sure", ha="right", va="bottom", **look)


def _label_reliability_axes(ax: Any, below: Any) -> None:
    """Label the axes of the curves and of the histogram."""
    ax.set_ylabel("share of hits")
    below.set(xlabel="confidence in the predicted class", ylabel="rows")
    style.label_in_percent(below.yaxis)
    below.yaxis.get_major_locator().set_params(nbins=3)
    ax.tick_params(axis="x", labelbottom=False)
    style.add_grid_lines(ax, below)
    for each in (ax, below):
        style.hide_spines(each, "top", "right")
