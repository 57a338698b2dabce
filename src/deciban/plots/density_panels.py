"""Panels of p(x|k): curves over each other or in rows, and shares of values as dots or shades."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.plots.conditionals import Conditional
from deciban.plots.style import EDGE, INK, colour, dashes, marker, pale, shortened
from deciban.scores.passages import to_printable

MOST_VALUES = 12
"""Values of a category that are shown; the rarer ones go together."""

LONGEST_VALUE = 22

MARGIN = 0.04
"""Of the data's range, left free on either side."""

Rows = tuple[Array, NDArray[np.intp]] | None
"""Numbers of a column without those that are missing, and the places of their classes."""


def curves_over_each_other(ax: Any, told: Conditional, K: int, rows: Rows) -> None:
    """A curve for each class, the data beneath in a row for each."""
    x, y = computed(told, rows)
    for k in range(K):
        look: dict[str, Any] = {"drawstyle": "steps-mid"} if told.whole else {}
        ax.plot(x, y[:, k], color=colour(k), linestyle=dashes(k), linewidth=1.6, gid="density", **look)
    top = float(y.max(initial=0.0)) or 1.0
    low = -0.02 * top
    if rows is not None:
        low = -(0.06 * K + 0.04) * top
        for k in range(K):
            _rug(ax, rows, k, -(0.06 * k + 0.06) * top)
    ax.axhline(0, color=INK, linewidth=0.8)
    ax.set_ylim(low, 1.06 * top)
    _across(ax, told, x)
    ax.set_yticks([])


def curves_in_rows(ax: Any, told: Conditional, K: int, rows: Rows) -> None:
    """A row for each class with its curve in it, all of one height, the data on the line."""
    x, y = computed(told, rows)
    top = np.maximum(y.max(axis=0), np.finfo(float).tiny)
    for k in range(K):
        height = 0.9 * y[:, k] / top[k]
        ax.fill_between(
            x, k, k - height, color=pale(k), linewidth=0, zorder=2 + k / K, step="mid" if told.whole else None
        )
        ax.plot(x, k - height, color=colour(k), linewidth=1.1, zorder=2 + k / K, gid="density")
        if rows is not None:
            _rug(ax, rows, k, k + 0.02, small=True)
    ax.set_ylim(K - 0.7, -1.05)
    _across(ax, told, x)


def computed(told: Conditional, rows: Rows) -> tuple[Array, Array]:
    """Where p(x|k) is drawn and what it is there; a class that never had the feature is as the model takes it."""
    low, high = told.reach()
    if rows is not None and len(rows[0]):
        least, most = float(rows[0].min()), float(rows[0].max())
        room = 0.0 if told.whole else MARGIN * (most - least)
        low, high = min(low, least - room), max(high, most + room)
    x = told.grid(low, high)
    return x, np.exp(told.log_likelihood(x))


def _across(ax: Any, told: Conditional, x: Array) -> None:
    """From the first number to the last; of counts only whole numbers are named."""
    room = 0.6 if told.whole else 0.0
    ax.set_xlim(float(x[0]) - room, float(x[-1]) + room)
    if told.whole:
        from matplotlib.ticker import MaxNLocator

        ax.xaxis.set_major_locator(MaxNLocator(7, integer=True))


def _rug(ax: Any, rows: Rows, k: int, height: float, small: bool = False) -> None:
    assert rows is not None
    x = np.unique(rows[0][rows[1] == k])
    look: dict[str, Any] = {"ls": "none", "color": colour(k), "gid": "data", "zorder": 3.5}
    if small:
        ax.plot(x, np.full(len(x), height), marker="|", markersize=3, markeredgewidth=0.5, **look)
        return
    edge: dict[str, Any] = {"markeredgecolor": EDGE, "markeredgewidth": 0.3}
    ax.plot(x, np.full(len(x), height), marker=marker(k), markersize=3.6, **edge, **look)


def shares_as_dots(ax: Any, told: Conditional, K: int) -> None:
    """A line for each value, on it a dot for each class."""
    names, share = most_common(told)
    for v in range(len(names)):
        ax.hlines(v, 0, 1, color="#e0e0e0", linewidth=0.8, zorder=1)
        ax.hlines(v, share[:, v].min(), share[:, v].max(), color="#8c8c8c", linewidth=1.2, zorder=2)
    for k in range(K):
        look: dict[str, Any] = {"marker": marker(k), "color": colour(k), "mec": EDGE, "mew": 0.5, "ms": 6.5}
        ax.plot(share[k], range(len(names)), ls="none", zorder=3, gid="share", **look)
    ax.set_yticks(
        range(len(names)), [short_value(name) for name in names], fontsize=_size(len(names)), parse_math=False
    )
    ax.set_ylim(max(len(names), 3) - 0.4, -0.6)
    ax.set_xlim(-0.02, max(0.1, 1.06 * float(share.max(initial=0.0))))
    ax.tick_params(axis="y", length=0)


def _size(lines: int) -> float:
    """Letters that fit so many lines into a panel."""
    return 8.5 if lines <= 9 else 7.0


def shares_as_shades(ax: Any, told: Conditional, K: int, cmap: Any) -> None:
    """A row for each class and a column for each value, the darker the likelier."""
    names, share = most_common(told)
    ax.imshow(share, aspect="auto", cmap=cmap, vmin=0, interpolation="nearest", gid="share")
    ax.set_xticks(
        range(len(names)), [short_value(name) for name in names], fontsize=7.5, rotation=90, parse_math=False
    )
    ax.set_ylim(K - 0.5, -0.5)
    ax.tick_params(axis="x", length=0)


def most_common(told: Conditional) -> tuple[list[str], Array]:
    """The values that are most often seen, in their own order, and what the others come to together."""
    names, share = told.values()
    if len(names) <= MOST_VALUES:
        return names, share
    kept = np.sort(np.argsort(-told.seen(), kind="stable")[: MOST_VALUES - 1])
    rest = np.delete(share, kept, axis=1).sum(axis=1, keepdims=True)
    others = f"{len(names) - len(kept)} others"
    return [*(names[v] for v in kept.tolist()), others], np.concatenate([share[:, kept], rest], axis=1)


def short_value(name: str) -> str:
    """A value's name, bins in short: 3.5 – 7.

    >>> short_value("from 3.5 and below 7"), short_value("from 7")
    ('3.5 – 7', '≥ 7')
    """
    text = to_printable(name)
    if text.startswith("from "):
        low, _, high = text.removeprefix("from ").partition(" and below ")
        text = f"{low} – {high}" if high else f"≥ {low}"
    elif text.startswith("below "):
        text = f"< {text.removeprefix('below ')}"
    return shortened(text, LONGEST_VALUE)


def class_names(labels: Sequence[Any], most: int = 26) -> list[str]:
    """The classes as they stand beside rows."""
    return [shortened(to_printable(str(label)), most) for label in labels]
