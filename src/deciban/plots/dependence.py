"""How far features depend on each other: a shaded cell for every pair, given the class and without it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError
from deciban.plots.heat_map import (
    all_named,
    cell_for,
    cell_of,
    draw_cells,
    ink_on,
    must_turn,
    name_room,
    name_sides,
    shade_bar,
)
from deciban.plots.style import INK, need_matplotlib, sheet, shortened

ROOM_FOR_NUMBERS = 0.36
"""Inches that a cell needs for its number."""

MOST_FEATURES = 1000
FEW = 6
LONGEST = 20
"""Letters of a feature's name."""

WORDS = 2.8
"""Inches that the words beneath take."""

STRONGEST = 5
"""Where names are left out, so many pairs are ringed and named beneath."""

BEND = 0.5
"""Shades go with the square root: for Gaussians with the correlation, as mutual information goes with its square."""

LEAST = 0.5
"""Decibans that are shaded fully at least, so that nothing looks like much where nothing is."""

RING = "#D55E00"
LETTERING: dict[str, Any] = {"fontsize": 9, "color": "#9a3f00", "fontweight": "bold"}

FRAMES: dict[str, Any] = {"join": "-", "drop": (0, (2, 1.5))}

Order = Literal["table", "alike"]


def dependence(found: Any, *, order: Order = "table", ax: Any = None) -> Any:
    """Draw how much features tell about each other, as `deciban.dependence` found it; returns the Axes.

    Beneath the diagonal the mutual information of two features given the class: what naive Bayes takes for nothing.
    Above it that whatever the class, which the class may explain. In decibans a row; the darker the more. Pairs that
    should be joined, or of which one repeats the other, are framed; of hundreds of features the strongest pairs are
    ringed and named. `order="alike"` puts features next to each other that depend on each other.

    >>> import deciban
    >>> rows = {"coat": [1, 1, 0, 0] * 9, "boots": [1, 1, 0, 0] * 9, "tall": [0, 1] * 18, "rain": [1, 0, 0] * 12}
    >>> ax = dependence(deciban.dependence(rows, target="rain"))
    >>> [name.get_text() for name in ax.get_yticklabels()]
    ['coat', 'boots', 'tall']
    """
    need_matplotlib()
    names = [str(name) for name in found.features]
    if not 2 <= len(names) <= MOST_FEATURES:
        raise InputError(f"dependence is drawn of 2 to {MOST_FEATURES} features, not {len(names)}")
    if order not in ("table", "alike"):
        raise InputError(f"order must be 'table' or 'alike', not {order!r}")
    given = np.asarray(found.matrix, dtype=np.float64)
    places = np.arange(len(names)) if order == "table" else alike(given)
    names, given = [names[j] for j in places], given[np.ix_(places, places)]
    without = np.asarray(found.marginal, dtype=np.float64)[np.ix_(places, places)]
    if ax is None:
        cell = _cell(names)
        ax = _new(names, cell)
    else:
        cell = cell_of(ax, len(names))
    table = np.tril(given, -1) + np.triu(without, 1)
    np.fill_diagonal(table, np.nan)
    _draw(ax, names, table, cell, _framed(found.actions, places))
    return ax


def _framed(actions: Mapping[tuple[int, int], str], places: NDArray[np.intp]) -> dict[tuple[int, int], str]:
    """The cells beneath the diagonal of pairs that something is to be done about, and what."""
    at = np.argsort(places)
    return {(int(max(at[i], at[j])), int(min(at[i], at[j]))): action for (i, j), action in actions.items()}


def alike(matrix: Array) -> NDArray[np.intp]:
    """An order in which features stand next to each other that depend on each other (average linkage).

    >>> apart = np.array([[0, 0, 3.0, 0], [0, 0, 0, 2.0], [3.0, 0, 0, 0], [0, 2.0, 0, 0]])
    >>> alike(apart).tolist() in ([0, 2, 1, 3], [1, 3, 0, 2], [2, 0, 1, 3], [0, 2, 3, 1])
    True
    """
    from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering

    if len(matrix) < 3:
        return np.arange(len(matrix))
    strength = np.sqrt(np.maximum(np.nan_to_num(np.maximum(matrix, matrix.T)), 0.0))
    upper = np.triu_indices(len(matrix), 1)
    distance = strength.max() - strength[upper]
    tree = linkage(distance, "average")
    return np.asarray(leaves_list(optimal_leaf_ordering(tree, distance)), dtype=np.intp)


def _cell(names: list[str]) -> float:
    """Inches: of few features as wide as their names, of hundreds a few dots."""
    d = len(names)
    if d <= FEW:
        return cell_for(names, LONGEST, 0.72, 1.1)
    return float(np.clip((7.5 if d <= 60 else 9.0) / d, 0.012, 0.62))


def _new(names: list[str], cell: float) -> Any:
    side, word = cell * len(names), name_room(names, LONGEST)
    beneath = word if must_turn(names, LONGEST, cell) else 0.2
    told = 0.0 if all_named(cell) else 0.17 * (STRONGEST + 1)
    bar = 0.0 if cell >= ROOM_FOR_NUMBERS else 0.9
    return sheet(max(side, WORDS) + word + 0.5 + bar, max(side + beneath + 1.3 + told, 2.8))


def _draw(ax: Any, names: list[str], table: Array, cell: float, framed: Mapping[tuple[int, int], str]) -> None:
    from matplotlib.colors import PowerNorm

    norm = PowerNorm(BEND, 0, max(LEAST, float(np.nanmax(table, initial=0.0))))
    image = draw_cells(ax, np.maximum(table, 0.0), norm)
    name_sides(ax, names, LONGEST, cell)
    told = ["beneath the diagonal: given the class"]
    if cell >= ROOM_FOR_NUMBERS:
        _numbers(ax, table, norm)
        told.append("(mutual information, decibans a row)")
    else:
        shade_bar(ax, image, "mutual information, decibans a row")
    if all_named(cell):
        told += _frame(ax, framed)
    else:
        told += ["strongest of these:", *_ring(ax, names, table)]
    ax.set_title("above the diagonal: whatever the class", loc="right", fontsize=9, color=INK)
    ax.set_xlabel("\n".join(told), loc="left", fontsize=9, parse_math=False, multialignment="left")


def _numbers(ax: Any, table: Array, norm: Any) -> None:
    for (i, j), value in np.ndenumerate(table):
        if i != j and not np.isnan(value):
            shown = max(float(value), 0.0)
            look: dict[str, Any] = {"fontsize": 8 if len(table) <= 10 else 7, "color": ink_on(float(norm(shown)))}
            ax.text(j, i, decibans(shown), ha="center", va="center", zorder=3, **look)


def decibans(value: float) -> str:
    """Two digits after the point, fewer where there is much before it.

    >>> [decibans(value) for value in (0.0, 0.004, 0.25, 3.14159, 27.18, 314.2)]
    ['0', '0', '0.25', '3.1', '27', '314']
    """
    text = f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 10 else f"{value:.0f}"
    return "0" if text == "0.00" else text


def _frame(ax: Any, framed: Mapping[tuple[int, int], str]) -> list[str]:
    """Frames around the pairs that something is to be done about; returns what they mean."""
    from matplotlib.patches import Rectangle

    for (row, column), action in framed.items():
        look: dict[str, Any] = {"fill": False, "edgecolor": RING, "linewidth": 1.6, "linestyle": FRAMES[action]}
        ax.add_patch(Rectangle((column - 0.46, row - 0.46), 0.92, 0.92, zorder=4, gid=action, **look))
    told = {"join": "framed: tell more when joined", "drop": "dashed frame: one repeats the other"}
    return [words for action, words in told.items() if action in framed.values()]


def _ring(ax: Any, names: list[str], table: Array) -> list[str]:
    """The pairs that depend on each other most, given the class: ringed and numbered; returns their names."""
    rows, columns = np.tril_indices(len(names), -1)
    values = np.nan_to_num(table[rows, columns], nan=0.0)
    look: dict[str, Any] = {"marker": "o", "markersize": 9, "markerfacecolor": "none", "zorder": 4, "gid": "ring"}
    lines = []
    for n, i in enumerate(np.argsort(-values, kind="stable")[:STRONGEST], start=1):
        row, column = int(rows[i]), int(columns[i])
        ax.plot([column], [row], color=RING, **look)
        ax.annotate(f"{n}", (column, row), (-5, -5), textcoords="offset points", ha="right", va="top", **LETTERING)
        pair = f"{shortened(names[column], 30)} and {shortened(names[row], 30)}"
        lines.append(f"{n}: {pair}, {decibans(values[i])}")
    return lines
