"""Reliability diagrams: the share of hits by confidence, and the distribution of confidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError
from deciban.plots import style
from deciban.plots.style import EDGE, FAINT_COLOUR, colour, shorten

MAX_REPORTS = 4
"""The number of reports in one diagram; more would hide each other."""

HATCHES = ("", "////", "....", "xxxx")
"""The hatchings that distinguish bars in grey print."""

MAX_CLEAR_INTERVAL = 0.4
"""The widest interval of a share that is drawn as a filled point; that of a handful of rows is wider."""


@dataclass(frozen=True)
class Bins:
    """The bins of confidence that have rows: their indices and number, weights, confidences and shares of hits."""

    place: NDArray[np.intp]
    number: int
    weight: Array
    confidence: Array
    hits: Array
    low: Array
    high: Array


def read_bins(report: Any) -> Bins:
    """Return the bins of a report."""
    bins = report.reliability
    if bins is None:
        raise InputError(
            "this report has not kept how sure the model was. Hint: deciban.evaluate and cross_validate keep it"
        )
    some = np.flatnonzero(bins.weight > 0)
    values = (np.asarray(part)[some] for part in (bins.weight, bins.confidence, bins.hits, bins.low, bins.high))
    return Bins(some, len(bins.weight), *values)


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
    labels = _names(reports, names)
    ax = style.make_axes(5.8, 6.0) if ax is None else ax
    bins = [read_bins(report) for report in reports]
    low = min(1 / max(len(report.classes), 1) for report in reports)
    low = min([0.9, _tenth(low), *(_tenth(float(part.confidence.min())) for part in bins)])
    below = _draw_histogram(ax, bins)
    ax.plot([0, 1], [0, 1], color=FAINT_COLOUR, linewidth=1, linestyle=(0, (2, 2)), zorder=1, gid="diagonal")
    entries = [_draw_curve(ax, part, i) for i, part in enumerate(bins)]
    texts = [_label(name, report) for name, report in zip(labels, reports)]
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.01), "borderaxespad": 0.0}
    style.add_plain_legend(ax, entries, texts, handlelength=2.8, **place)
    floor = min([low, *(_tenth(float(part.low.min())) for part in bins)])
    ax.set_xlim(low, 1 + 0.015 * (1 - low))
    ax.set_ylim(floor, 1 + 0.02 * (1 - floor))
    _label_axes(ax, below)
    _label_sides(ax, bins)
    return ax


def _names(reports: Sequence[Any], names: Sequence[str] | None) -> list[str]:
    if not 1 <= len(reports) <= MAX_REPORTS:
        raise InputError(f"1 to {MAX_REPORTS} reports are drawn together, not {len(reports)}")
    if names is None:
        return [""] if len(reports) == 1 else [f"report {i}" for i in range(1, len(reports) + 1)]
    if isinstance(names, str) or len(names) != len(reports):
        raise InputError(f"names must be a list with one name for each of the {len(reports)} reports, not {names!r}")
    return [str(name) for name in names]


def _tenth(value: float) -> float:
    """Round down to a tenth."""
    return math.floor(10 * value + 1e-9) / 10


def _draw_curve(ax: Any, bins: Bins, i: int) -> Any:
    """Draw the points with their intervals; clear ones are joined, the others small and hollow."""
    x, y, firm = bins.confidence, bins.hits, bins.high - bins.low <= MAX_CLEAR_INTERVAL
    ax.vlines(x, bins.low, bins.high, color=colour(i), linewidth=1.3, alpha=0.75, zorder=2, gid="interval")
    hollow: dict[str, Any] = {"markersize": 5, "markerfacecolor": EDGE, "linestyle": "none", "gid": "vague"}
    ax.plot(x[~firm], y[~firm], marker=style.marker(i), color=colour(i), zorder=3 + i, **hollow)
    look: dict[str, Any] = {"linewidth": 1.4, "linestyle": style.dashes(i), **style.marker_look(i, 7, 0.7)}
    return ax.plot(x[firm], y[firm], zorder=3 + i, gid="reliability", **look)[0]


def _draw_histogram(ax: Any, bins: Sequence[Bins]) -> Any:
    """Draw the share of the rows in each bin below, on the same axis of confidence; reports side by side."""
    below = _split(ax)
    for i, part in enumerate(bins):
        width = 1 / part.number / len(bins)
        left = part.place / part.number + i * width
        look: dict[str, Any] = {"color": colour(i), "edgecolor": EDGE, "linewidth": 0.6, "hatch": HATCHES[i]}
        below.bar(left, part.weight / part.weight.sum(), width=width, align="edge", gid="rows", **look)
    return below


def _split(ax: Any) -> Any:
    """Make an Axes in the lower part of this one; below it if it was placed by hand."""
    place = ax.get_subplotspec()
    if place is None:
        return ax.inset_axes([0, -0.38, 1, 0.3], sharex=ax)
    upper, lower = place.subgridspec(2, 1, height_ratios=[3.2, 1], hspace=0.06)
    ax.set_subplotspec(upper)
    return ax.figure.add_subplot(lower, sharex=ax)


def _label(name: str, report: Any) -> str:
    start = f"{shorten(name, 22)}: " if name else ""
    loss = f"{report.log_loss:.3f}" if math.isfinite(report.log_loss) else "∞"
    return f"{start}calibration error {report.calibration_error:.3f}, log-loss {loss}"


def _label_sides(ax: Any, bins: Sequence[Bins]) -> None:
    """Label the sides of the diagonal, in corners without points or intervals."""
    x, low, high = (np.concatenate([getattr(part, name) for part in bins]) for name in ("confidence", "low", "high"))
    across, up = ax.get_xlim(), ax.get_ylim()
    at, foot, head = (x - across[0]) / np.ptp(across), (low - up[0]) / np.ptp(up), (high - up[0]) / np.ptp(up)
    look: dict[str, Any] = {"transform": ax.transAxes, "color": FAINT_COLOUR, "fontstyle": "italic", "fontsize": 9}
    if not ((at < 0.33) & (head > 0.9)).any():
        ax.text(0.02, 0.97, "not sure enough", ha="left", va="top", **look)
    if not ((at > 0.77) & (foot < 0.1)).any():
        ax.text(0.98, 0.03, "too sure", ha="right", va="bottom", **look)


def _label_axes(ax: Any, below: Any) -> None:
    """Label the axes of the curves and of the histogram."""
    from matplotlib.ticker import PercentFormatter

    ax.set_ylabel("share of hits")
    below.set_ylabel("rows")
    below.set_xlabel("confidence in the class called")
    below.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    below.yaxis.get_major_locator().set_params(nbins=3)
    ax.tick_params(axis="x", labelbottom=False)
    style.add_grid_lines(ax, below)
    for part in (ax, below):
        style.hide_spines(part, "top", "right")
