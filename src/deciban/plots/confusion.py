"""The confusion matrix as shaded cells with their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from deciban._typing import Array
from deciban.errors import InputError
from deciban.plots import heat_map
from deciban.plots.style import hide_spines, make_axes, need_matplotlib

MAX_SHARE_CLASSES = 8
"""The largest number of classes for which a share is below each number."""

MAX_NUMBER_CLASSES = 40
"""The largest number of classes for which a new picture is as large as numbers need."""

SHARE_CELL_INCHES, NUMBER_CELL_INCHES = 0.5, 0.25
"""The size of a cell for a number with its share, and for a number alone."""

MAX_CLASSES = 400
MAX_NAME_CHARACTERS = 22
"""The characters of a class's name."""

SHADE_EXPONENT = 0.4
"""The power of a share that a shade shows, so that one error in a hundred is visible next to ninety-nine hits."""


def confusion(report: Any, *, ax: Any = None) -> Any:
    """Draw the confusion matrix; return the Axes.

    A line is a true class, a column a predicted class; a cell has the number of rows and is darker for a larger share
    of the line. Recall is on the right, precision at the top. `report` is a result of `evaluate` or
    `cross_validate`.

    >>> from deciban.metrics import Scorecard
    >>> posterior = np.log([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    >>> ax = confusion(Scorecard.of(posterior, np.array([0, 1, 1])).report(["ham", "spam"]))
    >>> [text.get_text() for text in ax.texts]
    ['1\\n100 %', '0', '1\\n50 %', '1\\n50 %']
    """
    need_matplotlib()
    from matplotlib.colors import PowerNorm

    counts, names = np.asarray(report.confusion, dtype=np.float64), list(report.classes)
    if not 1 <= len(names) <= MAX_CLASSES:
        raise InputError(f"a confusion is drawn of 1 to {MAX_CLASSES} classes, not {len(names)}")
    cell = _choose_cell_inches(names) if ax is None else heat_map.measure_cell_inches(ax, len(names))
    if ax is None:
        side, (left, below) = cell * len(names), heat_map.margin_inches(names, MAX_NAME_CHARACTERS, cell)
        bar = 0.9 if len(names) > MAX_SHARE_CLASSES else 0.0
        ax = make_axes(max(side + left + 1.3 + bar, 3.2), max(side + below + 1.2, 2.4))
    norm = PowerNorm(SHADE_EXPONENT, 0, 1)
    shares = counts / np.where(counts.sum(axis=1) > 0, counts.sum(axis=1), np.nan)[:, None]
    image = heat_map.draw_cells(ax, shares, norm)
    heat_map.name_sides(ax, names, MAX_NAME_CHARACTERS, cell)
    rows = "row is" if report.unknown == 1 else "rows are"
    note = f"\n({report.unknown} {rows} of a class that was not learned: not shown)" if report.unknown else ""
    ax.set(xlabel="called" + note, ylabel="truth")
    with_shares = len(names) <= MAX_SHARE_CLASSES and cell >= SHARE_CELL_INCHES
    if cell >= NUMBER_CELL_INCHES:
        _write_numbers(ax, counts, shares, norm, with_shares)
        _write_margins(ax, report, with_shares)
    if not with_shares:
        bar = heat_map.add_shade_bar(ax, image, "share of the true class")
        bar.set_ticks([0, 0.01, 0.05, 0.1, 0.25, 0.5, 1], labels=["0", "1", "5", "10", "25", "50", "100 %"])
    return ax


def _choose_cell_inches(names: list[Any]) -> float:
    """Return the size of a cell: of few classes the width of names, of many that of numbers, of very many less."""
    K = len(names)
    if K <= MAX_SHARE_CLASSES:
        return heat_map.choose_cell_inches(names, MAX_NAME_CHARACTERS, 0.72, 1.6 if K <= 3 else 1.0)
    return float(np.clip(8.5 / K, 0.27 if K <= MAX_NUMBER_CLASSES else 0.022, 0.5))


def _write_numbers(ax: Any, counts: Array, shares: Array, norm: Any, few: bool) -> None:
    """Write the number of rows in each cell; with few classes also the share, with many no zeros."""
    size = 9 if few else 8 if len(counts) <= 16 else 6.5
    for (k, l), n in np.ndenumerate(counts):
        if n <= 0 and not few:
            continue
        text = f"{format_amount(n)}\n{format_share(float(shares[k, l]))} %" if few and n > 0 else format_amount(n)
        colour = heat_map.text_colour_on(float(norm(shares[k, l]))) if n else "#8c8c8c"
        look: dict[str, Any] = {"fontsize": size, "color": colour, "fontweight": "bold" if k == l else "normal"}
        ax.text(l, k, text, ha="center", va="center", zorder=3, **look)


def format_amount(n: float) -> str:
    """Format a number of rows in at most four or five characters.

    >>> [format_amount(n) for n in (7, 2.5, 9999, 12345, 3.4e6, 0.01)]
    ['7', '2.5', '9999', '12k', '3.4M', '0.01']
    """
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if n >= 10 * size or (n >= size and size > 1e3):
            return f"{n / size:.2g}{unit}" if n < 99.5 * size else f"{n / size:.0f}{unit}"
    return f"{n:.0f}" if n == round(n) or n >= 100 else f"{n:.2g}"


def format_share(share: float) -> str:
    """Format a share in per cent, as a whole number unless it is near 0 or 100; an undefined one as a dash.

    >>> [format_share(share) for share in (0.5, 0.004, 0.9987, 1.0, 0.0, np.nan)]
    ['50', '0.4', '99.9', '100', '0', '–']
    """
    if np.isnan(share):
        return "–"
    rounded = f"{100 * share:.0f}"
    rounded_away = (rounded == "0" and share > 0) or (rounded == "100" and share < 1)
    fine = f"{100 * share:.1f}"
    return rounded if not rounded_away else "<0.1" if fine == "0.0" else ">99.9" if fine == "100.0" else fine


def _write_margins(ax: Any, report: Any, short: bool) -> None:
    """Write the recall of each class on the right, and its precision at the top."""
    places = np.arange(len(report.classes))
    look: dict[str, Any] = {"fontsize": 8.5 if len(places) <= 16 else 7}
    right, top = ax.secondary_yaxis("right"), ax.secondary_xaxis("top")
    right.set_yticks(places, [format_share(share) for share in report.recall], **look)
    top.set_xticks(places, [format_share(share) for share in report.precision], **look)
    right.set_ylabel("recall, %" if short else "recall: % of the true class that is found", fontsize=8.5)
    top.set_xlabel("precision, %" if short else "precision: % right of those called so", fontsize=8.5)
    for side in (right, top):
        side.tick_params(length=0)
        hide_spines(side, *side.spines)
