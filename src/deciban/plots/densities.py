"""The distributions p(x|k) of the columns of a table model, a panel for each."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError
from deciban.formatting import format_short_percent, to_printable
from deciban.model.model import Model
from deciban.plots import style
from deciban.plots.conditionals import COUNT_DEVIATIONS, CURVE_DEVIATIONS, Conditional, select_conditionals
from deciban.plots.evidence import MAX_PANELS, arrange_panels
from deciban.plots.plot_rows import choose_drawn_rows, read_numbers_and_classes
from deciban.plots.style import INK, MAX_LEGEND_CLASSES, colour, dashes, shorten

PANEL_WIDTH_INCHES, PANEL_HEIGHT_INCHES = 3.5, 2.25
"""The size of a panel of few classes."""

CLASS_ROW_INCHES = 0.2
"""The height of a class's row in a panel of many classes."""

Rows = tuple[Array, NDArray[np.intp]]
"""The numbers of a column without missing ones, and the indices of their classes."""


def densities(
    model: Model, rows: Any = None, *, columns: Sequence[str] | None = None, most: int = 9, ax: Any = None
) -> Any:
    """Draw p(x|k) of the `most` strongest columns, or of `columns`; return the Axes of one, else the Figure.

    Numbers are curves, counts steps, and flags, categories and bins the share of each value. More than six classes
    have a row each. `rows` is a table with the target, such as the one learned from: its numbers are drawn below
    the curves. The title of a column with missing values has their share.

    >>> import deciban
    >>> table = {"height": [150.0, 160.0, 180.0, 190.0], "sport": ["swim", "run", "swim", "row"], "who": list("aabb")}
    >>> model = deciban.train(table, target="who", roles={"height": "number"}, judge=False)
    >>> [panel.get_title(loc="left") for panel in densities(model, table).axes]
    ['height', 'sport']
    """
    style.need_matplotlib()
    drawn, left = select_conditionals(model, columns, most)
    if len(drawn) > MAX_PANELS:
        raise InputError(f"a picture has space for {MAX_PANELS} columns, not {len(drawn)}. Hint: most={MAX_PANELS}")
    if ax is not None and len(drawn) != 1:
        raise InputError(f"an Axes has space for one column, not {len(drawn)}. Hint: columns=[…]")
    data = _read_rows(model, rows, drawn)
    axes = _make_axes(len(drawn), len(model.classes)) if ax is None else [ax]
    for i, (panel, one) in enumerate(zip(axes, drawn)):
        _draw_panel(panel, one, data.get(one.name), named=i % arrange_panels(len(drawn))[1] == 0)
    _add_legend(axes[0].figure, model, len(drawn), left)
    return axes[0] if len(drawn) == 1 else axes[0].figure


def _read_rows(model: Model, rows: Any, drawn: Sequence[Conditional]) -> dict[str, Rows]:
    """Return the `Rows` of each drawn column of numbers, by name, of a sample of many rows; empty without `rows`."""
    from deciban.sources.source import open_source

    readings = model._layout.readings()
    names = [one.name for one in drawn if one.table is None]
    if rows is None or not names:
        return {}
    X, y = read_numbers_and_classes(open_source(rows), {name: readings[name] for name in names}, model.target)
    place = {str(label): k for k, label in enumerate(model._scorer.outline.classes)}
    codes = np.array([place.get(label, -1) for label in y.tolist()], dtype=np.intp)
    kept = choose_drawn_rows(len(X))
    X, codes = X[kept], codes[kept]
    there = (codes >= 0)[:, None] & np.isfinite(X)
    return {name: (X[there[:, j], j], codes[there[:, j]]) for j, name in enumerate(names)}


def _make_axes(n: int, K: int) -> list[Any]:
    """Make n panels of the size that K classes need."""
    down, across = arrange_panels(n)
    if K <= MAX_LEGEND_CLASSES:
        size = (across * PANEL_WIDTH_INCHES, down * PANEL_HEIGHT_INCHES + 0.3 + 0.22 * -(-K // 3))
    else:
        size = (across * 2.7 + 2.0, down * (CLASS_ROW_INCHES * K + 1.1) + 0.4)
    return style.make_panels(n, across, (max(size[0], 5.2), size[1]), w_pad=0.09, h_pad=0.07)


def _draw_panel(ax: Any, drawn: Conditional, rows: Rows | None, named: bool) -> None:
    """Draw a column with its title and share of missing values; a panel that is `named` names its many classes."""
    K = len(drawn.model.classes)
    few = K <= MAX_LEGEND_CLASSES
    if drawn.table is None:
        (draw_curves if few else draw_curve_rows)(ax, drawn, K, rows)
    elif few:
        draw_share_dots(ax, drawn, K)
    else:
        draw_share_shades(ax, drawn, K)
    if not few:
        labels = [shorten(label) if named else "" for label in drawn.model.classes]
        ax.set_yticks(range(K), labels, fontsize=8, parse_math=False)
        ax.tick_params(axis="y", length=0)
    characters = (30 if few else 24) - (8 if drawn.missing > 0 else 0)
    title = shorten(drawn.name, characters)
    ax.set_title(title, loc="left", fontsize=10, fontweight="bold", parse_math=False)
    if drawn.missing > 0:
        share = "under 0.1 %" if drawn.missing < 0.001 else format_short_percent(drawn.missing, 2)
        ax.set_title(f"{share} missing", loc="right", fontsize=8.5)
    ax.tick_params(axis="x", labelsize=8.5)
    style.hide_spines(ax, "top", "right", "left")


SHARE_COLOURS = "Greys"
"""The colour map of shares: light is rare and dark is frequent, in print too."""


def _add_legend(figure: Any, model: Model, shown: int, left: int) -> None:
    """Add the legend, and a note on columns that are not shown."""
    note = f"; the {shown} most telling of {shown + left} columns" if left else ""
    if len(model.classes) > MAX_LEGEND_CLASSES:
        rows = "p(x|k), a row for each class, each curve to its own height; the darker the likelier"
        figure.supxlabel(rows + note, fontsize=9)
        return
    entries = [style.make_class_entry(label, k, dashes(k)) for k, label in enumerate(model.classes)]
    across = max(1, min(len(entries), int(figure.get_figwidth() // 1.7)))
    heading = {"title": "p(x|k)" + note, "title_fontsize": 9, "alignment": "left"}
    labels = [entry.get_label() for entry in entries]
    style.add_plain_legend(figure, entries, labels, loc="outside lower left", ncols=across, **heading)


MAX_VALUES = 12
"""The number of values of a category that are shown; rarer ones are combined."""

VALUE_LABEL_CHARACTERS = 22

CURVE_MARGIN = 0.04
"""The margin on either side, as a share of the data's range."""


def draw_curves(ax: Any, conditional: Conditional, K: int, rows: Rows | None) -> None:
    """Draw a curve for each class, with the data below in a row for each."""
    x, y = compute_curves(conditional, rows)
    for k in range(K):
        look: dict[str, Any] = {"drawstyle": "steps-mid"} if conditional.is_count else {}
        ax.plot(x, y[:, k], color=colour(k), linestyle=dashes(k), linewidth=1.6, gid="density", **look)
    top = float(y.max(initial=0.0)) or 1.0
    low = -0.02 * top
    if rows is not None:
        low = -(0.06 * K + 0.04) * top
        for k in range(K):
            _draw_rug(ax, rows, k, -(0.06 * k + 0.06) * top)
    ax.axhline(0, color=INK, linewidth=0.8)
    ax.set(ylim=(low, 1.06 * top), yticks=[])
    _set_limits(ax, conditional, x)


def draw_curve_rows(ax: Any, conditional: Conditional, K: int, rows: Rows | None) -> None:
    """Draw a row with the curve of each class, all of one height, with the data on the line."""
    x, y = compute_curves(conditional, rows)
    top = np.maximum(y.max(axis=0), np.finfo(float).tiny)
    for k in range(K):
        height = 0.9 * y[:, k] / top[k]
        look = {"color": style.pale(k), "linewidth": 0, "zorder": 2 + k / K}
        ax.fill_between(x, k, k - height, step="mid" if conditional.is_count else None, **look)
        steps = "steps-mid" if conditional.is_count else "default"
        ax.plot(x, k - height, color=colour(k), linewidth=1.1, zorder=2 + k / K, gid="density", drawstyle=steps)
        if rows is not None:
            _draw_rug(ax, rows, k, k + 0.02, as_ticks=True)
    ax.set_ylim(K - 0.7, -1.05)
    _set_limits(ax, conditional, x)


def compute_curves(conditional: Conditional, rows: Rows | None) -> tuple[Array, Array]:
    """Return the points x that cover the curves and the rows, and p(x|k) there, n×K."""
    low, high = conditional.reach(COUNT_DEVIATIONS if conditional.is_count else CURVE_DEVIATIONS)
    low, high = (low, high) if high > low else (low - 1.0, high + 1.0)
    if rows is not None and len(rows[0]):
        first, last = float(rows[0].min()), float(rows[0].max())
        margin = 0.0 if conditional.is_count else CURVE_MARGIN * (last - first)
        low, high = min(low, first - margin), max(high, last + margin)
    x = conditional.grid(low, high)
    return x, np.exp(conditional.log_likelihood(x))


def _set_limits(ax: Any, conditional: Conditional, x: Array) -> None:
    """Set the limits of the axis to the points; of counts only whole numbers are labelled."""
    margin = 0.6 if conditional.is_count else 0.0
    ax.set_xlim(float(x[0]) - margin, float(x[-1]) + margin)
    if conditional.is_count:
        from matplotlib.ticker import MaxNLocator

        ax.xaxis.set_major_locator(MaxNLocator(7, integer=True))


def _draw_rug(ax: Any, rows: Rows, k: int, height: float, as_ticks: bool = False) -> None:
    """Draw the distinct numbers of class k at this height, as its markers, or as small ticks."""
    x = np.unique(rows[0][rows[1] == k])
    look = style.marker_look(k, 3.6, 0.3)
    if as_ticks:
        look = {"color": colour(k), "marker": "|", "markersize": 3, "markeredgewidth": 0.5}
    ax.plot(x, np.full(len(x), height), linestyle="none", gid="data", zorder=3.5, **look)


def draw_share_dots(ax: Any, conditional: Conditional, K: int) -> None:
    """Draw a line for each value with a dot for each class."""
    names, share = select_common_values(conditional)
    for v in range(len(names)):
        ax.hlines(v, 0, 1, color="#e0e0e0", linewidth=0.8, zorder=1)
        ax.hlines(v, share[:, v].min(), share[:, v].max(), color="#8c8c8c", linewidth=1.2, zorder=2)
    for k in range(K):
        look = style.marker_look(k, edge=0.5)
        ax.plot(share[k], range(len(names)), linestyle="none", zorder=3, gid="share", **look)
    ax.set_yticks(range(len(names)), names, fontsize=8.5 if len(names) <= 9 else 7.0, parse_math=False)
    ax.set_ylim(max(len(names), 3) - 0.4, -0.6)
    ax.set_xlim(-0.02, max(0.1, 1.06 * float(share.max(initial=0.0))))
    ax.tick_params(axis="y", length=0)


def draw_share_shades(ax: Any, conditional: Conditional, K: int) -> None:
    """Draw a row for each class and a column for each value, darker where it is more probable."""
    names, share = select_common_values(conditional)
    ax.imshow(share, aspect="auto", cmap=SHARE_COLOURS, vmin=0, interpolation="nearest", gid="share")
    ax.set_xticks(range(len(names)), names, fontsize=7.5, rotation=90, parse_math=False)
    ax.set_ylim(K - 0.5, -0.5)
    ax.tick_params(axis="x", length=0)


def select_common_values(conditional: Conditional) -> tuple[list[str], Array]:
    """Return labels of the most frequent values in their own order, and p(value|k), K×V; others as one, last."""
    values, share, counts = conditional.values()
    names = [shorten_value(name) for name in values]
    if len(names) <= MAX_VALUES:
        return names, share
    kept = np.sort(np.argsort(-counts, kind="stable")[: MAX_VALUES - 1])
    others = np.delete(share, kept, axis=1).sum(axis=1, keepdims=True)
    kept_names = [names[v] for v in kept.tolist()]
    return [*kept_names, f"{len(names) - len(kept)} others"], np.concatenate([share[:, kept], others], axis=1)


def shorten_value(name: str) -> str:
    """Shorten the name of a value; bins to 3.5 – 7.

    >>> shorten_value("from 3.5 and below 7"), shorten_value("from 7")
    ('3.5 – 7', '≥ 7')
    """
    text = to_printable(name)
    if text.startswith("from "):
        low, _, high = text.removeprefix("from ").partition(" and below ")
        text = f"{low} – {high}" if high else f"≥ {low}"
    elif text.startswith("below "):
        text = f"< {text.removeprefix('below ')}"
    return shorten(text, VALUE_LABEL_CHARACTERS)
