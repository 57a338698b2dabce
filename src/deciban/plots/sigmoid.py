"""From log-odds to probability: the curve, and where the rows of a table lie on it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from deciban._typing import Array
from deciban.errors import InputError
from deciban.metrics.intervals import wilson
from deciban.plots.style import INK, colour, need_matplotlib, new_axes, shortened
from deciban.scores.explanation import DECIBAN

REACH, LEAST_REACH = 50.0, 20.0
"""Decibans drawn to either side of even odds: so many at most, where rows beyond stand at the edge, and at least."""

BANDS, FEWEST = 11, 3
"""Rows are put into bands of like log-odds to compare what is said with what is; a band has some rows at least."""

STRIP = 0.13
"""Height of the strip in which the rows of a class are strewn, so that they do not hide each other."""


def sigmoid(log_odds: Any = None, hits: Any = None, *, label: Any = None, ax: Any = None) -> Any:
    """Draw the curve p = 1 / (1 + e^−f) from log-odds to probability, over rows if there are any; returns the Axes.

    `log_odds` are ln[p / (1 − p)] of a class called `label`, a number for each row, and `hits` whether the row is of
    that class: such rows are strewn above the curve, the others below it. Diamonds are the share of hits among rows
    of like log-odds, with 95 % intervals: on the curve where probabilities mean what they say.

    >>> ax = sigmoid([-2.0, -1.0, 1.0, 3.0], [False, False, True, True], label="ill")
    >>> [len(part.get_offsets()) for part in ax.collections if part.get_gid() in ("hits", "others")]
    [2, 2]
    """
    need_matplotlib()
    x, hit = _checked(log_odds, hits)
    ax = new_axes(2) if ax is None else ax
    reach = float(np.clip(np.max(np.abs(x[np.isfinite(x)]), initial=0.0) * 1.05, LEAST_REACH, REACH))
    line = np.linspace(-reach, reach, 801)
    ax.plot(line, expit(line / DECIBAN), color=INK, linewidth=2.0, gid="sigmoid", zorder=3)
    if len(x):
        _strew(ax, np.clip(x, -reach, reach), hit)
        _shares(ax, x, hit, reach)
    _finish(ax, reach, label, x)
    return ax


def _checked(log_odds: Any, hits: Any) -> tuple[Array, NDArray[np.bool_]]:
    """Log-odds in decibans, and hits."""
    x = np.asarray([] if log_odds is None else log_odds, dtype=np.float64)
    hit = np.asarray([] if hits is None else hits)
    if x.ndim != 1 or hit.shape != x.shape:
        raise InputError(f"log_odds and hits must hold a value for each row, not shapes {x.shape} and {hit.shape}")
    if np.isnan(x).any():
        row = int(np.flatnonzero(np.isnan(x))[0])
        raise InputError(f"log_odds is NaN in row {row}: impossible under every class. Hint: leave that row out")
    return x * DECIBAN, hit.astype(bool)


def _strew(ax: Any, x: Array, hit: NDArray[np.bool_]) -> None:
    """Rows as dots, those of the class above and the others below."""
    rng = np.random.default_rng(0)
    size = float(np.clip(4000 / len(x), 5, 26))
    for of, low, k, gid in ((hit, 1.035, 0, "hits"), (~hit, -0.035 - STRIP, 1, "others")):
        look: dict[str, Any] = {"marker": "os"[k], "facecolor": colour(k), "edgecolor": "white", "linewidth": 0.3}
        y = low + STRIP * rng.random(int(of.sum()))
        ax.scatter(x[of], y, s=size, alpha=0.75, zorder=2, gid=gid, clip_on=False, **look)


def _shares(ax: Any, x: Array, hit: NDArray[np.bool_], reach: float) -> None:
    """The share of hits in bands of like log-odds, where the band's rows lie on average."""
    look: dict[str, Any] = {"marker": "D", "markersize": 6, "color": colour(5), "mec": "white", "gid": "share"}
    inside = np.clip(x, -reach, reach)
    band = np.clip(((inside + reach) / (2 * reach) * BANDS).astype(int), 0, BANDS - 1)
    for b in np.unique(band):
        rows = band == b
        n, share, place = int(rows.sum()), float(hit[rows].mean()), float(inside[rows].mean())
        if n < FEWEST and len(x) > FEWEST * BANDS:
            continue
        ax.vlines(place, *wilson(share, n), color=colour(5), linewidth=1.4, zorder=4)
        ax.plot([place], [share], zorder=5, clip_on=False, **look)


def _finish(ax: Any, reach: float, label: Any, x: Array) -> None:
    name, rows = "the class" if label is None else shortened(label), len(x) > 0
    ax.axhline(0.5, color="#b0b0b0", linewidth=0.8, zorder=1)
    ax.axvline(0, color="#b0b0b0", linewidth=0.8, zorder=1)
    ax.set_xlim(-reach * 1.02, reach * 1.02)
    ax.set_ylim(-0.2 if rows else -0.03, 1.2 if rows else 1.03)
    ax.set_yticks(np.linspace(0, 1, 5))
    beyond = "; rows beyond stand at the edge" if (np.abs(x) > reach).any() else ""
    ax.set_xlabel(f"log-odds in decibans{beyond or ' (10 is ten to one)'}")
    ax.set_ylabel(f"probability of {name}", parse_math=False)
    _key(ax, name, rows)


def _key(ax: Any, name: str, rows: bool) -> None:
    from matplotlib.lines import Line2D

    curve = Line2D([], [], color=INK, linewidth=2.0, label=r"$p = 1\,/\,(1 + e^{-f})$")
    look: dict[str, Any] = {"linestyle": "none", "markersize": 6}
    entries = [
        Line2D([], [], marker="D", color=colour(5), label="share in a band, 95 % interval", **look),
        Line2D([], [], marker="o", color=colour(0), label=f"a row of {name}", **look),
        Line2D([], [], marker="s", color=colour(1), label="a row of another class", **look),
    ]
    shown = [entries[1], entries[2], curve, entries[0]] if rows else [curve]
    foot: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (0.0, -0.14), "borderaxespad": 0.0}
    for text in ax.legend(handles=shown, ncols=2, frameon=False, fontsize=8.5, **foot).get_texts()[:2]:
        text.set_parse_math(not rows)
