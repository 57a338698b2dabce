"""Tables as shaded cells: the darker the more, with names along both sides, few or hundreds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.plots.style import INK, shortened

SHADES = ("#ffffff", "#d6e6f4", "#9ac8e0", "#4a98c9", "#1764ab", "#08306b")
"""From nothing to all: one hue whose lightness falls all the way, so that grey print keeps the order."""

LETTER = 0.078
"""Inches that a letter of 8.5 points is wide, on average."""

MOST_PARTED = 60
"""Up to so many cells a side there are lines between them."""

PITCH = 0.125
"""Inches from one name to the next along a side; where cells are smaller, some names are left out."""


def shades() -> Any:
    """The colour map."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("deciban", SHADES).with_extremes(bad="#ececec")


def ink_on(depth: float) -> str:
    """What can be read on a cell as deep as this, from 0 to 1."""
    return "#ffffff" if depth > 0.66 else INK


def cell_of(ax: Any, n: int) -> float:
    """Inches of a cell where n of them share the side of an Axes that is there already."""
    box, (width, height) = ax.get_position(), ax.figure.get_size_inches()
    return float(min(box.width * width, box.height * height)) / n


def cell_for(names: Sequence[Any], most: int, least: float, largest: float) -> float:
    """Inches of a cell of few: as wide as the longest name, if that is not too wide, and the least otherwise."""
    room = name_room(names, most) + 0.1
    return max(room, least) if room <= largest else least


def name_room(names: Sequence[Any], most: int) -> float:
    """Inches that the longest of the names takes."""
    return LETTER * max((min(len(str(name)), most) for name in names), default=1)


def draw_cells(ax: Any, values: NDArray[np.float64], norm: Any) -> Any:
    """The cells, parted by thin lines where they are few; returns the image."""
    image = ax.imshow(values, cmap=shades(), norm=norm, aspect="equal", interpolation="nearest", zorder=1)
    if len(values) <= MOST_PARTED:
        ax.set_xticks(np.arange(1, len(values)) - 0.5, minor=True)
        ax.set_yticks(np.arange(1, len(values)) - 0.5, minor=True)
        ax.grid(which="minor", color="#d9d9d9", linewidth=0.6, zorder=2)
    ax.tick_params(which="both", length=0)
    for side in ax.spines.values():
        side.set_color("#8c8c8c")
    return image


def name_sides(ax: Any, names: Sequence[Any], most: int, cell: float) -> None:
    """The names along the foot and the left; where cells are small, every so manieth."""
    step = max(1, math.ceil(PITCH / cell - 1e-9))
    places = list(range(0, len(names), step))
    text = [shortened(names[i], most) for i in places]
    look: dict[str, Any] = {"color": INK, "parse_math": False, "fontsize": 8.5 if cell * step > 0.2 else 7}
    ax.set_yticks(places, text, **look)
    turned = {"rotation": 90, "ha": "center"} if must_turn(names, most, cell) else {}
    ax.set_xticks(places, text, **look, **turned)


def all_named(cell: float) -> bool:
    """Whether cells of this size have room for every name."""
    return cell >= PITCH - 1e-9


def must_turn(names: Sequence[Any], most: int, cell: float) -> bool:
    """Whether the names are too long to stand side by side beneath cells of this size."""
    return name_room(names, most) > cell - 0.06


def shade_bar(ax: Any, image: Any, label: str) -> Any:
    """The bar that says what a shade means."""
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.7, aspect=28, pad=0.02)
    bar.set_label(label, fontsize=8.5)
    bar.ax.tick_params(labelsize=8, length=2)
    bar.outline.set_linewidth(0.4)
    return bar
