"""Which classes are taken for which: the confusion matrix as shaded cells with their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from deciban._typing import Array
from deciban.errors import InputError
from deciban.plots.heat_map import cell_for, cell_of, draw_cells, ink_on, must_turn, name_room, name_sides, shade_bar
from deciban.plots.style import need_matplotlib, sheet

MOST_SHARES = 8
"""Up to this many classes a share stands beneath each number."""

MOST_NUMBERS = 40
"""Up to this many classes a picture of its own is as large as numbers need."""

ROOM_FOR_SHARES, ROOM_FOR_NUMBERS = 0.5, 0.25
"""Inches that a cell needs for a number with its share, and for a number alone."""

MOST_CLASSES = 400
LONGEST = 22
"""Letters of a class's name."""

BEND = 0.4
"""Shades go with this power of a share, so that one error in a hundred is seen beside ninety-nine hits."""


def confusion(report: Any, *, ax: Any = None) -> Any:
    """Draw which classes are taken for which; returns the Axes.

    A line is a true class, a column what its rows were called; a cell holds their number and is the darker the larger
    their share of the line. At the right the share of each class that is found (recall), at the top the share
    that is right of those called so (precision). `report` is what `evaluate` and `cross_validate` give.

    >>> from deciban.metrics import Scorecard
    >>> posterior = np.log([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    >>> ax = confusion(Scorecard.of(posterior, np.array([0, 1, 1])).report(["ham", "spam"]))
    >>> [text.get_text() for text in ax.texts]
    ['1\\n100 %', '0', '1\\n50 %', '1\\n50 %']
    """
    need_matplotlib()
    from matplotlib.colors import PowerNorm

    counts, names = np.asarray(report.confusion, dtype=np.float64), list(report.classes)
    if not 1 <= len(names) <= MOST_CLASSES:
        raise InputError(f"a confusion is drawn of 1 to {MOST_CLASSES} classes, not {len(names)}")
    if ax is None:
        cell = _cell(names)
        ax = _new(names, cell)
    else:
        cell = cell_of(ax, len(names))
    norm = PowerNorm(BEND, 0, 1)
    shares = counts / np.where(counts.sum(axis=1) > 0, counts.sum(axis=1), np.nan)[:, None]
    image = draw_cells(ax, shares, norm)
    name_sides(ax, names, LONGEST, cell)
    ax.set_xlabel(_foot(report))
    ax.set_ylabel("truth")
    with_shares = len(names) <= MOST_SHARES and cell >= ROOM_FOR_SHARES
    if cell >= ROOM_FOR_NUMBERS:
        _numbers(ax, counts, shares, norm, with_shares)
        _margins(ax, report, with_shares)
    if not with_shares:
        _bar(ax, image)
    return ax


def _foot(report: Any) -> str:
    if not report.unknown:
        return "called"
    rows = "row is" if report.unknown == 1 else "rows are"
    return f"called\n({report.unknown} {rows} of a class that was not learned: not shown)"


def _cell(names: list[Any]) -> float:
    """Inches: of few classes as wide as their names, of many as small as their numbers, of very many smaller."""
    K = len(names)
    if K <= MOST_SHARES:
        return cell_for(names, LONGEST, 0.72, 1.6 if K <= 3 else 1.0)
    return float(np.clip(8.5 / K, 0.27 if K <= MOST_NUMBERS else 0.022, 0.5))


def _new(names: list[Any], cell: float) -> Any:
    side = cell * len(names)
    word = name_room(names, LONGEST)
    beneath = word if must_turn(names, LONGEST, cell) else 0.2
    bar = 0.9 if len(names) > MOST_SHARES else 0.0
    return sheet(max(side + word + 1.3 + bar, 3.2), max(side + beneath + 1.2, 2.4))


def _numbers(ax: Any, counts: Array, shares: Array, norm: Any, few: bool) -> None:
    """The number of rows in each cell; with few classes also the share, with many no zeros."""
    size = 9 if few else 8 if len(counts) <= 16 else 6.5
    for (k, l), n in np.ndenumerate(counts):
        if n > 0:
            text = f"{amount(n)}\n{percent(float(shares[k, l]))} %" if few else amount(n)
        elif few:
            text = "0"
        else:
            continue
        depth = float(norm(shares[k, l])) if n else 0.0
        colour = ink_on(depth) if n else "#8c8c8c"
        bold = "bold" if k == l else "normal"
        ax.text(l, k, text, ha="center", va="center", fontsize=size, color=colour, fontweight=bold, zorder=3)


def amount(n: float) -> str:
    """A number of rows, in at most four or five letters.

    >>> [amount(n) for n in (7, 2.5, 9999, 12345, 3.4e6, 0.01)]
    ['7', '2.5', '9999', '12k', '3.4M', '0.01']
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if n >= 10 * size or (n >= size and size > 1e3):
            return f"{n / size:.2g}{letter}" if n < 99.5 * size else f"{n / size:.0f}{letter}"
    return f"{n:.0f}" if n == round(n) or n >= 100 else f"{n:.2g}"


def percent(share: float) -> str:
    """A share in per cent, whole unless it is next to nothing or next to all.

    >>> [percent(share) for share in (0.5, 0.004, 0.9987, 1.0, 0.0)]
    ['50', '0.4', '99.9', '100', '0']
    """
    whole = f"{100 * share:.0f}"
    rounded_away = (whole == "0" and share > 0) or (whole == "100" and share < 1)
    fine = f"{100 * share:.1f}"
    return whole if not rounded_away else "<0.1" if fine == "0.0" else ">99.9" if fine == "100.0" else fine


def _margins(ax: Any, report: Any, short: bool) -> None:
    """What is found of each class at the right, and how much of what is called so is right at the top."""
    places = np.arange(len(report.classes))
    look: dict[str, Any] = {"fontsize": 8.5 if len(places) <= 16 else 7}
    right, top = ax.secondary_yaxis("right"), ax.secondary_xaxis("top")
    right.set_yticks(places, [_in_percent(share) for share in report.recall], **look)
    top.set_xticks(places, [_in_percent(share) for share in report.precision], **look)
    right.set_ylabel("recall, %" if short else "recall: % of the true class that is found", fontsize=8.5)
    top.set_xlabel("precision, %" if short else "precision: % right of those called so", fontsize=8.5)
    for side in (right, top):
        side.tick_params(length=0)
        for spine in side.spines.values():
            spine.set_visible(False)


def _in_percent(share: float) -> str:
    return "–" if np.isnan(share) else percent(float(share))


def _bar(ax: Any, image: Any) -> None:
    bar = shade_bar(ax, image, "share of the true class")
    bar.set_ticks([0, 0.01, 0.05, 0.1, 0.25, 0.5, 1], labels=["0", "1", "5", "10", "25", "50", "100 %"])
