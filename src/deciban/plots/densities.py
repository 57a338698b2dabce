"""What a table model believes of its columns: p(x|k), a panel for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from deciban.errors import InputError
from deciban.formatting import format_short_percent
from deciban.model.model import Model
from deciban.plots import density_panels as panels
from deciban.plots.conditionals import Conditional, conditionals
from deciban.plots.plot_rows import numbers_and_classes, thinned
from deciban.plots.style import MANY_CLASSES, class_entry, dashes, need_matplotlib, shortened
from deciban.plots.telltales import grid
from deciban.scores.passages import to_printable

MOST_PANELS = 40
WIDE, HIGH = 3.5, 2.25
"""Inches of a panel of few classes."""

ROW = 0.2
"""Inches of a class's row in a panel of many."""


def densities(
    model: Model,
    rows: Any = None,
    *,
    columns: Sequence[str] | None = None,
    most: int = 9,
    ax: Any = None,
) -> Any:
    """Draw p(x|k) of the `most` telling columns, or of these, a panel each; returns the Axes of one, else the Figure.

    Numbers are curves, counts steps, and flags, categories and bins the share of each value. More than six classes
    have a row each. `rows` is a table with the target, such as the one learned from: its numbers are drawn beneath
    the curves. A column that is missing in some rows says in how many.

    >>> import deciban
    >>> table = {"height": [150.0, 160.0, 180.0, 190.0], "sport": ["swim", "run", "swim", "row"], "who": list("aabb")}
    >>> model = deciban.train(table, target="who", roles={"height": "number"}, judge=False)
    >>> [panel.get_title(loc="left") for panel in densities(model, table).axes]
    ['height', 'sport']
    """
    need_matplotlib()
    told, left = conditionals(model, columns, most)
    if len(told) > MOST_PANELS:
        raise InputError(f"a picture has room for {MOST_PANELS} columns, not {len(told)}. Hint: most={MOST_PANELS}")
    if ax is not None and len(told) != 1:
        raise InputError(f"an Axes has room for one column, and {len(told)} are asked for. Hint: columns=[…]")
    data = _rows(model, rows, told)
    if ax is not None or len(told) == 1:
        figure, axes = _sheet(1, len(model.classes)) if ax is None else (ax.figure, [ax])
    else:
        figure, axes = _sheet(len(told), len(model.classes))
    for i, (panel, one) in enumerate(zip(axes, told)):
        _panel(panel, one, data.get(one.name), named=i % grid(len(told))[1] == 0)
    _explain(figure, axes[: len(told)], model, told, left)
    return axes[0] if len(told) == 1 else figure


def _rows(model: Model, rows: Any, told: Sequence[Conditional]) -> dict[str, Any]:
    """The numbers of each column and their classes, some of the rows where there are many."""
    from deciban.sources.source import open_source

    names = [one.name for one in told if one.table is None]
    if rows is None or not names:
        return {}
    source = rows if hasattr(rows, "batches") else open_source(rows)
    X, y = numbers_and_classes(source, names, model.target)
    place = {str(label): k for k, label in enumerate(model.scorer.outline.classes)}
    codes = np.array([place.get(label, -1) for label in y.tolist()], dtype=np.intp)
    kept = thinned(len(X))
    X, codes = X[kept], codes[kept]
    there = (codes >= 0)[:, None] & np.isfinite(X)
    return {name: (X[there[:, j], j], codes[there[:, j]]) for j, name in enumerate(names)}


def _sheet(n: int, K: int) -> tuple[Any, list[Any]]:
    from matplotlib import pyplot

    down, across = grid(n)
    few = K <= MANY_CLASSES
    names = 0.0 if few else 2.0
    wide, high = (WIDE, HIGH) if few else (2.7, ROW * K + 1.1)
    size = (max(across * wide + names, 5.2), down * high + (0.3 + 0.22 * -(-K // 3) if few else 0.4))
    figure, axes = pyplot.subplots(down, across, figsize=size, layout="constrained", squeeze=False)
    spaced: Any = figure.get_layout_engine()
    spaced.set(w_pad=0.09, h_pad=0.07)
    for empty in axes.ravel()[n:]:
        empty.remove()
    return figure, axes.ravel()[:n].tolist()


def _panel(ax: Any, told: Conditional, rows: Any, named: bool) -> None:
    K = len(told.model.classes)
    few = K <= MANY_CLASSES
    if told.table is None:
        (panels.curves_over_each_other if few else panels.curves_in_rows)(ax, told, K, rows)
    elif few:
        panels.shares_as_dots(ax, told, K)
    else:
        panels.shares_as_shades(ax, told, K, SHADES)
    if not few:
        labels = panels.class_names(told.model.classes) if named else [""] * K
        ax.set_yticks(range(K), labels, fontsize=8, parse_math=False)
        ax.tick_params(axis="y", length=0)
    room = (30 if few else 24) - (8 if told.missing > 0 else 0)
    ax.set_title(
        shortened(to_printable(told.name), room), loc="left", fontsize=10, fontweight="bold", parse_math=False
    )
    if told.missing > 0:
        ax.set_title(f"{_percent(told.missing)} missing", loc="right", fontsize=8.5)
    ax.tick_params(axis="x", labelsize=8.5)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)


SHADES = "Greys"
"""Light is rare and dark is common, in print too."""


def _percent(share: float) -> str:
    return "under 0.1 %" if share < 0.001 else format_short_percent(share, 2)


def _explain(figure: Any, axes: Sequence[Any], model: Model, told: Sequence[Conditional], left: int) -> None:
    """The key, and what is not shown."""
    few = len(model.classes) <= MANY_CLASSES
    what = "p(x|k), a row for each class, each curve to its own height; the darker the likelier"
    note = ("p(x|k)" if few else what) + (
        f"; the {len(told)} most telling of {len(told) + left} columns" if left else ""
    )
    if not few:
        figure.supxlabel(note, fontsize=9)
        return
    entries = [class_entry(to_printable(str(label)), k, dashes(k)) for k, label in enumerate(model.classes)]
    across = max(1, min(len(entries), int(figure.get_figwidth() // 1.7)))
    key = figure.legend(
        handles=entries, loc="outside lower left", ncols=across, frameon=False, fontsize=9, title=note,
        title_fontsize=9, alignment="left", handlelength=3.0,
    )  # fmt: skip
    for text in key.get_texts():
        text.set_parse_math(False)
