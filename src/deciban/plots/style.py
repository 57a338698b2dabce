"""Colours, markers and line styles that remain distinct in grey print and for colour-blind readers; axes; legends."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.errors import InputError, MissingExtraError
from deciban.formatting import to_printable

COLOURS = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999933", "#882255", "#777777", "#332288",
)  # fmt: skip
"""The colours of Okabe and Ito, ordered so that neighbours differ in lightness; Tol's where theirs is too pale."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p")
"""The markers: one more than there are colours, so that pairs of both repeat only after 110 classes."""

DASHES: tuple[Any, ...] = (
    "-", (0, (6, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (3, 1.5)), (0, (9, 2, 2, 2)), (0, (6, 2, 1, 2, 1, 2)),
    (0, (1, 4)), (0, (12, 3)), (0, (3, 3, 1, 3)),
)  # fmt: skip
"""The line styles: solid, then dashes and gaps in points."""

INK = "#1a1a1a"
EDGE_COLOUR = "#ffffff"
FAINT_COLOUR = "#6b6b6b"
"""The colour of secondary text that must remain legible."""

MAX_REGION_OPACITY = 0.55
"""The opacity of a region whose class is certain."""

LEGEND_OFFSET_POINTS = 42
"""The distance in points from the bottom of the axes to the legend: the space of tick labels and axis label."""

MAX_LEGEND_CLASSES = 6
"""The largest number of classes with a legend below the picture; that of more is on its right, without equations."""

LEGEND_LINE_INCHES = 0.182
"""The distance in inches between lines of the legend."""

MAX_LEGEND_LINES = 40
"""The number of lines in one column of the legend."""


def need_matplotlib() -> None:
    """Raise a MissingExtraError, which says what to install, if matplotlib cannot be imported."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as missing:
        raise MissingExtraError(
            f'pictures need matplotlib, which cannot be imported ({missing}). Hint: pip install "deciban[plot]"'
        ) from None


def check_positive(name: str, value: Any) -> None:
    """Refuse an argument that is not a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InputError(f"{name} must be a whole number ≥ 1, not {value!r}")


def make_class_axes(n_classes: int) -> Any:
    """Make an Axes in a new figure with space for the legend of these classes, below or on the right of it."""
    columns = count_legend_columns(n_classes)
    if n_classes <= MAX_LEGEND_CLASSES:
        return make_axes(6.4, 5.2)
    return make_axes(6.2 + 2 * columns, max(5.2, LEGEND_LINE_INCHES * math.ceil((n_classes + 2) / columns) + 0.3))


def make_axes(width: float, height: float) -> Any:
    """Make an Axes in a new figure of this size in inches, with a margin."""
    return make_panels(1, 1, (width, height))[0]


def make_panels(
    n: int, across: int, size: tuple[float, float], w_pad: float = 0.1, h_pad: float = 0.1, **options: Any
) -> list[Any]:
    """Make n Axes, in lines of `across`, in a new figure of this size in inches, with these margins in inches.

    Further options are those of `subplots`.
    """
    figure = make_figure(size, w_pad=w_pad, h_pad=h_pad)
    axes = figure.subplots(math.ceil(n / across), across, squeeze=False, **options).ravel().tolist()
    for empty in axes[n:]:
        empty.remove()
    panels: list[Any] = axes[:n]
    return panels


def make_figure(size: tuple[float, float], **margins: float) -> Any:
    """Make a new figure of pyplot of this size, so that notebooks and `pyplot.show` display it.

    The size and the margins w_pad and h_pad are in inches.
    """
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=size, layout="constrained")
    engine: Any = figure.get_layout_engine()
    engine.set(**margins)
    return figure


def hide_spines(ax: Any, *sides: str) -> None:
    """Hide lines of the frame of an Axes."""
    ax.spines[list(sides)].set_visible(False)


def count_legend_columns(n_classes: int) -> int:
    """Return the number of columns of a legend of these classes on the right of a picture."""
    return math.ceil((n_classes + 2) / MAX_LEGEND_LINES)


def colour(k: int) -> str:
    """Return the colour of class k."""
    return COLOURS[k % len(COLOURS)]


def pale(k: int) -> Any:
    """Return the colour of class k as an opaque pale background."""
    from matplotlib.colors import to_rgb

    return tuple(1 - MAX_REGION_OPACITY * (1 - light) for light in to_rgb(colour(k)))


def marker(k: int) -> str:
    """Return the marker of class k."""
    return MARKERS[k % len(MARKERS)]


def dashes(i: int) -> Any:
    """Return the i-th line style."""
    return DASHES[i % len(DASHES)]


def shorten(label: Any, max_characters: int = 26) -> str:
    """Return a label as text without characters that cannot be printed, its middle cut out if it is too long.

    >>> shorten("chronic lymphocytic leukaemia, stage 2")
    'chronic lymph…mia, stage 2'
    """
    text, half = to_printable(str(label)), max_characters // 2
    return text if len(text) <= max_characters else f"{text[:half]}…{text[-half + 1 :]}"


def tint(posterior: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the colour of the most probable class of each row as RGBA, from clear (all equal) to full (certain)."""
    from matplotlib.colors import to_rgb

    K, winner = posterior.shape[1], posterior.argmax(axis=1)
    certainty = (posterior.max(axis=1) - 1 / K) / (1 - 1 / K) if K > 1 else np.ones(len(posterior))
    colours = np.array([to_rgb(colour(k)) for k in range(K)])
    return np.column_stack([colours[winner], MAX_REGION_OPACITY * certainty])


def marker_look(k: int, size: float = 6.5, edge: float = 0.6) -> dict[str, Any]:
    """Return colour and marker of class k, as arguments of `plot`; the marker has a white edge."""
    look = {"color": colour(k), "marker": marker(k), "markersize": size}
    return {**look, "markeredgecolor": EDGE_COLOUR, "markeredgewidth": edge}


def make_class_entry(label: Any, k: int, linestyle: Any = "none") -> Any:
    """Return the legend entry of class k, with its marker and the style of its curve if it has one."""
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle=linestyle, label=shorten(label), **marker_look(k))


def add_legend(ax: Any, classes: Sequence[Any], others: Sequence[Any]) -> None:
    """Add a legend below the picture: the classes in one column, the others and the shades in another.

    Of more than `MAX_LEGEND_CLASSES` classes it is on the right of the picture.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    shade: dict[str, Any] = {"facecolor": "#8c8c8c", "edgecolor": "none", "alpha": MAX_REGION_OPACITY}
    others = [*others, Patch(**shade, label="deeper: surer of the winner")]
    look: dict[str, Any] = {"loc": "upper left", "frameon": False, "fontsize": 8.5, "borderaxespad": 0.0}
    look["handlelength"] = 2.8
    if len(classes) > MAX_LEGEND_CLASSES:
        ax.legend(
            handles=[*classes, *others], bbox_to_anchor=(1.02, 1.0), ncols=count_legend_columns(len(classes)), **look
        )
        return
    blank = Line2D([], [], linestyle="none", label=" ")
    height = max(len(classes), len(others))
    left, right = ([*column, *[blank] * (height - len(column))] for column in (classes, others))
    below = shift_points(ax, ax.transAxes, 0, -LEGEND_OFFSET_POINTS)
    ax.legend(handles=[*left, *right], bbox_to_anchor=(0.0, 0.0), bbox_transform=below, ncols=2, **look)


def shift_points(ax: Any, transform: Any, right: float, up: float = 0.0) -> Any:
    """Return a transform that is shifted by this many points, to the right and up."""
    from matplotlib.transforms import ScaledTranslation

    return transform + ScaledTranslation(right / 72, up / 72, ax.figure.dpi_scale_trans)


def add_legend_below(ax: Any, entries: Sequence[Any], labels: Sequence[str], heading: str | None = None) -> None:
    """Add a legend below the axes and their label, with a line for each entry and perhaps a heading."""
    look: dict[str, Any] = {"title": heading, "title_fontsize": 9, "alignment": "left", "borderaxespad": 0.0}
    below = shift_points(ax, ax.transAxes, 0, -LEGEND_OFFSET_POINTS)
    add_plain_legend(ax, entries, labels, loc="upper left", bbox_to_anchor=(0, 0), bbox_transform=below, **look)


def add_plain_legend(parent: Any, entries: Sequence[Any], labels: Sequence[str], **look: Any) -> None:
    """Add a legend without a frame to an Axes or a Figure; a dollar sign in a label is a dollar sign."""
    legend = parent.legend(entries, labels, **{"frameon": False, "fontsize": 9, "handlelength": 3.0, **look})
    for text in legend.get_texts():
        text.set_parse_math(False)


def add_grid_lines(*axes: Any, axis: str = "both", color: str = "#e3e3e3") -> None:
    """Add thin grid lines behind everything."""
    for ax in axes:
        ax.grid(axis=axis, color=color, linewidth=0.7)
        ax.set_axisbelow(True)


def label_in_percent(axis: Any) -> None:
    """Label the ticks of an axis of shares in percent, with as many decimals as each needs."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda share, _: f"{round(100 * share, 6):g} %".replace("-", "−")))


SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def format_scientific(value: float, digits: int = 3) -> str:
    """Format a finite number with its significant digits, a true minus sign, and powers of ten.

    >>> format_scientific(-0.03456), format_scientific(1234.5, 4), format_scientific(6.02e23)
    ('−0.0346', '1234', '6.02×10²³')
    """
    rounded = float(f"{value:.{digits}g}")
    if rounded and not 1e-4 <= abs(rounded) < 1e6:
        mantissa, power = f"{rounded:.{digits - 1}e}".split("e")
        text = f"{float(mantissa):.10g}×10{str(int(power)).translate(SUPERSCRIPT)}"
    else:
        text = f"{rounded + 0.0:.10g}"
    return text.replace("-", "−")
