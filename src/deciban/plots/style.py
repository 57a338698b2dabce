"""Colours, markers and line styles: told apart without colour, in grey, and by colour-blind eyes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.errors import MissingExtraError

COLOURS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#999933",
    "#882255",
    "#777777",
    "#332288",
)
"""Okabe and Ito's, ordered so that neighbours differ in lightness; Tol's where theirs is too pale for a line."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p")
"""One more than there are colours, so that the pairs of the two repeat only after 110 classes."""

DASHES: tuple[Any, ...] = (
    "-",
    (0, (6, 2)),
    (0, (1, 1.5)),
    (0, (6, 2, 1, 2)),
    (0, (3, 1.5)),
    (0, (9, 2, 2, 2)),
    (0, (6, 2, 1, 2, 1, 2)),
    (0, (1, 4)),
    (0, (12, 3)),
    (0, (3, 3, 1, 3)),
)

INK = "#1a1a1a"
EDGE = "#ffffff"
FAINT = "#6b6b6b"
"""What is beside the point, and can still be read."""

DEEPEST = 0.55
"""Opacity of a region whose class is certain."""

BENEATH = 42
"""Points from the foot of the picture to the key: the room that numbers and label take."""

MANY_CLASSES = 6
"""More than this and the key stands beside the picture, without equations."""


KEY_LINE = 0.182
"""Inches from one line of the key to the next."""

LONGEST_KEY = 40
"""Lines of the key in one column."""


def need_matplotlib() -> None:
    """Say what to install, where matplotlib is not."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as missing:
        raise MissingExtraError(
            f'pictures need matplotlib, which cannot be imported ({missing}). Hint: pip install "deciban[plot]"'
        ) from None


def new_axes(n_classes: int) -> Any:
    """An Axes of its own figure, which leaves room for the key."""
    few = n_classes <= MANY_CLASSES
    lines = math.ceil((n_classes + 2) / key_columns(n_classes))
    size = (6.4, 5.2) if few else (6.2 + 2 * key_columns(n_classes), max(5.2, KEY_LINE * lines + 0.3))
    return sheet(*size)


def sheet(width: float, height: float) -> Any:
    """An Axes of its own figure, of this size in inches, with a margin."""
    from matplotlib import pyplot

    figure, ax = pyplot.subplots(figsize=(width, height), layout="constrained")
    spaced: Any = figure.get_layout_engine()
    spaced.set(w_pad=0.1, h_pad=0.1)
    return ax


def key_columns(n_classes: int) -> int:
    """How many columns the classes take beside a picture."""
    return math.ceil((n_classes + 2) / LONGEST_KEY)


def colour(k: int) -> str:
    """The colour of class k."""
    return COLOURS[k % len(COLOURS)]


def pale(k: int) -> Any:
    """The colour of class k as a ground on which ink is seen: as `DEEPEST` makes it, but nothing shines through."""
    from matplotlib.colors import to_rgb

    return tuple(1 - DEEPEST * (1 - part) for part in to_rgb(colour(k)))


def marker(k: int) -> str:
    """The marker of class k."""
    return MARKERS[k % len(MARKERS)]


def dashes(i: int) -> Any:
    """The i-th line style."""
    return DASHES[i % len(DASHES)]


def shortened(label: Any, most: int = 26) -> str:
    """A class's name, its middle left out where it would crowd the key.

    >>> shortened("chronic lymphocytic leukaemia, stage 2")
    'chronic lymph…mia, stage 2'
    """
    text, half = str(label), most // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half + 1 :]}"


def tint(posterior: NDArray[np.float64]) -> NDArray[np.float64]:
    """The winner's colour for each row, from clear (all classes alike) to full (certain): RGBA."""
    from matplotlib.colors import to_rgb

    K, winner = posterior.shape[1], posterior.argmax(axis=1)
    sure = (posterior.max(axis=1) - 1 / K) / (1 - 1 / K) if K > 1 else np.ones(len(posterior))
    colours = np.array([to_rgb(colour(k)) for k in range(K)])
    return np.column_stack([colours[winner], DEEPEST * sure])


def class_entry(label: Any, k: int, linestyle: Any = "none") -> Any:
    """Class k in the key, as its points look, and its curve if it has one."""
    from matplotlib.lines import Line2D

    look: dict[str, Any] = {"marker": marker(k), "markersize": 6.5, "markeredgecolor": EDGE, "markeredgewidth": 0.6}
    return Line2D([], [], linestyle=linestyle, color=colour(k), label=shortened(label), **look)


def key(ax: Any, classes: Sequence[Any], rest: Sequence[Any]) -> None:
    """Beneath the picture the classes on the left and the rest on the right; many classes beside it."""
    from matplotlib.lines import Line2D
    from matplotlib.transforms import ScaledTranslation

    rest = [*rest, _shade_entry()]
    look: dict[str, Any] = {
        "loc": "upper left",
        "frameon": False,
        "fontsize": 8.5,
        "handlelength": 2.8,
        "borderaxespad": 0.0,
    }
    if len(classes) > MANY_CLASSES:
        ax.legend(handles=[*classes, *rest], bbox_to_anchor=(1.02, 1.0), ncols=key_columns(len(classes)), **look)
        return
    blank = Line2D([], [], linestyle="none", label=" ")
    height = max(len(classes), len(rest))
    left, right = ([*part, *[blank] * (height - len(part))] for part in (classes, rest))
    foot = ax.transAxes + ScaledTranslation(0, -BENEATH / 72, ax.figure.dpi_scale_trans)
    ax.legend(handles=[*left, *right], bbox_to_anchor=(0.0, 0.0), bbox_transform=foot, ncols=2, **look)


def key_beneath(ax: Any, entries: Sequence[Any], labels: Sequence[str], heading: str | None = None) -> None:
    """Beneath the picture and its label, a line for each entry."""
    from matplotlib.transforms import ScaledTranslation

    foot = ax.transAxes + ScaledTranslation(0, -BENEATH / 72, ax.figure.dpi_scale_trans)
    look: dict[str, Any] = {"loc": "upper left", "frameon": False, "fontsize": 9, "handlelength": 3.0}
    look |= {"title": heading, "title_fontsize": 9, "alignment": "left", "borderaxespad": 0.0}
    for text in ax.legend(entries, labels, bbox_to_anchor=(0, 0), bbox_transform=foot, **look).get_texts():
        text.set_parse_math(False)


def ruled(*axes: Any) -> None:
    """Thin lines to read values by, behind everything."""
    for ax in axes:
        ax.grid(color="#e3e3e3", linewidth=0.7)
        ax.set_axisbelow(True)


def letters_in_key(ax: Any) -> int:
    """How many letters of the key fit beside the classes' names beneath the picture."""
    points = ax.get_position().width * ax.figure.get_figwidth() * 72
    return max(24, int((1.15 * points - 130) / 4.7))


def _shade_entry() -> Any:
    from matplotlib.patches import Patch

    return Patch(facecolor="#8c8c8c", edgecolor="none", alpha=DEEPEST, label="deeper: surer of the winner")
