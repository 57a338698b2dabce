"""Learning curves: accuracy or log-loss on held-out rows by the number of rows learned, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from deciban._typing import Array
from deciban.errors import InputError
from deciban.formatting import format_short_percent, format_thousands
from deciban.plots.style import (
    EDGE,
    FAINT_COLOUR,
    add_grid_lines,
    colour,
    dashes,
    legend_below,
    make_axes,
    marker,
    need_matplotlib,
    shorten,
)

Figure = Literal["accuracy", "log_loss"]
FIGURE_NAMES = {"accuracy": "accuracy", "log_loss": "log-loss"}
INFINITE_NOTE = "a point is lacking where the truth was called impossible: it is ∞"

WHISKER_SPACING_POINTS = 2.2
"""The distance between the whiskers of two shares of flipped labels."""

MAX_AXIS_CHARACTERS = 62
"""The number of characters of the numbers below the axis."""


def learning(curve: Any, *, figure: Figure = "accuracy", ax: Any = None) -> Any:
    """Draw the quality of a model by the number of rows it learned, as `learning_curve` measured it; return the Axes.

    A point is a model that learned so many rows, its whisker the 95 % interval of the `figure`, "accuracy" or
    "log_loss", on the same held-out rows; a curve for each share of training labels that were flipped. The dotted
    line is the figure of the class shares without any evidence.

    >>> import deciban
    >>> rows = {"x": [i % 7 + 3 * (i % 2) for i in range(200)], "odd": [i % 2 for i in range(200)]}
    >>> ax = learning(deciban.learning_curve(rows, target="odd", sizes=[20, 100], flipped=[0, 0.2]))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['labels as they are', '20 % of the labels wrong', 'always 0']
    """
    if figure not in FIGURE_NAMES:
        raise InputError(f"figure must be {' or '.join(map(repr, FIGURE_NAMES))}, not {figure!r}")
    need_matplotlib()
    ax = make_axes(6.4, 4.4 + 0.2 * len(curve.flipped)) if ax is None else ax
    sizes = np.asarray(curve.sizes, dtype=np.float64)
    values = np.reshape(getattr(curve, figure), (len(curve.flipped), len(sizes)))
    ends = np.reshape(getattr(curve, f"{figure}_interval"), (len(curve.flipped), len(sizes), 2))
    entries = [_line(ax, sizes, y, e, i, len(values)) for i, (y, e) in enumerate(zip(values, ends))]
    bare, words = _without_evidence(curve.reports[0][-1], figure)
    entries.append(ax.axhline(bare, color=FAINT_COLOUR, linewidth=1.1, linestyle=(0, (1, 1.5)), zorder=1, gid="bare"))
    _set_limits(ax, sizes, np.concatenate([values.ravel(), ends.ravel(), [bare]]))
    _label_axes(ax, curve, figure)
    whole = bool(np.isfinite(values).all())
    legend_below(ax, entries, [*_labels(curve.flipped), words], None if whole else INFINITE_NOTE)
    return ax


def _line(ax: Any, sizes: Array, y: Array, ends: Array, i: int, n: int) -> Any:
    """Draw the points with their intervals, those of several shares side by side; infinite ones are left out."""
    from matplotlib.transforms import ScaledTranslation

    aside = ScaledTranslation((i - (n - 1) / 2) * WHISKER_SPACING_POINTS / 72, 0, ax.figure.dpi_scale_trans)
    shown = np.isfinite(y)
    finite = shown & np.isfinite(ends).all(axis=1)
    look: dict[str, Any] = {"color": colour(i), "transform": ax.transData + aside}
    ax.vlines(sizes[finite], *ends[finite].T, linewidth=1.3, alpha=0.75, zorder=2, gid="interval", **look)
    points: dict[str, Any] = {"markersize": 6.5, "markeredgecolor": EDGE, "markeredgewidth": 0.6, "linewidth": 1.5}
    style: dict[str, Any] = {"marker": marker(i), "linestyle": dashes(i), "zorder": 3, "gid": "learning"}
    return ax.plot(sizes[shown], y[shown], **look, **points, **style)[0]


def _without_evidence(report: Any, figure: Figure) -> tuple[float, str]:
    """Return the figure of predicting by the shares of the classes alone."""
    if figure == "accuracy":
        return float(report.majority), f"always {shorten(report.commonest)}"
    shares = np.asarray(report.rows_by_class) / np.sum(report.rows_by_class)
    some = shares[shares > 0]
    return float(-(some * np.log(some)).sum()), "the shares of the classes alone"


def _labels(flipped: Sequence[float]) -> list[str]:
    if len(flipped) == 1 and not flipped[0]:
        return ["with its 95 % interval"]
    return [
        "labels as they are" if not share else f"{format_short_percent(share, 3)} of the labels wrong"
        for share in flipped
    ]


def _label_axes(ax: Any, curve: Any, figure: Figure) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter, PercentFormatter

    ax.xaxis.set_major_formatter(FuncFormatter(lambda n, _: format_thin_spaces(n)))
    ax.xaxis.set_minor_formatter(NullFormatter())
    places = legible_sizes(curve.sizes)
    ax.set_xticks(places, [format_thin_spaces(n) for n in places])
    ax.set_xticks([], minor=True)
    if figure == "accuracy":
        ax.yaxis.set_major_formatter(
            PercentFormatter(1, decimals=0 if np.ptp(ax.get_ylim()) > 0.05 else 1, symbol=" %")
        )
    ax.set_xlabel("rows learned")
    rows = "row" if curve.held_out == 1 else "rows"
    ax.set_ylabel(f"{FIGURE_NAMES[figure]} on {format_thin_spaces(curve.held_out)} held-out {rows}")
    add_grid_lines(ax)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def _set_limits(ax: Any, sizes: Array, heights: Array) -> None:
    """Set the limits of the axes to the points and whiskers, with a margin."""
    aside = max(sizes.max() / sizes.min(), 4.0) ** 0.05
    ax.set_xscale("log")
    ax.set_xlim(sizes.min() / aside, sizes.max() * aside)
    heights = heights[np.isfinite(heights)]
    margin = 0.05 * max(float(np.ptp(heights)), 0.02)
    ax.set_ylim(heights.min() - margin, heights.max() + margin)


def legible_sizes(sizes: Sequence[int], characters: int = MAX_AXIS_CHARACTERS) -> list[int]:
    """Return the sizes that fit below a logarithmic axis without touching, with the largest.

    >>> legible_sizes([10, 11, 100, 1000]), legible_sizes([5])
    ([11, 100, 1000], [5])
    """
    spacing = np.log(max(sizes) / min(sizes)) * (len(format_thin_spaces(max(sizes))) + 2) / characters
    kept: list[int] = []
    for size in sorted(sizes, reverse=True):
        if not kept or np.log(kept[-1] / size) >= spacing:
            kept.append(size)
    return kept[::-1]


def format_thin_spaces(n: float) -> str:
    """Format a whole number with thin spaces between thousands."""
    return format_thousands(n, gap="\u2009")
