"""Curves over the log-odds and the margin: the sigmoid with the rows of a table, and four losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from deciban._typing import Array
from deciban.errors import InputError
from deciban.metrics.intervals import wilson
from deciban.plots.style import INK, add_grid_lines, colour, dashes, need_matplotlib, new_axes, shorten
from deciban.scores.explanation import DECIBAN

MAX_RANGE_DB, MIN_RANGE_DB = 50.0, 20.0
"""The largest and the smallest range to either side of even odds, in decibans; rows beyond are drawn at the edge."""

BAND_COUNT, MIN_BAND_ROWS = 11, 3
"""The number of bands of log-odds for comparing predicted with observed shares, and the fewest rows of a band."""

STRIP_HEIGHT = 0.13
"""The height of the strip in which the rows of a class are scattered, so that they do not hide each other."""


def sigmoid(log_odds: Any = None, hits: Any = None, *, label: Any = None, ax: Any = None) -> Any:
    """Draw the curve p = 1 / (1 + e^−f) from log-odds to probability, over rows if there are any; return the Axes.

    `log_odds` are ln[p / (1 − p)] of a class called `label`, a number for each row, and `hits` whether the row is of
    that class: such rows are scattered above the curve, the others below it. Diamonds are the share of hits among
    rows of similar log-odds, with 95 % intervals: on the curve if probabilities are calibrated.

    >>> ax = sigmoid([-2.0, -1.0, 1.0, 3.0], [False, False, True, True], label="ill")
    >>> [len(part.get_offsets()) for part in ax.collections if part.get_gid() in ("hits", "others")]
    [2, 2]
    """
    need_matplotlib()
    x, hit = _check_rows(log_odds, hits)
    ax = new_axes(2) if ax is None else ax
    reach = float(np.clip(np.max(np.abs(x[np.isfinite(x)]), initial=0.0) * 1.05, MIN_RANGE_DB, MAX_RANGE_DB))
    line = np.linspace(-reach, reach, 801)
    ax.plot(line, expit(line / DECIBAN), color=INK, linewidth=2.0, gid="sigmoid", zorder=3)
    if len(x):
        _scatter_rows(ax, np.clip(x, -reach, reach), hit)
        _draw_shares(ax, x, hit, reach)
    _finish(ax, reach, label, x)
    return ax


def _check_rows(log_odds: Any, hits: Any) -> tuple[Array, NDArray[np.bool_]]:
    """Check the arguments; return log-odds in decibans, and hits."""
    x = np.asarray([] if log_odds is None else log_odds, dtype=np.float64)
    hit = np.asarray([] if hits is None else hits)
    if x.ndim != 1 or hit.shape != x.shape:
        raise InputError(f"log_odds and hits must hold a value for each row, not shapes {x.shape} and {hit.shape}")
    if np.isnan(x).any():
        row = int(np.flatnonzero(np.isnan(x))[0])
        raise InputError(f"log_odds is NaN in row {row}: impossible under every class. Hint: leave that row out")
    return x * DECIBAN, hit.astype(bool)


def _scatter_rows(ax: Any, x: Array, hit: NDArray[np.bool_]) -> None:
    """Draw rows as dots, those of the class above and the others below."""
    rng = np.random.default_rng(0)
    size = float(np.clip(4000 / len(x), 5, 26))
    for of, low, k, gid in ((hit, 1.035, 0, "hits"), (~hit, -0.035 - STRIP_HEIGHT, 1, "others")):
        look: dict[str, Any] = {"marker": "os"[k], "facecolor": colour(k), "edgecolor": "white", "linewidth": 0.3}
        y = low + STRIP_HEIGHT * rng.random(int(of.sum()))
        ax.scatter(x[of], y, s=size, alpha=0.75, zorder=2, gid=gid, clip_on=False, **look)


def _draw_shares(ax: Any, x: Array, hit: NDArray[np.bool_], reach: float) -> None:
    """Draw the share of hits in bands of similar log-odds, at the mean of the band's rows."""
    look: dict[str, Any] = {"marker": "D", "markersize": 6, "color": colour(5), "mec": "white", "gid": "share"}
    inside = np.clip(x, -reach, reach)
    band = np.clip(((inside + reach) / (2 * reach) * BAND_COUNT).astype(int), 0, BAND_COUNT - 1)
    for b in np.unique(band):
        rows = band == b
        n, share, place = int(rows.sum()), float(hit[rows].mean()), float(inside[rows].mean())
        if n < MIN_BAND_ROWS and len(x) > MIN_BAND_ROWS * BAND_COUNT:
            continue
        ax.vlines(place, *wilson(share, n), color=colour(5), linewidth=1.4, zorder=4)
        ax.plot([place], [share], zorder=5, clip_on=False, **look)


def _finish(ax: Any, reach: float, label: Any, x: Array) -> None:
    """Set limits, ticks and labels, and add the legend."""
    from matplotlib.lines import Line2D

    name, rows = "the class" if label is None else shorten(label), len(x) > 0
    ax.axhline(0.5, color="#b0b0b0", linewidth=0.8, zorder=1)
    ax.axvline(0, color="#b0b0b0", linewidth=0.8, zorder=1)
    ax.set(xlim=(-reach * 1.02, reach * 1.02), ylim=(-0.2, 1.2) if rows else (-0.03, 1.03))
    ax.set_yticks(np.linspace(0, 1, 5))
    beyond = "; rows beyond stand at the edge" if (np.abs(x) > reach).any() else ""
    ax.set_xlabel(f"log-odds in decibans{beyond or ' (10 is ten to one)'}")
    ax.set_ylabel(f"probability of {name}", parse_math=False)
    look: dict[str, Any] = {"linestyle": "none", "markersize": 6}
    shown = [Line2D([], [], color=INK, linewidth=2.0, label=r"$p = 1\,/\,(1 + e^{-f})$")]
    if rows:
        ours = Line2D([], [], marker="o", color=colour(0), label=f"a row of {name}", **look)
        others = Line2D([], [], marker="s", color=colour(1), label="a row of another class", **look)
        share = Line2D([], [], marker="D", color=colour(5), label="share in a band, 95 % interval", **look)
        shown = [ours, others, *shown, share]
    foot: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (0.0, -0.14), "borderaxespad": 0.0}
    for text in ax.legend(handles=shown, ncols=2, frameon=False, fontsize=8.5, **foot).get_texts()[:2]:
        text.set_parse_math(not rows)


MAX_MARGIN = 2.5
"""The largest margin that is drawn, to either side of 0."""

LOSSES: dict[str, tuple[str, Callable[[Array], Array]]] = {
    "zero-one": (r"$[m \leq 0]$", lambda m: (m <= 0).astype(np.float64)),
    "logistic": (r"$\log_2(1 + e^{-m})$", lambda m: np.logaddexp(0.0, -m) / np.log(2)),
    "exponential": (r"$e^{-m}$", lambda m: np.exp(-m)),
    "hinge": (r"$\max(0, 1 - m)$", lambda m: np.maximum(0.0, 1 - m)),
}
"""The formula and the function of each loss of the margin m = y·f; all but the first are 1 at 0 and bound it."""


def losses(*, ax: Any = None) -> Any:
    """Draw zero-one, logistic, exponential and hinge loss over the margin y·f, y = ±1; return the Axes.

    f is the log-odds for a model of probabilities, whose loss is the logistic one: −log₂ p(y|x), in bits.

    >>> [line.get_label() for line in losses().lines][:2]
    ['zero-one  $[m \\\\leq 0]$', 'logistic  $\\\\log_2(1 + e^{-m})$']
    """
    need_matplotlib()
    ax = new_axes(4) if ax is None else ax
    m = np.linspace(-MAX_MARGIN, MAX_MARGIN, 1001)
    for i, (name, (formula, loss)) in enumerate(LOSSES.items()):
        look: dict[str, Any] = {"color": INK if i == 0 else colour(i - 1), "linestyle": dashes(i)}
        x, y = m, loss(m)
        if name == "zero-one":  # a step function, with a vertical step
            step = int(np.searchsorted(m, 0.0, side="right"))
            x, y = np.insert(x, step, [0.0, 0.0]), np.insert(y, step, [1.0, 0.0])
        ax.plot(x, y, label=f"{name}  {formula}", linewidth=2.0, gid=name, **look)
    ax.plot([0], [1], marker="o", color=INK, markersize=6, zorder=5, gid="one")
    arrow = {"arrowstyle": "-", "color": "#777777", "linewidth": 0.8, "shrinkB": 4}
    note = "1 at 0: all bound\nthe zero-one loss"
    ax.annotate(note, (0, 1), (0.42, 1.52), fontsize=9, color=INK, arrowprops=arrow)
    ax.set(xlim=(-MAX_MARGIN, MAX_MARGIN), ylim=(-0.08, 4))
    ax.set(xlabel="margin  m = y·f      ← wrong      right →", ylabel="loss")
    add_grid_lines(ax, color="#e0e0e0")
    ax.legend(loc="upper right", fontsize=9.5, frameon=True, framealpha=1.0, edgecolor="none", handlelength=3.2)
    return ax
