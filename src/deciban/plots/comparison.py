"""Learners side by side: how much worse each is than the best, and the quality of each on few rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from deciban._typing import Array
from deciban.errors import InputError
from deciban.metrics.comparison_advice import round_rows
from deciban.metrics.intervals import NORMAL_95
from deciban.plots.learning import FIGURE_NAMES, WHISKER_SPACING_POINTS, format_thin_spaces, legible_sizes
from deciban.plots.style import (
    EDGE,
    FAINT_COLOUR,
    INK,
    add_grid_lines,
    colour,
    dashes,
    marker,
    need_matplotlib,
    shorten,
)

Figure = Literal["accuracy", "log_loss"]
DIFFERENCE_LABELS = {"accuracy": "accuracy below the highest", "log_loss": "log-loss above the lowest"}
GAUSSIAN_PREFIX = "Gaussian"
"""The prefix of the names of Gaussian learners, of which only the best has a curve."""

MAX_RANGE_RATIO = 2.5
"""The range of differences that is drawn, in multiples of the largest difference of a learner with a curve."""

CURVE_AXIS_CHARACTERS = 42
"""The number of characters of the numbers below the curves."""


def comparison(found: Any, *, figure: Figure = "accuracy", ax: Any = None) -> Any:
    """Draw learners as `deciban.compare` evaluated them; return the Figure, or the Axes if there is one panel.

    On the left how much worse each learner is than the best by the `figure`, "accuracy" or "log_loss", with the 95 %
    interval of the differences row by row; hollow where no difference is significant, at 95 % for all of them
    together. On the right the mean over the draws by how many rows were learned, with 95 % intervals, and
    where naive Bayes is overtaken. Of the Gaussian learners the best alone has a curve. With `ax` the curves alone,
    or, if there are none, the differences.

    >>> import deciban
    >>> rows = {"x": [i % 7 + 3 * (i % 2) for i in range(200)], "odd": [i % 2 for i in range(200)]}
    >>> found = deciban.compare(rows, target="odd", learners=["bayes", "tied_diagonal"], draws=3)
    >>> [panel.get_xlabel().splitlines()[0] for panel in comparison(found).axes]
    ['accuracy below the highest', 'rows learned']
    """
    if figure not in FIGURE_NAMES:
        raise InputError(f"figure must be {' or '.join(map(repr, FIGURE_NAMES))}, not {figure!r}")
    need_matplotlib()
    drawn = _select_curves(found)
    if ax is not None:
        return _curves(ax, found, figure, drawn, key=True) if found.growth else _gaps(ax, found, figure, drawn)
    panels = _sheet(len(found.rows), found.growth is not None)
    _gaps(panels[0], found, figure, drawn)
    if found.growth is None:
        return panels[0]
    _curves(panels[1], found, figure, drawn, key=False)
    return panels[0].figure


def _sheet(n_learners: int, curves: bool) -> Sequence[Any]:
    """Make a panel of differences as tall as its learners need, and one of curves next to it."""
    from matplotlib import pyplot

    height = max(3.6 if curves else 1.6, 0.9 + 0.32 * n_learners)
    widths = [1.0, 1.25] if curves else [1.0]
    figure, axes = pyplot.subplots(
        1,
        len(widths),
        figsize=(9.6 if curves else 6.4, height),
        width_ratios=widths,
        layout="constrained",
        squeeze=False,
    )
    engine: Any = figure.get_layout_engine()
    engine.set(w_pad=0.1, h_pad=0.1)
    return list(axes[0])


def _select_curves(found: Any) -> dict[str, int]:
    """Return the learners with a curve and the index of their colour; of the Gaussians that of lowest log-loss."""
    gaussians = [each for each in found.rows if each.name.startswith(GAUSSIAN_PREFIX)]
    best = min(gaussians, key=lambda each: each.loss.mean, default=None)
    shown = [each.name for each in found.rows if each is best or each not in gaussians]
    return {name: i for i, name in enumerate(shown)}


def _gaps(ax: Any, found: Any, figure: Figure, drawn: dict[str, int]) -> Any:
    """Draw a line for each learner: how much worse it is than the best, with its interval."""
    from matplotlib.ticker import MaxNLocator

    gaps = [each.loss if figure == "log_loss" else each.misses for each in found.rows]
    mean, error = np.array([gap.mean for gap in gaps]), np.nan_to_num([gap.error for gap in gaps])
    whisker = NORMAL_95 * error
    level = found.level if figure == "log_loss" else found.as_accurate
    shown = np.array([each.name in drawn for each in found.rows])
    reach = max(MAX_RANGE_RATIO * float((mean + whisker)[shown].max()), 1e-3)
    ax.axvline(0, color=FAINT_COLOUR, linewidth=1.1, zorder=1)
    for y, each in enumerate(found.rows):
        gap = float(mean[y]), float(whisker[y])
        _gap(ax, y, gap, (*_look(each.name, drawn), each in level), reach, figure)
    right = max(min(reach, float((mean + whisker).max())), 1e-3)
    ax.set_xlim(min(-0.06 * right, float((mean - whisker).min()) - 0.04 * right), right * 1.12)
    ax.set_yticks(range(len(found.rows)), [shorten(each.name) for each in found.rows])
    for label, each in zip(ax.get_yticklabels(), found.rows):
        label.set_weight("bold" if each is found.best else "normal")
    ax.set_ylim(len(found.rows) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.xaxis.set_major_locator(MaxNLocator(5))
    _in_percent(ax.xaxis, figure)
    ax.set_xlabel(f"{DIFFERENCE_LABELS[figure]}\n(hollow: no difference is shown)")
    ax.grid(axis="x", color="#e3e3e3", linewidth=0.7)
    _hide_spines(ax, "top", "right", "left")
    return ax


def _look(name: str, drawn: dict[str, int]) -> tuple[str, str]:
    """Return colour and marker; grey dots for learners without a curve."""
    return (colour(drawn[name]), marker(drawn[name])) if name in drawn else (FAINT_COLOUR, "o")


def _gap(
    ax: Any, y: int, gap: tuple[float, float], look: tuple[str, str, bool], reach: float, figure: Figure
) -> None:
    """Draw a difference and its interval; one beyond the range is written at the edge."""
    mean, whisker = gap
    if mean > reach:
        text = f"{100 * mean:.0f} %" if figure == "accuracy" else f"{mean:.3g}"
        ax.plot([reach * 1.05], [y], marker=">", color=look[0], markersize=6, gid="beyond")
        ax.annotate(text, (reach * 1.01, y), ha="right", va="center", fontsize=8.5, color=INK)
        return
    ax.hlines(
        y, mean - whisker, min(mean + whisker, reach * 1.12), color=look[0], linewidth=1.4, alpha=0.75, zorder=2
    )
    face = EDGE if look[2] else look[0]
    size = 6.5 if look[0] != FAINT_COLOUR else 4.5
    style: dict[str, Any] = {"markerfacecolor": face, "markeredgecolor": look[0], "markeredgewidth": 1.4}
    ax.plot([mean], [y], marker=look[1], markersize=size, linestyle="none", zorder=3, gid="difference", **style)


def _curves(ax: Any, found: Any, figure: Figure, drawn: dict[str, int], key: bool) -> Any:
    """Draw a curve for each learner over the rows that it learned."""
    growth = found.growth
    sizes = np.asarray(growth.sizes, dtype=np.float64)
    mean, error = growth.mean(figure), np.nan_to_num(growth.error(figure)) * growth.critical_errors
    names = [name for name in drawn if name in growth.names]
    for name in names:
        i = growth.index(name)
        _curve(ax, sizes, mean[i], error[i], drawn[name], len(drawn), name)
    rows = [growth.index(name) for name in names]
    _set_curve_limits(ax, sizes, mean[rows], error[rows], figure)
    _draw_crossing(ax, found)
    places = legible_sizes(growth.sizes, CURVE_AXIS_CHARACTERS)
    ax.set_xticks(places, [format_thin_spaces(n) for n in places])
    ax.set_xticks([], minor=True)
    _in_percent(ax.yaxis, figure)
    if figure == "log_loss":
        _format_log_axis(ax.yaxis)
    ax.set_xlabel("rows learned")
    ax.set_ylabel(
        f"{FIGURE_NAMES[figure]} on {format_thin_spaces(growth.held_out)} held-out rows, {growth.draws} draws"
    )
    add_grid_lines(ax)
    _hide_spines(ax, "top", "right")
    if key:
        ax.legend(frameon=False, fontsize=9, handlelength=3.0)
    return ax


def _curve(ax: Any, sizes: Array, y: Array, whisker: Array, i: int, n: int, name: str) -> None:
    from matplotlib.transforms import ScaledTranslation

    aside = ScaledTranslation((i - (n - 1) / 2) * WHISKER_SPACING_POINTS / 72, 0, ax.figure.dpi_scale_trans)
    look: dict[str, Any] = {"color": colour(i), "transform": ax.transData + aside}
    ax.vlines(sizes, y - whisker, y + whisker, linewidth=1.2, alpha=0.6, zorder=2, gid="interval", **look)
    points: dict[str, Any] = {"markersize": 6.5, "markeredgecolor": EDGE, "markeredgewidth": 0.6, "linewidth": 1.5}
    ax.plot(sizes, y, marker=marker(i), linestyle=dashes(i), zorder=3, gid="learning", label=name, **look, **points)


def _set_curve_limits(ax: Any, sizes: Array, mean: Array, whisker: Array, figure: Figure) -> None:
    """Set the limits of the axes to the points and whiskers; log-losses of few rows are huge, so on a log scale."""
    aside = max(sizes.max() / sizes.min(), 4.0) ** 0.05
    ax.set_xscale("log")
    ax.set_xlim(sizes.min() / aside, sizes.max() * aside)
    low, high = float((mean - whisker).min()), float((mean + whisker).max())
    if figure == "log_loss":
        ax.set_yscale("log")
        ax.set_ylim(float(np.maximum(mean - whisker, mean / 2).min()) / 1.05, high * 1.05)
        return
    margin = 0.05 * max(high - low, 0.02)
    ax.set_ylim(low - margin, high + margin)


def _draw_crossing(ax: Any, found: Any) -> None:
    """Draw where naive Bayes is overtaken, if it is."""
    at = found.overtaken_at
    if at is None:
        return
    ax.axvline(at, color=FAINT_COLOUR, linewidth=1.1, linestyle=(0, (1, 1.5)), zorder=1, gid="crossing")
    left, right = np.log(ax.get_xlim())
    side = "right" if (np.log(at) - left) / (right - left) > 0.5 else "left"
    word = f" overtaken at about {round_rows(at)} rows "
    ax.text(at, 0.02, word, transform=ax.get_xaxis_transform(), ha=side, va="bottom", fontsize=8.5, color=INK)


def _format_log_axis(axis: Any) -> None:
    """Label a logarithmic axis with plain numbers: 1, 2 and 5 of each power of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _in_percent(axis: Any, figure: Figure) -> None:
    from matplotlib.ticker import FuncFormatter

    if figure == "accuracy":
        axis.set_major_formatter(FuncFormatter(lambda share, _: f"{round(100 * share, 6):g} %".replace("-", "−")))


def _hide_spines(ax: Any, *sides: str) -> None:
    for side in sides:
        ax.spines[side].set_visible(False)
