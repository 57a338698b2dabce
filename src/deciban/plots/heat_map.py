"""Matrices as shaded cells, darker for larger values, with names along both sides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.plots.style import INK, shorten

SHADES = ("#ffffff", "#d6e6f4", "#9ac8e0", "#4a98c9", "#1764ab", "#08306b")
"""The colours from none to all: one hue of falling lightness, so that grey print keeps the order."""

CHARACTER_INCHES = 0.078
"""The mean width of a character of 8.5 points."""

MAX_RULED_CELLS = 60
"""The largest number of cells on a side with lines between them."""

NAME_PITCH_INCHES = 0.125
"""The distance between names along a side; with smaller cells, some names are left out."""


def make_colour_map() -> Any:
    """Return the colour map."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("deciban", SHADES).with_extremes(bad="#ececec")


def text_colour_on(depth: float) -> str:
    """Return the colour of legible text on a cell of this depth, from 0 to 1."""
    return "#ffffff" if depth > 0.66 else INK


def measure_cell_inches(ax: Any, n: int) -> float:
    """Return the size of a cell if n of them share the side of an existing Axes."""
    box, (width, height) = ax.get_position(), ax.figure.get_size_inches()
    return float(min(box.width * width, box.height * height)) / n


def choose_cell_inches(names: Sequence[Any], most: int, least: float, largest: float) -> float:
    """Return the size of a cell: the width of the longest name, or `least` if that is wider than `largest`."""
    width = name_inches(names, most) + 0.1
    return max(width, least) if width <= largest else least


def name_inches(names: Sequence[Any], most: int) -> float:
    """Return the width of the longest name in inches."""
    return CHARACTER_INCHES * max((min(len(str(name)), most) for name in names), default=1)


def margin_inches(names: Sequence[Any], most: int, cell: float) -> tuple[float, float]:
    """Return the space that names need on the left of cells of this size, and below them."""
    width = name_inches(names, most)
    return width, width if needs_rotation(names, most, cell) else 0.2


def draw_cells(ax: Any, values: NDArray[np.float64], norm: Any) -> Any:
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


def name_sides(ax: Any, names: Sequence[Any], most: int, cell: float) -> None:
    """Write the names along the bottom and the left; with small cells, only some of them."""
    step = max(1, math.ceil(NAME_PITCH_INCHES / cell - 1e-9))
    places = list(range(0, len(names), step))
    text = [shorten(names[i], most) for i in places]
    look: dict[str, Any] = {"color": INK, "parse_math": False, "fontsize": 8.5 if cell * step > 0.2 else 7}
    ax.set_yticks(places, text, **look)
    turned = {"rotation": 90, "ha": "center"} if needs_rotation(names, most, cell) else {}
    ax.set_xticks(places, text, **look, **turned)


def fits_all_names(cell: float) -> bool:
    """Return whether cells of this size have space for every name."""
    return cell >= NAME_PITCH_INCHES - 1e-9


def needs_rotation(names: Sequence[Any], most: int, cell: float) -> bool:
    """Return whether the names are too long to be side by side below cells of this size."""
    return name_inches(names, most) > cell - 0.06


def add_shade_bar(ax: Any, image: Any, label: str) -> Any:
    """Add a colour bar."""
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.7, aspect=28, pad=0.02)
    bar.set_label(label, fontsize=8.5)
    bar.ax.tick_params(labelsize=8, length=2)
    bar.outline.set_linewidth(0.4)
    return bar
