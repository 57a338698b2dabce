"""The dependence of features: a shaded cell for every pair, given the class and without it."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError
from deciban.plots import heat_map
from deciban.plots.style import INK, make_axes, need_matplotlib, shorten

DECIBAN_CELL_INCHES = 0.36
"""The smallest size of a cell in which its decibans are written."""

MAX_FEATURES = 1000
MAX_WIDE_CELL_FEATURES = 6
MAX_FEATURE_NAME_CHARACTERS = 20
"""The length of the longest name of a feature that is written in full."""

TEXT_INCHES = 2.8
"""The least width of the drawing, for the notes below the cells."""

RINGED_PAIRS = 5
"""The number of pairs that are ringed and named below, if there is no space for all names."""

DEPENDENCE_SHADE_EXPONENT = 0.5
"""The power of a value that a shade shows: for Gaussians mutual information grows with the square of correlation."""

MIN_FULL_SHADE_DB = 0.5
"""The smallest value of the deepest shade, so that independent features do not look dependent."""

RING_COLOUR = "#D55E00"
NUMBER_STYLE: dict[str, Any] = {"fontsize": 9, "color": "#9a3f00", "fontweight": "bold"}

FRAME_STYLES: dict[str, Any] = {"join": "-", "drop": (0, (2, 1.5))}

Order = Literal["table", "alike"]


def dependence(found: Any, *, order: Order = "table", ax: Any = None) -> Any:
    """Draw the mutual information of 2 to 1000 features, as `deciban.dependence` measured it; return the Axes.

    Below the diagonal is the mutual information of two features given the class, which naive Bayes assumes to be
    zero; above it that without the class, which the class may explain. In decibans per row; darker is more. Pairs
    that should be joined, or of which one repeats the other, are framed; if not all names fit, the strongest pairs
    are ringed and named instead. `order="alike"` puts features next to each other that depend on each other.

    >>> import deciban
    >>> rows = {"coat": [1, 1, 0, 0] * 9, "boots": [1, 1, 0, 0] * 9, "tall": [0, 1] * 18, "rain": [1, 0, 0] * 12}
    >>> ax = dependence(deciban.dependence(rows, target="rain"))
    >>> [name.get_text() for name in ax.get_yticklabels()]
    ['coat', 'boots', 'tall']
    """
    need_matplotlib()
    names = [str(name) for name in found.features]
    if not 2 <= len(names) <= MAX_FEATURES:
        raise InputError(f"dependence is drawn of 2 to {MAX_FEATURES} features, not {len(names)}")
    if order not in ("table", "alike"):
        raise InputError(f"order must be 'table' or 'alike', not {order!r}")
    given = np.asarray(found.matrix, dtype=np.float64)
    places = np.arange(len(names)) if order == "table" else order_alike(given)
    names, given = [names[j] for j in places], given[np.ix_(places, places)]
    without = np.asarray(found.marginal, dtype=np.float64)[np.ix_(places, places)]
    cell = _choose_cell_inches(names) if ax is None else heat_map.measure_cell_inches(ax, len(names))
    if ax is None:
        side, (left, below) = cell * len(names), heat_map.measure_margins(names, MAX_FEATURE_NAME_CHARACTERS, cell)
        notes = 0.0 if heat_map.fits_all_names(cell) else 0.17 * (RINGED_PAIRS + 1)
        bar = 0.0 if cell >= DECIBAN_CELL_INCHES else 0.9
        ax = make_axes(max(side, TEXT_INCHES) + left + 0.5 + bar, max(side + below + 1.3 + notes, 2.8))
    table = np.tril(given, -1) + np.triu(without, 1)
    np.fill_diagonal(table, np.nan)
    at = np.argsort(places).tolist()
    framed = {(max(at[i], at[j]), min(at[i], at[j])): action for (i, j), action in found.actions.items()}
    _draw_matrix(ax, names, table, cell, framed)
    return ax


def order_alike(matrix: Array) -> NDArray[np.intp]:
    """Return an order in which dependent features are next to each other (average linkage).

    >>> matrix = np.array([[0, 0, 3.0, 0], [0, 0, 0, 2.0], [3.0, 0, 0, 0], [0, 2.0, 0, 0]])
    >>> order_alike(matrix).tolist() in ([0, 2, 1, 3], [1, 3, 0, 2], [2, 0, 1, 3], [0, 2, 3, 1])
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


def _choose_cell_inches(names: list[str]) -> float:
    """Return the size of a cell in inches: as wide as the names of few features, a few dots for hundreds."""
    d = len(names)
    if d <= MAX_WIDE_CELL_FEATURES:
        return heat_map.choose_cell_inches(names, MAX_FEATURE_NAME_CHARACTERS, 0.72, 1.1)
    return float(np.clip((7.5 if d <= 60 else 9.0) / d, 0.012, 0.62))


def _draw_matrix(ax: Any, names: list[str], table: Array, cell: float, framed: Mapping[tuple[int, int], str]) -> None:
    """Draw the cells with values or a colour bar, and frames, or rings where not all names fit.

    `framed` has the advice on a pair, join or drop, by row and column of its cell below the diagonal.
    """
    from matplotlib.colors import PowerNorm

    norm = PowerNorm(DEPENDENCE_SHADE_EXPONENT, 0, max(MIN_FULL_SHADE_DB, float(np.nanmax(table, initial=0.0))))
    image = heat_map.draw_cells(ax, np.maximum(table, 0.0), norm)
    heat_map.label_axes(ax, names, MAX_FEATURE_NAME_CHARACTERS, cell)
    notes = ["beneath the diagonal: given the class"]
    if cell >= DECIBAN_CELL_INCHES:
        _write_numbers(ax, table, norm)
        notes.append("(mutual information, decibans a row)")
    else:
        heat_map.add_colour_bar(ax, image, "mutual information, decibans a row")
    if heat_map.fits_all_names(cell):
        notes += _draw_frames(ax, framed)
    else:
        notes += ["strongest of these:", *_draw_rings(ax, names, table)]
    ax.set_title("above the diagonal: whatever the class", loc="right", fontsize=9, color=INK)
    ax.set_xlabel("\n".join(notes), loc="left", fontsize=9, parse_math=False, multialignment="left")


def _write_numbers(ax: Any, table: Array, norm: Any) -> None:
    """Write the value of each cell off the diagonal in a colour that is legible on its shade; 0 for less than 0."""
    size = 8 if len(table) <= 10 else 7
    for (i, j), value in np.ndenumerate(table):
        if i != j and not np.isnan(value):
            shown = max(float(value), 0.0)
            look: dict[str, Any] = {"fontsize": size, "color": heat_map.choose_text_colour(float(norm(shown)))}
            ax.text(j, i, format_cell_value(shown), ha="center", va="center", zorder=3, **look)


def format_cell_value(value: float) -> str:
    """Format the decibans of a cell without the unit, with two decimals, fewer for larger values.

    >>> [format_cell_value(value) for value in (0.0, 0.004, 0.25, 3.14159, 27.18, 314.2)]
    ['0', '0', '0.25', '3.1', '27', '314']
    """
    text = f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 10 else f"{value:.0f}"
    return "0" if text == "0.00" else text


def _draw_frames(ax: Any, framed: Mapping[tuple[int, int], str]) -> list[str]:
    """Draw a frame around each pair with advice, join or drop; return a line of the legend for each kind."""
    from matplotlib.patches import Rectangle

    for (row, column), action in framed.items():
        look: dict[str, Any] = {"edgecolor": RING_COLOUR, "linewidth": 1.6, "linestyle": FRAME_STYLES[action]}
        corner = (column - 0.46, row - 0.46)
        ax.add_patch(Rectangle(corner, 0.92, 0.92, fill=False, zorder=4, gid=action, **look))
    meanings = {"join": "framed: tell more when joined", "drop": "dashed frame: one repeats the other"}
    return [words for action, words in meanings.items() if action in framed.values()]


def _draw_rings(ax: Any, names: list[str], table: Array) -> list[str]:
    """Ring and number the pairs that depend most on each other, given the class; return a line of legend for each."""
    rows, columns = np.tril_indices(len(names), -1)
    values = np.nan_to_num(table[rows, columns], nan=0.0)
    look: dict[str, Any] = {"marker": "o", "markersize": 9, "markerfacecolor": "none", "zorder": 4, "gid": "ring"}
    lines = []
    for n, i in enumerate(np.argsort(-values, kind="stable")[:RINGED_PAIRS], start=1):
        row, column = int(rows[i]), int(columns[i])
        ax.plot([column], [row], color=RING_COLOUR, **look)
        ax.annotate(f"{n}", (column, row), (-5, -5), textcoords="offset points", ha="right", va="top", **NUMBER_STYLE)
        pair = f"{shorten(names[column], 30)} and {shorten(names[row], 30)}"
        lines.append(f"{n}: {pair}, {format_cell_value(values[i])}")
    return lines
