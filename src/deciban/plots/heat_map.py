"""Matrices as shaded cells, darker for larger values, with names along both sides; and the confusion matrix."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from deciban._typing import Array
from deciban.errors import InputError
from deciban.plots.style import INK, hide_spines, make_axes, need_matplotlib, shorten

SHADES = ("#ffffff", "#d6e6f4", "#9ac8e0", "#4a98c9", "#1764ab", "#08306b")
"""The colours from none to all: one hue of falling lightness, so that grey print keeps the order."""

CHARACTER_INCHES = 0.078
"""The mean width of a character of 8.5 points."""

MAX_RULED_CELLS = 60
"""The largest number of cells on a side with lines between them."""

NAME_PITCH_INCHES = 0.125
"""The distance between names along a side; with smaller cells, some names are left out."""


def make_colour_map() -> Any:
    """Return the colour map of `SHADES`, grey for undefined cells."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("deciban", SHADES).with_extremes(bad="#ececec")


def choose_text_colour(shade: float) -> str:
    """Return the colour of legible text on a cell of this shade, from 0 (white) to 1."""
    return "#ffffff" if shade > 0.66 else INK


def measure_cell_inches(ax: Any, n: int) -> float:
    """Return the size of a cell in inches if n of them share the shorter side of an existing Axes."""
    box, (width, height) = ax.get_position(), ax.figure.get_size_inches()
    return float(min(box.width * width, box.height * height)) / n


def choose_cell_inches(names: Sequence[Any], max_characters: int, min_inches: float, max_inches: float) -> float:
    """Return the size of a cell in inches: the width of the longest name, at least `min_inches`.

    It is `min_inches` also if the name is wider than `max_inches`.
    """
    width = measure_name_inches(names, max_characters) + 0.1
    return max(width, min_inches) if width <= max_inches else min_inches


def measure_name_inches(names: Sequence[Any], max_characters: int) -> float:
    """Return the width of the longest name in inches, each cut to `max_characters`."""
    return CHARACTER_INCHES * max((min(len(str(name)), max_characters) for name in names), default=1)


def measure_margins(names: Sequence[Any], max_characters: int, cell: float) -> tuple[float, float]:
    """Return the inches that names need on the left of cells of this size, and below them."""
    width = measure_name_inches(names, max_characters)
    return width, width if needs_rotation(names, max_characters, cell) else 0.2


def draw_cells(ax: Any, values: Array, norm: Any) -> Any:
    """Draw the cells, with thin lines between them if they are few; return the image."""
    image = ax.imshow(values, cmap=make_colour_map(), norm=norm, aspect="equal", interpolation="nearest", zorder=1)
    if len(values) <= MAX_RULED_CELLS:
        ax.set_xticks(np.arange(1, len(values)) - 0.5, minor=True)
        ax.set_yticks(np.arange(1, len(values)) - 0.5, minor=True)
        ax.grid(which="minor", color="#d9d9d9", linewidth=0.6, zorder=2)
    ax.tick_params(which="both", length=0)
    for side in ax.spines.values():
        side.set_color("#8c8c8c")
    return image


def label_axes(ax: Any, names: Sequence[Any], max_characters: int, cell: float) -> None:
    """Write the names along the bottom and the left; with small cells, only some of them."""
    step = max(1, math.ceil(NAME_PITCH_INCHES / cell - 1e-9))
    places = list(range(0, len(names), step))
    text = [shorten(names[i], max_characters) for i in places]
    look: dict[str, Any] = {"color": INK, "parse_math": False, "fontsize": 8.5 if cell * step > 0.2 else 7}
    ax.set_yticks(places, text, **look)
    turned = {"rotation": 90, "ha": "center"} if needs_rotation(names, max_characters, cell) else {}
    ax.set_xticks(places, text, **look, **turned)


def fits_all_names(cell: float) -> bool:
    """Return whether cells of this size have space for every name."""
    return cell >= NAME_PITCH_INCHES - 1e-9


def needs_rotation(names: Sequence[Any], max_characters: int, cell: float) -> bool:
    """Return whether the names are too long to be side by side below cells of this size."""
    return measure_name_inches(names, max_characters) > cell - 0.06


def add_colour_bar(ax: Any, image: Any, label: str) -> Any:
    """Add a colour bar with this label next to an image, and return it."""
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.7, aspect=28, pad=0.02)
    bar.set_label(label, fontsize=8.5)
    bar.ax.tick_params(labelsize=8, length=2)
    bar.outline.set_linewidth(0.4)
    return bar


MAX_SHARE_CLASSES = 8
"""The largest number of classes for which a share is below each number."""

MAX_NUMBER_CLASSES = 40
"""The largest number of classes for which a new picture is as large as numbers need."""

SHARE_CELL_INCHES, NUMBER_CELL_INCHES = 0.5, 0.25
"""The size of a cell for a number with its share, and for a number alone."""

MAX_DRAWN_CLASSES = 400
"""The largest number of classes of which a confusion matrix is drawn."""

MAX_CLASS_NAME_CHARACTERS = 22
"""The largest number of characters of a class's name; a longer one is shortened."""

CONFUSION_SHADE_EXPONENT = 0.4
"""The power of a share that a shade shows, so that one error in a hundred is visible next to ninety-nine hits."""


def confusion(report: Any, *, ax: Any = None) -> Any:
    """Draw the confusion matrix; return the Axes.

    A row of the matrix is a true class, a column a predicted class; a cell has the number of rows of data and is
    darker for a larger share of the true class. Recall is on the right, precision at the top. `report` is a result of
    `evaluate` or `cross_validate`.

    >>> from deciban.metrics import Scorecard
    >>> posterior = np.log([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    >>> ax = confusion(Scorecard.of(posterior, np.array([0, 1, 1])).report(["ham", "spam"]))
    >>> [text.get_text() for text in ax.texts]
    ['1\\n100 %', '0', '1\\n50 %', '1\\n50 %']
    """
    need_matplotlib()
    from matplotlib.colors import PowerNorm

    counts, names = np.asarray(report.confusion, dtype=np.float64), list(report.classes)
    if not 1 <= len(names) <= MAX_DRAWN_CLASSES:
        raise InputError(f"a confusion is drawn of 1 to {MAX_DRAWN_CLASSES} classes, not {len(names)}")
    cell = _choose_confusion_cell_inches(names) if ax is None else measure_cell_inches(ax, len(names))
    if ax is None:
        side, (left, below) = cell * len(names), measure_margins(names, MAX_CLASS_NAME_CHARACTERS, cell)
        bar = 0.9 if len(names) > MAX_SHARE_CLASSES else 0.0
        ax = make_axes(max(side + left + 1.3 + bar, 3.2), max(side + below + 1.2, 2.4))
    norm = PowerNorm(CONFUSION_SHADE_EXPONENT, 0, 1)
    shares = counts / np.where(counts.sum(axis=1) > 0, counts.sum(axis=1), np.nan)[:, None]
    image = draw_cells(ax, shares, norm)
    label_axes(ax, names, MAX_CLASS_NAME_CHARACTERS, cell)
    rows = "row is" if report.unknown == 1 else "rows are"
    note = f"\n({report.unknown} {rows} of a class that was not learned: not shown)" if report.unknown else ""
    ax.set(xlabel="predicted" + note, ylabel="truth")
    with_shares = len(names) <= MAX_SHARE_CLASSES and cell >= SHARE_CELL_INCHES
    if cell >= NUMBER_CELL_INCHES:
        _write_numbers(ax, counts, shares, norm, with_shares)
        _write_margins(ax, report, with_shares)
    if not with_shares:
        bar = add_colour_bar(ax, image, "share of the true class")
        bar.set_ticks([0, 0.01, 0.05, 0.1, 0.25, 0.5, 1], labels=["0", "1", "5", "10", "25", "50", "100 %"])
    return ax


def _choose_confusion_cell_inches(names: list[Any]) -> float:
    """Return the size of a cell in inches: of few classes as names need, of many as numbers need, of more less."""
    K = len(names)
    if K <= MAX_SHARE_CLASSES:
        return choose_cell_inches(names, MAX_CLASS_NAME_CHARACTERS, 0.72, 1.6 if K <= 3 else 1.0)
    return float(np.clip(8.5 / K, 0.27 if K <= MAX_NUMBER_CLASSES else 0.022, 0.5))


def _write_numbers(ax: Any, counts: Array, shares: Array, norm: Any, with_shares: bool) -> None:
    """Write the number of rows in each cell; with shares also the share, without them no zeros."""
    size = 9 if with_shares else 8 if len(counts) <= 16 else 6.5
    for (k, l), n in np.ndenumerate(counts):
        if n <= 0 and not with_shares:
            continue
        share = f"\n{format_share(float(shares[k, l]))} %" if with_shares and n > 0 else ""
        colour = choose_text_colour(float(norm(shares[k, l]))) if n else "#8c8c8c"
        look: dict[str, Any] = {"fontsize": size, "color": colour, "fontweight": "bold" if k == l else "normal"}
        ax.text(l, k, format_amount(n) + share, ha="center", va="center", zorder=3, **look)


def format_amount(n: float) -> str:
    """Format a number of rows in at most four or five characters.

    >>> [format_amount(n) for n in (7, 2.5, 99.7, 9999, 12345, 3.4e6, 0.01)]
    ['7', '2.5', '100', '9999', '12k', '3.4M', '0.01']
    """
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if n >= 10 * size or (n >= size and size > 1e3):
            return f"{n / size:.2g}{unit}" if n < 99.5 * size else f"{n / size:.0f}{unit}"
    return f"{n:.0f}" if n == round(n) or n >= 99.5 else f"{n:.2g}"


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


def _write_margins(ax: Any, report: Any, brief_labels: bool) -> None:
    """Write the recall of each class on the right, and its precision at the top, in percent."""
    places = np.arange(len(report.classes))
    look: dict[str, Any] = {"fontsize": 8.5 if len(places) <= 16 else 7}
    right, top = ax.secondary_yaxis("right"), ax.secondary_xaxis("top")
    right.set_yticks(places, [format_share(share) for share in report.recall], **look)
    top.set_xticks(places, [format_share(share) for share in report.precision], **look)
    right.set_ylabel("recall, %" if brief_labels else "recall: % of the true class that is found", fontsize=8.5)
    top.set_xlabel("precision, %" if brief_labels else "precision: % right of those predicted so", fontsize=8.5)
    for side in (right, top):
        side.tick_params(length=0)
        hide_spines(side, *side.spines)
