"""Learners side by side: how much worse each is than the best, and how much each makes of few rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from deciban._typing import Array
from deciban.errors import InputError
from deciban.metrics.comparison_advice import round_rows
from deciban.metrics.intervals import NORMAL_95
from deciban.plots.learning import APART, WORDS, legible, thinly_spaced
from deciban.plots.style import EDGE, FAINT, INK, colour, dashes, marker, need_matplotlib, ruled, shortened

Figure = Literal["accuracy", "log_loss"]
ABOVE = {"accuracy": "accuracy below the highest", "log_loss": "log-loss above the lowest"}
BELLS = "Gaussian"
"""How the names of bells begin, of which only the best has a curve."""

REACH = 2.5
"""How many times as far as the worst of the learners with a curve the differences are drawn."""

LETTERS = 42
"""Of numbers that stand side by side beneath the curves."""


def comparison(found: Any, *, figure: Figure = "accuracy", ax: Any = None) -> Any:
    """Draw learners as `deciban.compare` judged them; returns the Figure, or the Axes where there is one panel.

    On the left how much worse each learner is than the best by the `figure`, "accuracy" or "log_loss", with the 95 %
    interval of the differences row by row; hollow where no difference is shown, if one is to be 95 % sure of all of
    them at once. On the right the mean over the draws by how many rows were learned, with 95 % intervals, and
    where naive Bayes is overtaken. Of the bells the best alone has a curve. With `ax` the curves alone, or, where
    there are none, the differences.

    >>> import deciban
    >>> rows = {"x": [i % 7 + 3 * (i % 2) for i in range(200)], "odd": [i % 2 for i in range(200)]}
    >>> found = deciban.compare(rows, target="odd", learners=["bayes", "tied_diagonal"], draws=3)
    >>> [panel.get_xlabel().splitlines()[0] for panel in comparison(found).axes]
    ['accuracy below the highest', 'rows learned']
    """
    if figure not in WORDS:
        raise InputError(f"figure must be {' or '.join(map(repr, WORDS))}, not {figure!r}")
    need_matplotlib()
    drawn = _drawn(found)
    if ax is not None:
        return _curves(ax, found, figure, drawn, key=True) if found.growth else _gaps(ax, found, figure, drawn)
    panels = _sheet(len(found.rows), found.growth is not None)
    _gaps(panels[0], found, figure, drawn)
    if found.growth is None:
        return panels[0]
    _curves(panels[1], found, figure, drawn, key=False)
    return panels[0].figure


def _sheet(n_learners: int, curves: bool) -> Sequence[Any]:
    """A panel of differences as tall as its learners need, and one of curves beside it."""
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


def _drawn(found: Any) -> dict[str, int]:
    """The learners that have a curve, each with the place of its colour: of the bells the one of lowest log-loss."""
    bells = [each for each in found.rows if each.name.startswith(BELLS)]
    best = min(bells, key=lambda each: each.loss.mean, default=None)
    shown = [each.name for each in found.rows if each is best or each not in bells]
    return {name: i for i, name in enumerate(shown)}


def _gaps(ax: Any, found: Any, figure: Figure, drawn: dict[str, int]) -> Any:
    """A line for each learner: how much worse it is than the best, with its interval."""
    from matplotlib.ticker import MaxNLocator

    gaps = [each.loss if figure == "log_loss" else each.misses for each in found.rows]
    mean, error = np.array([gap.mean for gap in gaps]), np.nan_to_num([gap.error for gap in gaps])
    whisker = NORMAL_95 * error
    level = found.level if figure == "log_loss" else found.as_accurate
    shown = np.array([each.name in drawn for each in found.rows])
    reach = max(REACH * float((mean + whisker)[shown].max()), 1e-3)
    ax.axvline(0, color=FAINT, linewidth=1.1, zorder=1)
    for y, each in enumerate(found.rows):
        gap = float(mean[y]), float(whisker[y])
        _gap(ax, y, gap, (*_look(each.name, drawn), each in level), reach, figure)
    right = max(min(reach, float((mean + whisker).max())), 1e-3)
    ax.set_xlim(min(-0.06 * right, float((mean - whisker).min()) - 0.04 * right), right * 1.12)
    ax.set_yticks(range(len(found.rows)), [shortened(each.name) for each in found.rows])
    for label, each in zip(ax.get_yticklabels(), found.rows):
        label.set_weight("bold" if each is found.best else "normal")
    ax.set_ylim(len(found.rows) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.xaxis.set_major_locator(MaxNLocator(5))
    _in_percent(ax.xaxis, figure)
    ax.set_xlabel(f"{ABOVE[figure]}\n(hollow: no difference is shown)")
    ax.grid(axis="x", color="#e3e3e3", linewidth=0.7)
    _bare(ax, "top", "right", "left")
    return ax


def _look(name: str, drawn: dict[str, int]) -> tuple[str, str]:
    """Colour and marker; grey dots for those that have no curve."""
    return (colour(drawn[name]), marker(drawn[name])) if name in drawn else (FAINT, "o")


def _gap(
    ax: Any, y: int, gap: tuple[float, float], look: tuple[str, str, bool], reach: float, figure: Figure
) -> None:
    """A difference and its interval; one that is far off is told in figures at the edge."""
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
    size = 6.5 if look[0] != FAINT else 4.5
    style: dict[str, Any] = {"markerfacecolor": face, "markeredgecolor": look[0], "markeredgewidth": 1.4}
    ax.plot([mean], [y], marker=look[1], markersize=size, linestyle="none", zorder=3, gid="difference", **style)


def _curves(ax: Any, found: Any, figure: Figure, drawn: dict[str, int], key: bool) -> Any:
    """A curve for each learner over the rows that it learned."""
    growth = found.growth
    sizes = np.asarray(growth.sizes, dtype=np.float64)
    mean, error = growth.mean(figure), np.nan_to_num(growth.error(figure)) * growth.critical_errors
    names = [name for name in drawn if name in growth.names]
    for name in names:
        i = growth.index(name)
        _curve(ax, sizes, mean[i], error[i], drawn[name], len(drawn), name)
    rows = [growth.index(name) for name in names]
    _reach(ax, sizes, mean[rows], error[rows], figure)
    _crossing(ax, found)
    places = legible(growth.sizes, LETTERS)
    ax.set_xticks(places, [thinly_spaced(n) for n in places])
    ax.set_xticks([], minor=True)
    _in_percent(ax.yaxis, figure)
    if figure == "log_loss":
        _plainly(ax.yaxis)
    ax.set_xlabel("rows learned")
    ax.set_ylabel(f"{WORDS[figure]} on {thinly_spaced(growth.held_out)} held-out rows, {growth.draws} draws")
    ruled(ax)
    _bare(ax, "top", "right")
    if key:
        ax.legend(frameon=False, fontsize=9, handlelength=3.0)
    return ax


def _curve(ax: Any, sizes: Array, y: Array, whisker: Array, i: int, n: int, name: str) -> None:
    from matplotlib.transforms import ScaledTranslation

    aside = ScaledTranslation((i - (n - 1) / 2) * APART / 72, 0, ax.figure.dpi_scale_trans)
    look: dict[str, Any] = {"color": colour(i), "transform": ax.transData + aside}
    ax.vlines(sizes, y - whisker, y + whisker, linewidth=1.2, alpha=0.6, zorder=2, gid="interval", **look)
    points: dict[str, Any] = {"markersize": 6.5, "markeredgecolor": EDGE, "markeredgewidth": 0.6, "linewidth": 1.5}
    ax.plot(sizes, y, marker=marker(i), linestyle=dashes(i), zorder=3, gid="learning", label=name, **look, **points)


def _reach(ax: Any, sizes: Array, mean: Array, whisker: Array, figure: Figure) -> None:
    """As far as the points and whiskers reach; log-losses, which few rows make huge, by their logarithms."""
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


def _crossing(ax: Any, found: Any) -> None:
    """Where naive Bayes is overtaken, if that is what the curves say."""
    at = found.overtaken_at
    if at is None:
        return
    ax.axvline(at, color=FAINT, linewidth=1.1, linestyle=(0, (1, 1.5)), zorder=1, gid="crossing")
    left, right = np.log(ax.get_xlim())
    side = "right" if (np.log(at) - left) / (right - left) > 0.5 else "left"
    word = f" overtaken at about {round_rows(at)} rows "
    ax.text(at, 0.02, word, transform=ax.get_xaxis_transform(), ha=side, va="bottom", fontsize=8.5, color=INK)


def _plainly(axis: Any) -> None:
    """Numbers of an axis of logarithms as they are, 1, 2 and 5 of each power of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _in_percent(axis: Any, figure: Figure) -> None:
    from matplotlib.ticker import FuncFormatter

    if figure == "accuracy":
        axis.set_major_formatter(FuncFormatter(lambda share, _: f"{round(100 * share, 6):g} %".replace("-", "−")))


def _bare(ax: Any, *sides: str) -> None:
    for side in sides:
        ax.spines[side].set_visible(False)
