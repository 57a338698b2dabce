"""Colours, markers and line styles: told apart without colour, in grey, and by colour-blind eyes."""

from __future__ import annotations

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
DEEPEST = 0.55
"""Opacity of a region whose class is certain."""

BENEATH = 42
"""Points from the foot of the picture to the key: the room that numbers and label take."""

MANY_CLASSES = 6
"""More than this and the key stands beside the picture, without equations."""


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
    from matplotlib import pyplot

    size = (6.4, 5.2) if n_classes <= MANY_CLASSES else (8.2, 5.2)
    return pyplot.subplots(figsize=size, layout="constrained")[1]


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
        ax.legend(handles=[*classes, *rest], bbox_to_anchor=(1.02, 1.0), **look)
        return
    blank = Line2D([], [], linestyle="none", label=" ")
    height = max(len(classes), len(rest))
    left, right = ([*part, *[blank] * (height - len(part))] for part in (classes, rest))
    foot = ax.transAxes + ScaledTranslation(0, -BENEATH / 72, ax.figure.dpi_scale_trans)
    ax.legend(handles=[*left, *right], bbox_to_anchor=(0.0, 0.0), bbox_transform=foot, ncols=2, **look)


def letters_in_key(ax: Any) -> int:
    """How many letters of the key fit beside the classes' names beneath the picture."""
    points = ax.get_position().width * ax.figure.get_figwidth() * 72
    return max(24, int((1.15 * points - 130) / 4.7))


def _shade_entry() -> Any:
    from matplotlib.patches import Patch

    return Patch(facecolor="#8c8c8c", edgecolor="none", alpha=DEEPEST, label="deeper: surer of the winner")
